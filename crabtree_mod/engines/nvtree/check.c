// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the verifier: it reads the media again and compares it
 * with the state in DRAM and with every invariant.
 *
 * It notes errors and changes nothing. Every loop is bounded by DRAM's
 * own list.
 *
 * Locking: nv_tree.smo_lock for some leaves at a time, and the lock of each leaf while it is
 * read. Between two turns the structure may change; each turn is consistent in
 * itself, and continues at the key where the previous one ended. If the leaf there has taken over
 * a range that was read, only its records from that key on count.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/sched.h>

#include "engines/defaults.h"
#include "engines/select.h"
#include "leaf.h"

/**
 * struct nv_check - a check under way
 * @tree: the tree
 * @report: its result
 * @key: records below it were counted
 */
struct nv_check {
	struct nv_tree *tree;
	struct crab_check_report *report;
	u64 key;
};

/* The link word that a leaf must have if the range after it begins at @high */
static u64 check_word(const struct nv_check *c, u64 high, const struct crab_head *head)
{
	const struct crab_geometry *geo = &c->tree->base.geo;
	struct crab_head after;
	struct nv_place next;

	if (high == CRAB_KEY_EMPTY)
		return crab_link_end(geo->store_id, head->self, head->birth);
	crab_nv_find(c->tree, high, &next);
	if (next.side && nv_is_quarantined(&next))
		return head->next;	/* its header may be in memory that cannot be read */
	if (!next.side || !crab_head_load(c->tree->base.media, crab_leaf_offset(geo, next.leaf),
					  geo->store_id, &after))
		return ~head->next;
	return crab_link_to(geo, next.leaf, after.birth);
}

static void check_header(const struct nv_check *c, const struct nv_place *leaf, u64 offset)
{
	const struct crab_geometry *geo = &c->tree->base.geo;
	unsigned long long n = leaf->leaf;
	struct crab_head head;

	if (!crab_head_load(c->tree->base.media, offset, geo->store_id, &head)) {
		crab_damage_note(&c->report->damage, offset, "leaf %llu: header damaged", n);
		return;
	}
	crab_check_that(c, head.birth <= c->tree->birth, offset,
			"leaf %llu: born in the future", n);
	crab_check_that(c, head.low == leaf->low, offset,
			"leaf %llu: the inner nodes lead to it by another key", n);
	crab_check_that(c, head.next == check_word(c, leaf->high, &head), offset,
			"leaf %llu: link does not lead to the next leaf", n);
	crab_check_that(c, crab_pool_uses(&c->tree->pool, n), offset,
			"leaf %llu: in the list and free", n);
}

static void check_elements(const struct nv_check *c, const struct nv_place *leaf, u64 offset)
{
	struct nv_tree *tree = c->tree;
	unsigned long long n = leaf->leaf;
	u32 count = leaf->side->count, live;
	const char *fault;

	crab_check_that(c, crab_load(tree->base.media, &nv_leaf_media(tree, n)->count) == count,
			offset, "leaf %llu: its count has changed", n);
	crab_nv_leaf_read(tree, n, count, tree->elements);
	fault = crab_nv_leaf_fault(tree->elements, count, leaf->low, leaf->high);
	crab_check_that(c, !fault, offset, "leaf %llu: %s", n, fault);
	live = crab_nv_leaf_records(tree->elements, count, tree->scratch);
	crab_check_that(c, live == nv_live(leaf->side), offset,
			"leaf %llu: %u records, DRAM counts %u", n, live, nv_live(leaf->side));
	c->report->records += crab_records_above(tree->scratch, live, c->key);
}

/* One leaf; the structure is held */
static void check_leaf(const struct nv_check *c, const struct nv_place *leaf)
{
	u64 offset;

	if (nv_is_quarantined(leaf)) {
		crab_engine_check_bad(&c->tree->base, c->report, leaf->leaf);
		return;
	}
	offset = crab_leaf_offset(&c->tree->base.geo, leaf->leaf);
	crab_lock(&leaf->side->lock);
	check_header(c, leaf, offset);
	check_elements(c, leaf, offset);
	crab_unlock(&leaf->side->lock);
	c->report->leaves += leaf->low == c->key;
}

static void check_head(const struct nv_check *c)
{
	const struct crab_geometry *geo = &c->tree->base.geo;
	struct crab_head head;

	if (crab_head_load(c->tree->base.media, CRAB_HEAD_OFFSET, geo->store_id, &head))
		crab_check_that(c, head.next == check_word(c, 0, &head), CRAB_HEAD_OFFSET,
				"the head does not lead to the first leaf");
	else
		crab_damage_note(&c->report->damage, CRAB_HEAD_OFFSET,
				 "the head of the leaf list is damaged");
}

/* A number that each change of the list increases */
static u64 check_changes(const struct nv_tree *tree)
{
	lockdep_assert_held(&tree->smo_lock);
	return tree->birth + tree->unlinks;
}

/* Lets structure modifications run */
static void check_pause(struct nv_tree *tree)
{
	mutex_unlock(&tree->smo_lock);
	cond_resched();
	mutex_lock(&tree->smo_lock);
}

static int check_leaves(struct nv_check *c)
{
	u32 turn = crab_check_turn(c->tree->room), done = 0;
	struct nv_place leaf;

	check_head(c);
	for (;;) {
		if (crab_engine_breathe(&c->tree->base))
			return -EINTR;
		crab_nv_find_range(c->tree, c->key, &leaf);
		check_leaf(c, &leaf);
		c->key = leaf.high;
		if (c->key == CRAB_KEY_EMPTY)
			return 0;
		if (++done % turn == 0)
			check_pause(c->tree);
	}
}

int crab_nv_check(struct crab_engine *engine, struct crab_check_report *report)
{
	struct nv_tree *tree = nv_tree_of(engine);
	struct nv_check c = { .tree = tree, .report = report };
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
