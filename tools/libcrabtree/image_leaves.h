/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares a walk over the nodes of a tree on the media: image_leaves.c follows the
 * links of lists, image_lines.c the node lines of clfb.
 */
#ifndef CRABTREE_IMAGE_LEAVES_H
#define CRABTREE_IMAGE_LEAVES_H

#include "crabtree_image.h"
#include "image.h"

/**
 * struct walk - a walk
 * @shape: image_leaves.c: the layout
 * @media: the file
 * @store: the attached store
 * @geo: its geometry
 * @fn: called for each node
 * @arg: argument of @fn
 */
struct walk {
	const struct shape *shape;
	struct crab_media *media;
	struct crab_store *store;
	struct crab_geometry geo;
	crabtree_image_leaf_fn *fn;
	void *arg;
};

/**
 * walk_visit() - report a node
 * @walk: the walk
 * @leaf: the node; that of a leaf gets its number of records
 * Return: the result of the caller's function.
 */
int walk_visit(const struct walk *walk, struct crabtree_image_leaf *leaf);

/**
 * walk_lines() - walk the nodes and leaves of a store of clfb
 * @walk: the walk
 * Return: as crabtree_image_leaves().
 */
int walk_lines(const struct walk *walk);

#endif /* CRABTREE_IMAGE_LEAVES_H */
