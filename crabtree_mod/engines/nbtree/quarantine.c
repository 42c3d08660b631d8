// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements quarantine at run time: memory under an attached store has failed, or a read
 * has found a key there that cannot be in its place.
 *
 * Invariant: on return no new access to the range of such a leaf begins. If a write changes the
 * structure later, it finds the pool closed. Nothing here reads the media.
 *
 * Locking: takes nb_tree.smo_lock, then one leaf at a time.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sched.h>

#include "smo.h"

static bool leaf_quarantine(struct nb_leaf *leaf)
{
	bool was;

	crab_lock(&leaf->lock);
	nb_change_begin(leaf);
	was = leaf->quarantined;
	WRITE_ONCE(leaf->quarantined, true);
	nb_change_end(leaf);
	crab_unlock(&leaf->lock);
	return !was;
}

u64 crab_nb_quarantine(struct crab_engine *engine, u64 from, u64 to)
{
	struct nb_tree *tree = nb_tree_of(engine);
	struct nb_leaf *leaf;
	u64 hit = 0, key, offset;

	mutex_lock(&tree->smo_lock);
	crab_pool_close(&tree->pool);
	for (key = 0; key != CRAB_KEY_EMPTY; key = leaf->high) {
		cond_resched();
		leaf = crab_index_find(&tree->index, key);
		offset = crab_leaf_offset(&engine->geo, leaf->number);
		if (leaf->number != NB_NOWHERE && offset < to &&
		    offset + engine->geo.leaf_bytes > from)
			hit += leaf_quarantine(leaf);
	}
	WRITE_ONCE(tree->quarantined, tree->quarantined + hit);
	mutex_unlock(&tree->smo_lock);
	return hit;
}

int crab_nb_doubt(struct nb_tree *tree, u64 key)
{
	struct nb_leaf *leaf;

	mutex_lock(&tree->smo_lock);
	crab_pool_close(&tree->pool);
	leaf = crab_index_find(&tree->index, key);
	if (leaf_quarantine(leaf)) {
		WRITE_ONCE(tree->quarantined, tree->quarantined + 1);
		crab_nb_damaged(tree, leaf, "its keys have changed");
	}
	mutex_unlock(&tree->smo_lock);
	return -EUCLEAN;
}
