// SPDX-License-Identifier: GPL-2.0
/*
 * This file bounds the work under spinlocks that writes wait for, which must not grow with the
 * number of keys, and the work of a list of names that have the same crc. It measures no time: it
 * counts the basic blocks of the module's code that run.
 *
 *   test_holds [KEYS]
 */
#include <linux/bitops.h>

#include "same_crc.h"
#include "shared/pool.h"
#include "store/blob_snap.h"
#include "store/gate.h"
#include "store/snap.h"
#include "test.h"

#define SAME	1.5	/* times the work under a lock for twice the keys */
#define LINEAR	2.6	/* times the work of a list for twice the names */
#define RUN	64U	/* leaves of a run */

/* The flag of a lock, and the blocks that run while it is held once; all blocks */
static const u32 *watched;
static u64 held, longest, blocks;

/* At this block another task allocates a leaf of a pool, if the leaf and the lock are free */
static struct crab_pool *robbed;
static u64 rob_at, rob_leaf;
static bool robs;

static void rob(void)
{
	if (robbed->lock.held || test_bit(rob_leaf, robbed->used))
		return;
	__set_bit(rob_leaf, robbed->used);
	robbed->free--;
	robs = true;
}

/* Work: the compiler inserts a call of this function into each basic block */
void __sanitizer_cov_trace_pc(void)
{
	held = watched && *watched ? held + 1 : 0;
	longest = max(longest, held);
	blocks++;
	if (robbed && blocks == rob_at)
		rob();
}

static void watch(const spinlock_t *lock)
{
	watched = &lock->held;
	longest = 0;
}

static struct crab_snap *snap_open(struct crab_store *store)
{
	struct crab_snap *snap;

	tap_check(crab_store_observe(store) >= 0, "no memory");
	snap = crab_snap_open(store);
	tap_check(!IS_ERR(snap), "snapshot: %ld", PTR_ERR(snap));
	return snap;
}

static void write_all(struct crab_store *store, u64 n)
{
	u64 key;

	for (key = 0; key < n; key++)
		tap_check(!store_put(store, key, 1), "insert");
}

/* Two snapshots have a note of each key. The younger one is closed: all of its notes are spare */
static u64 spare_hold(u64 n)
{
	struct crab_media media = media_create(CRAB_POOL_OFFSET * 2 + n * 64);
	struct crab_store *store = store_format_attach(&media, "crab", "", 512);
	struct crab_snap *first = snap_open(store), *second, *last;

	write_all(store, n);
	second = snap_open(store);
	write_all(store, n);
	last = snap_open(store);
	watch(&store->gate->notes_lock);
	crab_snap_close(second);
	crab_snap_close(first);
	tap_check(store->gate->notes == 2 * n, "%llu notes", store->gate->notes);
	crab_snap_close(last);
	watched = NULL;
	tap_check(!store->gate->notes, "notes are left");
	store_end(store);
	return longest;
}

static void test_spare(u64 n)
{
	u64 one = spare_hold(n), two = spare_hold(2 * n);

	tap_ok(two <= SAME * one,
	       "snapshots: %llu blocks at once under the lock of notes, %llu with twice the keys",
	       one, two);
}

static struct crab_store *names_begin(struct crab_media *media, u64 n)
{
	*media = media_create(CRAB_POOL_OFFSET * 2 + n * 512);
	return store_make(media, "crab", "", 512, STORE_NAMES);
}

static void names_put(struct crab_store *store, u64 from, u64 to)
{
	char text[SAME_CRC_BYTES];

	for (; from < to; from++) {
		same_crc(from, text);
		tap_check(!store_name_put(store, text, sizeof(text), text, 0), "put of name %llu", from);
	}
}

static void names_erase(struct crab_store *store, u64 from, u64 to)
{
	char text[SAME_CRC_BYTES];

	for (; from < to; from++) {
		same_crc(from, text);
		tap_check(!store_name_erase(store, text, sizeof(text)), "erase of name %llu", from);
	}
}

/* Blocks for a list of a snapshot of @n names: half of them, and half of later ones, are erased */
static u64 list_cost(u64 n)
{
	struct crab_named_entry entry;
	struct crab_named_cursor cursor;
	struct crab_media media;
	struct crab_store *store = names_begin(&media, 4 * n);
	struct crab_snap *snap;
	u64 listed = 0, cost;

	names_put(store, 0, n);
	snap = snap_open(store);
	names_put(store, n, 3 * n);
	names_erase(store, n / 2, n + n / 2);
	crab_named_cursor_init(&cursor, "", 0, "", 0);
	cost = blocks;
	while (crab_snap_named_next(store, snap, &cursor, &entry) == 1)
		listed += !entry.err;
	cost = blocks - cost;
	tap_check(listed == n, "%llu names, not %llu", listed, n);
	crab_snap_close(snap);
	store_end(store);
	return cost;
}

static void test_names(u64 n)
{
	u64 one = list_cost(n), two = list_cost(2 * n);

	tap_ok(two <= LINEAR * one,
	       "names with the same crc: a list runs %llu blocks for one, %llu among twice as many",
	       one / n, two / 2 / n);
}

/* Runs of leaves: one leaf of each is in use, or none of the lowest run */

static void pool_begin(struct crab_pool *pool, u64 runs)
{
	u64 i;

	tap_check(!crab_pool_init(pool, runs * RUN), "no memory");
	for (i = 0; i < runs; i++)
		crab_pool_mark(pool, i * RUN + i % RUN);
	watch(&pool->lock);
}

/* Blocks for a search that finds the lowest run, or nothing */
static u64 run_cost(u64 runs, bool lowest)
{
	struct crab_pool pool;
	u64 first = 1, cost;
	int err;

	pool_begin(&pool, runs);
	if (lowest)
		crab_pool_free(&pool, 0);
	cost = blocks;
	err = crab_pool_alloc_run(&pool, RUN, pool.leaves, 0, &first);
	cost = blocks - cost;
	tap_check(lowest ? !err && !first : err == -ENOSPC, "run: %d", err);
	watched = NULL;
	crab_pool_destroy(&pool);
	return cost;
}

static void test_runs(u64 n)
{
	u64 cost = run_cost(n, true), one = longest, none;

	run_cost(2 * n, true);
	tap_ok(one && longest <= SAME * one,
	       "pool: a search for a run executes %llu blocks under the lock, %llu in twice the leaves",
	       one, longest);
	none = run_cost(n, false);
	tap_ok(none <= SAME * cost,
	       "pool: a search reads the bitmap once: %llu blocks to find the last run, %llu to find none",
	       cost, none);
}

/* Two of four runs are free. At each block in turn a leaf of the upper one is allocated */
static void test_robbed(void)
{
	struct crab_pool pool;
	u64 first, step, end;
	u32 robberies = 0;

	for (step = 1, end = 1; step <= end; step++) {
		pool_begin(&pool, 4);
		crab_pool_free(&pool, RUN + 1);
		crab_pool_free(&pool, 3 * RUN + 3);
		robs = false;
		robbed = &pool;
		rob_leaf = 4 * RUN - 1;
		rob_at = blocks + step;
		tap_check(!crab_pool_alloc_run(&pool, RUN, pool.leaves, 0, &first), "no run");
		robbed = NULL;
		end = blocks - rob_at + step;
		robberies += robs;
		tap_check(first == (robs ? RUN : 3 * RUN), "block %llu: the run at %llu", step, first);
		tap_check(pool.free == 3 * RUN - 2 - robs && pool.lent == RUN, "%llu leaves are free",
			  pool.free);
		watched = NULL;
		crab_pool_destroy(&pool);
	}
	tap_ok(robberies > 5, "pool: a leaf that is allocated during a search is not lent: %u times",
	       robberies);
}

int main(int argc, char **argv)
{
	u64 n = argc > 1 ? strtoull(argv[1], NULL, 0) : 16384;

	crab_host_seed(1);
	test_spare(n);
	test_names(n / 16);
	test_runs(n);
	test_robbed();
	return tap_done();
}
