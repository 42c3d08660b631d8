/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares memory for the orders of slotted leaves (slotted/order.c). It is allocated
 * for all descriptors of a chunk when a scan needs it for one of them, and freed with the chunk.
 * In a store without scans there is none.
 *
 * Invariant: crab_leaf_chunk.orders changes once. Its copy in a directory is NULL until then, and
 * stays NULL in a longer one that is made at the same time.
 *
 * Locking: none; the callers are readers (RCU). If two tasks allocate the orders of a chunk at the
 * same time, one frees its own.
 */
#ifndef CRABTREE_ENGINES_CRAB_LEAF_ORDER_H
#define CRABTREE_ENGINES_CRAB_LEAF_ORDER_H

#include <linux/rcupdate.h>
#include <linux/types.h>

#include "leaf_table.h"

/* The order of the descriptor that begins @offset bytes after crab_leaf_chunk.memory */
static __always_inline u64 *crab_leaf_order_in(const struct crab_leaf_table *table, u64 *orders,
					       u32 offset)
{
	return unlikely(!orders) ? NULL :
	       orders + (offset * table->order_scale >> CRAB_LEAF_SCALE_SHIFT);
}

/**
 * crab_leaf_order() - the memory for the order of a descriptor
 * @table: the table
 * @leaf: its descriptor
 * Context: as crab_leaf_table_at().
 * Return: the memory, zeroed when it was allocated; NULL: the chunk has no orders.
 */
static inline u64 *crab_leaf_order(const struct crab_leaf_table *table,
				   const struct crab_leaf *leaf)
{
	const struct crab_leaf_chunk *chunk = crab_leaf_chunk_of(table, leaf);

	/* Pairs with crab_leaf_order_make(): the memory is zeroed */
	return crab_leaf_order_in(table, rcu_dereference_raw(chunk->orders),
				  (const u8 *)leaf - chunk->memory);
}

/**
 * crab_leaf_order_at() - crab_leaf_order() of the descriptor at a place
 * @table: the table
 * @place: as of crab_leaf_table_at()
 * Context: as crab_leaf_table_at().
 * Return: the memory; NULL: crab_leaf_order() can have it nevertheless.
 */
static __always_inline u64 *crab_leaf_order_at(const struct crab_leaf_table *table, u32 place)
{
	struct crab_leaf_entry *entries = rcu_dereference_raw(table->entries);
	/* Pairs with crab_leaf_order_make(), as above */
	u64 *orders = rcu_dereference_raw(entries[place >> CRAB_LEAF_LINE_SHIFT].orders);
	u32 offset = (place & CRAB_LEAF_LINE_MASK) << CRAB_LEAF_LINE_SHIFT;

	return crab_leaf_order_in(table, orders, offset - sizeof(struct crab_leaf_chunk));
}

/**
 * crab_leaf_order_make() - crab_leaf_order(), allocated if there is none
 * @table: the table
 * @leaf: its descriptor
 * Context: as crab_leaf_table_at(); does not sleep; any number of callers at a time.
 * Return: the memory, or NULL if there is none left.
 */
u64 *crab_leaf_order_make(struct crab_leaf_table *table, struct crab_leaf *leaf);

/**
 * crab_leaf_orders_bytes() - memory of all orders
 * @table: the table
 * Context: any.
 * Return: bytes that the allocator takes; while the tree changes, about so many.
 */
u64 crab_leaf_orders_bytes(const struct crab_leaf_table *table);

#endif /* CRABTREE_ENGINES_CRAB_LEAF_ORDER_H */
