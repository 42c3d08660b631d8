// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the kernel's commands on an image: each takes the structure
 * of <linux/crabtree.h>, as the module's ioctls do, and runs the module's verbs.
 *
 * Invariant: FORMAT is never preceded by an attach of this handle, unless the
 * caller used the old store: a refused FORMAT has changed nothing.
 */
#include "image.h"

#include <device/verbs.h>
#include <device/verbs_blob.h>
#include <device/verbs_blob_commit.h>
#include <device/verbs_commit.h>
#include <errno.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <stdlib.h>

static int attach(struct image *image)
{
	struct crab_attach_options options = {
		.readonly = image->readonly,
		.unfinished = image->unfinished ? &image->super : NULL,
	};
	struct crab_attach_report report = { 0 };
	struct crab_store *store;

	if (image->tried)
		return image->error;
	store = crab_store_attach(&image->media, &options, &report);
	image->unfinished = false;
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
	image->unfinished = false;
	image->reason[0] = '\0';
}

static int call_info(struct image *image, struct crabtree_info *info)
{
	struct crab_device_info from = { .region_bytes = image->media.size };

	strscpy(from.region, image->name, sizeof(from.region));
	if (attach(image)) {
		from.state = image->verdict == CRAB_VERDICT_BLANK ? CRABTREE_STATE_UNFORMATTED :
								    CRABTREE_STATE_REJECTED;
		strscpy(from.reason, image->reason, sizeof(from.reason));
	} else {
		crab_store_info(image->store, &from.store);
		from.serving = true;
		from.state = from.store.unfinished ? CRABTREE_STATE_UNFORMATTED :
			     from.store.readonly ? CRABTREE_STATE_READONLY : CRABTREE_STATE_READY;
		from.durability = from.store.durability;
		strscpy(from.reason, from.store.reason, sizeof(from.reason));
	}
	crab_verbs_info(info, &from);
	return 0;
}

static int call_scan(struct image *image, struct crabtree_scan *scan)
{
	struct crab_record *records = (void *)(uintptr_t)scan->records;
	struct crab_cursor cursor;
	int got = 1;

	crab_verbs_scan_begin(scan, &cursor);
	while (got > 0 && scan->count < scan->capacity && !cursor.done) {
		got = crab_verbs_scan_chunk(image->store, NULL, scan, &cursor, records + scan->count);
		scan->count += max(got, 0);
	}
	return crab_verbs_scan_end(scan, &cursor, min(got, 0));
}

static int call_delete_range(struct image *image, struct crabtree_delete_range *range)
{
	struct crab_cursor cursor;
	int err = 0;

	crab_verbs_delete_range_begin(range, &cursor);
	while (!err && !cursor.done)
		err = crab_cursor_delete(image->store, &cursor, CRAB_BATCH_CHUNK,
					 &range->deleted);
	crab_verbs_delete_range_end(range, &cursor);
	return err;
}

static int call_commit(struct image *image, struct crabtree_batch *batch,
		       struct crabtree_batch_op *ops)
{
	struct crab_commit *commit = malloc(sizeof(*commit));
	int err;

	if (!commit)
		return -ENOMEM;
	err = crab_verbs_commit(image->store, batch, ops, commit);
	free(commit);
	return err;
}

static int call_batch(struct image *image, struct crabtree_batch *batch)
{
	struct crabtree_batch_op *ops = (void *)(uintptr_t)batch->ops;
	u32 n;
	int err;

	if (batch->count > CRABTREE_BATCH_MAX)
		return -EINVAL;
	err = crab_verbs_batch_begin(ops, batch->count, !image->readonly);
	if (err)
		return err;
	if (batch->flags & CRABTREE_BATCH_ATOMIC)
		return call_commit(image, batch, ops);
	for (batch->done = 0; batch->done < batch->count; batch->done += n) {
		n = min(batch->count - batch->done, CRAB_BATCH_CHUNK);
		crab_verbs_batch_chunk(image->store, ops + batch->done, n);
	}
	return 0;
}

static void *pointer(u64 address)
{
	return (void *)(uintptr_t)address;
}

static int call_put(struct image *image, struct crabtree_put *put)
{
	return crab_verbs_put(image->store, put, pointer(put->key), pointer(put->value));
}

static int call_get(struct image *image, struct crabtree_get *get)
{
	return crab_verbs_get(image->store, NULL, get, pointer(get->key), pointer(get->value),
			      get->capacity);
}

static int call_list(struct image *image, struct crabtree_list *list)
{
	struct crabtree_entry *entries = (void *)(uintptr_t)list->entries;
	struct crab_cursor cursor;
	int got = 1;

	crab_verbs_list_begin(list, &cursor);
	while (got > 0 && list->count < list->capacity && !cursor.done) {
		got = crab_verbs_list_chunk(image->store, NULL, list, &cursor, entries + list->count);
		list->count += max(got, 0);
	}
	return crab_verbs_list_end(list, &cursor, min(got, 0));
}

/* An address for memcpy(), also if there are no bytes */
static const char *name_at(u64 address, u32 bytes)
{
	return bytes ? pointer(address) : "";
}

static int call_names(struct image *image, struct crabtree_names *names)
{
	struct crab_named_cursor cursor;
	int got;

	if (max(names->start_bytes, names->end_bytes) > CRABTREE_NAME_MAX)
		return -EINVAL;
	got = crab_verbs_names_begin(names, name_at(names->start, names->start_bytes),
				     name_at(names->end, names->end_bytes), &cursor);
	if (got)
		return got;
	do {
		got = crab_verbs_names_chunk(image->store, NULL, names, &cursor,
					     pointer(names->buffer) + names->used,
					     names->capacity - names->used);
		names->used += max(got, 0);
	} while (got > 0);
	return got;
}

static int call_commit_values(struct image *image, struct crabtree_commit *arg)
{
	struct crab_blob_commit *commit = malloc(sizeof(*commit));
	int err;

	if (!commit)
		return -ENOMEM;
	err = crab_verbs_commit_values(image->store, arg, pointer(arg->ops), !image->readonly,
				       commit);
	free(commit);
	return err;
}

static int call_finish(struct image *image)
{
	int err = attach(image);

	return err ? err : crab_store_finish(image->store);
}

/* Nothing on the media names such a store: once it is detached it is gone */
static bool has_unfinished(const struct image *image)
{
	return image->unfinished || (image->store && crab_store_is_unfinished(image->store));
}

static int call_format(struct image *image, const struct crabtree_format *format)
{
	struct crab_format_options options;
	int err = crab_verbs_format_finishes(format);

	if (err)
		return err < 0 ? err : call_finish(image);
	err = crab_verbs_format_options(format, &options, &image->super);
	if (!err && has_unfinished(image))
		err = crab_store_format_check(&image->media, &options, image->reason);
	if (err)
		return err;
	detach(image);
	err = crab_store_format(&image->media, &options, image->reason);
	image->unfinished = !err && options.unfinished;
	return err;
}

/* An argument in the size of this version: a program, or libcrabtree, may be of another one */
union room {
	union crab_verb_arg arg;
	struct crabtree_info info;
};

/* As the module's ioctls: the part beyond the structure of this version must be zero */
static int room_fill(union room *room, const struct crab_verb_desc *verb, const void *arg)
{
	const char *user = arg;
	u32 size, i;

	memcpy(&size, user, sizeof(size));
	if (size < verb->min_size)
		return -EINVAL;
	if (size > IMAGE_PAGE)
		return -E2BIG;
	for (i = verb->size; i < size; i++)
		if (user[i])
			return -E2BIG;
	memset(room, 0, sizeof(*room));
	memcpy(room, user, min(size, verb->size));
	return crab_verbs_check(verb, &room->arg);
}

static int run(struct image *image, const struct crab_verb_desc *verb, union room *room)
{
	int err;

	if (verb == &crab_verbs[CRAB_VERB_INDEX(CRABTREE_INFO)])
		return call_info(image, &room->info);
	if (verb == &crab_verbs[CRAB_VERB_INDEX(CRABTREE_FORMAT)])
		return call_format(image, &room->arg.format);
	err = attach(image);
	if (err)
		return err;
	if (verb == &crab_verbs[CRAB_VERB_INDEX(CRABTREE_SCAN)])
		return call_scan(image, &room->arg.scan);
	if (verb == &crab_verbs[CRAB_VERB_INDEX(CRABTREE_BATCH)])
		return call_batch(image, &room->arg.batch);
	if (verb == &crab_verbs[CRAB_VERB_INDEX(CRABTREE_DELETE_RANGE)])
		return call_delete_range(image, &room->arg.delete_range);
	if (verb == &crab_verbs[CRAB_VERB_INDEX(CRABTREE_PUT)])
		return call_put(image, &room->arg.put);
	if (verb == &crab_verbs[CRAB_VERB_INDEX(CRABTREE_GET)])
		return call_get(image, &room->arg.get);
	if (verb == &crab_verbs[CRAB_VERB_INDEX(CRABTREE_LIST)])
		return call_list(image, &room->arg.list);
	if (verb == &crab_verbs[CRAB_VERB_INDEX(CRABTREE_ERASE)])
		return crab_verbs_erase(image->store, &room->arg.erase,
					pointer(room->arg.erase.key));
	if (verb == &crab_verbs[CRAB_VERB_INDEX(CRABTREE_COMMIT)])
		return call_commit_values(image, &room->arg.commit);
	if (verb == &crab_verbs[CRAB_VERB_INDEX(CRABTREE_NAMES)])
		return call_names(image, &room->arg.names);
	return verb->run ? verb->run(image->store, &room->arg) : -ENOTTY;
}

int image_call(struct crabtree *ct, unsigned long cmd, void *arg)
{
	const struct crab_verb_desc *verb = crab_verbs_find(CRAB_VERB_INDEX(cmd));
	struct image *image = (struct image *)ct;
	union room room;
	int err;

	if (!verb)
		return -ENOTTY;
	if (verb->traits & CRAB_VERB_OPENS)	/* an open image has no other writer */
		return -EOPNOTSUPP;
	if (image->readonly && (verb->traits & CRAB_VERB_WRITES))
		return -EBADF;
	err = room_fill(&room, verb, arg);
	if (err)
		return err;
	err = run(image, verb, &room);
	if (verb->traits & CRAB_VERB_ANSWERS)
		memcpy(arg, &room, min(room.arg.head.size, verb->size));
	return err;
}
