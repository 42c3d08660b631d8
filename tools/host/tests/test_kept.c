// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests puts concurrent with a commit, as tasks, in a store with room for both, but not for all
 * leaves that the commit keeps while it is in progress: the put waits for them. It neither returns
 * -ENOSPC nor ends a snapshot.
 *
 *   test_kept
 */
#include "shared/pool.h"
#include "store/blob_commit.h"
#include "store/snap.h"
#include "tasks.h"
#include "test.h"

#define LEAF_BYTES	256U
#define LEAVES		300U
#define SLAB_LEAVES	8U
#define FREE		15U	/* of one slab, and then of a commit of one write */
#define SHORT		100U
#define LONG		1500U	/* of a class that has no slab yet */
#define SEEDS		300

static struct {
	struct crab_store *store;
	struct crab_snap *snap;
	struct crab_blob_commit commit;
	int put;
	int committed;
} kept;

static u8 value[LONG];

static int put(u64 key, u32 bytes)
{
	return store_blob_put(kept.store, key, value, bytes);
}

/* FREE leaves are left: whole slabs are taken first, so that one of them remains */
static void take_leaves(struct crab_pool *pool)
{
	struct crab_spare spare;
	u64 first;

	while (pool->free >= FREE + SLAB_LEAVES &&
	       !crab_pool_alloc_run(pool, SLAB_LEAVES, LEAVES, 0, &first))
		;
	while (pool->free > FREE && !crab_pool_alloc(pool, &spare, 1, 0))
		;
	tap_check(pool->free == FREE, "%llu free leaves", pool->free);
}

static void kept_begin(struct crab_media *media, bool observed)
{
	*media = media_create(CRAB_POOL_OFFSET + LEAVES * LEAF_BYTES);
	kept.store = store_make(media, "crab", "slotted", LEAF_BYTES, STORE_BLOBS | STORE_COMMITS);
	tap_check(!put(1, SHORT), "the first put");
	if (observed) {
		tap_check(crab_store_observe(kept.store) >= 0, "no memory");
		kept.snap = crab_snap_open(kept.store);
		tap_check(!put(1, SHORT), "a put that the snapshot does not see");
	}
	take_leaves(kept.store->engine->pool);
}

static void kept_end(struct crab_media *media)
{
	if (kept.snap) {
		tap_check(!crab_snap_state(kept.snap), "the snapshot ended");
		crab_snap_close(kept.snap);
	}
	kept.snap = NULL;
	store_end(kept.store);
}

static void commit_task(void *arg)
{
	kept.commit.n = 1;
	kept.commit.ops[0] = (struct crab_blob_op){
		.verb = CRAB_VERB_INSERT, .write = { .key = 1, .data = value, .bytes = SHORT },
	};
	kept.committed = crab_blob_commit(kept.store, &kept.commit);
}

static void put_task(void *arg)
{
	kept.put = put(2, LONG);
}

static void run(bool observed)
{
	struct crab_media media;
	u64 seed;

	for (seed = 1; seed <= SEEDS; seed++) {
		struct tasks_plan plan = { .seed = seed * 7919, .pace = 1 + seed % 60 };

		kept_begin(&media, observed);
		tasks_add(commit_task, NULL);
		tasks_add(put_task, NULL);
		tap_check(tasks_run(&plan) == TASKS_DONE, "the tasks come to no end");
		tap_check(!kept.put && !kept.committed, "seed %llu: put %d, commit %d", seed, kept.put,
			  kept.committed);
		kept_end(&media);
	}
	tap_ok(true, "a put and a commit%s: both find room, with %u seeds",
	       observed ? " under a snapshot, which holds" : "", SEEDS);
}

int main(void)
{
	crab_host_cpus = 1;
	run(false);
	run(true);
	return tap_done();
}
