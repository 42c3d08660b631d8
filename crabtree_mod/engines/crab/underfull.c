// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements how sparse neighbours are found and merged.
 */

/**
 * DOC: underfull leaves
 *
 * A scan pays for each leaf, full or not, and so do DRAM and attach. Two neighbours that
 * together fill at most half of a leaf are worth a merge. The merge costs a fresh leaf and two
 * fences, and leaves room for as many inserts again before a split undoes it.
 *
 * A delete only notes where that may be so: when a third of the leaf is left or less, once each
 * time half of that has gone. Maintain looks at the leaf and its neighbours, off the write path. A
 * note that finds the ring full replaces the oldest one. Maintain then *sweeps*: it looks at every
 * leaf of the list once, in steps of CRAB_UNDERFULL_STEPS leaves, and releases the structure after
 * each. It sweeps after attach too, for no note outlives a detach.
 *
 * An insert that finds too few free leaves *compacts*: it merges neighbours that together fill
 * at most three quarters of a leaf, until it has the leaves that it wants. It looks at the
 * notes first, then walks on from the leaf where the last such walk ended. So the leaves
 * passed per merge depend on how many leaves are sparse, not on how many there are.
 *
 * A walk that came around without a merge is not repeated for each insert of a full store. From
 * then on every delete is *watched*: it notes its leaf if that is three quarters full or less,
 * and so does a structure change of its fresh leaves. A second walk, which reads each count
 * under the leaf's lock, then sees every pair or a note leads to it. After it, -ENOSPC means
 * that no two neighbours can be merged, and costs no walk. A note that is lost ends the watch,
 * and the next insert that lacks leaves walks again.
 *
 * Other tasks may delete so fast that notes are lost again and again. So one search ends after
 * three walks, with -ENOSPC: no two neighbours could be merged all the time. It also ends if the
 * store is to be detached, or the task was killed.
 *
 * Invariant: while crab_tree.watched is set, each pair of neighbours that can be merged has a
 * note, or lies on the stretch that the walk has yet to pass. An unlinked leaf needs no note: if
 * its neighbours can be merged, each of them could be merged with it. The note of that pair then
 * leads to the neighbours.
 *
 * Locking: crab_underfull.lock for the notes; crab_tree.smo_lock for the walks and the merges.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/mutex.h>

#include "access.h"
#include "layout.h"
#include "smo.h"

/* Records that two neighbours may have together for a merge off the write path */
static u32 underfull_half(const struct crab_tree *tree)
{
	return DIV_ROUND_UP(tree->slots, 2);
}

/* The same for a merge that an insert needs */
static u32 underfull_most(const struct crab_tree *tree)
{
	return tree->slots * 3 / 4;
}

/* Which leaves a delete notes: all that can be merged, or those that are worth it */
static void underfull_watch_locked(struct crab_tree *tree, bool on)
{
	u32 third = crab_layout_maintains(tree) ? tree->slots / 3 : 0;

	lockdep_assert_held(&tree->underfull.lock);
	WRITE_ONCE(tree->noted, on ? underfull_most(tree) : third);
	WRITE_ONCE(tree->watched, on);
}

static void underfull_watch(struct crab_tree *tree, bool on)
{
	spin_lock(&tree->underfull.lock);
	underfull_watch_locked(tree, on);
	spin_unlock(&tree->underfull.lock);
}

void crab_underfull_init(struct crab_tree *tree)
{
	spin_lock_init(&tree->underfull.lock);
	tree->underfull.lost = crab_layout_maintains(tree);
	underfull_watch(tree, false);
}

static noinline void underfull_put(struct crab_tree *tree, u64 key)
{
	struct crab_underfull *underfull = &tree->underfull;

	spin_lock(&underfull->lock);
	if (underfull->noted != underfull->seen &&
	    underfull->keys[(underfull->noted - 1) % CRAB_UNDERFULL_NOTES] == key)
		goto out;
	underfull->keys[underfull->noted % CRAB_UNDERFULL_NOTES] = key;
	WRITE_ONCE(underfull->noted, underfull->noted + 1);
	if (underfull->noted - underfull->seen > CRAB_UNDERFULL_NOTES) {
		WRITE_ONCE(underfull->seen, underfull->seen + 1);
		WRITE_ONCE(underfull->lost, crab_layout_maintains(tree));
		underfull_watch_locked(tree, false);
	}
out:
	spin_unlock(&underfull->lock);
}

static bool underfull_take(struct crab_underfull *underfull, u64 *key)
{
	bool waits;

	spin_lock(&underfull->lock);
	waits = underfull->noted != underfull->seen;
	if (waits) {
		*key = underfull->keys[underfull->seen % CRAB_UNDERFULL_NOTES];
		WRITE_ONCE(underfull->seen, underfull->seen + 1);
	}
	spin_unlock(&underfull->lock);
	return waits;
}

bool crab_underfull_is_due(const struct crab_underfull *underfull)
{
	return READ_ONCE(underfull->noted) - READ_ONCE(underfull->seen) >= CRAB_UNDERFULL_DUE ||
	       READ_ONCE(underfull->lost);
}

bool crab_underfull_note(struct crab_tree *tree, const struct crab_leaf *leaf)
{
	u32 count = leaf->count;

	if (likely(count > READ_ONCE(tree->noted)))
		return false;
	if (likely(!is_power_of_2(count) && !READ_ONCE(tree->watched)))
		return false;
	underfull_put(tree, leaf->low);
	return crab_underfull_is_due(&tree->underfull);
}

void crab_underfull_touch(struct crab_tree *tree, const struct crab_leaf *leaf)
{
	if (unlikely(READ_ONCE(tree->watched)) && READ_ONCE(leaf->count) <= underfull_most(tree))
		underfull_put(tree, leaf->low);
}

/* Merges the leaf that holds @key with a neighbour; -EAGAIN: that cannot be done */
static int underfull_look(struct crab_write *write, u64 key, u32 most)
{
	struct crab_leaf *leaf = crab_leaf_find(write->tree, key);

	write->tree->underfull.looked++;
	if (crab_smo_may_merge(leaf, most))
		return crab_smo_merge(write, leaf, most);
	if (leaf->prev && crab_smo_may_merge(leaf->prev, most))
		return crab_smo_merge(write, leaf->prev, most);
	return -EAGAIN;
}

/*
 * While deletes are watched. A delete that did not see the watch has unlocked the leaf before, so
 * its count is visible from here on. A later delete sees the watch and notes the leaf.
 */
static void underfull_settle(struct crab_leaf *leaf)
{
	crab_lock(&leaf->lock);
	crab_unlock(&leaf->lock);
}

/* One step of a walk, to the first merge; -EAGAIN: there was none */
static int underfull_walk(struct crab_write *write, struct crab_walk *walk, u32 most)
{
	struct crab_tree *tree = write->tree;
	struct crab_leaf *leaf = crab_leaf_find(tree, walk->at);
	u32 steps;
	int err;

	for (steps = 0; steps < CRAB_UNDERFULL_STEPS; steps++) {
		tree->underfull.looked++;
		if (READ_ONCE(tree->watched)) {
			underfull_settle(leaf);
			if (leaf->next)
				underfull_settle(leaf->next);
		}
		err = crab_smo_may_merge(leaf, most) ? crab_smo_merge(write, leaf, most) : -EAGAIN;
		if (err != -EAGAIN)
			return err;
		leaf = leaf->next ?: tree->first;
		walk->at = leaf->low;
		walk->passed++;
	}
	return -EAGAIN;
}

/* Maintain continues after neighbours that it has no memory to merge: they do not change */
static void underfull_sweep(struct crab_write *write, u32 most)
{
	struct crab_tree *tree = write->tree;
	struct crab_underfull *underfull = &tree->underfull;
	struct crab_leaf *leaf;
	int err;

	if (READ_ONCE(underfull->lost)) {
		WRITE_ONCE(underfull->lost, false);
		WRITE_ONCE(underfull->sweeping, true);
		underfull->sweep.passed = 0;
	}
	err = underfull_walk(write, &underfull->sweep, most);
	if (err && err != -EAGAIN) {
		leaf = crab_leaf_find(tree, underfull->sweep.at);
		underfull->sweep.at = leaf->next ? leaf->next->low : 0;
		underfull->sweep.passed++;
	}
	WRITE_ONCE(underfull->sweeping, underfull->sweep.passed < tree->leaves);
}

bool crab_underfull_merge(struct crab_tree *tree)
{
	struct crab_flow flow = { .media = tree->base.media };
	struct crab_write write = { .tree = tree, .flow = &flow };
	struct crab_underfull *underfull = &tree->underfull;
	u32 most;
	int err;
	u64 key;

	if (READ_ONCE(underfull->noted) == READ_ONCE(underfull->seen) &&
	    !READ_ONCE(underfull->lost) && !READ_ONCE(underfull->sweeping))
		return false;
	crab_write_lock_structure(&write);
	/* While deletes are watched each note counts, and room is wanted */
	most = READ_ONCE(tree->watched) ? underfull_most(tree) : underfull_half(tree);
	if (underfull_take(underfull, &key)) {
		err = underfull_look(&write, key, most);
		if (err && err != -EAGAIN)	/* the note is lost */
			underfull_watch(tree, false);
	} else {
		underfull_sweep(&write, most);
	}
	crab_write_end(&write);
	crab_count_prepare(&tree->base, &flow);
	return true;
}

/* Lets writers that wait for the structure run; -EINTR: the search is to end */
static int underfull_breathe(struct crab_write *write)
{
	struct crab_tree *tree = write->tree;
	bool stopped;

	mutex_unlock(&tree->smo_lock);
	stopped = crab_engine_breathe(&tree->base);
	mutex_lock(&tree->smo_lock);
	return stopped ? -EINTR : 0;
}

/* Looks at the notes, to the first merge; those that writers add meanwhile may remain */
static int compact_notes(struct crab_write *write, u32 most)
{
	struct crab_tree *tree = write->tree;
	int err = -EAGAIN;
	u32 notes;
	u64 key;

	for (notes = 0; err == -EAGAIN && notes < CRAB_UNDERFULL_NOTES; notes++) {
		if (!underfull_take(&tree->underfull, &key))
			break;
		err = underfull_look(write, key, most);
	}
	if (err && err != -EAGAIN)	/* it can be merged, but not now */
		underfull_put(tree, key);
	return err;
}

/* The next places where there may be room; -EAGAIN: not there, -ENOSPC: nowhere */
static int compact_turn(struct crab_write *write)
{
	struct crab_tree *tree = write->tree;
	struct crab_walk *walk = &tree->underfull.compact;
	u32 most = underfull_most(tree);
	int err = compact_notes(write, most);

	if (err != -EAGAIN)
		return err;
	if (walk->passed >= tree->leaves) {
		if (READ_ONCE(tree->watched))
			return -ENOSPC;
		underfull_watch(tree, true);
		walk->passed = 0;
	}
	err = underfull_walk(write, walk, most);
	if (!err && !READ_ONCE(tree->watched))
		walk->passed = 0;
	return err;
}

/*
 * Turns that are enough while no other task writes: three times around the list, to the last merge,
 * to the begin of the watch and to its end; three merges, for one leaf at least was free and four
 * are wanted at most; and the turn that returns -ENOSPC.
 */
static u64 compact_turns(const struct crab_tree *tree)
{
	return 3 * DIV_ROUND_UP_ULL(tree->leaves, CRAB_UNDERFULL_STEPS) + 4;
}

int crab_underfull_compact(struct crab_write *write)
{
	struct crab_tree *tree = write->tree;
	u64 turns = compact_turns(tree);
	u32 wanted = tree->wanted;	/* merges change it */
	int err = 0;

	lockdep_assert_held(&tree->smo_lock);
	while (!err && !crab_pool_has(&tree->pool, wanted)) {
		err = turns-- ? compact_turn(write) : -ENOSPC;
		if (err == -EAGAIN)
			err = underfull_breathe(write);
	}
	return err;
}
