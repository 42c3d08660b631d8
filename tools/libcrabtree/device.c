// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * This file implements the backend of the device: each call is its ioctl.
 */
#include "crabtree.h"
#include "backend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct device {
	struct crabtree ct;
	int fd;
};

static int device_call(struct crabtree *ct, unsigned long cmd, void *arg)
{
	struct device *device = (struct device *)ct;

	return ioctl(device->fd, cmd, arg) < 0 ? -errno : 0;
}

static int device_sync(struct crabtree *ct)
{
	(void)ct;
	return 0;
}

static void device_reason(struct crabtree *ct, char *buf, size_t len)
{
	struct crabtree_info info;

	if (!crabtree_info(ct, &info, sizeof(info)))
		snprintf(buf, len, "%.*s", (int)sizeof(info.reason), info.reason);
}

static int device_close(struct crabtree *ct)
{
	struct device *device = (struct device *)ct;
	int err = close(device->fd) < 0 ? -errno : 0;

	free(device);
	return err;
}

static const struct crabtree_backend device_backend = {
	.call = device_call,
	.sync = device_sync,
	.reason = device_reason,
	.close = device_close,
};

/* Only a crabtree device supports INFO */
static int device_probe(struct device *device)
{
	struct crabtree_info info;
	struct stat st;
	int err;

	if (fstat(device->fd, &st) < 0)
		return -errno;
	if (!S_ISCHR(st.st_mode))
		return -ENOTTY;
	err = crabtree_info(&device->ct, &info, sizeof(info));
	return err == -ENODEV ? 0 : err;	/* a crabtree device whose region was removed */
}

int crabtree_wrap_device(struct crabtree **ct, int fd)
{
	struct device *device = malloc(sizeof(*device));

	if (!device)
		return -ENOMEM;
	device->ct.backend = &device_backend;
	device->fd = fd;
	*ct = &device->ct;
	return 0;
}

int crabtree_open_device(struct crabtree **ct, const char *path, unsigned int flags)
{
	int mode = (flags & CRABTREE_OPEN_READONLY) ? O_RDONLY : O_RDWR;
	struct device *device;
	int err;

	if (flags & ~CRABTREE_OPEN_READONLY)
		return -EINVAL;
	device = malloc(sizeof(*device));
	if (!device)
		return -ENOMEM;
	device->ct.backend = &device_backend;
	device->fd = open(path, mode | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (device->fd < 0) {
		err = -errno;
		goto err_free;
	}
	err = device_probe(device);
	if (err)
		goto err_close;
	*ct = &device->ct;
	return 0;

err_close:
	close(device->fd);
err_free:
	free(device);
	return err;
}
