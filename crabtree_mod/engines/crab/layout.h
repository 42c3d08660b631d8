/* SPDX-License-Identifier: GPL-2.0 */
/**
 * DOC: layouts
 *
 * This file leads from the verbs on a leaf to those of its layout: slotted/ or sorted/.
 * Both folders have the same verbs, so each function here is one test and two calls; a property
 * that all leaves of a layout share is in this file. No other file tests which layout a tree has.
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
#include "leaf.h"
#include "slotted/smo.h"
#include "sorted/smo.h"

static inline void crab_layout_init(struct crab_tree *tree)
{
	tree->sorted = tree->base.geo.layout == CRAB_LAYOUT_SORTED;
	if (tree->sorted)
		crab_sorted_init(tree);
	else
		crab_slotted_init(tree);
}

static inline size_t crab_layout_desc_bytes(const struct crab_tree *tree)
{
	return tree->sorted ? crab_sorted_desc_bytes(tree) : crab_slotted_desc_bytes(tree);
}

static inline void crab_layout_desc_init(const struct crab_tree *tree, struct crab_leaf *leaf)
{
	if (tree->sorted)
		crab_sorted_desc_init(tree, leaf);
}

/* Lowest key of a leaf: the one of its header, or its first key */
static inline u64 crab_layout_low(const struct crab_tree *tree, u64 number,
				  const struct crab_head *head)
{
	return tree->sorted ? crab_load(tree->base.media,
					&crab_leaf_media(tree, number)->slots[0].key) : head->low;
}

/* Tests whether a leaf in the list may have this lowest key; CRAB_KEY_EMPTY: no key */
static inline bool crab_layout_is_low(const struct crab_tree *tree, u64 low)
{
	return tree->sorted || low != CRAB_KEY_EMPTY;
}

/* A power cut can leave a record in two neighbours: see crab_sorted_overlap() */
static inline bool crab_layout_may_overlap(const struct crab_tree *tree)
{
	return tree->sorted;
}

static inline bool crab_layout_has_bitmap(const struct crab_tree *tree)
{
	return tree->sorted;
}

static inline void crab_layout_read(const struct crab_tree *tree, struct crab_leaf *leaf,
				    struct crab_seen *seen, struct crab_damage *damage)
{
	if (tree->sorted)
		crab_sorted_read(tree, leaf, damage);
	else
		crab_slotted_read(tree, leaf, seen, damage);
}

static inline int crab_layout_repair(struct crab_write *write)
{
	return write->tree->sorted ? crab_sorted_repair(write) : crab_slotted_repair(write);
}

/* Read */

static __always_inline void crab_layout_prefetch_home(const struct crab_tree *tree,
						      const void *dleaf, u64 key)
{
	if (likely(!tree->sorted))
		crab_home_fetch(&tree->homes, dleaf, key);
}

static inline u32 crab_layout_next(const struct crab_tree *tree, const struct crab_leaf *leaf,
				   u32 slot)
{
	return tree->sorted ? crab_sorted_next(tree, leaf, slot) :
			      crab_slotted_next(tree, leaf, slot);
}

/* Prefetches the slot that @key is most likely in, or goes to; returns it */
static __always_inline u32 crab_layout_likely_slot(const struct crab_tree *tree,
						   const struct crab_leaf *leaf, u64 key)
{
	return tree->sorted ? 0 : crab_slotted_likely_slot(tree, leaf, key);
}

/* Reads the value of @key if that is in this slot, the result of crab_layout_likely_slot() */
static __always_inline bool crab_layout_lookup_at(const struct crab_tree *tree,
						  const struct crab_leaf *leaf, u32 slot, u64 key,
						  u64 *value)
{
	return !tree->sorted && crab_slotted_lookup_at(tree, leaf, slot, key, value);
}

/* Each slot with a live record, of a sorted leaf in order */
#define crab_leaf_for_each(tree, leaf, slot)					\
	for ((slot) = crab_layout_next(tree, leaf, 0); (slot) < (tree)->slots;	\
	     (slot) = crab_layout_next(tree, leaf, (slot) + 1))

/* Reads all records of a locked leaf, of a sorted one in order; returns their number */
static inline u32 crab_layout_collect(const struct crab_tree *tree, const struct crab_leaf *leaf,
				      struct crab_record *records)
{
	return tree->sorted ? crab_sorted_collect(tree, leaf, records) :
			      crab_slotted_collect(tree, leaf, records);
}

/* Slot of @key, or -1 */
static inline int crab_layout_find(const struct crab_tree *tree, const struct crab_leaf *leaf,
				   u64 key)
{
	return tree->sorted ? crab_sorted_find(tree, leaf, key) :
			      crab_slotted_find(tree, leaf, key);
}

static __always_inline int crab_layout_lookup(const struct crab_tree *tree,
					      const struct crab_leaf *leaf, u64 key, u64 *value)
{
	bool found = tree->sorted ? crab_sorted_lookup(tree, leaf, key, value) :
				    crab_slotted_lookup(tree, leaf, key, value);

	return likely(found) ? 0 : leaf->misplaced_key ? -EUCLEAN : -ENOENT;
}

/* -ENOBUFS: not without @room, twice crab_order_bytes() */
static inline int crab_layout_scan(struct crab_reader *reader, u64 start, u64 end,
				   struct crab_record *records, u32 cap, u16 *room)
{
	if (reader->tree->sorted)
		return crab_sorted_scan(reader->tree, reader->leaf, start, end, records, cap);
	return crab_slotted_scan(reader, start, end, records, cap, room);
}

/* Prefetches the lines that hold @count records; in a slotted leaf they are anywhere */
static inline void crab_layout_prefetch_scan(const struct crab_tree *tree,
					     const struct crab_leaf *leaf,
					     const struct crab_dleaf *dleaf, u32 count)
{
	if (tree->sorted)
		crab_sorted_prefetch(tree, leaf, count);
	else
		crab_slotted_prefetch(tree, dleaf);
}

/* Tests whether a scan prefetches the @i-th leaf, full to 3/4, before it knows its records */
static inline bool crab_layout_prefetches_blind(const struct crab_tree *tree, u32 i, u32 cap)
{
	return !tree->sorted && i * tree->slots * 3 / 4 <= cap;
}

/* Write */

static __always_inline struct crab_place crab_layout_place(const struct crab_write *write,
							   const struct crab_leaf *leaf, u64 key)
{
	const struct crab_tree *tree = write->tree;

	return tree->sorted ? crab_sorted_place(tree, leaf, key, write->removes) :
			      crab_slotted_place(tree, leaf, key);
}

static __always_inline int crab_layout_insert(struct crab_write *write, struct crab_leaf *leaf,
					      u32 slot, u64 key, u64 value)
{
	return write->tree->sorted ? crab_sorted_insert(write, leaf, slot, key, value) :
				     crab_slotted_insert(write, leaf, slot, key, value);
}

/* A slotted leaf cannot store its void: it is replaced by one with another void */
static __always_inline int crab_layout_update(struct crab_write *write, struct crab_leaf *leaf,
					      struct crab_dslot *d, u64 key, u64 value)
{
	if (unlikely(!write->tree->sorted && value == leaf->void_value))
		return crab_slotted_update_void(write, leaf, key, value);
	crab_leaf_update(write, leaf, d, value);
	return 0;
}

static __always_inline int crab_layout_remove(struct crab_write *write, struct crab_leaf *leaf,
					      u32 slot)
{
	if (write->tree->sorted)
		return crab_sorted_remove(write, leaf, slot);
	crab_slotted_remove(write, leaf, slot);
	return 0;
}

/* After a delete that left a leaf with crab_write.underfull; no leaf is locked */
static inline void crab_layout_rebalance(struct crab_write *write, u64 key)
{
	crab_sorted_rebalance(write, key);
}

/* Tests whether a leaf that loses its last record stays in the list; a hint */
static inline bool crab_layout_keeps_empty(const struct crab_tree *tree,
					   const struct crab_leaf *leaf)
{
	return !tree->sorted && crab_slotted_keeps_empty(tree, leaf);
}

/* Writes of several operations may share a fence: their records are independent */
static inline bool crab_layout_shares_fences(const struct crab_tree *tree)
{
	return !tree->sorted;
}

/* Underfull leaves are merged off the write path, and free leaves are prepared */
static inline bool crab_layout_maintains(const struct crab_tree *tree)
{
	return !tree->sorted;
}

/* Structure modifications */

static inline bool crab_layout_is_append(const struct crab_tree *tree,
					 const struct crab_leaf *leaf, u64 key, u64 *last)
{
	return tree->sorted ? crab_sorted_is_append(tree, leaf, key, last) :
			      crab_slotted_is_append(tree, leaf, key, last);
}

static inline u32 crab_layout_split(struct crab_tree *tree, const struct crab_leaf *leaf,
				    const struct crab_record *extra, u64 *low)
{
	return tree->sorted ? crab_sorted_split(tree, leaf, extra, low) :
			      crab_slotted_split(tree, leaf, extra, tree->scratch, low);
}

static inline int crab_layout_verify(struct crab_tree *tree, const struct crab_leaf *leaf,
				     u64 high, const struct crab_record *records, u32 count)
{
	return tree->sorted ? crab_sorted_verify(tree, leaf, high, records, count) :
			      crab_slotted_verify(tree, leaf, high, records, count);
}

static inline void crab_layout_fresh(struct crab_write *write, const struct crab_spare *spare,
				     struct crab_head *head, const struct crab_record *records,
				     u32 count, struct crab_leaf *leaf)
{
	if (write->tree->sorted)
		crab_sorted_fresh(write, spare, head, records, count, leaf);
	else
		crab_slotted_fresh(write, spare, head, records, count, leaf);
}

static inline void crab_layout_format(struct crab_flow *flow, struct crab_dleaf *dleaf,
				      const struct crab_geometry *geo, u64 void_value)
{
	if (geo->layout == CRAB_LAYOUT_SORTED)
		crab_sorted_format(flow, dleaf);
	else
		crab_slotted_format(flow, dleaf, geo, void_value);
}

/* A leaf of the pool was taken or is free: allocation on demand makes that durable (P12) */
static inline void crab_layout_alloc(struct crab_write *write, u64 number, bool used)
{
	if (write->tree->sorted && write->tree->tuning.on_demand)
		crab_bitmap_set(write, number, used);
}

/* Lines that crab_layout_alloc() cleans for one fresh leaf, at most */
static inline u32 crab_layout_alloc_lines(const struct crab_tree *tree)
{
	return tree->sorted && tree->tuning.on_demand ? 3 : 0;
}

/* The verifier */

static inline void crab_layout_check(struct crab_check *check, const struct crab_leaf *leaf,
				     u64 offset)
{
	if (check->tree->sorted)
		crab_sorted_check(check, leaf, offset);
	else
		crab_slotted_check(check, leaf, offset);
}

/*
 * Chooses the options of a tree that is being attached. May sleep; 0 or -ENOMEM.
 */
static inline int crab_layout_tune(struct crab_tree *tree, const struct crab_attach_how *how)
{
	if (!tree->sorted)
		return 0;
	tree->base.tuning = &tree->tuning;
	return crab_tuning_settle(how->tuning, &tree->tuning);
}

#endif /* CRABTREE_ENGINES_CRAB_LAYOUT_H */
