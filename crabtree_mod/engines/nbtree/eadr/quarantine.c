// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements quarantine at run time of the layout `eadr`: memory under an attached store
 * has failed, or a read has found a key there that cannot be in its place.
 *
 * Invariant: on return no new access to the range of such a leaf begins. A task that needs a free
 * leaf later finds the pool closed.
 *
 * Locking: takes nb_tree.smo_lock, under which the index does not change.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "slots.h"

/* Under RCU */
static bool leaf_quarantine(struct nb_leaf *leaf)
{
	bool hit = leaf && !leaf->quarantined;

	if (hit)
		WRITE_ONCE(leaf->quarantined, true);
	return hit;
}

/*
 * Also the leaves to which the index does not lead: those that replace others are in use already,
 * or tasks fill them
 */
u64 crab_ea_quarantine(struct crab_engine *engine, u64 from, u64 to)
{
	const struct crab_geometry *geo = &engine->geo;
	struct ea_tree *tree = ea_tree_of(engine);
	u64 hit = 0, number, end;

	from = max(from, geo->pool_offset) - geo->pool_offset;
	to = max(to, geo->pool_offset) - geo->pool_offset;
	end = min(geo->leaves, div_u64(to + geo->leaf_bytes - 1, geo->leaf_bytes));
	crab_ea_lock(tree);
	crab_pool_close(&tree->nb.pool);
	/* Pairs with smp_mb() in begin_once(): its leaves are seen below, or not used */
	smp_mb();
	for (number = div_u64(from, geo->leaf_bytes); number < end; number++) {
		cond_resched();
		crab_rcu_enter();
		hit += leaf_quarantine(READ_ONCE(tree->nb.by_number[number]));
		crab_rcu_leave();
	}
	WRITE_ONCE(tree->nb.quarantined, tree->nb.quarantined + hit);
	mutex_unlock(&tree->nb.smo_lock);
	/* No store of a write that has not seen this comes later: it is in an RCU section */
	synchronize_rcu();
	return hit;
}

int crab_ea_doubt(struct ea_tree *tree, u64 key)
{
	struct nb_leaf *leaf;

	crab_ea_lock(tree);
	crab_pool_close(&tree->nb.pool);
	crab_rcu_enter();
	leaf = crab_ea_leaf_of(tree, key);
	if (leaf_quarantine(leaf)) {
		WRITE_ONCE(tree->nb.quarantined, tree->nb.quarantined + 1);
		crab_ea_damaged(tree, leaf, "its keys have changed");
	}
	crab_rcu_leave();
	mutex_unlock(&tree->nb.smo_lock);
	return -EUCLEAN;
}
