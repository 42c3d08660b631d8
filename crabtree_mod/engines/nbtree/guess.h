/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares how a key leads to a leaf by a shortcut, which the paper does not have.
 *
 * Locking: RCU for searches, nb_tree.smo_lock for changes of the table.
 */
#ifndef CRABTREE_ENGINES_NBTREE_GUESS_H
#define CRABTREE_ENGINES_NBTREE_GUESS_H

#include "shared/shortcut.h"
#include "nbtree.h"

/* A shortcut has no room for the tag of an address */
#if defined(CONFIG_KASAN_SW_TAGS) || defined(CONFIG_KASAN_HW_TAGS)
#define NB_SHORTENS	false
#else
#define NB_SHORTENS	true
#endif

/**
 * nb_guess() - find the leaf of a key by a shortcut, or by the index where there is none
 * @tree: the tree
 * @key: any
 * Context: RCU.
 * Return: a leaf that the index has, or had in this RCU section. A shortcut may lead to one whose
 * range does not hold the key: then crab_index_find() is to be called.
 */
static __always_inline struct nb_leaf *nb_guess(const struct nb_tree *tree, u64 key)
{
	void *child = crab_shortcut_find(&tree->index, key);

	if (unlikely(!child))
		return crab_index_find(&tree->index, key);
	/* The highest bits of an address are equal, so that its sign is enough */
	return (void *)((long)((unsigned long)child << CRAB_SHORTCUT_BITS) >> CRAB_SHORTCUT_BITS);
}

/**
 * crab_nb_shorten_all() - make the shortcuts at attach
 * @tree: the tree, whose index is built
 * Context: attach; may sleep.
 */
void crab_nb_shorten_all(struct nb_tree *tree);

/**
 * crab_nb_shorten() - maintain: do a step of the growth of the shortcuts
 * @engine: the tree
 * Context: may sleep.
 * Return: true if there may be more to do.
 */
bool crab_nb_shorten(struct crab_engine *engine);

/**
 * crab_nb_shorten_is_due() - whether crab_nb_shorten() has something to do
 * @engine: the tree
 * Context: any; a hint.
 * Return: true if so.
 */
bool crab_nb_shorten_is_due(struct crab_engine *engine);

#endif /* CRABTREE_ENGINES_NBTREE_GUESS_H */
