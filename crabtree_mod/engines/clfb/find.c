// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the descent to a leaf and all reads.
 *
 * Invariant: the records returned from one leaf belong to one state of it. The range that a descent
 * returns holds its key, even if nodes have changed: each step of a walk leads on. All keys of the
 * range lead to the same leaf, so that a walk passes none that a search finds.
 *
 * Locking: takes clfb_tree.lock: readers share it, and release it between two leaves.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "engines/select.h"
#include "leaf.h"
#include "node.h"

static __always_inline void find(const struct clfb_tree *tree, u64 key, struct clfb_place *place,
				 bool range)
{
	u32 level = tree->levels;
	u64 number = tree->root;
	union clfb_line line;

	place->low = 0;
	place->high = CRAB_KEY_EMPTY;
	for (; level && !tree->lost; level--) {
		if (number >= tree->base.geo.leaves || !test_bit(number, tree->node_live) ||
		    !crab_clfb_node_read(tree, number, &line))
			break;
		number = range ? clfb_enter(place, level, number, &line, key) :
				 clfb_step(place, level, number, &line, key);
	}
	place->leaf = number;
	place->level = level;
	place->bad = tree->lost || level || number >= tree->base.geo.leaves ||
		     !test_bit(number, tree->leaf_live) ||
		     !crab_clfb_leaf_holds(tree, number);
}

void crab_clfb_find(const struct clfb_tree *tree, u64 key, struct clfb_place *place)
{
	find(tree, key, place, true);
}

void crab_clfb_find_leaf(const struct clfb_tree *tree, u64 key, struct clfb_place *place)
{
	find(tree, key, place, false);
}

int crab_clfb_refused(struct clfb_tree *tree, u64 key)
{
	if (!tree->quarantined)
		crab_engine_damaged(&tree->base, CRAB_AREA_OFFSET,
				    "the nodes or the leaf of key %llu have changed",
				    (unsigned long long)key);
	return -EUCLEAN;
}

int crab_clfb_lookup(struct crab_engine *engine, u64 key, u64 *value)
{
	struct clfb_tree *tree = clfb_tree_of(engine);
	struct clfb_place place;
	int slot;

	down_read(&tree->lock);
	crab_clfb_find_leaf(tree, key, &place);
	slot = place.bad ? crab_clfb_refused(tree, key) :
			   crab_clfb_leaf_find(tree, place.leaf, key);
	if (slot >= 0)
		*value = crab_clfb_leaf_value(tree, place.leaf, slot);
	up_read(&tree->lock);
	return unlikely(slot == -ERANGE) ? crab_clfb_doubt(tree, key) : min(slot, 0);
}

/*
 * The record nearest to @at in the leaf that holds it; -ENOENT: go on at @at, which is then the
 * nearest key of the neighbour's, or the reserved key, also below the lowest one
 */
static int seek_leaf(struct clfb_tree *tree, u64 *at, enum crab_seek_dir dir,
		     struct crab_record *record)
{
	struct clfb_place place;
	int err;

	down_read(&tree->lock);
	crab_clfb_find(tree, *at, &place);
	if (place.bad)
		err = crab_clfb_refused(tree, *at);
	else
		err = crab_clfb_leaf_near(tree, &place, *at, dir, record);
	up_read(&tree->lock);
	if (unlikely(err == -ERANGE))
		return crab_clfb_doubt(tree, *at);
	*at = dir == CRAB_SEEK_GE ? place.high : place.low - 1;
	return err;
}

int crab_clfb_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		   struct crab_record *record)
{
	struct clfb_tree *tree = clfb_tree_of(engine);
	int err;

	for (;;) {
		err = seek_leaf(tree, &key, dir, record);
		if (err != -ENOENT || key == CRAB_KEY_EMPTY)
			return err;
		if (crab_engine_breathe(&tree->base))
			return -EINTR;
	}
}

/* Reads the records of the leaf of @at; @at advances to the next leaf */
static int read_leaf(struct clfb_tree *tree, u64 *at, struct crab_record *records)
{
	struct clfb_place place;
	int count;

	down_read(&tree->lock);
	crab_clfb_find(tree, *at, &place);
	if (place.bad)
		count = crab_clfb_refused(tree, *at);
	else
		count = crab_clfb_leaf_sorted(tree, place.leaf, records);
	up_read(&tree->lock);
	if (count > 0 && unlikely(crab_records_fault(records, count, place.low, place.high)))
		count = -ERANGE;
	if (unlikely(count == -ERANGE))
		return crab_clfb_doubt(tree, *at);
	*at = place.high;
	return count;
}

static int scan_range(struct clfb_tree *tree, struct crab_record *leaf, u64 start, u64 end,
		      struct crab_record *records, u32 cap)
{
	u64 at = start, from;
	u32 count = 0;
	int got;

	while (count < cap && at <= end && at != CRAB_KEY_EMPTY) {
		from = at;
		got = read_leaf(tree, &at, leaf);
		if (got < 0)		/* the next call begins here and returns it */
			return count ? count : got;
		/* The leaf begins below @from if the one before it was unlinked since */
		count += crab_records_take(leaf, got, from, end, records + count, cap - count);
		if (crab_engine_breathe(&tree->base))
			return count ?: -EINTR;
	}
	return count;
}

int crab_clfb_scan(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records,
		   u32 cap)
{
	struct clfb_tree *tree = clfb_tree_of(engine);
	struct crab_record *leaf = kmalloc_array(tree->room, sizeof(*leaf), GFP_NOIO);
	int got = leaf ? scan_range(tree, leaf, start, end, records, cap) : -ENOMEM;

	kfree(leaf);
	return got;
}

/* A walk that is stopped returns a key of the range, where the next scan gets -EUCLEAN again */
u64 crab_clfb_beyond(struct crab_engine *engine, u64 key, enum crab_seek_dir dir)
{
	struct clfb_tree *tree = clfb_tree_of(engine);
	struct clfb_place place;
	bool bad = false;

	do {
		down_read(&tree->lock);
		crab_clfb_find(tree, key, &place);
		up_read(&tree->lock);
		if (bad && !place.bad)
			return key;
		bad = place.bad;
		key = dir == CRAB_SEEK_GE ? place.high : place.low - 1;
	} while (key != CRAB_KEY_EMPTY && !crab_engine_breathe(&tree->base));
	return key;
}
