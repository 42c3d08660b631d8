// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the kernel's commands on an image: each takes the structure
 * of <linux/crabtree.h>, as the module's ioctls do, and runs the module's verbs.
 *
 * Invariant: FORMAT is never preceded by an attach of this handle, unless the
 * caller used the old store: a refused FORMAT has changed nothing.
 */
#include "crabtree_image.h"
#include "image.h"

#include <device/verbs.h>
#include <errno.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/string.h>

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
		from.state = from.store.readonly ? CRABTREE_STATE_READONLY : CRABTREE_STATE_READY;
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
		got = crab_verbs_scan_chunk(image->store, scan, &cursor, records + scan->count);
		scan->count += max(got, 0);
	}
	return crab_verbs_scan_end(scan, &cursor, min(got, 0));
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
	for (batch->done = 0; batch->done < batch->count; batch->done += n) {
		n = min(batch->count - batch->done, CRAB_BATCH_CHUNK);
		crab_verbs_batch_chunk(image->store, ops + batch->done, n);
	}
	return 0;
}

static int call_format(struct image *image, const struct crabtree_format *format)
{
	struct crab_format_options options;
	int err = crab_verbs_format_options(format, &options);

	if (err)
		return err;
	detach(image);
	return crab_store_format(&image->media, &options, image->reason);
}

static const struct crab_verb_desc *verb_find(unsigned long cmd)
{
	return CRAB_VERB_INDEX(cmd) < CRAB_VERBS_COUNT ? &crab_verbs[CRAB_VERB_INDEX(cmd)] : NULL;
}

int image_call(struct crabtree *ct, unsigned long cmd, void *arg)
{
	const struct crab_verb_desc *verb = verb_find(cmd);
	struct image *image = (struct image *)ct;
	int err;

	if (!verb)
		return -ENOTTY;
	if (image->readonly && (verb->traits & CRAB_VERB_WRITES))
		return -EBADF;
	err = crab_verbs_check(verb, arg);
	if (err)
		return err;
	if (cmd == CRABTREE_INFO)
		return call_info(image, arg);
	if (cmd == CRABTREE_FORMAT)
		return call_format(image, arg);
	err = attach(image);
	if (err)
		return err;
	if (cmd == CRABTREE_SCAN)
		return call_scan(image, arg);
	if (cmd == CRABTREE_BATCH)
		return call_batch(image, arg);
	return verb->run(image->store, arg);
}
