// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the parts of a leaf that both layouts share.
 *
 * Invariant: only the files of a layout know which slots are live.
 *
 * Locking: access.c documents it. A function that readers call is bounded for any values that it
 * reads.
 */
#include <linux/kernel.h>

#include "access.h"
#include "layout.h"
#include "leaf.h"

struct crab_leaf *crab_leaf_alloc(struct crab_tree *tree, struct crab_leaf_chunk **own, gfp_t gfp)
{
	struct crab_leaf *leaf = crab_leaf_table_alloc(&tree->table, own, gfp);

	if (!leaf)
		return NULL;
	spin_lock_init(&leaf->lock);
	seqcount_spinlock_init(&leaf->seq, &leaf->lock);
	crab_layout_desc_init(tree, leaf);
	return leaf;
}

static __always_inline void slot_store_value(struct crab_write *write, struct crab_dslot *d,
					     u64 value)
{
	crab_store(write->flow, &d->value, value);
	crab_clean_word(write->flow, &d->value);
}

void crab_leaf_update_nofence(struct crab_write *write, struct crab_dslot *d, u64 value)
{
	slot_store_value(write, d, value);
	crab_count(&write->tree->base, updates, 1);
}

void crab_leaf_update(struct crab_write *write, struct crab_leaf *leaf, struct crab_dslot *d,
		      u64 value) __must_hold(&leaf->lock)
{
	struct crab_flow *flow = write->flow;

	crab_leaf_begin(leaf);
	slot_store_value(write, d, value);
	crab_count_settled(&write->tree->base, updates, flow, 1);
	/* P6: the new value is durable; before it, either value may be found */
	crab_fence(flow, CRAB_P6_RECORD);
	crab_leaf_end(leaf);
}

void crab_leaf_quarantine(const struct crab_tree *tree, struct crab_leaf *leaf,
			  struct crab_damage *damage, u32 slot, const char *what)
{
	u64 offset = crab_leaf_offset(&tree->base.geo, leaf->number) +
		     offsetof(struct crab_dleaf, slots[slot]);

	crab_damage_note(damage, offset, "leaf %llu, slot %u: %s",
			 (unsigned long long)leaf->number, slot, what);
	leaf->quarantined = true;
}

void crab_leaf_fresh(struct crab_write *write, const struct crab_spare *spare,
		     struct crab_head *head, const struct crab_record *records, u32 count,
		     struct crab_leaf *leaf)
{
	head->self = crab_leaf_offset(&write->tree->base.geo, spare->leaf);
	leaf->low = head->low;
	leaf->number = spare->leaf;
	crab_layout_fresh(write, spare, head, records, count, leaf);
}
