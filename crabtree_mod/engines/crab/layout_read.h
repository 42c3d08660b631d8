/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file leads from the verbs that read a leaf to those of its layout (layout.h).
 *
 * Locking: as the verb expects it (slotted.h, sorted.h).
 */
#ifndef CRABTREE_ENGINES_CRAB_LAYOUT_READ_H
#define CRABTREE_ENGINES_CRAB_LAYOUT_READ_H

#include "slotted/prefetch.h"
#include "slotted/slotted.h"
#include "sorted/sorted.h"

/**
 * crab_layout_prefetch_home() - prefetch the line where a key most likely is
 * @tree: the tree
 * @dleaf: the leaf on the media
 * @key: the key
 * Context: any.
 */
static __always_inline void crab_layout_prefetch_home(const struct crab_tree *tree,
						      const void *dleaf, u64 key)
{
	if (likely(!tree->sorted))
		crab_home_fetch(&tree->homes, dleaf, key);
}

/**
 * crab_layout_prefetch_find() - prefetch the lines of the descriptor that a search for a key reads
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 * @absent: the leaf most likely does not have the key, so that all slots are searched
 * Context: any.
 */
static inline void crab_layout_prefetch_find(const struct crab_tree *tree,
					     const struct crab_leaf *leaf, u64 key, bool absent)
{
	if (likely(!tree->sorted))
		crab_slotted_prefetch_find(tree, leaf, key, absent);
	else
		crab_prefetch_range(leaf, 2 * CRAB_LINE);
}

/**
 * crab_layout_next() - find the next slot with a record
 * @tree: the tree
 * @leaf: the leaf
 * @slot: first slot to look at
 * Context: any.
 * Return: the slot, or crab_tree.slots.
 */
static inline u32 crab_layout_next(const struct crab_tree *tree, const struct crab_leaf *leaf,
				   u32 slot)
{
	return tree->sorted ? crab_sorted_next(tree, leaf, slot) :
			      crab_slotted_next(tree, leaf, slot);
}

/* Each slot with a live record, of a sorted leaf in order */
#define crab_leaf_for_each(tree, leaf, slot)					\
	for ((slot) = crab_layout_next(tree, leaf, 0); (slot) < (tree)->slots;	\
	     (slot) = crab_layout_next(tree, leaf, (slot) + 1))

/**
 * crab_layout_likely_slot() - guess the slot of a key, and prefetch it
 * @tree: the tree
 * @leaf: the leaf
 * @key: a key that a lookup or a write will need
 * Context: RCU read-side section.
 * Return: the slot that the key is in or goes to, most likely.
 */
static __always_inline u32 crab_layout_likely_slot(const struct crab_tree *tree,
						   const struct crab_leaf *leaf, u64 key)
{
	return tree->sorted ? 0 : crab_slotted_likely_slot(tree, leaf, key);
}

/**
 * crab_layout_lookup_at() - read the value of a key if it is in one slot
 * @tree: the tree
 * @leaf: the leaf
 * @slot: result of crab_layout_likely_slot()
 * @key: the key
 * @value: out: the value
 * Context: any.
 * Return: false if the key is not in this slot.
 */
static __always_inline bool crab_layout_lookup_at(const struct crab_tree *tree,
						  const struct crab_leaf *leaf, u32 slot, u64 key,
						  u64 *value)
{
	return !tree->sorted && crab_slotted_lookup_at(tree, leaf, slot, key, value);
}

/**
 * crab_layout_collect() - read all records of a leaf, of a sorted one in order
 * @tree: the tree
 * @leaf: the leaf
 * @records: out: the records
 * Context: the leaf is locked.
 * Return: the number of records.
 */
static inline u32 crab_layout_collect(const struct crab_tree *tree, const struct crab_leaf *leaf,
				      struct crab_record *records)
{
	return tree->sorted ? crab_sorted_collect(tree, leaf, records) :
			      crab_slotted_collect(tree, leaf, records);
}

/**
 * crab_layout_find() - find the slot of a key
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 * Context: any.
 * Return: the slot, or -1.
 */
static inline int crab_layout_find(const struct crab_tree *tree, const struct crab_leaf *leaf,
				   u64 key)
{
	return tree->sorted ? crab_sorted_find(tree, leaf, key) :
			      crab_slotted_find(tree, leaf, key);
}

/**
 * crab_layout_lookup() - read the value of a key
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 * @value: out: the value
 * Context: a read of the leaf is under way, or it is locked.
 * Return: 0, -ENOENT, or -EUCLEAN if a record of the leaf is misplaced; -ERANGE: if the read is
 * valid, the media has changed.
 */
static __always_inline int crab_layout_lookup(const struct crab_tree *tree,
					      const struct crab_leaf *leaf, u64 key, u64 *value)
{
	int err = tree->sorted ? crab_sorted_lookup(tree, leaf, key, value) :
				 crab_slotted_lookup(tree, leaf, key, value);

	if (likely(!err))
		return 0;
	return leaf->misplaced_key ? -EUCLEAN : err;
}

/**
 * crab_layout_scan() - read records of a leaf in order
 * @reader: in the leaf
 * @start: lowest key
 * @end: highest key
 * @records: out: the records
 * @cap: room in @records
 * @room: twice crab_order_bytes(), or NULL
 * Context: a read of the leaf is under way.
 * Return: the number of records; -ENOBUFS: @room is needed; -EAGAIN: if the read is valid, the
 * media has changed.
 */
static inline int crab_layout_scan(struct crab_reader *reader, u64 start, u64 end,
				   struct crab_record *records, u32 cap, u16 *room)
{
	if (reader->tree->sorted)
		return crab_sorted_scan(reader->tree, reader->leaf, start, end, records, cap);
	return crab_slotted_scan(reader, start, end, records, cap, room);
}

/**
 * crab_layout_scan_back() - read the last records of a leaf in descending order
 * @reader: in the leaf
 * @start: lowest key
 * @end: highest key
 * @records: out: the records
 * @cap: room in @records
 * @room: as of crab_layout_scan()
 * Context: a read of the leaf is under way.
 * Return: as crab_layout_scan().
 */
static inline int crab_layout_scan_back(struct crab_reader *reader, u64 start, u64 end,
					struct crab_record *records, u32 cap, u16 *room)
{
	if (reader->tree->sorted)
		return crab_sorted_scan_back(reader->tree, reader->leaf, start, end, records, cap);
	return crab_slotted_scan_back(reader, start, end, records, cap, room);
}

/**
 * crab_layout_prefetch_scan() - prefetch the lines that hold the first records
 * @tree: the tree
 * @leaf: the leaf
 * @dleaf: the leaf on the media
 * @count: number of records; in a slotted leaf they are anywhere
 * Context: any.
 */
static inline void crab_layout_prefetch_scan(const struct crab_tree *tree,
					     const struct crab_leaf *leaf,
					     const struct crab_dleaf *dleaf, u32 count)
{
	if (tree->sorted)
		crab_sorted_prefetch(tree, leaf, count);
	else
		crab_slotted_prefetch(tree, dleaf);
}

/**
 * crab_layout_reader() - prepare to scan a leaf, and prefetch its descriptor
 * @tree: the tree
 * @child: of the index, not NULL
 * Context: RCU read-side section in which the index returned the word.
 * Return: the reader; crab_leaf_read_begin() begins the read.
 */
static __always_inline struct crab_reader crab_layout_reader(struct crab_tree *tree,
							     const void *child)
{
	struct crab_reader reader = { .tree = tree, .leaf = crab_leaf_of(tree, child) };

	if (tree->sorted)
		crab_prefetch_range(reader.leaf, crab_sorted_desc_bytes(tree));
	else
		reader.order = crab_slotted_prefetch_desc(tree, child, reader.leaf);
	return reader;
}

/**
 * crab_layout_is_blind() - test whether a scan prefetches leaves before it knows their records
 * @tree: the tree
 * Context: any.
 * Return: true if the records are anywhere in a leaf.
 */
static inline bool crab_layout_is_blind(const struct crab_tree *tree)
{
	return !tree->sorted;
}

#endif /* CRABTREE_ENGINES_CRAB_LAYOUT_READ_H */
