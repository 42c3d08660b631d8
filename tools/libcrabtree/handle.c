// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * This file implements the calls of the library over a backend: it fills the
 * kernel's structures and takes the answers out of them.
 */
#include "crabtree.h"
#include "backend.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int call(struct crabtree *ct, unsigned long cmd, void *arg)
{
	return ct->backend->call(ct, cmd, arg);
}

int crabtree_close(struct crabtree *ct)
{
	return ct ? ct->backend->close(ct) : 0;
}

int crabtree_sync(struct crabtree *ct)
{
	return ct->backend->sync(ct);
}

void crabtree_reason(struct crabtree *ct, char *buf, size_t len)
{
	buf[0] = '\0';
	ct->backend->reason(ct, buf, len);
}

int crabtree_info(struct crabtree *ct, struct crabtree_info *info, size_t size)
{
	memset(info, 0, size);
	info->size = size;
	return call(ct, CRABTREE_INFO, info);
}

static int call_insert(struct crabtree *ct, struct crabtree_insert insert, bool *existed,
		       uint64_t *old_value)
{
	int err;

	insert.size = sizeof(insert);
	err = call(ct, CRABTREE_INSERT, &insert);
	if (existed)
		*existed = insert.existed;
	if (old_value)
		*old_value = insert.old_value;
	return err;
}

int crabtree_insert(struct crabtree *ct, uint64_t key, uint64_t value, unsigned int flags,
		    bool *existed, uint64_t *old_value)
{
	if (flags & ~(CRABTREE_INSERT_CREATE | CRABTREE_INSERT_REPLACE))
		return -EINVAL;
	return call_insert(ct, (struct crabtree_insert){
		.flags = flags, .key = key, .value = value,
	}, existed, old_value);
}

int crabtree_swap(struct crabtree *ct, uint64_t key, uint64_t expected, uint64_t value,
		  uint64_t *old_value)
{
	return call_insert(ct, (struct crabtree_insert){
		.flags = CRABTREE_INSERT_SWAP, .key = key, .value = value, .old_value = expected,
	}, NULL, old_value);
}

int crabtree_add(struct crabtree *ct, uint64_t key, uint64_t addend, unsigned int flags,
		 uint64_t *old_value)
{
	if (flags & ~CRABTREE_INSERT_REPLACE)
		return -EINVAL;
	return call_insert(ct, (struct crabtree_insert){
		.flags = flags | CRABTREE_INSERT_ADD, .key = key, .value = addend,
	}, NULL, old_value);
}

int crabtree_search(struct crabtree *ct, uint64_t key, uint64_t *value)
{
	struct crabtree_search search = { .size = sizeof(search), .key = key };
	int err = call(ct, CRABTREE_SEARCH, &search);

	if (!err)
		*value = search.value;
	return err;
}

int crabtree_seek(struct crabtree *ct, uint64_t key, unsigned int flags,
		  struct crabtree_record *record)
{
	struct crabtree_search search = { .size = sizeof(search), .flags = flags, .key = key };
	int err = call(ct, CRABTREE_SEARCH, &search);

	if (!err)
		*record = (struct crabtree_record){ search.key, search.value };
	return err;
}

int crabtree_delete(struct crabtree *ct, uint64_t key, uint64_t *old_value)
{
	struct crabtree_delete delete = { .size = sizeof(delete), .key = key };
	int err = call(ct, CRABTREE_DELETE, &delete);

	if (!err && old_value)
		*old_value = delete.old_value;
	return err;
}

int crabtree_delete_range(struct crabtree *ct, uint64_t start, uint64_t end, uint64_t *deleted,
			  uint64_t *next)
{
	struct crabtree_delete_range range = {
		.size = sizeof(range),
		.start = start,
		.end = end,
		.next = start,
	};
	int err = call(ct, CRABTREE_DELETE_RANGE, &range);

	if (deleted)
		*deleted = range.deleted;
	if (next)
		*next = range.next;
	return err;
}

int crabtree_batch(struct crabtree *ct, struct crabtree_batch_op *ops, uint32_t count,
		   uint32_t *done)
{
	struct crabtree_batch batch = {
		.size = sizeof(batch),
		.ops = (uintptr_t)ops,
		.count = count,
	};
	int err = call(ct, CRABTREE_BATCH, &batch);

	if (done)
		*done = err ? 0 : batch.done;
	return err;
}

int crabtree_commit(struct crabtree *ct, struct crabtree_batch_op *ops, uint32_t count,
		    uint32_t *failed)
{
	struct crabtree_batch batch = {
		.size = sizeof(batch),
		.flags = CRABTREE_BATCH_ATOMIC,
		.ops = (uintptr_t)ops,
		.count = count,
		.done = count,
	};
	int err = call(ct, CRABTREE_BATCH, &batch);

	if (failed)
		*failed = batch.done;
	return err;
}

int crabtree_check(struct crabtree *ct, struct crabtree_check *check, size_t size)
{
	memset(check, 0, size);
	check->size = size;
	return call(ct, CRABTREE_CHECK, check);
}

int crabtree_format(struct crabtree *ct, struct crabtree_format *format, size_t size)
{
	format->size = size;
	return call(ct, CRABTREE_FORMAT, format);
}

int crabtree_watch(struct crabtree *ct, uint64_t start, uint64_t end, uint32_t entries)
{
	struct crabtree_watch watch = {
		.size = sizeof(watch),
		.start = start,
		.end = end,
		.entries = entries,
	};
	struct crabtree_info info;
	int err = crabtree_info(ct, &info, sizeof(info));

	/* The changes of names have another structure */
	if (!err && info.feature_incompat & CRABTREE_INCOMPAT_NAMES)
		err = -EOPNOTSUPP;
	if (!err)
		err = call(ct, CRABTREE_WATCH, &watch);
	return err ? err : watch.fd;
}

int crabtree_watch_read(int fd, struct crabtree_change *changes, uint32_t capacity)
{
	ssize_t n = read(fd, changes, (size_t)capacity * sizeof(*changes));

	return n < 0 ? -errno : (int)(n / (ssize_t)sizeof(*changes));
}

int crabtree_snapshot(struct crabtree *ct, struct crabtree **snapshot)
{
	struct crabtree_snapshot snap = { .size = sizeof(snap) };
	int err = call(ct, CRABTREE_SNAPSHOT, &snap);

	if (err)
		return err;
	err = crabtree_wrap_device(snapshot, snap.fd);
	if (err)
		close(snap.fd);
	return err;
}
