// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements how readers and writers enter a leaf and leave it.
 */

/**
 * DOC: access to leaves
 *
 * The index leads to a leaf without a lock, and concurrently with a change perhaps to the wrong
 * one. The leaf's own range, [low, high), decides: a key is in the range of one leaf at most, and a
 * leaf that was replaced has an empty range.
 *
 *   readers   RCU and the leaf's sequence count; no lock, no store to shared memory. The
 *             count is odd from before a writer's first store until its fence has
 *             completed: a reader never returns data that a power cut could take back.
 *   writers   RCU, then the leaf's lock, then the range again.
 *   changes   of the structure, i.e. of links, ranges and index: crab_tree.smo_lock, then
 *             the leaves whose records or range change, in any order: no other path blocks
 *             on the lock of a leaf while it holds one. Commit fence, then ranges, then
 *             index; then the leaves are unlocked. Where both leaves are in a write
 *             section, ranges and index change before the fence.
 *
 * So the holder of smo_lock finds the right leaf at once, and it stays the right one. A reader or a
 * writer that does not find its leaf after some tries takes smo_lock too: on PREEMPT_RT, a change
 * may be preempted half way, and waiting for it by spinning could last.
 *
 * Invariants: a descriptor is freed after a grace period. A leaf of the pool is released before
 * that because it stays mapped; a read of it then is not valid. A reader is bounded for any values
 * that it reads: by the slots of a leaf and by the height of the index.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/rcupdate.h>

#include "access.h"
#include "smo.h"

#define ACCESS_TRIES	16	/* tries without smo_lock */

static void reader_lock_structure(struct crab_reader *reader)
{
	mutex_lock(&reader->tree->smo_lock);
	reader->locked = true;
}

/* Sparse cannot follow a lock that depends on crab_reader.locked: see crab_reader_leave() */
static void reader_lock_leaf(struct crab_leaf *leaf)
{
	crab_lock(&leaf->lock);
	__release(&leaf->lock);
}

struct crab_leaf *crab_reader_again(struct crab_reader *reader, u64 key) __acquires(RCU)
{
	struct crab_leaf *leaf;

	for (;;) {
		if (!reader->locked && reader->tries++ > ACCESS_TRIES)
			reader_lock_structure(reader);
		crab_rcu_enter();
		leaf = crab_leaf_find(reader->tree, key);
		reader->leaf = leaf;
		if (!leaf)
			return ERR_PTR(-EUCLEAN);
		if (reader->locked)
			reader_lock_leaf(leaf);
		/* The slow path waits for a writer */
		reader->seq = read_seqcount_begin(&leaf->seq);
		if (crab_leaf_holds(leaf, key)) {
			/* A quarantine is a write section, so crab_reader_leave() finds it */
			return data_race(leaf->quarantined) ? ERR_PTR(-EUCLEAN) : leaf;
		}
		if (reader->locked)	/* no leaf holds the key */
			return ERR_PTR(-EUCLEAN);
		crab_reader_leave(reader);
	}
}

void crab_reader_end(struct crab_reader *reader)
{
	if (reader->locked)
		mutex_unlock(&reader->tree->smo_lock);
}

void crab_write_lock_structure(struct crab_write *write)
{
	if (!write->structure)
		mutex_lock(&write->tree->smo_lock);
	write->structure = true;
}

bool crab_write_try_structure(struct crab_write *write)
{
	if (!write->structure)
		write->structure = mutex_trylock(&write->tree->smo_lock);
	return write->structure;
}

bool crab_write_may_change(struct crab_write *write)
{
	return crab_write_try_structure(write) && crab_smo_is_reserved(write->tree);
}

void crab_write_release(struct crab_write *write)
{
	/* The next change then need not unlock its leaf to allocate */
	crab_smo_reserve(write->tree);
	mutex_unlock(&write->tree->smo_lock);
}

struct crab_leaf *crab_leaf_lock_again(struct crab_write *write, u64 key, struct crab_place *place)
{
	struct crab_leaf *leaf;
	u32 tries;

	for (tries = 0; ; tries++) {
		if (tries == ACCESS_TRIES)
			crab_write_lock_structure(write);
		crab_rcu_enter();
		leaf = crab_leaf_find(write->tree, key);
		if (!leaf || READ_ONCE(leaf->quarantined)) {
			crab_rcu_leave();
			return NULL;
		}
		crab_lock(&leaf->lock);
		if (crab_leaf_holds(leaf, key) && !leaf->quarantined)
			break;
		crab_leaf_unlock(leaf);
		if (write->structure)	/* no leaf holds the key, or its memory failed meanwhile */
			return NULL;
	}
	*place = crab_layout_place(write, leaf, key);
	crab_leaf_hide_lock(leaf);
	return leaf;
}

void crab_leaf_lock_pair(struct crab_write *write, struct crab_leaf *left,
			 struct crab_leaf *right)
	__acquires(RCU) __acquires(&left->lock) __acquires(&right->lock)
{
	lockdep_assert_held(&write->tree->smo_lock);
	crab_rcu_enter();
	crab_lock(&left->lock);
	crab_lock_nested(&right->lock);
}

void crab_leaf_unlock_pair(struct crab_leaf *left, struct crab_leaf *right)
	__releases(&right->lock) __releases(&left->lock) __releases(RCU)
{
	crab_unlock(&right->lock);
	crab_leaf_unlock(left);
}

void crab_leaf_kill(struct crab_leaf *leaf) __must_hold(&leaf->lock) __must_hold(&leaf->lock)
{
	crab_leaf_begin(leaf);
	WRITE_ONCE(leaf->high, leaf->low);
	crab_leaf_end(leaf);
}
