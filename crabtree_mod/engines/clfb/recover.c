// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements FORMAT, attach, repair and detach of the engine `clfb`.
 */

/**
 * DOC: attach of clfb
 *
 * Attach walks the tree in the order of keys and reads each node and each leaf once. References
 * have no check bits: the crc of a node covers its number and the store, the header of a leaf its
 * place and the store, and each node and leaf must have keys within the range of its place, the
 * level of its place, and only one place. A stale line of the same node, or a stale leaf of the
 * same range, would be accepted: no power cut leads to one, since all that is free is unreachable.
 *
 * Any state that a power cut cannot leave is damage: the leaf, or the range of the node, is
 * quarantined, everything else stays available read-only, the pool is closed and nothing is
 * repaired. The work is linear in the leaves and nodes in use, since none is entered twice.
 *
 * A node whose update was interrupted is read from the log, and repair writes it back. After an
 * attach that was not cleanly ended, repair also cleans all lines in use, because the caches of a
 * machine that survived may have words that the media does not have; and it voids torn lines of
 * `twin`. The fence of the superblock (P3) makes all of them durable.
 *
 * Locking: no other caller uses the region.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "media/badmem.h"
#include "leaf.h"
#include "node.h"

/**
 * struct clfb_open - a node that was read
 * @line: its content
 * @node: its number
 * @low: lowest key of its range
 * @open: the node is whole
 */
struct clfb_open {
	union clfb_line line;
	u64 node;
	u64 low;
	bool open;
};

/**
 * struct clfb_recover - a running attach
 * @tree: the tree
 * @level: the node of each level on the path
 */
struct clfb_recover {
	struct clfb_tree *tree;
	struct clfb_open level[CLFB_LEVELS_MAX + 1];
};

int crab_clfb_format(struct crab_flow *flow, const struct crab_geometry *geo)
{
	crab_clfb_leaf_fresh(flow, geo, 0, 0, NULL, 0);
	crab_clfb_root_store(flow, geo->store_id, 0, 0);
	/* P2: the body is whole before a superblock names it */
	crab_fence(flow, CRAB_P2_BODY);
	return 0;
}

static void recover_bad(struct clfb_tree *tree, unsigned long *live, u64 number, u64 offset,
			const char *kind, const char *what)
{
	crab_damage_note(&tree->base.damage, offset, "%s %llu: %s", kind,
			 (unsigned long long)number, what);
	__clear_bit(number, live);	/* set if it is in the tree twice */
	tree->quarantined++;
}

/* Opens the node of a place; returns NULL, or a description of the damage */
static const char *node_enter(struct clfb_tree *tree, u64 number, u32 level,
			      const struct clfb_place *place, union clfb_line *line)
{
	const char *fault;

	if (!crab_pool_mark(&tree->nodes, number))
		return "it is in the tree already";
	if (!crab_badmem_probe(tree->base.media, crab_clfb_node_offset(tree, number),
			       tree->copies * CRAB_LINE))
		return "uncorrectable memory";
	fault = crab_clfb_node_open(tree, number, line);
	return fault ?: crab_clfb_node_fault(tree, line, level, place);
}

/* The node of a level on the way to a key; false: it is quarantined */
static bool recover_node(struct clfb_recover *r, u64 number, u32 level,
			 const struct clfb_place *place)
{
	struct clfb_tree *tree = r->tree;
	const char *fault;

	if (r->level[level].open && r->level[level].node == number &&
	    r->level[level].low == place->low)
		return true;
	fault = node_enter(tree, number, level, place, &r->level[level].line);
	r->level[level].open = !fault;
	r->level[level].node = number;
	r->level[level].low = place->low;
	if (fault)
		recover_bad(tree, tree->node_live, number, crab_clfb_node_offset(tree, number),
			    "node", fault);
	else
		__set_bit(number, tree->node_live);
	return !fault;
}

static void recover_leaf(struct clfb_tree *tree, const struct clfb_place *place)
{
	u64 offset = crab_leaf_offset(&tree->base.geo, place->leaf);
	const char *fault = NULL;
	u32 count = 0;

	if (!crab_pool_mark(&tree->pool, place->leaf))
		fault = "it is in the tree already";
	else if (!crab_badmem_probe(tree->base.media, offset, tree->base.geo.leaf_bytes))
		fault = "uncorrectable memory";
	else
		fault = crab_clfb_leaf_fault(tree, place, &count);
	if (fault) {
		recover_bad(tree, tree->leaf_live, place->leaf, offset, "leaf", fault);
		return;
	}
	__set_bit(place->leaf, tree->leaf_live);
	tree->records += count;
	tree->leaves++;
}

/* The next leaf of a node arrives while the one before is read */
static __always_inline void recover_prefetch(const struct clfb_tree *tree,
					     const union clfb_line *line, u32 at)
{
	const struct crab_geometry *geo = &tree->base.geo;
	u64 next;

	if (at + 1 >= crab_clfb_line_count(line))
		return;
	next = crab_clfb_line_ref(line, at + 1);
	if (next < geo->leaves)
		crab_prefetch_range(tree->base.media->base + crab_leaf_offset(geo, next),
				    geo->leaf_bytes);
}

/* Reads the leaf of a key, and the nodes above it that were not read before; @place: its range */
static void recover_path(struct clfb_recover *r, u64 key, struct clfb_place *place)
{
	struct clfb_tree *tree = r->tree;
	u64 number = tree->root;
	u32 level;

	place->low = 0;
	place->high = CRAB_KEY_EMPTY;
	for (level = tree->levels; level; level--) {
		if (!recover_node(r, number, level, place))
			return;
		number = clfb_enter(place, level, number, &r->level[level].line, key);
	}
	if (tree->levels)
		recover_prefetch(tree, &r->level[1].line, place->step[1].at);
	place->leaf = number;
	recover_leaf(tree, place);
}

/* Reads the root word; false: it is damaged */
static bool recover_root(struct clfb_tree *tree)
{
	const struct crab_media *media = tree->base.media;
	u64 word;

	if (!crab_badmem_probe(media, CRAB_HEAD_OFFSET, sizeof(word)))
		return false;
	word = crab_load(media, clfb_root_media(media));
	tree->root = word & CLFB_ROOT_MASK;
	tree->levels = word >> CLFB_ROOT_BITS & CLFB_LEVEL_MASK;
	return tree->levels <= CLFB_LEVELS_MAX && tree->root < tree->base.geo.leaves &&
	       word == crab_clfb_root_word(tree->base.geo.store_id, tree->root, tree->levels);
}

static int recover_walk(struct clfb_tree *tree, struct clfb_recover *r)
{
	struct clfb_place place;
	u64 key;

	for (key = 0; key != CRAB_KEY_EMPTY; key = place.high) {
		if (crab_engine_breathe(&tree->base))
			return -EINTR;
		recover_path(r, key, &place);
	}
	return 0;
}

static int recover_tree(struct clfb_tree *tree)
{
	struct clfb_recover *r;
	int err;

	tree->lost = !recover_root(tree);
	if (tree->lost) {
		crab_damage_note(&tree->base.damage, CRAB_HEAD_OFFSET, "the root word is damaged");
		tree->quarantined++;
		return 0;
	}
	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return -ENOMEM;
	r->tree = tree;
	err = recover_walk(tree, r);
	kfree(r);
	return err;
}

static unsigned long *bits_alloc(u64 n)
{
	return kvcalloc(BITS_TO_LONGS(n), sizeof(unsigned long), CLFB_GFP_ATTACH);
}

static int tree_init(struct clfb_tree *tree, struct crab_media *media,
		     const struct crab_geometry *geo, const struct crab_attach_how *how)
{
	init_rwsem(&tree->lock);
	tree->room = clfb_records(geo);
	tree->copies = geo->layout == CLFB_LAYOUT_TWIN ? 2 : 1;
	tree->scratch = kvmalloc_array(tree->room + 1, sizeof(*tree->scratch), CLFB_GFP_ATTACH);
	if (tree->copies > 1)
		tree->second = kvcalloc(geo->leaves, sizeof(*tree->second), CLFB_GFP_ATTACH);
	tree->leaf_live = bits_alloc(geo->leaves);
	tree->node_live = bits_alloc(geo->leaves);
	if (crab_engine_init(&tree->base, &crab_engine_clfb, media, geo, how) || !tree->scratch ||
	    (tree->copies > 1 && !tree->second) || !tree->leaf_live || !tree->node_live)
		return -ENOMEM;
	tree->base.pool = &tree->pool;
	return crab_pool_init(&tree->pool, geo->leaves) ?:
	       crab_pool_init(&tree->nodes, geo->leaves);
}

/* Free nodes in memory that cannot be read are never allocated */
static void nodes_spoil(struct clfb_tree *tree)
{
	u64 base = crab_clfb_node_offset(tree, 0), bytes = tree->copies * CRAB_LINE, at = base;
	u64 from, to, n;

	while (at < base + tree->base.geo.leaves * bytes &&
	       crab_badmem_next_page(tree->base.media, at, &from, &to)) {
		for (n = (max(from, base) - base) / bytes;
		     n < tree->base.geo.leaves && base + n * bytes < to; n++) {
			crab_pool_spoil(&tree->nodes, n);
			cond_resched();
		}
		at = to;
	}
}

struct crab_engine *crab_clfb_attach(struct crab_media *media, const struct crab_geometry *geo,
				     const struct crab_attach_how *how)
{
	struct clfb_tree *tree = kvzalloc(sizeof(*tree), CLFB_GFP_ATTACH);
	int err;

	if (!tree)
		return ERR_PTR(-ENOMEM);
	err = tree_init(tree, media, geo, how);
	if (!err)
		err = recover_tree(tree);
	if (!err && !crab_clfb_log_holds(tree))
		crab_damage_note(&tree->base.damage, CRAB_AREA_OFFSET,
				 "the log is in uncorrectable memory");
	if (err) {
		crab_clfb_detach(&tree->base);
		return ERR_PTR(err);
	}
	crab_pool_spoil_bad(&tree->pool, media, geo);
	nodes_spoil(tree);
	if (tree->base.damage.count)
		crab_pool_close(&tree->pool);
	return &tree->base;
}

static void settle_path(struct clfb_tree *tree, struct crab_flow *flow,
			const struct clfb_place *place)
{
	u32 level;

	crab_clean(flow, clfb_leaf_media(tree, place->leaf), tree->base.geo.leaf_bytes);
	/* A node once, with its first leaf */
	for (level = 1; level <= tree->levels && !place->step[level].at; level++)
		crab_clfb_node_settle(tree, flow, place->step[level].node);
}

/*
 * The fence of the superblock completes the cleans; the store has cleaned the root word (P4). A
 * store with damage is not repaired, so a place is bad only if a node has changed since the walk:
 * the store is read-only then
 */
static int repair_settle(struct clfb_tree *tree, struct crab_flow *flow)
{
	struct clfb_place place;
	u64 key;

	for (key = 0; key != CRAB_KEY_EMPTY; key = place.high) {
		crab_clfb_find(tree, key, &place);
		if (place.bad) {
			crab_clfb_refused(tree, key);
			return 0;
		}
		settle_path(tree, flow, &place);
		if (crab_engine_breathe(&tree->base))
			return -EINTR;
	}
	return 0;
}

int crab_clfb_repair(struct crab_engine *engine, struct crab_flow *flow)
{
	struct clfb_tree *tree = clfb_tree_of(engine);

	if (engine->clean)
		return 0;
	crab_clfb_node_restore(tree, flow);
	return repair_settle(tree, flow);
}

void crab_clfb_detach(struct crab_engine *engine)
{
	struct clfb_tree *tree = clfb_tree_of(engine);

	crab_pool_destroy(&tree->pool);
	crab_pool_destroy(&tree->nodes);
	kvfree(tree->scratch);
	kvfree(tree->second);
	kvfree(tree->leaf_live);
	kvfree(tree->node_live);
	crab_engine_exit(&tree->base);
	kvfree(tree);
}
