// SPDX-License-Identifier: GPL-2.0
/*
 * This file measures the two B+-trees that the paper of NV-Tree builds for comparison (Yang et al.
 * 2015, sections 2.3 and 4.3). `lcb`: LCB+Tree, sorted nodes; before a node changes, its copy is
 * written to a log. `nvt-a`: its leaves are appended to as NV-Tree's, its inner nodes are those of
 * `lcb`. A delete does not merge nodes. There is no recovery: only the costs of writes matter here.
 *
 * Invariant: nodes hold the same number of slots, inner nodes and leaves; the first key of an inner
 * node is below any key; the log holds the copy of at most one node.
 *
 * Locking: none; one thread.
 */
#include <stdlib.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "media/persist.h"
#include "peer.h"
#include "rig.h"

enum { INNER_LINES, LOG_LINES };

struct slot {
	u64 key;
	u64 value;	/* in an inner node the child */
};

struct node {
	u32 count;
	u32 leaf;
	struct node *next;
	struct slot slots[];
};

struct map {
	struct crab_media media;
	struct crab_flow flow;
	u64 used;		/* bytes of the region */
	u32 bytes;		/* of a node */
	u32 room;		/* slots of a node */
	bool append;		/* nvt-a */
	struct node *root;
	struct slot *sorted;	/* of a leaf that is split */
	u64 leaves;
	u64 splits;
	u64 own[PEER_OWN];
};

static const char * const lcb_counters[] = { "inner_lines", "log_lines", NULL };

static struct node *node_make(struct map *map, bool leaf)
{
	struct node *node = (struct node *)(map->media.base + map->used);

	if (map->used + map->bytes > map->media.size)
		rig_fail("the tree is full", -ENOSPC);
	map->used += map->bytes;
	map->leaves += leaf;
	node->leaf = leaf;
	return node;
}

static void *lcb_open(const struct peer *peer, u64 keys, u32 leaf_bytes)
{
	struct map *map = calloc(1, sizeof(*map));

	if (!map)
		rig_fail("no memory", -ENOMEM);
	leaf_bytes = leaf_bytes ?: CRAB_LEAF_BYTES_DEFAULT;
	map->bytes = leaf_bytes;
	map->room = (leaf_bytes - sizeof(struct node)) / sizeof(struct slot);
	map->append = peer == &peer_nvt_a;
	map->sorted = calloc(map->room, sizeof(*map->sorted));
	map->media = rig_region((keys * 5 / (2 * map->room) + 64) * leaf_bytes + RIG_HUGE);
	map->media.fence_only = peer_fence_only;
	map->flow.media = &map->media;
	map->used = CRAB_LINE + leaf_bytes;	/* the log: a line that says which node, its copy */
	map->root = node_make(map, true);
	return map;
}

static void lcb_clean(struct map *map, const struct node *node, const void *from, u64 bytes)
{
	u64 before = map->flow.lines;

	crab_clean(&map->flow, from, bytes);
	if (!node->leaf)
		map->own[INNER_LINES] += map->flow.lines - before;
}

static void lcb_fence(struct map *map)
{
	/* P6: the log before the node changes, the node before the log ends, the end itself */
	crab_fence(&map->flow, CRAB_P6_RECORD);
}

/* @node: its copy is kept, or NULL: no copy is needed any more */
static void lcb_log(struct map *map, const struct node *of, const struct node *node)
{
	const struct node **named = (const struct node **)map->media.base;
	u64 before = map->flow.lines;

	if (node) {
		memcpy(map->media.base + CRAB_LINE, node, map->bytes);
		lcb_clean(map, of, map->media.base + CRAB_LINE, map->bytes);
	}
	*named = node;
	lcb_clean(map, of, named, sizeof(*named));
	lcb_fence(map);
	map->own[LOG_LINES] += map->flow.lines - before;
}

/* The last slot whose key is at most @key, or -1 */
static int node_find(const struct node *node, u64 key)
{
	int low = 0, high = node->count;

	while (low < high) {
		int middle = (low + high) / 2;

		if (node->slots[middle].key <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

/* The newest slot of a key in a leaf, or -1 */
static int leaf_find(const struct map *map, const struct node *leaf, u64 key)
{
	int at = leaf->count - 1;

	if (!map->append) {
		at = node_find(leaf, key);
		return at >= 0 && leaf->slots[at].key == key ? at : -1;
	}
	while (at >= 0 && leaf->slots[at].key != key)
		at--;
	return at;
}

static struct node *lcb_leaf(const struct map *map, u64 key)
{
	struct node *node = map->root;

	while (!node->leaf)
		node = (struct node *)node->slots[max(node_find(node, key), 0)].value;
	return node;
}

/* Slots from @at on have changed, and the count */
static void node_persist(struct map *map, struct node *node, u32 at)
{
	u32 end = max(node->count, at + 1);

	lcb_clean(map, node, &node->slots[at], (end - at) * sizeof(struct slot));
	if ((u8 *)&node->slots[at] - (u8 *)node >= CRAB_LINE)
		lcb_clean(map, node, node, sizeof(*node));
	lcb_fence(map);
}

static void node_shift(struct node *node, u32 at, u64 key, u64 value)
{
	memmove(&node->slots[at + 1], &node->slots[at], (node->count - at) * sizeof(struct slot));
	node->slots[at] = (struct slot) { key, value };
	node->count++;
}

static void node_insert(struct map *map, struct node *node, u64 key, u64 value)
{
	u32 at = node_find(node, key) + 1;

	lcb_log(map, node, node);
	node_shift(node, at, key, value);
	node_persist(map, node, at);
	lcb_log(map, node, NULL);
}

static void node_append(struct map *map, struct node *node, u64 key, u64 value)
{
	node->slots[node->count] = (struct slot) { key, value };
	lcb_clean(map, node, &node->slots[node->count], sizeof(struct slot));
	lcb_fence(map);
	node->count++;
	lcb_clean(map, node, node, sizeof(*node));
	lcb_fence(map);
}

static int slot_cmp(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

/* NV-Tree's split: both halves into new leaves; the old one is not used again */
static struct node *leaf_split(struct map *map, struct node *leaf, struct node **lower)
{
	struct node *left = node_make(map, true), *right = node_make(map, true);
	u32 half = leaf->count / 2;

	memcpy(map->sorted, leaf->slots, leaf->count * sizeof(struct slot));
	sort(map->sorted, leaf->count, sizeof(struct slot), slot_cmp, NULL);
	memcpy(left->slots, map->sorted, half * sizeof(struct slot));
	memcpy(right->slots, map->sorted + half, (leaf->count - half) * sizeof(struct slot));
	left->count = half;
	right->count = leaf->count - half;
	left->next = right;
	right->next = leaf->next;
	lcb_clean(map, left, left, sizeof(*left) + left->count * sizeof(struct slot));
	lcb_clean(map, right, right, sizeof(*right) + right->count * sizeof(struct slot));
	lcb_fence(map);
	/* The predecessor's link: this tree finds leaves from above only, so only the cost is here */
	lcb_clean(map, leaf, leaf, sizeof(*leaf));
	lcb_fence(map);
	map->leaves--;
	*lower = left;
	return right;
}

/* The upper half goes to a new node; the old one is logged, then cut */
static struct node *node_split(struct map *map, struct node *node)
{
	struct node *right = node_make(map, node->leaf);
	u32 half = node->count / 2;

	memcpy(right->slots, &node->slots[half], (node->count - half) * sizeof(struct slot));
	right->count = node->count - half;
	right->next = node->next;
	lcb_clean(map, right, right, sizeof(*right) + right->count * sizeof(struct slot));
	lcb_log(map, node, node);
	node->count = half;
	node->next = right;
	lcb_clean(map, node, node, sizeof(*node));
	lcb_fence(map);
	lcb_log(map, node, NULL);
	return right;
}

/* @child, at @at in @parent, is full, and @parent is not */
static void lcb_split(struct map *map, struct node *parent, u32 at, struct node *child)
{
	struct node *left = child, *right;

	right = map->append && child->leaf ? leaf_split(map, child, &left) :
					     node_split(map, child);
	map->splits += child->leaf;
	lcb_log(map, parent, parent);
	parent->slots[at].value = (u64)left;
	node_shift(parent, at + 1, right->slots[0].key, (u64)right);
	node_persist(map, parent, left == child ? at + 1 : at);
	lcb_log(map, parent, NULL);
}

static void lcb_grow(struct map *map)
{
	struct node *root = node_make(map, false);

	root->slots[0] = (struct slot) { 0, (u64)map->root };
	root->count = 1;
	lcb_split(map, root, 0, map->root);
	map->root = root;
}

/* The leaf of a key, with room in it; full nodes are split on the way down */
static struct node *lcb_leaf_with_room(struct map *map, u64 key)
{
	struct node *node, *child;
	u32 at;

	if (map->root->count == map->room)
		lcb_grow(map);
	for (node = map->root; !node->leaf; node = child) {
		at = max(node_find(node, key), 0);
		child = (struct node *)node->slots[at].value;
		if (child->count < map->room)
			continue;
		lcb_split(map, node, at, child);
		child = (struct node *)node->slots[max(node_find(node, key), 0)].value;
	}
	return node;
}

static int lcb_insert(struct map *map, u64 key)
{
	struct node *leaf = lcb_leaf_with_room(map, key);

	if (leaf_find(map, leaf, key) >= 0)
		return -EEXIST;
	if (map->append)
		node_append(map, leaf, key, crab_bench_value(key, 0));
	else
		node_insert(map, leaf, key, crab_bench_value(key, 0));
	return 0;
}

static int lcb_search(const struct map *map, u64 key)
{
	const struct node *leaf = lcb_leaf(map, key);
	int at = leaf_find(map, leaf, key);

	return at < 0 ? -ENOENT : crab_bench_value_ok(key, leaf->slots[at].value) ? 0 : -EIO;
}

static int lcb_update(struct map *map, u64 key)
{
	struct node *leaf = lcb_leaf(map, key);
	int at = leaf_find(map, leaf, key);

	if (at < 0)
		return -ENOENT;
	lcb_log(map, leaf, leaf);
	leaf->slots[at].value = crab_bench_value(key, 1);
	lcb_clean(map, leaf, &leaf->slots[at], sizeof(struct slot));
	lcb_fence(map);
	lcb_log(map, leaf, NULL);
	return 0;
}

static int lcb_delete(struct map *map, u64 key)
{
	struct node *leaf = lcb_leaf(map, key);
	int at = leaf_find(map, leaf, key);

	if (at < 0)
		return -ENOENT;
	lcb_log(map, leaf, leaf);
	leaf->count--;
	memmove(&leaf->slots[at], &leaf->slots[at + 1], (leaf->count - at) * sizeof(struct slot));
	node_persist(map, leaf, at);
	lcb_log(map, leaf, NULL);
	return 0;
}

static int lcb_scan(const struct map *map, u64 key, u32 n)
{
	struct slot records[CRAB_BENCH_SCAN];
	const struct node *leaf = lcb_leaf(map, key);
	u32 at = node_find(leaf, key - 1) + 1, got = 0, last = 0;

	while (leaf && got < n) {
		if (at < leaf->count) {
			last = got++ % CRAB_BENCH_SCAN;
			records[last] = leaf->slots[at++];
			continue;
		}
		leaf = leaf->next;
		at = 0;
	}
	return got && !crab_bench_value_ok(records[last].key, records[last].value) ? -EIO : 0;
}

static int lcb_one(struct map *map, const struct crab_bench_work *work, enum crab_bench_op op,
		   u64 i)
{
	u64 key = work->keys[i];

	if (op == CRAB_BENCH_INSERT)
		return lcb_insert(map, key);
	if (op == CRAB_BENCH_SEARCH)
		return lcb_search(map, key);
	if (map->append)
		return -EOPNOTSUPP;
	switch (op) {
	case CRAB_BENCH_UPDATE:
		return lcb_update(map, key);
	case CRAB_BENCH_MODIFY:
		return lcb_search(map, key) ?: lcb_update(map, key);
	case CRAB_BENCH_DELETE:
		return lcb_delete(map, key);
	default:
		return lcb_scan(map, key, crab_bench_scan_length(work, op, i));
	}
}

static int lcb_run(void *map, struct crab_bench_work *work)
{
	u64 i;
	int err = 0;

	for (i = 0; i < work->n && !err; i++)
		err = lcb_one(map, work, work->ops ? work->ops[i] : work->op, i);
	return err;
}

static void lcb_counts(void *arg, struct peer_counts *counts)
{
	const struct map *map = arg;

	*counts = (struct peer_counts) {
		.lines = map->flow.lines, .fences = map->flow.fences, .leaves = map->leaves,
		.splits = map->splits, .names = lcb_counters,
	};
	memcpy(counts->own, map->own, sizeof(counts->own));
}

const struct peer peer_lcb = {
	.engine = "lcb", .layout = "", .open = lcb_open, .run = lcb_run, .counts = lcb_counts,
};

const struct peer peer_nvt_a = {
	.engine = "nvt-a", .layout = "", .open = lcb_open, .run = lcb_run, .counts = lcb_counts,
};
