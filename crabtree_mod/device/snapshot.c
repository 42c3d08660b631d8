// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the file that SNAPSHOT returns: the reading ioctls of the device, as of the
 * time at which it was opened.
 *
 * Invariant: the file is one user of its device; it outlives the store, and then its calls return
 * the error of the device.
 *
 * No lock of its own.
 */
#include <linux/anon_inodes.h>
#include <linux/compat.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "observe.h"

struct snapshot_file {
	struct crab_device *device;
	struct crab_snap *snap;
};

static int snapshot_open(struct crab_store *store, void *arg)
{
	struct snapshot_file *file = arg;

	file->snap = crab_snap_open(store);
	return PTR_ERR_OR_ZERO(file->snap);
}

static long snapshot_ioctl(struct file *filp, unsigned int cmd, unsigned long value)
{
	struct snapshot_file *file = filp->private_data;

	return crab_ioctl_snapshot(file->device, file->snap, cmd, value);
}

static int snapshot_release(struct inode *inode, struct file *filp)
{
	struct snapshot_file *file = filp->private_data;

	crab_snap_close(file->snap);
	crab_device_close(file->device);
	kfree(file);
	return 0;
}

static const struct file_operations snapshot_fops = {
	.owner		= THIS_MODULE,
	.release	= snapshot_release,
	.unlocked_ioctl	= snapshot_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.llseek		= noop_llseek,
};

struct file *crab_snapshot_file(struct crab_device *device)
{
	struct snapshot_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	struct file *filp;
	int err;

	if (!file)
		return ERR_PTR(-ENOMEM);
	file->device = device;
	err = crab_device_observe(device, snapshot_open, file);
	if (err)
		goto err_free;
	filp = anon_inode_getfile("[crabtree-snapshot]", &snapshot_fops, file, O_RDONLY);
	if (!IS_ERR(filp))
		return filp;
	err = PTR_ERR(filp);
	crab_snap_close(file->snap);
	crab_device_close(device);
err_free:
	kfree(file);
	return ERR_PTR(err);
}
