// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests two inserts into one full leaf of nbtree, while the pool has just the leaves for
 * one split: an insert returns -ENOSPC only if its leaf is full and no task moves it.
 *
 * With the layout `adr` both succeed in any order of the tasks. With `eadr` one exception is
 * permitted: while the other task has taken the leaves and has not begun to move the leaf yet, no
 * free leaf is left and the leaf is full; an insert does not wait for that task.
 *
 * If both take leaves, and more are free, one of them has taken its own for nothing. They return to
 * the pool; and after a power cut the next attach has them free.
 *
 *   test_lastleaf
 */
#include "engines/nbtree/eadr/eadr.h"
#include "tasks.h"
#include "test.h"

#define LEAF_BYTES	128U	/* five slots */
#define LEAVES		20U
#define SEEDS		400

static struct {
	struct crab_store *store;
	struct nb_leaf *leaf;	/* the full one */
	u64 free;		/* leaves, before */
	u32 refused;		/* inserts while the other task had the leaves */
	int err[2];
	const struct crab_media *media;
	struct crab_media then;	/* when the second task had ended */
} last;

static int put(u64 key)
{
	return store_insert(last.store, key, key, CRAB_INSERT_CREATE);
}

/* A store with a full leaf, and @free free leaves */
static void last_begin(struct crab_media *media, const char *layout, u64 free)
{
	struct crab_spare spare;
	struct nb_tree *tree;
	u64 key;

	*media = media_create(CRAB_POOL_OFFSET + LEAVES * LEAF_BYTES);
	last.store = store_format_attach(media, "nbtree", layout, LEAF_BYTES);
	tree = nb_tree_of(last.store->engine);
	for (key = 10; key <= 50; key += 10)
		tap_check(!put(key), "insert of %llu", key);
	while (tree->pool.free > free && !crab_pool_alloc(&tree->pool, &spare, 1, 0))
		;
	last.free = tree->pool.free;
	tap_check(last.free == free, "%llu free leaves", last.free);
	last.leaf = crab_index_find(&tree->index, 25);
}

static void last_run(const struct tasks_plan *plan)
{
	u64 i;

	tap_check(tasks_run(plan) == TASKS_DONE, "the tasks come to no end");
	for (i = 0; i < 2; i++)
		tap_check(store_search(last.store, 25 + 10 * i) == (last.err[i] ? -ENOENT : 0),
			  "search after %d", last.err[i]);
}

static void insert(void *arg)
{
	u64 n = (unsigned long)arg;

	last.err[n] = put(25 + 10 * n);
}

static void run_adr(void)
{
	struct crab_media media;
	u64 seed;

	for (seed = 1; seed <= SEEDS; seed++) {
		struct tasks_plan plan = { .seed = seed * 7919, .pace = 1 + seed % 60 };

		last_begin(&media, "adr", 1);
		tasks_add(insert, (void *)0);
		tasks_add(insert, (void *)1);
		last_run(&plan);
		store_end(last.store);
		tap_check(!last.err[0] && !last.err[1], "seed %llu: %d and %d", seed, last.err[0],
			  last.err[1]);
	}
	tap_ok(true, "adr: two inserts into a full leaf, and one free leaf: both succeed, with %u seeds",
	       SEEDS);
}

/* Has the first task, which stays where it is, taken the leaves, and not begun to move the leaf? */
static bool has_taken(void)
{
	struct ea_tree *tree = ea_tree_of(last.store->engine);

	return !atomic64_read(&tree->retired) && !last.leaf->smo && tree->nb.pool.free < last.free;
}

/* The lock of the pool is the only thing for which this task would wait */
static void insert_beside(void *arg)
{
	bool taken = has_taken();

	last.err[1] = -ENOENT;
	if (nb_tree_of(last.store->engine)->pool.lock.held)
		return;
	insert(arg);
	tap_check(last.err[1] == (taken ? -ENOSPC : 0), "error %d%s", last.err[1],
		  taken ? " without a free leaf" : "");
	last.refused += taken;
}

/* The first task stays at each of its places in turn, until the second one has ended */
static void run_eadr(void)
{
	struct crab_media media;
	u32 place = 0;

	do {
		struct tasks_plan plan = { .seed = 1, .pace = 1, .park = ++place };

		last_begin(&media, "eadr", 3);
		tasks_add(insert, (void *)0);
		tasks_add(insert_beside, (void *)1);
		last_run(&plan);
		store_end(last.store);
		tap_check(!last.err[0], "place %u: error %d", place, last.err[0]);
	} while (tasks_parked());
	tap_ok(last.refused && last.refused < place,
	       "eadr: an insert stays at each of %u places, another one is refused at %u of them",
	       place - 1, last.refused);
}

/* Each leaf is in the list or in the pool; returns the modifications that took leaves for nothing */
static u64 count_leaves(struct crab_store *store, const char *when, u32 place)
{
	struct ea_tree *tree = ea_tree_of(store->engine);
	u64 unlisted;

	crab_ea_upkeep(tree);
	unlisted = crab_pool_unlisted(&tree->nb.pool);
	tap_check(tree->nb.leaves + unlisted == LEAVES, "place %u, %s: %llu leaves in the list, %llu not",
		  place, when, tree->nb.leaves, unlisted);
	return atomic64_read(&tree->begun) - tree->nb.splits;
}

static void insert_and_cut(void *arg)
{
	last.err[1] = -ENOENT;
	if (!nb_tree_of(last.store->engine)->pool.lock.held)
		insert(arg);
	memcpy(last.then.base, last.media->base, last.media->size);
}

/* The first task stays at each of its places, the second one has leaves enough */
static void run_losers(void)
{
	u32 place = 0, losers = 0;
	struct crab_media media;
	struct crab_store *cut;

	do {
		struct tasks_plan plan = { .seed = 1, .pace = 1, .park = ++place };

		last_begin(&media, "eadr", LEAVES - EA_QUARTERS);
		last.media = &media;
		last.then = media_create(media.size);
		tasks_add(insert, (void *)0);
		tasks_add(insert_and_cut, (void *)1);
		last_run(&plan);
		losers += count_leaves(last.store, "in the end", place);
		cut = store_attach(&last.then);
		count_leaves(cut, "after a cut", place);
		store_end(cut);
		store_end(last.store);
	} while (tasks_parked());
	tap_ok(losers && losers < place,
	       "eadr: at %u of %u places an insert takes leaves for nothing: they return to the pool",
	       losers, place - 1);
}

int main(void)
{
	crab_host_cpus = 1;
	run_adr();
	run_eadr();
	run_losers();
	return tap_done();
}
