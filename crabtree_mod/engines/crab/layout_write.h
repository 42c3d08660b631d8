/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file leads from the verbs that write a record, and from the parts of a structure
 * modification, to those of the layout of the leaf (layout.h).
 *
 * Locking: as the verb expects it (slotted.h, sorted.h).
 */
#ifndef CRABTREE_ENGINES_CRAB_LAYOUT_WRITE_H
#define CRABTREE_ENGINES_CRAB_LAYOUT_WRITE_H

#include "leaf.h"
#include "slotted/smo.h"
#include "sorted/smo.h"

/**
 * crab_layout_place() - find the place of a key for a write
 * @write: the write
 * @leaf: the leaf
 * @key: the key
 * Context: RCU read-side section; the line of a free slot is prefetched.
 * Return: the slot of the key; else as struct crab_place.
 */
static __always_inline struct crab_place crab_layout_place(const struct crab_write *write,
							   const struct crab_leaf *leaf, u64 key)
{
	const struct crab_tree *tree = write->tree;

	return tree->sorted ? crab_sorted_place(tree, leaf, key, write->removes) :
			      crab_slotted_place(tree, leaf, key);
}

/**
 * crab_layout_insert() - insert a key (P6)
 * @write: the write
 * @leaf: the leaf
 * @slot: crab_place.slot
 * @key: the key
 * @value: the value
 *
 * A full leaf is split.
 *
 * Context: the leaf is locked.
 * Return: 0 when durable; -EAGAIN: the write needs crab_tree.smo_lock or memory; -ENOSPC; -EUCLEAN;
 * -ERANGE: crab_tree_doubt() follows.
 */
static __always_inline int crab_layout_insert(struct crab_write *write, struct crab_leaf *leaf,
					      u32 slot, u64 key, u64 value)
{
	return write->tree->sorted ? crab_sorted_insert(write, leaf, slot, key, value) :
				     crab_slotted_insert(write, leaf, slot, key, value);
}

/**
 * crab_layout_update() - replace the value of a key (P6)
 * @write: the write
 * @leaf: the leaf
 * @d: slot of the key
 * @key: the key
 * @value: the value
 *
 * A slotted leaf cannot store its void: it is replaced by one with another void.
 *
 * Context: the leaf is locked.
 * Return: as crab_layout_insert().
 */
static __always_inline int crab_layout_update(struct crab_write *write, struct crab_leaf *leaf,
					      struct crab_dslot *d, u64 key, u64 value)
{
	if (unlikely(!write->tree->sorted && value == leaf->void_value))
		return crab_slotted_update_void(write, leaf, key, value);
	crab_leaf_update(write, leaf, d, value);
	return 0;
}

/**
 * crab_layout_remove() - remove a key (P6)
 * @write: the write
 * @leaf: the leaf
 * @slot: slot of the key
 * Context: the leaf is locked.
 * Return: 0, or as crab_layout_insert().
 */
static __always_inline int crab_layout_remove(struct crab_write *write, struct crab_leaf *leaf,
					      u32 slot)
{
	if (write->tree->sorted)
		return crab_sorted_remove(write, leaf, slot);
	crab_slotted_remove(write, leaf, slot);
	return 0;
}

/**
 * crab_layout_rebalance() - merge the leaf of a key, after a delete set crab_write.underfull
 * @write: the write
 * @key: the key
 * Context: no leaf is locked.
 */
static inline void crab_layout_rebalance(struct crab_write *write, u64 key)
{
	crab_sorted_rebalance(write, key);
}

/**
 * crab_layout_keeps_empty() - test whether a leaf that loses its last record stays in the list
 * @tree: the tree
 * @leaf: the leaf
 * Context: the leaf is locked. Its neighbour is not: a hint.
 * Return: true if so.
 */
static inline bool crab_layout_keeps_empty(const struct crab_tree *tree,
					   const struct crab_leaf *leaf)
{
	return !tree->sorted && crab_slotted_keeps_empty(tree, leaf);
}

/**
 * crab_layout_shares_fences() - test whether writes of several operations may share a fence
 * @tree: the tree
 * Context: any.
 * Return: true if their records are independent.
 */
static inline bool crab_layout_shares_fences(const struct crab_tree *tree)
{
	return !tree->sorted;
}

/**
 * crab_layout_maintains() - test whether maintain merges underfull leaves and prepares free ones
 * @tree: the tree
 * Context: any.
 * Return: true if so.
 */
static inline bool crab_layout_maintains(const struct crab_tree *tree)
{
	return !tree->sorted;
}

/* Structure modifications */

/**
 * crab_layout_is_append() - test whether a key is above all keys of a full leaf
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 * @last: out: the highest key of the leaf, if so
 * Context: the leaf is locked.
 * Return: true if so.
 */
static inline bool crab_layout_is_append(const struct crab_tree *tree,
					 const struct crab_leaf *leaf, u64 key, u64 *last)
{
	return tree->sorted ? crab_sorted_is_append(tree, leaf, key, last) :
			      crab_slotted_is_append(tree, leaf, key, last);
}

/**
 * crab_layout_split() - partition the records of a full leaf and one more into crab_tree.scratch
 * @tree: the tree
 * @leaf: the leaf
 * @extra: one more record, whose key the leaf does not have
 * @low: out: the lowest key of the second part, or CRAB_KEY_EMPTY if a key is outside the range
 * Context: under crab_tree.smo_lock; the leaf is locked.
 * Return: the number of records in the first part.
 */
static inline u32 crab_layout_split(struct crab_tree *tree, const struct crab_leaf *leaf,
				    const struct crab_record *extra, u64 *low)
{
	return tree->sorted ? crab_sorted_split(tree, leaf, extra, low) :
			      crab_slotted_split(tree, leaf, extra, tree->scratch, low);
}

/**
 * crab_layout_verify() - verify the keys of records that were collected
 * @tree: the tree
 * @leaf: first leaf of the records
 * @high: end of the range of the last leaf
 * @records: the records
 * @count: number of records
 * Context: under crab_tree.smo_lock; the leaves are locked.
 * Return: 0, or -EUCLEAN with damage noted.
 */
static inline int crab_layout_verify(struct crab_tree *tree, const struct crab_leaf *leaf,
				     u64 high, const struct crab_record *records, u32 count)
{
	return tree->sorted ? crab_sorted_verify(tree, leaf, high, records, count) :
			      crab_slotted_verify(tree, leaf, high, records, count);
}

/**
 * crab_layout_alloc() - record that a leaf of the pool is in use, or is free (P12)
 * @write: the write
 * @number: number of the leaf
 * @used: in use
 *
 * Only allocation on demand has this record.
 *
 * Context: under crab_tree.smo_lock.
 */
static inline void crab_layout_alloc(struct crab_write *write, u64 number, bool used)
{
	if (write->tree->sorted && write->tree->tuning.on_demand)
		crab_bitmap_set(write, number, used);
}

/**
 * crab_layout_alloc_lines() - lines that crab_layout_alloc() cleans for one fresh leaf
 * @tree: the tree
 * Context: any.
 * Return: their highest number.
 */
static inline u32 crab_layout_alloc_lines(const struct crab_tree *tree)
{
	return tree->sorted && tree->tuning.on_demand ? 3 : 0;
}

#endif /* CRABTREE_ENGINES_CRAB_LAYOUT_WRITE_H */
