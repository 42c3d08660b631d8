// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements what becomes of slotted leaves that deletes leave sparse.
 *
 * DOC: sparse leaves
 *
 * A scan pays for each leaf, full or not, and so do DRAM and attach. Two neighbours which
 * together fill half of one at most are worth a merge: it costs a fresh leaf and two
 * fences, and gives room for as many inserts again before a split undoes it.
 *
 * A delete only notes where that may be so: when a third of the leaf is left or less, once
 * each time half of that has gone. Maintain looks at the leaf and its neighbours, off the
 * write path. A note that is lost, in a ring that is full or at a detach, leaves
 * a leaf as it is until half of it has gone again, or the pool is empty (crab_smo_compact()).
 *
 * Locking: crab_sparse.lock for the notes; crab_tree.structure for the merge.
 */
#include <linux/kernel.h>
#include <linux/log2.h>

#include "smo.h"

void crab_sparse_init(struct crab_sparse *sparse)
{
	spin_lock_init(&sparse->lock);
	sparse->noted = 0;
	sparse->seen = 0;
}

static noinline void sparse_put(struct crab_sparse *sparse, u64 key)
{
	spin_lock(&sparse->lock);
	sparse->keys[sparse->noted % CRAB_SPARSE_NOTES] = key;
	WRITE_ONCE(sparse->noted, sparse->noted + 1);
	if (sparse->noted - sparse->seen > CRAB_SPARSE_NOTES)
		WRITE_ONCE(sparse->seen, sparse->seen + 1);
	spin_unlock(&sparse->lock);
}

static bool sparse_take(struct crab_sparse *sparse, u64 *key)
{
	bool waits;

	spin_lock(&sparse->lock);
	waits = sparse->noted != sparse->seen;
	if (waits) {
		*key = sparse->keys[sparse->seen % CRAB_SPARSE_NOTES];
		WRITE_ONCE(sparse->seen, sparse->seen + 1);
	}
	spin_unlock(&sparse->lock);
	return waits;
}

bool crab_sparse_is_due(const struct crab_sparse *sparse)
{
	return READ_ONCE(sparse->noted) - READ_ONCE(sparse->seen) >= CRAB_SPARSE_DUE;
}

bool crab_sparse_note(struct crab_tree *tree, const struct crab_leaf *leaf)
{
	u32 count = leaf->count;

	if (likely(count * 3 > tree->slots || !is_power_of_2(count)))
		return false;
	sparse_put(&tree->sparse, leaf->low);
	return crab_sparse_is_due(&tree->sparse);
}

bool crab_sparse_merge(struct crab_tree *tree)
{
	struct crab_flow flow = { .media = tree->base.media };
	struct crab_write write = { .tree = tree, .flow = &flow };
	u32 most = DIV_ROUND_UP(tree->slots, 2);
	struct crab_leaf *leaf;
	u64 key;

	if (!sparse_take(&tree->sparse, &key))
		return false;
	crab_write_insist(&write);
	leaf = crab_index_find(&tree->index, key);
	/* An error: no memory or no free leaf; all stays as it is */
	if (crab_smo_may_merge(leaf, most))
		crab_smo_merge(&write, leaf, most);
	else if (leaf->prev && crab_smo_may_merge(leaf->prev, most))
		crab_smo_merge(&write, leaf->prev, most);
	crab_write_end(&write);
	crab_count_prepare(&tree->base, &flow);
	return true;
}
