// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements cursors: scans by key that can stop and continue, and the removal of the
 * records of a scan.
 *
 * Invariant: a cursor is two keys and refers to nothing in the store. Any change between two
 * reads is harmless, and keys ascend or descend strictly across them.
 *
 * No lock.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/minmax.h>

#include "engines/defaults.h"
#include "media/crc.h"
#include "store_priv.h"

void crab_cursor_init(struct crab_cursor *cursor, u64 start, u64 end)
{
	cursor->next = start;
	cursor->end = min_t(u64, end, CRAB_KEY_EMPTY - 1);
	cursor->done = start > cursor->end;
	cursor->back = false;
}

void crab_cursor_init_back(struct crab_cursor *cursor, u64 start, u64 end)
{
	cursor->next = min_t(u64, end, CRAB_KEY_EMPTY - 1);
	cursor->end = start;
	cursor->done = start > cursor->next;
	cursor->back = true;
}

static int cursor_scan(struct crab_engine *engine, const struct crab_engine_ops *ops,
		       const struct crab_cursor *cursor, struct crab_record *records, u32 cap)
{
	if (!cursor->back)
		return ops->scan(engine, cursor->next, cursor->end, records, cap);
	if (!ops->scan_back)
		return crab_engine_scan_back(engine, cursor->end, cursor->next, records, cap);
	return ops->scan_back(engine, cursor->end, cursor->next, records, cap);
}

/* Whether @key is after @limit in the order of the scan */
static bool cursor_is_past(const struct crab_cursor *cursor, u64 key, u64 limit)
{
	return cursor->back ? key < limit : key > limit;
}

int crab_cursor_scan(struct crab_engine *engine, const struct crab_engine_ops *ops,
		     struct crab_cursor *cursor, struct crab_record *records, u32 cap)
{
	u64 last;
	int n;

	if (cursor->done || !cap)
		return 0;
	n = cursor_scan(engine, ops, cursor, records, min_t(u32, cap, S32_MAX));
	if (n < 0)
		return n;
	last = n ? records[n - 1].key : cursor->end;
	/* The media changed under the store. A cursor that goes back would never end */
	if (unlikely(cursor_is_past(cursor, cursor->next, last) ||
		     cursor_is_past(cursor, last, cursor->end)))
		return -EUCLEAN;
	cursor->done = last == cursor->end;
	cursor->next = cursor->back ? last - 1 : last + 1;
	return n;
}

/* crab_cursor_scan(), and the crc of the records */
static int cursor_scan_crc(struct crab_engine *engine, const struct crab_engine_ops *ops,
			   struct crab_cursor *cursor, struct crab_record *records, u32 cap,
			   u32 *crc)
{
	int n = crab_cursor_scan(engine, ops, cursor, records, cap);

	*crc = crab_crc32c(~0U, records, max(n, 0) * sizeof(*records));
	return n;
}

int crab_cursor_scan_twice(struct crab_engine *engine, const struct crab_engine_ops *ops,
			   struct crab_cursor *cursor, struct crab_record *records, u32 cap)
{
	struct crab_cursor from = *cursor, other = *cursor;
	u32 crc, again;
	int n;

	cursor_scan_crc(engine, ops, &other, records, cap, &again);
	n = cursor_scan_crc(engine, ops, cursor, records, cap, &crc);
	if (likely(crc == again))
		return n;
	*cursor = from;
	return crab_cursor_scan(engine, ops, cursor, records, cap);
}

int crab_cursor_read(struct crab_store *store, struct crab_cursor *cursor,
		     struct crab_record *records, u32 cap)
{
	return crab_store_read_end(store, crab_cursor_scan(store->engine, store->engine->ops,
							   cursor, records, cap));
}

void crab_cursor_skip(struct crab_store *store, struct crab_cursor *cursor)
{
	cursor->next = store->engine->ops->beyond(store->engine, cursor->next,
						  cursor->back ? CRAB_SEEK_LE : CRAB_SEEK_GE);
	cursor->done = cursor->next == CRAB_KEY_EMPTY ||
		       cursor_is_past(cursor, cursor->next, cursor->end);
	/* The media may change by itself: then this is perhaps the first that meets the damage */
	crab_store_look(store);
}

/* Counts the deletes that succeeded; returns the first error, with the cursor at its key */
static int cursor_answer(const struct crab_batch_op *ops, int n, struct crab_cursor *cursor,
			 u64 *deleted)
{
	int i, err = 0;

	for (i = 0; i < n; i++) {
		*deleted += !ops[i].status;
		if (err || !ops[i].status || ops[i].status == -ENOENT)
			continue;	/* another writer may have removed it before */
		err = ops[i].status;
		cursor->next = ops[i].key;
		cursor->done = false;
	}
	return err;
}

/* Are the keys that a scan found on from @from in its range, and in its order? */
static bool cursor_is_in_order(const struct crab_cursor *from, const struct crab_record *found,
			       int n)
{
	u64 at = from->next;
	int i;

	for (i = 0; i < n; i++) {
		if (cursor_is_past(from, at, found[i].key) ||
		    cursor_is_past(from, found[i].key, from->end))
			return false;
		at = found[i].key;
	}
	return true;
}

int crab_cursor_delete(struct crab_store *store, struct crab_cursor *cursor, u32 cap, u64 *deleted)
{
	struct crab_record found[CRAB_BATCH_CHUNK];
	struct crab_batch_op ops[CRAB_BATCH_CHUNK];
	struct crab_cursor from = *cursor;
	int i, got;

	if (crab_store_is_readonly(store))
		return -EROFS;
	/* A key that was read otherwise would leave its record in the range */
	got = crab_cursor_scan_twice(store->engine, store->engine->ops, cursor, found,
				     min(cap, CRAB_BATCH_CHUNK));
	crab_store_look(store);
	if (got <= 0)
		return got;
	/* A key that has changed on the media may be that of a record outside the range */
	if (unlikely(!cursor_is_in_order(&from, found, got))) {
		*cursor = from;
		return -EUCLEAN;
	}
	for (i = 0; i < got; i++)
		ops[i] = (struct crab_batch_op){ .verb = CRAB_VERB_DELETE, .key = found[i].key };
	crab_store_batch(store, ops, got);
	return cursor_answer(ops, got, cursor, deleted);
}
