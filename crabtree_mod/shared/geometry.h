/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the geometry of a store: where the leaves of its pool are.
 *
 * Layer L3: it includes media/ only; engines/, store/ and tests include it.
 *
 * No lock: it is constant while the store is attached.
 */
#ifndef CRABTREE_GEOMETRY_H
#define CRABTREE_GEOMETRY_H

#include <linux/types.h>

/**
 * struct crab_geometry - where the leaves of a store are
 * @pool_offset: offset of leaf 0, a multiple of CRAB_POOL_OFFSET
 * @leaves: number of leaves
 * @extent: leaves that may be in use: no leaf from here on was written since FORMAT
 * @leaf_bytes: size of a leaf
 * @store_id: random word in each header of this store
 * @layout: id of the layout
 */
struct crab_geometry {
	u64 pool_offset;
	u64 leaves;
	u64 extent;
	u32 leaf_bytes;
	u32 store_id;
	u16 layout;
};

/**
 * crab_leaf_offset() - where a leaf is
 * @geo: the geometry
 * @number: number of the leaf
 * Context: any.
 * Return: its offset in the region.
 */
static inline u64 crab_leaf_offset(const struct crab_geometry *geo, u64 number)
{
	return geo->pool_offset + number * geo->leaf_bytes;
}

#endif /* CRABTREE_GEOMETRY_H */
