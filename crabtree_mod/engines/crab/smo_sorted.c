// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the writes to sorted leaves: which strategy, and the
 * structure changes that happen in place.
 *
 * DOC: changes of sorted leaves in place
 *
 *   split         new leaf durable (P7) -> link durable (P8) -> old leaf ended (P10).
 *                 The published order, end first, loses half a leaf to a cut in
 *                 between. Until P10 the moved records stand twice; those of the
 *                 left leaf are void, for they are not below the right one's first key.
 *   merge         into the left sibling (section 4.4): records behind its end (P11),
 *                 revealed by the first key (P6), then the right leaf is bypassed
 *                 (P8). Until P8 the appended ones are the void ones.
 *   redistribute  one record at a time: written to its new leaf (P6), then taken from
 *                 the old one (P10 or P6). Between the two, the left one is void.
 *
 * Each of them can be done by copying too (smo.c), whichever is priced lower.
 *
 * Locking: access.c tells it. Shifting needs the leaf's lock alone, everything else the
 * structure.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>

#include "smo.h"
#include "tree.h"

/* What a write cost, counted on the strategy that did it (seed 000, Figure 10) */
static void tally_sip(const struct crab_write *write, const struct crab_flow *before)
{
	crab_count(&write->tree->base, sips, 1);
	crab_count(&write->tree->base, sip_lines, write->flow->lines - before->lines);
	crab_count(&write->tree->base, sip_fences, write->flow->fences - before->fences);
}

static void tally_cow(const struct crab_write *write, const struct crab_flow *before)
{
	crab_count(&write->tree->base, cows, 1);
	crab_count(&write->tree->base, cow_lines, write->flow->lines - before->lines);
	crab_count(&write->tree->base, cow_fences, write->flow->fences - before->fences);
}

static int write_sip(struct crab_write *write, struct crab_leaf *leaf, u32 pos, u64 key, u64 value)
{
	struct crab_flow before = *write->flow;

	crab_leaf_begin(leaf);
	crab_sorted_shift_in(write, leaf, pos, key, value);
	crab_leaf_end(leaf);
	tally_sip(write, &before);
	return 0;
}

/* Copy on write, with @rider in front of @slot, or without @slot */
static int write_cow(struct crab_write *write, struct crab_leaf *leaf, u32 slot,
		     const struct crab_record *rider)
{
	struct crab_flow before = *write->flow;
	int err;

	crab_smo_fetch(write->tree, leaf, 1, leaf->count + 1);
	err = crab_smo_copy(write, leaf, slot, rider);
	if (!err)
		tally_cow(write, &before);
	return err;
}

static u32 gather(struct crab_tree *tree, const struct crab_leaf *leaf)
{
	return crab_leaf_collect(tree, leaf, tree->scratch);
}

/*
 * Approximate probe, section 5.2: the lower half is enough to say that copying will
 * do. The published one also saves the search; here the copy needs the lines anyway.
 */
static bool probe_says_cow(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot)
{
	return tree->base.tuning.probe && tree->base.tuning.strategy == CRAB_STRATEGY_AUTO &&
	       leaf->count > 1 && leaf->count < tree->slots && slot <= leaf->count / 2;
}

/* There is room for the record, and @pos is its place */
static int add_at(struct crab_write *write, struct crab_leaf *leaf, u32 pos, u64 key, u64 value)
{
	const struct crab_record rider = { .key = key, .value = value };
	const struct crab_tree *tree = write->tree;
	u64 sip = crab_strategy_sip(tree, pos, leaf->count - pos);
	u64 cow = crab_strategy_cow(tree, leaf->count + 1);

	if (!probe_says_cow(tree, leaf, pos) && crab_strategy_is_sip(tree, sip, cow))
		return write_sip(write, leaf, pos, key, value);
	if (!crab_write_try_structure(write))
		return -EAGAIN;
	return write_cow(write, leaf, pos, &rider);
}

/* Splits off the upper half, which the record joins if it is in it (section 4.2, Split) */
static int split_in_place(struct crab_write *write, struct crab_leaf *leaf, u32 pos, u64 key,
			  u64 value)
{
	const struct crab_record rider = { .key = key, .value = value };
	u32 keep = write->tree->slots / 2;
	bool rides = pos > keep;
	int err = crab_smo_split_right(write, leaf, keep, rides ? &rider : NULL);

	return err || rides ? err : write_sip(write, leaf, pos, key, value);
}

/* A key that goes behind all others, or continues a run: nothing moves, or only a little */
static bool is_run(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 pos, u64 key)
{
	u64 lower = pos ? crab_leaf_key(tree, leaf, pos - 1) : leaf->low;
	u64 upper = pos < leaf->count ? crab_leaf_key(tree, leaf, pos) : leaf->high;

	return (leaf == tree->last && pos == leaf->count) ||
	       crab_run_split(key, lower, pos, upper, leaf->count - pos);
}

static int split(struct crab_write *write, struct crab_leaf *leaf, u32 pos, u64 key, u64 value)
{
	const struct crab_tree *tree = write->tree;
	u32 keep = tree->slots / 2;
	u64 sip, cow;

	if (!crab_write_may_change(write))
		return -EAGAIN;
	sip = pos > keep ? 0 : crab_strategy_sip(tree, pos, keep - pos);
	cow = crab_strategy_cow(tree, keep + 1);
	if (crab_strategy_is_sip(tree, sip, cow) && !is_run(tree, leaf, pos, key))
		return split_in_place(write, leaf, pos, key, value);
	return crab_smo_add(write, leaf, key, value);
}

static int replace_at(struct crab_write *write, struct crab_leaf *leaf, u32 slot, u64 value,
		      enum crab_insert_mode mode, struct crab_old *old)
{
	struct crab_dslot *d = crab_leaf_slot(write->tree, leaf, slot);

	old->existed = true;
	old->value = crab_load(write->tree->base.media, &d->value);
	if (mode == CRAB_INSERT_CREATE)
		return -EEXIST;
	crab_leaf_begin(leaf);
	crab_slot_update(write, d, value);
	crab_leaf_end(leaf);
	return 0;
}

bool crab_sorted_is_at(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 pos,
		       u64 key)
{
	return pos && crab_leaf_key(tree, leaf, pos - 1) == key;
}

int crab_sorted_insert(struct crab_write *write, struct crab_leaf *leaf, u32 pos, u64 key,
		       u64 value, enum crab_insert_mode mode, struct crab_old *old)
{
	const struct crab_tree *tree = write->tree;
	int err;

	prefetch(READ_ONCE(leaf->prev));	/* a copy needs its link */
	old->existed = false;
	if (crab_sorted_is_at(tree, leaf, pos, key))
		return replace_at(write, leaf, pos - 1, value, mode, old);
	if (mode == CRAB_INSERT_REPLACE)
		return -ENOENT;
	if (leaf->count == tree->slots)
		err = split(write, leaf, pos, key, value);
	else
		err = add_at(write, leaf, pos, key, value);
	if (!err)
		crab_count(&tree->base, inserts, 1);
	return err;
}

/* @right into the leaf before it: the left sibling takes what it can hold */
static int merge(struct crab_write *write, struct crab_leaf *left, struct crab_leaf *right)
{
	struct crab_tree *tree = write->tree;
	u32 end = left->count + right->count - 1;
	u64 sip = crab_strategy_sip(tree, left->count, 0) * 2 +
		  (u64)crab_strategy_lines(left->count, end) * tree->base.tuning.costs.line;
	u64 cow = crab_strategy_cow(tree, end + 1), word;
	int err;

	if (!crab_strategy_is_sip(tree, sip, cow))
		return crab_smo_balance(write, left, 1);
	err = crab_smo_verify_unlink(tree, right, &word) ?:
	      crab_smo_verify_records(tree, right, right->high, tree->scratch, gather(tree, right),
				      tree->slots - left->count);
	if (err)
		return err;
	crab_leaf_begin(left);
	crab_leaf_begin(right);
	crab_sorted_append(write, left, tree->scratch, right->count);
	crab_smo_bypass(write, right, word);
	crab_leaf_end(right);
	crab_leaf_end(left);
	return 0;
}

/* The least key of a leaf changed */
static void rename_leaf(struct crab_tree *tree, struct crab_leaf *leaf, u64 low)
{
	crab_index_remove(&tree->index, leaf->low);
	WRITE_ONCE(leaf->prev->high, low);
	WRITE_ONCE(leaf->low, low);
	crab_index_insert(&tree->index, low, leaf, crab_leaf_hint(tree, leaf));
}

/* The last record of @left becomes the first of the leaf behind it */
static void pass_right(struct crab_write *write, struct crab_leaf *left,
		       const struct crab_record *record)
{
	struct crab_leaf *right = left->next;

	crab_sorted_shift_in(write, right, 0, record->key, record->value);
	crab_sorted_end(write, left, left->count - 1);
	WRITE_ONCE(left->count, left->count - 1);
	rename_leaf(write->tree, right, record->key);
}

/* The first record of the leaf behind @left becomes its last; @low is the key of the second */
static void pass_left(struct crab_write *write, struct crab_leaf *left,
		      const struct crab_record *record, u64 low)
{
	struct crab_leaf *right = left->next;

	crab_sorted_append(write, left, record, 1);
	crab_sorted_shift_out(write, right, 0);
	rename_leaf(write->tree, right, low);
}

/* One record from the fuller to the poorer of two neighbours, and what is then the least key */
static int pass(struct crab_write *write, struct crab_leaf *left, bool to_right)
{
	struct crab_leaf *right = left->next, *rich = to_right ? left : right;
	struct crab_tree *tree = write->tree;
	struct crab_record record = crab_leaf_record(tree, rich, to_right ? left->count - 1 : 0);
	u64 low = to_right ? record.key : crab_leaf_key(tree, right, 1);
	int err = crab_smo_verify_low(tree, rich, rich->high, low);

	if (err)
		return err;
	crab_leaf_begin(left);
	crab_leaf_begin(right);
	if (to_right)
		pass_right(write, left, &record);
	else
		pass_left(write, left, &record, low);
	crab_leaf_end(right);
	crab_leaf_end(left);
	return 0;
}

/* From the fuller to the poorer of two neighbours, section 4.4 */
static int redistribute(struct crab_write *write, struct crab_leaf *left, bool to_right)
{
	struct crab_tree *tree = write->tree;
	struct crab_leaf *right = left->next;
	struct crab_leaf *poor = to_right ? right : left;
	struct crab_leaf *rich = to_right ? left : right;
	u32 moved = to_right ? poor->count : rich->count;
	u64 sip = crab_strategy_sip(tree, 0, moved) + crab_strategy_sip(tree, 0, 0);
	u64 cow = crab_strategy_cow(tree, rich->count) + crab_strategy_cow(tree, poor->count);
	int err;

	if (!crab_strategy_is_sip(tree, sip, cow))
		return crab_smo_balance(write, left, 2);
	err = pass(write, left, to_right);
	crab_sparse_touch(tree, rich);
	return err;
}

/* Two neighbours, the poorer of them less than half full */
static void rebalance_pair(struct crab_write *write, struct crab_leaf *left, bool to_right)
{
	struct crab_leaf *right = left->next, *poor = to_right ? right : left;
	const struct crab_tree *tree = write->tree;

	crab_leaf_lock_pair(write, left, right);
	if (left->count + right->count <= tree->slots)
		merge(write, left, right);
	else if (poor->count < tree->slots / 2)		/* writers may have been faster */
		redistribute(write, left, to_right);
	crab_leaf_unlock_pair(left, right);
}

static bool fit_in_one(const struct crab_tree *tree, const struct crab_leaf *left,
		       const struct crab_leaf *right)
{
	return READ_ONCE(left->count) + READ_ONCE(right->count) <= tree->slots;
}

/*
 * Merged with a sibling, the left one if possible, or given a record of the one that has
 * more. The delete is durable already, so what cannot be done now (-ENOMEM, -ENOSPC) is
 * left for the next one.
 */
void crab_sorted_rebalance(struct crab_write *write, u64 key)
{
	struct crab_tree *tree = write->tree;
	struct crab_leaf *leaf = crab_index_find(&tree->index, key), *left, *right;

	lockdep_assert_held(&tree->structure);
	left = leaf->prev;
	right = leaf->next;
	if (crab_smo_reserve(tree))
		return;
	if (left && fit_in_one(tree, left, leaf))
		rebalance_pair(write, left, true);
	else if (right && fit_in_one(tree, leaf, right))
		rebalance_pair(write, leaf, false);
	else if (left)
		rebalance_pair(write, left, true);
	else if (right)
		rebalance_pair(write, leaf, false);
}

static bool remove_copies(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot)
{
	u64 sip = crab_strategy_sip(tree, slot, leaf->count - 1 - slot);
	u64 cow = crab_strategy_cow(tree, leaf->count - 1);

	return leaf->count > 1 &&
	       (probe_says_cow(tree, leaf, slot) || !crab_strategy_is_sip(tree, sip, cow));
}

int crab_sorted_remove(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
{
	const struct crab_tree *tree = write->tree;
	bool copies = remove_copies(tree, leaf, slot), sparse = leaf->count <= tree->slots / 2;
	struct crab_flow before = *write->flow;

	if ((copies || sparse) && !crab_write_try_structure(write))
		return -EAGAIN;
	write->sparse = sparse;
	/* An error: no leaf is free for a copy */
	if (!copies || write_cow(write, leaf, slot, NULL)) {
		crab_leaf_begin(leaf);
		crab_sorted_shift_out(write, leaf, slot);
		crab_leaf_end(leaf);
		tally_sip(write, &before);
	}
	crab_sparse_note(write->tree, leaf);
	return 0;
}

/*
 * From the last leaf to the first, so that a leaf that overlaps is ended before
 * anything behind which it stands is changed. An empty leaf is unlinked; no cut
 * leaves one, but an image may have some. Nobody else is here yet.
 */
int crab_sorted_repair(struct crab_write *write)
{
	struct crab_leaf *leaf, *prev;
	u64 word;

	for (leaf = write->tree->last; leaf; leaf = prev) {
		prev = leaf->prev;
		if (leaf->torn)
			crab_sorted_complete(write, leaf);
		if (!leaf->count && prev && !crab_smo_verify_unlink(write->tree, leaf, &word))
			crab_smo_bypass(write, leaf, word);
		if (crab_tree_breathe(write->tree))
			return -EINTR;
	}
	return 0;
}
