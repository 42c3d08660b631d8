// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements FORMAT, attach, repair and detach of the engine `fastfair`.
 */

/**
 * DOC: attach of fastfair
 *
 * Attach reads all nodes, level by level (walk.c), because the pool must know those in use. It
 * writes nothing, and notes the traces of a power cut. Without damage repair then
 *
 *   1. makes durable all that attach read, unless the store was detached (P4)
 *   2. ends the nodes with a tail that is void by R2 (P10), and closes the gap over a slot that is
 *      void by R1 (P9, P6 or P13)
 *   3. adds the entry of each node that has none (P13), and grows a root that has siblings: level
 *      by level from the root down
 *
 * Step 2 comes first: an entry that step 3 adds may change the node that the void slots of its
 * neighbour are compared with. Each step preserves the content, and after a cut in it the next
 * attach begins again. The publication repairs lazily, in later writes, as the option `lazy` of
 * test builds does (lazy.c); the pool needs the full read in any case.
 *
 * For any content of the media step 3 is linear in the nodes: all nodes above a level have their
 * entries when it begins, and each of its descents follows entries. If a node above remains
 * without an entry, because no block is free, step 3 ends after that node's level. The nodes below
 * are found by their entries in memory (find.c), as before the repair.
 *
 * A read-only attach serves the traces as they are: searches apply R1 and R2 then.
 *
 * Locking: no other caller uses the region.
 */
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "engines/defaults.h"
#include "lazy.h"
#include "shift.h"

#define REPAIR_BREATHE	1023	/* nodes between two cond_resched(), as a mask */

int crab_ff_format(struct crab_flow *flow, const struct crab_geometry *geo)
{
	struct ff_dnode *root = (struct ff_dnode *)(flow->media->base + crab_leaf_offset(geo, 0));
	struct crab_head head = { .self = crab_leaf_offset(geo, 0), .birth = 1 };

	head.next = crab_link_end(geo->store_id, head.self, head.birth);
	crab_head_store(flow, geo->store_id, &head);
	crab_store(flow, &root->first, 0);
	crab_store(flow, &root->zero, 0);
	crab_store(flow, &root->slot[0].key, CRAB_KEY_EMPTY);
	crab_clean(flow, root, sizeof(*root) + sizeof(__le64));
	crab_list_format(flow, geo);
	return 0;
}

/* Attach: a node whose header was read */
static bool attach_load(struct ff_walk *walk, struct ff_node *node)
{
	struct ff *ff = walk->ff;
	u64 birth;

	if (!crab_pool_mark(&ff->pool, node->number))
		return false;
	node->side = crab_side_make(&ff->sides, node->number, FF_WALK_GFP);
	if (!node->side) {
		walk->err = -ENOMEM;
		return false;
	}
	node->side->flags = FF_USED;
	birth = crab_load_settled(ff->base.media, &ff_media(ff, node->number)->head.birth);
	ff->birth = max(ff->birth, birth);
	ff->levels = max(ff->levels, node->level + 1);
	ff->nodes++;
	return true;
}

static void attach_visit(struct ff_walk *walk, const struct ff_node *node,
			 const struct ff_found *found, bool has_entry)
{
	bool torn = found->live < found->count;
	struct ff *ff = walk->ff;
	struct ff_trace *trace;

	node->side->count = found->count;
	if (!node->level)
		ff->records += found->live;
	ff->torn |= torn;
	ff->locked |= torn;
	if (has_entry && !torn)
		return;
	trace = kmalloc(sizeof(*trace), FF_WALK_GFP);
	if (!trace) {
		walk->err = -ENOMEM;
		return;
	}
	*trace = (struct ff_trace) {
		.next = ff->traces, .node = *node, .found = *found, .has_entry = has_entry,
	};
	ff->traces = trace;
}

static void attach_bad(struct ff_walk *walk, u64 number)
{
	struct ff *ff = walk->ff;
	struct crab_side *side = crab_side_make(&ff->sides, number, FF_WALK_GFP);

	if (!side)
		walk->err = -ENOMEM;
	else if (!(side->flags & FF_BAD))
		ff->quarantined++;
	if (side)
		side->flags |= FF_BAD;
}

/*
 * Traces are of ascending levels, and there of descending keys. Writes of lazy.c follow the list.
 * With damage searches do so, too: as scans do, they end at a node that is quarantined
 */
static int attach_extras(struct ff *ff)
{
	const struct ff_trace *trace;
	u64 n = 0;

	if (ff_is_lazy(ff) || ff->base.damage.count)
		return 0;
	for (trace = ff->traces; trace; trace = trace->next)
		n += !trace->has_entry;
	if (!n)
		return 0;
	ff->extra = kvmalloc_array(n, sizeof(*ff->extra), FF_WALK_GFP);
	if (!ff->extra)
		return -ENOMEM;
	for (trace = ff->traces; trace; trace = trace->next) {
		if (!trace->has_entry)
			ff->extra[ff->extras++] = (struct ff_extra) {
				.low = trace->node.low, .link = trace->node.link,
				.level = trace->node.level,
			};
		cond_resched();
	}
	return 0;
}

static int attach_read(struct ff *ff)
{
	struct ff_walk walk = {
		.ff = ff, .damage = &ff->base.damage, .load = attach_load,
		.visit = attach_visit, .bad = attach_bad,
	};
	struct crab_head head;
	int err = crab_ff_walk(&walk) ?: attach_extras(ff);

	if (err)
		return err;
	/* Twice: the walk has found a root, perhaps, and a word may read otherwise once */
	ff->headless = !crab_head_load(ff->base.media, CRAB_HEAD_OFFSET, ff->base.geo.store_id,
				       &head) &&
		       !crab_head_load(ff->base.media, CRAB_HEAD_OFFSET, ff->base.geo.store_id,
				       &head);
	crab_pool_spoil_bad(&ff->pool, ff->base.media, &ff->base.geo);
	crab_damage_note_births(&ff->base.damage, ff->birth);
	if (ff->base.damage.count)
		crab_pool_close(&ff->pool);
	ff->gaps = ff->base.damage.count || ff->traces;
	return 0;
}

static int attach_init(struct ff *ff, struct crab_media *media, const struct crab_geometry *geo,
		       const struct crab_attach_how *how)
{
	mutex_init(&ff->structure);
	ff->slots = crab_ff_slots(geo->leaf_bytes);
	ff->tuning = how->tuning ? *(const struct ff_tuning *)how->tuning : crab_ff_tuning_default;
	ff->locked = ff->tuning.leaf_locks;
	if (crab_engine_init(&ff->base, &crab_engine_fastfair, media, geo, how))
		return -ENOMEM;
	ff->base.tuning = &ff->tuning;
	ff->base.pool = &ff->pool;
	return crab_pool_init(&ff->pool, geo->leaves) ?: crab_sides_init(&ff->sides, geo->leaves);
}

struct crab_engine *crab_ff_attach(struct crab_media *media, const struct crab_geometry *geo,
				   const struct crab_attach_how *how)
{
	struct ff *ff = kvzalloc(sizeof(*ff), FF_WALK_GFP);
	int err;

	if (!ff)
		return ERR_PTR(-ENOMEM);
	err = attach_init(ff, media, geo, how) ?: attach_read(ff);
	if (!err)
		return &ff->base;
	crab_ff_detach(&ff->base);
	return ERR_PTR(err);
}

/* The words read may be in caches that survived a crash of the kernel */
static int repair_clean(struct ff *ff, struct crab_flow *flow)
{
	const struct crab_side *side;
	u64 n, done = 0;

	for_each_set_bit(n, ff->pool.used, ff->base.geo.leaves) {
		side = crab_side(&ff->sides, n);
		if (side && side->flags & FF_USED)
			crab_clean(flow, ff_media(ff, n), ff->base.geo.leaf_bytes);
		if (++done & REPAIR_BREATHE)
			continue;
		if (crab_engine_breathe(&ff->base))
			return -EINTR;
	}
	/* P4: the words read are durable before attach depends on them */
	crab_fence(flow, CRAB_P4_FOUND);
	return 0;
}

void crab_ff_trace_slots(struct ff_op *op, const struct ff_trace *trace)
{
	const struct ff_found *found = &trace->found;

	if (found->live == found->count)
		return;
	if (found->tail < found->count)
		crab_ff_end(op, &trace->node, found->tail);
	else
		crab_ff_shift_out(op, &trace->node, found->twin);
	op->ff->repairs++;
}

static void traces_free(struct ff *ff)
{
	struct ff_trace *trace;

	while ((trace = ff->traces)) {
		ff->traces = trace->next;
		kfree(trace);
	}
}

static void extras_free(struct ff *ff)
{
	ff->extras = 0;
	kvfree(ff->extra);
	ff->extra = NULL;
}

static int repair_level(struct ff_op *op, u32 level)
{
	const struct ff_trace *trace;
	struct ff *ff = op->ff;
	int err = 0;

	for (trace = ff->traces; trace && !err; trace = trace->next) {
		if (trace->node.level == level && !trace->has_entry)
			ff->repairs += crab_ff_adopt(op, &trace->node);
		err = crab_engine_breathe(&ff->base) ? -EINTR : 0;
	}
	return err;
}

/* Adds missing entries, from the highest level down as long as the levels above are complete */
static int repair_entries(struct ff_op *op)
{
	u32 level = op->ff->traces ? op->ff->levels : 0;
	int err = 0;

	while (level && !err && !op->missing)
		err = repair_level(op, --level);
	return err;
}

int crab_ff_repair(struct crab_engine *engine, struct crab_flow *flow)
{
	struct ff *ff = ff_of(engine);
	struct ff_op op = { .ff = ff, .flow = flow, .fresh = FF_NONE };
	int err = engine->clean ? 0 : repair_clean(ff, flow);
	const struct ff_trace *trace;

	if (err || ff_is_lazy(ff))
		return err;
	crab_ff_op_lock(&op);
	for (trace = ff->traces; trace && !err; trace = trace->next) {
		crab_ff_trace_slots(&op, trace);
		err = crab_engine_breathe(&ff->base) ? -EINTR : 0;
	}
	ff->torn = false;
	ff->locked = ff->tuning.leaf_locks;
	err = err ?: repair_entries(&op);
	ff->gaps = op.missing;
	if (!op.missing)
		extras_free(ff);
	crab_ff_op_end(&op);
	traces_free(ff);
	return err;
}

void crab_ff_detach(struct crab_engine *engine)
{
	struct ff *ff = ff_of(engine);

	traces_free(ff);
	extras_free(ff);
	crab_sides_destroy(&ff->sides);
	crab_pool_destroy(&ff->pool);
	crab_engine_exit(&ff->base);
	kvfree(ff);
}
