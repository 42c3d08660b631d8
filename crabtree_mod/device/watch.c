// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the file that WATCH returns: read() takes changes, poll() waits for them.
 *
 * Invariants: the file is one user of its device; it outlives the store, and then reports the
 * changes left in the ring, then -ENODEV. No user memory is touched under a spinlock: changes are
 * copied to the kernel's memory first, so a fault in the user's buffer loses those of one chunk, at
 * most.
 *
 * Locking: watch_file.reading for the chunk; readers of one file take turns.
 */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "observe.h"

#define WATCH_ENTRIES	1024U	/* unless the caller sets a number */
#define WATCH_CHUNK	32U	/* changes between two copies to user memory */

/**
 * struct watch_file - the file of a watch
 * @device: the device, of which this is a user
 * @asked: the argument of WATCH
 * @watch: the watch
 * @wait: readers
 * @reading: protects @from and @to
 * @from: changes as the store reports them
 * @to: changes for the reader
 */
struct watch_file {
	struct crab_device *device;
	const struct crabtree_watch *asked;
	struct crab_watch *watch;
	wait_queue_head_t wait;
	struct mutex reading;
	struct crab_change from[WATCH_CHUNK];
	struct crabtree_change to[WATCH_CHUNK];
};

static void watch_wake(void *arg)
{
	struct watch_file *file = arg;

	wake_up_interruptible_poll(&file->wait, EPOLLIN | EPOLLRDNORM | EPOLLHUP);
}

static int watch_open(struct crab_store *store, void *arg)
{
	struct watch_file *file = arg;

	file->watch = crab_watch_open(store, file->asked->start, file->asked->end,
				      file->asked->entries ?: WATCH_ENTRIES, watch_wake, file);
	return PTR_ERR_OR_ZERO(file->watch);
}

/* Waits until changes can be taken, unless the file is non-blocking; false: none waits */
static int watch_wait(struct watch_file *file, bool block)
{
	int any = crab_watch_peek(file->watch);

	if (any || !block)
		return any ?: -EAGAIN;
	if (wait_event_interruptible(file->wait, crab_watch_peek(file->watch)))
		return -ERESTARTSYS;
	return 1;
}

/* Copies up to @n changes; returns their number or an error */
static int watch_copy(struct watch_file *file, struct crabtree_change __user *user, u32 n)
{
	int got = crab_watch_read(file->watch, file->from, min(n, WATCH_CHUNK));

	if (got <= 0)
		return got;
	crab_verbs_changes(file->from, file->to, got);
	return copy_to_user(user, file->to, got * sizeof(*file->to)) ? -EFAULT : got;
}

static int watch_read_locked(struct watch_file *file, struct crabtree_change __user *user, u32 n)
{
	u32 done = 0;
	int got;

	do {
		got = watch_copy(file, user + done, n - done);
		done += max(got, 0);
	} while (got > 0 && done < n && !signal_pending(current));
	return done ?: got;
}

static ssize_t watch_read(struct file *filp, char __user *user, size_t size, loff_t *pos)
{
	u32 n = min_t(size_t, size / sizeof(struct crabtree_change), CRABTREE_WATCH_ENTRIES_MAX);
	struct watch_file *file = filp->private_data;
	int got;

	if (!n)
		return -EINVAL;
	do {
		got = watch_wait(file, !(filp->f_flags & O_NONBLOCK));
		if (got < 0)
			return got;
		if (mutex_lock_interruptible(&file->reading))
			return -ERESTARTSYS;
		got = watch_read_locked(file, (struct crabtree_change __user *)user, n);
		mutex_unlock(&file->reading);
	} while (!got);		/* another reader took them */
	return got < 0 ? got : got * (ssize_t)sizeof(struct crabtree_change);
}

static __poll_t watch_poll(struct file *filp, poll_table *table)
{
	struct watch_file *file = filp->private_data;
	int any;

	poll_wait(filp, &file->wait, table);
	any = crab_watch_peek(file->watch);
	if (any < 0)
		return EPOLLHUP | EPOLLIN | EPOLLRDNORM;
	return any ? EPOLLIN | EPOLLRDNORM : 0;
}

static int watch_release(struct inode *inode, struct file *filp)
{
	struct watch_file *file = filp->private_data;

	crab_watch_close(file->watch);
	crab_device_close(file->device);
	kfree(file);
	return 0;
}

static const struct file_operations watch_fops = {
	.owner		= THIS_MODULE,
	.read		= watch_read,
	.poll		= watch_poll,
	.release	= watch_release,
	.llseek		= noop_llseek,
};

struct file *crab_watch_file(struct crab_device *device, const struct crabtree_watch *watch)
{
	struct watch_file *file;
	struct file *filp;
	int err;

	if (watch->start > watch->end || watch->entries > CRABTREE_WATCH_ENTRIES_MAX)
		return ERR_PTR(-EINVAL);
	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return ERR_PTR(-ENOMEM);
	file->device = device;
	file->asked = watch;
	init_waitqueue_head(&file->wait);
	mutex_init(&file->reading);
	err = crab_device_observe(device, watch_open, file);
	file->asked = NULL;
	if (err)
		goto err_free;
	filp = anon_inode_getfile("[crabtree-watch]", &watch_fops, file, O_RDONLY);
	if (!IS_ERR(filp))
		return filp;
	err = PTR_ERR(filp);
	crab_watch_close(file->watch);
	crab_device_close(device);
err_free:
	kfree(file);
	return ERR_PTR(err);
}
