// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the option `lazy`: later writes, not attach, repair the traces of a power
 * cut. Only test builds have it.
 */

/**
 * DOC: lazy repair of fastfair
 *
 * Hwang et al. 2018, section 4.2, repair in later writes: a writer fixes a duplicate that it meets,
 * and one that reaches a node by its left neighbour adds the missing entry. Here a write completes
 * each node that it passes, before its first store, from the root down. On each level these are
 * the node that the level above leads to, and those to the right of it as far as the key:
 *
 *   1. a tail that is void by R2 ends (P10), or the gap over a slot that is void by R1 is closed
 *      (P9, P6 or P13)
 *   2. a node that its left neighbour led to gets its entry (P13), after both are completed
 *
 * A removal completes the ways to both neighbours, too: it stores to the left one on each level,
 * and takes the entry of the right one away.
 *
 *   power is cut        content that attach finds: the same at each step
 *   in step 1           the void slot, or the tail, is there or not
 *   in step 2           the node has its entry, or its left neighbour leads to it
 *
 * A node that is not on the way of any write stays as it is, also over a detach. No write depends
 * on it: a node with a tail is the left neighbour of a node without an entry, so each way to the
 * second one passes the first one.
 *
 * While there are traces, writes take ff.structure, and reads lock the leaf, as in a read-only
 * attach. A trace leaves the list after its node is complete, so a write that finds none needs no
 * ff.structure. The published variant reads without a lock, and repairs one duplicate only.
 *
 * Invariant: no write stores to a node that has a trace, except to complete it.
 *
 * Locking: ff.structure; a leaf is locked and in a write section while its slots are completed.
 */
#include <linux/slab.h>

#include "shared/lock.h"
#include "lazy.h"

/* Where the list has the trace of a node; its end if there is none */
static struct ff_trace **trace_find(struct ff *ff, u64 number)
{
	struct ff_trace **at = &ff->traces;

	while (*at && (*at)->node.number != number)
		at = &(*at)->next;
	return at;
}

static void slots_complete(struct ff_op *op, const struct ff_trace *trace)
{
	struct crab_side *side = trace->node.side;

	if (trace->node.level) {
		crab_ff_trace_slots(op, trace);
		return;
	}
	crab_lock(&side->lock);
	crab_side_begin(side);
	crab_ff_trace_slots(op, trace);
	crab_side_end(side);
	crab_unlock(&side->lock);
}

/* @passed: its left neighbour led to it */
static void node_complete(struct ff_op *op, const struct ff_node *node, bool passed)
{
	struct ff_trace **at = trace_find(op->ff, node->number), *trace = *at;

	if (!trace)
		return;
	slots_complete(op, trace);
	if (passed && !trace->has_entry)
		op->ff->repairs += crab_ff_adopt(op, node);
	/* Pairs with smp_load_acquire() in ff_is_lazy(): without traces, all nodes are complete */
	smp_store_release(at, trace->next);
	kfree(trace);
}

static void level_complete(struct ff_op *op, u64 key, u32 level)
{
	struct ff *ff = op->ff;
	struct ff_node right;
	struct ff_find find;
	bool passed = false;

	if (crab_ff_find(ff, key, level, &find))
		return;
	for (;;) {
		node_complete(op, &find.node, passed);
		if (crab_ff_next(ff, &find.node, &right) || key < right.low)
			return;
		find.node = right;
		passed = true;
	}
}

void crab_ff_complete(struct ff_op *op, u64 key)
{
	struct ff *ff = op->ff;
	u32 level;

	crab_ff_op_lock(op);
	crab_flow_pin();
	for (level = ff->levels; level--; )
		level_complete(op, key, level);
	crab_flow_unpin();
	if (ff->traces)
		return;
	ff->torn = false;
	ff->locked = ff->tuning.leaf_locks;
}

void crab_ff_complete_near(struct ff_op *op, u64 key)
{
	struct ff_node right;
	struct ff_find find;

	crab_ff_complete(op, key);
	if (crab_ff_find_exact(op->ff, key, 0, &find))
		return;
	right.low = key;
	crab_ff_complete(op, find.node.low ? find.node.low - 1 : 0);
	crab_ff_next(op->ff, &find.node, &right);
	crab_ff_complete(op, right.low);
}
