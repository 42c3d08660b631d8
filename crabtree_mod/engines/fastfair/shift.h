/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares stores to a node in place.
 *
 * Locking: the node is locked and in a write section, or it is an inner one under ff.structure.
 */
#ifndef CRABTREE_ENGINES_FASTFAIR_SHIFT_H
#define CRABTREE_ENGINES_FASTFAIR_SHIFT_H

#include "tree.h"

/* The first slot of the same line */
static inline struct ff_dslot *ff_line(const struct ff_dslot *slot)
{
	return (struct ff_dslot *)((unsigned long)slot & ~(CRAB_LINE - 1UL));
}

/**
 * crab_ff_shift_in() - insert a slot by shifting to the right (P6; above the leaves P13)
 * @op: the write
 * @node: the node, which has room
 * @pos: the slot
 * @key: the key
 * @value: the value
 * Context: see above.
 */
void crab_ff_shift_in(struct ff_op *op, const struct ff_node *node, u32 pos, u64 key, u64 value);

/**
 * crab_ff_shift_out() - remove a slot by shifting to the left (P6; above the leaves P13)
 * @op: the write
 * @node: the node
 * @pos: the slot
 * Context: see above.
 */
void crab_ff_shift_out(struct ff_op *op, const struct ff_node *node, u32 pos);

/**
 * crab_ff_update() - store a value in place (P6)
 * @op: the write
 * @node: the leaf
 * @pos: its slot
 * @value: the value
 * Context: see above.
 */
void crab_ff_update(struct ff_op *op, const struct ff_node *node, u32 pos, u64 value);

/**
 * crab_ff_end() - let the slots end before a slot (P10)
 * @op: the write
 * @node: the node
 * @pos: the slot
 * Context: see above.
 */
void crab_ff_end(struct ff_op *op, const struct ff_node *node, u32 pos);

/**
 * crab_ff_append() - append the slots of another node, which stay void for now (P11, P6)
 * @op: the write
 * @node: the node, which has room
 * @from: the other one, not empty
 * Context: see above.
 */
void crab_ff_append(struct ff_op *op, const struct ff_node *node, const struct ff_node *from);

/**
 * crab_ff_link() - store the link of a node to the next one of its level (P8)
 * @op: the write
 * @node: the node
 * @link: the word
 * Context: see above.
 */
void crab_ff_link(struct ff_op *op, const struct ff_node *node, u64 link);

#endif /* CRABTREE_ENGINES_FASTFAIR_SHIFT_H */
