/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the structure modifications of the engine `crab`: the primitive, and the
 * splits, merges and unlinks that are made of it.
 *
 * Locking: crab_tree.smo_lock; the locks of leaves are stated at each function.
 */
#ifndef CRABTREE_ENGINES_CRAB_SMO_H
#define CRABTREE_ENGINES_CRAB_SMO_H

#include "leaf.h"
#include "shared/link.h"

/**
 * struct crab_smo - a structure modification under way
 * @n: number of fresh leaves
 * @after: the word that links to the leaf after those that are replaced, if there is one
 * @spare: leaves of the pool
 * @leaf: descriptors
 * @head: headers; the caller sets the lowest key of the second one
 */
struct crab_smo {
	u32 n;
	u64 after;
	struct crab_spare spare[CRAB_SMO_FRESH];
	struct crab_leaf *leaf[CRAB_SMO_FRESH];
	struct crab_head head[CRAB_SMO_FRESH];
};

/* smo.c: memory for the next change */

/**
 * crab_smo_is_reserved() - test whether the next change needs no memory
 * @tree: the tree
 *
 * Context: under crab_tree.smo_lock.
 * Return: true if so.
 */
bool crab_smo_is_reserved(const struct crab_tree *tree);

/**
 * crab_smo_reserve() - allocate the memory that the next change needs, but for free leaves
 * @tree: the tree
 *
 * Before that, some descriptors of earlier changes are freed.
 *
 * Context: may sleep; under crab_tree.smo_lock, no leaf is locked.
 * Return: 0 or -ENOMEM.
 */
int crab_smo_reserve(struct crab_tree *tree);

/* smo.c: the primitive */

/**
 * crab_smo_take() - take free leaves for a change, and verify the link after it
 * @tree: the tree
 * @smo: the change; @n is set
 * @tail: last leaf that is replaced, or the leaf after which the fresh ones go
 * @leave: free leaves that must remain
 *
 * Context: under crab_tree.smo_lock; @tail is locked.
 * Return: 0, -ENOSPC, or -EUCLEAN as of verify.h.
 */
int crab_smo_take(struct crab_tree *tree, struct crab_smo *smo, const struct crab_leaf *tail,
		  u32 leave);

/**
 * crab_smo_number() - give the leaves of crab_smo_take() their births
 * @write: the write
 * @smo: the change
 *
 * Context: under crab_tree.smo_lock.
 */
void crab_smo_number(struct crab_write *write, struct crab_smo *smo);

/**
 * crab_smo_begin() - begin a change: everything that can fail, but the check of the records
 * @write: the write
 * @smo: out: the change
 * @tail: as for crab_smo_take()
 * @n: number of fresh leaves; their descriptors are reserved
 * @leave: as for crab_smo_take()
 *
 * Context: as crab_smo_take().
 * Return: as crab_smo_take().
 */
int crab_smo_begin(struct crab_write *write, struct crab_smo *smo, const struct crab_leaf *tail,
		   u32 n, u32 leave);

/**
 * crab_smo_abort() - return everything that crab_smo_begin() took; nothing was written
 * @write: the write
 * @smo: the change
 * @err: error
 *
 * Context: under crab_tree.smo_lock.
 * Return: @err.
 */
int crab_smo_abort(struct crab_write *write, const struct crab_smo *smo, int err);

/**
 * crab_smo_first_word() - make the word that links to the first fresh leaf
 * @tree: the tree
 * @smo: the change
 *
 * Context: any.
 * Return: the word.
 */
u64 crab_smo_first_word(const struct crab_tree *tree, const struct crab_smo *smo);

/**
 * crab_smo_last_word() - make the word of the last fresh leaf
 * @tree: the tree
 * @smo: the change
 * @tail: as for crab_smo_take()
 *
 * Context: any.
 * Return: the word that links to the leaf after @tail, or the end of the list.
 */
u64 crab_smo_last_word(const struct crab_tree *tree, const struct crab_smo *smo,
		       const struct crab_leaf *tail);

/**
 * crab_smo_write() - write the fresh leaves and make them durable (P7)
 * @write: the write
 * @smo: the change
 * @low: lowest key of the first leaf
 * @records: the records
 * @count: number of records
 * @split: number of records of the first leaf; the others go to the second
 * @tail: as for crab_smo_take()
 *
 * Context: under crab_tree.smo_lock.
 */
void crab_smo_write(struct crab_write *write, struct crab_smo *smo, u64 low,
		    const struct crab_record *records, u32 count, u32 split,
		    const struct crab_leaf *tail);

/**
 * crab_smo_link() - store the link of a leaf and make it durable (P8)
 * @write: the write
 * @pred: the leaf; NULL: the head of the list
 * @word: the link
 *
 * Context: under crab_tree.smo_lock.
 */
void crab_smo_link(struct crab_write *write, const struct crab_leaf *pred, u64 word);

/**
 * crab_smo_splice() - put the fresh leaves into the list in DRAM
 * @tree: the tree
 * @smo: the change
 * @pred: previous leaf; its range does not change, or it is in a write section
 * @after: next leaf
 *
 * Context: under crab_tree.smo_lock.
 */
void crab_smo_splice(struct crab_tree *tree, struct crab_smo *smo, struct crab_leaf *pred,
		     struct crab_leaf *after);

/**
 * crab_smo_replace() - replace one or two leaves by the fresh ones, whose records are in scratch
 * @write: the write
 * @smo: the change
 * @leaf: first leaf that is replaced
 * @last: last one
 * @count: number of records
 * @split: number of records of the first fresh leaf
 *
 * Context: under crab_tree.smo_lock; both leaves are locked.
 */
void crab_smo_replace(struct crab_write *write, struct crab_smo *smo, struct crab_leaf *leaf,
		      struct crab_leaf *last, u32 count, u32 split) __must_hold(&leaf->lock);

/**
 * crab_smo_release() - return a leaf to the pool
 * @write: the write
 * @number: number of the leaf; no durable link leads to it
 *
 * Context: under crab_tree.smo_lock.
 */
void crab_smo_release(struct crab_write *write, u64 number);

/**
 * crab_smo_bypass() - unlink a leaf, whose records are elsewhere or removed (P8)
 * @write: the write
 * @leaf: the leaf
 * @word: of crab_smo_verify_unlink()
 *
 * Context: under crab_tree.smo_lock; the leaf and the previous one are locked and in a write
 * section.
 */
void crab_smo_bypass(struct crab_write *write, struct crab_leaf *leaf, u64 word)
	__must_hold(&leaf->lock);

/* smo.c: hints */

/* The link of a leaf will be written; NULL: the link of the head */
void crab_smo_fetch_link(const struct crab_tree *tree, const struct crab_leaf *pred);

/* A leaf will be replaced by @n fresh ones of @count records each */
void crab_smo_fetch(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 n, u32 count);

/* A locked leaf will be unlinked */
void crab_smo_fetch_unlink(const struct crab_tree *tree, const struct crab_leaf *leaf);

/* split.c */

/**
 * crab_smo_add() - insert a key into a full leaf: split it, or append a leaf
 * @write: the write
 * @leaf: the leaf
 * @key: the key
 * @value: the value
 *
 * Context: under crab_tree.smo_lock; the leaf is locked.
 * Return: 0; or -ENOSPC or -EUCLEAN with nothing changed.
 */
int crab_smo_add(struct crab_write *write, struct crab_leaf *leaf, u64 key, u64 value)
	__must_hold(&leaf->lock);

/**
 * crab_smo_bound() - bound the lines that one operation cleans
 * @tree: the tree
 *
 * Context: any.
 * Return: lines.
 */
u64 crab_smo_bound(const struct crab_tree *tree);

/* merge.c */

/**
 * crab_smo_may_merge() - test whether a leaf can be merged with the next one
 * @leaf: the leaf
 * @most: records that the two may have
 *
 * Context: under crab_tree.smo_lock; a hint unless both are locked.
 * Return: true if the next leaf is empty, or they have @most records at most.
 */
bool crab_smo_may_merge(const struct crab_leaf *leaf, u32 most);

/**
 * crab_smo_balance() - replace a leaf and the next one by one or two fresh ones
 * @write: the write
 * @leaf: the leaf
 * @fresh: number of fresh leaves
 *
 * Context: under crab_tree.smo_lock; both leaves are locked.
 * Return: 0; or -ENOSPC or -EUCLEAN with nothing changed.
 */
int crab_smo_balance(struct crab_write *write, struct crab_leaf *leaf, u32 fresh)
	__must_hold(&leaf->lock);

/**
 * crab_smo_merge() - merge a leaf with the next one
 * @write: the write
 * @leaf: the leaf; crab_smo_may_merge() returned true
 * @most: records that they may have
 *
 * Context: may sleep; under crab_tree.smo_lock, no leaf is locked.
 * Return: 0; or with nothing changed -EAGAIN: writers filled them, -ENOMEM, -ENOSPC, -EUCLEAN.
 */
int crab_smo_merge(struct crab_write *write, struct crab_leaf *leaf, u32 most);

#endif /* CRABTREE_ENGINES_CRAB_SMO_H */
