/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares how leaves that deletes left sparse are found and merged: off the write
 * path, and for an insert that finds the pool empty (underfull.c).
 */
#ifndef CRABTREE_ENGINES_CRAB_UNDERFULL_H
#define CRABTREE_ENGINES_CRAB_UNDERFULL_H

#include <linux/spinlock.h>
#include <linux/types.h>

struct crab_leaf;
struct crab_tree;
struct crab_write;

#define CRAB_UNDERFULL_NOTES	256	/* notes that are kept */
#define CRAB_UNDERFULL_DUE		32	/* notes that are worth waking maintain for */
#define CRAB_UNDERFULL_STEPS	256U	/* leaves that a walk passes while it holds the structure */

/**
 * struct crab_walk - a walk around the list of leaves, in steps
 * @at: the lowest key of the leaf that is examined next; a hint
 * @passed: leaves passed since the walk began
 */
struct crab_walk {
	u64 at;
	u64 passed;
};

/**
 * struct crab_underfull - where neighbours may be sparse enough for a merge
 * @lock: of @keys, @noted and @seen, and of crab_tree.noted and crab_tree.watched; innermost
 * @keys: lowest keys of leaves, as a ring: hints, which maintain verifies
 * @noted: how many were noted
 * @seen: how many of those were looked at, or lost
 * @lost: a note was lost, or none was ever taken: maintain has to sweep the list
 * @sweeping: maintain sweeps; under crab_tree.smo_lock, as is all that follows
 * @sweep: where maintain is
 * @compact: where the search for room is
 * @looked: leaves that walks have looked at since attach
 */
struct crab_underfull {
	spinlock_t lock;
	u64 keys[CRAB_UNDERFULL_NOTES];
	u32 noted;
	u32 seen;
	bool lost;
	bool sweeping;
	struct crab_walk sweep;
	struct crab_walk compact;
	u64 looked;
};

/**
 * crab_underfull_init() - begin without notes: maintain looks at all leaves once
 * @tree: the tree
 * Context: attach.
 */
void crab_underfull_init(struct crab_tree *tree);

/**
 * crab_underfull_note() - a record was removed from a leaf, which stays
 * @tree: the tree
 * @leaf: the leaf, locked
 * Return: true if it is time for maintain.
 */
bool crab_underfull_note(struct crab_tree *tree, const struct crab_leaf *leaf);

/**
 * crab_underfull_touch() - note that a structure modification changed a leaf's neighbour or size
 * @tree: the tree
 * @leaf: the leaf, in the list
 * Context: any; the caller holds crab_tree.smo_lock.
 */
void crab_underfull_touch(struct crab_tree *tree, const struct crab_leaf *leaf);

/**
 * crab_underfull_is_due() - whether it is time for maintain
 * @underfull: of the tree
 * Context: any, without a lock: a hint.
 * Return: true if it is.
 */
bool crab_underfull_is_due(const struct crab_underfull *underfull);

/**
 * crab_underfull_merge() - maintain: look at a leaf that was noted, or sweep a stretch of the list
 * @tree: the tree
 * Context: may sleep; takes crab_tree.smo_lock.
 *
 * One call merges once at most, and passes at most CRAB_UNDERFULL_STEPS leaves.
 *
 * Return: false if there was nothing to look at.
 */
bool crab_underfull_merge(struct crab_tree *tree);

/**
 * crab_underfull_compact() - merge neighbours until a change that lacked free leaves can go on
 * @write: the write that got -ENOSPC; it has no leaf locked
 * Context: may sleep; releases crab_tree.smo_lock and takes it again.
 * Return: 0 if there is room now; -ENOSPC: no two neighbours can be merged, or other tasks deleted
 * records all the time; -EINTR if it was stopped; -ENOMEM; -EUCLEAN.
 */
int crab_underfull_compact(struct crab_write *write);

#endif /* CRABTREE_ENGINES_CRAB_UNDERFULL_H */
