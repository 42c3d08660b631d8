// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests that a scan looks between two leaves whether its caller was killed: it returns
 * the records so far, or -EINTR if there are none, and can be continued. An attach returns -EINTR
 * at each place where it looks, and the next one finds the same. So does CHECK, which reports no
 * damage then, and so do reads that pass many keys and return none.
 */
#include <linux/minmax.h>

#include "engines/clfb/clfb.h"
#include "store/blob_priv.h"
#include "store/snap.h"
#include "test.h"

#define POOL_BYTES	(256 * 1024)
#define KEYS		2000U

static const struct subject {
	const char *engine;
	const char *layout;
} subjects[] = {
	{ "crab", "slotted" }, { "crab", "sorted" }, { "nvtree", "append" }, { "fastfair", "shift" },
	{ "nbtree", "adr" }, { "nbtree", "eadr" }, { "clfb", "twin" }, { "clfb", "encoded" },
};

static u32 patience;		/* leaves until the caller is killed; 0: it is not */
static u32 asked;		/* how often */

/* It dies once: a call that goes on is found out */
static bool impatient(void *arg)
{
	asked++;
	return patience && !--patience;
}

static void attach(void)
{
	struct crab_attach_options options = { .interrupted = impatient };
	struct crab_attach_report report;

	store = crab_store_attach(&media, &options, &report);
	tap_check(!IS_ERR(store), "attach: %ld %s", PTR_ERR(store), report.reason);
}

static void begin(const struct subject *s)
{
	u64 i;

	store_begin(CRAB_POOL_OFFSET * 2 + POOL_BYTES, s->engine, s->layout,
		    leaf_bytes_of(s->engine, s->layout));
	for (i = 0; i < KEYS; i++)
		tap_check(!store_insert(store, i, i, CRAB_INSERT_CREATE), "insert %llu", i);
	crab_store_detach(store);
}

/* Reads all records, in calls that are each stopped after some leaves; returns their number */
static u32 scan(bool back)
{
	static struct crab_record records[KEYS];
	struct crab_cursor cursor;
	u32 calls = 0, found = 0, stops = 0;
	int n;

	if (back)
		crab_cursor_init_back(&cursor, 0, CRAB_KEY_EMPTY);
	else
		crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	for (; !cursor.done && calls < KEYS; calls++) {
		patience = 3 + stops;
		n = crab_cursor_read(store, &cursor, records, KEYS);
		patience = 0;
		/* A scan down may be of seeks; after the last record leaves of eadr have none */
		tap_check(n >= 0 || (n == -EINTR && (back || found == KEYS)), "call %u: %d", calls, n);
		stops += n == -EINTR;
		found += max(n, 0);
	}
	tap_check(found == KEYS, "%u records", found);
	return calls;
}

/* A call that is stopped after some leaves returns their records */
static void scan_once(void)
{
	static struct crab_record records[KEYS];
	struct crab_cursor cursor;
	int n;

	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	patience = 4;
	n = crab_cursor_read(store, &cursor, records, KEYS);
	patience = 0;
	tap_check(n > 0 && n < KEYS && !cursor.done, "stopped: %d", n);
}

static void test_scan(const struct subject *s)
{
	u32 up, down;

	begin(s);
	attach();
	scan_once();
	up = scan(false);
	tap_check(up > 3, "%u calls up", up);
	down = scan(true);
	tap_ok(true, "%s %s: a scan that is stopped again and again has all records: %u calls, down %u",
	       s->engine, s->layout, up, down);
	store_end(store);
}

/* From some place on, where attach looks for it, the caller is dead */
static u32 looks;		/* until then */
static bool dead;

static bool dying(void *arg)
{
	dead |= !looks;
	looks -= !dead;
	return dead;
}

/* Attaches with a caller that dies at one place after the other; returns their number */
static u32 attach_killed(const char *state)
{
	struct crab_attach_options options = { .interrupted = dying };
	struct crab_attach_report report;
	u32 n = 0;

	for (;; n++) {
		looks = n;
		dead = false;
		store = crab_store_attach(&media, &options, &report);
		if (!dead)
			break;
		tap_check(PTR_ERR(store) == -EINTR, "%s: at place %u attach goes on", state, n);
		if (!IS_ERR(store))
			crab_store_abandon(store);
	}
	tap_check(!IS_ERR(store), "%s: attach: %s", state, report.reason);
	looks = U32_MAX;
	return n;
}

static void test_attach(const struct subject *s)
{
	struct crab_store_info info;
	u32 clean, unclean, damaged;
	u64 offset;

	begin(s);
	clean = attach_killed("clean");
	crab_store_info(store, &info);
	tap_check(info.stats.records == KEYS, "clean: %llu records", info.stats.records);
	/* Two passes over the pool, in each of which it looks at every 64th leaf */
	tap_check(strcmp(s->engine, "crab") || clean >= store->engine->geo.leaves / 64 * 2,
		  "clean: %u places", clean);
	crab_store_abandon(store);
	unclean = attach_killed("unclean");
	crab_store_info(store, &info);
	tap_check(info.stats.records == KEYS, "unclean: %llu records", info.stats.records);
	offset = crab_leaf_offset(&store->engine->geo, 3);
	crab_store_abandon(store);
	memset(media.base + offset, 0xff, CRAB_LINE);
	damaged = attach_killed("damaged");
	tap_check(store->engine->damage.count, "no damage");
	tap_ok(clean && unclean >= clean && damaged,
	       "%s %s: attach ends wherever its caller dies: %u places, unclean %u, damaged %u",
	       s->engine, s->layout, clean, unclean, damaged);
	store_end(store);
}

/* Stops CHECK at one place after the other; returns their number */
static u32 check_killed(u64 records)
{
	struct crab_check_report report;
	u32 n = 0;
	int err;

	do {
		patience = ++n;
		err = crab_store_check(store, &report);
		tap_check(!report.damage.count, "place %u: %s", n, report.damage.what);
		tap_check(err == (patience ? 0 : -EINTR), "at place %u CHECK goes on: %d", n, err);
	} while (!patience);
	patience = 0;
	tap_check(report.records == records, "%llu records", report.records);
	return n - 1;
}

static void test_check(const struct subject *s)
{
	struct crab_store_info info;
	u32 places;

	begin(s);
	attach();
	crab_store_info(store, &info);
	places = check_killed(KEYS);
	tap_ok(places >= info.stats.leaves_used,
	       "%s %s: CHECK ends wherever its caller dies: %u places, %llu leaves", s->engine, s->layout,
	       places, info.stats.leaves_used);
	store_end(store);
}

/* Calls of the engine that read all words, as CHECK of values does, with so many at a time */
#define CHUNK	32U

static void scan_words(void)
{
	struct crab_record records[CHUNK];
	struct crab_cursor cursor;

	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	while (crab_cursor_scan(store->engine, store->blobs->raw, &cursor, records, CHUNK) > 0)
		;
}

static int scan_error;

static int scan_fails(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records,
		      u32 cap)
{
	return scan_error;
}

/* The words cannot be read, and that is no damage */
static void check_fails(int err)
{
	const struct crab_engine_ops *raw = store->blobs->raw;
	struct crab_engine_ops ops = *raw;
	struct crab_check_report report;

	ops.scan = scan_fails;
	scan_error = err;
	store->blobs->raw = &ops;
	tap_check(crab_store_check(store, &report) == err && !report.damage.count, "error %d: %s", err,
		  report.damage.what);
	store->blobs->raw = raw;
}

/* It looks after each part of the values, too */
static void test_check_blobs(void)
{
	struct crab_check_report report = { };
	u32 others, i;

	store_begin_of(CRAB_POOL_OFFSET * 2 + POOL_BYTES, "crab", "slotted", 512, STORE_BLOBS);
	for (i = 0; i < 8 * CHUNK; i++)
		tap_check(!store_blob_put(store, i, "1", 1), "put");
	crab_store_detach(store);
	attach();
	asked = 0;
	store->engine->own->check(store->engine, &report);
	scan_words();
	others = asked;
	asked = 0;
	crab_store_check(store, &report);
	tap_check(asked == others + 8, "%u places, and %u others", asked, others);
	check_fails(-EINTR);
	check_fails(-ENOMEM);
	tap_ok(check_killed(8 * CHUNK) == others + 8,
	       "values: CHECK ends wherever its caller dies: %u places", others + 8);
	store_end(store);
}

/* Stops a read that passes many keys at one place after the other; @want: its end without a stop */
static u32 read_killed(int (*read)(struct crab_snap *snap), struct crab_snap *snap, int want)
{
	u32 n = 0;
	int err;

	do {
		patience = ++n;
		err = read(snap);
		tap_check(err == (patience ? want : -EINTR), "at place %u the read goes on: %d", n, err);
	} while (!patience && n < 10 * KEYS);
	patience = 0;
	return n - 1;
}

static int read_up(struct crab_snap *snap)
{
	struct crab_record record[4];
	struct crab_cursor cursor;

	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	return crab_snap_read(store, snap, &cursor, record, 4);
}

static int read_down(struct crab_snap *snap)
{
	struct crab_record record[4];
	struct crab_cursor cursor;

	crab_cursor_init_back(&cursor, 0, CRAB_KEY_EMPTY);
	return crab_snap_read(store, snap, &cursor, record, 4);
}

static int seek_up(struct crab_snap *snap)
{
	struct crab_record record;

	return crab_snap_seek(store, snap, 0, CRAB_SEEK_GE, &record);
}

/* None of these keys was there when the snapshot was opened */
static void test_snap(void)
{
	struct crab_snap *snap;
	u32 up, down, seek;
	u64 key;

	media = media_create(CRAB_POOL_OFFSET * 2 + POOL_BYTES);
	store = store_format_attach(&media, "crab", "slotted", 8192);	/* one leaf */
	crab_store_detach(store);
	attach();
	snap = crab_store_observe(store) < 0 ? NULL : crab_snap_open(store);
	for (key = 0; key < KEYS / 4; key++)
		tap_check(!store_insert(store, key, key, CRAB_INSERT_CREATE), "insert");
	up = read_killed(read_up, snap, 0);
	down = read_killed(read_down, snap, 0);
	seek = read_killed(seek_up, snap, -ENOENT);
	tap_ok(up >= KEYS / 4 && down >= KEYS / 4 && seek >= KEYS / 4,
	       "reads of a snapshot that pass keys without a record end there: %u, %u and %u places", up,
	       down, seek);
	crab_snap_close(snap);
	store_end(store);
}

#define GHOSTS	(8 * CHUNK)

/* Records that the next lookup does not find, as if other tasks had erased them */
static int scan_ghosts(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records,
		       u32 cap)
{
	u32 n;

	for (n = 0; n < cap && start + n < GHOSTS; n++)
		records[n] = (struct crab_record){ .key = start + n };
	return n;
}

static int list_ghosts(struct crab_snap *snap)
{
	struct crab_blob_entry entry[CHUNK];
	struct crab_cursor cursor;

	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	return crab_blob_list(store, &cursor, entry, CHUNK);
}

static void test_list(void)
{
	const struct crab_engine_ops *raw;
	struct crab_engine_ops ops;
	u32 places;

	store_begin_of(CRAB_POOL_OFFSET * 2 + POOL_BYTES, "crab", "slotted", 512, STORE_BLOBS);
	crab_store_detach(store);
	attach();
	raw = store->blobs->raw;
	ops = *raw;
	ops.scan = scan_ghosts;
	store->blobs->raw = &ops;
	places = read_killed(list_ghosts, NULL, 0);
	store->blobs->raw = raw;
	tap_ok(places == GHOSTS / CHUNK, "a list that passes values which are gone ends there: %u places",
	       places);
	store_end(store);
}

/* No leaf but the first and the last has a record */
static void test_empty(void)
{
	static const struct subject clfb = { "clfb", "inplace" };
	struct clfb_place place = { };
	struct crab_record record[2];
	struct crab_cursor cursor;
	struct clfb_tree *tree;
	u64 key;
	int n;

	begin(&clfb);
	attach();
	tree = clfb_tree_of(store->engine);
	crab_clfb_find(tree, 0, &place);
	for (key = place.high; key != CRAB_KEY_EMPTY; key = place.high) {
		crab_clfb_find(tree, key, &place);
		if (place.high != CRAB_KEY_EMPTY)
			memset(clfb_leaf_media(tree, place.leaf)->valid, 0,
			       sizeof(clfb_leaf_media(tree, place.leaf)->valid));
	}
	crab_store_abandon(store);
	attach();
	crab_cursor_init(&cursor, KEYS / 4, CRAB_KEY_EMPTY);
	patience = 3;
	n = crab_cursor_read(store, &cursor, record, ARRAY_SIZE(record));
	tap_check(n == -EINTR && !patience, "stopped: %d", n);
	n = crab_cursor_read(store, &cursor, record, ARRAY_SIZE(record));
	tap_ok(n == ARRAY_SIZE(record) && record[1].key < KEYS,
	       "clfb: a scan over leaves without records is stopped, then finds %d", n);
	store_end(store);
}

int main(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(subjects); i++)
		test_scan(&subjects[i]);
	for (i = 0; i < ARRAY_SIZE(subjects); i++)
		test_attach(&subjects[i]);
	for (i = 0; i < ARRAY_SIZE(subjects); i++)
		test_check(&subjects[i]);
	test_check_blobs();
	test_snap();
	test_list();
	test_empty();
	return tap_done();
}
