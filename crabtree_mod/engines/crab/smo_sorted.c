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
 * Locking: the store's, exclusive.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>

#include "crab.h"

/* What a write cost, counted on the strategy that did it (seed 000, Figure 10) */
static void tally(const struct crab_tree *tree, struct crab_tally *to, u64 lines, u64 fences)
{
	to->count++;
	to->lines += tree->base.flow.lines - lines;
	to->fences += tree->base.flow.fences - fences;
}

static int write_sip(struct crab_tree *tree, struct crab_leaf *leaf, u32 pos, u64 key, u64 value)
{
	u64 lines = tree->base.flow.lines, fences = tree->base.flow.fences;

	crab_sorted_shift_in(tree, leaf, pos, key, value);
	tree->records++;
	tally(tree, &tree->sip, lines, fences);
	return 0;
}

/* Copy on write, with @rider in front of @slot, or without @slot */
static int write_cow(struct crab_tree *tree, struct crab_leaf *leaf, u32 slot,
		     const struct crab_record *rider)
{
	u64 lines = tree->base.flow.lines, fences = tree->base.flow.fences;
	int err;

	crab_smo_fetch(tree, leaf, 1, leaf->count + 1);
	err = crab_smo_copy(tree, leaf, slot, rider);
	if (!err)
		tally(tree, &tree->cow, lines, fences);
	return err;
}

static u32 gather(struct crab_tree *tree, const struct crab_leaf *leaf)
{
	return crab_leaf_gather(tree, leaf, 0, CRAB_KEY_EMPTY, tree->scratch);
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
static int add_at(struct crab_tree *tree, struct crab_leaf *leaf, u32 pos, u64 key, u64 value)
{
	const struct crab_record rider = { .key = key, .value = value };
	u64 sip = crab_strategy_sip(tree, pos, leaf->count - pos);
	u64 cow = crab_strategy_cow(tree, leaf->count + 1);

	if (probe_says_cow(tree, leaf, pos) || !crab_strategy_is_sip(tree, sip, cow))
		return write_cow(tree, leaf, pos, &rider);
	return write_sip(tree, leaf, pos, key, value);
}

/* Splits off the upper half, which the record joins if it is in it (section 4.2, Split) */
static int split_in_place(struct crab_tree *tree, struct crab_leaf *leaf, u32 pos, u64 key,
			  u64 value)
{
	const struct crab_record rider = { .key = key, .value = value };
	u32 keep = tree->slots / 2;
	bool rides = pos > keep;
	int err = crab_smo_split_right(tree, leaf, keep, rides ? &rider : NULL);

	if (err)
		return err;
	crab_sorted_end(tree, leaf, keep);
	leaf->count = keep;
	tree->records += rides;
	return rides ? 0 : write_sip(tree, leaf, pos, key, value);
}

static int split(struct crab_tree *tree, struct crab_leaf *leaf, u32 pos, u64 key, u64 value)
{
	u32 keep = tree->slots / 2;
	u64 sip, cow;

	sip = pos > keep ? 0 : crab_strategy_sip(tree, pos, keep - pos);
	cow = crab_strategy_cow(tree, keep + 1);
	if (crab_strategy_is_sip(tree, sip, cow) && !(leaf == tree->last && pos == tree->slots))
		return split_in_place(tree, leaf, pos, key, value);
	return crab_smo_add(tree, leaf, key, value);
}

static int replace_at(struct crab_tree *tree, struct crab_leaf *leaf, u32 slot, u64 value,
		      enum crab_insert_mode mode, struct crab_old *old)
{
	old->existed = true;
	old->value = crab_leaf_record(tree, leaf, slot).value;
	if (mode == CRAB_INSERT_CREATE)
		return -EEXIST;
	crab_leaf_update(tree, leaf, slot, value);
	return 0;
}

static bool is_at(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 pos, u64 key)
{
	return pos && crab_leaf_key(tree, leaf, pos - 1) == key;
}

int crab_sorted_insert(struct crab_tree *tree, struct crab_leaf *leaf, u64 key, u64 value,
		       enum crab_insert_mode mode, struct crab_old *old)
{
	u32 pos;

	prefetch(leaf->prev);	/* a copy needs its link */
	pos = crab_sorted_place(tree, leaf, key);
	old->existed = false;
	if (is_at(tree, leaf, pos, key))
		return replace_at(tree, leaf, pos - 1, value, mode, old);
	if (mode == CRAB_INSERT_REPLACE)
		return -ENOENT;
	if (leaf->count == tree->slots)
		return split(tree, leaf, pos, key, value);
	return add_at(tree, leaf, pos, key, value);
}

/* @right into the leaf before it: the left sibling takes what it can hold */
static int merge(struct crab_tree *tree, struct crab_leaf *left, struct crab_leaf *right)
{
	u32 end = left->count + right->count - 1;
	u64 sip = crab_strategy_sip(tree, left->count, 0) * 2 +
		  (u64)crab_strategy_lines(left->count, end) * tree->base.tuning.costs.line;
	u64 cow = crab_strategy_cow(tree, end + 1);

	if (!crab_strategy_is_sip(tree, sip, cow))
		return crab_smo_balance(tree, left, 1);
	crab_sorted_append(tree, left, tree->scratch, gather(tree, right));
	crab_smo_bypass(tree, right);
	return 0;
}

/* The last record of @left becomes the first of the leaf behind it */
static void pass_right(struct crab_tree *tree, struct crab_leaf *left)
{
	struct crab_record record = crab_leaf_record(tree, left, left->count - 1);
	struct crab_leaf *right = left->next;

	crab_sorted_shift_in(tree, right, 0, record.key, record.value);
	crab_sorted_end(tree, left, left->count - 1);
	left->count--;
	crab_index_remove(&tree->index, right->low);
	right->low = record.key;
	crab_index_insert(&tree->index, right->low, right);
}

/* The first record of the leaf behind @left becomes its last */
static void pass_left(struct crab_tree *tree, struct crab_leaf *left)
{
	struct crab_leaf *right = left->next;
	struct crab_record record = crab_leaf_record(tree, right, 0);

	crab_sorted_append(tree, left, &record, 1);
	crab_sorted_shift_out(tree, right, 0);
	crab_index_remove(&tree->index, right->low);
	right->low = crab_leaf_key(tree, right, 0);
	crab_index_insert(&tree->index, right->low, right);
}

/* From the fuller to the poorer of two neighbours, section 4.4 */
static int redistribute(struct crab_tree *tree, struct crab_leaf *left, bool to_right)
{
	struct crab_leaf *poor = to_right ? left->next : left;
	struct crab_leaf *rich = to_right ? left : left->next;
	u32 moved = to_right ? poor->count : rich->count;
	u64 sip = crab_strategy_sip(tree, 0, moved) + crab_strategy_sip(tree, 0, 0);
	u64 cow = crab_strategy_cow(tree, rich->count) + crab_strategy_cow(tree, poor->count);

	if (!crab_strategy_is_sip(tree, sip, cow))
		return crab_smo_balance(tree, left, 2);
	if (crab_index_reserve(&tree->index))
		return -ENOMEM;
	if (to_right)
		pass_right(tree, left);
	else
		pass_left(tree, left);
	return 0;
}

/*
 * A leaf that is less than half full: merged with a sibling, the left one if
 * possible, or given a record of the one that has more. The delete is durable
 * already, so what cannot be done now (-ENOMEM, -ENOSPC) is left for the next one.
 */
static void rebalance(struct crab_tree *tree, struct crab_leaf *leaf)
{
	struct crab_leaf *left = leaf->prev, *right = leaf->next;

	if (left && left->count + leaf->count <= tree->slots)
		merge(tree, left, leaf);
	else if (right && leaf->count + right->count <= tree->slots)
		merge(tree, leaf, right);
	else if (left)
		redistribute(tree, left, true);
	else if (right)
		redistribute(tree, leaf, false);
}

static bool remove_copies(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot)
{
	u64 sip = crab_strategy_sip(tree, slot, leaf->count - 1 - slot);
	u64 cow = crab_strategy_cow(tree, leaf->count - 1);

	return leaf->count > 1 &&
	       (probe_says_cow(tree, leaf, slot) || !crab_strategy_is_sip(tree, sip, cow));
}

static void remove_at(struct crab_tree *tree, struct crab_leaf *leaf, u32 slot)
{
	u64 lines = tree->base.flow.lines, fences = tree->base.flow.fences;

	if (remove_copies(tree, leaf, slot) && !write_cow(tree, leaf, slot, NULL))
		return;		/* an error: no leaf is free for a copy */
	crab_sorted_shift_out(tree, leaf, slot);
	tree->records--;
	tally(tree, &tree->sip, lines, fences);
}

int crab_sorted_remove(struct crab_tree *tree, struct crab_leaf *leaf, u64 key,
		       struct crab_old *old)
{
	u32 pos;

	prefetch(leaf->prev);
	pos = crab_sorted_place(tree, leaf, key);
	old->existed = is_at(tree, leaf, pos, key);
	if (!old->existed)
		return -ENOENT;
	old->value = crab_leaf_record(tree, leaf, pos - 1).value;
	if (leaf->count == 1 && leaf->prev) {
		crab_smo_unlink(tree, leaf);
		return 0;
	}
	remove_at(tree, leaf, pos - 1);
	tree->removed++;
	leaf = crab_index_find(&tree->index, key);	/* a copy took its place */
	if (leaf->count < tree->slots / 2)
		rebalance(tree, leaf);
	return 0;
}

/*
 * From the last leaf to the first, so that a leaf that overlaps is ended before
 * anything behind which it stands is changed. A leaf that a cut left empty goes.
 */
void crab_sorted_repair(struct crab_tree *tree)
{
	struct crab_leaf *leaf, *prev;

	for (leaf = tree->last; leaf; leaf = prev) {
		prev = leaf->prev;
		if (leaf->torn)
			crab_sorted_complete(tree, leaf);
		if (!leaf->count && prev)
			crab_smo_bypass(tree, leaf);
	}
}
