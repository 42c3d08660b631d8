/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares access to the records of a leaf on the media. Each function leads to the one
 * of the store's layout (leaf_layouts.h).
 *
 * Slots are numbers below clfb_tree.room. A slot is that of a record until the next write to the
 * leaf.
 *
 * Invariant: the records of leaves are read and written by these functions only.
 *
 * Locking: clfb_tree.lock.
 */
#ifndef CRABTREE_ENGINES_CLFB_LEAF_H
#define CRABTREE_ENGINES_CLFB_LEAF_H

#include "clfb.h"

/**
 * crab_clfb_leaf_holds() - whether a leaf can be decoded
 * @tree: the tree
 * @leaf: number of the leaf
 * Context: clfb_tree.lock, or attach.
 * Return: true if so.
 */
bool crab_clfb_leaf_holds(const struct clfb_tree *tree, u64 leaf);

/**
 * crab_clfb_leaf_find() - find the slot of a key
 * @tree: the tree
 * @leaf: number of the leaf
 * @key: the key
 * Context: clfb_tree.lock, or attach.
 * Return: the slot; -ENOENT; or -ERANGE if the media has changed: crab_clfb_doubt() follows.
 */
int crab_clfb_leaf_find(const struct clfb_tree *tree, u64 leaf, u64 key);

/**
 * crab_clfb_leaf_value() - read the value of a slot
 * @tree: the tree
 * @leaf: number of the leaf
 * @slot: the slot
 * Context: as crab_clfb_leaf_find().
 * Return: the value.
 */
u64 crab_clfb_leaf_value(const struct clfb_tree *tree, u64 leaf, u32 slot);

/**
 * crab_clfb_leaf_count() - number of records
 * @tree: the tree
 * @leaf: number of the leaf
 * Context: as crab_clfb_leaf_find().
 * Return: the number; 0 if the media changes meanwhile.
 */
u32 crab_clfb_leaf_count(const struct clfb_tree *tree, u64 leaf);

/**
 * crab_clfb_leaf_low() - a key that was in the range of a leaf when that was written
 * @tree: the tree
 * @leaf: number of the leaf
 * Context: as crab_clfb_leaf_find().
 * Return: the key.
 */
u64 crab_clfb_leaf_low(const struct clfb_tree *tree, u64 leaf);

/**
 * crab_clfb_leaf_near() - find the record nearest to a key
 * @tree: the tree
 * @place: the leaf and its range
 * @key: the key
 * @dir: the direction
 * @record: out
 * Context: as crab_clfb_leaf_find().
 * Return: 0; -ENOENT if there is none; -ERANGE if a key is not of the range, or the media changes.
 */
int crab_clfb_leaf_near(const struct clfb_tree *tree, const struct clfb_place *place, u64 key,
			enum crab_seek_dir dir, struct crab_record *record);

/**
 * crab_clfb_leaf_sorted() - read the records of a leaf
 * @tree: the tree
 * @leaf: number of the leaf
 * @records: out: ascending; clfb_tree.room of them at most
 * Context: as crab_clfb_leaf_find().
 * Return: their number; or -ERANGE if the media changes meanwhile.
 */
int crab_clfb_leaf_sorted(const struct clfb_tree *tree, u64 leaf, struct crab_record *records);

/**
 * crab_clfb_leaf_agrees() - read a full leaf again, before its records are stored elsewhere
 * @tree: the tree
 * @leaf: number of the leaf
 * @records: of crab_clfb_leaf_sorted()
 * @count: their number
 * Context: as crab_clfb_leaf_find().
 * Return: false if it has others now.
 */
bool crab_clfb_leaf_agrees(const struct clfb_tree *tree, u64 leaf,
			   const struct crab_record *records, u32 count);

/**
 * crab_clfb_leaf_fault() - verify a leaf against its place in the tree
 * @tree: the tree
 * @place: the leaf and its range
 * @count: out: number of records
 * Context: as crab_clfb_leaf_find().
 * Return: NULL, or a description of the damage.
 */
const char *crab_clfb_leaf_fault(const struct clfb_tree *tree, const struct clfb_place *place,
				 u32 *count);

/**
 * crab_clfb_leaf_add() - add a record (P6; before it P11, but in `encoded`)
 * @write: the write
 * @leaf: number of the leaf
 * @record: the record; its key is new
 * Context: clfb_tree.lock for writing, pinned.
 * Return: false with nothing changed: it has no room, or clfb_write.err is set.
 */
bool crab_clfb_leaf_add(struct clfb_write *write, u64 leaf, const struct crab_record *record);

/**
 * crab_clfb_leaf_set() - replace the value of a record (P6)
 * @write: the write
 * @leaf: number of the leaf
 * @slot: slot of the record
 * @value: the value
 *
 * May set clfb_write.err.
 *
 * Context: as crab_clfb_leaf_add().
 */
void crab_clfb_leaf_set(struct clfb_write *write, u64 leaf, u32 slot, u64 value);

/**
 * crab_clfb_leaf_drop() - delete a record (P6)
 * @write: the write
 * @leaf: number of the leaf
 * @slot: slot of the record
 *
 * May set clfb_write.err.
 *
 * Context: as crab_clfb_leaf_add().
 */
void crab_clfb_leaf_drop(struct clfb_write *write, u64 leaf, u32 slot);

/**
 * crab_clfb_leaf_fresh() - write a leaf that nothing names yet
 * @flow: the caller's flow
 * @geo: the geometry
 * @leaf: number of the leaf
 * @low: a key of its range
 * @records: its records
 * @count: their number
 * Context: the region, or the leaf, belongs to the caller; the caller fences.
 */
void crab_clfb_leaf_fresh(struct crab_flow *flow, const struct crab_geometry *geo, u64 leaf,
			  u64 low, const struct crab_record *records, u32 count);

#endif /* CRABTREE_ENGINES_CLFB_LEAF_H */
