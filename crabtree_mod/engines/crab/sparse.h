/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares how leaves that deletes left sparse are found and merged: off the write
 * path, and for an insert that finds the pool empty (sparse.c).
 */
#ifndef CRABTREE_ENGINES_CRAB_SPARSE_H
#define CRABTREE_ENGINES_CRAB_SPARSE_H

#include <linux/spinlock.h>
#include <linux/types.h>

struct crab_leaf;
struct crab_tree;
struct crab_write;

#define CRAB_SPARSE_NOTES	256	/* that are remembered */
#define CRAB_SPARSE_DUE		32	/* notes that are worth waking maintain for */
#define CRAB_SPARSE_STEPS	256U	/* leaves that a walk passes while it holds the structure */

/**
 * struct crab_walk - a walk around the list of leaves, in steps
 * @at: the least key of the leaf that is looked at next; a hint
 * @passed: leaves passed since the walk began
 */
struct crab_walk {
	u64 at;
	u64 passed;
};

/**
 * struct crab_sparse - where neighbours may be sparse enough for a merge
 * @lock: of @keys, @noted and @seen; innermost
 * @keys: least keys of leaves, as a ring: hints, the leaves themselves decide
 * @noted: how many were noted
 * @seen: how many of those were looked at, or lost
 * @lost: a note was lost, or none was ever taken: maintain has to sweep the list
 * @sweeping: maintain sweeps; under crab_tree.structure, as is all that follows
 * @sweep: where maintain is
 * @compact: where the search for room is
 * @looked: leaves that walks have looked at since attach
 */
struct crab_sparse {
	spinlock_t lock;
	u64 keys[CRAB_SPARSE_NOTES];
	u32 noted;
	u32 seen;
	bool lost;
	bool sweeping;
	struct crab_walk sweep;
	struct crab_walk compact;
	u64 looked;
};

/** crab_sparse_init() - attach: nothing is noted, all leaves have to be looked at once */
void crab_sparse_init(struct crab_tree *tree);

/**
 * crab_sparse_note() - a record was removed from a leaf, which stays
 * @tree: the tree
 * @leaf: the leaf, locked
 * Return: true if it is time for maintain.
 */
bool crab_sparse_note(struct crab_tree *tree, const struct crab_leaf *leaf);

/**
 * crab_sparse_touch() - a structure change gave a leaf a new neighbour or a new size
 * @tree: the tree
 * @leaf: the leaf, in the list
 * Context: any; the caller holds crab_tree.structure.
 */
void crab_sparse_touch(struct crab_tree *tree, const struct crab_leaf *leaf);

/** crab_sparse_is_due() - is it time for maintain? any context, no lock: a hint */
bool crab_sparse_is_due(const struct crab_sparse *sparse);

/**
 * crab_sparse_merge() - maintain: look at a leaf that was noted, or sweep a stretch of the list
 * @tree: the tree
 * Context: may sleep; takes crab_tree.structure.
 *
 * One call merges once at most, and passes at most CRAB_SPARSE_STEPS leaves.
 *
 * Return: false if there was nothing to look at.
 */
bool crab_sparse_merge(struct crab_tree *tree);

/**
 * crab_sparse_compact() - merge neighbours until a change that lacked free leaves can go on
 * @write: the write that got -ENOSPC; it has no leaf locked
 * Context: may sleep; gives crab_tree.structure back and takes it again on the way.
 * Return: 0 if there is room now; -ENOSPC: no two neighbours can be merged; -ENOMEM.
 */
int crab_sparse_compact(struct crab_write *write);

#endif /* CRABTREE_ENGINES_CRAB_SPARSE_H */
