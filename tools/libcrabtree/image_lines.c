// SPDX-License-Identifier: GPL-2.0
/*
 * This file walks the nodes of the engine clfb, whose lines have no links to each other: a search
 * for the lowest key of each leaf passes all of them.
 *
 * Invariants: the file does not change. The engine's search ends for any content of the media, and
 * the range of a leaf ends above the key that led to it.
 */
#include <errno.h>

#include "engines/clfb/node.h"
#include "image_leaves.h"
#include "store/store_priv.h"

/* A node of a level, and the range of keys that it was found for so far */
struct line {
	uint64_t node;
	uint64_t low;
	bool found;
};

static int line_report(const struct walk *walk, const struct clfb_tree *tree, uint32_t level,
		       const struct line *line, uint64_t end)
{
	struct crabtree_image_leaf node = {
		.number = line->node,
		.offset = crab_clfb_node_offset(tree, line->node),
		.level = level,
		.low = line->low,
		.high = end - 1,
	};

	return line->found ? walk_visit(walk, &node) : 0;
}

static int leaf_report(const struct walk *walk, const struct clfb_place *place)
{
	struct crabtree_image_leaf leaf = {
		.number = place->leaf,
		.offset = crab_leaf_offset(&walk->geo, place->leaf),
		.low = place->low,
		.high = place->high - 1,
	};

	return walk_visit(walk, &leaf);
}

/* Finds the leaf of a key; false: the search ended at a node of @level, or above it */
static bool find_below(const struct clfb_tree *tree, uint64_t key, uint32_t level,
		       struct clfb_place *place)
{
	place->step[level].node = UINT64_MAX;
	crab_clfb_find(tree, key, place);
	return place->step[level].node != UINT64_MAX;
}

/* The nodes of a level; -EUCLEAN: a node above it is quarantined */
static int walk_nodes(const struct walk *walk, const struct clfb_tree *tree, uint32_t level)
{
	struct line line = { 0 };
	struct clfb_place place;
	int err = 0, damaged = 0;
	uint64_t key;

	for (key = 0; key != CRAB_KEY_EMPTY && !err; key = place.high) {
		if (!find_below(tree, key, level, &place)) {
			damaged = -EUCLEAN;
			continue;
		}
		if (line.found && line.node == place.step[level].node)
			continue;
		err = line_report(walk, tree, level, &line, key);
		line = (struct line){ place.step[level].node, key, true };
	}
	return err ? err : line_report(walk, tree, level, &line, key) ?: damaged;
}

static int walk_last(const struct walk *walk, const struct clfb_tree *tree)
{
	struct clfb_place place;
	int err = 0, damaged = 0;
	uint64_t key;
	bool below;

	for (key = 0; key != CRAB_KEY_EMPTY && !err; key = place.high) {
		below = find_below(tree, key, 1, &place) || !tree->levels;
		if (!below || place.leaf >= walk->geo.leaves)
			damaged = -EUCLEAN;
		else
			err = leaf_report(walk, &place);
	}
	return err ? err : damaged;
}

int walk_lines(const struct walk *walk)
{
	const struct clfb_tree *tree = clfb_tree_of(walk->store->engine);
	uint32_t level;
	int err = tree->lost ? -EUCLEAN : 0;

	for (level = tree->levels; level && !err; level--)
		err = walk_nodes(walk, tree, level);
	return err ? err : walk_last(walk, tree);
}
