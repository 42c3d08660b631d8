// SPDX-License-Identifier: GPL-2.0
/*
 * This file bounds the work under spinlocks that writes wait for. It must not grow with the number of
 * keys. The test measures no time: it counts the basic blocks of the module's code that run.
 *
 *   test_holds [KEYS]
 */
#include <stdlib.h>

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/random.h>

#include "model.h"
#include "store/gate.h"
#include "store/snap.h"
#include "store/store_priv.h"
#include "tap.h"

#define SAME	1.5	/* times the work under a lock for twice the keys */

/* The flag of a lock, and the blocks that run while it is held once */
static const u32 *watched;
static u64 held, longest;

/* Work: the compiler inserts a call of this function into each basic block */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	held = watched && *watched ? held + 1 : 0;
	longest = max(longest, held);
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
	struct crab_old old;
	u64 key;

	for (key = 0; key < n; key++)
		tap_check(!crab_store_insert(store, key, 1, CRAB_INSERT_EITHER, &old), "insert");
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
	crab_store_detach(store);
	media_destroy(&media);
	return longest;
}

static void test_spare(u64 n)
{
	u64 one = spare_hold(n), two = spare_hold(2 * n);

	tap_ok(two <= SAME * one, "snapshots: %llu blocks at once under the lock of notes, %llu with twice the keys",
	       one, two);
}

int main(int argc, char **argv)
{
	u64 n = argc > 1 ? strtoull(argv[1], NULL, 0) : 16384;

	if (crab_persist_init())
		return 2;
	crab_host_seed(1);
	test_spare(n);
	return tap_done();
}
