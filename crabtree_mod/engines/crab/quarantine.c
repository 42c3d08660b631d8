// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements quarantine at run time: memory under an attached store has failed, or a read
 * has found a key there that cannot be in its place.
 *
 * Invariant: on return no new access to the range of such a leaf begins. An access that is
 * under way ends as if the failure had come after it. Memory that has failed is not read here.
 *
 * A write that passed the store's test for read-only may begin later. It finds its own leaf
 * quarantined. If it is to change the structure, it finds the pool closed, even if the head of the
 * list alone has failed: a change would read and write the links of neighbours.
 *
 * Locking: takes crab_tree.smo_lock, under which the list does not change, then one leaf at
 * a time.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sched.h>

#include "access.h"
#include "layout.h"
#include "verify.h"

/* Readers that are in the leaf begin again, and find it quarantined */
static void leaf_quarantine(struct crab_leaf *leaf) __must_hold(&leaf->lock)
{
	crab_leaf_begin(leaf);
	WRITE_ONCE(leaf->quarantined, true);
	crab_leaf_end(leaf);
}

static bool is_preparing(struct crab_pool *pool)
{
	bool raw;

	spin_lock(&pool->lock);
	raw = pool->raw;
	spin_unlock(&pool->lock);
	return raw;
}

/*
 * The pool is closed: no preparation begins. One that had begun stores to a free leaf, perhaps to
 * the memory that has failed; it needs no lock of the caller's
 */
static void prepare_wait(struct crab_pool *pool)
{
	while (is_preparing(pool))
		schedule_timeout_uninterruptible(1);
}

u64 crab_tree_quarantine(struct crab_engine *engine, u64 from, u64 to)
{
	struct crab_tree *tree = crab_tree_of(engine);
	const struct crab_geometry *geo = &engine->geo;
	struct crab_leaf *leaf;
	u64 hit = 0, offset;

	mutex_lock(&tree->smo_lock);
	crab_pool_close(&tree->pool);	/* before a change that waits for smo_lock */
	prepare_wait(&tree->pool);
	for (leaf = tree->first; leaf; leaf = leaf->next) {
		cond_resched();
		offset = crab_leaf_offset(geo, leaf->number);
		if (leaf->quarantined || offset >= to || offset + geo->leaf_bytes <= from)
			continue;
		crab_lock(&leaf->lock);
		leaf_quarantine(leaf);
		crab_unlock(&leaf->lock);
		hit++;
	}
	WRITE_ONCE(tree->quarantined, tree->quarantined + hit);
	mutex_unlock(&tree->smo_lock);
	return hit;
}

int crab_tree_doubt(struct crab_tree *tree, u64 key)
{
	struct crab_leaf *leaf;

	mutex_lock(&tree->smo_lock);
	leaf = crab_leaf_find(tree, key);
	crab_lock(&leaf->lock);
	if (!leaf->quarantined) {
		crab_pool_close(&tree->pool);
		leaf_quarantine(leaf);
		WRITE_ONCE(tree->quarantined, tree->quarantined + 1);
		crab_smo_verify_failed(tree, leaf, "a key is out of order");
	}
	crab_unlock(&leaf->lock);
	mutex_unlock(&tree->smo_lock);
	return -EUCLEAN;
}

int crab_leaf_missing(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key)
	__must_hold(&leaf->lock)
{
	u64 value;

	/* Found now: the search was misled by a key that read otherwise then */
	return crab_layout_lookup(tree, leaf, key, &value) == -ENOENT ? -ENOENT : -ERANGE;
}
