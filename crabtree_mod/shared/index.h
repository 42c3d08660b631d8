/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the index: the internal nodes of a tree, in DRAM, from the
 * lowest key of a leaf to the leaf. Built at each attach; shared by the
 * engines that keep their internal nodes in DRAM.
 *
 * Locking: readers take no lock; the caller of a change excludes all other changes.
 */
#ifndef CRABTREE_INDEX_H
#define CRABTREE_INDEX_H

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
 * @count: entries in use; read only by changes
 * @level: 0: children are leaves; never changes
 * @keys: the lowest key of each child, ascending, then CRAB_INDEX_PAD
 * @children: of each key; a key that a reader sees has a child that stays valid for it
 * @hints: the caller's hint for each child of level 0
 * @rcu: for a node that was removed from the tree; readers may be in it
 */
struct crab_index_node {
	u16 count;
	u16 level;
	u64 keys[CRAB_INDEX_KEYS];
	void *children[CRAB_INDEX_FANOUT];
	const void *hints[CRAB_INDEX_FANOUT];
	struct rcu_head rcu;
};

/**
 * struct crab_index - internal nodes of one tree
 * @root: NULL when empty
 * @right: rightmost node of each level, while entries are appended
 * @stash: nodes held for the next insert, so that it cannot fail, linked by
 *	children[0]
 * @stashed: how many
 * @nodes: how many nodes there are, those in the stash included
 */
struct crab_index {
	struct crab_index_node *root;
	struct crab_index_node *right[CRAB_INDEX_HEIGHT];
	struct crab_index_node *stash;
	u32 stashed;
	u64 nodes;
};

/** crab_index_init() - an empty index */
void crab_index_init(struct crab_index *index);

/**
 * crab_index_destroy() - free all nodes; the caller owns the leaves
 * @index: the index
 *
 * Context: any; no reader and no change runs.
 */
void crab_index_destroy(struct crab_index *index);

/**
 * crab_index_append() - add an entry after all others, while building
 * @index: the index; nothing but append was called on it yet
 * @low: higher than every key in it
 * @leaf: the child
 * @hint: returned with the child: an address that will be read soon, for prefetching
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int crab_index_append(struct crab_index *index, u64 low, void *leaf, const void *hint);

/**
 * crab_index_find() - the child with the highest low <= @key
 * @index: the index
 * @key: any but CRAB_INDEX_PAD
 *
 * Concurrently with a change it may return a neighbour, or a child that is no longer in the index:
 * the caller compares @key with the range of the child, and retries.
 *
 * Context: any; in an RCU read-side section, or with changes excluded.
 * Return: the child, or NULL if the index is empty.
 */
void *crab_index_find(const struct crab_index *index, u64 key);

/**
 * crab_index_find_hint() - crab_index_find(), and the child's hint
 * @index: the index
 * @key: any but CRAB_INDEX_PAD
 * @hint: out: the hint; concurrently with a change perhaps that of another child, or NULL
 *
 * Context: as crab_index_find().
 * Return: the child, or NULL if the index is empty.
 */
void *crab_index_find_hint(const struct crab_index *index, u64 key, const void **hint);

/**
 * crab_index_find_run() - crab_index_find() and the children after it
 * @index: the index
 * @key: any but CRAB_INDEX_PAD
 * @n: maximum number of children
 * @found: out: children in order, from one node and the next one of its parent
 * @hints: out: their hints, as from crab_index_find_hint()
 *
 * For prefetching only: concurrently with a change some or all children may be missing or occur
 * twice.
 *
 * Context: as crab_index_find().
 * Return: the number of children.
 */
u32 crab_index_find_run(const struct crab_index *index, u64 key, u32 n, void **found,
			const void **hints);

/**
 * crab_index_find_many() - crab_index_find() of several keys, interleaved
 * @index: the index
 * @keys: any but CRAB_INDEX_PAD
 * @n: number of keys
 * @found: out: one child for each key, with its first two lines prefetched
 *
 * Each level of all descents waits for memory once, not once a key.
 *
 * Context: as crab_index_find().
 */
void crab_index_find_many(const struct crab_index *index, const u64 *keys, u32 n, void **found);

/**
 * crab_index_is_reserved() - test whether the next insert needs no memory
 * @index: the index
 *
 * Context: any; the caller excludes changes.
 * Return: true if it needs none.
 */
bool crab_index_is_reserved(const struct crab_index *index);

/**
 * crab_index_reserve() - make sure that the next insert needs no memory
 * @index: the index
 *
 * Context: may sleep; the caller excludes other changes.
 * Return: 0 or -ENOMEM.
 */
int crab_index_reserve(struct crab_index *index);

/**
 * crab_index_insert() - add an entry, after crab_index_reserve()
 * @index: the index
 * @low: the lowest key of @leaf; no entry has it
 * @leaf: the child
 * @hint: as for crab_index_append()
 *
 * Context: any, does not sleep; the caller excludes other changes.
 */
void crab_index_insert(struct crab_index *index, u64 low, void *leaf, const void *hint);

/**
 * crab_index_replace() - set another child for an existing entry
 * @index: the index
 * @low: the key of the entry
 * @leaf: the new child
 * @hint: as for crab_index_append()
 *
 * Context: any, does not sleep; the caller excludes other changes.
 */
void crab_index_replace(struct crab_index *index, u64 low, void *leaf, const void *hint);

/**
 * crab_index_remove() - remove an existing entry other than that of low 0
 * @index: the index
 * @low: the key of the entry
 *
 * Context: any, does not sleep; the caller excludes other changes. Nodes are freed by RCU.
 */
void crab_index_remove(struct crab_index *index, u64 low);

#endif /* CRABTREE_INDEX_H */
