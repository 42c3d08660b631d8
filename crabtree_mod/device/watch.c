// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the file that WATCH returns: read() takes changes, poll() waits for them.
 *
 * Invariants: the file is one user of its device; it outlives the store, and then reports the
 * changes left in the ring, then -ENODEV. No user memory is touched under a spinlock: changes are
 * copied to the kernel's memory first, and taken out of the ring once they are in the user's.
 *
 * Locking: watch_file.reading for the chunk; readers of one file take turns.
 */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "observe.h"
#include "verbs_blob.h"

#define WATCH_ENTRIES	1024U	/* unless the caller sets a number */
#define WATCH_CHUNK	32U	/* changes between two copies to user memory */
#define WATCH_NAMES	8U	/* the same, of a store of names */

/**
 * struct watch_names - the memory of a watch of names
 * @text: the names, as the store reports them
 * @to: changes for the reader
 */
struct watch_names {
	struct crab_change_name text[WATCH_NAMES];
	char to[WATCH_NAMES * CRABTREE_NAME_CHANGE_MAX];
};

/**
 * struct watch_file - the file of a watch
 * @device: the device, of which this is a user
 * @options: the argument of WATCH
 * @charged: the memory cgroup of the task that called it, which pays for the changes that wait
 * @watch: the watch
 * @wait: readers
 * @reading: protects @from, @to and @names
 * @from: changes as the store reports them
 * @to: changes for the reader
 * @names: in a store of names; else NULL
 */
struct watch_file {
	struct crab_device *device;
	const struct crab_watch_options *options;
	struct mem_cgroup *charged;
	struct crab_watch *watch;
	wait_queue_head_t wait;
	struct mutex reading;
	struct crab_change from[WATCH_CHUNK];
	struct crabtree_change to[WATCH_CHUNK];
	struct watch_names *names;
};

static void watch_wake(void *arg)
{
	struct watch_file *file = arg;

	wake_up_interruptible_poll(&file->wait, EPOLLIN | EPOLLRDNORM | EPOLLHUP);
}

static int watch_valid(const struct crab_store *store, const struct crab_watch_options *options)
{
	if (crab_store_has_names(store))
		return 0;
	if (options->prefix_bytes)
		return -EOPNOTSUPP;
	return options->start > options->end ? -EINVAL : 0;
}

/* watch_open() runs once all calls have ended: a watch that is refused must not wait for them */
static int watch_valid_now(struct crab_device *device, const struct crab_watch_options *options)
{
	struct crab_store *store = crab_device_get_store(device);
	int err;

	if (IS_ERR(store))
		return PTR_ERR(store);
	err = watch_valid(store, options);
	crab_device_put_store(device);
	return err;
}

static int watch_open(struct crab_store *store, void *arg)
{
	struct watch_file *file = arg;
	const struct crab_watch_options *options = file->options;
	bool names = crab_store_has_names(store);
	int err = watch_valid(store, options);	/* it may be another store than before */

	if (err)
		return err;
	if (names)
		file->names = kmalloc(sizeof(*file->names), GFP_KERNEL_ACCOUNT);
	if (names && !file->names)
		return -ENOMEM;
	file->watch = crab_watch_open(store, options);
	return PTR_ERR_OR_ZERO(file->watch);
}

static void watch_free(struct watch_file *file)
{
	mem_cgroup_put(file->charged);
	kfree(file->names);
	kfree(file);
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

/* A reader holds the lock while the kernel maps its page: with O_NONBLOCK none waits for that */
static int watch_lock(struct watch_file *file, bool block)
{
	if (!block)
		return mutex_trylock(&file->reading) ? 0 : -EAGAIN;
	return mutex_lock_interruptible(&file->reading) ? -ERESTARTSYS : 0;
}

/* Bytes of the longest change */
static size_t change_most(const struct watch_file *file)
{
	return file->names ? CRABTREE_NAME_CHANGE_MAX : sizeof(struct crabtree_change);
}

/* Converts changes for the reader; @to: out. Returns the bytes there */
static int watch_convert(struct watch_file *file, u32 n, const void **to)
{
	if (file->names) {
		*to = file->names->to;
		return crab_verbs_name_changes(file->from, file->names->to, n);
	}
	*to = file->to;
	crab_verbs_changes(file->from, file->to, n);
	return n * sizeof(*file->to);
}

/* Copies changes that fit into @size bytes at @user, then takes them; the bytes, or an error */
static int watch_take(struct watch_file *file, char __user *user, size_t size)
{
	u32 n = min_t(size_t, size / change_most(file), file->names ? WATCH_NAMES : WATCH_CHUNK);
	int got = crab_watch_read(file->watch, file->from, file->names ? file->names->text : NULL,
				  n), bytes;
	const void *to;

	if (got <= 0)
		return got;
	bytes = watch_convert(file, got, &to);
	if (copy_to_user(user, to, bytes))
		return -EFAULT;
	crab_watch_take(file->watch, file->from, got);
	return bytes;
}

/* Copies changes into @size bytes at @user; returns the bytes or an error */
static ssize_t watch_read_locked(struct watch_file *file, char __user *user, size_t size)
{
	size_t done = 0;
	int got;

	do {
		got = watch_take(file, user + done, size - done);
		done += max(got, 0);
	} while (got > 0 && size - done >= change_most(file) && !signal_pending(current));
	return done ?: got;
}

static ssize_t watch_read(struct file *filp, char __user *user, size_t size, loff_t *pos)
{
	struct watch_file *file = filp->private_data;
	bool block = !(filp->f_flags & O_NONBLOCK);
	ssize_t got;
	int err;

	if (size < change_most(file))
		return -EINVAL;
	size = min_t(size_t, size, CRABTREE_WATCH_ENTRIES_MAX * sizeof(struct crabtree_change));
	do {
		err = watch_wait(file, block);
		if (err > 0)
			err = watch_lock(file, block);
		if (err < 0)
			return err;
		got = watch_read_locked(file, user, size);
		mutex_unlock(&file->reading);
	} while (!got);		/* another reader took them */
	return got;
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
	watch_free(file);
	return 0;
}

static const struct file_operations watch_fops = {
	.owner		= THIS_MODULE,
	.read		= watch_read,
	.poll		= watch_poll,
	.release	= watch_release,
	.llseek		= noop_llseek,
};

static struct watch_file *watch_alloc(struct crab_device *device)
{
	struct watch_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);

	if (!file)
		return NULL;
	file->device = device;
	file->charged = get_mem_cgroup_from_mm(current->mm);
	init_waitqueue_head(&file->wait);
	mutex_init(&file->reading);
	return file;
}

/* Opens the watch, then its file */
static struct file *watch_start(struct watch_file *file, const struct crab_watch_options *options)
{
	struct file *filp;
	int err;

	file->options = options;
	err = crab_device_observe(file->device, watch_open, file);
	file->options = NULL;
	if (err)
		return ERR_PTR(err);
	filp = anon_inode_getfile("[crabtree-watch]", &watch_fops, file, O_RDONLY);
	if (!IS_ERR(filp))
		return filp;
	crab_watch_close(file->watch);
	crab_device_close(file->device);
	return filp;
}

struct file *crab_watch_file(struct crab_device *device, const struct crabtree_watch *watch)
{
	char prefix[CRABTREE_NAME_MAX];
	struct crab_watch_options options = {
		.start = watch->start, .end = watch->end, .prefix = prefix,
		.prefix_bytes = watch->prefix_bytes, .entries = watch->entries ?: WATCH_ENTRIES,
		.wake = watch_wake,
	};
	struct watch_file *file;
	struct file *filp;
	int err;

	if (watch->entries > CRABTREE_WATCH_ENTRIES_MAX || watch->prefix_bytes > sizeof(prefix))
		return ERR_PTR(-EINVAL);
	if (copy_from_user(prefix, u64_to_user_ptr(watch->prefix), watch->prefix_bytes))
		return ERR_PTR(-EFAULT);
	err = watch_valid_now(device, &options);
	if (err)
		return ERR_PTR(err);
	file = watch_alloc(device);
	if (!file)
		return ERR_PTR(-ENOMEM);
	options.arg = file;
	options.charged = file->charged;
	filp = watch_start(file, &options);
	if (IS_ERR(filp))
		watch_free(file);
	return filp;
}
