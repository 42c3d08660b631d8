// SPDX-License-Identifier: GPL-2.0
/*
 * This file opens and closes /dev/crabN. All else about it is ioctl.c; read,
 * write and mmap do not exist: a store is not a run of bytes.
 *
 * Invariant: a descriptor is one user of its device from open to release.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>

#include "device.h"

static int cdev_open(struct inode *inode, struct file *file)
{
	struct crab_device *device = crab_devices_open(iminor(inode));

	if (IS_ERR(device))
		return PTR_ERR(device);
	file->private_data = device;
	return 0;
}

static int cdev_release(struct inode *inode, struct file *file)
{
	crab_device_close(file->private_data);
	return 0;
}

const struct file_operations crab_device_fops = {
	.owner		= THIS_MODULE,
	.open		= cdev_open,
	.release	= cdev_release,
	.unlocked_ioctl	= crab_device_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.llseek		= noop_llseek,
};
