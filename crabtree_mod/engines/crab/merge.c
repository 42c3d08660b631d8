// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the structure modifications of two neighbours: merge and balance.
 *
 * Invariant: as in smo.c.
 *
 * Locking: crab_tree.smo_lock, and both leaves.
 */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "access.h"
#include "layout.h"
#include "smo.h"
#include "verify.h"

bool crab_smo_may_merge(const struct crab_leaf *leaf, u32 most)
{
	u32 next = leaf->next ? READ_ONCE(leaf->next->count) : U16_MAX;

	return !next || READ_ONCE(leaf->count) + next <= most;
}

int crab_smo_balance(struct crab_write *write, struct crab_leaf *leaf, u32 fresh)
	__must_hold(&leaf->lock)
{
	struct crab_tree *tree = write->tree;
	struct crab_leaf *right = leaf->next;
	struct crab_smo smo;
	u32 count, split;
	int err;

	err = crab_smo_begin(write, &smo, right, fresh, 0);
	if (err)
		return err;
	count = crab_layout_collect(tree, leaf, tree->scratch);
	count += crab_layout_collect(tree, right, tree->scratch + count);
	err = crab_smo_verify_records(tree, leaf, right->high, tree->scratch, count,
				      fresh * tree->slots);
	if (err)
		return crab_smo_abort(write, &smo, err);
	split = fresh == 1 ? count : (count + 1) / 2;
	if (split < count)
		smo.head[1].low = tree->scratch[split].key;
	crab_smo_replace(write, &smo, leaf, right, count, split);
	WRITE_ONCE(tree->unlinks, tree->unlinks + 2 - fresh);
	return 0;
}

int crab_smo_merge(struct crab_write *write, struct crab_leaf *leaf, u32 most)
{
	struct crab_leaf *right = leaf->next;
	int err = crab_smo_reserve(write->tree);

	if (err)
		return err;
	crab_leaf_lock_pair(write, leaf, right);
	err = crab_smo_may_merge(leaf, most) ? crab_smo_balance(write, leaf, 1) : -EAGAIN;
	crab_leaf_unlock_pair(leaf, right);
	return err;
}
