/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the index: the internal nodes of a tree, in DRAM, from the
 * least key of a leaf to the leaf. Built anew at each attach; shared by the
 * engines that keep their internal nodes there.
 *
 * Locking: readers take no lock; who changes it excludes all others who do.
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
 * @count: entries in use; for who changes it
 * @level: 0: children are leaves; never changes
 * @keys: the least key of each child, ascending, then CRAB_INDEX_PAD
 * @children: of each key; behind a key that a reader saw there is one that is alive for it
 * @hints: what its owner said of each child of level 0
 * @rcu: of a node that is out of the tree; readers may be in it
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

/** crab_index_destroy() - free all nodes; the leaves are the caller's */
void crab_index_destroy(struct crab_index *index);

/**
 * crab_index_append() - add an entry behind all others, while building
 * @index: the index; nothing but append was called on it yet
 * @low: greater than every key in it
 * @leaf: the child
 * @hint: what to find with it: something to be read soon, which it will lead to later
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int crab_index_append(struct crab_index *index, u64 low, void *leaf, const void *hint);

/**
 * crab_index_find() - the child with the greatest low <= @key
 * @index: the index
 * @key: any but CRAB_INDEX_PAD
 *
 * Beside a change it may give a neighbour, or a child that is no longer in the index: the
 * caller compares @key with the range of what it got, and asks again.
 *
 * Context: any; in an RCU read-side section, or with changes excluded.
 * Return: the child, or NULL if the index is empty.
 */
void *crab_index_find(const struct crab_index *index, u64 key);

/**
 * crab_index_find_hint() - crab_index_find(), and the child's hint
 * @index: the index
 * @key: any but CRAB_INDEX_PAD
 * @hint: out: the hint; beside a change perhaps that of another child, or NULL
 * Context: as crab_index_find().
 * Return: the child, or NULL if the index is empty.
 */
void *crab_index_find_hint(const struct crab_index *index, u64 key, const void **hint);

/**
 * crab_index_find_run() - crab_index_find() and what is behind it
 * @index: the index
 * @key: any but CRAB_INDEX_PAD
 * @n: how many children, at most
 * @found: out: one after the other, as far as one node has them and the next one of its parent
 * @hints: out: their hints, as crab_index_find_hint() has them
 *
 * A hint for what will be read next: beside a change some may be missing, even all, or come twice.
 *
 * Context: as crab_index_find().
 * Return: how many.
 */
u32 crab_index_find_run(const struct crab_index *index, u64 key, u32 n, void **found,
			const void **hints);

/**
 * crab_index_find_many() - crab_index_find() of several keys side by side
 * @index: the index
 * @keys: any but CRAB_INDEX_PAD
 * @n: how many
 * @found: out: a child each, the first two lines of it on their way
 *
 * Each level of all descents waits for memory once, not once a key.
 *
 * Context: as crab_index_find().
 */
void crab_index_find_many(const struct crab_index *index, const u64 *keys, u32 n, void **found);

/**
 * crab_index_is_reserved() - does the next insert need no memory?
 * @index: the index; changes are excluded
 */
bool crab_index_is_reserved(const struct crab_index *index);

/**
 * crab_index_reserve() - make sure that the next insert needs no memory
 * @index: the index; changes are excluded
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int crab_index_reserve(struct crab_index *index);

/** crab_index_insert() - add an entry; crab_index_reserve() came before */
void crab_index_insert(struct crab_index *index, u64 low, void *leaf, const void *hint);

/** crab_index_replace() - another child for an entry that is there */
void crab_index_replace(struct crab_index *index, u64 low, void *leaf, const void *hint);

/** crab_index_remove() - remove an entry that is there, not that of low 0 */
void crab_index_remove(struct crab_index *index, u64 low);

#endif /* CRABTREE_INDEX_H */
