// SPDX-License-Identifier: GPL-2.0
/*
 * This file writes whole leaves of the layout `sorted`.
 *
 * Invariant: nothing links to the leaf yet; the caller makes it durable (P7) before that.
 *
 * Locking: crab_tree.smo_lock; FORMAT has the region to itself.
 */
#include <linux/kernel.h>

#include "shared/link.h"
#include "smo.h"

void crab_sorted_format(struct crab_flow *flow, struct crab_dleaf *dleaf)
{
	crab_store(flow, &dleaf->slots[0].key, CRAB_KEY_EMPTY);
}

/* Into a fresh leaf, slot after slot; a line that is full is on its way out from then on */
static void fresh_store(struct crab_flow *flow, struct crab_dslot *slot, struct crab_record record)
{
	crab_store(flow, &slot->key, record.key);
	crab_store(flow, &slot->value, record.value);
	if ((unsigned long)(slot + 1) % CRAB_LINE == 0)
		crab_clean_word(flow, &slot->value);
}

/* The records of a fresh leaf end before @slot; its last line is on its way out too */
static void fresh_end(struct crab_write *write, struct crab_dleaf *d, u32 slot)
{
	const struct crab_tree *tree = write->tree;

	if (slot == tree->slots)
		return;
	crab_store(write->flow, &d->slots[slot].key, CRAB_KEY_EMPTY);
	crab_clean(write->flow, &d->slots[slot].key, sizeof(d->slots[slot].key));
}

void crab_sorted_store(struct crab_write *write, u64 number, const struct crab_head *head,
		       const struct crab_record *records, u32 count)
{
	const struct crab_tree *tree = write->tree;
	struct crab_dleaf *d = crab_leaf_media(tree, number);
	struct crab_flow *flow = write->flow;
	u32 i;

	crab_head_store(flow, tree->base.geo.store_id, head);
	for (i = 0; i < count; i++)
		fresh_store(flow, &d->slots[i], records[i]);
	fresh_end(write, d, count);
}

void crab_sorted_fresh(struct crab_write *write, const struct crab_spare *spare,
		       struct crab_head *head, const struct crab_record *records, u32 count,
		       struct crab_leaf *leaf)
{
	crab_sorted_store(write, spare->leaf, head, records, count);
	crab_sorted_firsts_fill(write->tree, leaf, records, count);
	leaf->count = count;
}
