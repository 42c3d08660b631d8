// SPDX-License-Identifier: GPL-2.0
/*
 * This file bounds the work of inserts and deletes in a store that has no free leaf, for each
 * layout, and of an allocation from a pool with one free leaf: it must not grow with the store. It measures no time: it counts the basic blocks of the
 * module's code that run.
 *
 *   test_full [LEAVES]
 */
#include "engines/nvtree/nvtree.h"
#include "test.h"

#define LEAF_BYTES	512U
#define TIMES		16U	/* as many leaves in the larger store */
#define LIMIT		1.5	/* as much work there: the inner nodes have more levels */
#define PAIRS		2000U	/* deletes, each with an insert */
#define BURST		300U	/* deletes without an insert between */

/* Work: the compiler inserts a call of this function into each basic block */

static u64 blocks;

void __sanitizer_cov_trace_pc(void)
{
	blocks++;
}

struct full {
	struct crab_media media;
	struct crab_store *store;
	u64 *keys;
	u64 n;
	u64 seed;
};

static const struct subject {
	const char *engine;
	const char *layout;
} subjects[] = {
	{ "crab", "slotted" }, { "crab", "sorted" }, { "fastfair", "shift" }, { "clfb", "twin" },
	{ "clfb", "encoded" }, { "nbtree", "adr" }, { "nvtree", "append" },
};

#define NVTREE	(ARRAY_SIZE(subjects) - 1)

static int put(struct full *f)
{
	u64 key = rng(&f->seed) >> 1;
	struct crab_old old;
	int err = crab_store_insert(f->store, key, key + 5, CRAB_INSERT_EITHER, &old);

	if (!err && !old.existed)
		f->keys[f->n++] = key;
	tap_check(!err || err == -ENOSPC, "insert: %d", err);
	return err;
}

static void del_at(struct full *f, u64 at)
{
	int err = store_delete(f->store, f->keys[at]);

	tap_check(!err, "delete: %d", err);
	f->keys[at] = f->keys[--f->n];
}

static void del(struct full *f)
{
	del_at(f, (rng(&f->seed) >> 8) % f->n);
}

/* Deletes all records of a range of keys, so that leaves are unlinked */
static void del_range(struct full *f, u64 from, u64 to)
{
	u64 at;

	for (at = f->n; at--;)
		if (f->keys[at] >= from && f->keys[at] < to)
			del_at(f, at);
}

/* Inserts until an insert is refused */
static void fill(struct full *f)
{
	while (!put(f))
		;
}

static void full_begin(struct full *f, const struct subject *subject, u64 leaves)
{
	*f = (struct full){ .seed = 99 };
	f->media = media_create(CRAB_POOL_OFFSET * 2 + leaves * LEAF_BYTES);
	f->store = store_format_attach(&f->media, subject->engine, subject->layout,
				       leaf_bytes_of(subject->engine, subject->layout));
	f->keys = calloc(leaves * LEAF_BYTES / 16, sizeof(*f->keys));
	fill(f);
}

static void full_end(struct full *f)
{
	tap_check(store_check_good(f->store).records == f->n, "not %llu records", f->n);
	store_end(f->store);
	free(f->keys);
}

/* Blocks for a delete and an insert, which may be refused, in turn */
static u64 turns_cost(struct full *f)
{
	u64 before;
	u32 i;

	for (i = 0; i < PAIRS; i++) {	/* the search after the last attach is over */
		del(f);
		put(f);
	}
	before = blocks;
	for (i = 0; i < PAIRS; i++) {
		del(f);
		put(f);
	}
	return (blocks - before) / PAIRS;
}

/* Blocks for an operation of a burst of deletes, and of inserts until the store is full */
static u64 burst_cost(struct full *f)
{
	u64 before = blocks, ops = 0, n;
	u32 i, round;

	for (round = 0; round < 10; round++) {
		for (i = 0; i < BURST; i++)
			del(f);
		n = f->n;
		fill(f);
		ops += BURST + f->n - n + 1;
	}
	return (blocks - before) / ops;
}

/* Neighbours of a store of nvtree that an insert could have merged instead of -ENOSPC */
static u64 pairs(struct crab_store *store)
{
	struct nv_tree *tree = nv_tree_of(store->engine);
	struct nv_place leaf, right;
	u64 n = 0, key;

	for (key = 0; key != CRAB_KEY_EMPTY; key = leaf.high) {
		crab_nv_find_range(tree, key, &leaf);
		if (leaf.high == CRAB_KEY_EMPTY)
			break;
		crab_nv_find(tree, leaf.high, &right);
		n += nv_live(leaf.side) + nv_live(right.side) <= tree->room;
	}
	return n;
}

/* A leaf whose neighbours fit in one leaf, if there is one; else the last one */
static struct nv_place leaf_between(struct nv_tree *tree)
{
	struct nv_place before, leaf, right;

	crab_nv_find_range(tree, 0, &before);
	crab_nv_find_range(tree, before.high, &leaf);
	for (; leaf.high != CRAB_KEY_EMPTY; before = leaf, leaf = right) {
		crab_nv_find_range(tree, leaf.high, &right);
		if (nv_live(before.side) + nv_live(right.side) <= tree->room)
			break;
	}
	return leaf;
}

/* Deletes some records here and there, or those of one leaf, which is unlinked */
static void thin(struct full *f, u64 turn)
{
	struct nv_place leaf;
	u64 n;

	if (turn % 4) {
		for (n = turn % 9; n; n--)
			del(f);
		return;
	}
	leaf = leaf_between(nv_tree_of(f->store->engine));
	del_range(f, leaf.low, leaf.high);
}

/* An insert is refused only if the list has no neighbours that fit in one leaf */
static void test_truth(const struct subject *subject)
{
	u64 refused;
	struct full f;

	full_begin(&f, subject, 200);
	for (refused = 0; refused < 2000; refused++) {
		thin(&f, refused);
		thin(&f, refused / 4);
		if (refused % 100 > 90) {
			f.store = store_again(f.store);
			thin(&f, 0);
		}
		fill(&f);
		tap_check(!pairs(f.store), "refused with %llu pairs to merge", pairs(f.store));
	}
	tap_ok(true, "full, %s: -ENOSPC %llu times, and never where neighbours fit in one leaf",
	       subject->layout, refused);
	full_end(&f);
}

static void test_cost(const struct subject *subject, u64 leaves)
{
	u64 turns[2], burst[2];
	struct full f;
	u32 i;

	for (i = 0; i < 2; i++) {
		full_begin(&f, subject, i ? TIMES * leaves : leaves);
		turns[i] = turns_cost(&f);
		burst[i] = burst_cost(&f);
		full_end(&f);
	}
	tap_check(turns[1] <= turns[0] * LIMIT, "in turn: %llu blocks, %llu in %u times the leaves",
		  turns[0], turns[1], TIMES);
	tap_check(burst[1] <= burst[0] * LIMIT, "bursts: %llu blocks, %llu in %u times the leaves",
		  burst[0], burst[1], TIMES);
	tap_ok(true, "full, %s: a delete and an insert run %llu blocks, %llu in %u times the leaves; of a burst, one runs %llu, %llu",
	       subject->layout, turns[0], turns[1], TIMES, burst[0], burst[1]);
}

/* Blocks to find the only free leaf, wherever it is */
static u64 pool_cost(u64 leaves)
{
	const u64 left[] = { leaves - 1, leaves / 2, 1 };
	struct crab_spare spare;
	struct crab_pool pool;
	u64 before, leaf, cost = 0;
	u32 i;

	tap_check(!crab_pool_init(&pool, leaves), "init");
	for (leaf = 0; leaf < leaves; leaf++)
		crab_pool_mark(&pool, leaf);
	for (i = 0; i < ARRAY_SIZE(left); i++) {
		crab_pool_free(&pool, left[i]);
		before = blocks;
		tap_check(!crab_pool_alloc(&pool, &spare, 1, 0) && spare.leaf == left[i],
			  "leaf %llu, not %llu", spare.leaf, left[i]);
		cost = max(cost, blocks - before);
	}
	crab_pool_destroy(&pool);
	return cost;
}

static void test_pool(u64 leaves)
{
	u64 few = pool_cost(leaves), many = pool_cost(leaves * TIMES);

	tap_check(many <= few * LIMIT, "%llu blocks, %llu in %u times the leaves", few, many, TIMES);
	tap_ok(true, "full: the only free leaf of %llu is found by %llu blocks, of %u times as many by %llu",
	       leaves, few, TIMES, many);
}

int main(int argc, char **argv)
{
	u64 leaves = argc > 1 ? strtoull(argv[1], NULL, 0) : 500;
	u32 i;

	crab_host_seed(1);
	for (i = 0; i < ARRAY_SIZE(subjects); i++)
		test_cost(&subjects[i], leaves);
	test_truth(&subjects[NVTREE]);
	test_pool(leaves * 1000 + 7);
	return tap_done();
}
