// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests engines while one load returns another value, and the next load of the word its own: for
 * each layout each verb, and each of its loads in turn.
 *
 * Invariant: a verb does its work, or returns -EUCLEAN and changes nothing. Afterwards the media has all
 * records and no damage. Only the value that a search returns is not verified.
 *	test_blink_verbs [LAYOUT]
 */
#include <linux/minmax.h>

#include "engines/clfb/clfb.h"
#include "engines/crab/leaf.h"
#include "engines/fastfair/fastfair.h"
#include "engines/nbtree/eadr/eadr.h"
#include "shadow/shadow.h"
#include "blink.h"
#include "traces.h"
#include "test.h"

#define KEYS_MAX	1300U	/* of them every tenth is a record */
#define STEP		10U

/* The value that a load returns */
enum then { ONES, ZERO, SAME, NEAR, FLIP, THENS };

#define LIMITS	(BIT(ONES) | BIT(ZERO))
#define OTHERS	(LIMITS | BIT(NEAR) | BIT(FLIP))	/* a slot with the fingerprint of a key is trusted */
#define ALL	(OTHERS | BIT(SAME))

/* The store before each verb */
static const struct shape {
	const char *engine;
	const char *layout;
	u32 leaf_bytes;
	u32 leaves;
	u32 records;
	u32 stride;		/* of the keys of each verb */
	u32 tiny;		/* slots of a leaf, and children of a node */
	u32 thens;		/* a bit for each value */
} shapes[] = {
	{ "clfb", "inplace", 128, 64, 30, 15, 3, LIMITS },
	{ "clfb", "twin", 128, 64, 30, 15, 3, LIMITS },
	{ "clfb", "atomic", 128, 64, 30, 15, 3, LIMITS },
	{ "clfb", "encoded", 64, 64, 30, 15, 3, LIMITS },
	{ "clfb", "inplace", 512, 16, 58, 195, 0, LIMITS },
	{ "clfb", "inplace", 2048, 8, 125, 425, 0, LIMITS },
#ifdef CRAB_CLFB_BARE
	{ "clfb", "bare", 128, 64, 30, 15, 3, LIMITS },
#endif
	{ "nbtree", "adr", 128, 64, 30, 15, 3, ALL },
	{ "nbtree", "adr", 512, 16, 58, 195, 0, ALL },
	{ "nbtree", "adr", 512, 4, 29, 35, 0, ALL },
	{ "nbtree", "eadr", 128, 64, 30, 15, 3, ALL },
	{ "nbtree", "eadr", 512, 16, 58, 195, 0, ALL },
	{ "nvtree", "append", 128, 64, 30, 15, 0, ALL },
	{ "nvtree", "append", 512, 16, 58, 195, 0, ALL },
	{ "crab", "slotted", 128, 64, 30, 15, 3, ALL },
	{ "crab", "slotted", 512, 16, 58, 195, 0, ALL },
	{ "crab", "slotted", 2048, 8, 125, 425, 0, ALL },
	{ "crab", "sorted", 128, 64, 30, 15, 4, ALL },
	{ "crab", "sorted", 256, 64, 58, 35, 0, ALL },
	{ "fastfair", "shift", 128, 64, 30, 15, 3, ALL },
	{ "fastfair", "shift", 512, 16, 58, 195, 0, ALL },
	{ "fastfair", "shift", 512, 4, 27, 35, 0, ALL },
};

static const struct shape *shape;
static struct crab_tuning tuning;	/* of sorted leaves */
static bool there[KEYS_MAX + 2 * STEP];	/* the records, by key */
static u8 *image;			/* the media with them */
static u64 highest;
static u64 splits, unlinks;		/* of all verbs */
static bool by_list;			/* a search does not find the leaf by the index */
static bool trusting;			/* a scan may return one key otherwise, in its place */
static u64 gone_from;			/* all keys from this one on were deleted */

static u64 value_of(u64 key)
{
	return key * 3;
}

/* The load that fails */
static struct {
	enum then then;
	u64 key;		/* of the verb */
	u32 loads;
	u32 when;
} blink;

/* In `eadr` the two highest bits of a word with a key are the state of the record */
static u64 blink_value(u64 was)
{
	const u64 mask = strcmp(shape->layout, "eadr") ? ~0ULL : ~0ULL >> 2;

	if (blink.then < SAME)
		return blink.then == ONES ? ~0ULL : 0;
	if (blink.then == FLIP)
		return was ^ 1ULL << 40;
	return (was & ~mask) | ((blink.then == NEAR ? was + STEP : blink.key) & mask);
}

static void blinking(struct crab_shadow *shadow, u32 word)
{
	__le64 *at = (__le64 *)media.base + word;

	blink_over();
	if (++blink.loads == blink.when)
		blink_now(at, blink_value(le64_to_cpu(*at)));
}

static struct crab_store *attach(struct crab_attach_report *report)
{
	struct crab_attach_options options = { .tuning = strcmp(shape->layout, "sorted") ? NULL : &tuning };

	return crab_store_attach(&media, &options, report);
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
	int i, n, wrong = 0;

	do {
		n = crab_cursor_read(store, cursor, record, ARRAY_SIZE(record));
		for (i = 0; i < n; i++, at += step) {
			while (at != end && !there[at])
				at += step;
			if (at == end || (record[i].key != at && (!trusting || wrong++)))
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

/* The value that the key has decides; without a record it is not there */
static int swap_value(u64 key, u64 *gets)
{
	struct crab_old old = { .expected = value_of(key) };
	int err = crab_store_insert(store, key, 77, CRAB_INSERT_SWAP, &old);

	if (!err && !there[key])
		return -ERANGE;
	if (!err)
		*gets = 77;
	return err == (there[key] ? 0 : -ENOENT) ? 0 : err;
}

/* With a search after it: an operation alone would be no batch */
static int batch(u64 key, enum crab_verb verb)
{
	struct crab_batch_op ops[] = {
		{ .verb = verb, .key = key, .value = 77, .mode = CRAB_INSERT_ADD },
		{ .verb = CRAB_VERB_SEARCH, .key = key },
	};

	crab_store_batch(store, ops, ARRAY_SIZE(ops));
	return ops[0].status;
}

static int batch_add(u64 key, u64 *gets)
{
	int err = batch(key, CRAB_VERB_INSERT);

	if (!err)
		*gets = there[key] ? value_of(key) + 77 : 77;
	return err;
}

static int deleted(u64 key, int err, u64 *gets)
{
	if (!err && !there[key])
		return -ERANGE;
	if (!err)
		*gets = 0;
	return err == (there[key] ? 0 : -ENOENT) ? 0 : err;
}

static int delete(u64 key, u64 *gets)
{
	return deleted(key, store_delete(store, key), gets);
}

static int batch_delete(u64 key, u64 *gets)
{
	return deleted(key, batch(key, CRAB_VERB_DELETE), gets);
}

/* All keys from @key on; after an error some of them may be there */
static int delete_range(u64 key, u64 *gets)
{
	struct crab_cursor cursor;
	u64 deleted = 0;
	int err = 0;

	gone_from = key;
	*gets = 0;
	crab_cursor_init(&cursor, key, highest);
	while (!cursor.done && !err)
		err = crab_cursor_delete(store, &cursor, 16, &deleted);
	return err == -EROFS ? -EUCLEAN : err;
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

	traces_leave(store->engine, shape->layout, key);
	crab_store_abandon(store);
	store = attach(&report);
	return IS_ERR(store) || report.verdict != CRAB_VERDICT_GOOD ? -EUCLEAN : 0;
}

static int maintain(u64 key, u64 *gets)
{
	store_maintain(store);
	return 0;
}

#define WHOLE	BIT(0)		/* one key only */
#define TRUSTS	BIT(1)		/* returns a key of the range, as it does a value, without a second load of it */
#define BATCH	BIT(2)

static const struct verb {
	const char *name;
	int (*call)(u64 key, u64 *gets);
	u32 how;
} verbs[] = {
	{ "search", search, 0 },
	{ "seek up", seek_up, TRUSTS },
	{ "seek down", seek_down, TRUSTS },
	{ "scan", scan, WHOLE | TRUSTS },
	{ "scan back", scan_back, WHOLE | TRUSTS },
	{ "insert", insert, 0 },
	{ "create", create, 0 },
	{ "replace", replace, 0 },
	{ "add", add, 0 },
	{ "swap", swap_value, 0 },
	{ "delete", delete, 0 },
	{ "delete of a range", delete_range, WHOLE },
	{ "add in a batch", batch_add, BATCH },
	{ "delete in a batch", batch_delete, BATCH },
	{ "CHECK", check, WHOLE },
	{ "attach", again, WHOLE },
	{ "maintain", maintain, WHOLE },
};

static void store_load(void)
{
	struct crab_attach_report report;

	memcpy(media.base, image, media.size);
	store = attach(&report);
	tap_check(!IS_ERR(store) && report.verdict == CRAB_VERDICT_GOOD, "attach: %s", report.reason);
}

/* Counts the keys with another value than they should have; @failed: some may be quarantined */
static u64 count_wrong(u64 key, u64 gets, bool failed, bool range_failed)
{
	u64 at, value, wrong = 0, expected;
	int err;

	for (at = STEP / 2; at <= highest + STEP; at += STEP / 2) {
		expected = at == key ? gets : there[at] && at < gone_from ? value_of(at) : 0;
		err = crab_store_search(store, at, &value);
		if (range_failed && at >= gone_from)
			continue;
		if (!failed || err != -EUCLEAN)
			wrong += err != (expected ? 0 : -ENOENT) || (!err && value != expected);
	}
	return wrong;
}

static bool has_damage(void)
{
	return store->engine->damage.count || store->engine->found.count;
}

/* As count_wrong(), after a verb; then the store is abandoned. Memory and media agree, or there is damage */
static u64 end_verb(const struct verb *verb, u64 key, u64 gets, int err)
{
	struct crab_engine_stats stats;
	struct crab_check_report report;
	u64 wrong;

	store->engine->ops->stats(store->engine, &stats);
	splits += stats.splits;
	unlinks += stats.unlinks;
	wrong = count_wrong(key, gets, err || has_damage(), err);
	if (!err && verb->how & TRUSTS && !has_damage())
		wrong += !!scan(0, NULL);	/* in the order that the verb has left */
	if (!err && !has_damage()) {
		store_maintain(store);
		crab_store_check(store, &report);
		wrong += report.damage.count;
	}
	crab_store_abandon(store);
	return wrong;
}

/* `eadr`: the index does not lead to the leaf of a key, as if another task was changing it; NULL: it does */
static struct nb_leaf *index_hide(u64 key)
{
	struct nb_tree *tree = nb_tree_of(store->engine);
	struct nb_leaf *leaf = crab_index_find(&tree->index, key);

	/* A split would change the entry */
	if (!leaf->low || leaf->fp[tree->room - 1])
		return NULL;
	mutex_lock(&tree->smo_lock);
	crab_index_remove(&tree->index, leaf->low);
	mutex_unlock(&tree->smo_lock);
	return leaf;
}

static void index_show(struct nb_leaf *leaf)
{
	struct nb_tree *tree = nb_tree_of(store->engine);

	mutex_lock(&tree->smo_lock);
	tap_check(!crab_index_reserve(&tree->index), "no memory");
	crab_index_insert(&tree->index, leaf->low, leaf);
	mutex_unlock(&tree->smo_lock);
}

/* False: the verb loads fewer words */
static bool blink_once(const struct verb *verb, u64 key, enum then then, u32 when)
{
	u64 gets = there[key] ? value_of(key) : 0, wrong = 0;
	struct crab_attach_report report = { };
	struct nb_leaf *hidden = NULL;
	struct crab_shadow *shadow;
	int err;

	store_load();
	if (by_list)
		hidden = index_hide(key);
	shadow = crab_shadow_create(&media, 512);
	blink.then = then;
	blink.key = key;
	blink.loads = 0;
	blink.when = when;
	shadow->loading = blinking;
	gone_from = ~0ULL;
	trusting = !strcmp(shape->layout, "slotted");
	err = verb->call(key, &gets);
	trusting = false;
	shadow->loading = NULL;
	blink_over();
	crab_shadow_destroy(shadow);
	if (hidden)
		index_show(hidden);
	if (!IS_ERR(store))
		wrong = end_verb(verb, key, gets, err);
	store = attach(&report);
	if (!IS_ERR(store)) {
		wrong += count_wrong(key, gets, false, err);
		crab_store_abandon(store);
	}
	tap_check((!err || err == -EUCLEAN) && !IS_ERR(store) && !wrong &&
		  report.verdict == CRAB_VERDICT_GOOD, "%s %u %s %llu: load %u reads %s: %d, %llu wrong, %s",
		  shape->layout, shape->leaf_bytes, verb->name, key, when,
		  (const char *[]) { "ones", "zero", "same", "near", "flip" }[then], err, wrong, report.reason);
	return blink.loads >= when;
}

static u32 blink_thens(const struct verb *verb)
{
	const bool slotted = !strcmp(shape->layout, "slotted");

	if (slotted && verb->call == search)	/* it trusts a fingerprint */
		return shape->thens & OTHERS;
	/* The last key that a scan down returns may read as one above it: then its record comes again */
	if (slotted && verb->call == scan_back)
		return shape->thens & ~BIT(NEAR);
	return verb->how & TRUSTS && !slotted ? shape->thens & LIMITS : shape->thens;
}

static u64 blink_all(const struct verb *verb, u64 key)
{
	const u32 thens = blink_thens(verb);
	u32 when, step = verb->how & WHOLE && !shape->tiny ? THENS : 1;	/* many loads: one value each */
	enum then then;
	u64 n = 0;

	for (then = ONES; then < THENS; then++)
		for (when = 1 + then % step; thens & BIT(then) && blink_once(verb, key, then, when); when += step)
			n++;
	return n;
}

/* In other engines a batch is the verbs of its operations, and maintenance changes no leaf */
static bool applies(const struct verb *verb)
{
	if (verb->how & BATCH)
		return !strcmp(shape->engine, "crab");
	if (verb->call != maintain)
		return true;
	return shape->tiny && (!strcmp(shape->layout, "eadr") || !strcmp(shape->layout, "slotted"));
}

static void test_verb(const struct verb *verb)
{
	u64 key, n = 0;

	if (!blink_thens(verb) || !applies(verb))
		return;
	if (verb->how & WHOLE)
		n = blink_all(verb, highest / 2);
	else
		for (key = STEP / 2; key <= highest + STEP; key += shape->stride)
			n += blink_all(verb, key);
	tap_ok(n, "%s%s, leaves of %u bytes: %s%s, while a load returns another value, %llu times", shape->layout,
	       strcmp(shape->layout, "sorted") ? "" : tuning.strategy == CRAB_STRATEGY_SIP ? ", shifted" :
	       ", copied", shape->leaf_bytes, verb->name, by_list ? " by the list" : "", n);
}

static void lose(u64 from, u64 to, u64 step)
{
	u64 key;

	for (key = from; key <= to; key += step) {
		tap_check(!there[key] || !store_delete(store, key), "delete");
		there[key] = false;
	}
}

/* In `eadr` an empty leaf stays in the list if another task changes the index meanwhile */
static void lose_leaf(void)
{
	struct nb_tree *tree = nb_tree_of(store->engine);

	mutex_lock(&tree->smo_lock);
	lose(highest / 2, highest / 2 + 4 * STEP, STEP);
	mutex_unlock(&tree->smo_lock);
}

/* Records in no order of their keys, of which a sixth is deleted: leaves with few records, and stale slots */
static void shape_begin(void)
{
	u64 i, key, n = shape->records;

	crab_tiny_slots = shape->tiny;
	media = media_create(CRAB_POOL_OFFSET + (1 << 14) + shape->leaves * shape->leaf_bytes);
	store = store_format_attach(&media, shape->engine, shape->layout, shape->leaf_bytes);
	memset(there, 0, sizeof(there));
	highest = n * STEP;
	for (i = 1; i <= n; i++) {
		key = i * 37 % (n + 1) * STEP;
		tap_check(!store_put(store, key, value_of(key)), "put");
		there[key] = true;
	}
	if (shape->leaves > 4)	/* otherwise one leaf, which is full */
		lose(STEP, highest / 2, 3 * STEP);
	if (!strcmp(shape->layout, "eadr"))
		lose_leaf();
	if (!strcmp(shape->layout, "shift") && shape->tiny)	/* leaves with one record */
		lose(2 * STEP, highest / 2, 6 * STEP);
	crab_store_detach(store);
	image = malloc(media.size);
	memcpy(image, media.base, media.size);
}

static void test_shape(void)
{
	u32 v;

	shape_begin();
	splits = unlinks = 0;
	for (v = 0; v < ARRAY_SIZE(verbs); v++)
		test_verb(&verbs[v]);
	tap_check(!shape->tiny || (splits && unlinks), "no split or unlink");
	by_list = !strcmp(shape->layout, "eadr");
	for (v = 0; by_list && v < ARRAY_SIZE(verbs); v++)
		if (!(verbs[v].how & (WHOLE | BATCH)) && verbs[v].call != delete)
			test_verb(&verbs[v]);
	by_list = false;
	free(image);
	media_destroy(&media);
}

int main(int argc, char **argv)
{
	u32 i;

	crab_host_log = NULL;
	crab_host_seed(1);
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		if (argc > 1 && strcmp(argv[1], shapes[i].layout))
			continue;
		shape = &shapes[i];
		tuning.strategy = CRAB_STRATEGY_SIP;
		test_shape();
		tuning.strategy = CRAB_STRATEGY_COW;
		if (!strcmp(shape->layout, "sorted"))
			test_shape();
	}
	return tap_done();
}
