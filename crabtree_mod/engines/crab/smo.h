/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the structure changes of the engine `crab`: splits, merges, copies, unlinks,
 * and the verbs on sorted leaves, which are made of them.
 *
 * Locking: crab_tree.structure; which leaves are locked is said at each function.
 */
#ifndef CRABTREE_ENGINES_CRAB_SMO_H
#define CRABTREE_ENGINES_CRAB_SMO_H

#include "crab.h"

/* smo.c: structure changes; the write holds crab_tree.structure */

/** crab_smo_is_reserved() - is everything at hand that a change needs, but free leaves? */
bool crab_smo_is_reserved(const struct crab_tree *tree);

/**
 * crab_smo_reserve() - see to it
 * @tree: the tree
 * Context: may sleep; no leaf is locked.
 * Return: 0 or -ENOMEM.
 */
int crab_smo_reserve(struct crab_tree *tree);

/** crab_smo_may_merge() - is the leaf behind this one empty, or have they @most records at most? */
bool crab_smo_may_merge(const struct crab_leaf *leaf, u32 most);

/**
 * crab_smo_merge() - merge a leaf with the one behind it
 * @write: the write
 * @leaf: the leaf; crab_smo_may_merge()
 * @most: records that they may have
 * Context: may sleep; no leaf is locked.
 * Return: 0, or with nothing changed -EAGAIN: writers have filled them, -ENOMEM, -ENOSPC.
 */
int crab_smo_merge(struct crab_write *write, struct crab_leaf *leaf, u32 most);

/** crab_smo_bound() - lines that one operation cleans at most */
u64 crab_smo_bound(const struct crab_tree *tree);

/** crab_smo_add() - insert into a leaf that is full: split it, or append a leaf */
int crab_smo_add(struct crab_write *write, struct crab_leaf *leaf, u64 key, u64 value);

/** crab_smo_rewrite() - put a record whose value is the leaf's void: a new leaf, a new void */
int crab_smo_rewrite(struct crab_write *write, struct crab_leaf *leaf, u64 key, u64 value);

/** crab_smo_prepare() - maintain: make one free leaf's landmarks durable (P5) */
bool crab_smo_prepare(struct crab_tree *tree);

/** crab_smo_fetch() - a hint: a leaf will be replaced by @n fresh ones of @count records each */
void crab_smo_fetch(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 n, u32 count);

/**
 * crab_smo_copy() - copy on write of a sorted leaf
 * @write: the write
 * @leaf: it stays, at another place
 * @slot: of the change
 * @rider: goes in front of @slot; NULL: @slot goes
 * Return: 0, or -ENOSPC with nothing changed.
 */
int crab_smo_copy(struct crab_write *write, struct crab_leaf *leaf, u32 slot,
		  const struct crab_record *rider);

/** crab_smo_split_right() - all records but the first @keep, and @rider, to a fresh leaf behind */
int crab_smo_split_right(struct crab_write *write, struct crab_leaf *leaf, u32 keep,
			 const struct crab_record *rider);

/** crab_smo_balance() - a leaf and the one behind it, both locked, by one or two */
int crab_smo_balance(struct crab_write *write, struct crab_leaf *leaf, u32 fresh);

/** crab_smo_fetch_unlink() - a hint: a leaf, which is locked, will be unlinked */
void crab_smo_fetch_unlink(const struct crab_tree *tree, const struct crab_leaf *leaf);

/**
 * crab_smo_bypass() - unlink @leaf, whose records are elsewhere or gone
 * @write: the write
 * @leaf: the leaf
 * @word: of crab_smo_verify_unlink()
 *
 * It and the leaf before it are locked and in a write section.
 */
void crab_smo_bypass(struct crab_write *write, struct crab_leaf *leaf, u64 word);

/** crab_smo_with() - the records of @leaf and one more, or one changed, into scratch */
u32 crab_smo_with(struct crab_tree *tree, const struct crab_leaf *leaf, u64 key, u64 value);

/* smo_verify.c: what a change takes from the media; 0, or -EUCLEAN with damage noted */

/** crab_smo_verify_low() - the least key of a fresh leaf: above that of @leaf, below @high */
int crab_smo_verify_low(struct crab_tree *tree, const struct crab_leaf *leaf, u64 high, u64 low);

/**
 * crab_smo_verify_records() - the keys of records that were collected, in order if they are sorted
 * @tree: the tree
 * @leaf: the first leaf that they are from
 * @high: of the last
 * @records: the records
 * @count: how many
 * @most: as many as the fresh leaves have room for
 * Return: 0; then every one of them but the first can be the least of a fresh leaf, of sorted
 * leaves; or -EUCLEAN.
 */
int crab_smo_verify_records(struct crab_tree *tree, const struct crab_leaf *leaf, u64 high,
			    const struct crab_record *records, u32 count, u32 most);

/** crab_smo_verify_next() - @word, the link of @leaf, names the leaf after it, which there is */
int crab_smo_verify_next(struct crab_tree *tree, const struct crab_leaf *leaf, u64 *word);

/** crab_smo_verify_unlink() - @word, the link of the leaf before @leaf once that is unlinked */
int crab_smo_verify_unlink(struct crab_tree *tree, const struct crab_leaf *leaf, u64 *word);

/* smo_sorted.c: the verbs on sorted leaves, and the repair of their list */

/** crab_sorted_insert() - or -EAGAIN: it needs the structure, or what is reserved */
int crab_sorted_insert(struct crab_write *write, struct crab_leaf *leaf, u32 pos, u64 key,
		       u64 value, enum crab_insert_mode mode, struct crab_old *old);

/** crab_sorted_is_at() - is the record before @pos, crab_sorted_place() of @key, its own? */
bool crab_sorted_is_at(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 pos,
		       u64 key);

/** crab_sorted_remove() - a slot of a leaf that stays; or -EAGAIN: it needs the structure */
int crab_sorted_remove(struct crab_write *write, struct crab_leaf *leaf, u32 slot);

/** crab_sorted_rebalance() - after a remove that left the leaf of @key sparse; none is locked */
void crab_sorted_rebalance(struct crab_write *write, u64 key);

/** crab_sorted_repair() - complete what is torn, unlink what is empty (P6, P8, P10); or -EINTR */
int crab_sorted_repair(struct crab_write *write);

#endif /* CRABTREE_ENGINES_CRAB_SMO_H */
