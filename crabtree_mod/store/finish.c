// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements FINISH: an unfinished store becomes a store.
 *
 * Invariant: the superblocks of an unfinished store are void. FINISH writes both; the content is
 * durable before.
 *
 * Crash table: a cut before the fence of the first superblock (P3) leaves a region that attach
 * finds blank, or the store; a cut after it leaves the store with all that it holds.
 *
 * Locking: the caller excludes attach, detach and FORMAT. The calls on the store, which write no
 * superblock, run concurrently. crab_store.lock while crab_store.super changes.
 */
#include <linux/compiler.h>
#include <linux/errno.h>

#include "store_priv.h"

/*
 * Everything that the store holds is durable. "Attached" in both copies: a copy that is "clean"
 * with the sequence of a FORMAT would claim that no leaf was written yet.
 */
int crab_store_finish(struct crab_store *store)
{
	struct crab_flow flow = { .media = store->media };

	if (!store->unfinished)
		return -ENODATA;
	if (crab_store_is_readonly(store))
		return -EROFS;
	/* INFO reads the superblock */
	mutex_lock(&store->lock);
	crab_flow_pin();
	crab_super_write(&flow, &store->super);
	crab_super_write(&flow, &store->super);
	crab_flow_unpin();
	mutex_unlock(&store->lock);
	WRITE_ONCE(store->unfinished, false);
	return 0;
}

bool crab_store_is_unfinished(const struct crab_store *store)
{
	return READ_ONCE(store->unfinished);
}
