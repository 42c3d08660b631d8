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

static inline __le64 *ea_link_at(const struct ea_tree *tree, const struct nb_leaf *leaf)
{
	return &nb_leaf_media(&tree->nb, leaf)->head.next;
}

/**
 * struct ea_plan - how a full leaf moves; it counts until the leaf moves
 * @birth: birth of the leaf
 * @split: lowest key of the second fresh leaf, or CRAB_KEY_EMPTY
 * @leaves: fresh leaves
 */
struct ea_plan {
	u64 birth;
	u64 split;
	u32 leaves;
};

/**
 * crab_ea_plan() - choose how many fresh leaves replace a leaf, and where the second one begins
 * @tree: the tree
 * @leaf: a full leaf
 * @key: the key that needs room
 * @plan: out; it does not matter once the leaf moves
 * Context: RCU.
 * Return: 0; or -EUCLEAN: the media has changed under the store.
 */
int crab_ea_plan(struct ea_tree *tree, const struct nb_leaf *leaf, u64 key, struct ea_plan *plan);

/**
 * crab_ea_link_passes() - whether a link leads to another leaf than before, or ends the list
 * @tree: the tree
 * @before: the leaf that has the link; NULL: it is that of the head
 * @at: the link
 * @old: the word that it was
 * Context: RCU.
 * Return: false if the media has changed under the store, or @before moves.
 */
bool crab_ea_link_passes(const struct ea_tree *tree, const struct nb_leaf *before,
			 const __le64 *at, u64 old);

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
