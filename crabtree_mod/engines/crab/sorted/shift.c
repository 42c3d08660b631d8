// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements stores to a leaf of the layout `sorted` in place.
 */

/**
 * DOC: sorted leaves
 *
 * Records are sorted and dense from slot 0 on, and end at the first slot with the reserved key. So
 * no counter is stored (the published tree spends a line and a fence on it in every write). They
 * are shifted in place (SIP), line by line (Wang et al. 2020, section 4.2, Algorithm 1, lines
 * 23-31, and section 4.4):
 *
 *   insert  shifts right, each value before its key; commits with the new key
 *   delete  shifts left, each key before its value; commits with its first key
 *
 * crab_order() keeps key and value in order, or one event of 16 bytes stores both (section 5.3). A
 * line that received a record is durable before the line that the record came from is overwritten
 * (P9).
 *
 * The published recovery recognises a torn shift by equal values and by null values. Users may
 * store equal values and zero. Keys are unique, so here keys identify it: of two equal neighbouring
 * keys the left one is void, a duplicate. This rule serves both directions. A search takes the last
 * of equal keys, so a read-only attach serves a torn leaf as it is; repair closes the gap over the
 * left duplicate.
 *
 * An append that would meet old words after the end moves the end first (P10).
 *
 * The second rule is for splits, merges and redistributions, which write a record to its new leaf
 * before they take it from the old one: records at or above the first key of the next leaf that is
 * not empty are void. For that reason the `low` in the header of a sorted leaf is a birth mark
 * only; the range begins at the first key.
 *
 * All of this needs model L: stores to one line that were kept in order persist in order. Under
 * model W a shift can lose a record; `slotted` cannot.
 *
 * Invariant: without a duplicate, slots [0, count) are the records, except within a write section.
 *
 * Locking: the leaf is locked and in a write section.
 */
#include <linux/kernel.h>

#include "engines/crab/verify.h"
#include "sorted.h"

/*
 * One record to @to, after all that was stored before: its value first for a
 * shift to the right, its key first to the left
 */
static void slot_store(struct crab_write *write, struct crab_dslot *to,
		       struct crab_record record, bool value_first)
{
	struct crab_flow *flow = write->flow;

	crab_order(flow);
	if (write->tree->tuning.pair && crab_pair_is_atomic()) {
		crab_store_pair(flow, &to->key, record.key, record.value);
	} else if (value_first) {
		crab_store(flow, &to->value, record.value);
		crab_order(flow);
		crab_store(flow, &to->key, record.key);
	} else {
		crab_store(flow, &to->key, record.key);
		crab_order(flow);
		crab_store(flow, &to->value, record.value);
	}
}

/* The line of @at will not be written again: durable before the neighbour's is */
static void line_done(struct crab_write *write, struct crab_dslot *at)
{
	crab_clean(write->flow, at, sizeof(*at));
	/* P9: the line that received a record, before its old place is overwritten */
	crab_fence(write->flow, CRAB_P9_SHIFTED);
}

/*
 * The slot next the last record must end them before slot @count is filled, or those of an earlier
 * leaf count
 */
static void end_before_append(struct crab_write *write, struct crab_leaf *leaf, u32 count)
{
	const struct crab_tree *tree = write->tree;
	struct crab_dslot *last = crab_leaf_slot(tree, leaf, count - 1);
	struct crab_dslot *end = last + 1;

	if (count >= tree->slots || crab_load_is(tree->base.media, &end->key, CRAB_KEY_EMPTY))
		return;
	crab_store(write->flow, &end->key, CRAB_KEY_EMPTY);
	if (crab_sorted_same_line(last, end))
		return;
	crab_clean(write->flow, &end->key, sizeof(end->key));
	/* P10: the new end, before the record in front of it hides the old one */
	crab_fence(write->flow, CRAB_P10_ENDED);
}

void crab_sorted_shift_in(struct crab_write *write, struct crab_leaf *leaf, u32 pos,
			  u64 key, u64 value) __must_hold(&leaf->lock)
{
	const struct crab_tree *tree = write->tree;
	struct crab_record record = { .key = key, .value = value }, moved;
	struct crab_dslot *d = crab_leaf_slot(tree, leaf, 0);
	u32 i;

	crab_prefetchw_range(&d[pos], (leaf->count - pos + 1) * sizeof(*d));
	end_before_append(write, leaf, leaf->count + 1);
	for (i = leaf->count; i > pos; i--) {
		moved = crab_slot_settled(tree->base.media, &d[i - 1]);
		slot_store(write, &d[i], moved, true);
		if (crab_sorted_same_line(&d[i], &d[i - 1]))
			continue;
		line_done(write, &d[i]);
		crab_sorted_first_set(tree, leaf, i, moved.key);
	}
	slot_store(write, &d[pos], record, true);
	crab_clean(write->flow, &d[pos], sizeof(d[pos]));
	crab_sorted_first_set(tree, leaf, pos, key);
	WRITE_ONCE(leaf->count, leaf->count + 1);
	/* P6: the new key is durable, and with it the record */
	crab_fence(write->flow, CRAB_P6_RECORD);
}

void crab_sorted_shift_out(struct crab_write *write, struct crab_leaf *leaf, u32 pos)
	__must_hold(&leaf->lock)
{
	const struct crab_tree *tree = write->tree;
	struct crab_dslot *d = crab_leaf_slot(tree, leaf, 0);
	u32 i, last = crab_sorted_extent(leaf) - 1;
	struct crab_record moved;

	crab_prefetchw_range(&d[pos], (last - pos + 1) * sizeof(*d));
	for (i = pos; i < last; i++) {
		moved = crab_slot_settled(tree->base.media, &d[i + 1]);
		slot_store(write, &d[i], moved, false);
		crab_sorted_first_set(tree, leaf, i, moved.key);
		if (!crab_sorted_same_line(&d[i], &d[i + 1]))
			line_done(write, &d[i]);
	}
	crab_order(write->flow);
	crab_store(write->flow, &d[last].key, CRAB_KEY_EMPTY);
	crab_clean(write->flow, &d[last], sizeof(d[last]));
	crab_sorted_firsts_end(tree, leaf, last);
	WRITE_ONCE(leaf->count, last);
	/* P6: the record is gone durably, and no slot is a duplicate any more */
	crab_fence(write->flow, CRAB_P6_RECORD);
}

void crab_sorted_end(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
	__must_hold(&leaf->lock)
{
	const struct crab_tree *tree = write->tree;
	struct crab_dslot *end = crab_leaf_slot(tree, leaf, slot);

	crab_store(write->flow, &end->key, CRAB_KEY_EMPTY);
	crab_clean(write->flow, &end->key, sizeof(end->key));
	crab_sorted_firsts_end(tree, leaf, slot);
	/* P10: the records after the end are in another leaf and were void already */
	crab_fence(write->flow, CRAB_P10_ENDED);
}

void crab_sorted_append(struct crab_write *write, struct crab_leaf *leaf,
			const struct crab_record *records, u32 count) __must_hold(&leaf->lock)
{
	const struct crab_tree *tree = write->tree;
	struct crab_dslot *d = crab_leaf_slot(tree, leaf, leaf->count);
	struct crab_flow *flow = write->flow;
	u32 end = leaf->count + count, i;

	for (i = 0; i < count; i++)
		crab_sorted_first_set(tree, leaf, leaf->count + i, records[i].key);
	for (i = 1; i < count; i++) {
		crab_store(flow, &d[i].value, records[i].value);
		crab_store(flow, &d[i].key, records[i].key);
	}
	if (end < tree->slots)
		crab_store(flow, &d[count].key, CRAB_KEY_EMPTY);
	if (count > 1 || end < tree->slots) {
		crab_clean(flow, &d[1].key, (count - 1) * sizeof(*d) +
			   (end < tree->slots ? sizeof(d->key) : 0));
		/* P11: all but the first and the end are there before the first reveals them */
		crab_fence(flow, CRAB_P11_APPENDED);
	}
	slot_store(write, &d[0], records[0], true);
	crab_clean(flow, &d[0], sizeof(d[0]));
	WRITE_ONCE(leaf->count, end);
	/* P6: the first key reveals the others */
	crab_fence(flow, CRAB_P6_RECORD);
}
