// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements memory for the orders of slotted leaves.
 *
 * Invariant, locking: see leaf_order.h.
 */
#include <linux/atomic.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "leaf.h"
#include "leaf_order.h"

static size_t orders_bytes(const struct crab_leaf_table *table)
{
	return (size_t)table->per * table->order_bytes;
}

/* The orders of a chunk, zeroed at first; of two tasks one frees its own */
static u64 *orders_make(struct crab_leaf_table *table, struct crab_leaf_chunk *chunk)
{
	u64 *orders = kzalloc(orders_bytes(table), GFP_NOWAIT | __GFP_NOWARN), *before;

	if (!orders)
		return NULL;
	/* Publishes the zeroed memory; pairs with the load in crab_leaf_order() */
	before = cmpxchg(&chunk->orders, NULL, orders);
	if (before)
		kfree(orders);
	else
		atomic_inc(&table->ordered);
	return before ?: orders;
}

u64 *crab_leaf_order_make(struct crab_leaf_table *table, struct crab_leaf *leaf)
{
	struct crab_leaf_chunk *chunk = crab_leaf_chunk_of(table, leaf);
	struct crab_leaf_entry *entry = &rcu_dereference_raw(table->entries)[chunk->number];
	/* Pairs with orders_make(), as crab_leaf_order() does */
	u64 *orders = rcu_dereference_raw(chunk->orders) ?: orders_make(table, chunk);

	if (READ_ONCE(entry->orders) != orders)
		/* Pairs with crab_leaf_order_at(): the memory is zeroed */
		smp_store_release(&entry->orders, orders);
	return crab_leaf_order_in(table, orders, (u8 *)leaf - chunk->memory);
}

u64 crab_leaf_orders_bytes(const struct crab_leaf_table *table)
{
	return (u64)atomic_read(&table->ordered) * roundup_pow_of_two(orders_bytes(table));
}
