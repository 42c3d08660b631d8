// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements writes of one record to a leaf of the layout `slotted`.
 */

/**
 * DOC: slotted leaves
 *
 * Records are in any slot, most of them in a home line (home.h). A free slot has two sentinels:
 * the reserved key, and the leaf's void, which no record of the leaf has as its value. A slot holds
 * a record only if neither word is a sentinel. Each operation needs one line and one fence (P6),
 * and any subset of its two words that a power cut leaves is a valid state:
 *
 *   insert   free (E, void) -> (key, value)   half: (key, void) or (E, value): absent
 *   delete   (key, value) -> (E, void)        half: the same two: absent
 *   update   value, one word                  old or new
 *
 * Attach completes the sentinels of a half-set slot before the first operation (P3). An insert or
 * update with a value equal to the leaf's void replaces the leaf by one with another void (smo.c).
 *
 * Invariant: the fingerprints agree with the media, except within a write section of the leaf.
 *
 * Locking: the leaf is locked.
 */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "engines/crab/access.h"
#include "engines/crab/layout.h"
#include "engines/crab/smo.h"
#include "planes.h"
#include "smo.h"

static __always_inline void leaf_set(const struct crab_tree *tree, struct crab_leaf *leaf, u32 slot,
				     u64 key)
{
	u64 *planes = crab_planes(leaf, slot / CRAB_SLOTTED_GROUP);
	u64 mask = 1ULL << slot % CRAB_SLOTTED_GROUP;
	u64 bits = rol64(crab_fp(tree, key), slot % CRAB_SLOTTED_GROUP);

	/*
	 * The slot was free. A concurrent reader finds another sequence count. One rotation per
	 * plane moves each bit to the slot's position, without spreading each bit by itself.
	 */
	planes[0] |= bits & mask;
	planes[1] |= ror64(bits, 1) & mask;
	planes[2] |= ror64(bits, 2) & mask;
	planes[3] |= ror64(bits, 3) & mask;
	planes[4] |= ror64(bits, 4) & mask;
	planes[5] |= ror64(bits, 5) & mask;
	planes[6] |= ror64(bits, 6) & mask;
	planes[7] |= ror64(bits, 7) & mask;
	WRITE_ONCE(leaf->count, leaf->count + 1);
	WRITE_ONCE(leaf->ordered, 0);
}

static __always_inline void slot_set(struct crab_flow *flow, const struct crab_tree *tree,
				     struct crab_leaf *leaf, u32 slot, u64 key, u64 value)
{
	struct crab_dslot *d = crab_leaf_slot(tree, leaf, slot);

	crab_store(flow, &d->value, value);
	crab_store(flow, &d->key, key);
	crab_clean_word(flow, &d->key);
	leaf_set(tree, leaf, slot, key);
}

void crab_slotted_insert_nofence(struct crab_write *write, struct crab_leaf *leaf, u32 slot,
				 u64 key, u64 value) __must_hold(&leaf->lock)
{
	slot_set(write->flow, write->tree, leaf, slot, key, value);
	crab_count(&write->tree->base, inserts, 1);
}

/* An insert that replaces the leaf: it is full, or the value is its void */
static noinline int insert_by_smo(struct crab_write *write, struct crab_leaf *leaf, u32 slot,
				  u64 key, u64 value)
{
	int err;

	if (slot == CRAB_SLOT_DOUBT)
		return -ERANGE;
	if (!crab_write_may_change(write))
		return -EAGAIN;
	err = slot == write->tree->slots ? crab_smo_add(write, leaf, key, value) :
					   crab_slotted_rewrite(write, leaf, key, value);
	if (!err)
		crab_count(&write->tree->base, inserts, 1);
	return err;
}

int crab_slotted_insert(struct crab_write *write, struct crab_leaf *leaf, u32 slot, u64 key,
			u64 value) __must_hold(&leaf->lock)
{
	struct crab_tree *tree = write->tree;
	struct crab_flow *flow = write->flow;
	bool none = slot >= tree->slots, is_void = value == leaf->void_value;

	if (unlikely(none || is_void))
		return insert_by_smo(write, leaf, slot, key, value);
	crab_leaf_begin(leaf);
	slot_set(flow, tree, leaf, slot, key, value);
	crab_count_settled(&tree->base, inserts, flow, 1);
	/* P6: the record is durable; any part of it alone reads as a free slot */
	crab_fence(flow, CRAB_P6_RECORD);
	crab_leaf_end(leaf);
	return 0;
}

int crab_slotted_update_void(struct crab_write *write, struct crab_leaf *leaf, u64 key, u64 value)
	__must_hold(&leaf->lock)
{
	int err;

	if (!crab_write_may_change(write))
		return -EAGAIN;
	err = crab_slotted_rewrite(write, leaf, key, value);
	if (!err)
		crab_count(&write->tree->base, updates, 1);
	return err;
}

static __always_inline void leaf_clear(struct crab_leaf *leaf, u32 slot)
{
	u64 *planes = crab_planes(leaf, slot / CRAB_SLOTTED_GROUP);
	u64 others = ~(1ULL << slot % CRAB_SLOTTED_GROUP);

	planes[0] &= others;
	planes[1] &= others;
	planes[2] &= others;
	planes[3] &= others;
	planes[4] &= others;
	planes[5] &= others;
	planes[6] &= others;
	planes[7] &= others;
	WRITE_ONCE(leaf->count, leaf->count - 1);
	WRITE_ONCE(leaf->ordered, 0);
}

static __always_inline void slot_clear(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
{
	struct crab_dslot *d = crab_leaf_slot(write->tree, leaf, slot);

	crab_slot_free(write->flow, d, leaf->void_value);
	crab_clean_word(write->flow, &d->key);
	leaf_clear(leaf, slot);
}

void crab_slotted_remove_nofence(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
{
	slot_clear(write, leaf, slot);
	crab_underfull_note(write->tree, leaf);
	crab_count(&write->tree->base, deletes, 1);
}

void crab_slotted_remove(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
	__must_hold(&leaf->lock)
{
	struct crab_flow *flow = write->flow;

	crab_leaf_begin(leaf);
	slot_clear(write, leaf, slot);
	if (unlikely(crab_underfull_note(write->tree, leaf)))
		crab_count(&write->tree->base, deletes, 1);	/* not settled: a merge is due */
	else
		crab_count_settled(&write->tree->base, deletes, flow, 1);
	/* P6: the slot is free, and only now may be reused */
	crab_fence(flow, CRAB_P6_RECORD);
	crab_leaf_end(leaf);
}

bool crab_slotted_keeps_empty(const struct crab_tree *tree, const struct crab_leaf *leaf)
{
	const struct crab_leaf *prev;

	if (READ_ONCE(leaf->next))
		return false;
	/* Pairs with smo_join() */
	prev = smp_load_acquire(&leaf->prev);
	return READ_ONCE(prev->count) == tree->slots;
}
