/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the data of `crabctl tree`: one walk over the nodes collects all that the
 * text, the JSON object and the picture show.
 */
#ifndef CRABCTL_TREE_H
#define CRABCTL_TREE_H

#include "crabctl.h"

#include <crabtree_image.h>

#define TREE_LEVELS	16
#define TREE_BINS	10	/* of the histogram of fill */

/**
 * struct tree - the shape of a tree
 * @target: the image
 * @info: of its store
 * @slots: records that a leaf can hold
 * @nodes: number of nodes of each level; level 0: the leaves
 * @records: in all leaves
 * @quarantined: leaves that cannot be read
 * @complete: the walk reached the end of each level
 * @bins: leaves by fill; the last bin includes full ones
 * @fill: percent of each leaf, in the order of keys
 * @room: leaves for which @fill has memory
 * @list: the first leaves
 * @listed: how many
 * @limit: how many at most
 * @wanted: number of the leaf to show in detail
 * @want: there is such a number
 * @found: it is in use: @one is that leaf
 * @one: see above
 * @svg: name of the file for the picture, or NULL
 */
struct tree {
	struct target *target;
	struct crabtree_info info;
	uint64_t slots;
	uint64_t nodes[TREE_LEVELS];
	uint64_t records;
	uint64_t quarantined;
	bool complete;
	uint64_t bins[TREE_BINS];
	uint8_t *fill;
	uint64_t room;
	struct crabtree_image_leaf *list;
	uint64_t listed;
	uint64_t limit;
	uint64_t wanted;
	bool want;
	bool found;
	struct crabtree_image_leaf one;
	const char *svg;
};

/* tree_print.c */
void tree_print(const struct tree *tree);
void tree_print_json(const struct tree *tree);

/* tree_svg.c: EXIT_OK, or EXIT_FAILED with a message */
int tree_draw(const struct tree *tree);

#endif /* CRABCTL_TREE_H */
