// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the structure modifications that make room for a record: append and split.
 *
 * Invariant: as in smo.c.
 *
 * Locking: crab_tree.smo_lock, and the full leaf.
 */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "access.h"
#include "layout.h"
#include "run.h"
#include "smo.h"
#include "verify.h"

/* Keys that arrive in order: the full leaf stays full, a fresh one after it takes the key */
static int append(struct crab_write *write, struct crab_leaf *leaf, u64 key, u64 value)
{
	struct crab_record record = { .key = key, .value = value };
	struct crab_tree *tree = write->tree;
	struct crab_smo smo;
	int err;

	/* The key was above all others on the media in a full leaf, whose range contains it */
	err = crab_smo_verify_low(tree, leaf, leaf->high, key) ?:
	      crab_smo_begin(write, &smo, leaf, 1, CRAB_POOL_RESERVE);
	if (err)
		return err;
	crab_smo_write(write, &smo, key, &record, 1, 1, leaf);
	crab_smo_link(write, leaf, crab_smo_first_word(tree, &smo));
	crab_leaf_begin(leaf);
	crab_smo_splice(tree, &smo, leaf, leaf->next);
	crab_leaf_end(leaf);
	crab_index_insert(&tree->index, key, crab_leaf_child(tree, smo.leaf[0]));
	WRITE_ONCE(tree->splits, tree->splits + 1);
	return 0;
}

/* Tests whether a key is above all keys of a full leaf, as if keys came in order */
static bool is_append(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key)
{
	u64 last;

	if (!crab_layout_is_append(tree, leaf, key, &last))
		return false;
	return leaf == tree->last || crab_run_split(key, last, leaf->count, leaf->high, 0);
}

int crab_smo_add(struct crab_write *write, struct crab_leaf *leaf, u64 key, u64 value)
	__must_hold(&leaf->lock)
{
	const struct crab_record extra = { .key = key, .value = value };
	struct crab_tree *tree = write->tree;
	u32 count = leaf->count + 1, split;
	struct crab_smo smo;
	int err;

	if (is_append(tree, leaf, key))
		return append(write, leaf, key, value);
	err = crab_smo_begin(write, &smo, leaf, 2, CRAB_POOL_RESERVE);
	if (err)
		return err;
	crab_smo_fetch_link(tree, leaf->prev);
	split = crab_layout_split(tree, leaf, &extra, &smo.head[1].low);
	err = crab_smo_verify_low(tree, leaf, leaf->high, smo.head[1].low);
	if (unlikely(err))
		return crab_smo_abort(write, &smo, err);
	crab_smo_replace(write, &smo, leaf, leaf, count, split);
	WRITE_ONCE(tree->splits, tree->splits + 1);
	return 0;
}

/*
 * The most expensive write is an insert that finds the pool empty: one merge for each leaf
 * that it needs, then the split. Each of their fresh leaves is written whole and linked.
 * Allocation on demand sets the bit of the fresh leaf and clears those of two old leaves.
 */
u64 crab_smo_bound(const struct crab_tree *tree)
{
	u32 leaves = CRAB_SMO_FRESH + CRAB_POOL_RESERVE + CRAB_SMO_FRESH;
	u32 bits = crab_layout_alloc_lines(tree);

	return leaves * (tree->base.geo.leaf_bytes / CRAB_LINE + 1 + bits);
}
