/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the structure modifications of the engine `nbtree`.
 *
 * Locking: nb_tree.smo_lock.
 */
#ifndef CRABTREE_ENGINES_NBTREE_SMO_H
#define CRABTREE_ENGINES_NBTREE_SMO_H

#include "nbtree.h"

/**
 * crab_nb_damaged() - the media of a leaf has changed under the store
 * @tree: the tree
 * @leaf: the leaf
 * @what: description
 * Context: under nb_tree.smo_lock.
 * Return: -EUCLEAN.
 */
int crab_nb_damaged(struct nb_tree *tree, const struct nb_leaf *leaf, const char *what);

/**
 * crab_nb_smo_word() - the link from a leaf to the one after it
 * @tree: the tree
 * @self: offset of the header that has the link
 * @birth: birth of the leaf there
 * @high: lowest key of the leaf after it, or CRAB_KEY_EMPTY
 * Context: under nb_tree.smo_lock.
 * Return: the word.
 */
u64 crab_nb_smo_word(const struct nb_tree *tree, u64 self, u64 birth, u64 high);

/**
 * crab_nb_smo_split() - make room in the leaf of a key (P7, P8)
 * @write: a write that holds nb_tree.smo_lock
 * @key: the key
 * Context: may sleep; no leaf is locked.
 * Return: 0; with nothing changed -ENOMEM, -ENOSPC or -EUCLEAN.
 */
int crab_nb_smo_split(struct nb_write *write, u64 key);

/**
 * crab_nb_smo_unlink() - unlink the leaf of a key if it has no record (P20, P8)
 * @write: a write that holds nb_tree.smo_lock
 * @key: the key
 * Context: may sleep; no leaf is locked.
 */
void crab_nb_smo_unlink(struct nb_write *write, u64 key);

/**
 * crab_nb_smo_bound() - bound the lines that one operation cleans
 * @tree: the tree
 * Context: any.
 * Return: lines.
 */
u64 crab_nb_smo_bound(const struct nb_tree *tree);

#endif /* CRABTREE_ENGINES_NBTREE_SMO_H */
