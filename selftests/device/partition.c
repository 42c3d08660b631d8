// SPDX-License-Identifier: GPL-2.0
/*
 * This file is the tool by which the test scripts make a partition of a block device, and remove it:
 *
 *   partition DEVICE NUMBER START BYTES
 *   partition DEVICE NUMBER
 *
 * Invariant: only the kernel knows the partition; no byte of the device is written.
 */
#include <fcntl.h>
#include <linux/blkpg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

int main(int argc, char **argv)
{
	struct blkpg_partition part = { };
	struct blkpg_ioctl_arg arg = {
		.op = argc == 5 ? BLKPG_ADD_PARTITION : BLKPG_DEL_PARTITION,
		.datalen = sizeof(part), .data = &part,
	};
	int fd = argc > 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;

	if (fd >= 0)
		part.pno = strtol(argv[2], NULL, 0);
	if (fd >= 0 && argc == 5) {
		part.start = strtoll(argv[3], NULL, 0);
		part.length = strtoll(argv[4], NULL, 0);
	}
	if (fd >= 0 && !ioctl(fd, BLKPG, &arg))
		return 0;
	perror("partition");
	return 1;
}
