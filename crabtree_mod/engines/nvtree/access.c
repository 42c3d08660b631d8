// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements how readers and writers find a leaf.
 */

/**
 * DOC: access to leaves of nvtree
 *
 * The inner nodes lead to a leaf without a lock. The sequence count of the parent node shows
 * whether its entries changed meanwhile, nv_tree.inner whether a rebuild replaced it.
 * crab_side.gen is read before both: the leaf was in use then, and the key in its range.
 *
 *   readers   no lock, no store to shared memory. They read crab_side.count elements, the newest
 *             first, and validate by crab_side.gen. Elements below that count never change, and
 *             the count grows after the fence (P6): a reader neither waits for an append nor
 *             returns data that a power cut could take back.
 *   writers   the lock of the leaf, then crab_side.gen again.
 *   changes   of the structure: nv_tree.smo_lock, then the leaves that are replaced. Commit fence
 *             (P8), then the entries of the parent nodes, then crab_side.gen of the old leaves,
 *             then their locks; last the old leaves go to the pool.
 *
 * One invariant makes this enough: the range of a leaf in use never shrinks. A split replaces a
 * leaf by two others; the range of a leaf grows when the next one is unlinked. So the key of a
 * valid search is in the leaf's range for as long as crab_side.gen does not move.
 *
 * A leaf of the pool is released at once, without a grace period: it stays mapped, crab_side
 * exists until detach, and a read of it then is not valid. Only the inner nodes need RCU. A reader
 * is bounded for any values that it reads: by the elements of a leaf and by the parent nodes.
 */
#include <linux/errno.h>
#include <linux/rcupdate.h>

#include "inner.h"
#include "park.h"

#define FIND_TRIES	16	/* without smo_lock */

/* False: the entries changed meanwhile, or a rebuild replaced the inner nodes */
static bool find_try(struct nv_tree *tree, u64 key, struct nv_place *place, u64 *high)
{
	const seqcount_spinlock_t *seq;
	struct nv_entry entry = { };
	const struct nv_inner *inner;
	unsigned int at;
	bool valid;

	crab_rcu_enter();
	inner = rcu_dereference_raw(tree->inner);
	crab_nv_inner_look(inner, key, &entry, high, &seq, &at);
	place->low = entry.low;
	place->leaf = entry.leaf;
	place->side = crab_side(&tree->sides, entry.leaf);
	place->gen = place->side ? READ_ONCE(place->side->gen) : 0;
	valid = !read_seqcount_retry(seq, at);
	/* Inner nodes that were replaced never change again, nor do their sequence counts */
	valid = valid && inner == rcu_access_pointer(tree->inner);
	crab_rcu_leave();
	return valid;
}

/* The holder of smo_lock succeeds at once. Others take it if a change is preempted half way */
void crab_nv_look(struct nv_tree *tree, u64 key, struct nv_place *place, u64 *high)
{
	u32 tries;

	for (tries = 0; tries < FIND_TRIES; tries++)
		if (likely(find_try(tree, key, place, high)))
			return;
	mutex_lock(&tree->smo_lock);
	find_try(tree, key, place, high);
	mutex_unlock(&tree->smo_lock);
}

void crab_nv_find(struct nv_tree *tree, u64 key, struct nv_place *place)
{
	crab_nv_look(tree, key, place, NULL);
	crab_nv_touch(tree, place);
}

void crab_nv_find_range(struct nv_tree *tree, u64 key, struct nv_place *place)
{
	crab_nv_look(tree, key, place, &place->high);
	crab_nv_touch(tree, place);
}

int crab_nv_lock(struct nv_tree *tree, u64 key, struct nv_place *place)
{
	for (;;) {
		crab_nv_find(tree, key, place);
		if (nv_is_quarantined(place))
			return -EUCLEAN;
		crab_lock(&place->side->lock);
		/* A quarantine may have come before the lock: the leaf stays in use */
		if (crab_nv_holds(place) && !nv_is_quarantined(place)) {
			__release(&place->side->lock);	/* sparse: the caller shows it */
			return 0;
		}
		crab_unlock(&place->side->lock);
	}
}

void crab_nv_kill(struct crab_side *side)
{
	WRITE_ONCE(side->gen, side->gen + 1);
	/* Pairs with smp_rmb() in crab_nv_holds(): before the leaf is written again */
	smp_wmb();
}
