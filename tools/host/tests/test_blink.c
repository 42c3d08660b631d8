// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests verbs of the engines nvtree and fastfair, and of sorted leaves of crab, while one key
 * of a leaf reads all ones for one load, and then reads as before.
 *
 * Invariant: each verb does its work or returns -EUCLEAN. No read passes a record in silence.
 */
#include <linux/minmax.h>

#include "engines/crab/crab.h"
#include "engines/fastfair/tree.h"
#include "engines/nvtree/nvtree.h"
#include "shadow/shadow.h"
#include "blink.h"
#include "test.h"

#define LEAF_BYTES	512U
#define LEAVES		16U
#define RECORDS		15U	/* keys 10, 20, ..., in one leaf */
#define LOADS		8U	/* of a key, by a verb, at most */

/* The key that reads all ones, and when */
static struct {
	struct crab_shadow *shadow;
	__le64 *word;
	u64 then;		/* all ones, or another value */
	u32 loads;
	u32 when;
	bool smo;		/* only loads outside of shifts count */
	bool shifts;
} blink;

static void blinking(struct crab_shadow *shadow, u32 word)
{
	blink_over();
	if ((__le64 *)media.base + word != blink.word || (blink.smo && blink.shifts))
		return;
	if (++blink.loads == blink.when)
		blink_now(blink.word, blink.then);
}

void __real_crab_ff_shift_in(struct ff_op *op, const struct ff_node *node, u32 pos, u64 key, u64 value);
void __wrap_crab_ff_shift_in(struct ff_op *op, const struct ff_node *node, u32 pos, u64 key, u64 value)
{
	blink.shifts = true;
	__real_crab_ff_shift_in(op, node, pos, key, value);
	blink.shifts = false;
}

void __real_crab_ff_shift_out(struct ff_op *op, const struct ff_node *node, u32 pos);
void __wrap_crab_ff_shift_out(struct ff_op *op, const struct ff_node *node, u32 pos)
{
	blink.shifts = true;
	__real_crab_ff_shift_out(op, node, pos);
	blink.shifts = false;
}

void __real_crab_sorted_shift_in(struct crab_write *write, struct crab_leaf *leaf, u32 pos, u64 key, u64 value);
void __wrap_crab_sorted_shift_in(struct crab_write *write, struct crab_leaf *leaf, u32 pos, u64 key, u64 value);
void __wrap_crab_sorted_shift_in(struct crab_write *write, struct crab_leaf *leaf, u32 pos, u64 key, u64 value)
{
	blink.shifts = true;
	__real_crab_sorted_shift_in(write, leaf, pos, key, value);
	blink.shifts = false;
}

void __real_crab_sorted_shift_out(struct crab_write *write, struct crab_leaf *leaf, u32 pos);
void __wrap_crab_sorted_shift_out(struct crab_write *write, struct crab_leaf *leaf, u32 pos);
void __wrap_crab_sorted_shift_out(struct crab_write *write, struct crab_leaf *leaf, u32 pos)
{
	blink.shifts = true;
	__real_crab_sorted_shift_out(write, leaf, pos);
	blink.shifts = false;
}

static __le64 *nv_key(u32 i)
{
	struct nv_dleaf *d = nv_leaf_media(nv_tree_of(store->engine), 0);

	return &d->line[i / NV_LINE_SLOTS].slot[i % NV_LINE_SLOTS].key;
}

static __le64 *ff_key_at(u32 i)
{
	return &ff_slot(ff_of(store->engine), 0, i)->key;
}

static __le64 *sorted_key(u32 i)
{
	const struct crab_tree *tree = crab_tree_of(store->engine);

	return &crab_leaf_slot(tree, tree->first, i)->key;
}

/* Key @at, after @deleted lower ones were deleted */
static __le64 *key_at(const char *engine, u32 at, u32 deleted)
{
	if (!strcmp(engine, "nvtree"))
		return nv_key(at);
	return strcmp(engine, "crab") ? ff_key_at(at - deleted) : sorted_key(at - deleted);
}

/* @deleted: so many of the lowest keys are deleted, those of the records come after them */
static void begin(const char *engine, u32 deleted)
{
	u64 i;

	store_begin(CRAB_POOL_OFFSET + LEAVES * LEAF_BYTES, engine, strcmp(engine, "crab") ? "" : "sorted",
		    LEAF_BYTES);
	for (i = 1; i <= RECORDS; i++)
		tap_check(!store_insert(store, i * 10, i, CRAB_INSERT_EITHER), "insert");
	for (i = 1; i <= deleted; i++)
		tap_check(!store_delete(store, i * 10), "delete");
}

static void blink_begin(__le64 *word, u32 when)
{
	blink.shadow = crab_shadow_create(&media, 1024);
	blink.word = word;
	blink.then = CRAB_KEY_EMPTY;
	blink.loads = 0;
	blink.when = when;
	blink.shadow->loading = blinking;
}

static void blink_stop(void)
{
	blink.shadow->loading = NULL;
	blink_over();
}

static bool blink_end(void)
{
	bool hit = blink.loads >= blink.when;

	blink_stop();
	crab_shadow_destroy(blink.shadow);
	store_abandon(store);
	return hit;
}

/* Verbs: 0 or an error; -ERANGE: another record than that of @key */

static int search(u64 key)
{
	u64 value;

	return crab_store_search(store, key, &value) ?: value == key / 10 ? 0 : -ERANGE;
}

static int seek_up(u64 key)
{
	struct crab_record record;

	return crab_store_seek(store, key - 5, CRAB_SEEK_GE, &record) ?: record.key == key ? 0 : -ERANGE;
}

static int seek_down(u64 key)
{
	struct crab_record record;

	return crab_store_seek(store, key + 5, CRAB_SEEK_LE, &record) ?: record.key == key ? 0 : -ERANGE;
}

static int seek_far(u64 key)
{
	struct crab_record record;

	return crab_store_seek(store, 0, CRAB_SEEK_GE, &record) ?: record.key == key ? 0 : -ERANGE;
}

/* The records from @key on */
static int scan(u64 key)
{
	struct crab_record record[RECORDS];
	struct crab_cursor cursor;
	int i, n;

	crab_cursor_init(&cursor, key - 5, CRAB_KEY_EMPTY - 1);
	do {
		n = crab_cursor_read(store, &cursor, record, RECORDS);
		for (i = 0; i < n; i++, key += 10)
			if (record[i].key != key)
				return -ERANGE;
	} while (n > 0 && !cursor.done);
	return n < 0 ? n : key > RECORDS * 10 ? 0 : -ENOENT;
}

/* The records from the highest down to @key */
static int scan_back(u64 key)
{
	struct crab_record record[RECORDS];
	struct crab_cursor cursor;
	u64 at = max_t(u64, RECORDS * 10, key);
	int i, n;

	crab_cursor_init_back(&cursor, key - 5, CRAB_KEY_EMPTY - 1);
	do {
		n = crab_cursor_read(store, &cursor, record, RECORDS);
		for (i = 0; i < n; i++, at -= 10)
			if (record[i].key != at)
				return -ERANGE;
	} while (n > 0 && !cursor.done);
	return n < 0 ? n : at < key ? 0 : -ENOENT;
}

static int create(u64 key)
{
	int err = store_insert(store, key, 1, CRAB_INSERT_CREATE);

	return err == -EEXIST ? 0 : err ?: -ERANGE;
}

static int insert(u64 key)
{
	return store_insert(store, key, 1, CRAB_INSERT_EITHER);
}

static int replace(u64 key)
{
	return store_insert(store, key, 1, CRAB_INSERT_REPLACE);
}

static int delete(u64 key)
{
	return store_delete(store, key);
}

static const struct verb {
	const char *name;
	int (*call)(u64 key);
	u32 deleted;		/* records before the one of the key */
} verbs[] = {
	{ "search", search, 0 },
	{ "seek up", seek_up, 0 },
	{ "seek down", seek_down, 0 },
	{ "seek past one deleted record", seek_far, 1 },
	{ "seek past many deleted records", seek_far, 6 },
	{ "scan", scan, 0 },
	{ "scan back", scan_back, 0 },
	{ "insert of a key that exists", create, 0 },
	{ "replace", replace, 0 },
	{ "delete", delete, 0 },
};

/* Returns how often the verb met the ones */
static u32 test_key(const char *engine, const struct verb *verb, u32 at)
{
	u32 when, hits = 0;
	int err;

	for (when = 1; when <= LOADS; when++) {
		begin(engine, verb->deleted);
		blink_begin(key_at(engine, at, verb->deleted), when);
		err = verb->call((at + 1) * 10);
		tap_check(!err || err == -EUCLEAN, "key %u, load %u: %d", (at + 1) * 10, when, err);
		hits += blink_end();
	}
	return hits;
}

/* A search for the place of a new key met the ones: the keys still ascend */
static void test_place(const char *engine, u32 at)
{
	u32 key, lost = 0;
	int err;

	begin(engine, 0);
	blink_begin(key_at(engine, at, 0), 1);
	err = store_insert(store, RECORDS * 10 - 15, 1, CRAB_INSERT_EITHER);
	blink_stop();
	for (key = 10; key <= RECORDS * 10; key += 10)
		lost += !!search(key);
	tap_check(!err || err == -EUCLEAN, "%d", err);
	store_check_good(store);
	tap_ok(!lost && blink.loads, "%s: an insert while key %u reads all ones once: %d, %u records are lost",
	       engine, (at + 1) * 10, err, lost);
	blink_end();
}

static void test_verb(const char *engine, const struct verb *verb)
{
	u32 hits;

	if (verb->call == seek_far)
		hits = test_key(engine, verb, verb->deleted);
	else
		hits = test_key(engine, verb, 0) + test_key(engine, verb, RECORDS / 2) +
		       test_key(engine, verb, RECORDS - 1);
	tap_ok(hits, "%s: %s: a key reads all ones once", engine, verb->name);
}

/*
 * Writes and structure modifications: any word of any node reads all ones at any load, and the media has
 * all records afterwards. Loads of shifts that move slots are left out: shift.c explains why
 */

#define SMALL		128U	/* bytes of a node of four slots */

struct smo {
	const char *name;
	u32 leaf_bytes;
	u32 records;		/* keys 10, 20, ... */
	u32 from;		/* so many of the lowest ones remain after deletes; 0: all */
	u32 gone;		/* so many of the lowest ones are deleted, and then one more */
	u64 insert;		/* key; 0: the highest key is deleted */
	enum crab_insert_mode mode;	/* CRAB_INSERT_CREATE: the key exists */
	bool still;		/* no slot moves: loads of shifts count as well */
	bool copies;		/* sorted: a leaf splits by a copy */
	const char *engine;	/* crab: sorted leaves; NULL: fastfair */
};

static bool is_sorted(const struct smo *smo)
{
	return smo->engine && !strcmp(smo->engine, "crab");
}

/* Values of sorted leaves are not compared */
static bool smo_skips(const struct smo *smo, u64 word)
{
	return is_sorted(smo) && word % (smo->leaf_bytes / 8) > sizeof(struct crab_dhead) / 8 && word % 2;
}

/* The words of all nodes */
static u64 smo_words(const struct smo *smo)
{
	return LEAVES * smo->leaf_bytes / sizeof(u64);
}

/* The records that remain before the operation */
static u64 smo_begin(const struct smo *smo)
{
	u64 i;

	store_begin(CRAB_POOL_OFFSET + LEAVES * smo->leaf_bytes, smo->engine ?: "fastfair",
		    is_sorted(smo) ? "sorted" : "", smo->leaf_bytes);
	if (is_sorted(smo))
		crab_tree_of(store->engine)->tuning.strategy = smo->copies ? CRAB_STRATEGY_COW :
									     CRAB_STRATEGY_SIP;
	for (i = 1; i <= smo->records; i++)
		tap_check(!store_insert(store, i * 10, i, CRAB_INSERT_EITHER), "insert");
	for (i = 1; i <= smo->gone; i++)
		tap_check(!store_delete(store, i * 10), "delete");
	for (i = smo->records; smo->from && i > smo->from; i--)
		tap_check(!store_delete(store, i * 10), "delete");
	return i;
}

/* The key of the operation */
static u64 smo_key(const struct smo *smo, u64 records)
{
	return smo->insert ?: (smo->gone ? smo->gone + 1 : records) * 10;
}

/* The operation */
static int smo_call(const struct smo *smo, u64 key)
{
	int err;

	if (!smo->insert)
		return store_delete(store, key);
	if (smo->mode != CRAB_INSERT_CREATE)
		return store_insert(store, key, key / 10, smo->mode);
	err = store_insert(store, key, 1, smo->mode);
	return err == -EEXIST ? 0 : err ?: -ERANGE;
}

/* The records of the media, with or without the one of the operation, and no damage */
static bool content_is(const struct smo *smo, u64 records, bool done)
{
	struct crab_attach_report report;
	u64 key = smo_key(smo, records), i, wrong = 0;

	crab_store_abandon(store);
	store = crab_store_attach(&media, &(struct crab_attach_options){ }, &report);
	if (IS_ERR(store))
		return false;
	for (i = smo->gone + 1; i <= records; i++)
		wrong += i * 10 != key && search(i * 10);
	if (smo->insert && key % 10 == 0 && key <= records * 10)
		wrong += !!search(key);
	else
		wrong += store_search(store, key) != (!smo->insert == done ? -ENOENT : 0);
	crab_store_abandon(store);
	return !wrong && report.verdict == CRAB_VERDICT_GOOD;
}

/* False: the word is not loaded so often */
static bool smo_once(const struct smo *smo, u64 word, u32 when)
{
	u64 records = smo_begin(smo);
	bool hit;
	int err;

	blink_begin((__le64 *)(media.base + store->engine->geo.pool_offset) + word, when);
	blink.smo = !smo->still;
	err = smo_call(smo, smo_key(smo, records));
	blink.smo = false;
	hit = blink.loads >= when;
	blink_stop();
	crab_shadow_destroy(blink.shadow);
	tap_check(!err || err == -EUCLEAN, "%d", err);
	tap_check(content_is(smo, records, !err), "%s: word %llu of node %llu, load %u: %d", smo->name,
		  word % (smo->leaf_bytes / 8), word / (smo->leaf_bytes / 8), when, err);
	media_destroy(&media);
	return hit;
}

static const struct smo smos[] = {
	{ "a leaf splits, and the key goes to its end", LEAF_BYTES, 28, .insert = 290 },
	{ "a leaf splits, and the key goes to its upper half", LEAF_BYTES, 28, .insert = 225 },
	{ "a leaf splits, and the key goes to its lower half", LEAF_BYTES, 28, .insert = 15 },
	{ "an inner node splits at its end", SMALL, 12, .insert = 130 },
	{ "leaves merge", LEAF_BYTES, 29, .from = 22 },
	{ "a tree of 13 records loses the highest", SMALL, 13, .from = 12 },
	{ "a tree of 11 records loses the highest", SMALL, 13, .from = 11 },
	{ "a tree of 10 records loses the highest", SMALL, 13, .from = 10 },
	{ "a tree of 9 records loses the highest", SMALL, 13, .from = 9 },
	{ "a tree of 8 records loses the highest", SMALL, 13, .from = 8 },
	{ "a tree of 7 records loses the highest", SMALL, 13, .from = 7 },
	{ "a tree of 6 records loses the highest", SMALL, 13, .from = 6 },
	{ "a tree of 5 records loses the highest", SMALL, 13, .from = 5 },
	{ "a tree of 4 records loses the highest", SMALL, 13, .from = 4 },
	{ "the end of a leaf moves", LEAF_BYTES, 20, .insert = 205, .still = true },
	{ "the end of a leaf moves to another line", LEAF_BYTES, 19, .insert = 195, .still = true },
	{ "a leaf loses the highest key", LEAF_BYTES, 20, .still = true },
	{ "an insert shifts", LEAF_BYTES, 20, .insert = 95, .engine = "crab" },
	{ "the end of a leaf moves", LEAF_BYTES, 20, .insert = 205, .still = true, .engine = "crab" },
	{ "the end of a leaf moves to another line", LEAF_BYTES, 20, .insert = 215, .still = true, .engine = "crab" },
	{ "a leaf loses the highest key", LEAF_BYTES, 20, .still = true, .engine = "crab" },
	{ "a leaf splits, and the key goes to its end", LEAF_BYTES, 29, .insert = 300, .engine = "crab" },
	{ "a leaf splits, and the key goes to its upper half", LEAF_BYTES, 29, .insert = 225, .engine = "crab" },
	{ "a leaf splits, and the key goes to its lower half", LEAF_BYTES, 29, .insert = 15, .engine = "crab" },
	{ "a leaf is removed", LEAF_BYTES, 30, .from = 30, .engine = "crab" },
	{ "leaves merge", LEAF_BYTES, 58, .from = 44, .gone = 15, .engine = "crab" },
	{ "a record goes to the next leaf", LEAF_BYTES, 58, .from = 43, .engine = "crab" },
	{ "a record comes from the next leaf", LEAF_BYTES, 58, .gone = 15, .engine = "crab" },
	{ "an insert of the highest key, which exists", LEAF_BYTES, 58, .insert = 580, .mode = CRAB_INSERT_CREATE,
	  .engine = "crab" },
	{ "an insert of a key that exists, into copies", LEAF_BYTES, 58, .insert = 580, .mode = CRAB_INSERT_CREATE,
	  .copies = true, .engine = "crab" },
	{ "an insert", LEAF_BYTES, 15, .insert = 95, .engine = "nvtree" },
	{ "a replace", LEAF_BYTES, 16, .insert = 90, .engine = "nvtree" },
	{ "a delete", LEAF_BYTES, 17, .engine = "nvtree" },
};

static void test_smo(const struct smo *smo)
{
	u64 word, loads = 0;
	u32 when;

	for (word = 0; word < smo_words(smo); word++) {
		for (when = 1; !smo_skips(smo, word) && smo_once(smo, word, when); when++)
			;
		loads += when - 1;
	}
	tap_ok(loads, "%s: %s, while a word reads all ones once, %llu times", smo->engine ?: "fastfair",
	       smo->name, loads);
}

/*
 * fastfair: another task splits the leaf between the way to it and its lock. Then the last key of the
 * lower half reads another value at the load by which a verb decides that its key is not in the next leaf
 */

static bool split_done;

static void splitting(struct crab_shadow *shadow, u32 word)
{
	const unsigned int depth = crab_host_rcu_depth;
	const struct ff *ff = ff_of(store->engine);

	if ((__le64 *)media.base + word != &ff_media(ff, 0)->head.own || split_done)
		return;
	split_done = true;
	crab_host_rcu_depth = 0;
	tap_check(!store_insert(store, 15, 1, CRAB_INSERT_EITHER) && ff->splits == 1, "split");
	crab_host_rcu_depth = depth;
	blink.word = ff_key_at(crab_side(&ff->sides, 0)->count - 1);
	shadow->loading = blinking;
}

static void test_beyond(const struct verb *verb, u32 key, u64 then)
{
	static const struct smo full = { .leaf_bytes = LEAF_BYTES, .records = 28 };
	const u64 records = smo_begin(&full);
	u64 i, lost = 0;
	int err;

	ff_of(store->engine)->locked = true;	/* searches lock, too */
	blink_begin(NULL, 1);
	blink.then = then;
	split_done = false;
	blink.shadow->loading = splitting;
	err = verb->call(key);
	blink_stop();
	tap_check(split_done && blink.loads, "%u loads", blink.loads);
	tap_check(!err || err == -EUCLEAN, "%d", err);
	store = store_cut(store);
	for (i = 1; i <= records; i++)
		lost += !!search(i * 10);
	if (verb->call == delete && !err)
		lost--;
	if (verb->call == insert && !err)
		lost += !!store_search(store, key);
	store_check_good(store);
	tap_ok(!lost, "fastfair: %s of %u beyond a key that reads %lld once: %d, %llu records are lost",
	       verb->name, key, (long long)then, err, lost);
	blink_end();
}

static void test_split_meanwhile(u64 then)
{
	static const struct verb missing = { "insert", insert, 0 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!verbs[i].deleted)
			test_beyond(&verbs[i], 280, then);
	test_beyond(&missing, 285, then);
	test_beyond(&missing, 155, then);
}

int main(void)
{
	u32 i;

	crab_host_log = NULL;
	crab_host_seed(1);
	for (i = 0; i < ARRAY_SIZE(verbs); i++) {
		test_verb("nvtree", &verbs[i]);
		test_verb("fastfair", &verbs[i]);
		test_verb("crab", &verbs[i]);
	}
	test_place("nvtree", 0);
	test_place("nvtree", RECORDS / 2);
	test_place("fastfair", 0);
	test_place("fastfair", RECORDS / 2);
	for (i = 0; i < ARRAY_SIZE(smos); i++)
		test_smo(&smos[i]);
	test_split_meanwhile(CRAB_KEY_EMPTY);
	test_split_meanwhile(1000);
	return tap_done();
}
