// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the rebalance of sorted leaves after a delete (Wang et al. 2020, section
 * 4.4): a leaf that is less than half full is merged with a sibling, or receives one of its
 * records.
 *
 * Invariant: the delete is durable before the rebalance begins. A rebalance that gets no memory or
 * no free leaf changes nothing; the next delete tries again.
 *
 * Locking: crab_tree.smo_lock, then both leaves.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>

#include "engines/crab/access.h"
#include "engines/crab/smo.h"
#include "engines/crab/verify.h"
#include "smo.h"

/* Merges @right into @left, which has room for all its records */
static int merge(struct crab_write *write, struct crab_leaf *left, struct crab_leaf *right)
{
	struct crab_tree *tree = write->tree;
	u32 end = left->count + right->count - 1;
	u64 sip = crab_strategy_sip(tree, left->count, 0) * 2 +
		  (u64)crab_strategy_lines(left->count, end) * tree->tuning.costs.line;
	u64 cow = crab_strategy_cow(tree, end + 1), word;
	u32 count;
	int err;

	if (!crab_strategy_is_sip(tree, sip, cow))
		return crab_smo_balance(write, left, 1);
	count = crab_sorted_collect(tree, right, tree->scratch);
	err = crab_smo_verify_unlink(tree, right, &word) ?:
	      crab_sorted_verify_shift(write, left, left->count) ?:
	      crab_smo_verify_records(tree, right, right->high, tree->scratch, count,
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

/* The lowest key of a leaf changed */
static void rename_leaf(struct crab_tree *tree, struct crab_leaf *leaf, u64 low)
{
	crab_index_remove(&tree->index, leaf->low);
	WRITE_ONCE(leaf->prev->high, low);
	WRITE_ONCE(leaf->low, low);
	crab_index_insert(&tree->index, low, crab_leaf_child(tree, leaf));
}

/* The last record of @left becomes the first record of the next leaf */
static void move_right(struct crab_write *write, struct crab_leaf *left,
		       const struct crab_record *record)
{
	struct crab_leaf *right = left->next;

	crab_sorted_shift_in(write, right, 0, record->key, record->value);
	crab_sorted_end(write, left, left->count - 1);
	WRITE_ONCE(left->count, left->count - 1);
	rename_leaf(write->tree, right, record->key);
}

/* The first record of the next leaf becomes the last of @left; @low is the key of the second */
static void move_left(struct crab_write *write, struct crab_leaf *left,
		      const struct crab_record *record, u64 low)
{
	struct crab_leaf *right = left->next;

	crab_sorted_append(write, left, record, 1);
	crab_sorted_shift_out(write, right, 0);
	rename_leaf(write->tree, right, low);
}

/* Moves one record from the fuller to the emptier of two leaves, then updates the lowest key */
static int move_record(struct crab_write *write, struct crab_leaf *left, bool to_right)
{
	struct crab_leaf *right = left->next, *rich = to_right ? left : right;
	struct crab_tree *tree = write->tree;
	const struct crab_dslot *d = crab_leaf_slot(tree, rich, to_right ? left->count - 1 : 0);
	struct crab_record record = crab_slot_settled(tree->base.media, d);
	u64 low = to_right ? record.key : crab_load_settled(tree->base.media, &d[1].key);
	int err = crab_smo_verify_low(tree, rich, rich->high, low) ?:
		  crab_sorted_verify(tree, rich, to_right ? rich->high : low, &record, 1) ?:
		  crab_sorted_verify_shift(write, left, left->count - 1) ?:
		  crab_sorted_verify_shift(write, right, 0);

	if (err)
		return err;
	crab_leaf_begin(left);
	crab_leaf_begin(right);
	if (to_right)
		move_right(write, left, &record);
	else
		move_left(write, left, &record, low);
	crab_leaf_end(right);
	crab_leaf_end(left);
	return 0;
}

/* Moves records from the fuller to the emptier of two neighbours, section 4.4 */
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
	err = move_record(write, left, to_right);
	crab_underfull_touch(tree, rich);
	return err;
}

/* Two neighbours, the emptier of them less than half full */
static void rebalance_pair(struct crab_write *write, struct crab_leaf *left, bool to_right)
{
	struct crab_leaf *right = left->next, *poor = to_right ? right : left;
	const struct crab_tree *tree = write->tree;

	crab_leaf_lock_pair(write, left, right);
	if (left->count + right->count <= tree->slots)
		merge(write, left, right);
	else if (poor->count < tree->slots / 2)		/* a writer may have filled it */
		redistribute(write, left, to_right);
	crab_leaf_unlock_pair(left, right);
}

static bool fit_in_one(const struct crab_tree *tree, const struct crab_leaf *left,
		       const struct crab_leaf *right)
{
	return READ_ONCE(left->count) + READ_ONCE(right->count) <= tree->slots;
}

/*
 * Merges the leaf with a sibling, with the left one if possible, or moves a record to it from
 * the fuller sibling. The delete is durable already, so a failed rebalance (-ENOMEM, -ENOSPC)
 * is left to the next delete.
 */
void crab_sorted_rebalance(struct crab_write *write, u64 key)
{
	struct crab_tree *tree = write->tree;
	struct crab_leaf *leaf = crab_leaf_find(tree, key), *left, *right;

	lockdep_assert_held(&tree->smo_lock);
	left = leaf->prev;
	right = leaf->next;
	if (crab_smo_verify_memory(tree) || crab_smo_reserve(tree))
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
