/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the verbs on a leaf of the layout `sorted`. layout.h leads to them.
 *
 * Locking: access.c documents it. A verb that reads expects a read of the leaf under way, or its
 * lock. A verb that writes expects the lock; shifting needs nothing else, all other changes
 * crab_tree.smo_lock too.
 */
#ifndef CRABTREE_ENGINES_CRAB_SORTED_H
#define CRABTREE_ENGINES_CRAB_SORTED_H

#include "engines/crab/leaf.h"

struct crab_check;

/* Maximum number of pieces in which a leaf is searched: their first keys are two lines of DRAM */
#define CRAB_SORTED_PIECES	16U

/* Slots that would fit in the space of the header, and slots of a line */
#define CRAB_SORTED_HEADER	3U
#define CRAB_SORTED_LINE	4U

static_assert(offsetof(struct crab_dleaf, slots[CRAB_SORTED_LINE - CRAB_SORTED_HEADER]) ==
	      CRAB_LINE);

/* First key of each piece: 0 for the first piece, then those on the media */
static inline u64 *crab_sorted_firsts(const struct crab_leaf *leaf)
{
	return (u64 *)leaf->fps;
}

static inline void crab_sorted_init(struct crab_tree *tree)
{
	u32 leaf_bytes = tree->base.geo.leaf_bytes;

	tree->pieces = min(leaf_bytes / CRAB_LINE, CRAB_SORTED_PIECES);
	tree->piece_slots = leaf_bytes / tree->pieces / sizeof(struct crab_dslot);
}

static inline size_t crab_sorted_desc_bytes(const struct crab_tree *tree)
{
	return sizeof(struct crab_leaf) + tree->pieces * sizeof(u64);
}

/* Slots that are searched: the records, and the void duplicate if there is one */
static inline u32 crab_sorted_extent(const struct crab_leaf *leaf)
{
	return READ_ONCE(leaf->count) + (leaf->duplicate != CRAB_LEAF_NO_DUPLICATE);
}

/* Updates the first keys in DRAM: a slot has another key */
static inline void crab_sorted_first_set(const struct crab_tree *tree, struct crab_leaf *leaf,
					 u32 slot, u64 key)
{
	u32 at = slot + CRAB_SORTED_HEADER;

	if (!(at & (tree->piece_slots - 1)))
		WRITE_ONCE(crab_sorted_firsts(leaf)[at / tree->piece_slots], key);
}

static inline bool crab_sorted_same_line(const void *a, const void *b)
{
	return (((unsigned long)a ^ (unsigned long)b) & ~(CRAB_LINE - 1UL)) == 0;
}

/* find.c */

/**
 * crab_sorted_desc_init() - initialise the descriptor of a leaf without records
 * @tree: the tree
 * @leaf: the leaf
 * Context: any; no other CPU has the leaf.
 */
void crab_sorted_desc_init(const struct crab_tree *tree, struct crab_leaf *leaf);

/**
 * crab_sorted_firsts_end() - update the first keys in DRAM: the records end before a slot
 * @tree: the tree
 * @leaf: the leaf
 * @slot: the slot
 * Context: the leaf is locked and in a write section, or no other CPU has it.
 */
void crab_sorted_firsts_end(const struct crab_tree *tree, struct crab_leaf *leaf, u32 slot);

/**
 * crab_sorted_firsts_fill() - set the first keys in DRAM of a leaf that was written whole
 * @tree: the tree
 * @leaf: the leaf
 * @records: its records, in order
 * @count: number of records
 * Context: the leaf is locked and in a write section, or no other CPU has it.
 */
void crab_sorted_firsts_fill(const struct crab_tree *tree, struct crab_leaf *leaf,
			     const struct crab_record *records, u32 count);

/**
 * crab_sorted_is_known() - test whether the first key of a piece is the one in DRAM
 * @tree: the tree
 * @leaf: the leaf
 * @piece: the piece
 * Context: the leaf is locked.
 * Return: true if so.
 */
bool crab_sorted_is_known(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 piece);

/**
 * crab_sorted_next() - find the next slot with a record
 * @tree: the tree
 * @leaf: the leaf
 * @slot: first slot to look at
 * Context: any.
 * Return: the slot, or crab_tree.slots.
 */
u32 crab_sorted_next(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot);

/**
 * crab_sorted_above() - find the first slot with a key above a key
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 * Context: any.
 * Return: the slot, or the one after the last record.
 */
u32 crab_sorted_above(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key);

/**
 * crab_sorted_collect() - read all records of a leaf
 * @tree: the tree
 * @leaf: the leaf
 * @records: out: the records, in order
 * Context: the leaf is locked.
 * Return: the number of records.
 */
u32 crab_sorted_collect(const struct crab_tree *tree, const struct crab_leaf *leaf,
			struct crab_record *records) __must_hold(&leaf->lock);

/**
 * crab_sorted_find() - find the slot of a key
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 * Context: any.
 * Return: the slot, or -1.
 */
int crab_sorted_find(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key);

/**
 * crab_sorted_lookup() - read the value of a key
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 * @value: out: the value
 * Context: any.
 * Return: as crab_slotted_lookup().
 */
int crab_sorted_lookup(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
		       u64 *value);

/**
 * crab_sorted_place() - find the place of a key for a write
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 * @removes: the write is a delete
 *
 * If records will have to move, all of them are prefetched.
 *
 * Context: RCU read-side section.
 * Return: the slot of the key; else the slot before which it goes.
 */
struct crab_place crab_sorted_place(const struct crab_tree *tree, const struct crab_leaf *leaf,
				    u64 key, bool removes);

/**
 * crab_sorted_prefetch() - a hint: the first slots of a leaf will be read in order
 * @tree: the tree
 * @leaf: the leaf
 * @slots: number of slots
 * Context: any.
 */
void crab_sorted_prefetch(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slots);

/**
 * crab_sorted_scan() - read records of a leaf in order
 * @tree: the tree
 * @leaf: the leaf
 * @start: lowest key
 * @end: highest key
 * @records: out: the records
 * @cap: room in @records
 * Context: a read of the leaf is under way.
 * Return: the number of records; -EAGAIN: keys do not ascend, or not within the leaf's range.
 */
int crab_sorted_scan(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 start,
		     u64 end, struct crab_record *records, u32 cap);

/**
 * crab_sorted_scan_back() - read the last records of a leaf in descending order
 * @tree: the tree
 * @leaf: the leaf
 * @start: lowest key
 * @end: highest key
 * @records: out: the records
 * @cap: room in @records
 * Context: a read of the leaf is under way.
 * Return: as crab_sorted_scan().
 */
int crab_sorted_scan_back(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 start,
			  u64 end, struct crab_record *records, u32 cap);

/* write.c */

/**
 * crab_sorted_insert() - insert a key (P6)
 * @write: the write
 * @leaf: the leaf
 * @slot: crab_place.slot
 * @key: the key
 * @value: the value
 *
 * The strategy decides whether records are shifted or the leaf is copied. A full leaf is split.
 *
 * Context: the leaf is locked.
 * Return: 0 when durable; -EAGAIN: the write needs crab_tree.smo_lock or memory; -ENOSPC;
 * -EUCLEAN.
 */
int crab_sorted_insert(struct crab_write *write, struct crab_leaf *leaf, u32 slot, u64 key,
		       u64 value) __must_hold(&leaf->lock);

/**
 * crab_sorted_remove() - remove a record from a leaf that stays (P6)
 * @write: the write
 * @leaf: the leaf
 * @slot: slot of the key
 * Context: the leaf is locked.
 * Return: 0 when durable; -EAGAIN: the write needs crab_tree.smo_lock; -EUCLEAN.
 */
int crab_sorted_remove(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
	__must_hold(&leaf->lock);

/* rebalance.c */

/**
 * crab_sorted_rebalance() - merge a leaf with a sibling, or move a record to it
 * @write: a delete that left the leaf of @key less than half full; it holds crab_tree.smo_lock
 * @key: the key
 * Context: may sleep; no leaf is locked.
 */
void crab_sorted_rebalance(struct crab_write *write, u64 key);

/* shift.c: in the leaf's write section */

/**
 * crab_sorted_shift_in() - insert a record by shifting to the right (P6)
 * @write: the write
 * @leaf: the leaf, not full
 * @pos: slot of the record
 * @key: the key
 * @value: the value
 * Context: the leaf is locked and in a write section.
 */
void crab_sorted_shift_in(struct crab_write *write, struct crab_leaf *leaf, u32 pos, u64 key,
			  u64 value) __must_hold(&leaf->lock);

/**
 * crab_sorted_shift_out() - remove a slot by shifting to the left (P6)
 * @write: the write
 * @leaf: the leaf
 * @pos: the slot
 * Context: the leaf is locked and in a write section.
 */
void crab_sorted_shift_out(struct crab_write *write, struct crab_leaf *leaf, u32 pos)
	__must_hold(&leaf->lock);

/**
 * crab_sorted_end() - let the records end before a slot (P10)
 * @write: the write
 * @leaf: the leaf; the caller sets its count
 * @slot: the slot
 * Context: the leaf is locked and in a write section.
 */
void crab_sorted_end(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
	__must_hold(&leaf->lock);

/**
 * crab_sorted_append() - append records, which the first one reveals (P11, P6)
 * @write: the write
 * @leaf: the leaf
 * @records: the records, in order
 * @count: number of records
 * Context: the leaf is locked and in a write section.
 */
void crab_sorted_append(struct crab_write *write, struct crab_leaf *leaf,
			const struct crab_record *records, u32 count) __must_hold(&leaf->lock);

#endif /* CRABTREE_ENGINES_CRAB_SORTED_H */
