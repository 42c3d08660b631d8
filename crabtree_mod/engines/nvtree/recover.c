// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements FORMAT, attach, repair and detach of the engine `nvtree`.
 */

/**
 * DOC: attach of nvtree
 *
 * Attach follows the list from the head and reads each leaf once: the header, whose link was
 * compared with place and birth, and the elements up to the count. The lowest keys of the headers
 * become the entries of the parent nodes; a scan for the highest keys, as published, would find
 * none in a leaf of deleted keys. The work and the memory are linear in the leaves in use, for any
 * content of the media, and attach ends with -EINTR between two leaves if the caller is killed.
 *
 * Any state that a power cut cannot leave is damage: its offset is noted, the leaf or the gap in
 * the list is quarantined, everything else stays available read-only, the pool is closed and
 * nothing is repaired. A gap begins after the highest key of the leaf before it, or at key 0 if the
 * first leaf is damaged. It ends at the leaf to which the link of the damaged one leads, if that is
 * a valid one. A key of a quarantined leaf may belong into the range of another one, where a failed
 * lookup then returns -EUCLEAN. Attach does not read memory that is known to be unreadable
 * (badmem.c).
 *
 * A power cut leaves nothing to repair. After an attach that was not cleanly ended, repair cleans
 * the line of each link and count, because the caches of a machine that survived may have words
 * that the media does not have. The fence of the superblock (P3) makes them durable.
 *
 * With the option `instant` of test builds all this is only done if park.c has nothing to believe.
 *
 * Births begin at the highest one in the list. Free leaves may have higher ones, but no link to
 * such a leaf is on the media: P8 follows P7, and a link that was found was followed.
 *
 * Locking: no other caller uses the region.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "media/badmem.h"
#include "compact.h"
#include "inner.h"
#include "leaf.h"
#include "park.h"

#define RECOVER_ENTRIES	256	/* for which memory is taken first */

/**
 * struct nv_recover - a running attach
 * @tree: the tree
 * @entry: entries of the parent nodes
 * @count: of them
 * @room: for how many
 * @leaf: the last leaf, which is read once the end of its range is known
 * @low: its lowest key
 * @birth: its birth
 * @live: live records of the leaf before it; if there is none, as many as fit
 * @pending: there is such a leaf
 */
struct nv_recover {
	struct nv_tree *tree;
	struct nv_entry *entry;
	u64 count;
	u64 room;
	u64 leaf;
	u64 low;
	u64 birth;
	u32 live;
	bool pending;
};

int crab_nv_format(struct crab_flow *flow, const struct crab_geometry *geo)
{
	struct crab_head head = { .self = crab_leaf_offset(geo, 0), .birth = 1 };

	head.next = crab_link_end(geo->store_id, head.self, head.birth);
	crab_nv_leaf_fresh(flow, geo, &head, NULL, 0);
	crab_list_format(flow, geo);
	return 0;
}

static int recover_grow(struct nv_recover *r)
{
	u64 room = r->room ? 2 * r->room : RECOVER_ENTRIES;
	struct nv_entry *entry = __vmalloc(array_size(room, sizeof(*entry)), NV_GFP_ATTACH);

	if (!entry)
		return -ENOMEM;
	if (r->count)
		memcpy(entry, r->entry, r->count * sizeof(*entry));
	vfree(r->entry);
	r->entry = entry;
	r->room = room;
	return 0;
}

static int recover_push(struct nv_recover *r, u64 low, u64 leaf)
{
	if (r->count == r->room && recover_grow(r))
		return -ENOMEM;
	r->entry[r->count++] = (struct nv_entry){ .low = low, .leaf = leaf };
	return 0;
}

/* Reads the elements of the leaf into memory; returns NULL, or the damage in words */
static const char *recover_read(struct nv_recover *r, u64 high, u64 *count)
{
	struct nv_tree *tree = r->tree;
	const struct crab_media *media = tree->base.media;
	u64 offset = crab_leaf_offset(&tree->base.geo, r->leaf);

	*count = 0;
	if (!crab_badmem_probe(media, offset, tree->base.geo.leaf_bytes))
		return "uncorrectable memory";
	*count = crab_load(media, &nv_leaf_media(tree, r->leaf)->count);
	if (*count > tree->room)
		return "more elements than fit";
	crab_nv_leaf_read(tree, r->leaf, *count, tree->elements);
	/* An append overwrites the elements after those that attach counts */
	if (crab_load(media, &nv_leaf_media(tree, r->leaf)->count) != *count ||
	    !crab_nv_leaf_agrees(tree, r->leaf, *count, tree->elements, true))
		return "two readings of its elements differ";
	return crab_nv_leaf_fault(tree->elements, *count, r->low, high);
}

static void recover_quarantine(struct nv_recover *r, struct crab_side *side, const char *what)
{
	struct nv_tree *tree = r->tree;

	crab_damage_note(&tree->base.damage, crab_leaf_offset(&tree->base.geo, r->leaf),
			 "leaf %llu: %s", (unsigned long long)r->leaf, what);
	side->count = 0;
	side->flags = NV_QUARANTINED;
	tree->quarantined++;
}

/* The last leaf holds keys below @high; @above: out: one past its highest key, or 0 */
static int recover_leaf(struct nv_recover *r, u64 high, u64 *above)
{
	struct nv_tree *tree = r->tree;
	struct crab_side *side = crab_side_make(&tree->sides, r->leaf, NV_GFP_ATTACH);
	const char *fault;
	u64 count;

	*above = 0;
	if (!side)
		return -ENOMEM;
	fault = recover_read(r, high, &count);
	if (fault) {
		recover_quarantine(r, side, fault);
	} else {
		side->count = count;
		side->flags = crab_nv_leaf_records(tree->elements, count, tree->scratch);
		if (r->live + side->flags <= tree->room)
			crab_nv_note(&tree->notes, r->leaf);
		r->live = side->flags;
		tree->records += side->flags;
		*above = count ? tree->elements[count - 1].key + 1 : 0;
	}
	crab_count(&tree->base, own[NV_ATTACH_LINES], 1 + DIV_ROUND_UP(side->count, NV_LINE_SLOTS));
	r->pending = false;
	return recover_push(r, r->low, r->leaf);
}

static int recover_gap(struct nv_recover *r, u64 high)
{
	u64 above;
	int err;

	if (!r->pending) {	/* no leaf was found yet */
		r->tree->quarantined++;
		return recover_push(r, 0, NV_LEAF_NOWHERE);
	}
	err = recover_leaf(r, high, &above);
	if (err || crab_side(&r->tree->sides, r->leaf)->flags & NV_QUARANTINED)
		return err;
	if (!above || above >= high) {
		r->tree->records -= nv_live(crab_side(&r->tree->sides, r->leaf));
		recover_quarantine(r, crab_side(&r->tree->sides, r->leaf),
				   "no range is left for the leaf after it");
		return 0;
	}
	r->tree->quarantined++;
	return recover_push(r, above, NV_LEAF_NOWHERE);
}

/* Is a lowest key above that of the last leaf, or above 0 if there is none? */
static bool recover_ascends(const struct nv_recover *r, u64 low)
{
	return low > r->low && low != CRAB_KEY_EMPTY;
}

/* The error of the leaf that a link names, or NULL */
static const char *recover_doubt(const struct nv_recover *r, u64 word, struct crab_head *head)
{
	const struct nv_tree *tree = r->tree;
	const char *what = crab_link_doubt(tree->base.media, &tree->base.geo, word,
					   tree->pool.used, head);

	if (what)
		return what;
	if (r->pending ? !recover_ascends(r, head->low) : head->low)
		return "least keys of leaves do not ascend";
	return NULL;
}

/* The link of the damaged target of a link, if it leads to a valid leaf */
static bool recover_bridge(const struct nv_recover *r, u64 *word, struct crab_head *head)
{
	const struct nv_tree *tree = r->tree;
	u64 n = (*word & CRAB_LINK_MASK) - 1;
	u64 offset = crab_leaf_offset(&tree->base.geo, n);

	if (n >= tree->base.geo.leaves ||
	    crab_head_load(tree->base.media, offset, tree->base.geo.store_id, head) ||
	    !crab_badmem_probe(tree->base.media, offset, CRAB_LINE))
		return false;
	*word = crab_load(tree->base.media, &nv_leaf_media(tree, n)->head.next);
	return *word & CRAB_LINK_MASK &&
	       !crab_link_doubt(tree->base.media, &tree->base.geo, *word, tree->pool.used, head) &&
	       recover_ascends(r, head->low);
}

static int recover_enter(struct nv_recover *r, u64 word, const struct crab_head *head)
{
	struct nv_tree *tree = r->tree;
	u64 leaf = (word & CRAB_LINK_MASK) - 1, above;
	int err = 0;

	/* Its slots and the next header arrive while the leaf before is read */
	crab_link_prefetch(tree->base.media, &tree->base.geo, leaf, head->next);
	if (r->pending)
		err = recover_leaf(r, head->low, &above);
	r->leaf = leaf;
	r->low = head->low;
	r->birth = head->birth;
	r->pending = true;
	crab_pool_mark(&tree->pool, r->leaf);
	tree->birth = max(tree->birth, head->birth);
	tree->leaves++;
	return err;
}

static bool recover_is_end(const struct nv_recover *r, u64 word)
{
	const struct crab_geometry *geo = &r->tree->base.geo;

	return r->pending &&
	       word == crab_link_end(geo->store_id, crab_leaf_offset(geo, r->leaf), r->birth);
}

/* A link without a valid target: false if the list cannot be followed beyond it */
static bool recover_damage(struct nv_recover *r, const char *what, u64 *word,
			   struct crab_head *head, int *err)
{
	struct nv_tree *tree = r->tree;
	u64 offset = r->pending ? crab_leaf_offset(&tree->base.geo, r->leaf) : CRAB_HEAD_OFFSET;
	u64 n = (*word & CRAB_LINK_MASK) - 1;
	bool bridged = recover_bridge(r, word, head);

	crab_damage_note(&tree->base.damage, offset, "%s (leaf %llu)", what, (unsigned long long)n);
	*err = recover_gap(r, bridged ? head->low : CRAB_KEY_EMPTY);
	return bridged && !*err;
}

static int recover_list(struct nv_recover *r, u64 word)
{
	struct crab_head head;
	const char *what;
	u64 above;
	int err = 0;

	while (!err) {
		if (crab_engine_breathe(&r->tree->base))
			return -EINTR;
		if (recover_is_end(r, word))
			return recover_leaf(r, CRAB_KEY_EMPTY, &above);
		what = recover_doubt(r, word, &head);
		if (what && !recover_damage(r, what, &word, &head, &err))
			return err;
		err = recover_enter(r, word, &head);
		word = head.next;
	}
	return err;
}

/* The keys of a quarantined leaf that are outside its range: failed lookups there are in doubt */
static void recover_misplaced(struct nv_tree *tree, const struct nv_place *leaf)
{
	const struct crab_media *media = tree->base.media;
	struct nv_place home;
	u64 count, key;
	u32 i;

	if (!crab_badmem_probe(media, crab_leaf_offset(&tree->base.geo, leaf->leaf),
			       tree->base.geo.leaf_bytes))
		return;
	count = min_t(u64, crab_load(media, &nv_leaf_media(tree, leaf->leaf)->count), tree->room);
	for (i = 0; i < count; i++) {
		key = crab_nv_leaf_key(tree, leaf->leaf, i);
		crab_nv_find(tree, key, &home);
		if (home.side)
			home.side->flags |= NV_MISPLACED;
	}
}

static int recover_all_misplaced(struct nv_tree *tree)
{
	struct nv_place leaf;
	u64 key;

	for (key = 0; key != CRAB_KEY_EMPTY; key = leaf.high) {
		if (crab_engine_breathe(&tree->base))
			return -EINTR;
		crab_nv_find_range(tree, key, &leaf);
		if (leaf.side && nv_is_quarantined(&leaf))
			recover_misplaced(tree, &leaf);
	}
	return 0;
}

/* Reads the head, without which there is no list */
static int recover_head(struct nv_recover *r)
{
	struct nv_tree *tree = r->tree;
	const struct crab_media *media = tree->base.media;
	struct crab_head head;

	if (crab_head_load(media, CRAB_HEAD_OFFSET, tree->base.geo.store_id, &head))
		return recover_list(r, head.next);
	crab_damage_note(&tree->base.damage, CRAB_HEAD_OFFSET,
			 crab_badmem_hits(media, CRAB_HEAD_OFFSET, CRAB_LINE) ?
			 "the head of the leaf list is in uncorrectable memory" :
			 "the head of the leaf list is damaged");
	return recover_gap(r, CRAB_KEY_EMPTY);
}

static int recover_build(struct nv_recover *r)
{
	struct nv_tree *tree = r->tree;
	struct nv_list list = { .entry = r->entry, .count = r->count };
	struct nv_inner *inner;

	inner = crab_nv_inner_build(tree, &list, crab_nv_inner_pack(tree, true), NV_GFP_ATTACH);
	RCU_INIT_POINTER(tree->inner, inner);
	if (!inner)
		return -ENOMEM;
	return tree->quarantined ? recover_all_misplaced(tree) : 0;
}

static int recover_tree(struct nv_tree *tree)
{
	struct nv_recover r = { .tree = tree, .live = tree->room + 1 };
	int err = crab_nv_unpark(tree);

	if (err != -EAGAIN)
		return err;
	err = recover_head(&r) ?: recover_build(&r);
	vfree(r.entry);
	return err;
}

static int tree_init(struct nv_tree *tree, struct crab_media *media,
		     const struct crab_geometry *geo, const struct crab_attach_how *how)
{
	mutex_init(&tree->smo_lock);
	spin_lock_init(&tree->inner_lock);
	crab_nv_first_init(tree);
	tree->tuning = how->tuning ? *(const struct nv_tuning *)how->tuning :
				     crab_nv_tuning_default;
	tree->room = nv_room(geo->leaf_bytes);
	tree->elements = kvmalloc_array(tree->room, sizeof(*tree->elements), NV_GFP_ATTACH);
	tree->scratch = kvmalloc_array(2 * tree->room + 1, sizeof(*tree->scratch), NV_GFP_ATTACH);
	if (crab_engine_init(&tree->base, &crab_engine_nvtree, media, geo, how) ||
	    !tree->elements || !tree->scratch || crab_sides_init(&tree->sides, geo->leaves))
		return -ENOMEM;
	tree->base.tuning = &tree->tuning;
	tree->base.pool = &tree->pool;
	return crab_nv_notes_init(&tree->notes, geo->leaves) ?:
	       crab_pool_init(&tree->pool, geo->leaves);
}

struct crab_engine *crab_nv_attach(struct crab_media *media, const struct crab_geometry *geo,
				   const struct crab_attach_how *how)
{
	struct nv_tree *tree = kvzalloc(sizeof(*tree), NV_GFP_ATTACH);
	int err;

	if (!tree)
		return ERR_PTR(-ENOMEM);
	err = tree_init(tree, media, geo, how);
	if (!err)
		err = recover_tree(tree);
	if (err) {
		crab_nv_detach(&tree->base);
		return ERR_PTR(err);
	}
	crab_pool_spoil_bad(&tree->pool, media, geo);
	crab_damage_note_births(&tree->base.damage, tree->birth);
	if (tree->base.damage.count)
		crab_pool_close(&tree->pool);
	return &tree->base;
}

/*
 * The links and counts that were read may be only in caches that survived a crash of the kernel.
 * All other words were durable before (P7, P11). The fence of the superblock completes the cleans.
 */
static int repair_clean(struct nv_tree *tree, struct crab_flow *flow)
{
	struct nv_place leaf;
	u64 key;

	for (key = 0; key != CRAB_KEY_EMPTY; key = leaf.high) {
		crab_nv_find_range(tree, key, &leaf);
		crab_clean(flow, &nv_leaf_media(tree, leaf.leaf)->count, sizeof(__le64));
		if (crab_engine_breathe(&tree->base))
			return -EINTR;
	}
	return 0;
}

int crab_nv_repair(struct crab_engine *engine, struct crab_flow *flow)
{
	return engine->clean ? 0 : repair_clean(nv_tree_of(engine), flow);
}

void crab_nv_detach(struct crab_engine *engine)
{
	struct nv_tree *tree = nv_tree_of(engine);

	vfree(rcu_dereference_protected(tree->inner, true));
	crab_sides_destroy(&tree->sides);
	crab_pool_destroy(&tree->pool);
	crab_nv_notes_destroy(&tree->notes);
	crab_nv_first_exit(tree);
	kvfree(tree->elements);
	kvfree(tree->scratch);
	crab_engine_exit(&tree->base);
	kvfree(tree);
}
