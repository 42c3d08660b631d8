// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements writes of one record to a leaf of the layout `sorted`: it chooses between
 * shifting and copying, and splits a full leaf.
 */

/**
 * DOC: changes of sorted leaves in place
 *
 *   split         fresh leaf durable (P7) -> link durable (P8) -> old leaf ended (P10).
 *                 The published order, end first, loses half a leaf to a cut in
 *                 between. Until P10 both leaves have the moved records; those of the
 *                 left leaf are void, for they are not below the right one's first key.
 *   merge         into the left sibling (section 4.4): records after its end (P11),
 *                 revealed by the first key (P6), then the right leaf is bypassed
 *                 (P8). Until P8 the appended ones are the void ones.
 *   redistribute  one record at a time: written to its new leaf (P6), then taken from
 *                 the old one (P10 or P6). Between the two, the left one is void.
 *
 * Each of them can be done by copying too (smo.c), if that is priced lower.
 *
 * Invariant: none beyond those of shift.c and smo.c.
 *
 * Locking: the leaf is locked; all but shifting needs crab_tree.smo_lock too.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/prefetch.h>

#include "engines/crab/access.h"
#include "engines/crab/run.h"
#include "engines/crab/smo.h"
#include "engines/crab/verify.h"
#include "smo.h"

/*
 * Add the cost of a write to the counts of its strategy (Wang et al. 2020, figure 10). @writes: the
 * counter of writes; those of their lines and fences follow it.
 */
static void tally(const struct crab_write *write, const struct crab_flow *before,
		  enum crab_sorted_counter writes)
{
	struct crab_engine *engine = &write->tree->base;
	u64 *own = &get_cpu_ptr(engine->counts)->own[writes];

	WRITE_ONCE(own[0], own[0] + 1);
	WRITE_ONCE(own[1], own[1] + write->flow->lines - before->lines);
	WRITE_ONCE(own[2], own[2] + write->flow->fences - before->fences);
	put_cpu_ptr(engine->counts);
}

static int write_sip(struct crab_write *write, struct crab_leaf *leaf, u32 pos, u64 key, u64 value)
{
	struct crab_flow before = *write->flow;
	int err = crab_sorted_verify_insert(write, leaf, pos, key);

	if (err)
		return err;
	crab_leaf_begin(leaf);
	crab_sorted_shift_in(write, leaf, pos, key, value);
	crab_leaf_end(leaf);
	tally(write, &before, CRAB_SORTED_SIPS);
	return 0;
}

/* Copy on write, with @extra in front of @slot, or without @slot */
static int write_cow(struct crab_write *write, struct crab_leaf *leaf, u32 slot,
		     const struct crab_record *extra)
{
	struct crab_flow before = *write->flow;
	int err;

	crab_smo_fetch(write->tree, leaf, 1, leaf->count + 1);
	err = crab_sorted_copy_leaf(write, leaf, slot, extra);
	if (!err)
		tally(write, &before, CRAB_SORTED_COWS);
	return err;
}

/*
 * Approximate probe (Wang et al. 2020, section 5.2): the lower half decides that copying will
 * do. The published one also saves the search; here the copy needs the lines anyway.
 */
static bool probe_says_cow(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot)
{
	return tree->tuning.probe && tree->tuning.strategy == CRAB_STRATEGY_AUTO &&
	       leaf->count > 1 && leaf->count < tree->slots && slot <= leaf->count / 2;
}

/* There is room for the record, and @pos is its place */
static int add_at(struct crab_write *write, struct crab_leaf *leaf, u32 pos, u64 key, u64 value)
{
	const struct crab_record extra = { .key = key, .value = value };
	const struct crab_tree *tree = write->tree;
	u64 sip = crab_strategy_sip(tree, pos, leaf->count - pos);
	u64 cow = crab_strategy_cow(tree, leaf->count + 1);

	if (!probe_says_cow(tree, leaf, pos) && crab_strategy_is_sip(tree, sip, cow))
		return write_sip(write, leaf, pos, key, value);
	if (!crab_write_try_structure(write))
		return -EAGAIN;
	return write_cow(write, leaf, pos, &extra);
}

/* Splits off the upper half, which the record joins if it is in it (section 4.2, Split) */
static int split_in_place(struct crab_write *write, struct crab_leaf *leaf, u32 pos, u64 key,
			  u64 value)
{
	const struct crab_record extra = { .key = key, .value = value };
	u32 keep = write->tree->slots / 2;
	bool rides = pos > keep;
	int err = crab_sorted_split_right(write, leaf, keep, rides ? &extra : NULL);

	return err || rides ? err : write_sip(write, leaf, pos, key, value);
}

/* A key that goes after all others, or continues a run: nothing moves, or only a little */
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

int crab_sorted_insert(struct crab_write *write, struct crab_leaf *leaf, u32 slot, u64 key,
		       u64 value) __must_hold(&leaf->lock)
{
	const struct crab_tree *tree = write->tree;
	int err;

	prefetch(READ_ONCE(leaf->prev));	/* a copy needs its link */
	if (leaf->count == tree->slots)
		err = split(write, leaf, slot, key, value);
	else
		err = add_at(write, leaf, slot, key, value);
	if (!err)
		crab_count_settled(&tree->base, inserts, write->flow, 0);
	return err;
}

static bool remove_copies(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot)
{
	u64 sip = crab_strategy_sip(tree, slot, leaf->count - 1 - slot);
	u64 cow = crab_strategy_cow(tree, leaf->count - 1);

	return leaf->count > 1 &&
	       (probe_says_cow(tree, leaf, slot) || !crab_strategy_is_sip(tree, sip, cow));
}

static int remove_sip(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
{
	struct crab_flow before = *write->flow;
	int err = crab_sorted_verify_shift(write, leaf, slot);

	if (err)
		return err;
	crab_leaf_begin(leaf);
	crab_sorted_shift_out(write, leaf, slot);
	crab_leaf_end(leaf);
	tally(write, &before, CRAB_SORTED_SIPS);
	return 0;
}

int crab_sorted_remove(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
	__must_hold(&leaf->lock)
{
	const struct crab_tree *tree = write->tree;
	bool copies = remove_copies(tree, leaf, slot), underfull = leaf->count <= tree->slots / 2;
	int err = -ENOSPC;

	if ((copies || underfull) && !crab_write_try_structure(write))
		return -EAGAIN;
	if (copies)
		err = write_cow(write, leaf, slot, NULL);
	if (err == -ENOSPC)	/* no copy, or no leaf is free for one */
		err = remove_sip(write, leaf, slot);
	if (err)
		return err;
	write->underfull = underfull;
	crab_underfull_note(write->tree, leaf);
	if (underfull)		/* not settled: a rebalance is due */
		crab_count(&tree->base, deletes, 1);
	else
		crab_count_settled(&tree->base, deletes, write->flow, 0);
	return 0;
}
