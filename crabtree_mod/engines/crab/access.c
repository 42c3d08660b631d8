// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements how readers and writers come into a leaf beside each other,
 * and leave it.
 *
 * DOC: access to leaves
 *
 * The index leads to a leaf without a lock, and beside a change perhaps to the wrong
 * one. What counts is the leaf's own range, [low, high): a key is in at most one leaf
 * whose range holds it, and a leaf that was replaced has an empty range.
 *
 *   readers   RCU, the leaf's sequence count, no lock, no store to shared memory. The
 *             count is odd from before a writer's first store until its fence has
 *             completed: nobody reads what a power cut could take back.
 *   writers   RCU, then the leaf's lock, then the range again.
 *   changes   of the structure, i.e. of links, ranges and index: crab_tree.structure,
 *             then the leaves whose records or range change, in any order: nobody else
 *             waits for a leaf while he has another one. Commit fence, then ranges, then
 *             index, and then the leaves are unlocked. Where both leaves are in a write
 *             section, ranges and index change before the fence.
 *
 * So who holds the structure finds the right leaf at once, and it stays the right one.
 * Readers and writers who do not find theirs after some tries take the structure too:
 * a change that was preempted half way through (PREEMPT_RT) must not be waited for by
 * spinning.
 *
 * Invariants: a descriptor is freed after a grace period; a leaf of the pool is given
 * back before that, since it stays mapped, and what is read of it then does not count.
 * A reader is bounded whatever it reads: by the slots of a leaf, by the height of the
 * index.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/rcupdate.h>

#include "smo.h"

#define ACCESS_TRIES	16	/* before it is more than bad luck */

/* Out of luck: the structure stands still from here on */
static void reader_insist(struct crab_reader *reader)
{
	mutex_lock(&reader->tree->structure);
	reader->insists = true;
}

/*
 * Goes on where crab_reader_enter() ended: in a section of the wrong leaf or of one that is
 * quarantined, or in none
 */
struct crab_leaf *crab_reader_again(struct crab_reader *reader, u64 key)
{
	struct crab_leaf *leaf = reader->leaf;

	for (;;) {
		if (leaf && crab_leaf_holds(leaf, key))
			return leaf->bad ? ERR_PTR(-EUCLEAN) : leaf;
		if (leaf && reader->insists)	/* nothing moves: no leaf has it */
			return ERR_PTR(-EUCLEAN);
		if (leaf)
			crab_reader_leave(reader);
		if (!reader->insists && reader->tries++ > ACCESS_TRIES)
			reader_insist(reader);
		crab_rcu_enter();
		leaf = crab_index_find(&reader->tree->index, key);
		reader->leaf = leaf;
		if (!leaf)
			return ERR_PTR(-EUCLEAN);
		if (reader->insists)
			crab_leaf_take(leaf);
		reader->seq = read_seqcount_begin(&leaf->seq);
	}
}

void crab_reader_end(struct crab_reader *reader)
{
	if (reader->insists)
		mutex_unlock(&reader->tree->structure);
}

void crab_write_insist(struct crab_write *write)
{
	if (!write->structure)
		mutex_lock(&write->tree->structure);
	write->structure = true;
}

bool crab_write_try_structure(struct crab_write *write)
{
	if (!write->structure)
		write->structure = mutex_trylock(&write->tree->structure);
	return write->structure;
}

bool crab_write_may_change(struct crab_write *write)
{
	return crab_write_try_structure(write) && crab_smo_is_reserved(write->tree);
}

void crab_write_release(struct crab_write *write)
{
	/* For the next change, which then need not let go of its leaf to allocate */
	crab_smo_reserve(write->tree);
	mutex_unlock(&write->tree->structure);
}

struct crab_leaf *crab_leaf_lock_again(struct crab_write *write, u64 key, int *at)
{
	struct crab_leaf *leaf;
	u32 tries;

	for (tries = 0; ; tries++) {
		if (tries == ACCESS_TRIES)
			crab_write_insist(write);
		crab_rcu_enter();
		leaf = crab_index_find(&write->tree->index, key);
		if (!leaf || READ_ONCE(leaf->bad)) {
			crab_rcu_leave();
			return ERR_PTR(-EUCLEAN);
		}
		crab_leaf_take(leaf);
		if (crab_leaf_holds(leaf, key))
			break;
		crab_leaf_unlock(leaf);
		if (write->structure)	/* nothing moves: no leaf has it */
			return ERR_PTR(-EUCLEAN);
	}
	*at = crab_leaf_place(write, leaf, key);
	return leaf;
}

void crab_leaf_lock_pair(struct crab_write *write, struct crab_leaf *left,
			 struct crab_leaf *right)
{
	lockdep_assert_held(&write->tree->structure);
	crab_rcu_enter();
	crab_leaf_take(left);
	crab_leaf_take_too(right);
}

void crab_leaf_unlock_pair(struct crab_leaf *left, struct crab_leaf *right)
{
	crab_leaf_give(right);
	crab_leaf_unlock(left);
}

void crab_leaf_kill(struct crab_leaf *leaf)
{
	crab_leaf_begin(leaf);
	WRITE_ONCE(leaf->high, leaf->low);
	crab_leaf_end(leaf);
}
