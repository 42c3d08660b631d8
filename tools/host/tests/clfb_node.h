/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file changes nodes of the engine `clfb` on the media, with a crc that is right.
 */
#ifndef CRAB_HOST_CLFB_NODE_H
#define CRAB_HOST_CLFB_NODE_H

#include "engines/clfb/clfb.h"
#include "engines/clfb/node.h"

/* The line of a node that counts */
static inline union clfb_line *node_line(struct clfb_tree *tree, u64 number)
{
	bool second = tree->copies > 1 && tree->second[number];

	return (union clfb_line *)(tree->base.media->base + crab_clfb_node_offset(tree, number)) + second;
}

static inline void node_seal(struct clfb_tree *tree, u64 number, union clfb_line *line)
{
	crab_clfb_line_put(line->byte + CLFB_CRC,
			   crab_clfb_line_crc(line, tree->base.geo.store_id, number, tree->copies > 1),
			   sizeof(u32));
}

/* Other children for a node */
static inline void node_rewrite(struct clfb_tree *tree, u64 number, const struct clfb_list *list)
{
	union clfb_line line, *to = node_line(tree, number);

	crab_clfb_line_encode(&line, list);
	line.byte[CLFB_MARK] = to->byte[CLFB_MARK];
	node_seal(tree, number, &line);
	*to = line;
}

#endif /* CRAB_HOST_CLFB_NODE_H */
