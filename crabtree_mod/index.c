// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the internal nodes: a B+-tree in DRAM over the leaves'
 * least keys. They need no persistence: seed 000, section 4.1, rebuilds them
 * from the leaves, and so does attach.
 *
 * Invariants: keys ascend within a node and across a level; the key of an entry
 * above level 0 is the first key of the node below it (so a search never has to
 * look to the left); no node but an empty root is empty.
 *
 * Locking: the caller's; readers shared, writers exclusive.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/prefetch.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "index.h"

#define INDEX_LINE	64	/* bytes between two prefetches */

/* Where a search went: the node of each level and the entry taken in it */
struct index_path {
	struct crab_index_node *node[CRAB_INDEX_HEIGHT];
	u32 pos[CRAB_INDEX_HEIGHT];
};

static struct crab_index_node *node_alloc(struct crab_index *index)
{
	struct crab_index_node *node = kmalloc(sizeof(*node), GFP_NOIO);

	if (node)
		index->nodes++;
	return node;
}

static void node_free(struct crab_index *index, struct crab_index_node *node)
{
	index->nodes--;
	kfree(node);
}

/* The last entry with key <= @key; entry 0 if there is none. No branch depends on a key. */
static u32 node_search(const struct crab_index_node *node, u64 key)
{
	u32 pos = 0, len = node->count, half;

	while (len > 1) {
		half = len / 2;
		pos += node->keys[pos + half] <= key ? half : 0;
		len -= half;
	}
	return pos;
}

static void node_insert_at(struct crab_index_node *node, u32 pos, u64 key, void *child)
{
	u32 tail = node->count - pos;

	memmove(&node->keys[pos + 1], &node->keys[pos], tail * sizeof(node->keys[0]));
	memmove(&node->children[pos + 1], &node->children[pos], tail * sizeof(node->children[0]));
	node->keys[pos] = key;
	node->children[pos] = child;
	node->count++;
}

static void node_remove_at(struct crab_index_node *node, u32 pos)
{
	u32 tail = node->count - pos - 1;

	memmove(&node->keys[pos], &node->keys[pos + 1], tail * sizeof(node->keys[0]));
	memmove(&node->children[pos], &node->children[pos + 1], tail * sizeof(node->children[0]));
	node->count--;
}

void crab_index_init(struct crab_index *index)
{
	memset(index, 0, sizeof(*index));
}

/* Depth first, by a path instead of recursion */
static void index_free_nodes(struct crab_index *index)
{
	struct crab_index_node *node = index->root, *path[CRAB_INDEX_HEIGHT];
	u32 depth = 0;

	while (node) {
		if (node->level && node->count) {
			path[depth++] = node;
			node = node->children[--node->count];
			continue;
		}
		node_free(index, node);
		node = depth ? path[--depth] : NULL;
	}
}

void crab_index_destroy(struct crab_index *index)
{
	struct crab_index_node *node;

	index_free_nodes(index);
	while ((node = index->stash)) {
		index->stash = node->children[0];
		node_free(index, node);
	}
	crab_index_init(index);
}

int crab_index_reserve(struct crab_index *index)
{
	u32 need = index->root ? index->root->level + 2 : 2;
	struct crab_index_node *node;

	while (index->stashed < need) {
		node = node_alloc(index);
		if (!node)
			return -ENOMEM;
		node->children[0] = index->stash;
		index->stash = node;
		index->stashed++;
	}
	return 0;
}

static struct crab_index_node *index_unstash(struct crab_index *index, u32 level)
{
	struct crab_index_node *node = index->stash;

	index->stash = node->children[0];
	index->stashed--;
	node->count = 0;
	node->level = level;
	return node;
}

static struct crab_index_node *index_append_node(struct crab_index *index, u32 level)
{
	struct crab_index_node *node = index_unstash(index, level);

	index->right[level] = node;
	return node;
}

/* A level above the root, whose first entry is the old root */
static void index_append_root(struct crab_index *index, u32 level)
{
	struct crab_index_node *old = index->root, *node = index_append_node(index, level);

	if (old)
		node_insert_at(node, 0, old->keys[0], old);
	index->root = node;
}

int crab_index_append(struct crab_index *index, u64 low, void *leaf)
{
	struct crab_index_node *node;
	void *child = leaf;
	u32 level;

	if (crab_index_reserve(index))
		return -ENOMEM;
	for (level = 0; ; level++) {
		if (!index->right[level])
			index_append_root(index, level);
		node = index->right[level];
		if (node->count < CRAB_INDEX_FILL) {
			node_insert_at(node, node->count, low, child);
			return 0;
		}
		node = index_append_node(index, level);
		node_insert_at(node, 0, low, child);
		child = node;
	}
}

/* The child that leads to @key; its keys are on their way */
static struct crab_index_node *node_descend(const struct crab_index_node *node, u32 pos)
{
	struct crab_index_node *child = node->children[pos];
	u32 at;

	for (at = 0; at <= sizeof(child->keys); at += INDEX_LINE)
		prefetch((u8 *)child + at);
	return child;
}

void *crab_index_find(const struct crab_index *index, u64 key)
{
	const struct crab_index_node *node = index->root;

	while (node->level)
		node = node_descend(node, node_search(node, key));
	return node->children[node_search(node, key)];
}

static void index_walk(struct crab_index *index, u64 key, struct index_path *path)
{
	struct crab_index_node *node = index->root;
	u32 level;

	for (;;) {
		level = node->level;
		path->node[level] = node;
		path->pos[level] = node_search(node, key);
		if (!level)
			return;
		node = node->children[path->pos[level]];
	}
}

/* Moves the upper half of a full node to a new right sibling */
static struct crab_index_node *index_split(struct crab_index *index, struct crab_index_node *node)
{
	struct crab_index_node *right = index_unstash(index, node->level);
	u32 keep = node->count / 2;

	right->count = node->count - keep;
	memcpy(right->keys, node->keys + keep, right->count * sizeof(node->keys[0]));
	memcpy(right->children, node->children + keep, right->count * sizeof(node->children[0]));
	node->count = keep;
	return right;
}

static void index_grow(struct crab_index *index, struct crab_index_node *right)
{
	struct crab_index_node *left = index->root;
	struct crab_index_node *root = index_unstash(index, left->level + 1);

	node_insert_at(root, 0, left->keys[0], left);
	node_insert_at(root, 1, right->keys[0], right);
	index->root = root;
}

void crab_index_insert(struct crab_index *index, u64 low, void *leaf)
{
	struct crab_index_node *node, *right;
	struct index_path path;
	void *child = leaf;
	u32 level, pos;

	index_walk(index, low, &path);
	for (level = 0; ; level++) {
		node = path.node[level];
		pos = path.pos[level] + 1;
		if (node->count < CRAB_INDEX_FANOUT) {
			node_insert_at(node, pos, low, child);
			return;
		}
		right = index_split(index, node);
		if (pos <= node->count)
			node_insert_at(node, pos, low, child);
		else
			node_insert_at(right, pos - node->count, low, child);
		if (node == index->root) {
			index_grow(index, right);
			return;
		}
		low = right->keys[0];
		child = right;
	}
}

void crab_index_replace(struct crab_index *index, u64 low, void *leaf)
{
	struct index_path path;

	index_walk(index, low, &path);
	path.node[0]->children[path.pos[0]] = leaf;
}

/* The first key of a node changed: so do the entries that name it */
static void index_rename_first(struct crab_index *index, struct index_path *path, u32 level)
{
	u64 key = path->node[level]->keys[0];

	while (path->node[level] != index->root) {
		level++;
		path->node[level]->keys[path->pos[level]] = key;
		if (path->pos[level])
			return;
	}
}

void crab_index_remove(struct crab_index *index, u64 low)
{
	struct crab_index_node *node;
	struct index_path path;
	u32 level;

	index_walk(index, low, &path);
	for (level = 0; ; level++) {
		node = path.node[level];
		node_remove_at(node, path.pos[level]);
		if (node->count || node == index->root)
			break;
		node_free(index, node);
	}
	if (node->count && !path.pos[level])
		index_rename_first(index, &path, level);
	while (index->root->level && index->root->count == 1) {
		node = index->root;
		index->root = node->children[0];
		node_free(index, node);
	}
}
