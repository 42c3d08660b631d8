// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements growth: attach gives a store the memory that its region has won.
 *
 * Invariant: no leaf beyond the old pool is allocated before the superblock in use has the new
 * geometry; the other copy gets it when attach ends. Recovery reads these leaves like any free
 * leaf, and trusts none of their content.
 *
 * Crash table: a cut before the fence (P3) leaves the old geometry, a cut after it the new one;
 * the records are the same.
 *
 * Locking: the caller has the region to itself.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/printk.h>

#include "store_priv.h"

/* Whether the engine's area before the pool is long enough for so many leaves */
static bool has_area(const struct crab_super *super, const struct crab_layout *layout, u64 leaves)
{
	return !layout->before_pool || layout->before_pool(leaves, super->leaf_bytes) <=
				       super->pool_offset - CRAB_AREA_OFFSET;
}

void crab_store_plan_growth(struct crab_store *store, const struct crab_layout *layout)
{
	struct crab_super *super = &store->super;
	u64 least = super->leaves, most, middle;

	if (store->media->size <= super->region_bytes)
		return;
	most = min_t(u64, (store->media->size - super->pool_offset) >> ilog2(super->leaf_bytes),
		     CRAB_LEAVES_MAX);
	while (least < most) {
		middle = most - (most - least) / 2;
		if (has_area(super, layout, middle))
			least = middle;
		else
			most = middle - 1;
	}
	if (least == super->leaves)
		return;
	store->grown = least - super->leaves;
	super->leaves = least;
	super->region_bytes = store->media->size;
}

void crab_store_grow(struct crab_store *store, struct crab_flow *flow)
{
	if (!store->grown)
		return;
	crab_super_write(flow, &store->super);
	pr_info("store %08x: its region has grown: %llu leaves more\n", store->super.store_id,
		(unsigned long long)store->grown);
}
