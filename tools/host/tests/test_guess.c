// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests that shortcuts lead to most leaves, in each engine that has them, and that a
 * shortcut to a wrong leaf misleads no verb.
 */
#include "engines/crab/tree.h"
#include "engines/nbtree/nbtree.h"
#include "shared/shortcut.h"
#include "test.h"

#define SIZE	(1U << 20)
#define KEYS	20000U
#define AT_ONCE	45		/* records of a scan */
#define APART	100U		/* buckets whose children are exchanged */

static u64 step;		/* between keys */

static struct crab_index *index_of(struct crab_engine *engine)
{
	return strcmp(engine->ops->name, "crab") ? &nb_tree_of(engine)->index :
						   &crab_tree_of(engine)->index;
}

static void fill(void)
{
	u64 i;

	for (i = 0; i < KEYS; i++)
		tap_check(!store_put(store, i * step, i), "insert %llu", i);
	store_maintain(store);
}

/* The memory that INFO counts has the table; most keys have a shortcut */
static void expect_shortcuts(const struct crab_index *index)
{
	u64 i, found = 0;

	for (i = 0; i < KEYS; i++)
		found += !!crab_shortcut_find(index, i * step);
	tap_check(found > KEYS / 5 * 4, "%llu keys have a shortcut", found);
	tap_check(!crab_shortcut_wants(index), "the table is not whole");
	tap_check(store_info(store).stats.dram_bytes > crab_index_bytes(index) &&
		  index->table_bytes > index->entries * 8, "%llu bytes", index->table_bytes);
}

/* Entries of one chunk exchange their children */
static void mislead(const struct crab_index *index)
{
	const unsigned long part = CRAB_SHORTCUT_ASK;
	const struct crab_shortcuts *table = index->shortcuts;
	struct crab_shortcut *chunk;
	unsigned long *one, *other, both;
	u32 bucket;

	for (bucket = 0; bucket + APART < table->buckets; bucket++) {
		chunk = table->chunks[bucket / CRAB_SHORTCUT_CHUNK];
		if (!chunk || bucket % CRAB_SHORTCUT_CHUNK + APART >= CRAB_SHORTCUT_CHUNK)
			continue;
		one = (unsigned long *)&chunk[bucket % CRAB_SHORTCUT_CHUNK].word;
		other = one + APART;
		both = (*one ^ *other) & ~part;
		*one ^= both;
		*other ^= both;
	}
}

static void expect_verbs(void)
{
	u64 i, value = 0;

	for (i = 0; i < KEYS; i++) {
		tap_check(!crab_store_search(store, i * step, &value) && value == i, "search %llu", i);
		tap_check(!store_put(store, i * step, i + 1), "update %llu", i);
		tap_check(store_search(store, i * step + 1) == -ENOENT, "search for the key after %llu", i);
		tap_check(i % 3 || !store_delete(store, i * step), "delete %llu", i);
		tap_check(i % 3 || !store_put(store, i * step + 2, i), "insert %llu", i);
	}
}

/* Scans whose last leaf has more records than there is room for */
static void expect_scans(void)
{
	struct crab_record records[AT_ONCE];
	u64 from = 0, i = 0;
	int got, n;

	do {
		got = store->engine->ops->scan(store->engine, from, CRAB_KEY_EMPTY - 1, records, AT_ONCE);
		for (n = 0; n < got; n++, i++)
			tap_check(records[n].key == i * step + (i % 3 ? 0 : 2) &&
				  records[n].value == i + !!(i % 3), "record %llu", i);
		from = got > 0 ? records[got - 1].key + 1 : 0;
	} while (got == AT_ONCE);
	tap_check(i == KEYS, "scans of %llu", i);
}

/* @bits: the keys are below 1 << @bits */
static void test_guess(const char *engine, const char *layout, u32 bits)
{
	struct crab_index *index;

	step = (1ULL << (bits - 1)) / KEYS * 2;
	store_begin(SIZE, engine, layout, 512);
	index = index_of(store->engine);
	fill();
	expect_shortcuts(index);
	mislead(index);
	expect_verbs();
	mislead(index);
	expect_scans();
	store_check_good(store);
	store = store_again(store);
	index = index_of(store->engine);
	expect_shortcuts(index);
	tap_ok(true, "%s %s, %u bits: wrong shortcuts mislead no verb", engine, layout, bits);
	store_end(store);
}

int main(void)
{
	u32 bits;

	for (bits = 32; bits <= 64; bits += 16) {
		test_guess("crab", "slotted", bits);
		test_guess("crab", "sorted", bits);
		test_guess("nbtree", "adr", bits);
		test_guess("nbtree", "eadr", bits);
	}
	return tap_done();
}
