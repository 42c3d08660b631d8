// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements FORMAT and attach of the engine `crab`.
 *
 * DOC: attach
 *
 * The first pass only reads, in the order of addresses where it can:
 *
 *   1. the header of every leaf of the pool, into an array in DRAM;
 *   2. the list, in that array: each link must name a leaf of this store by
 *      place and birth, each leaf comes once, the least keys ascend from 0, and
 *      the end is a proper end;
 *   3. the slots of every leaf of the list; sorted leaves then once more from the
 *      last to the first, for records that stand in two neighbours.
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
 * 1 and 3 are shared out among the CPUs, each a stretch of addresses; what they find
 * is put together in the order of addresses, so that it is the same on each machine.
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
#include <linux/workqueue.h>

#include "crab.h"

#define BREATHE		1023	/* leaves between two looks at the scheduler, as a mask */
#define AHEAD		4	/* leaves whose descriptors are fetched before their turn */
#define PART_LEAVES	8192	/* worth a CPU of its own */
#define PARTS_MAX	16U	/* by then the memory is what limits */

/* What pass 1 found in one place of the pool */
struct recover_leaf {
	u64 next;		/* the rest only if @valid */
	u64 low;		/* the least key it may hold; sorted: the first that it holds */
	union {
		u64 birth;		/* until @listed */
		struct crab_leaf *leaf;	/* from then on */
	};
	bool valid;		/* the header is one of this store */
	bool first;		/* born as the first of the list: its least key was 0 */
	bool listed;		/* pass 2 came here */
};

struct recover {
	struct crab_tree *tree;
	struct recover_leaf *at;
};

/* A stretch of the pool, for one CPU, and what was found there */
struct recover_part {
	struct work_struct work;
	struct recover *r;
	void (*pass)(struct recover_part *part);
	u64 from;		/* the first leaf */
	u64 to;			/* behind the last one */
	u64 birth;		/* the greatest */
	u64 records;
	u64 torn;
	struct crab_damage damage;
};

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

/* Pass 1 */
static void recover_headers(struct recover_part *part)
{
	struct crab_tree *tree = part->r->tree;
	const struct crab_geometry *geo = &tree->base.geo;
	struct recover_leaf *at;
	struct crab_head head;
	u64 n;

	for (n = part->from; n < part->to; n++) {
		at = &part->r->at[n];
		at->valid = crab_head_load(tree->base.media, crab_leaf_offset(geo, n),
					   geo->store_id, &head);
		if (at->valid) {
			at->next = head.next;
			at->low = tree->sorted ?
				crab_load(tree->base.media,
					  &crab_leaf_media(tree, n)->slots[0].key) : head.low;
			at->birth = head.birth;
			at->first = !head.low;
			part->birth = max(part->birth, head.birth);
		}
		if (!(n & BREATHE))
			cond_resched();
	}
}

static void recover_work(struct work_struct *work)
{
	struct recover_part *part = container_of(work, struct recover_part, work);

	part->pass(part);
}

static void recover_gather(struct crab_tree *tree, const struct recover_part *part)
{
	struct crab_damage *damage = &tree->base.damage;
	u64 count = damage->count + part->damage.count;

	tree->birth = max(tree->birth, part->birth);
	tree->records += part->records;
	tree->torn += part->torn;
	if (!damage->count)
		*damage = part->damage;
	damage->count = count;
}

/* Runs a pass over all of the pool, this CPU taking the first part */
static int recover_parts(struct recover *r, void (*pass)(struct recover_part *part))
{
	u64 leaves = r->tree->base.geo.leaves;
	u32 count = clamp_t(u64, leaves / PART_LEAVES, 1, min(num_online_cpus(), PARTS_MAX));
	struct recover_part *parts = kcalloc(count, sizeof(*parts), GFP_KERNEL), *part;

	if (!parts)
		return -ENOMEM;
	for (part = parts; part < parts + count; part++) {
		part->r = r;
		part->pass = pass;
		part->from = div_u64(leaves * (part - parts), count);
		part->to = div_u64(leaves * (part - parts + 1), count);
		INIT_WORK(&part->work, recover_work);
		if (part > parts)
			queue_work(system_unbound_wq, &part->work);
	}
	pass(parts);
	for (part = parts; part < parts + count; part++) {
		if (part > parts)
			flush_work(&part->work);
		recover_gather(r->tree, part);
	}
	kfree(parts);
	return 0;
}

static void recover_damage(struct recover *r, u64 offset, const char *what, u64 number)
{
	crab_damage_note(&r->tree->base.damage, offset, "%s (leaf %llu)", what,
			 (unsigned long long)number);
}

/* Puts a descriptor behind the last one */
static struct crab_leaf *recover_push(struct recover *r, u64 number, u64 low)
{
	struct crab_tree *tree = r->tree;
	struct crab_leaf *leaf = crab_leaf_alloc(tree, GFP_KERNEL);

	if (!leaf)
		return NULL;
	leaf->number = number;
	leaf->low = low;
	leaf->prev = tree->last;
	if (tree->last)
		tree->last->next = leaf;
	else
		tree->first = leaf;
	tree->last = leaf;
	return leaf;
}

/*
 * The first leaf of the list was born for the least key there is, also where a
 * sorted one no longer holds it; the first key of an empty one is CRAB_KEY_EMPTY,
 * for which no slotted one was born
 */
static bool recover_ascends(const struct recover *r, const struct recover_leaf *at, u64 above,
			    bool first)
{
	if (first)
		return at->first;
	return at->low > above && (r->tree->sorted || at->low != CRAB_KEY_EMPTY);
}

/*
 * What a link leads to: the place it names, if that is a leaf of this store with
 * the birth that the link was made for, was not met before and has a greater
 * least key. Otherwise says why not.
 */
static const char *recover_follow(const struct recover *r, u64 word, u64 above, bool first,
				  u64 *number)
{
	const struct crab_geometry *geo = &r->tree->base.geo;
	const struct recover_leaf *at;
	u64 n = (word & CRAB_LINK_MASK) - 1;

	*number = n;
	if (n >= geo->leaves)
		return "link out of the pool";
	at = &r->at[n];
	if (at->listed)
		return "link to a leaf that is in the list already";
	if (!at->valid)
		return "link to a leaf without a valid header";
	if (word != crab_link_to(geo, n, at->birth))
		return "link to a leaf of another birth";
	if (!recover_ascends(r, at, above, first))
		return "least keys of leaves do not ascend";
	return NULL;
}

/*
 * The link in @from led nowhere because the header of its target is damaged: the
 * target's own link may still be good, and the list goes on behind a gap.
 */
static bool recover_bridge(const struct recover *r, u64 broken, u64 above, u64 *word)
{
	const struct crab_tree *tree = r->tree;
	u64 n;

	if (broken >= tree->base.geo.leaves || r->at[broken].valid || r->at[broken].listed)
		return false;
	*word = crab_load(tree->base.media, &crab_leaf_media(tree, broken)->head.next);
	return *word & CRAB_LINK_MASK && !recover_follow(r, *word, above, false, &n);
}

static bool recover_is_end(const struct recover *r, u64 word, u64 number, u64 birth)
{
	const struct crab_geometry *geo = &r->tree->base.geo;

	return word == crab_link_end(geo->store_id, crab_leaf_offset(geo, number), birth);
}

/* Pass 2: from the head to the end, or to where nothing can be believed any more */
static int recover_list(struct recover *r, u64 word)
{
	struct crab_tree *tree = r->tree;
	u64 number = 0, low = 0, at = CRAB_HEAD_OFFSET, birth = 0;
	struct crab_leaf *leaf = NULL;
	const char *what;

	for (;;) {
		if (leaf && recover_is_end(r, word, leaf->number, birth))
			return 0;
		what = recover_follow(r, word, low, !tree->first, &number);
		if (what) {
			recover_damage(r, at, what, number);
			if (!recover_push(r, CRAB_LEAF_NOWHERE, low))
				return -ENOMEM;
			if (recover_bridge(r, number, low, &word))
				continue;
			return 0;
		}
		if (tree->first && r->at[number].low != CRAB_KEY_EMPTY)
			low = r->at[number].low;
		birth = r->at[number].birth;
		word = r->at[number].next;
		at = crab_leaf_offset(&tree->base.geo, number);
		leaf = recover_push(r, number, low);
		if (!leaf)
			return -ENOMEM;
		r->at[number].listed = true;
		r->at[number].leaf = leaf;
		crab_pool_mark(&tree->pool, number);
		if (!(tree->leaves++ & BREATHE))
			cond_resched();
	}
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

/* Descriptors lie in the order of the list, and pass 3 goes in the order of addresses */
static void recover_prefetch(const struct recover *r, u64 n)
{
	const u8 *leaf;

	if (n >= r->tree->base.geo.leaves || !r->at[n].listed)
		return;
	leaf = (const u8 *)r->at[n].leaf;
	prefetchw(leaf);
	prefetchw(leaf + CRAB_LINE);
}

/* Pass 3 */
static void recover_slots(struct recover_part *part)
{
	struct recover *r = part->r;
	struct crab_tree *tree = r->tree;
	struct crab_leaf *leaf;
	u64 n;

	for (n = part->from; n < part->to; n++) {
		if (!(n & BREATHE))
			cond_resched();
		recover_prefetch(r, n + AHEAD);
		if (!r->at[n].listed)
			continue;
		leaf = r->at[n].leaf;
		leaf->void_value = crab_load(tree->base.media,
					     &crab_leaf_media(tree, n)->head.void_value);
		crab_leaf_read(tree, leaf, &part->damage);
		part->records += leaf->count;
		part->torn += leaf->torn;
	}
}

/* Sorted leaves: what stands twice. From the last on, so that the right one is settled. */
static void recover_overlaps(struct crab_tree *tree)
{
	struct crab_leaf *leaf, *behind = NULL;

	for (leaf = tree->last; leaf; leaf = leaf->prev) {
		if (leaf->number == CRAB_LEAF_NOWHERE)
			continue;
		if (behind) {
			tree->records -= leaf->count;
			tree->torn -= leaf->torn;
			crab_sorted_overlap(tree, leaf, behind);
			tree->records += leaf->count;
			tree->torn += leaf->torn;
		}
		if (leaf->count)
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

static int recover_index(struct crab_tree *tree)
{
	struct crab_leaf *leaf;
	int err;

	for (leaf = tree->first; leaf; leaf = leaf->next) {
		if (leaf->prev && leaf->low == leaf->prev->low)
			continue;	/* a quarantined gap, or an empty leaf: nothing to find */
		err = crab_index_append(&tree->index, leaf->low, leaf);
		if (err)
			return err;
	}
	return 0;
}

/* Keys that stand where they must not: who asks where they belong is not told -ENOENT */
static void recover_doubts(struct crab_tree *tree)
{
	struct crab_leaf *leaf, *home;
	u32 slot;

	for (leaf = tree->first; leaf; leaf = leaf->next) {
		if (!leaf->bad || leaf->number == CRAB_LEAF_NOWHERE)
			continue;
		crab_leaf_for_each(tree, leaf, slot) {
			home = crab_index_find(&tree->index, crab_leaf_key(tree, leaf, slot));
			home->doubt = true;
		}
	}
}

static int recover_read(struct crab_tree *tree)
{
	const struct crab_geometry *geo = &tree->base.geo;
	struct recover r = { .tree = tree };
	struct crab_head head;
	int err;

	if (!crab_head_load(tree->base.media, CRAB_HEAD_OFFSET, geo->store_id, &head)) {
		crab_damage_note(&tree->base.damage, CRAB_HEAD_OFFSET,
				 "the head of the leaf list is damaged");
		return 0;
	}
	r.at = __vmalloc(array_size(geo->leaves, sizeof(*r.at)),
			 GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
	if (!r.at)
		return -ENOMEM;
	err = recover_parts(&r, recover_headers);
	if (!err)
		err = recover_list(&r, head.next);
	recover_ranges(tree);
	if (!err)
		err = recover_parts(&r, recover_slots);
	if (!err) {
		if (tree->sorted)
			recover_overlaps(tree);
		if (tree->base.damage.count)
			recover_gaps(tree);
		err = recover_index(tree);
	}
	if (!err && tree->bad)
		recover_doubts(tree);
	vfree(r.at);
	return err;
}

static int tree_init(struct crab_tree *tree, struct crab_media *media,
		     const struct crab_geometry *geo)
{
	mutex_init(&tree->structure);
	tree->sorted = geo->layout == CRAB_LAYOUT_SORTED;
	tree->slots = crab_leaf_slots(geo->leaf_bytes);
	tree->walked = -(u64)tree->slots;	/* who knows what lives before this one removed */
	crab_index_init(&tree->index);
	tree->scratch = kvmalloc_array(2 * tree->slots + 1, sizeof(*tree->scratch),
				       GFP_KERNEL | __GFP_NOWARN);
	if (crab_engine_init(&tree->base, &crab_engine_crab, media, geo) || !tree->scratch)
		return -ENOMEM;
	return crab_pool_init(&tree->pool, geo->leaves);
}

struct crab_engine *crab_tree_attach(struct crab_media *media, const struct crab_geometry *geo)
{
	struct crab_tree *tree = kvzalloc(sizeof(*tree), GFP_KERNEL);
	int err;

	if (!tree)
		return ERR_PTR(-ENOMEM);
	err = geo->layout == CRAB_LAYOUT_SORTED && !crab_bitmap_fits(geo) ? -EINVAL :
	      tree_init(tree, media, geo);
	if (!err)
		err = recover_read(tree);
	if (err) {
		crab_tree_detach(&tree->base);
		return ERR_PTR(err);
	}
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
		if (!(done++ & BREATHE))
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
	kvfree(tree->scratch);
	kvfree(tree);
}
