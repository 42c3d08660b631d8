// SPDX-License-Identifier: GPL-2.0
/*
 * This file is a tool of the test scripts: image DEVICE. Its standard input is an open
 * /dev/snapshot. It freezes all other processes, makes an image of this kernel in memory, and
 * prints the state that DEVICE has in it; then it discards the image.
 *
 * Invariant: after any error, the other processes run again.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/suspend_ioctls.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/crabtree.h>

static int report(const char *step)
{
	printf("%s: %s\n", step, strerrorname_np(errno));
	return 1;
}

static int image_state(int device)
{
	struct crabtree_info info = { .size = sizeof(info) };
	int in_image;

	if (ioctl(STDIN_FILENO, SNAPSHOT_CREATE_IMAGE, &in_image))
		return report("create image");
	if (ioctl(device, CRABTREE_INFO, &info))
		return report("info");
	printf("%u\n", info.state);
	return ioctl(STDIN_FILENO, SNAPSHOT_FREE) ? report("free") : 0;
}

int main(int argc, char **argv)
{
	int device = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, rc;

	if (device < 0)
		return report("open");
	if (ioctl(STDIN_FILENO, SNAPSHOT_FREEZE))
		return report("freeze");
	rc = image_state(device);
	if (ioctl(STDIN_FILENO, SNAPSHOT_UNFREEZE))
		return report("unfreeze");
	return rc;
}
