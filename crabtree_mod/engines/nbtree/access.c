// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements how readers and writers find a leaf.
 */

/**
 * DOC: access to leaves of nbtree
 *
 * A shortcut or the index leads to a leaf without a lock, and perhaps to the wrong one: a shortcut
 * at any time, the index concurrently with a change. The leaf's own range decides: a key is in the
 * range of one leaf at most, and a leaf that was unlinked has an empty range. Later attempts ask
 * the index only.
 *
 *   readers   RCU and nb_leaf.seq; no lock, no store to shared memory. An update or a delete makes
 *             readers wait until its fence has completed, and an insert sets the bit of its slot
 *             after it: a reader never returns data that a power cut could take back.
 *   writers   RCU, then the leaf's lock, then the range again.
 *   changes   nb_tree.smo_lock, then the leaves whose range changes, lowest keys first. The commit
 *             fence (P8), then index and ranges, then the leaves are unlocked.
 *
 * So the holder of smo_lock finds the right leaf at once. A reader or a writer that does not find
 * its leaf after some tries takes smo_lock, too: a change may be preempted half way.
 *
 * A leaf in DRAM is freed after a grace period. Its leaf of the pool is released before that,
 * because it stays mapped: nb_leaf.seq changed, so that a read of it is not valid. A reader is
 * bounded for any values that it reads: by the slots of a leaf and by the height of the index.
 */
#include <linux/errno.h>
#include <linux/rcupdate.h>

#include "guess.h"

#define ACCESS_TRIES	16	/* tries without smo_lock */

static bool leaf_holds(const struct nb_leaf *leaf, u64 key)
{
	return key >= leaf->low && key < READ_ONCE(leaf->high);
}

/* The range, and the result of the body; false: the leaf does not hold the key */
static bool leaf_read(const struct nb_tree *tree, const struct nb_leaf *leaf, struct nb_read *read,
		      int (*body)(const struct nb_tree *, const struct nb_leaf *, struct nb_read *),
		      int *got)
{
	read->low = leaf->low;
	read->high = READ_ONCE(leaf->high);
	if (!leaf_holds(leaf, read->key))
		return false;
	*got = READ_ONCE(leaf->quarantined) ? -EUCLEAN : body(tree, leaf, read);
	return true;
}

/* False: the leaf changed, or it was the wrong one */
static bool read_try(const struct nb_tree *tree, struct nb_read *read, bool wait,
		     int (*body)(const struct nb_tree *, const struct nb_leaf *, struct nb_read *),
		     int *got)
{
	const struct nb_leaf *leaf;
	unsigned int seq;
	bool valid;

	crab_rcu_enter();
	leaf = wait ? crab_index_find(&tree->index, read->key) : nb_guess(tree, read->key);
	seq = wait ? read_seqcount_begin(&leaf->seq) : raw_seqcount_begin(&leaf->seq);
	valid = leaf_read(tree, leaf, read, body, got);
	valid = valid && !read_seqcount_retry(&leaf->seq, seq);
	crab_rcu_leave();
	return valid;
}

int crab_nb_read(struct nb_tree *tree, struct nb_read *read,
		 int (*body)(const struct nb_tree *tree, const struct nb_leaf *leaf,
			     struct nb_read *read))
{
	struct nb_leaf *leaf;
	int got = -EUCLEAN;
	u32 tries;

	for (tries = 0; tries < ACCESS_TRIES; tries++)
		if (likely(read_try(tree, read, tries, body, &got)))
			return got;
	mutex_lock(&tree->smo_lock);
	leaf = crab_index_find(&tree->index, read->key);
	crab_lock(&leaf->lock);
	leaf_read(tree, leaf, read, body, &got);
	crab_unlock(&leaf->lock);
	mutex_unlock(&tree->smo_lock);
	return got;
}

struct nb_leaf *crab_nb_lock(struct nb_write *write, u64 key)
{
	struct nb_leaf *leaf;
	u32 tries;
	bool bad;

	for (tries = 0; ; tries++) {
		if (tries == ACCESS_TRIES)
			crab_nb_lock_structure(write);
		crab_rcu_enter();
		leaf = tries || write->structure ? crab_index_find(&write->tree->index, key) :
						   nb_guess(write->tree, key);
		crab_lock(&leaf->lock);
		if (likely(leaf_holds(leaf, key) && !leaf->quarantined)) {
			__release(&leaf->lock);		/* sparse: crab_nb_unlock() ends both */
			__release(RCU);
			return leaf;
		}
		bad = leaf_holds(leaf, key) || write->structure;
		crab_unlock(&leaf->lock);
		crab_rcu_leave();
		if (bad)
			return NULL;
	}
}

void crab_nb_unlock(struct nb_leaf *leaf)
{
	__acquire(RCU);
	__acquire(&leaf->lock);
	crab_unlock(&leaf->lock);
	crab_rcu_leave();
}

void crab_nb_lock_structure(struct nb_write *write)
{
	if (!write->structure)
		mutex_lock(&write->tree->smo_lock);
	write->structure = true;
}

void crab_nb_end(struct nb_write *write)
{
	if (write->structure)
		mutex_unlock(&write->tree->smo_lock);
}

void crab_nb_shorten_all(struct nb_tree *tree)
{
	if (!NB_SHORTENS)
		return;
	mutex_lock(&tree->smo_lock);	/* free; changes of the index expect it */
	crab_shortcut_build(&tree->index);
	mutex_unlock(&tree->smo_lock);
}

bool crab_nb_shorten(struct crab_engine *engine)
{
	struct nb_tree *tree = nb_tree_of(engine);

	return crab_shortcut_maintain(&tree->index, &tree->smo_lock);
}

bool crab_nb_shorten_is_due(struct crab_engine *engine)
{
	return crab_shortcut_wants(&nb_tree_of(engine)->index);
}
