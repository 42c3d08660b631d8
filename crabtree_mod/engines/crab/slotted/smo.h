/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares whole slotted leaves: attach, fresh leaves, structure modifications and check.
 *
 * Locking: at each function.
 */
#ifndef CRABTREE_ENGINES_CRAB_SLOTTED_SMO_H
#define CRABTREE_ENGINES_CRAB_SLOTTED_SMO_H

#include "slotted.h"

/* read.c: attach */

/**
 * crab_slotted_read() - classify all slots of a leaf
 * @tree: the tree; not changed, several leaves may be read at a time
 * @leaf: the leaf; its range is known
 * @seen: hashes; each caller has its own
 * @damage: where to note damage
 *
 * Context: attach.
 */
void crab_slotted_read(const struct crab_tree *tree, struct crab_leaf *leaf,
		       struct crab_seen *seen, struct crab_damage *damage);

/**
 * crab_slotted_repair() - complete the sentinels of torn slots in all leaves
 * @write: the write; durable with P3
 *
 * Context: attach; may sleep.
 * Return: 0 or -EINTR.
 */
int crab_slotted_repair(struct crab_write *write);

/* fresh.c */

/**
 * crab_slotted_void() - choose the value of free slots
 * @records: records of the leaf
 * @count: number of records
 *
 * Context: any.
 * Return: a random value that no record has; never 0, 1 or ~0, which are common values.
 */
u64 crab_slotted_void(const struct crab_record *records, u32 count);

/**
 * crab_slotted_format() - FORMAT: the slots of the first leaf
 * @flow: the flow; the caller cleans the leaf
 * @dleaf: the leaf
 * @geo: the geometry
 * @void_value: value of free slots
 *
 * Context: FORMAT.
 */
void crab_slotted_format(struct crab_flow *flow, struct crab_dleaf *dleaf,
			 const struct crab_geometry *geo, u64 void_value);

/**
 * crab_slotted_fresh() - crab_leaf_fresh() of a slotted leaf
 * @write: the write
 * @spare: the leaf of the pool
 * @head: header
 * @records: the records, in any order
 * @count: number of records
 * @leaf: out: descriptor
 *
 * Context: as crab_leaf_fresh().
 */
void crab_slotted_fresh(struct crab_write *write, const struct crab_spare *spare,
			struct crab_head *head, const struct crab_record *records, u32 count,
			struct crab_leaf *leaf);

/**
 * crab_slotted_prepare() - maintain: make the sentinels of one free leaf durable (P5)
 * @tree: the tree
 *
 * Context: may sleep; the leaf belongs to this caller alone.
 * Return: false if the pool has enough prepared leaves.
 */
bool crab_slotted_prepare(struct crab_tree *tree);

/* smo.c: parts of structure modifications; under crab_tree.smo_lock, the leaf is locked */

/**
 * crab_slotted_is_append() - test whether a key is above all keys of a full leaf
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 * @last: out: the highest key of the leaf, if so
 *
 * Context: the leaf is locked.
 * Return: true if so.
 */
bool crab_slotted_is_append(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
			    u64 *last) __must_hold(&leaf->lock);

/**
 * crab_slotted_rewrite() - store a record whose value is the leaf's void
 * @write: the write
 * @leaf: the leaf, which is replaced by one with another void
 * @key: the key
 * @value: the value
 *
 * Context: under crab_tree.smo_lock; the leaf is locked.
 * Return: 0, -ENOSPC or -EUCLEAN.
 */
int crab_slotted_rewrite(struct crab_write *write, struct crab_leaf *leaf, u64 key, u64 value)
	__must_hold(&leaf->lock);

/**
 * crab_slotted_has_empty() - test whether the key of a record is the reserved key
 * @records: the records
 * @count: number of records
 *
 * Context: any.
 * Return: true if so.
 */
bool crab_slotted_has_empty(const struct crab_record *records, u32 count);

/**
 * crab_slotted_may_have() - test whether collected records can be those of a leaf
 * @leaf: the leaf
 * @high: end of the range, which may be that of a later leaf
 * @keys: all keys, combined by bitwise or
 * @records: the records
 * @count: number of records
 *
 * crab_leaf_may_have() accepts all ones in the last leaf, and where the range has no common bits.
 *
 * Context: the leaf is locked.
 * Return: false if a key has a bit that no key of the range has, or is all ones.
 */
static inline bool crab_slotted_may_have(const struct crab_leaf *leaf, u64 high, u64 keys,
					 const struct crab_record *records, u32 count)
	__must_hold(&leaf->lock)
{
	return crab_leaf_may_have(leaf, high, keys) &&
	       (keys != CRAB_KEY_EMPTY || !crab_slotted_has_empty(records, count));
}

/**
 * crab_slotted_verify() - verify the keys of records that were collected
 * @tree: the tree
 * @leaf: first leaf of the records
 * @high: end of the range of the last leaf
 * @records: the records
 * @count: number of records
 *
 * Context: under crab_tree.smo_lock; the leaves are locked.
 * Return: 0, or -EUCLEAN with damage noted.
 */
int crab_slotted_verify(struct crab_tree *tree, const struct crab_leaf *leaf, u64 high,
			const struct crab_record *records, u32 count) __must_hold(&leaf->lock);

/* order.c */

/**
 * crab_slotted_split() - partition the records of a full leaf and one more
 * @tree: the tree
 * @leaf: the leaf
 * @extra: one more record, whose key the leaf does not have
 * @records: out: records below @low, then the others
 * @low: out: the lowest key of the second part, or CRAB_KEY_EMPTY if a key is outside the range
 *
 * The middle of the leaf's range is the border if that leaves three in eight on either side, as
 * it mostly does with random keys. Else the border is at the new key if that continues a run
 * (run.h), else at the median.
 *
 * Context: the leaf is locked.
 * Return: the number of records in the first part.
 */
u32 crab_slotted_split(const struct crab_tree *tree, const struct crab_leaf *leaf,
		       const struct crab_record *extra, struct crab_record *records, u64 *low)
	__must_hold(&leaf->lock);

/* check.c */

/**
 * crab_slotted_check() - verify the header and the slots of a leaf
 * @check: the check
 * @leaf: the leaf
 * @offset: its place on the media
 *
 * Context: the leaf is locked.
 */
void crab_slotted_check(struct crab_check *check, const struct crab_leaf *leaf, u64 offset)
	__must_hold(&leaf->lock);

#endif /* CRABTREE_ENGINES_CRAB_SLOTTED_SMO_H */
