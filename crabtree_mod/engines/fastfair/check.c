// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the verifier of the engine `fastfair`, and quarantine at run time.
 *
 * Invariant: the verifier changes nothing. Quarantine does not read the media; on return no new
 * access to such a node begins.
 *
 * Locking: both take ff.structure, the verifier for some nodes at a time, and one leaf at a time.
 * Between two turns the structure may change; the verifier continues at the key where it was. A
 * node that has taken over a range that was read counts only from that key on.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>

#include "engines/counts.h"
#include "engines/defaults.h"
#include "shared/lock.h"
#include "tree.h"
#include "walk.h"

/* Nodes that a check reads while others change the structure, at most: all blocks, some times */
#define CHECK_ROUNDS	16

struct check {
	struct ff_walk walk;
	struct crab_check_report *report;
};

static void check_that(struct ff_walk *walk, bool ok, u64 number, const char *what)
{
	if (!ok)
		crab_damage_note(walk->damage, crab_leaf_offset(&walk->ff->base.geo, number),
				 "node %llu: %s", (unsigned long long)number, what);
}

static bool check_load(struct ff_walk *walk, struct ff_node *node)
{
	struct ff *ff = walk->ff;

	node->side = crab_side(&ff->sides, node->number);
	check_that(walk, node->side && node->side->flags == FF_USED, node->number,
		   "it is in a list, and its side is not");
	check_that(walk, crab_pool_uses(&ff->pool, node->number), node->number,
		   "it is in a list and free");
	check_that(walk, crab_load(ff->base.media, &ff_media(ff, node->number)->head.birth) <=
		   ff->birth, node->number, "born in the future");
	return node->side && walk->nodes <= (walk->changed ? CHECK_ROUNDS * ff->base.geo.leaves :
							     ff->nodes);
}

/* The live records of a leaf from @key on */
static u32 live_above(const struct ff *ff, u64 leaf, const struct ff_found *found, u64 key)
{
	u32 i, n = 0;

	for (i = 0; i < found->tail; i++)
		n += i != found->twin && ff_key(ff, leaf, i) >= key;
	return n;
}

static void check_visit(struct ff_walk *walk, const struct ff_node *node,
			const struct ff_found *found, bool has_entry)
{
	struct check *check = container_of(walk, struct check, walk);

	check_that(walk, node->side->count == found->count, node->number,
		   "the number of its slots is not the one in memory");
	check_that(walk, walk->ff->torn || found->live == found->count, node->number,
		   "it has void slots");
	if (!node->level)
		check->report->records += walk->counted ?
			live_above(walk->ff, node->number, found, walk->counted) : found->live;
}

/* No block is lost: each is a node or in the pool */
static void check_pool(struct check *check)
{
	struct ff *ff = check->walk.ff;
	u64 unlisted = crab_pool_unlisted(&ff->pool);

	if ((check->walk.nodes == ff->nodes || check->walk.changed) &&
	    ff->nodes + unlisted == ff->base.geo.leaves)
		return;
	crab_damage_note(check->walk.damage, CRAB_HEAD_OFFSET,
			 "%llu of %llu nodes are in lists, %llu blocks of %llu in the pool",
			 (unsigned long long)check->walk.nodes, (unsigned long long)ff->nodes,
			 (unsigned long long)unlisted, (unsigned long long)ff->base.geo.leaves);
}

static void check_records(struct check *check, const struct crab_counts *before)
{
	struct ff *ff = check->walk.ff;
	struct crab_counts now;
	u64 records;

	crab_counts_sum(&ff->base, &now);
	if (check->walk.changed || now.inserts != before->inserts ||
	    now.deletes != before->deletes)
		return;
	records = ff->records + now.inserts - now.deletes;
	if (check->report->records != records)
		crab_damage_note(check->walk.damage, CRAB_HEAD_OFFSET,
				 "%llu records, memory counts %llu",
				 (unsigned long long)check->report->records,
				 (unsigned long long)records);
}

int crab_ff_check(struct crab_engine *engine, struct crab_check_report *report)
{
	struct ff *ff = ff_of(engine);
	struct check check = {
		.walk = { .ff = ff, .damage = &report->damage, .load = check_load,
			  .visit = check_visit, .turn = crab_check_turn(ff->slots) },
		.report = report,
	};
	struct crab_counts before;
	int err;

	if (engine->damage.count)
		crab_damage_note(&report->damage, engine->damage.offset, "%s", engine->damage.what);
	mutex_lock(&ff->structure);
	crab_counts_sum(engine, &before);
	err = crab_ff_walk(&check.walk);
	report->leaves = check.walk.nodes - check.walk.again;
	if (!err && !ff->quarantined && !engine->damage.count) {
		check_pool(&check);
		check_records(&check, &before);
	}
	mutex_unlock(&ff->structure);
	return err;
}

/* Readers that are in the node begin again, and find it quarantined */
static bool node_quarantine(struct ff *ff, u64 number)
{
	struct crab_side *side = crab_side(&ff->sides, number);

	if (!side || !(READ_ONCE(side->flags) & FF_USED) || side->flags & FF_BAD)
		return false;
	crab_lock(&side->lock);
	crab_side_begin(side);
	WRITE_ONCE(side->flags, side->flags | FF_BAD);
	crab_side_end(side);
	crab_unlock(&side->lock);
	return true;
}

u64 crab_ff_quarantine(struct crab_engine *engine, u64 from, u64 to)
{
	struct ff *ff = ff_of(engine);
	const struct crab_geometry *geo = &engine->geo;
	u64 hit = 0, n, end;

	mutex_lock(&ff->structure);
	ff->changes++;
	crab_pool_close(&ff->pool);
	if (from < CRAB_HEAD_OFFSET + sizeof(struct crab_dhead) && to > CRAB_HEAD_OFFSET)
		WRITE_ONCE(ff->headless, true);
	n = from <= geo->pool_offset ? 0 : div_u64(from - geo->pool_offset, geo->leaf_bytes);
	end = to <= geo->pool_offset ? 0 :
	      div_u64(to - geo->pool_offset + geo->leaf_bytes - 1, geo->leaf_bytes);
	for (end = min(end, geo->leaves); n < end; n++) {
		hit += node_quarantine(ff, n);
		cond_resched();
	}
	WRITE_ONCE(ff->quarantined, ff->quarantined + hit);
	mutex_unlock(&ff->structure);
	return hit;
}
