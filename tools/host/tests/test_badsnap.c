// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests scans of a snapshot in a store whose memory fails while the snapshot is open: each
 * goes on after a quarantined range, and lacks only records of such ranges. Most records were deleted
 * since, so that notes are in front of each range. After its end the snapshot returns -ESTALE.
 */
#include "badmedia.h"
#include "store/snap.h"
#include "test.h"

#define LEFT	16U	/* one record of so many is not deleted */

static const char * const engines[][2] = {
	{ "crab", "slotted" }, { "crab", "sorted" }, { "nvtree", "append" }, { "fastfair", "shift" },
	{ "clfb", "twin" }, { "nbtree", "adr" }, { "nbtree", "eadr" },
};

static struct crab_snap *snap;

/* A snapshot, deletes, and then a page that fails */
static void begin(const char *const *engine)
{
	struct crab_geometry geo;
	char reason[CRAB_REASON_LEN];
	u64 key, page;

	badmedia_begin();
	badmedia_fill(engine[0], engine[1], 1024, &geo);
	store = badmedia_attach(NULL);
	tap_check(crab_store_observe(store) >= 0, "attach");
	snap = crab_snap_open(store);
	for (key = 0; key < 2 * BAD_KEYS; key += 2)
		if (key / 2 % LEFT != LEFT / 2)
			tap_check(!store_delete(store, key), "delete of %llu", key);
	page = round_up(geo.pool_offset, BAD_PAGE);
	do {
		page += 8 * BAD_PAGE;	/* the leaves of a page may be free */
		badmedia_fail(page, BAD_PAGE);
		crab_store_fail(store, page, BAD_PAGE);
	} while (!badmedia_leaves(store, reason));
}

static void end(void)
{
	crab_snap_close(snap);
	crab_store_detach(store);
	badmedia_end();
}

/* Keys that the engine can scan; @first: out: the first one that it cannot */
static u32 readable(u64 *first)
{
	const struct crab_engine_ops *ops = store->engine->ops;
	struct crab_record record;
	u32 n = 0;
	u64 key;

	*first = CRAB_KEY_EMPTY;
	for (key = 0; key < 2 * BAD_KEYS; key += 2)
		if (ops->scan(store->engine, key, key, &record, 1) != -EUCLEAN)
			n++;
		else
			*first = min(*first, key);
	return n;
}

/* A key that the scan may return next */
static u64 next_key(const struct crab_cursor *cursor)
{
	return cursor->back ? min_t(u64, cursor->next, 2 * BAD_KEYS - 2) & ~1ULL :
	       (cursor->next + 1) & ~1ULL;
}

/* A scan of the snapshot leaves out only the keys that it skips; @ranges: out: how often */
static u32 scan(bool back, u32 cap, u32 *ranges)
{
	struct crab_record record[64];
	struct crab_cursor cursor;
	u32 found = 0;
	int n, i;
	u64 key;

	*ranges = 0;
	(back ? crab_cursor_init_back : crab_cursor_init)(&cursor, 0, CRAB_KEY_EMPTY);
	while (!cursor.done) {
		key = next_key(&cursor);
		n = crab_snap_read(store, snap, &cursor, record, cap);
		for (i = 0; i < n; i++, key += back ? -2 : 2)
			tap_check(record[i].key == key && record[i].value == BAD_VALUE(key),
				  "key %llu, not %llu", record[i].key, key);
		found += max(n, 0);
		tap_check(n >= 0 || n == -EUCLEAN, "error %d", n);
		if (n >= 0)
			continue;
		crab_cursor_skip(store, &cursor);
		++*ranges;
	}
	return found;
}

static void test_scan(const char *const *engine, bool back, u32 cap)
{
	u32 found, ranges, all;
	u64 first;

	begin(engine);
	all = readable(&first);
	found = scan(back, cap, &ranges);
	tap_check(all < BAD_KEYS && ranges, "%u ranges", ranges);
	tap_ok(found == all, "%s %s: a scan %s of a snapshot, %u at once, has %u of %u records",
	       engine[0], engine[1], back ? "down" : "up", cap, found, all);
	end();
}

static void test_ended(const char *const *engine)
{
	struct crab_record record;
	struct crab_cursor cursor;
	int up, down, seek;
	u64 first;

	begin(engine);
	readable(&first);
	crab_snap_end_all(store->gate, -ESTALE);
	crab_cursor_init(&cursor, first, CRAB_KEY_EMPTY);
	up = crab_snap_read(store, snap, &cursor, &record, 1);
	crab_cursor_init_back(&cursor, 0, first);
	down = crab_snap_read(store, snap, &cursor, &record, 1);
	seek = crab_snap_seek(store, snap, first, CRAB_SEEK_GE, &record);
	tap_ok(up == -ESTALE && down == -ESTALE && seek == -ESTALE,
	       "%s %s: a snapshot that has ended, in a quarantined range: %d, %d, %d", engine[0],
	       engine[1], up, down, seek);
	end();
}

int main(void)
{
	u32 i;

	crab_host_seed(1);
	for (i = 0; i < ARRAY_SIZE(engines); i++) {
		test_scan(engines[i], false, 1);
		test_scan(engines[i], false, 64);
		test_scan(engines[i], true, 64);
		test_ended(engines[i]);
	}
	return tap_done();
}
