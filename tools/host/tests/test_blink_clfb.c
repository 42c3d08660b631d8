// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the engine clfb while one load returns all ones, or zero, and the next load of the word
 * its value: for each layout each verb, and each of its loads in turn.
 *
 * Invariant: a verb does its work, or returns -EUCLEAN and changes nothing. Afterwards the media has all
 * records and no damage. Only the value that a search returns is not verified.
 */
#include <linux/minmax.h>

#include "engines/clfb/clfb.h"
#include "shadow/shadow.h"
#include "test.h"

#define KEYS_MAX	1300U	/* of them every tenth is a record */
#define STEP		10U

/* The store before each verb */
static const struct shape {
	const char *layout;
	u32 leaf_bytes;
	u32 leaves;
	u32 records;
	u32 stride;		/* of the keys of each verb */
	u32 tiny;		/* slots of a leaf, and children of a node */
} shapes[] = {
	{ "inplace", 128, 64, 30, 15, 3 },
	{ "twin", 128, 64, 30, 15, 3 },
	{ "atomic", 128, 64, 30, 15, 3 },
	{ "encoded", 64, 64, 30, 15, 3 },
	{ "inplace", 512, 16, 58, 195, 0 },
	{ "inplace", 2048, 8, 125, 425, 0 },
#ifdef CRAB_CLFB_BARE
	{ "bare", 128, 64, 30, 15, 3 },
#endif
};

static const struct shape *shape;
static bool there[KEYS_MAX + 2 * STEP];	/* the records, by key */
static u8 *image;			/* the media with them */
static u64 highest;
static u64 splits, unlinks;		/* of all verbs */

static u64 value_of(u64 key)
{
	return key * 3;
}

/* The load that fails */
static struct {
	__le64 *word;
	__le64 was;
	u64 then;
	u32 loads;
	u32 when;
} blink;

/* The next load of any word ends it, or a store to the word */
static void blink_over(void)
{
	if (blink.word && *blink.word == cpu_to_le64(blink.then))
		*blink.word = blink.was;
	blink.word = NULL;
}

static void blinking(struct crab_shadow *shadow, u32 word)
{
	blink_over();
	if (++blink.loads != blink.when)
		return;
	blink.word = (__le64 *)media.base + word;
	blink.was = *blink.word;
	*blink.word = cpu_to_le64(blink.then);
}

static struct crab_store *attach(struct crab_attach_report *report)
{
	return crab_store_attach(&media, &(struct crab_attach_options){ }, report);
}

/*
 * Verbs with a key: 0, an error, or -ERANGE: the result is wrong. *@gets: out: the key has a record with
 * that value afterwards; 0: it has none
 */

static int search(u64 key, u64 *gets)
{
	int err = store_search(store, key);

	return err == (there[key] ? 0 : -ENOENT) ? 0 : err ?: -ERANGE;
}

static int seek_up(u64 key, u64 *gets)
{
	struct crab_record record;
	u64 next = key;
	int err;

	while (next <= highest && !there[next])
		next++;
	err = crab_store_seek(store, key, CRAB_SEEK_GE, &record);
	if (next > highest)
		return err == -ENOENT ? 0 : err ?: -ERANGE;
	return err ?: record.key == next ? 0 : -ERANGE;
}

static int seek_down(u64 key, u64 *gets)
{
	struct crab_record record;
	u64 next = key;
	int err;

	while (next && !there[next])
		next--;
	err = crab_store_seek(store, key, CRAB_SEEK_LE, &record);
	if (!next)
		return err == -ENOENT ? 0 : err ?: -ERANGE;
	return err ?: record.key == next ? 0 : -ERANGE;
}

static int scan_on(struct crab_cursor *cursor, u64 at, u64 end, int step)
{
	struct crab_record record[8];
	int i, n;

	do {
		n = crab_cursor_read(store, cursor, record, ARRAY_SIZE(record));
		for (i = 0; i < n; i++, at += step) {
			while (at != end && !there[at])
				at += step;
			if (at == end || record[i].key != at)
				return -ERANGE;
		}
	} while (n > 0 && !cursor->done);
	if (n < 0)
		return n;
	for (; at != end; at += step)
		if (there[at])
			return -ERANGE;
	return 0;
}

static int scan(u64 key, u64 *gets)
{
	struct crab_cursor cursor;

	crab_cursor_init(&cursor, key, CRAB_KEY_EMPTY - 1);
	return scan_on(&cursor, key, highest + 1, 1);
}

static int scan_back(u64 key, u64 *gets)
{
	struct crab_cursor cursor;

	crab_cursor_init_back(&cursor, 0, key);
	return scan_on(&cursor, key, 0, -1);
}

static int insert_mode(u64 key, u64 value, enum crab_insert_mode mode, int expected, u64 *gets)
{
	int err = store_insert(store, key, value, mode);

	if (!err && expected)
		return -ERANGE;
	if (!err)
		*gets = mode == CRAB_INSERT_ADD && there[key] ? value_of(key) + value : value;
	return err == expected ? 0 : err;
}

static int insert(u64 key, u64 *gets)
{
	return insert_mode(key, 77, CRAB_INSERT_EITHER, 0, gets);
}

static int create(u64 key, u64 *gets)
{
	return insert_mode(key, 77, CRAB_INSERT_CREATE, there[key] ? -EEXIST : 0, gets);
}

static int replace(u64 key, u64 *gets)
{
	return insert_mode(key, 77, CRAB_INSERT_REPLACE, there[key] ? 0 : -ENOENT, gets);
}

static int add(u64 key, u64 *gets)
{
	return insert_mode(key, 77, CRAB_INSERT_ADD, 0, gets);
}

static int delete(u64 key, u64 *gets)
{
	int err = store_delete(store, key);

	if (!err && !there[key])
		return -ERANGE;
	if (!err)
		*gets = 0;
	return err == (there[key] ? 0 : -ENOENT) ? 0 : err;
}

/* It may report damage */
static int check(u64 key, u64 *gets)
{
	struct crab_check_report report;

	return crab_store_check(store, &report);
}

/* After a power cut */
static int again(u64 key, u64 *gets)
{
	struct crab_attach_report report;

	crab_store_abandon(store);
	store = attach(&report);
	return IS_ERR(store) ? -EUCLEAN : 0;
}

static const struct verb {
	const char *name;
	int (*call)(u64 key, u64 *gets);
	bool whole;		/* one key only */
} verbs[] = {
	{ "search", search, false },
	{ "seek up", seek_up, false },
	{ "seek down", seek_down, false },
	{ "scan", scan, true },
	{ "scan back", scan_back, true },
	{ "insert", insert, false },
	{ "create", create, false },
	{ "replace", replace, false },
	{ "add", add, false },
	{ "delete", delete, false },
	{ "CHECK", check, true },
	{ "attach", again, true },
};

static void store_load(void)
{
	struct crab_attach_report report;

	memcpy(media.base, image, media.size);
	store = attach(&report);
	tap_check(!IS_ERR(store) && report.verdict == CRAB_VERDICT_GOOD, "attach: %s", report.reason);
}

/* Counts the keys with another value than they should have */
static u64 count_wrong(u64 key, u64 gets)
{
	u64 at, value, wrong = 0, expected;
	int err;

	for (at = STEP / 2; at <= highest + STEP; at += STEP / 2) {
		expected = at == key ? gets : there[at] ? value_of(at) : 0;
		err = crab_store_search(store, at, &value);
		wrong += err != (expected ? 0 : -ENOENT) || (!err && value != expected);
	}
	return wrong;
}

/* False: the verb loads fewer words */
static bool blink_once(const struct verb *verb, u64 key, u64 then, u32 when)
{
	u64 gets = there[key] ? value_of(key) : 0, wrong = 0;
	struct crab_attach_report report = { };
	struct crab_shadow *shadow;
	int err;

	store_load();
	shadow = crab_shadow_create(&media, 512);
	blink.then = then;
	blink.loads = 0;
	blink.when = when;
	shadow->loading = blinking;
	err = verb->call(key, &gets);
	shadow->loading = NULL;
	blink_over();
	crab_shadow_destroy(shadow);
	if (!IS_ERR(store)) {
		splits += clfb_tree_of(store->engine)->splits;
		unlinks += clfb_tree_of(store->engine)->unlinks;
		crab_store_abandon(store);
	}
	store = attach(&report);
	if (!IS_ERR(store)) {
		wrong = count_wrong(key, gets);
		crab_store_abandon(store);
	}
	tap_check((!err || err == -EUCLEAN) && !IS_ERR(store) && !wrong &&
		  report.verdict == CRAB_VERDICT_GOOD, "%s %u %s %llu: load %u reads %llx: %d, %llu wrong, %s",
		  shape->layout, shape->leaf_bytes, verb->name, key, when, then, err, wrong, report.reason);
	return blink.loads >= when;
}

static u64 blink_all(const struct verb *verb, u64 key)
{
	u32 ones = 0, zeros = 0;

	while (blink_once(verb, key, ~0ULL, ones + 1))
		ones++;
	while (blink_once(verb, key, 0, zeros + 1))
		zeros++;
	return ones + zeros;
}

static void test_verb(const struct verb *verb)
{
	u64 key, n = 0;

	if (verb->whole)
		n = blink_all(verb, highest / 2);
	else
		for (key = STEP / 2; key <= highest + STEP; key += shape->stride)
			n += blink_all(verb, key);
	tap_ok(n, "%s, leaves of %u bytes: %s, while a load returns all ones or zero, %llu times", shape->layout,
	       shape->leaf_bytes, verb->name, n);
}

/* Records in no order of their keys, of which a sixth is deleted: leaves with few records, and stale slots */
static void shape_begin(void)
{
	u64 i, key, n = shape->records;

	crab_tiny_slots = shape->tiny;
	media = media_create(CRAB_POOL_OFFSET + (1 << 14) + shape->leaves * shape->leaf_bytes);
	store = store_format_attach(&media, "clfb", shape->layout, shape->leaf_bytes);
	memset(there, 0, sizeof(there));
	highest = n * STEP;
	for (i = 1; i <= n; i++) {
		key = i * 37 % (n + 1) * STEP;
		tap_check(!store_put(store, key, value_of(key)), "put");
		there[key] = true;
	}
	for (key = STEP; key <= highest / 2; key += 3 * STEP) {
		tap_check(!store_delete(store, key), "delete");
		there[key] = false;
	}
	tap_check(!shape->tiny || clfb_tree_of(store->engine)->levels >= 2, "a low tree");
	crab_store_detach(store);
	image = malloc(media.size);
	memcpy(image, media.base, media.size);
}

int main(void)
{
	u32 i, v;

	crab_host_log = NULL;
	crab_host_seed(1);
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		shape = &shapes[i];
		shape_begin();
		splits = unlinks = 0;
		for (v = 0; v < ARRAY_SIZE(verbs); v++)
			test_verb(&verbs[v]);
		tap_check(!shape->tiny || (splits && unlinks), "no split or unlink");
		free(image);
		media_destroy(&media);
	}
	return tap_done();
}
