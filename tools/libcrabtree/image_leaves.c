// SPDX-License-Identifier: GPL-2.0
/*
 * This file walks the nodes of a tree on the media, for `crabctl tree`. All engines but clfb link
 * them by the words of shared/link.h; the table below has the differences, which
 * Documentation/design/format.rst documents. The records are counted by scans of the engine.
 *
 * Invariants: the file does not change. The media is untrusted: a link is followed only to a
 * header of this store with the birth that the link names, lowest keys ascend, and a level has at
 * most as many nodes as the pool.
 */
#include "image_leaves.h"

#include <errno.h>
#include <shared/link.h>
#include <stddef.h>
#include <string.h>

#include "engines/nbtree/eadr/eadr.h"
#include "media/format.h"
#include "store/blob_priv.h"
#include "store/store_priv.h"

#define LEVELS_MAX	16
#define RECORDS		64	/* that one scan returns */

/* Offsets of the links in a node of a layout; 0: it has none */
struct shape {
	const char *engine;
	const char *layout;
	size_t below;		/* the link of the first node of the level below */
	size_t first;		/* the first key, which replaces the lowest key of the header */
	u64 mark;		/* bits of a link that do not name the next node */
};

static const struct shape shapes[] = {
	{ "crab", "slotted", 0, 0, 0 },
	{ "crab", "sorted", 0, sizeof(struct crab_dhead), 0 },
	{ "nvtree", "append", 0, 0, 0 },
	{ "fastfair", "shift", sizeof(struct crab_dhead), 0, 0 },
	{ "nbtree", "adr", 0, 0, 0 },
	{ "nbtree", "eadr", 0, 0, EA_LINK_MARK },
};

struct node {
	struct crab_head head;
	u64 number;
	u64 low;
};

static u64 word_at(const struct walk *walk, const struct node *node, size_t at)
{
	return crab_load(walk->media, (const __le64 *)(walk->media->base + node->head.self + at));
}

static int node_load(const struct walk *walk, u64 link, struct node *node)
{
	const struct crab_geometry *geo = &walk->geo;

	node->number = (link & CRAB_LINK_MASK) - 1;
	if (node->number >= geo->leaves ||
	    !crab_head_load(walk->media, crab_leaf_offset(geo, node->number), geo->store_id,
			    &node->head) ||
	    link != crab_link_to(geo, node->number, node->head.birth))
		return -EUCLEAN;
	node->head.next &= ~walk->shape->mark;
	node->low = node->head.low;
	return 0;
}

static u32 node_level(const struct walk *walk, const struct node *node)
{
	return walk->shape->below && node->head.own < LEVELS_MAX ? node->head.own : 0;
}

static bool is_last(const struct walk *walk, const struct node *node)
{
	return node->head.next == crab_link_end(walk->geo.store_id, node->head.self,
						node->head.birth);
}

/* Records of a leaf; or it is quarantined. Those of blobs and names are words, which no verb of the store reads */
static void count_records(const struct walk *walk, struct crabtree_image_leaf *leaf)
{
	struct crab_engine *engine = walk->store->engine;
	const struct crab_engine_ops *ops = walk->store->blobs ? walk->store->blobs->raw : engine->ops;
	struct crab_record records[RECORDS];
	struct crab_cursor cursor;
	int got = 1;

	crab_cursor_init(&cursor, leaf->low, leaf->high);
	while (got > 0 && !cursor.done) {
		got = crab_cursor_scan(engine, ops, &cursor, records, RECORDS);
		leaf->records += got > 0 ? got : 0;
	}
	leaf->quarantined = got < 0;
}

int walk_visit(const struct walk *walk, struct crabtree_image_leaf *leaf)
{
	if (!leaf->level)
		count_records(walk, leaf);
	return walk->fn(walk->arg, leaf);
}

static int visit(const struct walk *walk, const struct node *node, u64 high)
{
	struct crabtree_image_leaf leaf = {
		.number = node->number,
		.offset = node->head.self,
		.birth = node->head.birth,
		.level = node_level(walk, node),
		.low = node->low,
		.high = high,
	};

	return walk_visit(walk, &leaf);
}

/* The next node of the level that has a range; -ENOENT at the end */
static int node_next(const struct walk *walk, const struct node *node, struct node *next)
{
	const struct shape *shape = walk->shape;
	struct node at = *node;
	u64 left;

	for (left = walk->geo.leaves; left; left--) {
		if (is_last(walk, &at))
			return -ENOENT;
		if (node_load(walk, at.head.next, next))
			return -EUCLEAN;
		if (shape->first)
			next->low = word_at(walk, next, shape->first);
		if (next->low != CRAB_KEY_EMPTY)
			return next->low > node->low ? 0 : -EUCLEAN;
		at = *next;
	}
	return -EUCLEAN;
}

/* From the first node of a level to its last one */
static int walk_level(const struct walk *walk, struct node node)
{
	u64 left = walk->geo.leaves;
	struct node next;
	int err, found;

	do {
		found = node_next(walk, &node, &next);
		err = visit(walk, &node, found ? CRAB_KEY_EMPTY - 1 : next.low - 1);
		if (err || found)
			return err ? err : found == -ENOENT ? 0 : found;
		node = next;
	} while (--left);
	return -EUCLEAN;
}

static int walk_levels(const struct walk *walk)
{
	const struct crab_dhead *head = (void *)(walk->media->base + CRAB_HEAD_OFFSET);
	u64 link = crab_load(walk->media, &head->next);
	u32 level = LEVELS_MAX;
	struct node node;
	int err;

	do {
		if (node_load(walk, link, &node) || node_level(walk, &node) >= level)
			return -EUCLEAN;
		level = node_level(walk, &node);
		err = walk_level(walk, node);
		if (level)
			link = word_at(walk, &node, walk->shape->below);
	} while (!err && level);
	return err;
}

static const struct shape *shape_find(const struct crab_store_info *info)
{
	size_t i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (!strcmp(shapes[i].engine, info->engine) &&
		    !strcmp(shapes[i].layout, info->layout))
			return &shapes[i];
	return NULL;
}

static int walk_tree(struct image *image, crabtree_image_leaf_fn *fn, void *arg)
{
	struct walk walk = { .media = &image->media, .store = image->store, .fn = fn, .arg = arg };
	struct crab_store_info info;

	if (!image->store)
		return -ENODATA;
	crab_store_info(image->store, &info);
	walk.geo = (struct crab_geometry){
		.pool_offset = info.super.pool_offset,
		.leaves = info.super.leaves,
		.leaf_bytes = info.super.leaf_bytes,
		.store_id = info.super.store_id,
		.layout = info.super.layout,
	};
	if (!strcmp(info.engine, "clfb"))
		return walk_lines(&walk);
	walk.shape = shape_find(&info);
	return walk.shape ? walk_levels(&walk) : 0;
}

int crabtree_image_leaves(struct crabtree *ct, crabtree_image_leaf_fn *fn, void *arg)
{
	struct image *image = (struct image *)ct;
	int err = image_enter(image);

	if (err)
		return err;
	err = walk_tree(image, fn, arg);
	image_leave();
	return err;
}
