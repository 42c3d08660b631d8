/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares access to the slots of a leaf.
 *
 * Invariant: the slots of a leaf are read and written by these functions only.
 *
 * Locking: access.c documents it. "Readable": the leaf is locked, or crab_nb_read() validates.
 */
#ifndef CRABTREE_ENGINES_NBTREE_LEAF_H
#define CRABTREE_ENGINES_NBTREE_LEAF_H

#include "nbtree.h"

#define NB_SLOT_NONE	(~0U)
#define NB_SLOT_BLANK	(~1U)	/* a slot with the key's fingerprint reads all ones, or changes */

/**
 * crab_nb_leaf_find() - find the slot of a key
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 * Context: readable.
 * Return: its number, or NB_SLOT_NONE; NB_SLOT_BLANK: if the read is valid, the media has changed.
 */
u32 crab_nb_leaf_find(const struct nb_tree *tree, const struct nb_leaf *leaf, u64 key);

/**
 * crab_nb_leaf_value() - read the value of a slot
 * @tree: the tree
 * @leaf: the leaf
 * @slot: a live slot
 * Context: readable.
 * Return: the value.
 */
u64 crab_nb_leaf_value(const struct nb_tree *tree, const struct nb_leaf *leaf, u32 slot);

/**
 * crab_nb_leaf_free_slot() - find a slot without a record
 * @tree: the tree
 * @leaf: the leaf
 * Context: the leaf is locked.
 * Return: the lowest one, or NB_SLOT_NONE.
 */
u32 crab_nb_leaf_free_slot(const struct nb_tree *tree, const struct nb_leaf *leaf);

/**
 * crab_nb_leaf_near() - find the record nearest to a key
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 * @dir: the direction
 * @record: out
 * Context: readable.
 * Return: 0; -ENOENT if the leaf has none in this direction; -ERANGE if a key is not of its range.
 */
int crab_nb_leaf_near(const struct nb_tree *tree, const struct nb_leaf *leaf, u64 key,
		      enum crab_seek_dir dir, struct crab_record *record);

/**
 * crab_nb_leaf_sorted() - read the records of a leaf
 * @tree: the tree
 * @leaf: the leaf
 * @records: out: by key
 * Context: readable.
 * Return: their number.
 */
u32 crab_nb_leaf_sorted(const struct nb_tree *tree, const struct nb_leaf *leaf,
			struct crab_record *records);

/**
 * crab_nb_leaf_fault() - compare the live slots of a leaf with DRAM
 * @tree: the tree
 * @leaf: the leaf
 * @records: out: its records, by key
 * @count: out: their number
 * Context: the leaf is locked.
 * Return: NULL, or a description of the damage.
 */
const char *crab_nb_leaf_fault(const struct nb_tree *tree, const struct nb_leaf *leaf,
			       struct crab_record *records, u32 *count);

/* As nb_kind.open: finds the live and the stale slots */
const char *crab_nb_leaf_open(struct nb_tree *tree, struct nb_leaf *leaf);

/**
 * crab_nb_leaf_add() - write a record to a free slot (P6)
 * @write: the write
 * @leaf: the leaf
 * @slot: of crab_nb_leaf_free_slot()
 * @record: the record
 * Context: the leaf is locked.
 */
void crab_nb_leaf_add(struct nb_write *write, struct nb_leaf *leaf, u32 slot,
		      const struct crab_record *record);

/**
 * crab_nb_leaf_set() - replace the value of a record (P6)
 * @write: the write
 * @leaf: the leaf
 * @slot: of the record
 * @value: the new value
 * Context: the leaf is locked.
 */
void crab_nb_leaf_set(struct nb_write *write, struct nb_leaf *leaf, u32 slot, u64 value);

/**
 * crab_nb_leaf_drop() - delete a record (P6)
 * @write: the write
 * @leaf: the leaf
 * @slot: of the record
 * Context: the leaf is locked.
 */
void crab_nb_leaf_drop(struct nb_write *write, struct nb_leaf *leaf, u32 slot);

/**
 * crab_nb_leaf_erase() - free all stale slots of a leaf (P20)
 * @write: the write
 * @leaf: the leaf
 * Context: the leaf is locked.
 */
void crab_nb_leaf_erase(struct nb_write *write, struct nb_leaf *leaf);

/**
 * crab_nb_leaf_upper() - read the upper records of a leaf again, before they are copied
 * @tree: the tree
 * @leaf: the leaf
 * @high: the lowest key that is to be copied
 * @records: the records, as they were read before
 * @count: their number
 * @upper: out: one bit for each of their slots
 * Context: the leaf is locked.
 * Return: false if a word of them reads otherwise now.
 */
bool crab_nb_leaf_upper(const struct nb_tree *tree, const struct nb_leaf *leaf, u64 high,
			const struct crab_record *records, u32 count, u64 *upper);

/**
 * crab_nb_leaf_cut() - end the range of a leaf earlier: the keys from there on become stale
 * @leaf: the leaf
 * @high: one past the highest key of its range
 * @upper: of crab_nb_leaf_upper()
 * Context: the leaf is locked, between nb_change_begin() and nb_change_end().
 */
void crab_nb_leaf_cut(struct nb_leaf *leaf, u64 high, u64 upper);

/**
 * crab_nb_leaf_fresh() - write a leaf that no link names yet
 * @flow: the caller's flow
 * @geo: the geometry
 * @head: its header
 * @records: its records
 * @count: their number
 * Context: a leaf is locked, or the region belongs to the caller; the caller fences.
 */
void crab_nb_leaf_fresh(struct crab_flow *flow, const struct crab_geometry *geo,
			const struct crab_head *head, const struct crab_record *records, u32 count);

/* nb_kind.init of the layout adr */
void crab_nb_leaf_init(struct nb_leaf *leaf);

/**
 * crab_nb_leaf_make() - make a leaf in DRAM
 * @tree: the tree
 * @number: its number
 * @birth: its birth
 * @low: lowest key of its range
 * @gfp: how to allocate
 * Context: may sleep if @gfp allows it.
 * Return: the leaf, empty and not in use; or NULL.
 */
struct nb_leaf *crab_nb_leaf_make(const struct nb_tree *tree, u64 number, u64 birth, u64 low,
				  gfp_t gfp);

/**
 * crab_nb_leaf_fill() - note the records of crab_nb_leaf_fresh() in DRAM
 * @leaf: a leaf that no other task knows
 * @records: its records
 * @count: their number
 * Context: any.
 */
void crab_nb_leaf_fill(struct nb_leaf *leaf, const struct crab_record *records, u32 count);

#endif /* CRABTREE_ENGINES_NBTREE_LEAF_H */
