// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements quarantine at run time: memory under an attached store has failed, or a read
 * has found a key there that cannot be in its place.
 *
 * Invariant: on return no new access to the range of such a leaf begins. An access that is
 * under way ends as if the failure had come after it. Memory that has failed is not read here.
 *
 * A write that passed the store's test for read-only may begin later. It finds its own leaf
 * quarantined. If it is to change the structure, or to look for room, it finds the pool closed.
 *
 * Locking: takes nv_tree.smo_lock, under which no leaf is replaced, then one leaf at a time.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sched.h>

#include "leaf.h"
#include "park.h"
#include "smo.h"

static void leaf_quarantine(struct nv_tree *tree, struct crab_side *side)
	__must_hold(&side->lock)
{
	crab_nv_first_begin(tree);
	WRITE_ONCE(side->flags, (side->flags & ~NV_UNREAD) | NV_QUARANTINED);
	WRITE_ONCE(tree->quarantined, tree->quarantined + 1);
	crab_nv_first_end(tree);
}

u64 crab_nv_quarantine(struct crab_engine *engine, u64 from, u64 to)
{
	struct nv_tree *tree = nv_tree_of(engine);
	struct nv_place leaf;
	u64 hit = 0, key, offset;

	mutex_lock(&tree->smo_lock);
	crab_pool_close(&tree->pool);
	for (key = 0; key != CRAB_KEY_EMPTY; key = leaf.high) {
		cond_resched();
		crab_nv_look(tree, key, &leaf, &leaf.high);
		offset = crab_leaf_offset(&engine->geo, leaf.leaf);
		if (nv_is_quarantined(&leaf) || offset >= to ||
		    offset + engine->geo.leaf_bytes <= from)
			continue;
		crab_lock(&leaf.side->lock);
		leaf_quarantine(tree, leaf.side);
		crab_unlock(&leaf.side->lock);
		hit++;
	}
	mutex_unlock(&tree->smo_lock);
	return hit;
}

/* Verifies a locked leaf; its range may have grown since a read has doubted it */
static int leaf_verify(struct nv_tree *tree, const struct nv_place *leaf)
	__must_hold(&leaf->side->lock)
{
	u32 count = leaf->side->count;
	const char *fault;

	crab_nv_leaf_read(tree, leaf->leaf, count, tree->elements);
	fault = crab_nv_leaf_fault(tree->elements, count, leaf->low, leaf->high);
	if (!fault)
		return 0;
	crab_pool_close(&tree->pool);
	leaf_quarantine(tree, leaf->side);
	return crab_nv_damaged(tree, leaf->leaf, fault);
}

int crab_nv_doubt(struct nv_tree *tree, u64 key)
{
	struct nv_place leaf;
	int err = -EUCLEAN;

	mutex_lock(&tree->smo_lock);
	crab_nv_find_range(tree, key, &leaf);
	if (!nv_is_quarantined(&leaf)) {
		crab_lock(&leaf.side->lock);
		err = leaf_verify(tree, &leaf);
		crab_unlock(&leaf.side->lock);
	}
	mutex_unlock(&tree->smo_lock);
	return err;
}
