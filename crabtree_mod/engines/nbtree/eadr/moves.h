/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the structure modifications of the layout `eadr`.
 *
 * Locking: see each function.
 */
#ifndef CRABTREE_ENGINES_NBTREE_EADR_MOVES_H
#define CRABTREE_ENGINES_NBTREE_EADR_MOVES_H

#include "eadr.h"

/**
 * crab_ea_smo_link() - the link word to a leaf
 * @tree: the tree
 * @leaf: the leaf
 * Context: any.
 * Return: the word.
 */
u64 crab_ea_smo_link(const struct ea_tree *tree, const struct nb_leaf *leaf);

/**
 * crab_ea_smo_begin() - begin to move a full leaf to fresh ones (P5)
 * @write: the write
 * @key: a key of the leaf, which needs room
 * Context: may sleep; not in an RCU section.
 * Return: 0; with nothing changed -ENOMEM or -ENOSPC; or -EUCLEAN.
 */
int crab_ea_smo_begin(struct nb_write *write, u64 key);

/**
 * crab_ea_smo_unlink() - unlink the leaf of a key if it has no record (P8)
 * @write: the write
 * @key: a key of the leaf
 * Context: may sleep; not in an RCU section; under nb_tree.smo_lock; the index follows the list.
 * Return: false if it stays.
 */
bool crab_ea_smo_unlink(struct nb_write *write, u64 key);

/**
 * crab_ea_smo_finish() - complete the structure modification of a leaf (P7, P8)
 * @write: the write
 * @leaf: the leaf, whose @smo is set
 * Context: RCU.
 * Return: false if crab_ea_leaf_of() returned NULL, if a record of the leaf cannot be read, or if
 * the memory of a leaf has failed.
 */
bool crab_ea_smo_finish(struct nb_write *write, struct nb_leaf *leaf);

#endif /* CRABTREE_ENGINES_NBTREE_EADR_MOVES_H */
