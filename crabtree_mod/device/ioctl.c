// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the file operations of /dev/crabN: open, release and the
 * ioctls. It moves each argument between user memory and the kernel and finds the
 * store; the verbs themselves are in verbs.c. There is no read, write or mmap.
 *
 * Invariants: a descriptor is one user of its device from open to release. The
 * argument is read once, by copy_struct_from_user(), before the verb runs, and
 * written once, after it. No user memory is touched within a call on the store
 * (device.h).
 *
 * No lock of its own.
 */
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "control.h"
#include "devices.h"
#include "ioctl_blob.h"
#include "observe.h"
#include "pause.h"
#include "trace/events.h"
#include "verbs.h"
#include "verbs_commit.h"

/* Into kernel memory: a copy to user memory may wait for user space */
static int scan_chunk(struct crab_device *device, struct crab_snap *snap,
		      const struct crabtree_scan *scan, struct crab_cursor *cursor,
		      struct crab_record *records)
{
	struct crab_store *store = crab_device_get_store(device);
	int got;

	if (IS_ERR(store))
		return PTR_ERR(store);
	got = crab_verbs_scan_chunk(store, snap, scan, cursor, records);
	return crab_device_end_call(device, got);
}

/* Fill the user's array; on an error @scan->count is the number of records there */
static int scan_fill(struct crab_device *device, struct crab_snap *snap,
		     struct crabtree_scan *scan, struct crab_cursor *cursor,
		     struct crab_record *bounce)
{
	struct crabtree_record __user *to = u64_to_user_ptr(scan->records);
	int got;

	while (scan->count < scan->capacity && !cursor->done) {
		if (fatal_signal_pending(current))
			return -EINTR;
		got = scan_chunk(device, snap, scan, cursor, bounce);
		if (got <= 0)
			return got;
		if (copy_to_user(to + scan->count, bounce, got * sizeof(*bounce)))
			return -EFAULT;
		scan->count += got;
		crab_ioctl_pause();
	}
	return 0;
}

/* @snap: the snapshot to read, or NULL: the store */
static int ioctl_scan(struct crab_device *device, struct crab_snap *snap,
		      struct crabtree_scan *scan)
{
	struct crab_record *bounce;
	struct crab_cursor cursor;
	int err;

	crab_verbs_scan_begin(scan, &cursor);
	bounce = kvmalloc_array(clamp(scan->capacity, 1U, CRAB_SCAN_CHUNK), sizeof(*bounce),
				GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!bounce)
		return -ENOMEM;
	err = scan_fill(device, snap, scan, &cursor, bounce);
	kvfree(bounce);
	return crab_verbs_scan_end(scan, &cursor, err);
}

static int ioctl_delete_range(struct crab_device *device, struct crabtree_delete_range *range)
{
	struct crab_cursor cursor;
	int err;

	crab_verbs_delete_range_begin(range, &cursor);
	err = crab_device_delete_range(device, &cursor, &range->deleted, crab_ioctl_pause);
	crab_verbs_delete_range_end(range, &cursor);
	return err;
}

static int batch_chunk(struct crab_device *device, struct crabtree_batch_op *ops, u32 n)
{
	struct crab_store *store = crab_device_get_store(device);
	u32 i;

	if (IS_ERR(store))
		return PTR_ERR(store);
	crab_verbs_batch_chunk(store, ops, n);
	for (i = 0; unlikely(READ_ONCE(device->ending)) && i < n; i++)
		ops[i].status = crab_device_result(device, ops[i].status);
	crab_device_put_store(device);
	return 0;
}

/*
 * Performs all operations in order; returns the number tried. Only a fatal signal ends it early:
 * a stop and a continue, the freezer and a debugger set signal_pending() too, without a
 * handler to run.
 */
static int batch_run(struct crab_device *device, struct crabtree_batch_op *ops, u32 count)
{
	u32 done, n;
	int err;

	for (done = 0; done < count; done += n) {
		n = min(count - done, CRAB_BATCH_CHUNK);
		err = fatal_signal_pending(current) ? -EINTR :
						      batch_chunk(device, ops + done, n);
		if (err)
			return done ?: err;
		crab_ioctl_pause();
	}
	return done;
}

/* All operations or none */
static int batch_commit(struct crab_device *device, struct crabtree_batch *batch,
			struct crabtree_batch_op *ops)
{
	struct crab_commit *commit = kmalloc(sizeof(*commit), GFP_KERNEL_ACCOUNT);
	struct crab_store *store;
	int err;

	if (!commit)
		return -ENOMEM;
	store = crab_device_get_store(device);
	err = PTR_ERR_OR_ZERO(store);
	if (!err)
		err = crab_device_end_call(device, crab_verbs_commit(store, batch, ops, commit));
	kfree(commit);
	return err;
}

static int batch_perform(struct crab_device *device, struct crabtree_batch *batch,
			 struct crabtree_batch_op *ops)
{
	int done;

	if (batch->flags & CRABTREE_BATCH_ATOMIC)
		return batch_commit(device, batch, ops);
	done = batch_run(device, ops, batch->count);
	batch->done = max(done, 0);
	return min(done, 0);
}

static int ioctl_batch(struct crab_device *device, struct crabtree_batch *batch, bool writable)
{
	size_t bytes = array_size(batch->count, sizeof(struct crabtree_batch_op));
	void __user *user = u64_to_user_ptr(batch->ops);
	struct crabtree_batch_op *ops;
	int err;

	/* Before the first operation: none was done, and none is to blame */
	batch->done = batch->flags & CRABTREE_BATCH_ATOMIC ? batch->count : 0;
	if (batch->count > CRABTREE_BATCH_MAX)
		return -EINVAL;
	ops = kvmalloc(bytes ?: 1, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!ops)
		return -ENOMEM;
	err = copy_from_user(ops, user, bytes) ? -EFAULT :
	      crab_verbs_batch_begin(ops, batch->count, writable);
	/* An error means that nothing was done: so is there memory for the answers? */
	if (!err && batch->flags & CRABTREE_BATCH_ATOMIC && copy_to_user(user, ops, bytes))
		err = -EFAULT;
	if (err)
		goto out;
	err = batch_perform(device, batch, ops);
	/* Also with the error of a commit: the operation that failed has its old value */
	if (copy_to_user(user, ops, bytes))
		err = -EFAULT;
out:
	kvfree(ops);
	return err;
}

static int ioctl_format(struct crab_device *device, const struct crabtree_format *format)
{
	struct crab_format_options options;
	struct crab_super super;
	int err;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	err = crab_verbs_format_finishes(format);
	if (err)
		return err < 0 ? err : crab_device_finish(device);
	err = crab_verbs_format_options(format, &options, &super);
	return err ?: crab_device_format(device, &options);
}

/* One call on the store */
static int ioctl_run(struct crab_device *device, const struct crab_verb_desc *verb,
		     union crab_verb_arg *arg)
{
	struct crab_store *store = crab_device_get_store(device);

	if (IS_ERR(store))
		return PTR_ERR(store);
	return crab_device_end_call(device, verb->run(store, arg));
}

static int ioctl_other(struct file *file, unsigned int index, union crab_verb_arg *arg)
{
	struct crab_device *device = file->private_data;

	switch (index) {
	case CRAB_VERB_INDEX(CRABTREE_SCAN):
		return ioctl_scan(device, NULL, &arg->scan);
	case CRAB_VERB_INDEX(CRABTREE_BATCH):
		return ioctl_batch(device, &arg->batch, file->f_mode & FMODE_WRITE);
	case CRAB_VERB_INDEX(CRABTREE_CHECK):
		return crab_device_check(device, arg);
	case CRAB_VERB_INDEX(CRABTREE_DELETE_RANGE):
		return ioctl_delete_range(device, &arg->delete_range);
	case CRAB_VERB_INDEX(CRABTREE_FORMAT):
		return ioctl_format(device, &arg->format);
	case CRAB_VERB_INDEX(CRABTREE_PUT):
		return crab_ioctl_put(device, &arg->put);
	case CRAB_VERB_INDEX(CRABTREE_GET):
		return crab_ioctl_get(device, NULL, &arg->get);
	case CRAB_VERB_INDEX(CRABTREE_ERASE):
		return crab_ioctl_erase(device, &arg->erase);
	case CRAB_VERB_INDEX(CRABTREE_LIST):
		return crab_ioctl_list(device, NULL, &arg->list);
	case CRAB_VERB_INDEX(CRABTREE_NAMES):
		return crab_ioctl_names(device, NULL, &arg->names);
	case CRAB_VERB_INDEX(CRABTREE_COMMIT):
		return crab_ioctl_commit(device, &arg->commit, file->f_mode & FMODE_WRITE);
	default:
		return -ENOTTY;
	}
}

/* The size in @cmd is the program's and may differ from ours: see the structure's own */
static const struct crab_verb_desc *verb_find(unsigned int cmd)
{
	unsigned int index = CRAB_VERB_INDEX(cmd);

	if (_IOC_TYPE(cmd) != CRABTREE_IOC_MAGIC || _IOC_DIR(cmd) != (_IOC_READ | _IOC_WRITE) ||
	    index >= CRAB_VERBS_COUNT)
		return NULL;
	return crab_verbs_find(array_index_nospec(index, CRAB_VERBS_COUNT));
}

/* @arg: room for @verb->size bytes */
static int verb_read(const struct crab_verb_desc *verb, void *arg, void __user *user, u32 size)
{
	int err;

	if (size < verb->min_size)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(arg, verb->size, user, size);
	return err ?: crab_verbs_check(verb, arg);
}

/* Not on the stack of the other verbs: kernels that clear the stack would clear it for each */
static int ioctl_info(struct crab_device *device, void __user *user, u32 size)
{
	const struct crab_verb_desc *verb = &crab_verbs[CRAB_VERB_INDEX(CRABTREE_INFO)];
	struct {
		struct crabtree_info info;
		struct crab_device_info from;
	} *room = kmalloc(sizeof(*room), GFP_KERNEL);
	int err;

	if (!room)
		return -ENOMEM;
	err = verb_read(verb, &room->info, user, size);
	if (err)
		goto out;
	crab_device_info(device, &room->from);
	if (!ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN))
		room->from.region[0] = '\0';	/* as sysfs: it may be a physical address */
	crab_verbs_info(&room->info, &room->from);
	room->info.size = size;
	if (copy_to_user(user, &room->info, min(size, verb->size)))
		err = -EFAULT;
out:
	kfree(room);
	return err;
}

/* The descriptor is not installed before its number is in the answer */
static int ioctl_open(struct crab_device *device, const struct crab_verb_desc *verb,
		      void __user *user, u32 size)
{
	bool watch = verb == &crab_verbs[CRAB_VERB_INDEX(CRABTREE_WATCH)];
	union crab_verb_arg arg;
	struct file *file;
	int fd, err = verb_read(verb, &arg, user, size);

	if (err)
		return err;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = watch ? crab_watch_file(device, &arg.watch) : crab_snapshot_file(device);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	arg.head.size = size;
	*(watch ? &arg.watch.fd : &arg.snapshot.fd) = fd;
	if (copy_to_user(user, &arg, min(size, verb->size))) {
		fput(file);
		put_unused_fd(fd);
		return -EFAULT;
	}
	fd_install(fd, file);
	return 0;
}

/* A new verb: has it a count here, a key in op_trace(), a name in trace/events.h? */
static_assert(CRAB_VERBS_COUNT == 17);

static u32 op_count(unsigned int nr, const union crab_verb_arg *arg, int err)
{
	switch (nr) {
	case _IOC_NR(CRABTREE_SCAN):
		return arg->scan.count;
	case _IOC_NR(CRABTREE_BATCH):
		return err && arg->batch.flags & CRABTREE_BATCH_ATOMIC ? 0 : arg->batch.done;
	case _IOC_NR(CRABTREE_COMMIT):
		return err ? 0 : arg->commit.count;
	case _IOC_NR(CRABTREE_DELETE_RANGE):
		return min_t(u64, arg->delete_range.deleted, U32_MAX);
	default:
		return !err;
	}
}

/* The key of INSERT, SEARCH and DELETE is where a range has its lowest one; the others have none */
static noinline void op_trace(struct crab_device *device, const struct crab_verb_desc *verb,
			      const union crab_verb_arg *arg, int err)
{
	unsigned int nr = _IOC_NR(CRABTREE_INFO) + (verb - crab_verbs);
	bool keyed = nr <= _IOC_NR(CRABTREE_SCAN) || nr == _IOC_NR(CRABTREE_DELETE_RANGE);

	static_assert(offsetof(typeof(arg->insert), key) == offsetof(typeof(arg->search), key));
	static_assert(offsetof(typeof(arg->delete), key) == offsetof(typeof(arg->search), key));
	static_assert(offsetof(typeof(arg->scan), start) == offsetof(typeof(arg->search), key));
	static_assert(offsetof(typeof(arg->delete_range), start) ==
		      offsetof(typeof(arg->search), key));
	trace_crabtree_op(MINOR(device->dev.devt), nr, arg->head.flags,
			  keyed ? arg->search.key : 0, op_count(nr, arg, err), err);
}

/* The answer is copied back also with an error: -EEXIST returns the value of the key */
static int ioctl_verb(struct file *file, const struct crab_verb_desc *verb, void __user *user,
		      u32 size)
{
	union crab_verb_arg arg;
	int err = verb_read(verb, &arg, user, size);

	if (err)
		return err;
	arg.head.size = size;
	err = (verb->traits & CRAB_VERB_SHORT) ? ioctl_run(file->private_data, verb, &arg) :
						 ioctl_other(file, verb - crab_verbs, &arg);
	if (trace_crabtree_op_enabled())
		op_trace(file->private_data, verb, &arg, err);
	if ((verb->traits & CRAB_VERB_ANSWERS) && copy_to_user(user, &arg, min(size, verb->size)))
		return -EFAULT;
	return err;
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long value)
{
	const struct crab_verb_desc *verb = verb_find(cmd);
	void __user *user = (void __user *)value;
	u32 size;

	if (!verb)
		return -ENOTTY;
	if ((verb->traits & CRAB_VERB_WRITES) && !(file->f_mode & FMODE_WRITE))
		return -EBADF;
	if (get_user(size, (u32 __user *)user))
		return -EFAULT;
	if (verb == &crab_verbs[CRAB_VERB_INDEX(CRABTREE_INFO)])
		return ioctl_info(file->private_data, user, size);
	if (unlikely(verb->traits & CRAB_VERB_OPENS))
		return ioctl_open(file->private_data, verb, user, size);
	return ioctl_verb(file, verb, user, size);
}

static int snapshot_search(struct crab_device *device, struct crab_snap *snap,
			   struct crabtree_search *search)
{
	struct crab_store *store = crab_device_get_store(device);

	if (IS_ERR(store))
		return PTR_ERR(store);
	return crab_device_end_call(device, crab_verbs_search_snap(store, snap, search));
}

static int snapshot_run(struct crab_device *device, struct crab_snap *snap, unsigned int index,
			union crab_verb_arg *arg)
{
	switch (index) {
	case CRAB_VERB_INDEX(CRABTREE_SEARCH):
		return snapshot_search(device, snap, &arg->search);
	case CRAB_VERB_INDEX(CRABTREE_SCAN):
		return ioctl_scan(device, snap, &arg->scan);
	case CRAB_VERB_INDEX(CRABTREE_GET):
		return crab_ioctl_get(device, snap, &arg->get);
	case CRAB_VERB_INDEX(CRABTREE_LIST):
		return crab_ioctl_list(device, snap, &arg->list);
	case CRAB_VERB_INDEX(CRABTREE_NAMES):
		return crab_ioctl_names(device, snap, &arg->names);
	default:
		return -ENOTTY;
	}
}

long crab_ioctl_snapshot(struct crab_device *device, struct crab_snap *snap, unsigned int cmd,
			 unsigned long value)
{
	const struct crab_verb_desc *verb = verb_find(cmd);
	void __user *user = (void __user *)value;
	union crab_verb_arg arg;
	u32 size;
	int err;

	if (!verb || !(verb->traits & CRAB_VERB_SNAPSHOT))
		return -ENOTTY;
	if (get_user(size, (u32 __user *)user))
		return -EFAULT;
	if (verb == &crab_verbs[CRAB_VERB_INDEX(CRABTREE_INFO)])
		return ioctl_info(device, user, size);
	err = verb_read(verb, &arg, user, size);
	if (err)
		return err;
	arg.head.size = size;
	err = snapshot_run(device, snap, verb - crab_verbs, &arg);
	if (copy_to_user(user, &arg, min(size, verb->size)))
		return -EFAULT;
	return err;
}

static int device_open(struct inode *inode, struct file *file)
{
	struct crab_device *device;

	if (iminor(inode) == CRAB_CONTROL_MINOR)
		return crab_control_open(inode, file);
	device = crab_devices_open(iminor(inode));
	if (IS_ERR(device))
		return PTR_ERR(device);
	file->private_data = device;
	return 0;
}

static int device_release(struct inode *inode, struct file *file)
{
	crab_device_drop_unfinished(file->private_data);
	crab_device_close(file->private_data);
	return 0;
}

const struct file_operations crab_ioctl_fops = {
	.owner		= THIS_MODULE,
	.open		= device_open,
	.release	= device_release,
	.unlocked_ioctl	= device_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.llseek		= noop_llseek,
};
