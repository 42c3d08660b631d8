/* SPDX-License-Identifier: GPL-2.0 */
/**
 * DOC: layouts
 *
 * This file leads from the verbs on a leaf to those of its layout: slotted/ or sorted/.
 * Both folders have the same verbs, so each function is one test and two calls; a property that all
 * leaves of a layout share is here, too. Whole leaves and attach are in this file, the other verbs
 * in layout_read.h and layout_write.h. No other file tests which layout a tree has.
 *
 *   find, place, lookup, scan, collect   read
 *   insert, update, remove               write one record; the leaf stays
 *   split, is_append, verify             parts of a structure modification
 *   fresh, format                        write a whole leaf
 *   read, repair, check                  attach, and the verifier
 *
 * Locking: as the verb expects it (slotted.h, sorted.h).
 */
#ifndef CRABTREE_ENGINES_CRAB_LAYOUT_H
#define CRABTREE_ENGINES_CRAB_LAYOUT_H

#include "check.h"
#include "layout_read.h"
#include "layout_write.h"
#include "media/again.h"

/**
 * crab_layout_init() - choose the layout of a tree that is being attached
 * @tree: the tree; its geometry is known
 * Context: any.
 */
static inline void crab_layout_init(struct crab_tree *tree)
{
	tree->sorted = tree->base.geo.layout == CRAB_LAYOUT_SORTED;
	if (tree->sorted)
		crab_sorted_init(tree);
	else
		crab_slotted_init(tree);
}

/**
 * crab_layout_desc_bytes() - size of a descriptor
 * @tree: the tree
 * Context: any.
 * Return: bytes.
 */
static inline size_t crab_layout_desc_bytes(const struct crab_tree *tree)
{
	return tree->sorted ? crab_sorted_desc_bytes(tree) : crab_slotted_desc_bytes(tree);
}

/**
 * crab_layout_order_bytes() - size of the order that scans cache for a leaf
 * @tree: the tree
 *
 * Context: any.
 * Return: bytes; 0: none.
 */
static inline size_t crab_layout_order_bytes(const struct crab_tree *tree)
{
	return tree->sorted ? 0 : crab_order_bytes(tree);
}

/**
 * crab_layout_desc_init() - initialise the part of a descriptor that the layout owns
 * @tree: the tree
 * @leaf: the descriptor; zero
 * Context: any.
 */
static inline void crab_layout_desc_init(const struct crab_tree *tree, struct crab_leaf *leaf)
{
	if (tree->sorted)
		crab_sorted_desc_init(tree, leaf);
}

/**
 * crab_layout_tune() - choose the options of a tree that is being attached
 * @tree: the tree
 * @how: conditions of the attach
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
static inline int crab_layout_tune(struct crab_tree *tree, const struct crab_attach_how *how)
{
	if (!tree->sorted)
		return 0;
	tree->base.tuning = &tree->tuning;
	return crab_tuning_settle(how->tuning, &tree->tuning);
}

/**
 * crab_layout_low() - lowest key of a leaf: the one of its header, or its first key
 * @tree: the tree
 * @number: number of the leaf
 * @head: its header
 * Context: attach; the memory of the leaf can be read.
 * Return: the key; any value.
 */
static inline u64 crab_layout_low(const struct crab_tree *tree, u64 number,
				  const struct crab_head *head)
{
	return tree->sorted ? crab_load_settled(tree->base.media,
						&crab_leaf_media(tree, number)->slots[0].key) :
			      head->low;
}

/**
 * crab_layout_is_low() - test whether a leaf in the list may have this lowest key
 * @tree: the tree
 * @low: the key; CRAB_KEY_EMPTY: the leaf has no key
 * Context: any.
 * Return: true if so.
 */
static inline bool crab_layout_is_low(const struct crab_tree *tree, u64 low)
{
	return tree->sorted || low != CRAB_KEY_EMPTY;
}

/**
 * crab_layout_may_overlap() - test whether a power cut can leave a record in two neighbours
 * @tree: the tree
 *
 * See crab_sorted_overlap().
 *
 * Context: any.
 * Return: true if so.
 */
static inline bool crab_layout_may_overlap(const struct crab_tree *tree)
{
	return tree->sorted;
}

/**
 * crab_layout_has_bitmap() - test whether the media has the bitmap of allocation on demand
 * @tree: the tree
 * Context: any.
 * Return: true if so.
 */
static inline bool crab_layout_has_bitmap(const struct crab_tree *tree)
{
	return tree->sorted;
}

/**
 * crab_layout_read() - read and verify the records of a leaf
 * @tree: the tree; not changed, several leaves may be read at a time
 * @leaf: the leaf; its range is known
 * @seen: hashes; each caller has its own
 * @damage: where to note damage
 * Context: attach.
 */
static inline void crab_layout_read(const struct crab_tree *tree, struct crab_leaf *leaf,
				    struct crab_seen *seen, struct crab_damage *damage)
{
	if (tree->sorted)
		crab_sorted_read(tree, leaf, damage);
	else
		crab_slotted_read(tree, leaf, seen, damage);
}

/**
 * crab_layout_repair() - repair the traces of a power cut in all leaves
 * @write: the write; durable with P3
 * Context: attach; may sleep.
 * Return: 0 or -EINTR.
 */
static inline int crab_layout_repair(struct crab_write *write)
{
	return write->tree->sorted ? crab_sorted_repair(write) : crab_slotted_repair(write);
}

/* Whole leaves */

/**
 * crab_layout_fresh() - crab_leaf_fresh() of the layout
 * @write: the write
 * @spare: the leaf of the pool
 * @head: header
 * @records: the records
 * @count: number of records
 * @leaf: out: descriptor
 * Context: as crab_leaf_fresh().
 */
static inline void crab_layout_fresh(struct crab_write *write, const struct crab_spare *spare,
				     struct crab_head *head, const struct crab_record *records,
				     u32 count, struct crab_leaf *leaf)
{
	if (write->tree->sorted)
		crab_sorted_fresh(write, spare, head, records, count, leaf);
	else
		crab_slotted_fresh(write, spare, head, records, count, leaf);
}

/**
 * crab_layout_format() - FORMAT: the slots of the first leaf
 * @flow: the flow; the caller cleans the leaf
 * @dleaf: the leaf
 * @geo: the geometry
 * @void_value: value of free slots
 * Context: FORMAT.
 */
static inline void crab_layout_format(struct crab_flow *flow, struct crab_dleaf *dleaf,
				      const struct crab_geometry *geo, u64 void_value)
{
	if (geo->layout == CRAB_LAYOUT_SORTED)
		crab_sorted_format(flow, dleaf);
	else
		crab_slotted_format(flow, dleaf, geo, void_value);
}

/**
 * crab_layout_check() - verify the header and the slots of a leaf
 * @check: the check
 * @leaf: the leaf
 * @offset: its place on the media
 * Context: the leaf is locked.
 */
static inline void crab_layout_check(struct crab_check *check, const struct crab_leaf *leaf,
				     u64 offset)
{
	if (check->tree->sorted)
		crab_sorted_check(check, leaf, offset);
	else
		crab_slotted_check(check, leaf, offset);
}

#endif /* CRABTREE_ENGINES_CRAB_LAYOUT_H */
