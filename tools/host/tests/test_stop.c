// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests that a scan looks between two leaves whether its caller was killed: it returns
 * the records so far, or -EINTR if there are none, and can be continued. An attach returns -EINTR
 * at each place where it looks, and the next one finds the same.
 */
#include "engines/clfb/clfb.h"
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

static struct crab_media media;
static struct crab_store *store;
static u32 patience;		/* leaves until the caller is killed; 0: it is not */

static bool impatient(void *arg)
{
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

	media = media_create(CRAB_POOL_OFFSET * 2 + POOL_BYTES);
	store = store_format_attach(&media, s->engine, s->layout, leaf_bytes_of(s->engine, s->layout));
	for (i = 0; i < KEYS; i++)
		tap_check(!store_insert(store, i, i, CRAB_INSERT_CREATE), "insert %llu", i);
	crab_store_detach(store);
}

static void end(void)
{
	store_end(store);
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
	end();
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
	end();
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
	end();
}

int main(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(subjects); i++)
		test_scan(&subjects[i]);
	for (i = 0; i < ARRAY_SIZE(subjects); i++)
		test_attach(&subjects[i]);
	test_empty();
	return tap_done();
}
