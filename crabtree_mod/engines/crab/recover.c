// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements FORMAT and attach of the engine `crab`; recover_pool.c implements the pass
 * over the pool, recover_list.c the pass over the list.
 */

/**
 * DOC: attach
 *
 * The first pass only reads, in the order of addresses where possible:
 *
 *   1. the header of every leaf of the pool: each valid one gets an entry in DRAM. In a pool
 *      without a write since FORMAT, attach reads the first leaf only;
 *   2. the list, in those entries: each link must name a leaf of this store by
 *      place and birth, each leaf occurs once, the lowest keys ascend from 0, and
 *      the end is valid. The list is followed from many places at a time. If the parts do
 *      not lead from the head to the end, step 1 is repeated and the list is followed
 *      leaf by leaf;
 *   3. the slots of every leaf of the list, into a descriptor each; the descriptors are
 *      then linked in the order of the list. Sorted leaves are read once more from the last
 *      to the first, for records that are in two neighbours.
 *
 * Attach does not read memory that is known to be unreadable (badmem.c). A leaf with such memory
 * is quarantined. After an unreadable header the list ends: a leaf that was unlinked cannot be
 * distinguished from a later leaf of the list (power-fail.rst has the proof). Leaves that are
 * unreadable and not in the list are kept from the pool, and are no damage.
 *
 * A quarantined leaf may have a key of the range of another leaf. A search that finds no record in
 * that leaf returns -EUCLEAN, because the record may be lost; a scan returns the others, and only
 * the quarantined leaf is an error.
 *
 * Any state that a power cut cannot leave is damage: its offset is noted, the leaf or the gap in
 * the list is quarantined, everything else stays available read-only, the pool is closed and
 * nothing is repaired. Without damage the second pass repairs half-set slots and torn shifts,
 * durable with the next superblock (P3). After an attach that was not cleanly ended, all words
 * that attach read are made durable first (P4), because the caches of a machine that survived
 * may have words that the media does not have.
 *
 * Each step of the second pass preserves the content and is idempotent. After a cut in it the
 * next attach begins again.
 *
 * The work is linear in the leaves of the pool, for any content of the media, and ends with
 * -EINTR between two leaves if the caller is killed. In a large pool the CPUs share steps
 * 1 and 3; each of them takes one stretch of addresses after the other. Their results are
 * merged in the order of addresses, so that they are the same on each machine.
 *
 * An empty leaf of the layout sorted that is not the first of the list is no damage: it
 * is read, and repair unlinks it. No operation leaves such a leaf, complete or cut: a delete
 * unlinks the leaf whose last record it removes.
 *
 * Locking: no other caller uses the region.
 */
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "media/badmem.h"
#include "access.h"
#include "layout.h"
#include "recover.h"
#include "smo.h"

#define AHEAD		16	/* leaves, or descriptors, that are fetched before their turn */

int crab_tree_format(struct crab_flow *flow, const struct crab_geometry *geo)
{
	struct crab_dleaf *first = (struct crab_dleaf *)(flow->media->base +
							 crab_leaf_offset(geo, 0));
	struct crab_head head = {
		.self = crab_leaf_offset(geo, 0),
		.birth = 1,
		.own = crab_slotted_void(NULL, 0),
	};

	head.next = crab_link_end(geo->store_id, head.self, head.birth);
	crab_head_store(flow, geo->store_id, &head);
	crab_layout_format(flow, first, geo, head.own);
	crab_clean(flow, first, geo->leaf_bytes);
	crab_list_format(flow, geo);
	return 0;
}

/* The end of each range: the next begin, which is unknown for a gap. Counts quarantined leaves. */
static void recover_ranges(struct crab_tree *tree)
{
	struct crab_leaf *leaf, *next = NULL;
	u64 done = 0;

	for (leaf = tree->last; leaf; next = leaf, leaf = leaf->prev) {
		if (!(done++ & RECOVER_BREATHE))
			cond_resched();
		if (!next)
			leaf->high = CRAB_KEY_EMPTY;
		else
			leaf->high = next->low > leaf->low ? next->low : next->high;
		tree->quarantined += leaf->quarantined;
	}
}

static void recover_read_leaf(const struct crab_tree *tree, struct crab_leaf *leaf,
			      struct crab_seen *seen, struct crab_damage *damage)
{
	const struct crab_geometry *geo = &tree->base.geo;
	u64 offset = crab_leaf_offset(geo, leaf->number);

	if (crab_badmem_probe(tree->base.media, offset, geo->leaf_bytes)) {
		crab_layout_read(tree, leaf, seen, damage);
		return;
	}
	crab_damage_note(damage, offset, "leaf %llu: uncorrectable memory",
			 (unsigned long long)leaf->number);
	leaf->quarantined = true;
}

/* The descriptor of leaf @n; or NULL, which leaves its place in the list empty */
static struct crab_leaf *recover_leaf(struct recover_part *part, u64 n,
				      const struct recover_leaf *at, struct crab_seen *seen)
{
	struct crab_tree *tree = part->r->tree;
	struct crab_leaf *leaf = part->err ? NULL :
				 crab_leaf_alloc(tree, &part->own, RECOVER_GFP);

	if (!leaf) {
		part->err = part->err ?: -ENOMEM;
		return NULL;
	}
	leaf->number = n;
	leaf->low = at->low;
	leaf->high = at->high;
	/* By it alone free slots differ from torn ones */
	leaf->void_value = crab_load_settled(tree->base.media,
					     &crab_leaf_media(tree, n)->head.own);
	recover_read_leaf(tree, leaf, seen, &part->damage);
	part->birth = max(part->birth, at->birth);
	part->records += leaf->count;
	part->torn += leaf->torn;
	return leaf;
}

/* The leaves of one word that are in the list */
static void recover_word_slots(struct recover_part *part, u64 from, struct crab_seen *seen)
{
	struct recover *r = part->r;
	const struct recover_word *word = &r->words[from / RECOVER_WORD];
	const struct recover_leaf *at = word->at;
	u64 bits, place;

	for (bits = word->valid; bits; bits &= bits - 1, at++) {
		place = recover_place(r, at);
		if (place != CRAB_LEAF_NOWHERE)
			r->nth[place].leaf = recover_leaf(part, from + __ffs64(bits), at, seen);
	}
}

/* Pass 3. After an error the other places become NULL, which recover_link() leaves out. */
static void recover_slots(struct recover_part *part)
{
	struct crab_seen *seen = kvzalloc(sizeof(*seen), RECOVER_GFP);
	u64 n;

	if (!seen)
		part->err = -ENOMEM;
	for (n = part->from; n < part->to; n += RECOVER_WORD) {
		recover_word_slots(part, n, seen);
		if (crab_recover_part_breathe(part) && !part->err)
			part->err = -EINTR;
	}
	kvfree(seen);
}

static struct crab_leaf *recover_gap_leaf(struct crab_tree *tree)
{
	struct crab_leaf *leaf = crab_leaf_alloc(tree, NULL, RECOVER_GFP);

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

/* Prefetches the descriptor of a later place: they lie in another order. True: attach must end */
static bool recover_ahead(struct recover *r, u64 i)
{
	if (i + AHEAD < r->count)
		prefetchw(r->nth[i + AHEAD].leaf);
	return !(i & RECOVER_BREATHE) && crab_recover_breathe(r);
}

/* @leaf is linked, and so are all before it */
static int recover_append(struct crab_tree *tree, struct crab_leaf *leaf)
{
	if (leaf->prev && leaf->low == leaf->prev->low)
		return 0;	/* a quarantined gap, or an empty leaf: nothing to find */
	return crab_index_append(&tree->index, leaf->low, crab_leaf_child(tree, leaf));
}

/*
 * Links the descriptors in the order of the list; also after an error, for those that exist.
 * @settled: their lowest keys are final, so that they are added to the index while in the cache.
 */
static int recover_link(struct recover *r, bool settled, int err)
{
	struct crab_leaf *leaf;
	u64 i;

	for (i = 0; i < r->count; i++) {
		if (recover_ahead(r, i))
			err = err ?: -EINTR;
		if (r->nth[i].number == CRAB_LEAF_NOWHERE)
			r->nth[i].leaf = recover_gap_leaf(r->tree);
		leaf = r->nth[i].leaf;
		if (!leaf) {
			err = err ?: -ENOMEM;
			continue;
		}
		recover_push(r->tree, leaf);
		if (settled && !err)
			err = recover_append(r->tree, leaf);
	}
	return err;
}

/* Prefetches the data of a leaf that crab_sorted_overlap() will read, and before that its place */
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

/* Sorted leaves: records in two leaves. From the last on, so that the right one is final. */
static int recover_overlaps(struct recover *r)
{
	struct crab_leaf *leaf, *behind = NULL;
	struct crab_tree *tree = r->tree;
	u64 i = r->count;

	while (i--) {
		overlap_fetch(r, i);
		if (!(i % RECOVER_WORD) && crab_recover_breathe(r))	/* each may be read whole */
			return -EINTR;
		leaf = r->nth[i].leaf;
		if (leaf->number == CRAB_LEAF_NOWHERE)
			continue;
		if (behind) {
			tree->records -= leaf->count;
			crab_sorted_overlap(tree, leaf, behind);
			tree->records += leaf->count;
		}
		if (leaf->count || leaf->quarantined)
			behind = leaf;
	}
	return 0;
}

/* Where the quarantine of a gap begins: after the highest key of the previous leaf */
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

/*
 * The entries from @holder up to @next have one lowest key: @holder may have records, the
 * leaves and gaps after it have none. @gap is the first of those gaps.
 */
static void recover_gap(struct crab_tree *tree, struct crab_leaf *holder, struct crab_leaf *gap,
			struct crab_leaf *next)
{
	struct crab_leaf *leaf;
	u64 done = 0;

	gap->low = gap_low(tree, holder);
	/* The whole range is in doubt: no key is known, or keys up to the leaf after the gap */
	holder->quarantined |= gap->low == holder->low || (next && gap->low >= next->low);
	if (next)
		gap->low = min(gap->low, next->low - 1);
	for (leaf = gap; leaf != next; leaf = leaf->next) {
		if (!(done++ & RECOVER_BREATHE))
			cond_resched();
		leaf->low = gap->low;
	}
}

/* Gaps are quarantined, each run of entries with one lowest key at a time */
static void recover_gaps(struct crab_tree *tree)
{
	struct crab_leaf *leaf = tree->first, *holder, *gap;
	u64 done = 0, low;

	while (leaf) {
		holder = leaf;
		gap = NULL;
		for (low = leaf->low; leaf && leaf->low == low; leaf = leaf->next) {
			if (!(done++ & RECOVER_BREATHE))
				cond_resched();
			leaf->quarantined |= leaf->number == CRAB_LEAF_NOWHERE;
			if (!gap && leaf->number == CRAB_LEAF_NOWHERE)
				gap = leaf;
		}
		if (gap && gap != holder)
			recover_gap(tree, holder, gap, leaf);
	}
	recover_ranges(tree);
}

static int recover_index(struct recover *r)
{
	int err = 0;
	u64 i;

	for (i = 0; i < r->count && !err; i++)
		err = recover_ahead(r, i) ? -EINTR : recover_append(r->tree, r->nth[i].leaf);
	return err;
}

/* Misplaced keys: a failed lookup in the leaf that should hold one returns -EUCLEAN */
static void recover_doubt(struct crab_tree *tree, const struct crab_leaf *leaf)
{
	struct crab_leaf *home;
	u32 slot;
	u64 key;

	crab_leaf_for_each(tree, leaf, slot) {
		key = crab_leaf_key(tree, leaf, slot);
		if (key == CRAB_KEY_EMPTY)	/* it was another when it was read first */
			continue;
		home = crab_leaf_find(tree, key);
		home->misplaced_key = true;
	}
}

static int recover_doubts(struct recover *r)
{
	struct crab_tree *tree = r->tree;
	struct crab_leaf *leaf;

	for (leaf = tree->first; leaf; leaf = leaf->next) {
		if (crab_recover_breathe(r))
			return -EINTR;
		if (leaf->quarantined && leaf->number != CRAB_LEAF_NOWHERE)
			recover_doubt(tree, leaf);
	}
	return 0;
}

/* Pass 2 */
static int recover_follow(struct recover *r, u64 word)
{
	int err;

	if (crab_recover_walk(r, word))
		return crab_recover_places(r, r->count);
	err = r->stopped ? -EINTR : crab_recover_headers(r);
	return err ?: crab_recover_list(r, word);
}

/* Chunks needed for the descriptors of the list: each part begins with one of its own */
static u64 recover_chunks(const struct recover *r)
{
	return crab_leaf_table_need(&r->tree->table, r->count) + r->n + 1;
}

/* Pages needed for the descriptors of the list, and the index */
static u64 recover_pages(const struct recover *r)
{
	u64 nodes = r->count / CRAB_INDEX_FILL + r->count / CRAB_INDEX_FILL / 8;

	return (crab_leaf_table_bytes(&r->tree->table, recover_chunks(r)) +
		nodes * sizeof(struct crab_index_node)) >> PAGE_SHIFT;
}

static int recover_all(struct recover *r, u64 word)
{
	struct crab_tree *tree = r->tree;
	bool settled;
	int err;

	err = crab_recover_headers(r) ?: recover_follow(r, word);
	if (err)
		return err;
	if (recover_pages(r) > (u64)si_mem_available() ||
	    crab_leaf_table_reserve(&tree->table, recover_chunks(r), RECOVER_GFP))
		return -ENOMEM;
	err = crab_recover_parts(r, recover_slots);
	settled = !crab_layout_may_overlap(tree) && !tree->base.damage.count;
	err = recover_link(r, settled, err);
	if (err || settled)
		return err;
	if (crab_layout_may_overlap(tree))
		err = recover_overlaps(r);
	if (err)
		return err;
	if (tree->base.damage.count)
		recover_gaps(tree);
	err = recover_index(r);
	if (!err && tree->quarantined)
		err = recover_doubts(r);
	return err;
}

/* Reads the head, without which there is no list. Damage to the bitmap is only noted: unused */
static bool recover_head(struct crab_tree *tree, struct crab_head *head)
{
	struct crab_media *media = tree->base.media;
	struct crab_damage *damage = &tree->base.damage;

	if (crab_layout_has_bitmap(tree) &&
	    crab_badmem_hits(media, CRAB_BITMAP_OFFSET,
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

static int recover_read(struct crab_tree *tree)
{
	struct crab_head head;
	struct recover *r;
	int err;

	if (!recover_head(tree, &head))
		return 0;
	tree->mix = crab_mix_choose();
	r = crab_recover_alloc(tree);
	if (!r)
		return -ENOMEM;
	err = recover_all(r, head.next);
	crab_recover_free(r);
	return err;
}

static int tree_init(struct crab_tree *tree, struct crab_media *media,
		     const struct crab_geometry *geo, const struct crab_attach_how *how)
{
	mutex_init(&tree->smo_lock);
	tree->base.geo = *geo;
	tree->region = media->base;
	crab_layout_init(tree);
	tree->slots = crab_leaf_slots(geo->leaf_bytes);
	crab_underfull_init(tree);
	crab_leaf_table_init(&tree->table, crab_layout_desc_bytes(tree),
			     crab_layout_order_bytes(tree));
	crab_index_init(&tree->index);
	crab_index_set_lock(&tree->index, &tree->smo_lock);
	tree->scratch = kvmalloc_array(2 * tree->slots + 1, sizeof(*tree->scratch), RECOVER_GFP);
	tree->fps = kmalloc_array(crab_slotted_group_count(tree), sizeof(*tree->fps), RECOVER_GFP);
	tree->overflow = kmalloc_array(tree->slots, sizeof(*tree->overflow), RECOVER_GFP);
	if (crab_engine_init(&tree->base, &crab_engine_crab, media, geo, how) || !tree->scratch ||
	    !tree->fps || !tree->overflow)
		return -ENOMEM;
	tree->base.pool = &tree->pool;
	return crab_pool_init(&tree->pool, geo->leaves);
}

struct crab_engine *crab_tree_attach(struct crab_media *media, const struct crab_geometry *geo,
				     const struct crab_attach_how *how)
{
	struct crab_tree *tree = kvzalloc(sizeof(*tree), RECOVER_GFP);
	int err;

	if (!tree)
		return ERR_PTR(-ENOMEM);
	err = tree_init(tree, media, geo, how);
	if (!err)
		err = crab_layout_tune(tree, how);
	if (!err)
		err = recover_read(tree);
	tree->base.geo.extent = geo->leaves;
	if (err) {
		crab_tree_detach(&tree->base);
		return ERR_PTR(err);
	}
	/* Leaves of bad pages that the list does not reach: no record is lost */
	crab_pool_spoil_bad(&tree->pool, media, geo);
	if (tree->base.damage.count)
		crab_pool_close(&tree->pool);
	mutex_lock(&tree->smo_lock);	/* free; changes of the index expect it */
	crab_shortcut_build(&tree->index);
	mutex_unlock(&tree->smo_lock);
	return &tree->base;
}

/* The words read may be in caches that survived a crash of the kernel */
static int repair_clean(const struct crab_tree *tree, struct crab_flow *flow)
{
	struct crab_leaf *leaf;

	for (leaf = tree->first; leaf; leaf = leaf->next) {
		crab_clean(flow, crab_leaf_media(tree, leaf->number), tree->base.geo.leaf_bytes);
		if (crab_engine_breathe(&tree->base))
			return -EINTR;
	}
	/* P4: the words read are durable before attach depends on them */
	crab_fence(flow, CRAB_P4_FOUND);
	return 0;
}

int crab_tree_repair(struct crab_engine *engine, struct crab_flow *flow)
{
	struct crab_tree *tree = crab_tree_of(engine);
	struct crab_write write = { .tree = tree, .flow = flow };
	int err = engine->clean ? 0 : repair_clean(tree, flow);

	mutex_lock(&tree->smo_lock);	/* free; the structure modifications expect it */
	if (!err)
		err = crab_layout_repair(&write);
	if (!err && crab_layout_has_bitmap(tree) && tree->tuning.on_demand)
		crab_bitmap_rebuild(&write);
	mutex_unlock(&tree->smo_lock);
	return err;
}

void crab_tree_detach(struct crab_engine *engine)
{
	struct crab_tree *tree = crab_tree_of(engine);

	crab_leaf_table_destroy(&tree->table);
	crab_index_destroy(&tree->index);
	crab_pool_destroy(&tree->pool);
	crab_engine_exit(&tree->base);
	kfree(tree->overflow);
	kfree(tree->fps);
	kvfree(tree->scratch);
	kvfree(tree);
}
