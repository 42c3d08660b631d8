// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the verifier: it reads the media again and compares it
 * with the state in DRAM and with every invariant.
 *
 * It notes errors and changes nothing. Every loop is bounded by DRAM's
 * own list.
 *
 * Locking: crab_tree.smo_lock for some leaves at a time, and the lock of each leaf while it is
 * read. Between two turns the structure may change; each turn is consistent in
 * itself, and continues at the key where the previous one ended.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/sched.h>

#include "engines/defaults.h"
#include "access.h"
#include "check.h"
#include "layout.h"
#include "shared/link.h"

/* The link word that @leaf must have, given the header of the next leaf */
static u64 check_word(const struct crab_check *c, const struct crab_leaf *leaf,
		      const struct crab_head *head)
{
	const struct crab_geometry *geo = &c->tree->base.geo;
	struct crab_head next;

	if (!leaf->next)
		return crab_link_end(geo->store_id, head->self, head->birth);
	if (leaf->next->quarantined && leaf->next->number != CRAB_LEAF_NOWHERE)
		return head->next;	/* its header may be in memory that cannot be read */
	if (leaf->next->number == CRAB_LEAF_NOWHERE ||
	    !crab_head_load(c->tree->base.media, crab_leaf_offset(geo, leaf->next->number),
			    geo->store_id, &next))
		return ~head->next;
	return crab_link_to(geo, leaf->next->number, next.birth);
}

static void check_header(const struct crab_check *c, const struct crab_leaf *leaf, u64 offset)
{
	const struct crab_geometry *geo = &c->tree->base.geo;
	struct crab_head head;

	if (!crab_head_load(c->tree->base.media, offset, geo->store_id, &head)) {
		crab_damage_note(&c->report->damage, offset, "leaf %llu: header damaged",
				 (unsigned long long)leaf->number);
		return;
	}
	crab_check_that(c, head.birth <= c->tree->birth, offset, "leaf %llu: born in the future",
			(unsigned long long)leaf->number);
	crab_check_that(c, head.next == check_word(c, leaf, &head), offset,
			"leaf %llu: link does not lead to the next leaf",
			(unsigned long long)leaf->number);
	crab_check_that(c, crab_pool_uses(&c->tree->pool, leaf->number), offset,
			"leaf %llu: in the list and free", (unsigned long long)leaf->number);
}

/*
 * One past the highest key that @leaf may hold. Among leaves with the same lowest key all but the
 * first are empty, and their ranges end together: the next leaf is checked in its turn.
 */
static u64 check_high(const struct crab_leaf *leaf)
{
	const struct crab_leaf *next = leaf->next;

	if (!next)
		return CRAB_KEY_EMPTY;
	return next->low > leaf->low ? next->low : next->high;
}

void crab_check_record(const struct crab_check *c, const struct crab_leaf *leaf, u32 slot,
		       const struct crab_record *r, u64 offset) __must_hold(&leaf->lock)
{
	crab_check_that(c, r->key >= leaf->low && r->key < c->high, offset,
			"leaf %llu, slot %u: key outside the leaf's range",
			(unsigned long long)leaf->number, slot);
	crab_check_that(c, crab_layout_find(c->tree, leaf, r->key) == (int)slot, offset,
			"leaf %llu, slot %u: key is not found, or is there twice",
			(unsigned long long)leaf->number, slot);
	c->report->records += r->key >= c->counted;
}

static void check_leaf(struct crab_check *c, const struct crab_leaf *leaf)
{
	u64 offset = crab_leaf_offset(&c->tree->base.geo, leaf->number);

	c->high = check_high(leaf);
	crab_check_that(c, leaf->torn || !leaf->count ||
			crab_leaf_find(c->tree, leaf->low) == leaf, offset,
			"leaf %llu: the index does not lead to it",
			(unsigned long long)leaf->number);
	crab_check_that(c, !leaf->next || leaf->next->prev == leaf, offset,
			"leaf %llu: neighbours in DRAM disagree", (unsigned long long)leaf->number);
	crab_check_that(c, leaf->high == c->high, offset,
			"leaf %llu: its range in DRAM does not end where the next one begins",
			(unsigned long long)leaf->number);
	check_header(c, leaf, offset);
	crab_layout_check(c, leaf, offset);
	c->report->leaves += !c->counted || leaf->low > c->last;
	c->last = leaf->low;
}

static void check_head(const struct crab_check *c)
{
	const struct crab_geometry *geo = &c->tree->base.geo;
	struct crab_leaf first_behind_head = { .next = c->tree->first };
	struct crab_head head;

	if (crab_head_load(c->tree->base.media, CRAB_HEAD_OFFSET, geo->store_id, &head))
		crab_check_that(c, head.next == check_word(c, &first_behind_head, &head),
				CRAB_HEAD_OFFSET, "the head does not lead to the first leaf");
	else
		crab_damage_note(&c->report->damage, CRAB_HEAD_OFFSET,
				 "the head of the leaf list is damaged");
}

/* A number that each change of the list increases */
static u64 check_changes(const struct crab_tree *tree)
{
	lockdep_assert_held(&tree->smo_lock);
	return tree->birth + tree->unlinks;
}

/*
 * Lets structure modifications run; returns the next leaf afterwards. If the next one was unlinked,
 * or merged with the one before, it has the range of a leaf that was counted; or a part of that
 * range, if a record has moved from one to the other, for which the list does not change
 */
static struct crab_leaf *check_pause(struct crab_check *c, struct crab_leaf *leaf)
{
	struct crab_tree *tree = c->tree;
	u64 changes = check_changes(tree), low = leaf->low;

	mutex_unlock(&tree->smo_lock);
	cond_resched();
	mutex_lock(&tree->smo_lock);
	if (check_changes(tree) == changes && leaf->low == low)
		return leaf;
	leaf = crab_leaf_find(tree, low);
	if (leaf->low < low)
		c->counted = low;
	return leaf;
}

/* One leaf; the structure is held */
static void check_one(struct crab_check *c, struct crab_leaf *leaf)
{
	if (leaf->quarantined) {
		crab_engine_check_bad(&c->tree->base, c->report, leaf->number);
		return;
	}
	spin_lock(&leaf->lock);
	check_leaf(c, leaf);
	spin_unlock(&leaf->lock);
}

static int check_tree(struct crab_check *c)
{
	u32 turn = crab_check_turn(c->tree->slots), done = 0;
	struct crab_leaf *leaf;

	check_head(c);
	for (leaf = c->tree->first; leaf; ) {
		if (crab_engine_breathe(&c->tree->base))
			return -EINTR;
		check_one(c, leaf);
		c->counted = 0;
		leaf = leaf->next;
		if (leaf && ++done % turn == 0)
			leaf = check_pause(c, leaf);
	}
	return 0;
}

int crab_tree_check(struct crab_engine *engine, struct crab_check_report *report)
{
	struct crab_tree *tree = crab_tree_of(engine);
	struct crab_check c = { .tree = tree, .report = report };
	struct crab_counts before;
	u64 changes;
	int err;

	mutex_lock(&tree->smo_lock);
	changes = check_changes(tree);
	crab_counts_sum(engine, &before);
	err = check_tree(&c);
	if (!err && !tree->quarantined && !engine->damage.count) {
		if (check_changes(tree) == changes)
			crab_engine_check_counts(engine, report, &before, tree->leaves,
						 tree->records);
		crab_engine_check_pool(engine, report, tree->leaves);
	}
	mutex_unlock(&tree->smo_lock);
	return err;
}
