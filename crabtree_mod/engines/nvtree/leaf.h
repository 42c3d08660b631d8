/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares access to the elements of a leaf on the media.
 *
 * Invariant: the elements of a leaf are read and written by these functions only.
 *
 * Locking: access.c documents it.
 */
#ifndef CRABTREE_ENGINES_NVTREE_LEAF_H
#define CRABTREE_ENGINES_NVTREE_LEAF_H

#include "nvtree.h"

/**
 * crab_nv_leaf_key() - read the key of an element
 * @tree: the tree
 * @leaf: number of the leaf
 * @at: number of the element, below nv_tree.room
 *
 * Context: as crab_nv_leaf_get().
 * Return: the key.
 */
u64 crab_nv_leaf_key(const struct nv_tree *tree, u64 leaf, u32 at);

/**
 * crab_nv_leaf_get() - look a key up in a leaf
 * @tree: the tree
 * @leaf: number of the leaf
 * @count: elements to search
 * @key: the key
 * @value: out, if it is found
 *
 * Context: the leaf is locked, or the caller validates by crab_nv_holds().
 * Return: 0 if the last element of the key is not negative; -ENOENT; or -ERANGE if a key reads all
 * ones, or two loads of a word differ: crab_nv_doubt() follows.
 */
int crab_nv_leaf_get(const struct nv_tree *tree, u64 leaf, u32 count, u64 key, u64 *value);

/**
 * crab_nv_leaf_read() - read elements of a leaf
 * @tree: the tree
 * @leaf: number of the leaf
 * @count: how many
 * @elements: out: sorted by key, those of one key in the order of the leaf
 *
 * Context: as crab_nv_leaf_get().
 */
void crab_nv_leaf_read(const struct nv_tree *tree, u64 leaf, u32 count,
		       struct nv_element *elements);

/**
 * crab_nv_leaf_agrees() - read elements again, before they are stored elsewhere, or counted
 * @tree: the tree
 * @leaf: number of the leaf
 * @count: how many
 * @elements: of crab_nv_leaf_read()
 * @values: their values, too
 *
 * Context: as crab_nv_leaf_get().
 * Return: false if a word reads otherwise now.
 */
bool crab_nv_leaf_agrees(const struct nv_tree *tree, u64 leaf, u32 count,
			 const struct nv_element *elements, bool values);

/**
 * crab_nv_leaf_records() - the live records among elements
 * @elements: of crab_nv_leaf_read()
 * @count: how many
 * @records: out: ascending; at most @count
 *
 * Context: any.
 * Return: their number.
 */
u32 crab_nv_leaf_records(const struct nv_element *elements, u32 count,
			 struct crab_record *records);

/**
 * crab_nv_leaf_fault() - verify the elements of a leaf
 * @elements: of crab_nv_leaf_read()
 * @count: how many
 * @low: lowest key that the leaf may hold
 * @high: one past the highest
 *
 * Context: any.
 * Return: NULL, or a description of the damage.
 */
const char *crab_nv_leaf_fault(const struct nv_element *elements, u32 count, u64 low, u64 high);

/**
 * crab_nv_leaf_takes() - prepare crab_nv_leaf_append(): read the sign word that it changes
 * @tree: the tree
 * @place: the leaf, which has room; out: @signs
 *
 * Context: the leaf is locked.
 * Return: false if the media has changed.
 */
bool crab_nv_leaf_takes(const struct nv_tree *tree, struct nv_place *place);

/**
 * crab_nv_leaf_append() - append elements to a leaf that has room (P11, P6)
 * @write: the write
 * @place: the leaf, of crab_nv_leaf_takes()
 * @elements: the elements; @at is not used
 * @n: how many, 1 or 2
 *
 * They become durable and visible together. The caller has counted the write: its flow contains
 * all but the last fence.
 *
 * Context: the leaf is locked.
 */
void crab_nv_leaf_append(struct nv_write *write, const struct nv_place *place,
			 const struct nv_element *elements, u32 n);

/**
 * crab_nv_leaf_fresh() - write a leaf that no link names yet
 * @flow: the caller's flow
 * @geo: the geometry
 * @head: its header
 * @records: its records
 * @count: their number
 *
 * Context: a leaf is locked, or the region belongs to the caller; the caller fences.
 */
void crab_nv_leaf_fresh(struct crab_flow *flow, const struct crab_geometry *geo,
			const struct crab_head *head, const struct crab_record *records, u32 count);

#endif /* CRABTREE_ENGINES_NVTREE_LEAF_H */
