/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the structure modifications of the engine `nvtree`.
 *
 * Locking: nv_tree.smo_lock.
 */
#ifndef CRABTREE_ENGINES_NVTREE_SMO_H
#define CRABTREE_ENGINES_NVTREE_SMO_H

#include "nvtree.h"

/**
 * crab_nv_damaged() - the media of a leaf has changed under the store
 * @tree: the tree
 * @leaf: number of the leaf
 * @what: description
 * Context: under nv_tree.smo_lock.
 * Return: -EUCLEAN.
 */
int crab_nv_damaged(struct nv_tree *tree, u64 leaf, const char *what);

/**
 * crab_nv_smo_change() - insert, update or delete a key whose leaf has no room for an append
 * @write: the write
 * @key: the key
 * @value: the value; NULL: delete the key
 * @mode: of an insert
 * @old: out
 *
 * The leaf is split, replaced, merged with the next one, or unlinked; the change is in the fresh
 * leaves, so that their link commits it.
 *
 * Context: may sleep; under nv_tree.smo_lock, no leaf is locked.
 * Return: 0; with nothing changed -EEXIST, -ENOENT, -ENOMEM, -ENOSPC or -EUCLEAN.
 */
int crab_nv_smo_change(struct nv_write *write, u64 key, const u64 *value,
		       enum crab_insert_mode mode, struct crab_old *old);

/**
 * crab_nv_smo_unlink() - delete the last record of a leaf, and the leaf (P8)
 * @write: the write
 * @leaf: the leaf, not the first of the list
 *
 * Context: under nv_tree.smo_lock; the leaf is locked.
 * Return: 0, or -EUCLEAN with nothing changed.
 */
int crab_nv_smo_unlink(struct nv_write *write, const struct nv_place *leaf);

/**
 * crab_nv_smo_merge() - merge a leaf with the next one
 * @write: the write
 * @leaf: the leaf, not the last of the list, found with its range
 *
 * Context: may sleep; under nv_tree.smo_lock, no leaf is locked.
 * Return: 0; with nothing changed -EAGAIN if they do not fit in one leaf, or another error.
 */
int crab_nv_smo_merge(struct nv_write *write, const struct nv_place *leaf);

/**
 * crab_nv_smo_bound() - bound the lines that one operation cleans
 * @tree: the tree
 *
 * Context: any.
 * Return: lines.
 */
u64 crab_nv_smo_bound(const struct nv_tree *tree);

#endif /* CRABTREE_ENGINES_NVTREE_SMO_H */
