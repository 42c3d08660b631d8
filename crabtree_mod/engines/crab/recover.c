// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements FORMAT and attach of the engine `crab`; recover_list.c is how
 * attach follows the list.
 *
 * DOC: attach
 *
 * The first pass only reads, in the order of addresses where it can:
 *
 *   1. the header of every leaf of the pool, into an array in DRAM;
 *   2. the list, in that array: each link must name a leaf of this store by
 *      place and birth, each leaf comes once, the least keys ascend from 0, and
 *      the end is a proper end. It is followed from many places at a time; where that does
 *      not come from the head to the end, step 1 is done again and the list is followed
 *      leaf by leaf;
 *   3. the slots of every leaf of the list, into a descriptor each; the descriptors are
 *      then linked in the order of the list. Sorted leaves once more from the last to the
 *      first, for records that stand in two neighbours.
 *
 * Memory that cannot be read (badmem.c) is not read. A leaf with such memory is quarantined;
 * behind a header that cannot be read the list cannot be followed. Leaves that are not in the
 * list are kept from the pool, and are no damage.
 *
 * Anything else than what a power cut can leave is damage: it is noted with its
 * offset, the leaf or the gap in the list is quarantined, the rest is served
 * read-only, the pool is closed and nothing is repaired. Without damage the
 * second pass repairs: half-set landmarks and torn shifts are completed, durable with the
 * superblock that follows (P3). After an attach that was not ended cleanly everything that
 * was read is made durable first (P4), because the caches of a machine that survived may
 * hold what the media does not.
 *
 * Cut in the second pass: each step of it changes the content of no image and is
 * idempotent; the next attach begins again.
 *
 * Every loop over the media is bounded by the number of leaves. In a large pool steps
 * 1 and 3 are shared out among the CPUs, each of which takes one stretch of addresses
 * after the other; what they find is put together in the order of addresses, so that it is
 * the same on each machine.
 *
 * Locking: the caller has the region to itself.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "../../badmem.h"
#include "recover.h"
#include "smo.h"
#include "tree.h"

#define AHEAD		16	/* leaves, or descriptors, that are fetched before their turn */
#define SHARE_LEAVES	8192	/* worth a CPU of its own */
#define SHARE_PARTS	16	/* for each CPU: what is free and what is not lies in lumps */

int crab_tree_format(struct crab_flow *flow, const struct crab_geometry *geo)
{
	struct crab_dleaf *first = (struct crab_dleaf *)(flow->media->base +
							 crab_leaf_offset(geo, 0));
	struct crab_head head = {
		.self = crab_leaf_offset(geo, 0),
		.birth = 1,
		.void_value = crab_slotted_void(NULL, 0),
	};

	head.next = crab_link_end(geo->store_id, head.self, head.birth);
	crab_head_store(flow, geo->store_id, &head);
	crab_leaf_empty(flow, first, geo, head.void_value);
	crab_clean(flow, first, geo->leaf_bytes);

	head = (struct crab_head) {
		.self = CRAB_HEAD_OFFSET,
		.next = crab_link_to(geo, 0, 1),
	};
	crab_head_store(flow, geo->store_id, &head);
	crab_clean(flow, crab_list_head(flow->media), sizeof(struct crab_dhead));
	/* P2: the body is whole before a superblock names it */
	crab_fence(flow, CRAB_P2_BODY);
	return 0;
}

static void recover_header(struct recover_part *part, u64 n)
{
	struct crab_tree *tree = part->r->tree;
	const struct crab_geometry *geo = &tree->base.geo;
	struct recover_leaf *at = &part->r->at[n];
	struct crab_head head;

	*at = (struct recover_leaf) { };
	if (!crab_head_load(tree->base.media, crab_leaf_offset(geo, n), geo->store_id, &head))
		return;
	at->valid = true;
	at->next = head.next;
	at->low = tree->sorted ?
		crab_load(tree->base.media, &crab_leaf_media(tree, n)->slots[0].key) : head.low;
	at->birth = head.birth;
	at->first = !head.low;
	part->birth = max(part->birth, head.birth);
	part->extent = n + 1;
}

/* Pass 1 */
static void recover_headers(struct recover_part *part)
{
	u64 n;

	for (n = part->from; n < part->to; n++) {
		if (n + AHEAD < part->to)
			prefetch(crab_leaf_media(part->r->tree, n + AHEAD));
		recover_header(part, n);
		if (!(n & RECOVER_BREATHE))
			cond_resched();
	}
}

static void recover_take(struct recover *r)
{
	int i;

	while ((i = atomic_inc_return(&r->taken) - 1) < r->n)
		r->pass(&r->parts[i]);
}

static void recover_work(struct work_struct *work)
{
	recover_take(container_of(work, struct recover_worker, work)->r);
}

static int recover_gather(struct recover *r, const struct recover_part *part, int err)
{
	struct crab_tree *tree = r->tree;
	struct crab_damage *damage = &tree->base.damage;
	u64 count = damage->count + part->damage.count;

	r->extent = max(r->extent, part->extent);
	tree->birth = max(tree->birth, part->birth);
	tree->records += part->records;
	tree->torn += part->torn;
	if (!damage->count)
		*damage = part->damage;
	damage->count = count;
	return err ?: part->err;
}

/* Runs a pass over all of the pool, this CPU taking parts as the others do */
static int recover_parts(struct recover *r, void (*pass)(struct recover_part *part))
{
	u64 leaves = r->tree->base.geo.leaves;
	int i, err = 0;

	for (i = 0; i < r->n; i++)
		r->parts[i] = (struct recover_part) {
			.r = r,
			.from = div_u64(leaves * i, r->n),
			.to = div_u64(leaves * (i + 1), r->n),
		};
	r->pass = pass;
	atomic_set(&r->taken, 0);
	for (i = 0; i < r->cpus - 1; i++) {
		r->workers[i].r = r;
		INIT_WORK(&r->workers[i].work, recover_work);
		queue_work(system_unbound_wq, &r->workers[i].work);
	}
	recover_take(r);
	for (i = 0; i < r->cpus - 1; i++)
		flush_work(&r->workers[i].work);
	for (i = 0; i < r->n; i++)
		err = recover_gather(r, &r->parts[i], err);
	return err;
}

void crab_recover_headers(struct recover *r)
{
	recover_parts(r, recover_headers);
	memset(r->walkers, 0, sizeof(r->walkers));
	r->count = 0;
}

/* Where each range ends: where the next one begins, which a gap does not say */
static void recover_ranges(struct crab_tree *tree)
{
	struct crab_leaf *leaf, *next = NULL;

	for (leaf = tree->last; leaf; next = leaf, leaf = leaf->prev) {
		if (!next)
			leaf->high = CRAB_KEY_EMPTY;
		else
			leaf->high = next->low > leaf->low ? next->low : next->high;
	}
}

static void recover_read_leaf(const struct crab_tree *tree, struct crab_leaf *leaf,
			      struct crab_seen *seen, struct crab_damage *damage)
{
	const struct crab_geometry *geo = &tree->base.geo;
	u64 offset = crab_leaf_offset(geo, leaf->number);

	if (crab_badmem_probe(tree->base.media, offset, geo->leaf_bytes)) {
		crab_leaf_read(tree, leaf, seen, damage);
		return;
	}
	crab_damage_note(damage, offset, "leaf %llu: uncorrectable memory",
			 (unsigned long long)leaf->number);
	leaf->bad = true;
}

static struct crab_leaf *recover_leaf(struct recover_part *part, u64 n, struct crab_seen *seen)
{
	struct crab_tree *tree = part->r->tree;
	struct crab_leaf *leaf = seen ? crab_leaf_alloc(tree, GFP_KERNEL) : NULL;

	if (!leaf) {
		part->err = -ENOMEM;
		return NULL;
	}
	leaf->number = n;
	leaf->low = part->r->at[n].low;
	leaf->high = part->r->at[n].high;
	leaf->void_value = crab_load(tree->base.media, &crab_leaf_media(tree, n)->head.void_value);
	recover_read_leaf(tree, leaf, seen, &part->damage);
	part->records += leaf->count;
	part->torn += leaf->torn;
	return leaf;
}

/* Pass 3 */
static void recover_slots(struct recover_part *part)
{
	struct crab_seen *seen = kvzalloc(sizeof(*seen), GFP_KERNEL);
	u64 n, place;

	for (n = part->from; n < part->to; n++) {
		place = recover_place(part->r, n);
		if (place != CRAB_LEAF_NOWHERE)
			part->r->nth[place].leaf = recover_leaf(part, n, seen);
		if (!(n & RECOVER_BREATHE))
			cond_resched();
	}
	kvfree(seen);
}

static struct crab_leaf *recover_gap_leaf(const struct crab_tree *tree)
{
	struct crab_leaf *leaf = crab_leaf_alloc(tree, GFP_KERNEL);

	if (!leaf)
		return NULL;
	leaf->number = CRAB_LEAF_NOWHERE;
	leaf->low = tree->last ? tree->last->low : 0;
	return leaf;
}

static void recover_push(struct crab_tree *tree, struct crab_leaf *leaf)
{
	leaf->prev = tree->last;
	if (tree->last)
		tree->last->next = leaf;
	else
		tree->first = leaf;
	tree->last = leaf;
	if (leaf->number == CRAB_LEAF_NOWHERE)
		return;
	crab_pool_mark(&tree->pool, leaf->number);
	tree->leaves++;
}

/* Before the turn of place @i: the list goes another way than the descriptors lie */
static void recover_ahead(const struct recover *r, u64 i)
{
	if (i + AHEAD < r->count)
		prefetchw(r->nth[i + AHEAD].leaf);
	if (!(i & RECOVER_BREATHE))
		cond_resched();
}

/* @leaf is linked, and so are all before it */
static int recover_append(struct crab_tree *tree, struct crab_leaf *leaf)
{
	if (leaf->prev && leaf->low == leaf->prev->low)
		return 0;	/* a quarantined gap, or an empty leaf: nothing to find */
	return crab_index_append(&tree->index, leaf->low, leaf, crab_leaf_hint(tree, leaf));
}

/*
 * Links the descriptors in the order of the list; also after an error, for those that there are.
 * @settled: their least keys are, so that they go into the index while they are at hand.
 */
static int recover_link(struct recover *r, bool settled, int err)
{
	struct crab_leaf *leaf;
	u64 i;

	for (i = 0; i < r->count; i++) {
		recover_ahead(r, i);
		if (r->nth[i].number == CRAB_LEAF_NOWHERE)
			r->nth[i].leaf = recover_gap_leaf(r->tree);
		leaf = r->nth[i].leaf;
		if (!leaf) {
			err = -ENOMEM;
			continue;
		}
		recover_push(r->tree, leaf);
		if (settled && !err)
			err = recover_append(r->tree, leaf);
	}
	return err;
}

/* What crab_sorted_overlap() will read of a leaf whose turn comes, and before that where it is */
static void overlap_fetch(const struct recover *r, u64 i)
{
	const struct crab_leaf *leaf;

	if (i >= 2 * AHEAD)
		prefetch(r->nth[i - 2 * AHEAD].leaf);
	if (i < AHEAD)
		return;
	leaf = r->nth[i - AHEAD].leaf;
	if (leaf->number == CRAB_LEAF_NOWHERE)
		return;
	prefetch(crab_leaf_slot(r->tree, leaf, 0));
	prefetch(crab_leaf_slot(r->tree, leaf, max_t(u32, leaf->count, 1) - 1));
}

/* Sorted leaves: what stands twice. From the last on, so that the right one is settled. */
static void recover_overlaps(struct recover *r)
{
	struct crab_leaf *leaf, *behind = NULL;
	struct crab_tree *tree = r->tree;
	u64 i = r->count;

	while (i--) {
		overlap_fetch(r, i);
		if (!(i & RECOVER_BREATHE))
			cond_resched();
		leaf = r->nth[i].leaf;
		if (leaf->number == CRAB_LEAF_NOWHERE)
			continue;
		if (behind) {
			tree->records -= leaf->count;
			tree->torn -= leaf->torn;
			crab_sorted_overlap(tree, leaf, behind);
			tree->records += leaf->count;
			tree->torn += leaf->torn;
		}
		if (leaf->count || leaf->bad)
			behind = leaf;
	}
}

/* Where the quarantine of a gap begins: behind what the leaf before it is seen to hold */
static u64 gap_low(struct crab_tree *tree, struct crab_leaf *prev)
{
	u64 low = prev->low, key;
	u32 slot;

	crab_leaf_for_each(tree, prev, slot) {
		key = crab_leaf_key(tree, prev, slot);
		if (key >= low && key != CRAB_KEY_EMPTY)
			low = key + 1;
	}
	return low;
}

/* The leaf before @gap that the index has for its place: those behind it hold nothing */
static struct crab_leaf *gap_holder(struct crab_leaf *gap)
{
	struct crab_leaf *leaf = gap->prev;

	while (leaf->prev && leaf->prev->low == leaf->low)
		leaf = leaf->prev;
	return leaf;
}

static void recover_gap(struct crab_tree *tree, struct crab_leaf *gap)
{
	struct crab_leaf *holder, *next = gap->next, *leaf;

	gap->bad = true;
	if (!gap->prev)
		return;
	while (next && next->low == gap->low)	/* it holds nothing: the gap's range goes on */
		next = next->next;
	holder = gap_holder(gap);
	gap->low = gap_low(tree, holder);
	/* All of it is in doubt: nothing is seen in it, or keys up to what is behind the gap */
	holder->bad |= gap->low == holder->low || (next && gap->low >= next->low);
	if (next)
		gap->low = min(gap->low, next->low - 1);
	for (leaf = gap->next; leaf != next; leaf = leaf->next)
		leaf->low = gap->low;
}

static void recover_gaps(struct crab_tree *tree)
{
	struct crab_leaf *leaf;

	for (leaf = tree->first; leaf; leaf = leaf->next)
		if (leaf->number == CRAB_LEAF_NOWHERE)
			recover_gap(tree, leaf);
	recover_ranges(tree);
	for (leaf = tree->first; leaf; leaf = leaf->next)
		tree->bad += leaf->bad;
}

static int recover_index(struct recover *r)
{
	int err = 0;
	u64 i;

	for (i = 0; i < r->count && !err; i++) {
		recover_ahead(r, i);
		err = recover_append(r->tree, r->nth[i].leaf);
	}
	return err;
}

/* Keys that stand where they must not: who asks where they belong is not told -ENOENT */
static void recover_doubts(struct crab_tree *tree)
{
	struct crab_leaf *leaf, *home;
	u32 slot;
	u64 key;

	for (leaf = tree->first; leaf; leaf = leaf->next) {
		if (!leaf->bad || leaf->number == CRAB_LEAF_NOWHERE)
			continue;
		crab_leaf_for_each(tree, leaf, slot) {
			key = crab_leaf_key(tree, leaf, slot);
			if (key == CRAB_KEY_EMPTY)	/* it was another when it was read first */
				continue;
			home = crab_index_find(&tree->index, key);
			home->doubt = true;
		}
	}
}

static int recover_all(struct recover *r, u64 word)
{
	struct crab_tree *tree = r->tree;
	bool settled;
	int err;

	crab_recover_headers(r);
	if (!crab_recover_walk(r, word)) {
		crab_recover_headers(r);
		crab_recover_list(r, word);
	}
	err = recover_parts(r, recover_slots);
	settled = !tree->sorted && !tree->base.damage.count;
	err = recover_link(r, settled, err);
	if (err || settled)
		return err;
	if (tree->sorted)
		recover_overlaps(r);
	if (tree->base.damage.count)
		recover_gaps(tree);
	err = recover_index(r);
	if (!err && tree->bad)
		recover_doubts(tree);
	return err;
}

struct recover *crab_recover_alloc(struct crab_tree *tree)
{
	u64 leaves = tree->base.geo.leaves;
	u32 cpus = clamp_t(u64, leaves / SHARE_LEAVES, 1, min(num_online_cpus(), RECOVER_CPUS));
	u32 parts = cpus > 1 ? cpus * SHARE_PARTS : 1;
	struct recover *r = kvzalloc(struct_size(r, parts, parts), GFP_KERNEL | __GFP_NOWARN);

	if (!r)
		return NULL;
	r->tree = tree;
	r->cpus = cpus;
	r->n = parts;
	r->at = __vmalloc(array_size(leaves, sizeof(*r->at)), GFP_KERNEL | __GFP_NOWARN);
	r->nth = __vmalloc(array_size(leaves + 1, sizeof(*r->nth)), GFP_KERNEL | __GFP_NOWARN);
	if (r->at && r->nth)
		return r;
	crab_recover_free(r);
	return NULL;
}

void crab_recover_free(struct recover *r)
{
	vfree(r->nth);
	vfree(r->at);
	kvfree(r);
}

/* What could not be read before the pool: the list is lost with its head, a bitmap is not asked */
static bool recover_head(struct crab_tree *tree, struct crab_head *head)
{
	struct crab_media *media = tree->base.media;
	struct crab_damage *damage = &tree->base.damage;

	if (tree->sorted && crab_badmem_hits(media, CRAB_BITMAP_OFFSET,
					     tree->base.geo.pool_offset - CRAB_BITMAP_OFFSET))
		crab_damage_note(damage, CRAB_BITMAP_OFFSET, "uncorrectable memory in the bitmap");
	if (crab_head_load(media, CRAB_HEAD_OFFSET, tree->base.geo.store_id, head))
		return true;
	crab_damage_note(damage, CRAB_HEAD_OFFSET,
			 crab_badmem_hits(media, CRAB_HEAD_OFFSET, CRAB_LINE) ?
			 "the head of the leaf list is in uncorrectable memory" :
			 "the head of the leaf list is damaged");
	return false;
}

/* Leaves that the list does not reach: nothing is lost, and they are never given out */
static void recover_spoilt(struct crab_tree *tree)
{
	const struct crab_geometry *geo = &tree->base.geo;
	u64 from, to, n, end, offset = geo->pool_offset;

	while (crab_badmem_next(tree->base.media, offset, &from, &to)) {
		end = min(geo->leaves,
			  div_u64(to - geo->pool_offset + geo->leaf_bytes - 1, geo->leaf_bytes));
		for (n = div_u64(from - geo->pool_offset, geo->leaf_bytes); n < end; n++) {
			crab_pool_spoil(&tree->pool, n);
			if (!(n & RECOVER_BREATHE))
				cond_resched();
		}
		offset = to;
	}
}

static int recover_read(struct crab_tree *tree)
{
	struct crab_head head;
	struct recover *r;
	int err;

	if (!recover_head(tree, &head))
		return 0;
	r = crab_recover_alloc(tree);
	if (!r)
		return -ENOMEM;
	err = recover_all(r, head.next);
	crab_recover_free(r);
	return err;
}

static int tree_init(struct crab_tree *tree, struct crab_media *media,
		     const struct crab_geometry *geo)
{
	mutex_init(&tree->structure);
	tree->sorted = geo->layout == CRAB_LAYOUT_SORTED;
	tree->slots = crab_leaf_slots(geo->leaf_bytes);
	crab_homes_init(&tree->homes, geo->leaf_bytes);
	tree->mix = crab_mix_choose();
	crab_sorted_pieces(tree, geo->leaf_bytes);
	crab_sparse_init(tree);
	crab_index_init(&tree->index);
	tree->scratch = kvmalloc_array(2 * tree->slots + 1, sizeof(*tree->scratch),
				       GFP_KERNEL | __GFP_NOWARN);
	tree->fps = kmalloc_array(crab_slotted_groups(tree), sizeof(*tree->fps), GFP_KERNEL);
	tree->spill = kmalloc_array(tree->slots, sizeof(*tree->spill), GFP_KERNEL);
	if (crab_engine_init(&tree->base, &crab_engine_crab, media, geo) || !tree->scratch ||
	    !tree->fps || !tree->spill)
		return -ENOMEM;
	return crab_pool_init(&tree->pool, geo->leaves);
}

struct crab_engine *crab_tree_attach(struct crab_media *media, const struct crab_geometry *geo,
				     const struct crab_stop *stop)
{
	struct crab_tree *tree = kvzalloc(sizeof(*tree), GFP_KERNEL);
	int err;

	if (!tree)
		return ERR_PTR(-ENOMEM);
	tree->base.stop = *stop;
	err = geo->layout == CRAB_LAYOUT_SORTED && !crab_bitmap_fits(geo) ? -EINVAL :
	      tree_init(tree, media, geo);
	if (!err)
		err = recover_read(tree);
	if (err) {
		crab_tree_detach(&tree->base);
		return ERR_PTR(err);
	}
	recover_spoilt(tree);
	if (tree->base.damage.count)
		crab_pool_close(&tree->pool);
	return &tree->base;
}

/* What was read may stand in the caches of a life that did not end with the power */
static void repair_clean(const struct crab_tree *tree, struct crab_flow *flow)
{
	struct crab_leaf *leaf;
	u64 done = 0;

	crab_clean(flow, crab_list_head(flow->media), sizeof(struct crab_dhead));
	for (leaf = tree->first; leaf; leaf = leaf->next) {
		crab_clean(flow, crab_leaf_media(tree, leaf->number), tree->base.geo.leaf_bytes);
		if (!(done++ & RECOVER_BREATHE))
			cond_resched();
	}
	/* P4: what was read is durable before anything is built on it */
	crab_fence(flow, CRAB_P4_FOUND);
}

int crab_tree_repair(struct crab_engine *engine, struct crab_flow *flow)
{
	struct crab_tree *tree = crab_tree_of(engine);
	struct crab_write write = { .tree = tree, .flow = flow };
	struct crab_leaf *leaf;

	if (!engine->clean)
		repair_clean(tree, flow);
	if (tree->sorted) {
		crab_sorted_repair(&write);
		if (engine->tuning.on_demand)
			crab_bitmap_rebuild(&write);
	} else if (tree->torn) {
		for (leaf = tree->first; leaf; leaf = leaf->next)
			if (leaf->torn)
				crab_slotted_repair(&write, leaf);
	}
	return 0;
}

void crab_tree_detach(struct crab_engine *engine)
{
	struct crab_tree *tree = crab_tree_of(engine);
	struct crab_leaf *leaf;
	u32 i;

	while ((leaf = tree->first)) {
		tree->first = leaf->next;
		kfree(leaf);
	}
	for (i = 0; i < CRAB_SMO_FRESH; i++)
		kfree(tree->fresh[i]);
	crab_index_destroy(&tree->index);
	crab_pool_destroy(&tree->pool);
	crab_engine_exit(&tree->base);
	kfree(tree->spill);
	kfree(tree->fps);
	kvfree(tree->scratch);
	kvfree(tree);
}
