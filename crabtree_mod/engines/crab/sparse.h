/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares how slotted leaves that deletes left sparse are noted, and merged off
 * the write path (sparse.c).
 */
#ifndef CRABTREE_ENGINES_CRAB_SPARSE_H
#define CRABTREE_ENGINES_CRAB_SPARSE_H

#include <linux/spinlock.h>
#include <linux/types.h>

struct crab_leaf;
struct crab_tree;

#define CRAB_SPARSE_NOTES	256	/* that are remembered */
#define CRAB_SPARSE_DUE		32	/* notes that are worth waking maintain for */

/**
 * struct crab_sparse - where leaves have become sparse, as far as anybody remembers
 * @lock: of all below; innermost
 * @keys: of their ranges, as a ring: hints, the leaves themselves decide
 * @noted: how many were noted
 * @seen: how many of those were looked at, or lost
 */
struct crab_sparse {
	spinlock_t lock;
	u64 keys[CRAB_SPARSE_NOTES];
	u32 noted;
	u32 seen;
};

/** crab_sparse_init() - nothing noted */
void crab_sparse_init(struct crab_sparse *sparse);

/**
 * crab_sparse_note() - a record was removed from a leaf, which stays
 * @tree: the tree
 * @leaf: the leaf, locked
 * Return: true if it is time for maintain.
 */
bool crab_sparse_note(struct crab_tree *tree, const struct crab_leaf *leaf);

/** crab_sparse_is_due() - is it time for maintain? any context, no lock: a hint */
bool crab_sparse_is_due(const struct crab_sparse *sparse);

/**
 * crab_sparse_merge() - maintain: look at one leaf that was noted, and merge it if that pays
 * @tree: the tree
 * Context: may sleep; takes crab_tree.structure.
 * Return: false if there was none.
 */
bool crab_sparse_merge(struct crab_tree *tree);

#endif /* CRABTREE_ENGINES_CRAB_SPARSE_H */
