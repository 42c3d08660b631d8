// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements what leaves of both layouts share, and leads to the
 * layout's own where they differ.
 *
 * Invariant: only leaf_slotted.c and leaf_sorted.c know which slots are live.
 *
 * Locking: access.c tells it. What readers call is bounded whatever it reads.
 */
#include <linux/align.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "crab.h"

size_t crab_leaf_dram(const struct crab_tree *tree)
{
	return sizeof(struct crab_leaf) +
	       (tree->sorted ? tree->pieces * sizeof(u64) :
			       crab_slotted_fps(tree) + crab_order_bytes(tree));
}

size_t crab_leaf_slab(const struct crab_tree *tree)
{
	size_t dram = crab_leaf_dram(tree), slab = roundup_pow_of_two(dram);

	if (dram <= slab / 4 * 3 && slab <= 256)	/* the allocator has 96 and 192, too */
		slab = max_t(size_t, slab / 4 * 3, 64);
	return slab;
}

struct crab_leaf *crab_leaf_alloc(const struct crab_tree *tree, gfp_t gfp)
{
	struct crab_leaf *leaf = kzalloc(crab_leaf_dram(tree), gfp);

	if (!leaf)
		return NULL;
	spin_lock_init(&leaf->lock);
	seqcount_spinlock_init(&leaf->seq, &leaf->lock);
	if (tree->sorted)
		crab_sorted_init(tree, leaf);
	return leaf;
}

u32 crab_leaf_next(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot)
{
	return tree->sorted ? crab_sorted_next(tree, leaf, slot) :
			      crab_slotted_next(tree, leaf, slot);
}

int crab_leaf_find(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key)
{
	return tree->sorted ? crab_sorted_find(tree, leaf, key) :
			      crab_slotted_find(tree, leaf, key);
}

struct crab_record crab_leaf_record(const struct crab_tree *tree, const struct crab_leaf *leaf,
				    u32 slot)
{
	const struct crab_dslot *d = crab_leaf_slot(tree, leaf, slot);
	struct crab_record record = {
		.key = crab_load(tree->base.media, &d->key),
		.value = crab_load(tree->base.media, &d->value),
	};

	return record;
}

static __always_inline void slot_set_value(struct crab_write *write, struct crab_dslot *d,
					   u64 value)
{
	crab_store(write->flow, &d->value, value);
	crab_clean_word(write->flow, &d->value);
}

void crab_slot_set_value(struct crab_write *write, struct crab_dslot *d, u64 value)
{
	slot_set_value(write, d, value);
	crab_count(&write->tree->base, updates, 1);
}

void crab_slot_update(struct crab_write *write, struct crab_dslot *d, u64 value)
{
	struct crab_flow *flow = write->flow;

	slot_set_value(write, d, value);
	crab_count_settled(&write->tree->base, updates, flow);
	/* P6: the new value is durable; before it, either value may be found */
	crab_fence(flow, CRAB_P6_RECORD);
}

u32 crab_leaf_collect(const struct crab_tree *tree, const struct crab_leaf *leaf,
		      struct crab_record *records)
{
	u32 count = 0, slot;

	if (!tree->sorted)
		return crab_slotted_collect(tree, leaf, records);
	crab_leaf_for_each(tree, leaf, slot)
		records[count++] = crab_leaf_record(tree, leaf, slot);
	return count;
}

int crab_leaf_scan(struct crab_reader *reader, u64 start, u64 end,
		   struct crab_record *records, u32 cap, u16 *room)
{
	if (reader->tree->sorted)
		return crab_sorted_scan(reader->tree, reader->leaf, start, end, records, cap);
	return crab_order_scan(reader, start, end, records, cap, room);
}

void crab_leaf_condemn(const struct crab_tree *tree, struct crab_leaf *leaf,
		       struct crab_damage *damage, u32 slot, const char *what)
{
	u64 offset = crab_leaf_offset(&tree->base.geo, leaf->number) +
		     offsetof(struct crab_dleaf, slots[slot]);

	crab_damage_note(damage, offset, "leaf %llu, slot %u: %s",
			 (unsigned long long)leaf->number, slot, what);
	leaf->bad = true;
}

void crab_leaf_read(const struct crab_tree *tree, struct crab_leaf *leaf,
		    struct crab_seen *seen, struct crab_damage *damage)
{
	if (tree->sorted)
		crab_sorted_read(tree, leaf, damage);
	else
		crab_slotted_read(tree, leaf, seen, damage);
}

void crab_leaf_fresh(struct crab_write *write, const struct crab_spare *spare,
		     struct crab_head *head, const struct crab_record *records, u32 count,
		     struct crab_leaf *leaf)
{
	head->self = crab_leaf_offset(&write->tree->base.geo, spare->leaf);
	leaf->low = head->low;
	leaf->number = spare->leaf;
	if (write->tree->sorted)
		crab_sorted_fresh(write, spare, head, records, count, leaf);
	else
		crab_slotted_fresh(write, spare, head, records, count, leaf);
}

void crab_leaf_empty(struct crab_flow *flow, struct crab_dleaf *dleaf,
		     const struct crab_geometry *geo, u64 void_value)
{
	if (geo->layout == CRAB_LAYOUT_SORTED)
		crab_store(flow, &dleaf->slots[0].key, CRAB_KEY_EMPTY);
	else
		crab_slotted_landmarks(flow, dleaf, 0, crab_leaf_slots(geo->leaf_bytes),
				       void_value);
}
