// SPDX-License-Identifier: GPL-2.0
/*
 * This file measures a skip list in persistent memory, as a competitor of FAST-FAIR (Hwang et al.
 * 2018, section 5): one node for each record, at random places. A new node is durable before the
 * lowest list names it; the upper lists are not made durable, since they can be built again.
 *
 * Invariant: the lowest list holds every record, in ascending order of the keys.
 *
 * Locking: none; one thread.
 */
#include <stdlib.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "media/persist.h"
#include "peer.h"
#include "rig.h"

#define LEVELS		16	/* a quarter of the nodes of a level are in the next one */
#define NODE_BYTES	48	/* of a node, on average, with its share of the upper lists */

struct node {
	u64 key;
	u64 value;
	struct node *next[];
};

struct map {
	struct crab_media media;
	struct crab_flow flow;
	u64 used;	/* bytes of the region */
	u64 drawn;	/* random numbers */
	struct node *head;
};

static struct node *node_make(struct map *map, u32 levels)
{
	u64 bytes = sizeof(struct node) + levels * sizeof(struct node *);
	struct node *node = (struct node *)(map->media.base + map->used);

	if (map->used + bytes > map->media.size)
		rig_fail("the skip list is full", -ENOSPC);
	map->used += bytes;
	return node;
}

static void *list_open(const struct peer *peer, u64 keys, u32 leaf_bytes)
{
	struct map *map = calloc(1, sizeof(*map));

	if (!map)
		rig_fail("no memory", -ENOMEM);
	map->media = rig_region(keys * NODE_BYTES + RIG_HUGE);
	map->media.fence_only = peer_fence_only;
	map->flow.media = &map->media;
	map->head = node_make(map, LEVELS);
	return map;
}

/* The first node whose key is not below @key; @before: the last lower node of each list */
static struct node *list_find(struct map *map, u64 key, struct node **before)
{
	struct node *at = map->head;
	u32 level = LEVELS;

	while (level--) {
		while (at->next[level] && at->next[level]->key < key)
			at = at->next[level];
		before[level] = at;
	}
	return at->next[0];
}

static u32 list_levels(struct map *map)
{
	u64 drawn = crab_bench_key(map->drawn++) | 1ULL << (2 * LEVELS - 2);

	return 1 + __builtin_ctzll(drawn) / 2;
}

static void list_persist(struct map *map, const void *from, u64 bytes)
{
	crab_clean(&map->flow, from, bytes);
	/* P6: a node before it is linked, or the one link that commits an operation */
	crab_fence(&map->flow, CRAB_P6_RECORD);
}

static int list_insert(struct map *map, u64 key)
{
	u32 levels = list_levels(map), level;
	struct node *before[LEVELS], *node = list_find(map, key, before);

	if (node && node->key == key)
		return -EEXIST;
	node = node_make(map, levels);
	node->key = key;
	node->value = crab_bench_value(key, 0);
	for (level = 0; level < levels; level++)
		node->next[level] = before[level]->next[level];
	list_persist(map, node, sizeof(*node) + levels * sizeof(struct node *));
	for (level = 0; level < levels; level++)
		before[level]->next[level] = node;
	list_persist(map, &before[0]->next[0], sizeof(struct node *));
	return 0;
}

static int list_delete(struct map *map, u64 key)
{
	struct node *before[LEVELS], *node = list_find(map, key, before);
	u32 level;

	if (!node || node->key != key)
		return -ENOENT;
	for (level = 0; level < LEVELS && before[level]->next[level] == node; level++)
		before[level]->next[level] = node->next[level];
	list_persist(map, &before[0]->next[0], sizeof(struct node *));
	return 0;
}

static int list_search(struct map *map, u64 key)
{
	struct node *before[LEVELS], *node = list_find(map, key, before);

	if (!node || node->key != key)
		return -ENOENT;
	return crab_bench_value_ok(key, node->value) ? 0 : -EIO;
}

static int list_update(struct map *map, u64 key)
{
	struct node *before[LEVELS], *node = list_find(map, key, before);

	if (!node || node->key != key)
		return -ENOENT;
	node->value = crab_bench_value(key, 1);
	list_persist(map, &node->value, sizeof(node->value));
	return 0;
}

static int list_scan(struct map *map, u64 key, u32 n)
{
	struct crab_record records[CRAB_BENCH_SCAN];
	struct node *before[LEVELS], *node = list_find(map, key, before);
	u32 got, last = 0;

	for (got = 0; got < n && node; got++, node = node->next[0]) {
		last = got % CRAB_BENCH_SCAN;
		records[last] = (struct crab_record) { node->key, node->value };
	}
	return got && !crab_bench_value_ok(records[last].key, records[last].value) ? -EIO : 0;
}

static int list_one(struct map *map, const struct crab_bench_work *work, enum crab_bench_op op,
		    u64 i)
{
	u64 key = work->keys[i];

	switch (op) {
	case CRAB_BENCH_INSERT:
		return list_insert(map, key);
	case CRAB_BENCH_SEARCH:
		return list_search(map, key);
	case CRAB_BENCH_UPDATE:
		return list_update(map, key);
	case CRAB_BENCH_MODIFY:
		return list_search(map, key) ?: list_update(map, key);
	case CRAB_BENCH_DELETE:
		return list_delete(map, key);
	default:
		return list_scan(map, key, crab_bench_scan_length(work, op, i));
	}
}

static int list_run(void *map, struct crab_bench_work *work)
{
	u64 i;
	int err = 0;

	for (i = 0; i < work->n && !err; i++)
		err = list_one(map, work, work->ops ? work->ops[i] : work->op, i);
	return err;
}

static void list_counts(void *map, struct peer_counts *counts)
{
	const struct crab_flow *flow = &((struct map *)map)->flow;

	*counts = (struct peer_counts) { .lines = flow->lines, .fences = flow->fences };
}

const struct peer peer_skiplist = {
	.engine = "skiplist", .layout = "", .open = list_open, .run = list_run,
	.counts = list_counts,
};
