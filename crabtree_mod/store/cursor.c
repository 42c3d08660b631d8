// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements cursors: scans by key that can stop and continue.
 *
 * Invariant: a cursor is two keys and refers to nothing in the store. Any change between two
 * reads is harmless, and keys ascend strictly across them.
 *
 * No lock.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/minmax.h>

#include "store_priv.h"

void crab_cursor_init(struct crab_cursor *cursor, u64 start, u64 end)
{
	cursor->next = start;
	cursor->end = min_t(u64, end, CRAB_KEY_EMPTY - 1);
	cursor->done = start > cursor->end;
}

int crab_cursor_read(struct crab_store *store, struct crab_cursor *cursor,
		     struct crab_record *records, u32 cap)
{
	u64 last;
	int n;

	if (cursor->done || !cap)
		return 0;
	n = store->engine->ops->scan(store->engine, cursor->next, cursor->end, records,
				     min_t(u32, cap, S32_MAX));
	if (n < 0)
		return n;
	last = n ? records[n - 1].key : cursor->end;
	/* The media changed under the store. A cursor that goes back would never end */
	if (unlikely(last < cursor->next || last > cursor->end))
		return -EUCLEAN;
	cursor->done = last >= cursor->end;
	cursor->next = last + 1;
	return n;
}

void crab_cursor_skip(struct crab_store *store, struct crab_cursor *cursor)
{
	cursor->next = store->engine->ops->beyond(store->engine, cursor->next);
	cursor->done = cursor->next > cursor->end;
}
