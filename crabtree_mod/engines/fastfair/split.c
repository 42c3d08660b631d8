// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements splits, entries in the level above, and the growth of the root.
 */

/**
 * DOC: splits of fastfair
 *
 * A split (FAIR, Hwang et al. 2018, section III-B) writes the upper half to a fresh node, with the
 * new slot if its key is not below the lowest key there (P7), links it (P8), ends the old node
 * (P10) and inserts the new slot into it, if it goes there (P6). Then the fresh node gets an entry
 * in the level above (P13), which may split as well:
 *
 *   power is cut        content that attach finds
 *   before P7           before the insert; junk in a free block
 *   from P7 to P8       before it; or after it, if the link is new and the new slot was copied, too
 *   from P8 to P10      the same; the upper half is in both nodes, void in the left one by R2
 *   from P10 to P6      before or after it
 *   from P6 to P13      after it; the fresh node has no entry: its left neighbour leads to it
 *
 * The published split copies the new record to the linked sibling without a lock, and takes the
 * first key of the sibling as its lowest one, which a delete may move. Here the sibling is complete
 * before it is linked, and crab_dhead.low never changes. In an inner node the middle key becomes
 * `low` of the fresh one, and its link becomes `first`.
 *
 * A root with a sibling grows: a fresh root without entries (P7), then the word in the head, which
 * is durable with the entry of the sibling (P13). Until then the head may name the old root, whose
 * level is complete. A leaf splits only if the pool has the blocks for all levels that split with
 * it, so that a full store, too, has an entry for each node. An insert that finds fewer waits for
 * the readers of removed nodes; no other task removes nodes meanwhile. If there is no memory for
 * the side of a fresh inner node, the node below has no entry until the next attach adds it.
 * Searches find it by its left neighbour.
 *
 * The media may change meanwhile: before a word names the fresh node, its slots are compared with
 * those that they were copied from. So memory that reads all ones at one of the two times, and as
 * it should before and after that, loses no record.
 *
 * Invariant: a node is complete and durable before any word names it.
 *
 * Locking: ff.structure; and a leaf is locked and in a write section.
 */
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/math.h>

#include "shared/lock.h"
#include "shift.h"

/* Allocates a block and its side, and leaves @leave; FF_NONE: no block, or no memory */
static u64 fresh_alloc(struct ff *ff, u32 leave, int *err)
{
	struct crab_spare spare;
	struct crab_side *side;

	*err = crab_pool_alloc(&ff->pool, &spare, 1, leave);
	if (*err)
		return FF_NONE;
	side = crab_side_make(&ff->sides, spare.leaf, GFP_NOIO | __GFP_NOWARN);
	if (side)
		return spare.leaf;
	crab_pool_free(&ff->pool, spare.leaf);
	*err = -ENOMEM;
	return FF_NONE;
}

/* How many blocks the levels above a leaf need if the leaf splits; the root may grow */
static int split_needs(struct ff *ff, u64 key, u32 *blocks)
{
	struct ff_find find;
	int err;

	*blocks = 0;
	do
		err = crab_ff_find_exact(ff, key, *blocks + 1, &find);
	while (!err && find.node.side->count == ff->slots && ++*blocks);
	if (err != -ENOENT)
		return err;
	++*blocks;
	return 0;
}

int crab_ff_op_reserve(struct ff_op *op, u64 key)
{
	struct crab_pool *pool = &op->ff->pool;
	bool newly = !op->structure;
	u32 above;
	int err;

	crab_ff_op_lock(op);
	if (newly)
		return 0;
	err = split_needs(op->ff, key, &above);
	if (err)
		return err;
	op->fresh = fresh_alloc(op->ff, above, &err);
	if (err == -ENOSPC && crab_pool_wait(pool))
		op->fresh = fresh_alloc(op->ff, above, &err);
	return err;
}

/* Stores the header of a fresh node, with the next birth; its slots are stored next */
static void fresh_begin(struct ff_op *op, u64 number, u64 low, u32 level, u64 first, u64 next,
			struct ff_node *node)
{
	struct ff *ff = op->ff;
	const struct crab_geometry *geo = &ff->base.geo;
	struct ff_dnode *d = ff_media(ff, number);
	struct crab_head head = {
		.self = crab_leaf_offset(geo, number), .birth = ff->birth + 1, .low = low,
		.own = level, .next = next,
	};

	WRITE_ONCE(ff->birth, head.birth);
	if (!next)
		head.next = crab_link_end(geo->store_id, head.self, head.birth);
	crab_head_store(op->flow, geo->store_id, &head);
	crab_store(op->flow, &d->first, first);
	crab_store(op->flow, &d->zero, 0);
	*node = (struct ff_node) {
		.side = crab_side(&ff->sides, number), .number = number, .low = low,
		.level = level, .link = crab_link_to(geo, number, head.birth),
	};
	WRITE_ONCE(node->side->count, 0);
	/* Pairs with smp_rmb() in extra_enter(): a search that sees these flags sees the header */
	smp_store_release(&node->side->flags, FF_USED);
}

static void fresh_add(struct ff_op *op, const struct ff_node *node, u64 key, u64 value)
{
	struct ff_dslot *slot = ff_slot(op->ff, node->number, node->side->count);

	crab_store(op->flow, &slot->key, key);
	crab_store(op->flow, &slot->value, value);
	WRITE_ONCE(node->side->count, node->side->count + 1);
}

/* Ends the slots and makes the node durable */
static void fresh_done(struct ff_op *op, const struct ff_node *node)
{
	u32 count = node->side->count;
	u64 bytes = sizeof(struct ff_dnode) + count * sizeof(struct ff_dslot);

	/* A writer that finds the node locks it, and sees its side as it is now */
	crab_lock_nested(&node->side->lock);
	crab_unlock(&node->side->lock);
	if (count < op->ff->slots) {
		crab_store(op->flow, &ff_slot(op->ff, node->number, count)->key, CRAB_KEY_EMPTY);
		bytes += sizeof(__le64);
	}
	crab_clean(op->flow, ff_media(op->ff, node->number), bytes);
	/* P7: the fresh node is whole, before anything names it */
	crab_fence(op->flow, CRAB_P7_FRESH);
	WRITE_ONCE(op->ff->nodes, op->ff->nodes + 1);
}

int crab_ff_verify(struct ff *ff, const struct ff_node *node, u64 high)
{
	u64 key, above = node->low + !!node->level;
	u32 i;

	for (i = 0; i < node->side->count; i++, above = key + 1) {
		key = ff_key(ff, node->number, i);
		if (key < above || key >= high)
			return crab_ff_damaged(ff, node->number, "keys do not ascend in their range");
	}
	return 0;
}

int crab_ff_verify_shift(struct ff *ff, const struct ff_node *node, u32 pos)
{
	const struct ff_dslot *slot = ff_slot(ff, node->number, pos);
	const struct ff_dslot *end = ff_slot(ff, node->number, node->side->count);

	for (; slot < end; slot = ff_line(slot) + FF_LINE_SLOTS)
		if (unlikely(crab_load_is(ff->base.media, &slot->key, CRAB_KEY_EMPTY)))
			return crab_ff_damaged(ff, node->number,
					       "its slots do not end where they did");
	return 0;
}

bool crab_ff_is_copied(const struct ff *ff, const struct ff_node *node, u32 at,
		       const struct ff_node *from, u32 first, u32 n)
{
	for (; n; n--, at++, first++)
		if (ff_key(ff, node->number, at) != ff_key(ff, from->number, first) ||
		    ff_value(ff, node->number, at) != ff_value(ff, from->number, first))
			return false;
	return true;
}

/* Copies the slots of @node from @from on, and the new one if @rides */
static void split_copy(struct ff_op *op, const struct ff_node *node, u32 from, bool rides, u32 pos,
		       u64 key, u64 value, const struct ff_node *sibling)
{
	u32 i;

	for (i = from; i < op->ff->slots; i++) {
		if (rides && i == pos)
			fresh_add(op, sibling, key, value);
		fresh_add(op, sibling, ff_key(op->ff, node->number, i),
			  ff_value(op->ff, node->number, i));
	}
	if (rides && pos == op->ff->slots)
		fresh_add(op, sibling, key, value);
}

/* Is all of the fresh node as @node reads again now? Its slot @keep has the lowest key */
static bool split_holds(const struct ff *ff, const struct ff_node *node, u32 keep, bool rides,
			u32 pos, const struct ff_node *sibling)
{
	u32 from = keep + !!node->level, end = rides ? pos : ff->slots;
	const struct ff_dnode *d = ff_media(ff, sibling->number);

	return ff_key(ff, node->number, keep) == sibling->low &&
	       (!node->level || ff_value(ff, node->number, keep) ==
				crab_load(ff->base.media, &d->first)) &&
	       crab_ff_is_copied(ff, sibling, 0, node, from, end - from) &&
	       crab_ff_is_copied(ff, sibling, end - from + rides, node, end, ff->slots - end);
}

int crab_ff_split(struct ff_op *op, const struct ff_find *find, u32 pos, u64 key, u64 value,
		  struct ff_node *sibling)
{
	const struct ff_node *node = &find->node;
	u32 keep = op->ff->slots / 2, level = node->level;
	u64 low = ff_key(op->ff, node->number, keep), next = 0, high, first = 0;
	bool rides = key > low;
	struct ff_node right;
	int err;

	err = crab_ff_next(op->ff, node, &right);
	high = err ? CRAB_KEY_EMPTY : right.low;
	/* @pos is of an earlier reading */
	if ((err && err != -ENOENT) || low <= node->low || key >= high || rides != (pos > keep))
		return crab_ff_damaged(op->ff, node->number, "the range of a full node has changed");
	if (crab_ff_verify(op->ff, node, high))
		return -EUCLEAN;
	if (!err)
		next = right.link;
	if (level)
		first = ff_value(op->ff, node->number, keep);
	fresh_begin(op, op->fresh, low, level, first, next, sibling);
	split_copy(op, node, keep + !!level, rides, pos, key, value, sibling);
	if (!split_holds(op->ff, node, keep, rides, pos, sibling)) {
		WRITE_ONCE(sibling->side->flags, FF_DEAD);
		sibling->side = NULL;	/* the block is the caller's, and free again */
		return crab_ff_damaged(op->ff, node->number, "its slots have changed");
	}
	op->fresh = FF_NONE;
	fresh_done(op, sibling);
	crab_ff_link(op, node, sibling->link);
	crab_ff_end(op, node, keep);
	if (!rides)
		crab_ff_shift_in(op, node, pos, key, value);
	return 0;
}

/* A fresh root above the old one, without entries; false: not now */
static bool root_grow(struct ff_op *op)
{
	struct crab_media *media = op->flow->media;
	struct ff_node root, sibling, fresh;
	struct ff *ff = op->ff;
	u64 number;
	int err;

	if (crab_ff_root(ff, &root) || root.level + 1 == FF_LEVELS ||
	    crab_ff_next(ff, &root, &sibling))
		return false;
	number = fresh_alloc(ff, 0, &err);
	if (err)
		return false;
	fresh_begin(op, number, 0, root.level + 1, root.link, 0, &fresh);
	fresh_done(op, &fresh);
	crab_store(op->flow, &crab_list_head(media)->next, fresh.link);
	crab_clean(op->flow, &crab_list_head(media)->next, sizeof(__le64));
	WRITE_ONCE(ff->levels, fresh.level + 1);
	return true;
}

/*
 * Adds the entry of @node to the node of @find. 0: done; 1: done, and @node is now the fresh
 * sibling of the node above, which needs an entry, too; or an error
 */
static int adopt_at(struct ff_op *op, const struct ff_find *find, struct ff_node *node)
{
	const struct ff_node *above = &find->node;
	struct ff_node sibling;
	u32 pos;
	int err;

	if (above->low == node->low)
		return -EEXIST;		/* it is the first one there */
	if (crab_ff_slot_of(op->ff, above, node->low, &pos))
		return -EEXIST;
	if (pos > above->side->count)
		return crab_ff_damaged(op->ff, above->number, "its slots do not end where they did");
	if (above->side->count < op->ff->slots) {
		err = crab_ff_verify_shift(op->ff, above, pos);
		if (!err)
			crab_ff_shift_in(op, above, pos, node->low, node->link);
		return err;
	}
	op->fresh = fresh_alloc(op->ff, 0, &err);
	if (!err)
		err = crab_ff_split(op, find, pos, node->low, node->link, &sibling);
	if (err)
		return err;
	*node = sibling;
	return 1;
}

bool crab_ff_adopt(struct ff_op *op, const struct ff_node *of)
{
	struct ff_node node = *of;
	bool added = false;
	struct ff_find find;
	int err;

	crab_flow_pin();
	do {
		err = crab_ff_find_exact(op->ff, node.low, node.level + 1, &find);
		if (err == -ENOENT) {
			err = root_grow(op) ? 1 : -ENOSPC;
			added |= err == 1;
			continue;
		}
		if (!err)
			err = adopt_at(op, &find, &node);
		added |= err >= 0;
	} while (err == 1);
	crab_flow_unpin();
	if (err && err != -EEXIST) {
		op->missing = true;
		op->ff->gaps = true;
	}
	return added;
}
