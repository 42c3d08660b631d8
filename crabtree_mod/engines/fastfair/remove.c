// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements merges, removals of nodes, and the shrinking of the root.
 */

/**
 * DOC: removals of fastfair
 *
 * The publication names merges and leaves them out. A merge takes the right one of two leaves away:
 *
 *   its entry out of the level above (P13)
 *   its records appended to the left leaf (P11, P6), where they are void by R2
 *   the left leaf's link bypasses it (P8): the appended records are live
 *   its block is free after a grace period
 *
 *   power is cut        content that attach finds: the same at each step
 *   before P13          the entry is there or not
 *   from P13 to P8      the right leaf has no entry: its left neighbour leads to it. Appended
 *                       records are void; repair ends the left leaf, and adds the entry
 *   after P8            the right leaf is free
 *
 * The appended records are compared with those of the right leaf before P8, as in a split.
 *
 * An empty leaf is removed in the same way without the appended records. The first node below an
 * inner node cannot lose its entry, because the word `first` does not change. Such a leaf takes its
 * right neighbour in instead. If it is empty and the only one below, its inner node goes with it:
 * the entry of the inner node is removed, then the inner node is bypassed in its level, then the
 * leaf. In between the leaf is reached by its left neighbour. A leaf for which neither is possible
 * stays, empty.
 *
 * A root without entries and sibling shrinks: the head names its first child (P14), if that has no
 * sibling either.
 *
 * Invariant: a block is free only after the fence of the word that bypassed it, and after the
 * readers that may be in it.
 *
 * Locking: ff.structure, under which alone two leaves are locked at a time.
 */
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "shared/lock.h"
#include "shift.h"

/* The entry of a node in the level above */
struct entry {
	struct ff_find above;
	u32 pos;
	bool is_first;		/* the node is named by `first`: it has no entry */
	bool exists;
};

static int entry_find(struct ff *ff, const struct ff_node *node, struct entry *entry)
{
	int err = crab_ff_find_exact(ff, node->low, node->level + 1, &entry->above);

	entry->is_first = !err && entry->above.node.low == node->low;
	entry->exists = !err && !entry->is_first &&
			crab_ff_slot_of(ff, &entry->above.node, node->low, &entry->pos);
	if (!err && !entry->is_first && entry->pos + entry->exists > entry->above.node.side->count)
		return crab_ff_damaged(ff, node->number, "its entry is after the end of the slots");
	if (entry->exists)
		return crab_ff_verify_shift(ff, &entry->above.node, entry->pos + 1);
	return err == -ENOENT ? 0 : err;
}

static void entry_drop(struct ff_op *op, const struct entry *entry)
{
	if (entry->exists)
		crab_ff_shift_out(op, &entry->above.node, entry->pos);
}

/* The word that links the node after @node, in the hands of @left; 0: the media has changed */
static u64 bypass_word(struct ff *ff, const struct ff_node *left, const struct ff_node *node)
{
	struct ff_node next;
	int err;

	if (crab_load(ff->base.media, &ff_media(ff, left->number)->head.next) != node->link)
		return 0;
	err = crab_ff_next(ff, node, &next);
	if (err && err != -ENOENT)
		return 0;
	return err ? ff_link_end(left) : next.link;
}

/* No list has the node any more */
static void node_drop(struct ff *ff, const struct ff_node *node, struct crab_later *later)
{
	WRITE_ONCE(node->side->flags, FF_DEAD);
	node->side->gen++;
	WRITE_ONCE(ff->nodes, ff->nodes - 1);
	later->leaf = node->number;
	crab_pool_free_later(&ff->pool, later);
}

/* Bypasses @node (P8) */
static void bypass(struct ff_op *op, const struct ff_node *left, const struct ff_node *node,
		   u64 word, struct crab_later *later)
{
	struct ff *ff = op->ff;

	crab_ff_link(op, left, word);
	if (!node->level)
		WRITE_ONCE(ff->unlinks, ff->unlinks + 1);
	node_drop(ff, node, later);
}

static struct crab_later *later_alloc(void)
{
	return kmalloc(sizeof(struct crab_later), GFP_NOIO | __GFP_NOWARN);
}

/* Tests whether two locked leaves can be merged, and prepares it */
static bool merge_begin(struct ff *ff, const struct ff_node *left, const struct ff_node *right,
			struct entry *entry, u64 *word)
{
	struct ff_node next;
	int err;

	if (!ff_is_sparse(ff, left->side->count, right->side->count) ||
	    entry_find(ff, right, entry) || entry->is_first)
		return false;
	*word = bypass_word(ff, left, right);
	err = crab_ff_next(ff, right, &next);
	return *word && !crab_ff_verify(ff, left, right->low) &&
	       !crab_ff_verify(ff, right, err ? CRAB_KEY_EMPTY : next.low);
}

/* Compares the copies, which are void, with the originals; if one differs, all copies go */
static bool merge_holds(struct ff_op *op, const struct ff_node *left, const struct ff_node *right,
			u32 count)
{
	if (likely(crab_ff_is_copied(op->ff, left, count, right, 0, right->side->count)))
		return true;
	crab_ff_end(op, left, count);
	op->ff->gaps = true;	/* the entry of the right leaf is gone */
	crab_ff_damaged(op->ff, right->number, "its slots have changed");
	return false;
}

static bool merge_locked(struct ff_op *op, const struct ff_node *left, const struct ff_node *right,
			 struct crab_later *later)
{
	u32 count = left->side->count;
	struct entry entry;
	bool done;
	u64 word;

	if (!merge_begin(op->ff, left, right, &entry, &word))
		return false;
	crab_side_begin(left->side);
	crab_side_begin(right->side);
	entry_drop(op, &entry);
	if (right->side->count)
		crab_ff_append(op, left, right);
	done = merge_holds(op, left, right, count);
	if (done)
		bypass(op, left, right, word, later);
	crab_side_end(right->side);
	crab_side_end(left->side);
	return done;
}

/* The lowest key fell between two searches: the node was found as its own left neighbour */
static bool is_itself(struct ff *ff, const struct ff_node *left, const struct ff_node *node)
{
	return left->number == node->number &&
	       crab_ff_damaged(ff, node->number, "its lowest key has changed");
}

static bool merge(struct ff_op *op, const struct ff_node *left, const struct ff_node *right)
{
	struct crab_later *later;
	bool done;

	if (is_itself(op->ff, left, right))
		return false;
	later = later_alloc();
	if (!later)
		return false;
	crab_lock(&left->side->lock);
	crab_lock_nested(&right->side->lock);
	done = merge_locked(op, left, right, later);
	crab_unlock(&right->side->lock);
	crab_unlock(&left->side->lock);
	if (!done)
		kfree(later);
	return done;
}

/* Removes a node without live records or entries, whose entry is not the first one */
static bool remove_one(struct ff_op *op, const struct ff_node *node, struct crab_later *later)
{
	struct ff *ff = op->ff;
	struct ff_find left;
	struct entry entry;
	u64 word;

	if (entry_find(ff, node, &entry) || entry.is_first ||
	    crab_ff_find_exact(ff, node->low - 1, node->level, &left) ||
	    is_itself(ff, &left.node, node))
		return false;
	word = bypass_word(ff, &left.node, node);
	if (!word)
		return false;
	if (!node->level) {
		crab_lock_nested(&left.node.side->lock);
		__release(&left.node.side->lock);	/* sparse cannot follow the condition */
		crab_side_begin(left.node.side);
	}
	entry_drop(op, &entry);
	bypass(op, &left.node, node, word, later);
	if (!node->level) {
		crab_side_end(left.node.side);
		__acquire(&left.node.side->lock);
		crab_unlock(&left.node.side->lock);
	}
	return true;
}

/*
 * The nodes that go with an empty leaf, which is their only child, from the leaf upwards. Returns
 * their number; 0: one of them is the first below a node that stays
 */
static u32 chain_find(struct ff *ff, const struct ff_node *leaf, struct ff_node *chain)
{
	struct ff_find above;
	u32 n = 0;
	int err;

	chain[n++] = *leaf;
	while (n < FF_LEVELS) {
		err = crab_ff_find_exact(ff, leaf->low, n, &above);
		if (err == -ENOENT || (!err && above.node.low < leaf->low))
			return n;
		if (err || above.node.side->count)
			break;
		chain[n++] = above.node;
	}
	return 0;
}

/* Removes the nodes from the highest to the leaf, which is locked and empty */
static u32 chain_remove(struct ff_op *op, const struct ff_node *chain, u32 n,
			struct crab_later **later)
{
	u32 left = n;

	crab_side_begin(chain->side);
	while (left && remove_one(op, &chain[left - 1], later[left - 1]))
		left--;
	crab_side_end(chain->side);
	return left;
}

/* Removes an empty leaf, and the inner nodes that have no other child */
static void prune(struct ff_op *op, const struct ff_node *leaf)
{
	struct crab_later *later[FF_LEVELS] = { };
	struct ff_node chain[FF_LEVELS];
	u32 n = chain_find(op->ff, leaf, chain), left = n, i;
	bool ok = n;

	for (i = 0; i < n && ok; i++) {
		later[i] = later_alloc();
		ok = later[i];
	}
	if (ok) {
		crab_lock(&leaf->side->lock);
		if (!leaf->side->count)
			left = chain_remove(op, chain, n, later);
		crab_unlock(&leaf->side->lock);
	}
	for (i = 0; i < left; i++)
		kfree(later[i]);
}

static void thin(struct ff_op *op, u64 key)
{
	struct ff *ff = op->ff;
	struct ff_find find, left;
	struct ff_node right;
	u64 low;

	if (crab_ff_find_exact(ff, key, 0, &find))
		return;
	low = find.node.low;
	if (low && !crab_ff_find_exact(ff, low - 1, 0, &left) && merge(op, &left.node, &find.node))
		return;
	if (!crab_ff_next(ff, &find.node, &right) && merge(op, &find.node, &right))
		return;
	if (low && !READ_ONCE(find.node.side->count))
		prune(op, &find.node);
}

/* The first child takes the place of a root without entries (P14); false: not possible */
static bool root_shrink(struct ff_op *op)
{
	struct crab_media *media = op->flow->media;
	struct ff_node root, child, sibling;
	struct ff *ff = op->ff;
	struct crab_later *later;

	if (crab_ff_root(ff, &root) || !root.level || root.side->count ||
	    crab_ff_next(ff, &root, &sibling) != -ENOENT ||
	    crab_ff_enter(ff, crab_load(media, &ff_media(ff, root.number)->first),
			  root.level - 1, 0, &child) ||
	    crab_ff_next(ff, &child, &sibling) != -ENOENT)
		return false;
	later = later_alloc();
	if (!later)
		return false;
	crab_store(op->flow, &crab_list_head(media)->next, child.link);
	crab_clean(op->flow, &crab_list_head(media)->next, sizeof(__le64));
	/* P14: the head names the child, before the old root is free */
	crab_fence(op->flow, CRAB_P14_ROOT);
	WRITE_ONCE(ff->levels, child.level + 1);
	node_drop(ff, &root, later);
	return true;
}

void crab_ff_thin(struct ff_op *op, u64 key)
{
	crab_ff_op_lock(op);
	crab_flow_pin();
	thin(op, key);
	while (root_shrink(op))
		;
	crab_flow_unpin();
}
