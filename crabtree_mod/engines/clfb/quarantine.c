// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements quarantine at run time: memory under an attached store has failed, or a read
 * has found a key there that cannot be in its place.
 *
 * Invariant: on return no new access to the range of such a leaf or node begins.
 *
 * Locking: takes clfb_tree.lock for writing.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "node.h"

/* Those of @n pieces of @bytes from @base on that overlap [@from, @to): the first, and one past */
static u64 pieces_first(u64 base, u64 bytes, u64 n, u64 from)
{
	return from <= base ? 0 : min((from - base) / bytes, n);
}

static u64 pieces_end(u64 base, u64 bytes, u64 n, u64 to)
{
	return to <= base ? 0 : min((to - base + bytes - 1) / bytes, n);
}

static u64 pieces_mark(unsigned long *live, u64 first, u64 end)
{
	u64 hit = 0;

	for (; first < end; first++) {
		cond_resched();
		hit += __test_and_clear_bit(first, live);
	}
	return hit;
}

u64 crab_clfb_quarantine(struct crab_engine *engine, u64 from, u64 to)
{
	struct clfb_tree *tree = clfb_tree_of(engine);
	const struct crab_geometry *geo = &engine->geo;
	u64 lines = crab_clfb_node_offset(tree, 0), hit, bytes = CRAB_LINE * tree->copies;

	down_write(&tree->lock);
	crab_pool_close(&tree->pool);
	hit = pieces_mark(tree->leaf_live,
			  pieces_first(geo->pool_offset, geo->leaf_bytes, geo->leaves, from),
			  pieces_end(geo->pool_offset, geo->leaf_bytes, geo->leaves, to));
	hit += pieces_mark(tree->node_live,
			   pieces_first(lines, bytes, geo->leaves, from),
			   pieces_end(lines, bytes, geo->leaves, to));
	tree->quarantined += hit;
	up_write(&tree->lock);
	return hit;
}

int crab_clfb_doubt(struct clfb_tree *tree, u64 key)
{
	const struct crab_geometry *geo = &tree->base.geo;
	struct clfb_place place;

	down_write(&tree->lock);
	crab_clfb_find(tree, key, &place);
	if (!place.bad) {
		crab_pool_close(&tree->pool);
		__clear_bit(place.leaf, tree->leaf_live);
		tree->quarantined++;
		crab_engine_damaged(&tree->base, crab_leaf_offset(geo, place.leaf),
				    "leaf %llu: its keys have changed",
				    (unsigned long long)place.leaf);
	}
	up_write(&tree->lock);
	return -EUCLEAN;
}
