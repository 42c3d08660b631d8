/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares parked entries of the parent nodes, which attach believes (park.c).
 *
 * Locking: see each function.
 */
#ifndef CRABTREE_ENGINES_NVTREE_PARK_H
#define CRABTREE_ENGINES_NVTREE_PARK_H

#include "nvtree.h"

#ifdef CRAB_NV_INSTANT

/**
 * crab_nv_unpark() - attach by the parked entries, without a read of the leaves
 * @tree: the tree, without leaves
 *
 * Context: attach.
 * Return: 0; -EAGAIN: attach must read the leaves, and the tree is as before; or another error.
 */
int crab_nv_unpark(struct nv_tree *tree);

/**
 * crab_nv_park() - park the entries: see crab_engine_ops.settle (P16)
 * @engine: the tree
 * @flow: of the detach
 * @root: out: the link to the first parked block, or 0
 *
 * Context: detach.
 * Return: 0, or an error if they cannot be parked.
 */
int crab_nv_park(struct crab_engine *engine, struct crab_flow *flow, u64 *root);

/**
 * crab_nv_first_init() - prepare for first reads
 * @tree: the tree
 * Context: attach.
 */
static inline void crab_nv_first_init(struct nv_tree *tree)
{
	spin_lock_init(&tree->first.lock);
}

/**
 * crab_nv_first_exit() - free the memory of first reads
 * @tree: the tree
 * Context: detach.
 */
void crab_nv_first_exit(struct nv_tree *tree);

/**
 * crab_nv_first_read() - read a leaf for the first time: verify it, and count its records
 * @tree: the tree
 * @leaf: the leaf, with NV_UNREAD
 *
 * A damaged leaf is quarantined, the pool is closed, and the damage is noted.
 *
 * Context: as crab_nv_find().
 */
void crab_nv_first_read(struct nv_tree *tree, const struct nv_place *leaf);

/**
 * crab_nv_touch() - before a leaf is used: crab_nv_first_read() unless it was read
 * @tree: the tree
 * @leaf: the leaf
 * Context: as crab_nv_first_read().
 */
static inline void crab_nv_touch(struct nv_tree *tree, const struct nv_place *leaf)
{
	/* Pairs with smp_store_release() in park.c: the count of the side is valid */
	if (leaf->side && unlikely(smp_load_acquire(&leaf->side->flags) & NV_UNREAD))
		crab_nv_first_read(tree, leaf);
}

/**
 * crab_nv_first_begin() - exclude first reads
 * @tree: the tree
 * Context: any; atomic until crab_nv_first_end().
 */
static inline void crab_nv_first_begin(struct nv_tree *tree)
	__acquires(&tree->first.lock)
{
	crab_lock(&tree->first.lock);
}

/**
 * crab_nv_first_end() - permit first reads again
 * @tree: the tree
 * Context: after crab_nv_first_begin().
 */
static inline void crab_nv_first_end(struct nv_tree *tree)
	__releases(&tree->first.lock)
{
	crab_unlock(&tree->first.lock);
}

#else

static inline int crab_nv_unpark(struct nv_tree *tree)
{
	return -EAGAIN;
}

static inline void crab_nv_first_init(struct nv_tree *tree)
{
}

static inline void crab_nv_first_exit(struct nv_tree *tree)
{
}

static inline void crab_nv_touch(struct nv_tree *tree, const struct nv_place *leaf)
{
}

static inline void crab_nv_first_begin(struct nv_tree *tree)
{
}

static inline void crab_nv_first_end(struct nv_tree *tree)
{
}

#endif

#endif /* CRABTREE_ENGINES_NVTREE_PARK_H */
