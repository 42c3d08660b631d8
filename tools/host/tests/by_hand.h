/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file has a store of the engine `crab` whose list of leaves a test writes by hand.
 */
#ifndef CRAB_HOST_BY_HAND_H
#define CRAB_HOST_BY_HAND_H

#include "engines/crab/crab.h"
#include "test.h"

#define STRIDE		64	/* keys of a leaf's range */
#define VOID		77

static struct crab_flow flow = { .media = &media };
static struct crab_geometry geo;
static u64 leaves;		/* of the list */

/* With a power of two of leaves, the list is not in the order of the pool; it begins at leaf 0 */
static inline u64 number(u64 nth)
{
	return leaves & (leaves - 1) ? nth : nth * 5 % leaves;
}

static inline struct crab_dleaf *dleaf(u64 nth)
{
	return (struct crab_dleaf *)(media.base + crab_leaf_offset(&geo, number(nth)));
}

static inline void put(u64 nth, u32 slot, u64 key, u64 value)
{
	dleaf(nth)->slots[slot].key = cpu_to_le64(key);
	dleaf(nth)->slots[slot].value = cpu_to_le64(value);
}

static inline u64 key_of(u64 nth, u32 slot)
{
	return nth * STRIDE + slot + 1;
}

static inline void fill(u64 nth, u32 records)
{
	u32 slot;

	for (slot = 0; slot < crab_leaf_slots(geo.leaf_bytes); slot++)
		put(nth, slot, slot < records ? key_of(nth, slot) : CRAB_KEY_EMPTY,
		    slot < records ? nth : VOID);
}

static inline void break_header(u64 nth)
{
	dleaf(nth)->head.self ^= cpu_to_le64(8);	/* its link is good */
}

static inline void link_leaf(u64 nth)
{
	struct crab_head head = {
		.self = crab_leaf_offset(&geo, number(nth)),
		.birth = nth + 1,
		.low = nth * STRIDE,
		.own = VOID,
	};

	head.next = nth + 1 < leaves ? crab_link_to(&geo, number(nth + 1), nth + 2) :
				       crab_link_end(geo.store_id, head.self, head.birth);
	crab_head_store(&flow, geo.store_id, &head);
}

/* A store with @pool leaves in its pool, of which @list are in the list; @make fills them */
static inline void media_make(const char *layout, u32 leaf_bytes, u64 pool, u64 list,
		       void (*make)(u64 nth))
{
	struct crab_store_info info;
	struct crab_store *store;
	u64 i;

	media = media_create(2 * CRAB_POOL_OFFSET + pool / 64 * 8 / CRAB_POOL_OFFSET *
			     CRAB_POOL_OFFSET + pool * leaf_bytes);
	store = store_format_attach(&media, "crab", layout, leaf_bytes);
	crab_store_info(store, &info);
	crab_store_detach(store);
	geo = (struct crab_geometry) {
		.pool_offset = info.super.pool_offset, .leaves = info.super.leaves,
		.leaf_bytes = leaf_bytes, .store_id = info.super.store_id,
	};
	leaves = list;
	for (i = 0; i < list; i++)
		link_leaf(i);
	for (i = 0; i < list; i++)
		make(i);
}

#endif /* CRAB_HOST_BY_HAND_H */
