// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the kernel's commands on an image: each takes the
 * structure of <linux/crabtree.h> and calls the store, as the module's ioctls do.
 *
 * Invariant: FORMAT is never preceded by an attach of this handle, unless the
 * caller used the old store: a refused FORMAT has changed nothing.
 */
#include "crabtree_image.h"
#include "image.h"

#include <errno.h>
#include <device/info.h>
#include <linux/err.h>
#include <string.h>

#define BATCH_CHUNK	64	/* operations of a batch, on the stack */

static int attach(struct image *image)
{
	struct crab_attach_options options = { .readonly = image->readonly };
	struct crab_attach_report report = { 0 };
	struct crab_store *store;

	if (image->tried)
		return image->error;
	store = crab_store_attach(&image->media, &options, &report);
	image->tried = true;
	image->error = IS_ERR(store) ? PTR_ERR(store) : 0;
	image->store = image->error ? NULL : store;
	image->verdict = report.verdict;
	memcpy(image->reason, report.reason, sizeof(image->reason));
	return image->error;
}

static void detach(struct image *image)
{
	crab_store_detach(image->store);
	image->store = NULL;
	image->tried = false;
	image->reason[0] = '\0';
}

static void copy_text(char *to, const char *from, size_t len)
{
	memset(to, 0, len);
	memcpy(to, from, strnlen(from, len - 1));
}

static int call_info(struct image *image, struct crabtree_info *info)
{
	struct crab_store_info from;

	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	copy_text(info->region, image->name, sizeof(info->region));
	info->region_bytes = image->media.size;
	if (!attach(image)) {
		crab_store_info(image->store, &from);
		crab_info_store(info, &from);
		info->state = from.readonly ? CRABTREE_STATE_READONLY : CRABTREE_STATE_READY;
		info->durability = crab_info_durability(from.durability);
		copy_text(info->reason, from.reason, sizeof(info->reason));
		return 0;
	}
	info->state = image->verdict == CRAB_VERDICT_BLANK ? CRABTREE_STATE_UNFORMATTED :
							     CRABTREE_STATE_REJECTED;
	copy_text(info->reason, image->reason, sizeof(info->reason));
	return 0;
}

static int insert_mode(u32 flags, enum crab_insert_mode *mode)
{
	switch (flags) {
	case CRABTREE_INSERT_CREATE:
		*mode = CRAB_INSERT_CREATE;
		return 0;
	case CRABTREE_INSERT_REPLACE:
		*mode = CRAB_INSERT_REPLACE;
		return 0;
	case CRABTREE_INSERT_CREATE | CRABTREE_INSERT_REPLACE:
	case 0:
		*mode = CRAB_INSERT_EITHER;
		return 0;
	default:
		return -EINVAL;
	}
}

static int call_insert(struct image *image, struct crabtree_insert *insert)
{
	struct crab_old old = { 0 };
	enum crab_insert_mode mode;
	int err = insert_mode(insert->flags, &mode);

	if (!err)
		err = crab_store_insert(image->store, insert->key, insert->value, mode, &old);
	insert->existed = old.existed;
	insert->old_value = old.value;
	return err;
}

static int call_search(struct image *image, struct crabtree_search *search)
{
	struct crab_record record = { .key = search->key };
	int err;

	switch (search->flags) {
	case 0:
		err = crab_store_search(image->store, search->key, &record.value);
		break;
	case CRABTREE_SEARCH_GE:
		err = crab_store_seek(image->store, search->key, CRAB_SEEK_GE, &record);
		break;
	case CRABTREE_SEARCH_LE:
		err = crab_store_seek(image->store, search->key, CRAB_SEEK_LE, &record);
		break;
	default:
		return -EINVAL;
	}
	if (!err) {
		search->key = record.key;
		search->value = record.value;
	}
	return err;
}

static int call_delete(struct image *image, struct crabtree_delete *delete)
{
	struct crab_old old = { 0 };
	int err = delete->flags ? -EINVAL : crab_store_delete(image->store, delete->key, &old);

	if (!err)
		delete->old_value = old.value;
	return err;
}

/* The two record structures are one layout */
_Static_assert(sizeof(struct crab_record) == sizeof(struct crabtree_record), "record");

static int call_scan(struct image *image, struct crabtree_scan *scan)
{
	struct crab_record *records = (void *)(uintptr_t)scan->records;
	struct crab_cursor cursor;
	int n;

	if (scan->flags || !scan->capacity || scan->capacity > INT32_MAX)
		return -EINVAL;
	crab_cursor_init(&cursor, scan->start, scan->end);
	n = crab_cursor_read(image->store, &cursor, records, scan->capacity);
	if (n == -EUCLEAN)
		crab_cursor_skip(image->store, &cursor);
	else if (n < 0)
		return n;
	scan->count = n < 0 ? 0 : n;
	scan->more = !cursor.done;
	scan->next = cursor.done ? 0 : cursor.next;
	return n < 0 ? n : 0;
}

/* One operation of a batch, in the store's terms */
static void batch_ask(const struct crabtree_batch_op *from, struct crab_batch_op *op)
{
	*op = (struct crab_batch_op) {
		.key = from->key, .value = from->value, .status = from->flags ? -EINVAL : 0,
	};
	switch (from->verb) {
	case CRABTREE_BATCH_SEARCH:
		op->verb = CRAB_VERB_SEARCH;
		break;
	case CRABTREE_BATCH_INSERT:
		op->verb = CRAB_VERB_INSERT;
		op->status = insert_mode(from->flags, &op->mode);
		break;
	case CRABTREE_BATCH_DELETE:
		op->verb = CRAB_VERB_DELETE;
		break;
	default:
		op->status = -EINVAL;
	}
}

static void batch_answer(const struct crab_batch_op *op, struct crabtree_batch_op *to)
{
	to->status = op->status;
	to->existed = op->verb == CRAB_VERB_INSERT && op->old.existed;
	to->old_value = op->old.existed ? op->old.value : 0;
	if (op->verb == CRAB_VERB_SEARCH && !op->status)
		to->value = op->value;
}

static void batch_chunk(struct image *image, struct crabtree_batch_op *ops, u32 n)
{
	struct crab_batch_op chunk[BATCH_CHUNK];
	u32 i;

	for (i = 0; i < n; i++)
		batch_ask(&ops[i], &chunk[i]);
	crab_store_batch(image->store, chunk, n);
	for (i = 0; i < n; i++)
		batch_answer(&chunk[i], &ops[i]);
}

static int call_batch(struct image *image, struct crabtree_batch *batch)
{
	struct crabtree_batch_op *ops = (void *)(uintptr_t)batch->ops;
	u32 done, n;

	if (batch->flags || batch->count > CRABTREE_BATCH_MAX)
		return -EINVAL;
	for (done = 0; done < batch->count; done += n) {
		n = batch->count - done < BATCH_CHUNK ? batch->count - done : BATCH_CHUNK;
		batch_chunk(image, ops + done, n);
	}
	batch->done = batch->count;
	return 0;
}

static int call_check(struct image *image, struct crabtree_check *check)
{
	struct crab_check_report report = { 0 };
	int err = check->flags ? -EINVAL : crab_store_check(image->store, &report);

	if (err)
		return err;
	check->leaves = report.leaves;
	check->records = report.records;
	check->errors = report.damage.count;
	check->first_offset = report.damage.offset;
	copy_text(check->first, report.damage.what, sizeof(check->first));
	return 0;
}

static int call_format(struct image *image, const struct crabtree_format *format)
{
	struct crab_format_options options = {
		.force = format->flags & CRABTREE_FORMAT_FORCE,
		.leaf_bytes = format->leaf_bytes,
		.engine = format->engine,
		.layout = format->layout,
		.label = format->label,
	};

	if (image->readonly)
		return -EBADF;
	if (format->flags & ~CRABTREE_FORMAT_FORCE || format->reserved)
		return -EINVAL;
	memcpy(options.uuid, format->uuid, sizeof(options.uuid));
	detach(image);
	return crab_store_format(&image->media, &options, image->reason);
}

static bool is_write(unsigned long cmd)
{
	return cmd == CRABTREE_INSERT || cmd == CRABTREE_DELETE;
}

int image_call(struct crabtree *ct, unsigned long cmd, void *arg)
{
	struct image *image = (struct image *)ct;
	int err;

	if (cmd == CRABTREE_INFO)
		return call_info(image, arg);
	if (cmd == CRABTREE_FORMAT)
		return call_format(image, arg);
	if (image->readonly && is_write(cmd))
		return -EBADF;
	err = attach(image);
	if (err)
		return err;
	switch (cmd) {
	case CRABTREE_INSERT:
		return call_insert(image, arg);
	case CRABTREE_SEARCH:
		return call_search(image, arg);
	case CRABTREE_DELETE:
		return call_delete(image, arg);
	case CRABTREE_SCAN:
		return call_scan(image, arg);
	case CRABTREE_BATCH:
		return call_batch(image, arg);
	case CRABTREE_CHECK:
		return call_check(image, arg);
	default:
		return -ENOTTY;
	}
}
