// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the internal nodes: a B+-tree in DRAM over the lowest keys of the
 * leaves. They need no persistence: attach rebuilds them from the leaves (Wang et al. 2020,
 * section 4.1).
 *
 * It is not a maple_tree for three reasons. A search in a node of 61 entries has no
 * unpredictable branch, so consecutive searches overlap in the CPU. A child may be any word: that
 * of `crab` names a leaf's descriptor and its media, which a reader prefetches together. A change
 * allocates nothing: the caller reserves nodes before its first store to the media.
 *
 * Invariants: keys ascend within a node and across a level; the key of an entry above level 0
 * is the first key of the node below it, so a search never goes to the left; no node except an
 * empty root is empty.
 *
 * Locking: the caller excludes other changes, by the lock of crab_index_set_lock(). Readers take no
 * lock (RCU): a node is changed word by word while they read it. A reader finds an entry that
 * existed at some time, but perhaps not the right one; nodes are freed after a grace period. The
 * range of the leaf that it finds shows whether the entry was the right one.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "index.h"
#include "shortcut.h"

#define INDEX_LINE	64	/* bytes between two prefetches */
/* With more nodes than a second-level cache holds, the last level comes from memory */
#define INDEX_NEAR	((1U << 20) / sizeof(struct crab_index_node))

static struct crab_index_node *node_alloc(struct crab_index *index)
{
	struct crab_index_node *node = kmalloc(sizeof(*node), GFP_NOIO);

	if (node)
		WRITE_ONCE(index->nodes, index->nodes + 1);
	return node;
}

/* Without a grace period: the tree is being built or destroyed, so it has no readers */
static void node_free(struct crab_index *index, struct crab_index_node *node)
{
	index->nodes--;
	kfree(node);
}

/*
 * No path from the root leads to @node any more: readers that enter an RCU section from now on
 * cannot find it, and kfree_rcu() waits for earlier ones.
 */
static void node_retire(struct crab_index *index, struct crab_index_node *node)
{
	WRITE_ONCE(index->nodes, index->nodes - 1);
	kfree_rcu(node, rcu);
}

/* Any value read concurrently with a change leads to an entry that is allowed: a plain load */
static __always_inline const u64 *node_step(const u64 *at, u64 key, u32 step)
{
	const u64 *next = at + step;

	OPTIMIZER_HIDE_VAR(next);	/* otherwise compilers make a branch */
	return data_race(at[step] <= key) ? next : at;
}

/* From the first key on */
static __always_inline const u64 *node_steps(const u64 *at, u64 key)
{
	static_assert(CRAB_INDEX_FANOUT > 32 && CRAB_INDEX_FANOUT < 64);
	at = node_step(at, key, 32);
	at = node_step(at, key, 16);
	at = node_step(at, key, 8);
	at = node_step(at, key, 4);
	at = node_step(at, key, 2);
	return node_step(at, key, 1);
}

/*
 * The last key <= @key, or the first one if there is none. Branch-free except for the first
 * step, which three of four searches take in the same direction, so that consecutive searches
 * overlap in the CPU.
 */
static __always_inline const u64 *node_search(const struct crab_index_node *node, u64 key)
{
	return node_steps(node->keys, key);
}

/* The same without any branch, for several searches at a time */
static __always_inline const u64 *node_search_beside(const struct crab_index_node *node, u64 key)
{
	const u64 *at = node->keys;

	OPTIMIZER_HIDE_VAR(at);
	return node_steps(at, key);
}

/* The child of the key that node_search() found */
static __always_inline struct crab_index_node *node_child(const u64 *at)
{
	const size_t children = offsetof(struct crab_index_node, children) -
				offsetof(struct crab_index_node, keys);

	/* Pairs with node_put(): a reader that sees the key sees its child, or a later one */
	smp_load_acquire(at);
	return rcu_dereference_raw(*(struct crab_index_node **)((const u8 *)at + children));
}

/* Stores the child before the key: a visible key has a child */
static void node_put(struct crab_index_node *node, u32 pos, u64 key, void *child)
{
	/* Pairs with rcu_dereference_raw() in node_child(): the child's content is visible */
	smp_store_release(&node->children[pos], child);
	/* Pairs with node_child() */
	smp_store_release(&node->keys[pos], key);
}

static void node_move(struct crab_index_node *to, u32 pos, const struct crab_index_node *from,
		      u32 at)
{
	node_put(to, pos, from->keys[at], from->children[at]);
}

static void node_insert_at(struct crab_index_node *node, u32 pos, u64 key, void *child)
{
	u32 i;

	for (i = node->count++; i > pos; i--)
		node_move(node, i, node, i - 1);
	node_put(node, pos, key, child);
}

static void node_remove_at(struct crab_index_node *node, u32 pos)
{
	u32 i;

	node->count--;
	for (i = pos; i < node->count; i++)
		node_move(node, i, node, i + 1);
	WRITE_ONCE(node->keys[i], CRAB_INDEX_PAD);
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
		cond_resched();
	}
}

void crab_index_destroy(struct crab_index *index)
{
	struct crab_index_node *node;

	crab_shortcut_destroy(index);
	index_free_nodes(index);
	while ((node = index->stash)) {
		index->stash = node->children[0];
		node_free(index, node);
	}
}

/* A node for each level, and a root */
static u32 index_need(const struct crab_index *index)
{
	return index->root ? index->root->level + 2 : 2;
}

bool crab_index_is_reserved(const struct crab_index *index)
{
	return index->stashed >= index_need(index);
}

int crab_index_reserve(struct crab_index *index)
{
	struct crab_index_node *node;

	crab_shortcut_step(index);
	while (!crab_index_is_reserved(index)) {
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
	memset(node->keys, 0xff, sizeof(node->keys));
	return node;
}

static struct crab_index_node *index_append_node(struct crab_index *index, u32 level)
{
	struct crab_index_node *node = index_unstash(index, level);

	index->right[level] = node;
	return node;
}

static void index_set_root(struct crab_index *index, struct crab_index_node *root)
{
	/* Pairs with crab_index_find() */
	smp_store_release(&index->root, root);
}

/* A level above the root, whose first entry is the old root */
static void index_append_root(struct crab_index *index, u32 level)
{
	struct crab_index_node *old = index->root, *node = index_append_node(index, level);

	if (old)
		node_insert_at(node, 0, old->keys[0], old);
	index_set_root(index, node);
}

int crab_index_append(struct crab_index *index, u64 low, void *leaf)
{
	struct crab_index_node *node;
	void *child = leaf;
	u32 level;

	if (crab_index_reserve(index))
		return -ENOMEM;
	index->entries++;
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

/* Returns the child of a key and prefetches the child's keys */
static __always_inline struct crab_index_node *node_descend(const u64 *at)
{
	struct crab_index_node *child = node_child(at);

	prefetch(&child->keys[32]);	/* node_search() reads it first */
	prefetch(&child->keys[16]);
	prefetch(&child->keys[48]);
	prefetch(&child->keys[8]);
	prefetch(&child->keys[24]);
	return child;
}

/*
 * Prefetches all children of a node while its keys arrive: a search then waits for
 * memory once in this level, not twice.
 */
static __always_inline void node_prefetch_children(const struct crab_index_node *node)
{
	const u8 *at = (const u8 *)node->children;

	for (; at < (const u8 *)&node->rcu; at += INDEX_LINE)
		prefetch(at);
}

void *crab_index_find(const struct crab_index *index, u64 key)
{
	const struct crab_index_node *node = rcu_dereference_raw(index->root);

	if (!node)
		return NULL;
	/* The upper levels are small enough to be in the nearest caches */
	while (node->level > 1)
		node = node_child(node_search(node, key));
	if (node->level) {
		node = node_descend(node_search(node, key));
		if (READ_ONCE(index->nodes) > INDEX_NEAR)
			node_prefetch_children(node);
	}
	return node_child(node_search(node, key));
}

/* Reads the entries from @at to the node's end, at most @n; returns their number */
static u32 node_run(const u64 *at, u32 n, void **found)
{
	u32 i;

	for (i = 0; i < n && READ_ONCE(at[i]) != CRAB_INDEX_PAD; i++)
		found[i] = node_child(at + i);
	return i;
}

u32 crab_index_find_run(const struct crab_index *index, u64 key, u32 n, void **found)
{
	const struct crab_index_node *node = rcu_dereference_raw(index->root), *beside = NULL;
	const u64 *at;
	u32 count;

	if (!node)
		return 0;
	while (node->level) {
		at = node_search(node, key);
		beside = READ_ONCE(at[1]) == CRAB_INDEX_PAD ? NULL : node_child(at + 1);
		node = node_descend(at);
	}
	count = node_run(node_search(node, key), n, found);
	if (count < n && beside)
		count += node_run(beside->keys, n - count, found + count);
	return count;
}

void crab_index_find_many(const struct crab_index *index, const u64 *keys, u32 n, void **found)
{
	const struct crab_index_node *root = rcu_dereference_raw(index->root), *node;
	u32 i, level;

	for (i = 0; i < n; i++)
		found[i] = (void *)root;
	if (!root)
		return;
	/* All are of one height: levels are counted from the leaves */
	for (level = root->level; level; level--) {
		for (i = 0; i < n; i++) {
			node = found[i];
			found[i] = node_descend(node_search_beside(node, keys[i]));
		}
	}
	for (i = 0; i < n; i++) {
		node = found[i];
		found[i] = node_child(node_search_beside(node, keys[i]));
	}
}

static void index_assert_locked(const struct crab_index *index)
{
#ifdef CONFIG_LOCKDEP
	WARN_ON_ONCE(index->lock && !lock_is_held(index->lock));
#endif
}

void crab_index_walk(const struct crab_index *index, u64 key, struct crab_index_path *path)
{
	struct crab_index_node *node = index->root;
	u32 level;

	index_assert_locked(index);
	for (;;) {
		level = node->level;
		path->node[level] = node;
		path->pos[level] = node_search(node, key) - node->keys;
		if (!level)
			return;
		node = node->children[path->pos[level]];
	}
}

bool crab_index_next(const struct crab_index *index, struct crab_index_path *path)
{
	u32 level = 0;

	while (++path->pos[level] == path->node[level]->count) {
		if (path->node[level] == index->root)
			return false;
		level++;
	}
	for (; level; level--) {
		path->node[level - 1] = path->node[level]->children[path->pos[level]];
		path->pos[level - 1] = 0;
	}
	return true;
}

/* Moves the upper half of a full node to a new right sibling */
static struct crab_index_node *index_split(struct crab_index *index, struct crab_index_node *node)
{
	struct crab_index_node *right = index_unstash(index, node->level);
	u32 keep = node->count / 2, i;

	for (i = keep; i < node->count; i++)
		node_move(right, right->count++, node, i);
	for (i = keep; i < node->count; i++)
		WRITE_ONCE(node->keys[i], CRAB_INDEX_PAD);
	node->count = keep;
	return right;
}

static void index_grow(struct crab_index *index, struct crab_index_node *right)
{
	struct crab_index_node *left = index->root;
	struct crab_index_node *root = index_unstash(index, left->level + 1);

	node_insert_at(root, 0, left->keys[0], left);
	node_insert_at(root, 1, right->keys[0], right);
	index_set_root(index, root);
}

static void index_insert(struct crab_index *index, u64 low, void *leaf)
{
	struct crab_index_node *node, *right;
	struct crab_index_path path;
	void *child = leaf;
	u32 level, pos;

	crab_index_walk(index, low, &path);
	for (level = 0; ; level++) {
		node = path.node[level];
		pos = path.pos[level] + 1;
		if (node->count < CRAB_INDEX_FULL) {
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

void crab_index_insert(struct crab_index *index, u64 low, void *leaf)
{
	index_insert(index, low, leaf);
	index->entries++;
	crab_shortcut_update(index, low);
}

void crab_index_replace(struct crab_index *index, u64 low, void *leaf)
{
	struct crab_index_path path;

	crab_index_walk(index, low, &path);
	node_put(path.node[0], path.pos[0], path.node[0]->keys[path.pos[0]], leaf);
	crab_shortcut_update(index, low);
}

/* The first key of a node changed: change the entries that name it */
static void index_rename_first(struct crab_index *index, struct crab_index_path *path, u32 level)
{
	u64 key = path->node[level]->keys[0];

	while (path->node[level] != index->root) {
		level++;
		WRITE_ONCE(path->node[level]->keys[path->pos[level]], key);
		if (path->pos[level])
			return;
	}
}

void crab_index_remove(struct crab_index *index, u64 low)
{
	struct crab_index_node *node;
	struct crab_index_path path;
	u32 level, emptied;

	crab_index_walk(index, low, &path);
	for (level = 0; ; level++) {
		node = path.node[level];
		node_remove_at(node, path.pos[level]);
		if (node->count || node == index->root)
			break;
	}
	/*
	 * An emptied node still leads to its last child, and its parent leads to it until the
	 * next iteration: none is retired before the topmost of them is out of the tree.
	 */
	for (emptied = 0; emptied < level; emptied++)
		node_retire(index, path.node[emptied]);
	if (node->count && !path.pos[level])
		index_rename_first(index, &path, level);
	while (index->root->level && index->root->count == 1) {
		node = index->root;
		index_set_root(index, node->children[0]);
		node_retire(index, node);
	}
	index->entries--;
	crab_shortcut_update(index, low);
}
