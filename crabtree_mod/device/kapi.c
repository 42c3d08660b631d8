// SPDX-License-Identifier: GPL-2.0
/*
 * This file serves other kernel code: include/linux/crabtree.h.
 *
 * Invariant: an open tree is one user of its device and one reference to this
 * module, until crabtree_close(). A struct crabtree is the device itself, under an
 * opaque name.
 *
 * No lock of its own.
 */
#include <linux/err.h>
#include <linux/kdev_t.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "devices.h"
#include "trace/events.h"
#include "verbs.h"
#include "verbs_blob.h"
#include "verbs_blob_commit.h"
#include "verbs_commit.h"

static_assert(sizeof(struct crabtree_record) == sizeof(struct crab_record));
static_assert(offsetof(struct crabtree_record, key) == offsetof(struct crab_record, key));
static_assert(offsetof(struct crabtree_record, value) == offsetof(struct crab_record, value));

static struct crab_device *kapi_device(struct crabtree *tree)
{
	return (struct crab_device *)tree;
}

/* Any call may sleep, though most searches do not: might_sleep() reports wrong callers */
static struct crab_store *kapi_enter(struct crabtree *tree)
{
	might_sleep();
	return crab_device_get_store(kapi_device(tree));
}

/* Ends a call that kapi_enter() began, and returns its error. @nr: the ioctl that does the same */
static int kapi_leave(struct crabtree *tree, u32 nr, u64 key, u32 count, int err)
{
	struct crab_device *device = kapi_device(tree);

	err = crab_device_end_call(device, err);
	trace_crabtree_op(MINOR(device->dev.devt), nr, 0, key, count, err);
	return err;
}

static struct crabtree *kapi_open(const struct crabtree_identity *wanted)
{
	struct crab_device *device = crab_devices_find(wanted);

	if (!device)
		return ERR_PTR(-EPROBE_DEFER);
	__module_get(THIS_MODULE);
	return (struct crabtree *)device;
}

/**
 * crabtree_open_by_label() - open the store with a label
 * @label: NUL-terminated
 *
 * If several stores have this label, the first one is opened.
 *
 * Context: process; may sleep.
 * Return: the tree, or ERR_PTR(-EPROBE_DEFER) if no such store is served (yet): wait for
 * CRABTREE_CAME. The driver core does not probe again each time a store comes.
 */
struct crabtree *crabtree_open_by_label(const char *label)
{
	return kapi_open(&(struct crabtree_identity){ .label = label });
}
CRAB_EXPORT_SYMBOL(crabtree_open_by_label);

/**
 * crabtree_open_by_uuid() - open the store with an identity
 * @uuid: the identity, as set by FORMAT
 *
 * Context: process; may sleep.
 * Return: as crabtree_open_by_label().
 */
struct crabtree *crabtree_open_by_uuid(const uuid_t *uuid)
{
	return kapi_open(&(struct crabtree_identity){ .uuid = uuid });
}
CRAB_EXPORT_SYMBOL(crabtree_open_by_uuid);

/**
 * crabtree_close() - end the use of a tree
 * @tree: the tree, or NULL, or an ERR_PTR
 *
 * Context: process; may sleep; no call on @tree is running.
 */
void crabtree_close(struct crabtree *tree)
{
	if (IS_ERR_OR_NULL(tree))
		return;
	crab_device_close(kapi_device(tree));
	module_put(THIS_MODULE);
}
CRAB_EXPORT_SYMBOL(crabtree_close);

/**
 * crabtree_search() - the value of a key
 * @tree: the tree
 * @key: any but CRABTREE_KEY_RESERVED
 * @value: out
 *
 * Context: process; may sleep.
 * Return: 0, -ENOENT if there is no such key, -EINVAL for the reserved key,
 * -EUCLEAN in a quarantined range, -ENODEV if the memory is gone, -ESHUTDOWN once the
 * kernel shuts down.
 */
int crabtree_search(struct crabtree *tree, u64 key, u64 *value)
{
	struct crab_store *store = kapi_enter(tree);
	int err;

	if (IS_ERR(store))
		return PTR_ERR(store);
	err = crab_store_search(store, key, value);
	return kapi_leave(tree, _IOC_NR(CRABTREE_SEARCH), key, !err, err);
}
CRAB_EXPORT_SYMBOL(crabtree_search);

/**
 * crabtree_seek() - the record nearest to a key
 * @tree: the tree
 * @key: where to begin
 * @flags: CRABTREE_SEARCH_GE: the lowest key >= @key; CRABTREE_SEARCH_LE: the
 *	highest <= @key
 * @record: out
 *
 * Context: process; may sleep.
 * Return: as crabtree_search(); -EINVAL also for other flags; -EINTR if the calling task was
 * killed on the way over many empty leaves.
 */
int crabtree_seek(struct crabtree *tree, u64 key, unsigned int flags,
		  struct crabtree_record *record)
{
	struct crab_record found;
	struct crab_store *store;
	int err;

	if (flags != CRABTREE_SEARCH_GE && flags != CRABTREE_SEARCH_LE)
		return -EINVAL;
	store = kapi_enter(tree);
	if (IS_ERR(store))
		return PTR_ERR(store);
	err = crab_store_seek(store, key, flags == CRABTREE_SEARCH_GE ? CRAB_SEEK_GE :
			      CRAB_SEEK_LE, &found);
	err = kapi_leave(tree, _IOC_NR(CRABTREE_SEARCH), key, !err, err);
	if (!err)
		*record = (struct crabtree_record){ .key = found.key, .value = found.value };
	return err;
}
CRAB_EXPORT_SYMBOL(crabtree_seek);

/* @before: in and out, as @old of crab_store_insert(); @old: out: the value before, or NULL */
static int kapi_insert(struct crabtree *tree, u64 key, u64 value, u32 flags,
		       struct crab_old *before, u64 *old)
{
	struct crab_store *store = kapi_enter(tree);
	int err;

	if (IS_ERR(store))
		return PTR_ERR(store);
	err = crab_store_insert(store, key, value, crab_verbs_insert_mode(flags), before);
	err = kapi_leave(tree, _IOC_NR(CRABTREE_INSERT), key, !err, err);
	if (old && before->existed)
		*old = before->value;
	return err;
}

/**
 * crabtree_insert() - store a value under a key
 * @tree: the tree
 * @key: any but CRABTREE_KEY_RESERVED
 * @value: any
 * @flags: CRABTREE_INSERT_CREATE: only a new key; CRABTREE_INSERT_REPLACE: only
 *	one that is there; both or neither: either
 * @old: out: the value before, if the key was there, also with -EEXIST; or NULL
 *
 * Durable when it returns 0. Nothing is changed when it returns an error.
 *
 * Context: process; may sleep.
 * Return: 0, -EEXIST or -ENOENT by @flags, -ENOSPC, -EROFS, -EINVAL for the
 * reserved key or an unknown flag, -EUCLEAN, -ENOMEM, -ENODEV; -EINTR if the calling task was
 * killed while a full store was searched for room, or while other writes overtook this one again
 * and again.
 */
int crabtree_insert(struct crabtree *tree, u64 key, u64 value, unsigned int flags, u64 *old)
{
	struct crab_old before = { };

	if (flags & ~(CRABTREE_INSERT_CREATE | CRABTREE_INSERT_REPLACE))
		return -EINVAL;
	return kapi_insert(tree, key, value, flags, &before, old);
}
CRAB_EXPORT_SYMBOL(crabtree_insert);

/**
 * crabtree_swap() - replace the value of a key if it is the expected one
 * @tree: the tree
 * @key: any but CRABTREE_KEY_RESERVED
 * @expected: the value that is replaced
 * @value: the new one
 * @old: out: the value before, also with -ESTALE: it is durable; or NULL
 *
 * Durable when it returns 0. Nothing is changed when it returns an error.
 *
 * Context: process; may sleep.
 * Return: 0, -ESTALE if the value is another one, -ENOENT, or as crabtree_insert().
 */
int crabtree_swap(struct crabtree *tree, u64 key, u64 expected, u64 value, u64 *old)
{
	struct crab_old before = { .expected = expected };

	return kapi_insert(tree, key, value, CRABTREE_INSERT_SWAP, &before, old);
}
CRAB_EXPORT_SYMBOL(crabtree_swap);

/**
 * crabtree_add() - add to the value of a key
 * @tree: the tree
 * @key: any but CRABTREE_KEY_RESERVED
 * @addend: added modulo 2^64
 * @flags: CRABTREE_INSERT_REPLACE: -ENOENT if the key is not there; 0: @addend is its value then
 * @old: out: the value before, 0 if the key was not there; or NULL
 *
 * Durable when it returns 0. Nothing is changed when it returns an error.
 *
 * Context: process; may sleep.
 * Return: 0, -ENOENT by @flags, or as crabtree_insert().
 */
int crabtree_add(struct crabtree *tree, u64 key, u64 addend, unsigned int flags, u64 *old)
{
	struct crab_old before = { };

	if (flags & ~CRABTREE_INSERT_REPLACE)
		return -EINVAL;
	if (old)
		*old = 0;
	return kapi_insert(tree, key, addend, flags | CRABTREE_INSERT_ADD, &before, old);
}
CRAB_EXPORT_SYMBOL(crabtree_add);

/**
 * crabtree_delete() - remove a key
 * @tree: the tree
 * @key: any but CRABTREE_KEY_RESERVED
 * @old: out: the value that it had; or NULL
 *
 * Durable when it returns 0.
 *
 * Context: process; may sleep.
 * Return: 0, -ENOENT, -EROFS, -EINVAL for the reserved key, -EUCLEAN, -ENODEV; -EINTR as
 * crabtree_insert().
 */
int crabtree_delete(struct crabtree *tree, u64 key, u64 *old)
{
	struct crab_store *store = kapi_enter(tree);
	struct crab_old before = { };
	int err;

	if (IS_ERR(store))
		return PTR_ERR(store);
	err = crab_store_delete(store, key, &before);
	err = kapi_leave(tree, _IOC_NR(CRABTREE_DELETE), key, !err, err);
	if (!err && old)
		*old = before.value;
	return err;
}
CRAB_EXPORT_SYMBOL(crabtree_delete);

/* The task is not frozen: the caller may hold locks */
static void kapi_pause(void)
{
	cond_resched();
}

/**
 * crabtree_delete_range() - remove all records of a range
 * @tree: the tree
 * @start: the lowest key
 * @end: the highest key
 * @deleted: out: number of records removed, also with an error; or NULL
 * @next: out: with an error, the @start that continues; or NULL
 *
 * Not atomic: each delete is. The records are removed by batches of some records: after a power
 * cut during the call, any of them may be there. The removal of those that @deleted counts is
 * durable on return. A record that another task stores during the call may be removed or not.
 *
 * Context: process; may sleep.
 * Return: 0, -EROFS, -EUCLEAN, -EINTR if the calling task was killed, -ENOMEM, -ENODEV.
 */
int crabtree_delete_range(struct crabtree *tree, u64 start, u64 end, u64 *deleted, u64 *next)
{
	struct crab_device *device = kapi_device(tree);
	struct crab_cursor cursor;
	u64 count = 0;
	int err;

	might_sleep();
	crab_cursor_init(&cursor, start, end);
	err = crab_device_delete_range(device, &cursor, &count, kapi_pause);
	trace_crabtree_op(MINOR(device->dev.devt), _IOC_NR(CRABTREE_DELETE_RANGE), 0, start,
			  min_t(u64, count, U32_MAX), err);
	if (deleted)
		*deleted = count;
	if (next)
		*next = cursor.done ? 0 : cursor.next;
	return err;
}
CRAB_EXPORT_SYMBOL(crabtree_delete_range);

/**
 * crabtree_commit() - all operations or none, in a store of commits
 * @tree: the tree
 * @ops: each on another key; @status, @value, @old_value and @existed are written
 * @count: how many, at most CRABTREE_COMMIT_MAX
 * @failed: out: after an error, number of the operation that it is about, or @count; or NULL
 *
 * As BATCH with CRABTREE_BATCH_ATOMIC. All is durable when it returns 0. Nothing was done when it
 * returns an error; @status is then -ECANCELED, or the error for the operation that is the cause.
 * It is not written if @count is impossible, without memory, and without a store. A power cut
 * during the call leaves all of the writes or none.
 *
 * Context: process; may sleep.
 * Return: 0; -EEXIST, -ENOENT or -ESTALE by a condition; -EOPNOTSUPP if it is no store of commits;
 * -EINVAL for a number of operations, a verb, flags, the reserved key, or a key that occurs twice;
 * -ENOSPC, -EROFS, -EUCLEAN, -ENOMEM, -ENODEV.
 */
int crabtree_commit(struct crabtree *tree, struct crabtree_batch_op *ops, u32 count, u32 *failed)
{
	struct crabtree_batch batch = { .count = count, .done = count };
	struct crab_commit *commit = kmalloc(sizeof(*commit), GFP_KERNEL);
	struct crab_store *store;
	int err = -ENOMEM;

	if (commit) {
		store = kapi_enter(tree);
		err = PTR_ERR_OR_ZERO(store);
	}
	if (!err) {
		err = crab_verbs_commit(store, &batch, ops, commit);
		err = kapi_leave(tree, _IOC_NR(CRABTREE_BATCH), 0, err ? 0 : count, err);
	}
	kfree(commit);
	if (failed)
		*failed = batch.done;
	return err;
}
CRAB_EXPORT_SYMBOL(crabtree_commit);

/**
 * crabtree_commit_values() - all puts and erases or none, in a store of commits and of values
 * @tree: the tree
 * @ops: as of COMMIT, with kernel addresses of names and values; @version, @existed and @status are
 *	written
 * @count: how many, at most CRABTREE_COMMIT_MAX
 * @failed: out: after an error, number of the operation that it is about, or @count; or NULL
 *
 * All is durable when it returns 0. Nothing was done when it returns an error; a power cut during
 * the call leaves all of the writes or none. The operations of a commit of variables have the names
 * and types of crabtree_var_set().
 *
 * Context: process; may sleep.
 * Return: 0; -EEXIST, -ENOENT or -ESTALE by a condition; -EOPNOTSUPP if it is no such store;
 * -EINVAL for a number of operations, a verb, flags, a name, a type, or a key that occurs twice;
 * -EMSGSIZE, -ENOSPC, -EROFS, -EUCLEAN, -ENOMEM, -ENODEV, or -EINTR as crabtree_insert().
 */
int crabtree_commit_values(struct crabtree *tree, struct crabtree_commit_op *ops, u32 count,
			   u32 *failed)
{
	struct crabtree_commit arg = { .count = count, .failed = count };
	struct crab_blob_commit *commit = kvmalloc(sizeof(*commit), GFP_KERNEL);
	struct crab_store *store;
	int err = -ENOMEM;

	if (commit) {
		store = kapi_enter(tree);
		err = PTR_ERR_OR_ZERO(store);
	}
	if (!err) {
		err = crab_verbs_commit_values(store, &arg, ops, true, commit);
		err = kapi_leave(tree, _IOC_NR(CRABTREE_COMMIT), 0, err ? 0 : count, err);
	}
	kvfree(commit);
	if (failed)
		*failed = arg.failed;
	return err;
}
CRAB_EXPORT_SYMBOL(crabtree_commit_values);

/**
 * crabtree_scan() - the next records in the order of their keys, or in the reverse order
 * @tree: the tree
 * @cursor: where to go on; from CRABTREE_CURSOR() or CRABTREE_CURSOR_REVERSE()
 * @records: out
 * @capacity: room in @records, at most S32_MAX
 *
 * Each record was present at some time during the call; a scan is not a
 * snapshot, but its keys ascend (or descend) strictly. Keep @capacity to some hundreds: the
 * region cannot be removed during the call.
 *
 * Context: process; may sleep.
 * Return: number of records, 0 at the end, -ENOMEM, -ENODEV; -EUCLEAN at a quarantined range:
 * @cursor is then after it, and the next call goes on there; -EINTR if the calling task was killed
 * on the way over many empty leaves.
 */
int crabtree_scan(struct crabtree *tree, struct crabtree_cursor *cursor,
		  struct crabtree_record *records, u32 capacity)
{
	struct crab_cursor at;
	struct crab_store *store;
	int got, err;

	if (cursor->reverse)
		crab_cursor_init_back(&at, cursor->end, cursor->next);
	else
		crab_cursor_init(&at, cursor->next, cursor->end);
	if (cursor->done || at.done)
		return 0;
	store = kapi_enter(tree);
	if (IS_ERR(store))
		return PTR_ERR(store);
	got = crab_cursor_read(store, &at, (struct crab_record *)records,
			       min_t(u32, capacity, S32_MAX));
	if (got == -EUCLEAN)
		crab_cursor_skip(store, &at);
	err = kapi_leave(tree, _IOC_NR(CRABTREE_SCAN), at.next, max(got, 0), min(got, 0));
	cursor->next = at.next;
	cursor->done = at.done;
	return err ?: got;
}
CRAB_EXPORT_SYMBOL(crabtree_scan);

static int var_check(const struct crab_store *store, const char *name)
{
	if (!crab_store_has_names(store))
		return -EOPNOTSUPP;
	return *name ? 0 : -EINVAL;
}

/**
 * crabtree_var_set() - store a variable, in a store of names
 * @tree: the tree
 * @name: NUL-terminated, 1 to CRABTREE_NAME_MAX bytes
 * @type: of the value
 * @value: the value; numbers are little-endian
 * @bytes: its length: that of the type, or up to CRABTREE_BLOB_MAX
 *
 * A variable that exists gets the new type and the new value. Durable when it returns 0; a power
 * cut during the call leaves the old value or the new one, whole.
 *
 * Context: process; may sleep.
 * Return: 0, -EOPNOTSUPP if it is no store of names, -EINVAL for a name, or for a length that is
 * not that of the type, -EMSGSIZE, -ENOSPC, -EROFS, -EUCLEAN, -ENOMEM, -ENODEV, or -EINTR as
 * crabtree_insert().
 */
int crabtree_var_set(struct crabtree *tree, const char *name, enum crabtree_type type,
		     const void *value, u32 bytes)
{
	struct crabtree_put put = { .bytes = bytes, .name_bytes = strlen(name), .type = type };
	struct crab_store *store = kapi_enter(tree);
	int err;

	if (IS_ERR(store))
		return PTR_ERR(store);
	err = var_check(store, name) ?: crab_verbs_put(store, &put, name, value);
	return kapi_leave(tree, _IOC_NR(CRABTREE_PUT), 0, !err, err);
}
CRAB_EXPORT_SYMBOL(crabtree_var_set);

/**
 * crabtree_var_get() - read a variable, in a store of names
 * @tree: the tree
 * @name: NUL-terminated
 * @type: the type that it must have
 * @value: out; not complete after an error
 * @capacity: room in @value
 * @bytes: out: length of the value, also with -EMSGSIZE; or NULL
 *
 * Context: process; may sleep.
 * Return: 0, -ENOENT, -ENOMSG if it has another type, -EMSGSIZE if it is longer than the room,
 * -EUCLEAN if it is damaged, -EOPNOTSUPP if it is no store of names, -EINVAL for a name, -ENODEV.
 */
int crabtree_var_get(struct crabtree *tree, const char *name, enum crabtree_type type,
		     void *value, u32 capacity, u32 *bytes)
{
	struct crabtree_get get = { .name_bytes = strlen(name) };
	struct crab_store *store = kapi_enter(tree);
	int err;

	if (IS_ERR(store))
		return PTR_ERR(store);
	err = var_check(store, name) ?: crab_verbs_get(store, NULL, &get, name, value, capacity);
	err = kapi_leave(tree, _IOC_NR(CRABTREE_GET), 0, !err, err);
	if ((!err || err == -EMSGSIZE) && get.type != type)
		err = -ENOMSG;
	if (bytes)
		*bytes = get.bytes;
	return err;
}
CRAB_EXPORT_SYMBOL(crabtree_var_get);

/**
 * crabtree_var_remove() - remove a variable, in a store of names
 * @tree: the tree
 * @name: NUL-terminated
 *
 * Durable when it returns 0.
 *
 * Context: process; may sleep.
 * Return: 0, -ENOENT, -EOPNOTSUPP if it is no store of names, -EINVAL for a name, -EROFS, -EUCLEAN,
 * -ENODEV.
 */
int crabtree_var_remove(struct crabtree *tree, const char *name)
{
	const struct crabtree_erase erase = { .name_bytes = strlen(name) };
	struct crab_store *store = kapi_enter(tree);
	int err;

	if (IS_ERR(store))
		return PTR_ERR(store);
	err = var_check(store, name) ?: crab_verbs_erase(store, &erase, name);
	return kapi_leave(tree, _IOC_NR(CRABTREE_ERASE), 0, !err, err);
}
CRAB_EXPORT_SYMBOL(crabtree_var_remove);

/**
 * crabtree_register_notifier() - ask for notifications of stores that come and go
 * @nb: called with enum crabtree_event and a struct crabtree_identity
 *
 * An existing store is not reported: register first, then try to open.
 * In the callback a tree may be opened and closed.
 *
 * Context: process; may sleep.
 */
int crabtree_register_notifier(struct notifier_block *nb)
{
	return blocking_notifier_chain_register(&crab_device_notifier, nb);
}
CRAB_EXPORT_SYMBOL(crabtree_register_notifier);

/**
 * crabtree_unregister_notifier() - end the notifications
 * @nb: as registered; not running any more on return
 *
 * Context: process; may sleep.
 */
int crabtree_unregister_notifier(struct notifier_block *nb)
{
	return blocking_notifier_chain_unregister(&crab_device_notifier, nb);
}
CRAB_EXPORT_SYMBOL(crabtree_unregister_notifier);
