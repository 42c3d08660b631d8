/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares access to the nodes on the media, and to the root word.
 *
 * Invariant: node lines, the log and the root word are read and written by these functions only.
 *
 * Locking: clfb_tree.lock.
 */
#ifndef CRABTREE_ENGINES_CLFB_NODE_H
#define CRABTREE_ENGINES_CLFB_NODE_H

#include "clfb.h"

/**
 * crab_clfb_node_area() - bytes before the pool
 * @leaves: leaves of the pool
 * @copies: lines of a node
 * Context: any.
 * Return: bytes, as &crab_layout.before_pool returns them.
 */
static inline u64 crab_clfb_node_area(u64 leaves, u32 copies)
{
	return (1 + leaves * copies) * CRAB_LINE;
}

/**
 * crab_clfb_node_offset() - place of the lines of a node
 * @tree: the tree
 * @number: of the node
 * Context: any.
 * Return: its offset in the region; clfb_tree.copies lines.
 */
static __always_inline u64 crab_clfb_node_offset(const struct clfb_tree *tree, u64 number)
{
	return CRAB_AREA_OFFSET + CRAB_LINE * (1 + tree->copies * number);
}

/* Has a node two lines? */
static __always_inline bool clfb_is_twin(const struct clfb_tree *tree)
{
	return tree->copies > 1;
}

/* A line of a node on the media */
static __always_inline __le64 *clfb_node_media(const struct clfb_tree *tree, u64 number, u32 copy)
{
	u8 *nodes = tree->base.media->base + crab_clfb_node_offset(tree, 0);
	u32 bytes = tree->copies * (u32)CRAB_LINE;

	/* A search waits for the number at each level, and for nothing but one product after it */
	return (__le64 *)(nodes + copy * CRAB_LINE + number * bytes);
}

/**
 * crab_clfb_node_read() - read the line of a node that counts
 * @tree: the tree
 * @number: of the node, below the number of leaves
 * @line: out
 * Context: clfb_tree.lock, or attach.
 * Return: false if it cannot be decoded, or has changed meanwhile.
 */
static __always_inline bool crab_clfb_node_read(const struct clfb_tree *tree, u64 number,
						union clfb_line *line)
{
	u32 copy = clfb_is_twin(tree) ? tree->second[number] : 0;

	if (unlikely(tree->broken) && tree->broken_node == number)
		*line = tree->log;
	else if (!crab_clfb_line_load(tree->base.media, clfb_node_media(tree, number, copy), line))
		return false;
	return crab_clfb_line_holds(line);
}

/**
 * crab_clfb_node_whole() - verify the crc of a line
 * @tree: the tree
 * @number: of the node
 * @line: the line
 * Context: any.
 * Return: true if it is a line of this node.
 */
bool crab_clfb_node_whole(const struct clfb_tree *tree, u64 number, const union clfb_line *line);

/**
 * crab_clfb_node_open() - attach: find the line of a node that counts, and verify its crc
 * @tree: the tree
 * @number: of the node, below the number of leaves
 * @line: out
 *
 * A node whose update a power cut has interrupted is read from the log.
 *
 * Context: attach; the memory of the node can be read.
 * Return: NULL, or a description of the damage.
 */
const char *crab_clfb_node_open(struct clfb_tree *tree, u64 number, union clfb_line *line);

/**
 * crab_clfb_node_fault() - verify a node line against its place in the tree
 * @tree: the tree
 * @line: the line, which can be decoded
 * @level: level of the node
 * @place: range of the node
 * Context: any.
 * Return: NULL, or a description of the damage.
 */
const char *crab_clfb_node_fault(const struct clfb_tree *tree, const union clfb_line *line,
				 u32 level, const struct clfb_place *place);

/**
 * crab_clfb_node_seal() - set the mark and the crc of a line for a fresh node
 * @tree: the tree
 * @number: of the node
 * @line: the line
 * Context: as crab_clfb_node_read().
 */
void crab_clfb_node_seal(const struct clfb_tree *tree, u64 number, union clfb_line *line);

/**
 * crab_clfb_node_fresh() - write a node that nothing names yet
 * @write: the write
 * @number: of the node
 * @line: of crab_clfb_node_seal()
 * Context: clfb_tree.lock for writing, pinned; the caller fences.
 */
void crab_clfb_node_fresh(struct clfb_write *write, u64 number, const union clfb_line *line);

/**
 * crab_clfb_node_update() - replace the line of a node in use (P13)
 * @write: the write
 * @number: of the node
 * @line: its new content
 * Context: clfb_tree.lock for writing, pinned.
 */
void crab_clfb_node_update(struct clfb_write *write, u64 number, union clfb_line *line);

/**
 * crab_clfb_log_holds() - whether the log line can be read and written
 * @tree: the tree
 * Context: attach.
 * Return: true if so, or if the layout has none.
 */
bool crab_clfb_log_holds(const struct clfb_tree *tree);

/**
 * crab_clfb_node_restore() - repair: write the node back whose update was interrupted
 * @tree: the tree
 * @flow: the caller's flow
 * Context: the region belongs to the caller; the caller fences.
 */
void crab_clfb_node_restore(struct clfb_tree *tree, struct crab_flow *flow);

/**
 * crab_clfb_node_settle() - repair: clean the lines of a node, and void a torn one
 * @tree: the tree
 * @flow: the caller's flow
 * @number: of the node, which is in use
 * Context: the region belongs to the caller; the caller fences before any update.
 */
void crab_clfb_node_settle(const struct clfb_tree *tree, struct crab_flow *flow, u64 number);

/**
 * crab_clfb_root_word() - the root word
 * @store_id: of the store
 * @number: of the root
 * @levels: of nodes; 0: the root is a leaf
 * Context: any.
 * Return: the word.
 */
u64 crab_clfb_root_word(u32 store_id, u64 number, u32 levels);

/**
 * crab_clfb_root_store() - write the root word
 * @flow: the caller's flow
 * @store_id: of the store
 * @number: of the root
 * @levels: of nodes
 * Context: the caller fences.
 */
void crab_clfb_root_store(struct crab_flow *flow, u32 store_id, u64 number, u32 levels);

#endif /* CRABTREE_ENGINES_CLFB_NODE_H */
