// SPDX-License-Identifier: GPL-2.0
/*
 * This file serves the ioctls of /dev/crabN by a table: what a structure measures,
 * who may call, and a handler that sees a copy in kernel memory.
 *
 * Invariants: the argument is read once, by copy_struct_from_user(), before the
 * handler, and written once, after it; a handler names no kernel structure in
 * terms of uapi and no uapi structure below here. No user memory is touched
 * within a call on the store (device.h).
 *
 * No lock of its own.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/bitops.h>
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "device.h"
#include "info.h"

#define CRAB_SCAN_CHUNK	256U	/* records between two looks at signals */

/* What INFO, FORMAT and the records of SCAN rely on */
static_assert(CRABTREE_LABEL_LEN == CRAB_LABEL_LEN);
static_assert(CRABTREE_UUID_LEN == CRAB_UUID_LEN);
static_assert(CRABTREE_KEY_RESERVED == CRAB_KEY_EMPTY);
static_assert(sizeof(struct crabtree_record) == sizeof(struct crab_record));
static_assert(offsetof(struct crabtree_record, key) == offsetof(struct crab_record, key));
static_assert(offsetof(struct crabtree_record, value) == offsetof(struct crab_record, value));

/* Any argument; all begin with size and flags */
union crab_arg {
	struct {
		__u32 size;
		__u32 flags;
	} head;
	struct crabtree_info info;
	struct crabtree_insert insert;
	struct crabtree_search search;
	struct crabtree_delete delete;
	struct crabtree_scan scan;
	struct crabtree_batch batch;
	struct crabtree_check check;
	struct crabtree_format format;
};

/**
 * struct crab_call - one ioctl
 * @device: on which device
 * @writable: the descriptor may write
 * @arg: its argument, in kernel memory
 */
struct crab_call {
	struct crab_device *device;
	bool writable;
	union crab_arg arg;
};

/**
 * struct crab_ioctl - an ioctl in the table
 * @size: of its structure, as we know it
 * @min_size: of its structure in the first version
 * @known_flags: all others give -EINVAL
 * @needs: VERB_*
 * @run: what it does; all of the structure is copied back if VERB_OUT
 */
struct crab_ioctl {
	u32 size;
	u32 min_size;
	u32 known_flags;
	u32 needs;
	int (*run)(struct crab_call *call);
};

#define VERB_WRITE	(1U << 0)	/* a descriptor open for writing */
#define VERB_OUT	(1U << 1)	/* the structure has fields for answers */

static const u32 ioctl_states[] = {
	[CRAB_DEVICE_UNFORMATTED]	= CRABTREE_STATE_UNFORMATTED,
	[CRAB_DEVICE_READY]		= CRABTREE_STATE_READY,
	[CRAB_DEVICE_READONLY]		= CRABTREE_STATE_READONLY,
	[CRAB_DEVICE_REJECTED]		= CRABTREE_STATE_REJECTED,
	[CRAB_DEVICE_GONE]		= CRABTREE_STATE_GONE,
};

static int ioctl_info(struct crab_call *call)
{
	struct crabtree_info *info = &call->arg.info;
	struct crab_device_info from;
	u32 size = info->size;

	crab_device_info(call->device, &from);
	memset(info, 0, sizeof(*info));
	info->size = size;
	info->state = ioctl_states[from.state];
	info->durability = crab_info_durability(from.durability);
	info->region_bytes = from.region_bytes;
	strscpy(info->region, from.region, sizeof(info->region));
	strscpy(info->reason, from.reason, sizeof(info->reason));
	if (from.serving)
		crab_info_store(info, &from.store);
	return 0;
}

static enum crab_insert_mode insert_mode(u32 flags)
{
	switch (flags) {
	case CRABTREE_INSERT_CREATE:
		return CRAB_INSERT_CREATE;
	case CRABTREE_INSERT_REPLACE:
		return CRAB_INSERT_REPLACE;
	default:
		return CRAB_INSERT_EITHER;
	}
}

static int ioctl_insert(struct crab_call *call)
{
	struct crabtree_insert *arg = &call->arg.insert;
	struct crab_store *store;
	struct crab_old old = { };
	int err;

	if (arg->reserved)
		return -EINVAL;
	store = crab_device_get_store(call->device);
	if (IS_ERR(store))
		return PTR_ERR(store);
	err = crab_store_insert(store, arg->key, arg->value, insert_mode(arg->flags), &old);
	crab_device_put_store(call->device);
	arg->existed = old.existed;
	arg->old_value = old.existed ? old.value : 0;
	return err;
}

static int ioctl_search(struct crab_call *call)
{
	struct crabtree_search *arg = &call->arg.search;
	struct crab_record found = { .key = arg->key, .value = 0 };
	struct crab_store *store;
	int err;

	if (hweight32(arg->flags) > 1)
		return -EINVAL;
	store = crab_device_get_store(call->device);
	if (IS_ERR(store))
		return PTR_ERR(store);
	if (arg->flags)
		err = crab_store_seek(store, arg->key, arg->flags & CRABTREE_SEARCH_GE ?
				      CRAB_SEEK_GE : CRAB_SEEK_LE, &found);
	else
		err = crab_store_search(store, arg->key, &found.value);
	crab_device_put_store(call->device);
	if (err)
		return err;
	arg->key = found.key;
	arg->value = found.value;
	return 0;
}

static int ioctl_delete(struct crab_call *call)
{
	struct crabtree_delete *arg = &call->arg.delete;
	struct crab_store *store = crab_device_get_store(call->device);
	struct crab_old old = { };
	int err;

	if (IS_ERR(store))
		return PTR_ERR(store);
	err = crab_store_delete(store, arg->key, &old);
	crab_device_put_store(call->device);
	arg->old_value = old.existed ? old.value : 0;
	return err;
}

/* The next records of a scan, in kernel memory: user memory may wait for its user */
static int scan_chunk(struct crab_device *device, struct crab_cursor *cursor,
		      struct crab_record *records, u32 cap)
{
	struct crab_store *store = crab_device_get_store(device);
	int got;

	if (IS_ERR(store))
		return PTR_ERR(store);
	got = crab_cursor_read(store, cursor, records, cap);
	crab_device_put_store(device);
	return got;
}

/* Fill the user's array; on an error @arg->count tells what got there before it */
static int scan_fill(struct crab_device *device, struct crabtree_scan *arg,
		     struct crab_cursor *cursor, struct crab_record *bounce)
{
	struct crabtree_record __user *to = u64_to_user_ptr(arg->records);
	int got;

	while (arg->count < arg->capacity && !cursor->done) {
		if (fatal_signal_pending(current))
			return -EINTR;
		got = scan_chunk(device, cursor, bounce,
				 min(arg->capacity - arg->count, CRAB_SCAN_CHUNK));
		if (got <= 0)
			return got;
		if (copy_to_user(to + arg->count, bounce, got * sizeof(*bounce)))
			return -EFAULT;
		arg->count += got;
		cond_resched();
	}
	return 0;
}

/* Where service goes on behind a quarantined range */
static int scan_skip(struct crab_device *device, struct crab_cursor *cursor)
{
	struct crab_store *store = crab_device_get_store(device);

	if (IS_ERR(store))
		return PTR_ERR(store);
	crab_cursor_skip(store, cursor);
	crab_device_put_store(device);
	return -EUCLEAN;
}

/*
 * What was found before a quarantined range is given; the scan that goes on from
 * there meets the error at once, with nothing to give but where the range ends.
 */
static int ioctl_scan(struct crab_call *call)
{
	struct crabtree_scan *arg = &call->arg.scan;
	struct crab_record *bounce;
	struct crab_cursor cursor;
	int err;

	if (arg->reserved)
		return -EINVAL;
	arg->count = 0;
	bounce = kvmalloc_array(clamp(arg->capacity, 1U, CRAB_SCAN_CHUNK), sizeof(*bounce),
				GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!bounce)
		return -ENOMEM;
	crab_cursor_init(&cursor, arg->start, arg->end);
	err = scan_fill(call->device, arg, &cursor, bounce);
	kvfree(bounce);
	if (err == -EUCLEAN)
		err = arg->count ? 0 : scan_skip(call->device, &cursor);
	if (err && err != -EUCLEAN)
		return err;
	arg->more = !cursor.done;
	arg->next = cursor.done ? 0 : cursor.next;
	return err;
}

/* One operation of a batch, in the store's terms */
static void batch_ask(const struct crabtree_batch_op *from, struct crab_batch_op *op)
{
	u32 flags = 0;

	*op = (struct crab_batch_op){ .key = from->key, .value = from->value };
	switch (from->verb) {
	case CRABTREE_BATCH_SEARCH:
		op->verb = CRAB_VERB_SEARCH;
		break;
	case CRABTREE_BATCH_INSERT:
		op->verb = CRAB_VERB_INSERT;
		op->mode = insert_mode(from->flags);
		flags = CRABTREE_INSERT_CREATE | CRABTREE_INSERT_REPLACE;
		break;
	case CRABTREE_BATCH_DELETE:
		op->verb = CRAB_VERB_DELETE;
		break;
	default:
		op->status = -EINVAL;
	}
	if (from->flags & ~flags)
		op->status = -EINVAL;
}

/* And its answer */
static void batch_answer(const struct crab_batch_op *op, struct crabtree_batch_op *to)
{
	to->status = op->status;
	to->existed = op->verb == CRAB_VERB_INSERT && op->old.existed;
	to->old_value = op->old.existed ? op->old.value : 0;
	if (op->verb == CRAB_VERB_SEARCH && !op->status)
		to->value = op->value;
}

static int batch_chunk(struct crab_device *device, struct crabtree_batch_op *ops, u32 n)
{
	struct crab_batch_op chunk[CRAB_BATCH_CHUNK];
	struct crab_store *store = crab_device_get_store(device);
	u32 i;

	if (IS_ERR(store))
		return PTR_ERR(store);
	for (i = 0; i < n; i++)
		batch_ask(&ops[i], &chunk[i]);
	crab_store_batch(store, chunk, n);
	crab_device_put_store(device);
	for (i = 0; i < n; i++)
		batch_answer(&chunk[i], &ops[i]);
	return 0;
}

/*
 * All in order; returns how many were tried. Only a fatal signal ends it early: a stop and
 * a continue, the freezer and a debugger set signal_pending() too, with no handler to run.
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
		cond_resched();
	}
	return done;
}

static bool batch_writes(const struct crabtree_batch_op *ops, u32 count)
{
	while (count--)
		if (ops[count].verb != CRABTREE_BATCH_SEARCH)
			return true;
	return false;
}

static int ioctl_batch(struct crab_call *call)
{
	struct crabtree_batch *arg = &call->arg.batch;
	void __user *user = u64_to_user_ptr(arg->ops);
	size_t bytes = array_size(arg->count, sizeof(struct crabtree_batch_op));
	struct crabtree_batch_op *ops;
	int done = 0;
	u32 i;

	if (arg->count > CRABTREE_BATCH_MAX)
		return -EINVAL;
	ops = kvmalloc(bytes ?: 1, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!ops)
		return -ENOMEM;
	if (copy_from_user(ops, user, bytes))
		done = -EFAULT;
	else if (!call->writable && batch_writes(ops, arg->count))
		done = -EBADF;
	if (done < 0)
		goto out;
	for (i = 0; i < arg->count; i++)
		ops[i].status = -ECANCELED;
	done = batch_run(call->device, ops, arg->count);
	arg->done = max(done, 0);
	if (done >= 0 && copy_to_user(user, ops, bytes))
		done = -EFAULT;
out:
	kvfree(ops);
	return min(done, 0);
}

static int ioctl_check(struct crab_call *call)
{
	struct crabtree_check *arg = &call->arg.check;
	struct crab_store *store = crab_device_get_store(call->device);
	struct crab_check_report report = { };
	int err;

	if (IS_ERR(store))
		return PTR_ERR(store);
	err = crab_store_check(store, &report);
	if (err == -EINTR)
		err = crab_device_interruption(call->device);
	crab_device_put_store(call->device);
	if (err)
		return err;
	arg->leaves = report.leaves;
	arg->records = report.records;
	arg->errors = report.damage.count;
	arg->first_offset = report.damage.offset;
	strscpy_pad(arg->first, report.damage.what, sizeof(arg->first));
	return 0;
}

static bool ended(const char *name, size_t size)
{
	return strnlen(name, size) < size;
}

static int ioctl_format(struct crab_call *call)
{
	struct crabtree_format *arg = &call->arg.format;
	struct crab_format_options options = {
		.force		= arg->flags & CRABTREE_FORMAT_FORCE,
		.leaf_bytes	= arg->leaf_bytes,
		.engine		= arg->engine,
		.layout		= arg->layout,
		.label		= arg->label,
	};

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (arg->reserved || !ended(arg->engine, sizeof(arg->engine)) ||
	    !ended(arg->layout, sizeof(arg->layout)) || !ended(arg->label, sizeof(arg->label)))
		return -EINVAL;
	memcpy(options.uuid, arg->uuid, sizeof(options.uuid));
	return crab_device_format(call->device, &options);
}

#define VERB(ioctl, field, last, flags_known, verb_needs, handler)		\
	[_IOC_NR(ioctl) - _IOC_NR(CRABTREE_INFO)] = {				\
		.size		= sizeof(((union crab_arg *)0)->field),		\
		.min_size	= offsetofend(union crab_arg, field.last),	\
		.known_flags	= flags_known,					\
		.needs		= verb_needs,					\
		.run		= handler,					\
	}

/* @last is the last field of the first version, for ever */
static const struct crab_ioctl crab_ioctls[] = {
	VERB(CRABTREE_INFO, info, lines_bound, 0, VERB_OUT, ioctl_info),
	VERB(CRABTREE_INSERT, insert, reserved,
	     CRABTREE_INSERT_CREATE | CRABTREE_INSERT_REPLACE, VERB_WRITE | VERB_OUT,
	     ioctl_insert),
	VERB(CRABTREE_SEARCH, search, value, CRABTREE_SEARCH_GE | CRABTREE_SEARCH_LE, VERB_OUT,
	     ioctl_search),
	VERB(CRABTREE_DELETE, delete, old_value, 0, VERB_WRITE | VERB_OUT, ioctl_delete),
	VERB(CRABTREE_SCAN, scan, next, 0, VERB_OUT, ioctl_scan),
	VERB(CRABTREE_BATCH, batch, done, 0, VERB_OUT, ioctl_batch),
	VERB(CRABTREE_CHECK, check, first, 0, VERB_OUT, ioctl_check),
	VERB(CRABTREE_FORMAT, format, uuid, CRABTREE_FORMAT_FORCE, VERB_WRITE, ioctl_format),
};

/* The size in @cmd is the program's and may differ from ours: see the structure's own */
static const struct crab_ioctl *verb_find(unsigned int cmd)
{
	unsigned int index = _IOC_NR(cmd) - _IOC_NR(CRABTREE_INFO);

	if (_IOC_TYPE(cmd) != CRABTREE_IOC_MAGIC || _IOC_DIR(cmd) != (_IOC_READ | _IOC_WRITE) ||
	    index >= ARRAY_SIZE(crab_ioctls))
		return NULL;
	return &crab_ioctls[array_index_nospec(index, ARRAY_SIZE(crab_ioctls))];
}

static int verb_read(const struct crab_ioctl *verb, union crab_arg *arg, void __user *user,
		     u32 size)
{
	int err;

	if (size < verb->min_size)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(arg, verb->size, user, size);
	if (err)
		return err;
	return arg->head.flags & ~verb->known_flags ? -EINVAL : 0;
}

/*
 * The answer goes back also with an error: -EEXIST tells the value that is there.
 */
long crab_device_ioctl(struct file *file, unsigned int cmd, unsigned long value)
{
	const struct crab_ioctl *verb = verb_find(cmd);
	void __user *user = (void __user *)value;
	struct crab_call call;
	int err;
	u32 size;

	if (!verb)
		return -ENOTTY;
	call.device = file->private_data;
	call.writable = file->f_mode & FMODE_WRITE;
	if ((verb->needs & VERB_WRITE) && !call.writable)
		return -EBADF;
	if (get_user(size, (u32 __user *)user))
		return -EFAULT;
	err = verb_read(verb, &call.arg, user, size);
	if (err)
		return err;
	call.arg.head.size = size;
	err = verb->run(&call);
	if ((verb->needs & VERB_OUT) && copy_to_user(user, &call.arg, min(size, verb->size)))
		return -EFAULT;
	return err;
}
