// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests calls of the engine fastfair after a word of the media has changed under an
 * attached store.
 *
 * Invariant: the call that meets the change returns -EUCLEAN and describes it; it stores nothing.
 * A merge or an entry that meets it is left out, and the call succeeds.
 */
#include <linux/minmax.h>

#include "engines/fastfair/tree.h"
#include "test.h"

#define NODE_BYTES	256U
#define NODES		128U
#define SLOTS		12U
#define RECORDS		300U

static struct ff_find leaf[3];	/* the first leaves */
static struct ff_find inner;	/* above them */
static u64 low;			/* lowest key of leaf[1] */

static struct ff *ff(void)
{
	return ff_of(store->engine);
}

static struct ff_dslot *slot(u32 i)
{
	return ff_slot(ff(), leaf[1].node.number, i);
}

static struct ff_dslot *entry(u32 i)
{
	return ff_slot(ff(), inner.node.number, i);
}

static void word_set(__le64 *word, u64 value)
{
	*word = cpu_to_le64(value);
}

/* Each leaf has room, but the second one, in which the keys @low + 1 and following are, too */
static void begin(u32 more)
{
	u64 key, high;
	u32 i;

	store_begin(CRAB_POOL_OFFSET + NODES * NODE_BYTES, "fastfair", "", NODE_BYTES);
	for (key = 1; key <= RECORDS; key++)
		tap_check(!store_insert(store, key * 10, key, CRAB_INSERT_EITHER), "insert");
	for (i = 0, high = 0; i < ARRAY_SIZE(leaf); i++, high = leaf[i - 1].high)
		tap_check(!crab_ff_find_exact(ff(), high, 0, &leaf[i]), "leaf %u", i);
	low = leaf[1].node.low;
	for (i = 1; i <= more; i++)
		tap_check(!store_insert(store, low + i, i, CRAB_INSERT_EITHER), "insert");
	tap_check(!crab_ff_find_exact(ff(), low, 1, &inner), "parent");
	tap_check(crab_side(&ff()->sides, leaf[1].node.number)->count == SLOTS / 2 + more, "slots");
}

/* Calls */

static int search(u64 key)
{
	return store_search(store, key);
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

static int seek_up(u64 key)
{
	struct crab_record record;

	return crab_store_seek(store, key, CRAB_SEEK_GE, &record);
}

static int seek_down(u64 key)
{
	struct crab_record record;

	return crab_store_seek(store, key, CRAB_SEEK_LE, &record);
}

/* The first three leaves, in pieces; the error that ends it */
static int scan(u64 key)
{
	struct crab_record record[5];
	struct crab_cursor cursor;
	int got = 0;

	crab_cursor_init(&cursor, key - low, key + 3 * SLOTS * 10);
	while (!cursor.done && got >= 0)
		got = crab_cursor_read(store, &cursor, record, ARRAY_SIZE(record));
	return min(got, 0);
}

/* Changes of the second leaf, whose slots are low, low + 10, ..., low + 50 */

static void ones_first(void)
{
	word_set(&slot(0)->key, CRAB_KEY_EMPTY);
}

static void ones_line(void)
{
	memset(slot(4), 0xff, CRAB_LINE);
}

/* One more slot than memory counts */
static void more_slots(void)
{
	word_set(&slot(SLOTS / 2)->key, low + 55);
	word_set(&slot(SLOTS / 2 + 1)->key, CRAB_KEY_EMPTY);
}

static void next_low(void)
{
	word_set(&ff_media(ff(), leaf[2].node.number)->head.low, low + 35);
}

static void own_low(void)
{
	word_set(&ff_media(ff(), leaf[1].node.number)->head.low, low + 5);
}

static void next_link(void)
{
	ff_media(ff(), leaf[1].node.number)->head.next ^= cpu_to_le64(1ULL << 62);
}

static void next_end(void)
{
	ff_media(ff(), leaf[1].node.number)->head.next &= ~cpu_to_le64(CRAB_LINK_MASK);
}

static void level(void)
{
	word_set(&ff_media(ff(), leaf[1].node.number)->head.own, 1);
}

/* Changes of the second leaf when it is full: low, low + 1, ..., low + 6, low + 10, ... */

static void twins(void)
{
	slot(1)->key = slot(2)->key;
}

static void beyond(void)
{
	word_set(&slot(SLOTS - 1)->key, leaf[2].node.low + 1);
}

static void below(void)
{
	word_set(&slot(0)->key, low - 1);
}

/* Changes of the node above */

static void entry_link(void)
{
	entry(0)->value ^= cpu_to_le64(1ULL << 62);
}

static void entry_ones(void)
{
	memset(entry(4), 0xff, CRAB_LINE);
}

#define DIFFERS		"its slots do not end where they did"
#define NOWHERE		"a link does not lead to its node"

static const struct meeting {
	const char *name;
	u32 more;
	void (*change)(void);
	int (*call)(u64 key);
	u32 key;		/* less the lowest one */
	const char *what;
	bool done;		/* the record is there, and a leaf without its entry */
} meetings[] = {
	{ "ones, search", 0, ones_first, search, 5, "its keys have changed", false },
	{ "ones, replace", 0, ones_first, replace, 5, DIFFERS, false },
	{ "ones, delete", 0, ones_first, delete, 5, "its keys have changed", false },
	{ "ones, insert", 0, ones_line, insert, 15, DIFFERS, false },
	{ "ones, delete before it", 0, ones_line, delete, 30, DIFFERS, false },
	{ "more slots, insert", 0, more_slots, insert, 57, DIFFERS, false },
	{ "more slots, replace", 0, more_slots, replace, 55, DIFFERS, false },
	{ "more slots, delete", 0, more_slots, delete, 55, "its keys have changed", false },
	{ "a lower next leaf, insert", 0, next_low, insert, 55,
	  "its lowest key has changed", false },
	{ "a lower next leaf, delete", 0, next_low, delete, 50,
	  "its lowest key has changed", false },
	{ "a higher leaf", 0, own_low, insert, 3, NOWHERE, false },
	{ "link, insert", 0, next_link, insert, 55, NOWHERE, false },
	{ "end, insert", 0, next_end, insert, 55, NOWHERE, false },
	{ "level, search", 0, level, search, 10, NOWHERE, false },
	{ "level, insert", 0, level, insert, 15, NOWHERE, false },
	{ "entry, search", 0, entry_link, search, 10, NOWHERE, false },
	{ "ones, seek up", 0, ones_first, seek_up, 5, "its keys have changed", false },
	{ "ones, seek down", 0, ones_first, seek_down, 55, "its keys have changed", false },
	{ "ones, scan", 0, ones_first, scan, 0, "its keys have changed", false },
	{ "ones in the middle, seek down", 0, ones_line, seek_down, 55,
	  "its keys have changed", false },
	{ "ones in the middle, scan", 0, ones_line, scan, 0, "its keys have changed", false },
	{ "a lower next leaf, scan", 0, next_low, scan, 0, "its keys have changed", false },
	{ "a lower next leaf, seek up", 0, next_low, seek_up, 45,
	  "its range ends below a key of it", false },
	{ "a lower next leaf, seek down", 0, next_low, seek_down, 55,
	  "its lowest key has changed", false },
	{ "a higher leaf, scan", 0, own_low, scan, 0, NOWHERE, false },
	{ "a higher leaf, seek down", 0, own_low, seek_down, 5, "its keys have changed", false },
	{ "below, scan", 0, below, scan, 0, "its keys have changed", false },
	{ "below, seek up", 0, below, seek_up, 0, "its keys have changed", false },
	{ "below, seek down", 0, below, seek_down, 5, "its keys have changed", false },
	{ "link, scan", 0, next_link, scan, 0, NOWHERE, false },
	{ "beyond, scan", SLOTS / 2, beyond, scan, 0, "its keys have changed", false },
	{ "beyond, seek down", SLOTS / 2, beyond, seek_down, 55, "its keys have changed", false },
	{ "twins, split", SLOTS / 2, twins, insert, 15,
	  "keys do not ascend in their range", false },
	{ "beyond, split", SLOTS / 2, beyond, insert, 15,
	  "keys do not ascend in their range", false },
	{ "below, split", SLOTS / 2, below, insert, 15,
	  "keys do not ascend in their range", false },
	{ "link, split", SLOTS / 2, next_link, insert, 15, NOWHERE, false },
	{ "ones above, split", SLOTS / 2, entry_ones, insert, 15, DIFFERS, true },
};

static void test_meeting(const struct meeting *m)
{
	struct crab_engine_stats before = { }, after = { };
	const struct crab_damage *found;
	int err;

	begin(m->more);
	m->change();
	store->engine->ops->stats(store->engine, &before);
	err = m->call(low + m->key);
	store->engine->ops->stats(store->engine, &after);
	found = &store->engine->found;
	tap_check(after.records == before.records + m->done &&
		  after.leaves_used == before.leaves_used + m->done, "%llu records, %llu nodes",
		  after.records, after.leaves_used);
	tap_ok(err == (m->done ? 0 : -EUCLEAN) && strstr(found->what, m->what) && *found->what, "%s: %d, %s", m->name, err,
	       found->what);
	store_abandon(store);
}

/* A delete after which the second leaf and the first one fit in one, but one of them has changed */

static void first_order(void)
{
	word_set(&ff_slot(ff(), leaf[0].node.number, 1)->key, 1);
}

/* The leaf may be merged with the next one instead */
static void test_thin(void (*change)(void), bool merged, const char *what)
{
	struct crab_engine_stats before = { }, after = { };
	int err;

	begin(0);
	tap_check(!delete(low + 20) && !delete(low + 30), "delete");
	change();
	store->engine->ops->stats(store->engine, &before);
	err = delete(low + 40);
	store->engine->ops->stats(store->engine, &after);
	tap_check(after.records == before.records - 1 &&
		  after.leaves_used == before.leaves_used - merged, "%llu records, %llu nodes",
		  after.records, after.leaves_used);
	tap_ok(!err && strstr(store->engine->found.what, what), "merge: %d, %s", err,
	       store->engine->found.what);
	store_abandon(store);
}

/* Blocks that the split of a leaf takes */
static u32 split_takes(u64 key)
{
	struct ff_find find;
	u32 level = 0;
	int err;

	do
		err = crab_ff_find_exact(ff(), key, level++, &find);
	while (!err && find.node.side->count == SLOTS);
	return err ? level : level - 1;
}

static u32 insert_all(u64 *seed)
{
	const struct crab_pool *pool = &ff()->pool;
	u64 key;
	u32 n = 0;
	int err;

	do {
		key = rng(seed) >> 1;
		err = insert(key);
		n += !err;
		tap_check(!ff()->gaps && (!err || err == -ENOSPC), "%d%s", err,
			  ff()->gaps ? ", a node has no entry" : "");
		tap_check(!err || split_takes(key) > pool->free + pool->waiting,
			  "%llu blocks are free", pool->free);
	} while (!err && !tap_faults);
	return n;
}

/*
 * Fills a store in a random order, which is the same for all sizes, so that one of them is full when
 * the root grows; each node has its entry, and no leaf could be split
 */
static void test_fill(void)
{
	u64 seed;
	u32 nodes;

	for (nodes = 8; nodes < 100; nodes++) {
		seed = 7;
		store_begin(CRAB_POOL_OFFSET + nodes * NODE_BYTES, "fastfair", "", NODE_BYTES);
		insert_all(&seed);
		store_end(store);
	}
	tap_ok(true, "a full store has an entry for each node");
}

/* The first call only takes the lock: another task may have split the leaf before */
static void test_reserve(void)
{
	struct ff_op op = { .fresh = FF_NONE };
	struct crab_pool *pool;
	u64 free;

	begin(SLOTS / 2);
	op.ff = ff();
	pool = &ff()->pool;
	free = pool->free;
	tap_check(!crab_ff_op_reserve(&op, low) && op.structure, "first call");
	tap_check(op.fresh == FF_NONE && pool->free == free, "it took block %llu", op.fresh);
	tap_check(!crab_ff_op_reserve(&op, low), "second call");
	tap_check(op.fresh < NODES && pool->free == free - 1, "it took block %llu", op.fresh);
	crab_ff_op_end(&op);
	tap_ok(pool->free == free, "a block that is reserved, and not used, is free again");
	store_end(store);
}

/* Again and again, a node of a full store is removed, then the store is filled; returns the records */
static u32 refill_once(u32 nodes, bool late)
{
	struct crab_record record;
	u64 seed = nodes, before;
	u32 turn, n;

	store_begin(CRAB_POOL_OFFSET + nodes * NODE_BYTES, "fastfair", "", NODE_BYTES);
	n = insert_all(&seed);
	crab_host_poll_late = late;
	for (turn = 0; turn < 8; turn++) {
		for (before = ff()->nodes; ff()->nodes == before && !tap_faults; )
			tap_check(!crab_store_seek(store, (turn + 1ULL) << 59, CRAB_SEEK_GE, &record) &&
				  !delete(record.key), "delete");
		tap_check(!late || ff()->pool.waiting, "no block waits");
		n += insert_all(&seed);
	}
	crab_host_poll_late = false;
	store_end(store);
	return n;
}

static void test_refill(void)
{
	u32 nodes, waited, free, all = 0;

	for (nodes = 16; nodes < 80; nodes++) {
		waited = refill_once(nodes, true);
		free = refill_once(nodes, false);
		tap_check(waited == free, "%u nodes: %u records fit, not %u", nodes, waited, free);
		all += waited;
	}
	tap_ok(all, "an insert waits for blocks, as many as it needs: %u records", all);
}

#define SIDES	200U	/* nodes: more than one allocation of sides serves */

/* Every insert has no memory for sides. With @taken blocks either node of a split may need it */
static void sides_once(u32 taken, u32 *refused, u32 *missing)
{
	struct crab_spare spare[SLOTS];
	u64 seed = 7, key;
	u32 i, without = 0;
	int err;

	store_begin(CRAB_POOL_OFFSET + SIDES * NODE_BYTES, "fastfair", "", NODE_BYTES);
	tap_check(!crab_pool_alloc(&ff()->pool, spare, taken, 0), "blocks");
	for (i = 0; i < SIDES * 6; i++) {
		key = rng(&seed) >> 1;
		crab_host_fail_alloc = 0;
		err = insert(key);
		without += !err && crab_host_fail_alloc < 0;
		crab_host_fail_alloc = -1;
		*refused += err == -ENOMEM;
		tap_check(!err || (err == -ENOMEM && search(key) == -ENOENT && !insert(key)), "%d", err);
	}
	while (taken--)
		crab_pool_free(&ff()->pool, spare[taken].leaf);
	tap_check(ff()->gaps == !!without, "%u nodes have no entry", without);
	*missing += without;
}

/* All records are there */
static void sides_end(const char *when)
{
	u64 seed = 7;
	u32 i, lost = 0;

	for (i = 0; i < SIDES * 6; i++)
		lost += !!search(rng(&seed) >> 1);
	tap_check(!lost, "%s: %u records are lost", when, lost);
	store_check_good(store);
}

static void test_sides(void)
{
	u32 taken, refused = 0, missing = 0;

	for (taken = 0; taken < SLOTS; taken++) {
		sides_once(taken, &refused, &missing);
		sides_end("without entries");
		store = store_again(store);
		tap_check(!ff()->gaps, "attach adds no entry");
		sides_end("attach");
		store_end(store);
	}
	tap_ok(refused && missing, "%u splits are refused without memory, %u nodes get no entry", refused,
	       missing);
}

#define CUT_NODES	4096U
#define CUT_LOOKS	1024U		/* nodes that repair cleans before it looks whether it is to end */

static u32 looks;

static bool look(void *arg)
{
	looks++;
	return false;
}

/* Repair after a cut looks as often, whichever blocks are in use */
static void test_clean(void)
{
	struct crab_attach_options options = { .interrupted = look };
	struct crab_attach_report report;
	u64 n, nodes, key;

	store_begin(CRAB_POOL_OFFSET + CUT_NODES * NODE_BYTES, "fastfair", "", NODE_BYTES);
	for (n = CUT_LOOKS; n < CUT_NODES; n += CUT_LOOKS)
		crab_pool_mark(&ff()->pool, n);
	for (key = 0; ff()->nodes < CUT_NODES - CUT_LOOKS / 2; key++)
		tap_check(!insert(key), "insert");
	nodes = ff()->nodes;
	crab_store_abandon(store);
	store = crab_store_attach(&media, &options, &report);
	tap_ok(!IS_ERR(store) && looks >= nodes + nodes / CUT_LOOKS, "attach after a cut: %u looks for %llu nodes", looks,
	       nodes);
	store_end(store);
}

/* Takes every second entry of a node away, or all of them */
static void entries_drop(u64 number, bool all)
{
	u32 i, n = 0;

	for (i = 0; i < SLOTS && ff_key(ff(), number, i) != CRAB_KEY_EMPTY; i++)
		if (!all && i % 2)
			*ff_slot(ff(), number, n++) = *ff_slot(ff(), number, i);
	if (n < SLOTS)
		word_set(&ff_slot(ff(), number, n)->key, CRAB_KEY_EMPTY);
}

static u32 records_lost(void)
{
	struct crab_record up, down;
	u32 lost = 0;
	u64 key;

	for (key = 1; key <= RECORDS; key++) {
		lost += !!search(key * 10) || search(key * 10 - 5) != -ENOENT;
		lost += crab_store_seek(store, key * 10 - 5, CRAB_SEEK_GE, &up) || up.key != key * 10;
		lost += crab_store_seek(store, key * 10 + 5, CRAB_SEEK_LE, &down) || down.key != key * 10;
	}
	return lost;
}

static void test_entries(bool all, bool readonly)
{
	struct crab_attach_options options = { .readonly = readonly };
	struct crab_attach_report attached;
	struct ff_node right;
	struct ff_find find;
	u64 missing, lost;

	begin(0);
	tap_check(!crab_ff_find_exact(ff(), 0, 1, &find), "level 1");
	do {
		entries_drop(find.node.number, all);
		if (crab_ff_next(ff(), &find.node, &right))
			break;
		find.node = right;
	} while (true);
	tap_check(!crab_ff_find_exact(ff(), 0, 2, &find), "level 2");
	entries_drop(find.node.number, all);
	crab_store_abandon(store);
	store = crab_store_attach(&media, &options, &attached);
	if (IS_ERR(store))
		exit(2);
	missing = ff()->extras;
	lost = records_lost();
	tap_check(!store->engine->damage.count && !store->engine->found.count, "damage: %s",
		  store->engine->found.what);
	tap_check(store_check_good(store).records == RECORDS, "records");
	tap_ok(!lost && !missing == !readonly, "without %s entry, %llu of them in memory: %llu are lost",
	       all ? "an" : "every second", missing, lost);
	store_end(store);
}

int main(void)
{
	u32 i;

	crab_host_log = NULL;
	crab_host_seed(1);
	for (i = 0; i < ARRAY_SIZE(meetings); i++)
		test_meeting(&meetings[i]);
	test_thin(below, false, "keys do not ascend in their range");
	test_thin(first_order, true, "keys do not ascend in their range");
	test_thin(next_link, false, NOWHERE);
	test_thin(entry_ones, false, DIFFERS);
	test_fill();
	test_reserve();
	test_refill();
	test_sides();
	test_clean();
	test_entries(false, true);
	test_entries(true, true);
	test_entries(false, false);
	test_entries(true, false);
	return tap_done();
}
