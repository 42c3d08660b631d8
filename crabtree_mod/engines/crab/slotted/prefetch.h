/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file prefetches parts of a slotted leaf and its descriptor.
 *
 * No lock: a prefetch has no effect but time.
 */
#ifndef CRABTREE_ENGINES_CRAB_SLOTTED_PREFETCH_H
#define CRABTREE_ENGINES_CRAB_SLOTTED_PREFETCH_H

#include <linux/minmax.h>
#include <linux/prefetch.h>

#include "engines/crab/leaf_order.h"
#include "slotted.h"

/* A hint: the lines of a leaf will be read in any order */
static inline void crab_slotted_prefetch(const struct crab_tree *tree,
					 const struct crab_dleaf *dleaf)
{
	crab_prefetch_range(&dleaf->slots[0], min(tree->slots, 256U) * sizeof(struct crab_dslot));
}

/* Prefetch the lines of a descriptor that a search for a key reads: of its group, or of all */
static inline void crab_slotted_prefetch_find(const struct crab_tree *tree,
					      const struct crab_leaf *leaf, u64 key, bool absent)
{
	u32 first = crab_home_group(&tree->homes, crab_hash(key));

	prefetch(leaf);
	if (absent)
		crab_prefetch_range(leaf->fps, crab_slotted_fps_bytes(tree));
	else
		prefetch(&leaf->fps[first / CRAB_SLOTTED_GROUP * CRAB_SLOTTED_PLANES]);
}

/* A hint: a leaf will be read in order. Returns crab_reader.order */
static inline const u64 *crab_slotted_prefetch_desc(const struct crab_tree *tree,
						    const void *child,
						    const struct crab_leaf *leaf)
{
	const u64 *order = crab_leaf_order_at(&tree->table, (u32)(unsigned long)child);

	prefetch(leaf);
	if (likely(order))
		crab_prefetch_range(order, tree->table.order_bytes);
	else
		crab_prefetch_range(leaf->fps, crab_slotted_fps_bytes(tree));
	return order;
}

#endif /* CRABTREE_ENGINES_CRAB_SLOTTED_PREFETCH_H */
