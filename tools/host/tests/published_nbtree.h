/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the NBTree of Zhang et al. 2024 as published, in memory: Algorithms 1 to 5,
 * with a place for another task at each shared access. test_published.c judges it.
 */
#ifndef CRAB_HOST_PUBLISHED_NBTREE_H
#define CRAB_HOST_PUBLISHED_NBTREE_H

#include <linux/types.h>

#define PUBLISHED_SLOTS	4U	/* of a leaf */

struct published;

/**
 * published_create() - make an empty tree
 * @mended: with the obvious repairs: a search that has seen the copy of its leaf reads the old leaf
 *	again; an update synchronises equal values, too, and changes the old leaf by compare-and-swap
 *
 * Return: the tree. Keys and values are at least 1 and have 62 bits.
 */
struct published *published_create(bool mended);
void published_destroy(struct published *tree);

/* Insert, or update if the key is there. Return: 0 */
int published_insert(struct published *tree, u64 key, u64 value);

/* Return: 0, or -ENOENT if the leaf did not have the key */
int published_update(struct published *tree, u64 key, u64 value);
int published_delete(struct published *tree, u64 key);
int published_search(struct published *tree, u64 key, u64 *value);

#endif /* CRAB_HOST_PUBLISHED_NBTREE_H */
