// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements CHECK: it reads the media again and compares it with DRAM.
 *
 * Invariant: it writes neither media nor DRAM that others read.
 *
 * Locking: takes nb_tree.smo_lock, and releases it between turns; one leaf at a time. If the leaf
 * that is to be read next is unlinked meanwhile, CHECK reads the one before it again, which has its
 * range now: only the records from the key on count at which CHECK goes on.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/sched.h>

#include "engines/select.h"
#include "leaf.h"
#include "smo.h"

/**
 * struct nb_check - a running check
 * @tree: the tree
 * @report: out
 */
struct nb_check {
	struct nb_tree *tree;
	struct crab_check_report *report;
};

static void check_header(const struct nb_check *c, const struct nb_leaf *leaf, u64 offset)
{
	struct nb_tree *tree = c->tree;
	unsigned long long n = leaf->number;
	struct crab_head head;

	if (!crab_head_load(tree->base.media, offset, tree->base.geo.store_id, &head)) {
		crab_damage_note(&c->report->damage, offset, "leaf %llu: header damaged", n);
		return;
	}
	crab_check_that(c, head.birth == leaf->birth && head.birth <= tree->birth, offset,
			"leaf %llu: its birth has changed", n);
	crab_check_that(c, head.low == leaf->low, offset,
			"leaf %llu: its lowest key has changed", n);
	crab_check_that(c, head.next == crab_nb_smo_word(tree, offset, leaf->birth, leaf->high),
			offset, "leaf %llu: link does not lead to the next leaf", n);
	crab_check_that(c, crab_pool_uses(&tree->pool, n), offset,
			"leaf %llu: in the list and free", n);
}

/* Records below @key were counted */
static void check_leaf(const struct nb_check *c, struct nb_leaf *leaf, u64 key)
{
	struct nb_tree *tree = c->tree;
	u64 offset = crab_leaf_offset(&tree->base.geo, leaf->number);
	const char *fault;
	u32 count;

	if (leaf->quarantined) {
		crab_engine_check_bad(&tree->base, c->report, leaf->number);
		return;
	}
	crab_lock(&leaf->lock);
	check_header(c, leaf, offset);
	fault = crab_nb_leaf_fault(tree, leaf, tree->scratch, &count);
	crab_unlock(&leaf->lock);
	crab_check_that(c, !fault, offset,
			"leaf %llu: %s", (unsigned long long)leaf->number, fault);
	c->report->records += crab_records_above(tree->scratch, count, key);
	c->report->leaves += leaf->low == key;
}

static void check_head(const struct nb_check *c)
{
	const struct nb_tree *tree = c->tree;
	struct crab_head head;

	if (crab_head_load(tree->base.media, CRAB_HEAD_OFFSET, tree->base.geo.store_id, &head))
		crab_check_that(c, head.next == crab_nb_smo_word(tree, 0, 0, 0), CRAB_HEAD_OFFSET,
				"the head does not lead to the first leaf");
	else
		crab_damage_note(&c->report->damage, CRAB_HEAD_OFFSET,
				 "the head of the leaf list is damaged");
}

/* A number that each change of the list increases */
static u64 check_changes(const struct nb_tree *tree)
{
	lockdep_assert_held(&tree->smo_lock);
	return tree->splits + tree->unlinks;
}

/* Lets structure modifications run */
static void check_pause(struct nb_tree *tree)
{
	mutex_unlock(&tree->smo_lock);
	cond_resched();
	mutex_lock(&tree->smo_lock);
}

static int check_leaves(const struct nb_check *c)
{
	u32 turn = crab_check_turn(c->tree->room), done = 0;
	struct nb_leaf *leaf;
	u64 key = 0;

	check_head(c);
	while (key != CRAB_KEY_EMPTY) {
		if (crab_engine_breathe(&c->tree->base))
			return -EINTR;
		leaf = crab_index_find(&c->tree->index, key);
		/* It may begin before the key: its range has grown since */
		if (leaf->low > key || leaf->high <= key) {
			crab_damage_note(&c->report->damage, CRAB_HEAD_OFFSET,
					 "the index leads to a leaf of another range");
			return 0;
		}
		check_leaf(c, leaf, key);
		key = leaf->high;
		if (++done % turn == 0)
			check_pause(c->tree);
	}
	return 0;
}

int crab_nb_check(struct crab_engine *engine, struct crab_check_report *report)
{
	struct nb_tree *tree = nb_tree_of(engine);
	struct nb_check c = { .tree = tree, .report = report };
	struct crab_counts before;
	u64 changes;
	int err;

	mutex_lock(&tree->smo_lock);
	changes = check_changes(tree);
	crab_counts_sum(engine, &before);
	err = check_leaves(&c);
	if (!err && !tree->quarantined && !engine->damage.count) {
		if (check_changes(tree) == changes)
			crab_engine_check_counts(engine, report, &before, tree->leaves,
						 tree->records);
		crab_engine_check_pool(engine, report, tree->leaves);
	}
	mutex_unlock(&tree->smo_lock);
	return err;
}
