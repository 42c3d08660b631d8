// SPDX-License-Identifier: GPL-2.0
/*
 * This file is the tool by which the test scripts put a volume of the device mapper over
 * a block device:
 *
 *   mapped create NAME DEVICE SECTORS	one linear target from sector 0; prints its node
 *   mapped remove NAME
 *
 * Invariant: a volume that cannot be created whole is removed.
 */
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

struct request {
	struct dm_ioctl head;
	struct dm_target_spec target;
	char params[128];
};

static int call(int fd, unsigned long number, struct request *r, const char *name)
{
	r->head.version[0] = DM_VERSION_MAJOR;
	r->head.data_size = sizeof(*r);
	r->head.data_start = sizeof(r->head);
	snprintf(r->head.name, sizeof(r->head.name), "%s", name);
	return ioctl(fd, number, r);
}

static int volume_remove(int fd, const char *name)
{
	struct request r = { };

	return call(fd, DM_DEV_REMOVE, &r, name);
}

static int volume_create(int fd, const char *name, const char *device, unsigned long sectors)
{
	struct request r = { };
	dev_t dev;

	if (call(fd, DM_DEV_CREATE, &r, name))
		return -1;
	dev = r.head.dev;
	r = (struct request){ .head.target_count = 1, .target.length = sectors };
	strcpy(r.target.target_type, "linear");
	snprintf(r.params, sizeof(r.params), "%s 0", device);
	if (call(fd, DM_TABLE_LOAD, &r, name))
		return -1;
	r = (struct request){ };
	if (call(fd, DM_DEV_SUSPEND, &r, name))		/* without the flag: resume */
		return -1;
	printf("/dev/dm-%u\n", minor(dev));
	return 0;
}

int main(int argc, char **argv)
{
	int fd = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
	int rc = -1;

	if (fd >= 0 && argc == 5 && !strcmp(argv[1], "create")) {
		rc = volume_create(fd, argv[2], argv[3], strtoul(argv[4], NULL, 0));
		if (rc)
			volume_remove(fd, argv[2]);
	} else if (fd >= 0 && argc == 3 && !strcmp(argv[1], "remove")) {
		rc = volume_remove(fd, argv[2]);
	}
	if (rc)
		perror("mapped");
	return rc ? 1 : 0;
}
