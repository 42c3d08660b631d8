// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements quarantine at run time: memory under an attached store has failed.
 *
 * Invariant: on return no new access to the range of such a leaf begins. An access that is
 * under way ends as if the failure had come after it. Nothing here reads the media.
 *
 * A write that passed the store's test for read-only may begin later. It finds its own leaf
 * quarantined. If it is to change the structure, or to look for room, it finds the pool closed.
 *
 * Locking: takes nv_tree.smo_lock, under which no leaf is replaced, then one leaf at a time.
 */
#include <linux/kernel.h>
#include <linux/sched.h>

#include "park.h"

static void leaf_quarantine(struct nv_tree *tree, struct crab_side *side)
{
	crab_lock(&side->lock);
	crab_nv_first_begin(tree);
	WRITE_ONCE(side->flags, (side->flags & ~NV_UNREAD) | NV_QUARANTINED);
	WRITE_ONCE(tree->quarantined, tree->quarantined + 1);
	crab_nv_first_end(tree);
	crab_unlock(&side->lock);
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
		leaf_quarantine(tree, leaf.side);
		hit++;
	}
	mutex_unlock(&tree->smo_lock);
	return hit;
}
