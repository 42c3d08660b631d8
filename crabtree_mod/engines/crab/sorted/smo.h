/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares structure modifications of sorted leaves, the choice between shifting and
 * copying, allocation on demand, attach and check.
 *
 * Locking: at each function.
 */
#ifndef CRABTREE_ENGINES_CRAB_SORTED_SMO_H
#define CRABTREE_ENGINES_CRAB_SORTED_SMO_H

#include "sorted.h"

/* fresh.c */

/**
 * crab_sorted_format() - FORMAT: the slots of the first leaf
 * @flow: the flow; the caller cleans the leaf
 * @dleaf: the leaf
 *
 * Context: FORMAT.
 */
void crab_sorted_format(struct crab_flow *flow, struct crab_dleaf *dleaf);

/**
 * crab_sorted_store() - write the media of a fresh leaf
 * @write: the write
 * @number: number of the leaf
 * @head: header
 * @records: the records, in order
 * @count: number of records
 *
 * Context: under crab_tree.smo_lock; the caller fences (P7).
 */
void crab_sorted_store(struct crab_write *write, u64 number, const struct crab_head *head,
		       const struct crab_record *records, u32 count);

/**
 * crab_sorted_fresh() - crab_leaf_fresh() of a sorted leaf
 * @write: the write
 * @spare: the leaf of the pool
 * @head: header
 * @records: the records, in order
 * @count: number of records
 * @leaf: out: descriptor
 *
 * Context: as crab_leaf_fresh().
 */
void crab_sorted_fresh(struct crab_write *write, const struct crab_spare *spare,
		       struct crab_head *head, const struct crab_record *records, u32 count,
		       struct crab_leaf *leaf);

/* smo.c: under crab_tree.smo_lock; the leaf is locked */

/**
 * crab_sorted_copy_leaf() - replace a leaf by a copy with one change (copy on write)
 * @write: the write
 * @leaf: descriptor, which stays
 * @slot: slot of the change
 * @extra: record that goes before @slot; NULL: @slot is left out
 *
 * Context: under crab_tree.smo_lock; the leaf is locked.
 * Return: 0; or -ENOSPC or -EUCLEAN with nothing changed.
 */
int crab_sorted_copy_leaf(struct crab_write *write, struct crab_leaf *leaf, u32 slot,
			  const struct crab_record *extra) __must_hold(&leaf->lock);

/**
 * crab_sorted_split_right() - move the upper records of a full leaf to a fresh one after it
 * @write: the write
 * @leaf: the leaf
 * @keep: number of records that stay
 * @extra: one more record, which goes to the fresh leaf, or NULL
 *
 * Context: under crab_tree.smo_lock; the leaf is locked.
 * Return: 0; or -ENOSPC or -EUCLEAN with nothing changed.
 */
int crab_sorted_split_right(struct crab_write *write, struct crab_leaf *leaf, u32 keep,
			    const struct crab_record *extra) __must_hold(&leaf->lock);

/**
 * crab_sorted_is_append() - test whether a key is above all keys of a full leaf
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 * @last: out: the highest key of the leaf
 *
 * Context: the leaf is locked.
 * Return: true if so.
 */
bool crab_sorted_is_append(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
			   u64 *last) __must_hold(&leaf->lock);

/**
 * crab_sorted_split() - partition the records of a full leaf and one more
 * @tree: the tree; its scratch receives the records in order
 * @leaf: the leaf
 * @extra: one more record, whose key the leaf does not have
 * @low: out: the lowest key of the second part; @leaf->low if the records are damaged
 *
 * Context: under crab_tree.smo_lock; the leaf is locked.
 * Return: the number of records in the first part.
 */
u32 crab_sorted_split(struct crab_tree *tree, const struct crab_leaf *leaf,
		      const struct crab_record *extra, u64 *low) __must_hold(&leaf->lock);

/**
 * crab_sorted_verify() - verify the keys of records that were collected
 * @tree: the tree
 * @leaf: first leaf of the records
 * @high: end of the range of the last leaf
 * @records: the records
 * @count: number of records
 *
 * Context: under crab_tree.smo_lock; the leaves are locked.
 * Return: 0; then each key but the first can be the lowest of a fresh leaf. Or -EUCLEAN with damage
 * noted.
 */
int crab_sorted_verify(struct crab_tree *tree, const struct crab_leaf *leaf, u64 high,
		       const struct crab_record *records, u32 count) __must_hold(&leaf->lock);

/**
 * crab_sorted_ascend() - test whether the keys in some slots ascend, and are in a range
 * @tree: the tree
 * @leaf: the leaf
 * @from: first slot
 * @to: end of the slots
 * @low: lowest key of the range
 * @high: end of the range
 * Context: any.
 * Return: true if so; a duplicate is passed.
 */
bool crab_sorted_ascend(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 from,
			u32 to, u64 low, u64 high);

/* The same of all slots from @from on, of a leaf without a duplicate, which is locked */
bool crab_sorted_tail_ascends(const struct crab_tree *tree, const struct crab_leaf *leaf,
			      u32 from, u64 high);

/* The same, and of a new key before @slot */
bool crab_sorted_admits(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 from,
			u32 slot, u64 key, u64 high);

/**
 * crab_sorted_verify_shift() - verify the keys of a leaf whose records will move in place
 * @write: the write
 * @leaf: the leaf
 * @slot: slot of the record that is removed, or from which on records move
 *
 * A search compares other keys once a record has moved: one that turned into another key of the
 * leaf and hid no record would then hide some. All of the piece are compared, the one before it,
 * and all after it.
 *
 * Context: the leaf is locked.
 * Return: 0; or with nothing changed -EAGAIN: the write needs crab_tree.smo_lock to note damage;
 * -EUCLEAN.
 */
int crab_sorted_verify_shift(struct crab_write *write, const struct crab_leaf *leaf, u32 slot)
	__must_hold(&leaf->lock);

/**
 * crab_sorted_verify_insert() - the same for a record that is put before a slot
 * @write: the write
 * @leaf: the leaf
 * @slot: the slot
 * @key: its key, which goes between the others there: a key that read otherwise once may
 *	have misled the search
 * Context: the leaf is locked.
 * Return: as crab_sorted_verify_shift().
 */
int crab_sorted_verify_insert(struct crab_write *write, const struct crab_leaf *leaf, u32 slot,
			      u64 key) __must_hold(&leaf->lock);

/* read.c: attach */

/**
 * crab_sorted_read() - read the keys of a leaf
 * @tree: the tree; not changed, several leaves may be read at a time
 * @leaf: the leaf. Its count then includes records that crab_sorted_overlap() will find void.
 * @damage: where to note damage
 *
 * Context: attach.
 */
void crab_sorted_read(const struct crab_tree *tree, struct crab_leaf *leaf,
		      struct crab_damage *damage);

/**
 * crab_sorted_overlap() - find the records of a leaf that are in the next leaf too
 * @tree: the tree
 * @leaf: the leaf
 * @next: the next leaf that is not empty
 *
 * A split, a merge or a redistribution that was cut leaves them; they are void. A record that
 * would be lost that way is damage.
 *
 * Context: attach.
 */
void crab_sorted_overlap(struct crab_tree *tree, struct crab_leaf *leaf,
			 const struct crab_leaf *next);

/**
 * crab_sorted_repair() - complete torn leaves and unlink empty ones (P6, P8, P10)
 * @write: the write
 *
 * Context: attach; may sleep.
 * Return: 0 or -EINTR.
 */
int crab_sorted_repair(struct crab_write *write);

/* check.c */

/**
 * crab_sorted_check() - verify the records of a leaf
 * @check: the check
 * @leaf: the leaf
 * @offset: its place on the media
 *
 * Context: the leaf is locked.
 */
void crab_sorted_check(struct crab_check *check, const struct crab_leaf *leaf, u64 offset)
	__must_hold(&leaf->lock);

/* strategy.c */

/**
 * crab_strategy_lines() - count the lines of a leaf that hold some slots
 * @from: first slot
 * @to: last slot
 *
 * Context: any.
 * Return: the number of lines.
 */
u32 crab_strategy_lines(u32 from, u32 to);

/**
 * crab_strategy_sip() - price a shift in place
 * @tree: the tree
 * @pos: first slot
 * @moved: number of records that move by one slot
 *
 * Context: any.
 * Return: picoseconds.
 */
u64 crab_strategy_sip(const struct crab_tree *tree, u32 pos, u32 moved);

/**
 * crab_strategy_cow() - price a copy
 * @tree: the tree
 * @count: records of the fresh leaf
 *
 * Context: any.
 * Return: picoseconds.
 */
u64 crab_strategy_cow(const struct crab_tree *tree, u32 count);

/**
 * crab_strategy_is_sip() - choose
 * @tree: the tree
 * @sip: price of a shift in place
 * @cow: price of a copy
 *
 * Context: any.
 * Return: true for a shift in place.
 */
bool crab_strategy_is_sip(const struct crab_tree *tree, u64 sip, u64 cow);

/* bitmap.c */

/**
 * crab_bitmap_set() - mark a leaf as taken or free, durable (P12)
 * @write: the write
 * @leaf: number of the leaf
 * @used: it is taken
 *
 * Context: under crab_tree.smo_lock.
 */
void crab_bitmap_set(struct crab_write *write, u64 leaf, bool used);

/**
 * crab_bitmap_bytes() - size of the bitmap
 * @leaves: leaves of the pool
 * @leaf_bytes: size of a leaf, which does not matter
 *
 * Context: any.
 * Return: bytes, as &crab_layout.before_pool returns them.
 */
u64 crab_bitmap_bytes(u64 leaves, u32 leaf_bytes);

/**
 * crab_bitmap_rebuild() - write the whole bitmap from the pool; durable with P3
 * @write: the write
 *
 * Context: attach; may sleep.
 */
void crab_bitmap_rebuild(struct crab_write *write);

#endif /* CRABTREE_ENGINES_CRAB_SORTED_SMO_H */
