// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests, as tasks, evacuations while snapshots are opened and closed: no slab that could be
 * emptied stays, a put that needs the room gets it, and no value changes.
 *
 *   test_evacuate
 */
#include "store/blob_commit.h"
#include "store/blob_media.h"
#include "store/blob_priv.h"
#include "store/snap.h"
#include "tasks.h"
#include "test.h"

#define LEAF_BYTES	512U
#define LEAVES		256U
#define VALUES		256U	/* in several slabs */
#define REMAIN		16U	/* one of so many values remains */
#define BYTES		64U
#define LARGE		2500U	/* bytes of a value that needs a slab of another size */
#define SNAPS		3U
#define SEEDS		200U

static u8 value[LARGE];
static int large;

static int put(u64 key, u32 bytes)
{
	return store_blob_put(store, key, value, bytes);
}

static bool remains(u64 key)
{
	return !(key % REMAIN);
}

static void make(struct crab_media *media)
{
	*media = media_create(CRAB_POOL_OFFSET + LEAVES * LEAF_BYTES);
	store = store_make(media, "crab", "slotted", LEAF_BYTES, STORE_BLOBS | STORE_COMMITS);
}

static void begin(struct crab_media *media)
{
	u64 key;

	make(media);
	for (key = 0; key < VALUES; key++)
		tap_check(!put(key, BYTES), "put %llu", key);
	for (key = 0; key < VALUES; key++)
		tap_check(remains(key) || !store_blob_erase(store, key), "erase %llu", key);
	tap_check(store->blobs->extents.lent > 2 && crab_blobs_want(store), "no slab is sparse");
}

/* Values of these lengths that remain, and no others */
static void end(u64 seed, u32 bytes)
{
	u8 buffer[BYTES];
	u64 key;

	for (key = 0; key < VALUES; key++) {
		struct crab_blob_read get = { .key = key, .buffer = buffer, .capacity = BYTES };
		int err = crab_blob_get(store, &get);

		tap_check(err == (remains(key) ? 0 : -ENOENT), "seed %llu, get %llu: %d", seed, key, err);
		tap_check(err || get.bytes == bytes, "seed %llu: %u bytes of %llu", seed, get.bytes, key);
	}
	store_check_good(store);
	store_end(store);
}

static void maintain_task(void *arg)
{
	while (crab_blobs_maintain(store))
		;
}

static void put_task(void *arg)
{
	large = put(VALUES, LARGE);
}

/* The snapshot has a value, wherever this is */
static void snap_task(void *arg)
{
	struct crab_snap *snap;
	u64 word;
	u32 i;

	for (i = 0; i < SNAPS; i++) {
		tap_check(crab_store_observe(store) >= 0, "observe");
		snap = crab_snap_open(store);
		if (!crab_snap_search(store, snap, 0, &word))
			tap_check(crab_extents_holds(&store->blobs->extents, word & CRAB_PLACE_MASK) ||
				  crab_snap_state(snap), "the extent is free");
		crab_snap_close(snap);
	}
}

static void run(u64 seed, void (*task)(void *arg), void (*other)(void *arg))
{
	const struct tasks_plan plan = { .seed = seed * 7919, .pace = 1 + seed % 60 };

	tasks_add(task, NULL);
	tasks_add(other, NULL);
	tap_check(tasks_run(&plan) == TASKS_DONE, "the tasks come to no end");
}

static void test_maintain(void)
{
	struct crab_media media;
	u64 seed;

	for (seed = 1; seed <= SEEDS; seed++) {
		begin(&media);
		run(seed, maintain_task, snap_task);
		maintain_task(NULL);
		tap_check(store->blobs->extents.lent == 1, "seed %llu: %llu slabs remain", seed,
			  store->blobs->extents.lent);
		end(seed, BYTES);
	}
	tap_ok(true, "slabs are emptied once the snapshots are closed, with %u seeds", SEEDS);
}

static void rewrite_task(void *arg)
{
	u64 key;

	for (key = 0; key < VALUES; key += REMAIN)
		tap_check(!put(key, BYTES - 1), "put %llu", key);
}

static void commit_task(void *arg)
{
	static struct crab_blob_commit commit = { .n = 1 };
	u64 key;

	for (key = 0; key < VALUES; key += REMAIN) {
		commit.ops[0] = (struct crab_blob_op){
			.verb = CRAB_VERB_INSERT, .write = { .key = key, .data = value, .bytes = BYTES - 1 },
		};
		tap_check(!crab_blob_commit(store, &commit), "commit %llu", key);
	}
}

/* A value that is moved while another one replaces it does not come back */
static void test_rewrite(void (*task)(void *arg), const char *how)
{
	struct crab_media media;
	u64 seed;

	for (seed = 1; seed <= SEEDS; seed++) {
		begin(&media);
		run(seed, maintain_task, task);
		end(seed, BYTES - 1);
	}
	tap_ok(true, "values that %s replaces while they are moved, with %u seeds", how, SEEDS);
}

/* The pool has no leaf for another slab */
static void take_leaves(struct crab_pool *pool)
{
	struct crab_spare spare;
	u64 first;

	while (!crab_pool_alloc_run(pool, 1, LEAVES, 8, &first))
		;
	while (pool->free > 8 && !crab_pool_alloc(pool, &spare, 1, 0))
		;
}

static void test_put(void)
{
	struct crab_media media;
	u64 seed;

	for (seed = 1; seed <= SEEDS; seed++) {
		begin(&media);
		take_leaves(store->engine->pool);
		/* Writes pass the gate in any case */
		tap_check(crab_store_observe(store) >= 0, "observe");
		run(seed, put_task, snap_task);
		crab_store_unobserve(store);
		tap_check(!large, "seed %llu: put: %d", seed, large);
		end(seed, BYTES);
	}
	tap_ok(true, "a put empties a slab, whichever snapshots are opened, with %u seeds", SEEDS);
}

/* A put that stays with the only free extent of a slab, while the slab is to be emptied */

#define LATE		VALUES	/* its key */

static u64 place;	/* of the extent */
static u32 n;		/* extents of a slab */
static u32 refused;

/* Keys that the late put does not lock out */
static u64 nth_key(u32 nth)
{
	struct crab_blobs *blobs = store->blobs;
	u64 key = LATE;

	for (; nth; nth--)
		do
			key++;
		while (crab_blob_stripe(blobs, key) == crab_blob_stripe(blobs, LATE));
	return key;
}

static void late_task(void *arg)
{
	tap_check(!put(LATE, BYTES), "the late put");
}

/* One value remains in each of two slabs, and no leaf for another slab */
static void large_task(void *arg)
{
	u32 i;

	large = 0;
	if (store->blobs->extents.lock.held || crab_blob_key(store->blobs, place) == LATE)
		return;
	for (i = 2; i < 2 * n; i++)
		tap_check(i == n || !store_blob_erase(store, nth_key(i)), "erase");
	take_leaves(store->engine->pool);
	large = put(nth_key(2 * n + 1), LARGE);
	refused += large == -ENOSPC;
}

static void begin_late(struct crab_media *media)
{
	u64 word;
	u32 i;

	make(media);
	tap_check(!put(nth_key(1), BYTES), "put");
	n = store->blobs->extents.total[1];
	for (i = 2; i <= 2 * n; i++)
		tap_check(!put(nth_key(i), BYTES), "put");
	tap_check(!store->blobs->raw->lookup(store->engine, nth_key(1), &word), "lookup");
	place = word & CRAB_PLACE_MASK;
	tap_check(store->blobs->extents.lent == 2 && !store_blob_erase(store, nth_key(1)), "slabs");
}

static void test_late(void)
{
	struct tasks_plan plan = { .seed = 1, .pace = 1 };
	struct crab_media media;

	do {
		plan.park++;
		begin_late(&media);
		tasks_add(late_task, NULL);
		tasks_add(large_task, NULL);
		tap_check(tasks_run(&plan) == TASKS_DONE, "place %u: the tasks come to no end", plan.park);
		if (large)
			large = put(nth_key(2 * n + 1), LARGE);
		tap_check(!large, "place %u: %d, and the late put is done", plan.park, large);
		store_check_good(store);
		store_end(store);
	} while (tasks_parked());
	tap_ok(refused, "a slab is emptied once a put in it is done: %u times there is no room before",
	       refused);
}

int main(void)
{
	crab_host_cpus = 1;
	test_maintain();
	test_rewrite(rewrite_task, "a put");
	test_rewrite(commit_task, "a commit");
	test_put();
	test_late();
	return tap_done();
}
