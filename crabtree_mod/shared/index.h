/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the index: the internal nodes of a tree, in DRAM, from the lowest key of a
 * leaf to the leaf. Attach builds it. Engines that keep their internal nodes in DRAM share it.
 *
 * Layer L3: it includes media/ only; engines/, store/ and tests include it.
 *
 * Locking: readers take no lock (RCU). The callers exclude changes from each other by the lock of
 * crab_index_set_lock().
 */
#ifndef CRABTREE_INDEX_H
#define CRABTREE_INDEX_H

#include <linux/cache.h>
#include <linux/lockdep.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#define CRAB_INDEX_FANOUT	61	/* node_search() takes six steps */
#define CRAB_INDEX_KEYS		64	/* as many as six steps can come to */
#define CRAB_INDEX_PAD		(~0ULL)	/* above every key that is searched */
#ifndef CRAB_INDEX_FULL			/* test builds: shadow/test_config.h */
#define CRAB_INDEX_FULL		CRAB_INDEX_FANOUT	/* entries with which a node is split */
#define CRAB_INDEX_FILL		52	/* entries a node gets when built in order */
#define CRAB_INDEX_HEIGHT	10	/* more than 61^10 leaves do not exist */
#endif

/**
 * struct crab_index_node - one internal node
 * @count: entries in use; readers do not use it
 * @level: 0: children are leaves; never changes
 * @keys: the lowest key of each child, ascending, then CRAB_INDEX_PAD
 * @children: child of each key; the child of a key that a reader sees is not freed under it. On
 *	level 0 it is the owner's: a pointer, or any other word but NULL
 * @rcu: for a node that is out of the tree; readers may still use it
 */
struct crab_index_node {
	u16 count;
	u16 level;
	u64 keys[CRAB_INDEX_KEYS];
	void *children[CRAB_INDEX_FANOUT];
	struct rcu_head rcu;
};

/**
 * struct crab_index - internal nodes of one tree
 * @root: NULL when empty
 * @shortcuts: a table of shortcut.h; or NULL
 * @nodes: number of nodes, including those in the stash
 * @before: the table before @shortcuts, while readers may use it; or NULL
 * @cookie: of the grace period after which none does
 * @table_bytes: memory of both tables
 * @unfilled: chunks of @shortcuts that are to be filled, for those that have neither lock nor RCU
 * @shortens: crab_shortcut_build() was called
 * @right: rightmost node of each level, while entries are appended
 * @lock: the owner's lock that excludes changes; NULL until crab_index_set_lock()
 * @entries: number of leaves
 * @stash: nodes held for the next insert, so that it cannot fail, linked by
 *	children[0]
 * @stashed: number of nodes in @stash
 *
 * Each split of a leaf writes @entries and the fields after it; they are in no line of readers.
 */
struct crab_index {
	struct crab_index_node *root;
	struct crab_shortcuts *shortcuts;
	u64 nodes;
	struct crab_shortcuts *before;
	unsigned long cookie;
	u64 table_bytes;
	u32 unfilled;
	bool shortens;
	struct crab_index_node *right[CRAB_INDEX_HEIGHT];
#ifdef CONFIG_LOCKDEP
	const struct lockdep_map *lock;
#endif
	u64 entries ____cacheline_aligned_in_smp;
	struct crab_index_node *stash;
	u32 stashed;
};

/**
 * struct crab_index_path - path of a search
 * @node: the node of each level
 * @pos: the entry taken in it
 */
struct crab_index_path {
	struct crab_index_node *node[CRAB_INDEX_HEIGHT];
	u32 pos[CRAB_INDEX_HEIGHT];
};

#ifdef CONFIG_LOCKDEP
/**
 * crab_index_set_lock() - name the lock under which the index is changed, for lockdep
 * @index: the index, once it is built
 * @owner: a lock of the owner
 * Context: attach.
 */
#define crab_index_set_lock(index, owner)	((index)->lock = &(owner)->dep_map)
#else
#define crab_index_set_lock(index, owner)	((void)(index), (void)(owner))
#endif

/**
 * crab_index_bytes() - memory of an index and its shortcuts
 * @index: the index
 * Context: any.
 * Return: bytes.
 */
static inline u64 crab_index_bytes(const struct crab_index *index)
{
	return READ_ONCE(index->nodes) * sizeof(struct crab_index_node) +
	       READ_ONCE(index->table_bytes);
}

/**
 * crab_index_init() - make an empty index
 * @index: the index
 * Context: any.
 */
void crab_index_init(struct crab_index *index);

/**
 * crab_index_destroy() - free all nodes, but not the leaves
 * @index: the index; zeroed memory is allowed, too
 * Context: may sleep; no reader is left.
 */
void crab_index_destroy(struct crab_index *index);

/**
 * crab_index_append() - add an entry after all others, while attach builds the index
 * @index: the index; no function but append was called on it yet
 * @low: higher than every key in it
 * @leaf: the child
 * Context: may sleep; no concurrent change.
 * Return: 0 or -ENOMEM.
 */
int crab_index_append(struct crab_index *index, u64 low, void *leaf);

/**
 * crab_index_find() - find the child with the highest low <= @key
 * @index: the index
 * @key: any but CRAB_INDEX_PAD
 *
 * Concurrently with a change it may return a neighbour, or a child that is no longer in the
 * index: the caller compares @key with the range of the child, and searches again.
 *
 * Context: any; in an RCU read-side section, or with changes excluded.
 * Return: the child, or NULL if the index is empty.
 */
void *crab_index_find(const struct crab_index *index, u64 key);

/**
 * crab_index_find_run() - find a child and the children after it
 * @index: the index
 * @key: any but CRAB_INDEX_PAD
 * @n: how many children, at most
 * @found: out: the children in order, as far as one node and the next one of its parent go
 *
 * For prefetches: concurrently with a change some children, or all, may be missing or repeated.
 *
 * Context: as crab_index_find().
 * Return: number of children.
 */
u32 crab_index_find_run(const struct crab_index *index, u64 key, u32 n, void **found);

/**
 * crab_index_find_many() - find the children of several keys together
 * @index: the index
 * @keys: any but CRAB_INDEX_PAD
 * @n: how many
 * @found: out: one child for each key
 *
 * All descents together wait for memory once per level, not once per key and level.
 *
 * Context: as crab_index_find().
 */
void crab_index_find_many(const struct crab_index *index, const u64 *keys, u32 n, void **found);

/**
 * crab_index_walk() - find the path to the child with the highest low <= @key
 * @index: an index that is not empty
 * @key: any but CRAB_INDEX_PAD
 * @path: out: the path
 * Context: changes are excluded.
 */
void crab_index_walk(const struct crab_index *index, u64 key, struct crab_index_path *path);

/**
 * crab_index_next() - go on to the next child
 * @index: the index
 * @path: of crab_index_walk(), with no change since
 * Context: changes are excluded.
 * Return: false if there is none; then the path is not to be used any more.
 */
bool crab_index_next(const struct crab_index *index, struct crab_index_path *path);

/**
 * crab_index_low() - the key of the entry at the end of a path
 * @path: the path
 * Context: changes are excluded.
 * Return: the key.
 */
static inline u64 crab_index_low(const struct crab_index_path *path)
{
	return path->node[0]->keys[path->pos[0]];
}

/**
 * crab_index_child() - the child of the entry at the end of a path
 * @path: the path
 * Context: changes are excluded.
 * Return: the child.
 */
static inline void *crab_index_child(const struct crab_index_path *path)
{
	return path->node[0]->children[path->pos[0]];
}

/**
 * crab_index_is_reserved() - whether the next insert needs no memory
 * @index: the index
 * Context: changes are excluded.
 * Return: true if so.
 */
bool crab_index_is_reserved(const struct crab_index *index);

/**
 * crab_index_reserve() - allocate the memory of the next insert
 * @index: the index
 * Context: may sleep; changes are excluded.
 * Return: 0 or -ENOMEM.
 */
int crab_index_reserve(struct crab_index *index);

/**
 * crab_index_insert() - add an entry
 * @index: the index; crab_index_is_reserved()
 * @low: lowest key of the leaf
 * @leaf: the child
 * Context: changes are excluded.
 */
void crab_index_insert(struct crab_index *index, u64 low, void *leaf);

/**
 * crab_index_replace() - replace the child of an entry
 * @index: the index
 * @low: key of the entry
 * @leaf: the new child
 * Context: changes are excluded.
 */
void crab_index_replace(struct crab_index *index, u64 low, void *leaf);

/**
 * crab_index_remove() - remove an entry
 * @index: the index
 * @low: key of the entry, not 0
 * Context: changes are excluded.
 */
void crab_index_remove(struct crab_index *index, u64 low);

#endif /* CRABTREE_INDEX_H */
