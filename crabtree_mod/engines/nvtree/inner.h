/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the inner nodes: one array in memory that is rebuilt as a whole.
 *
 * Locking: readers are in an RCU read-side section and validate by the sequence counts. Writers
 * hold nv_tree.smo_lock.
 */
#ifndef CRABTREE_ENGINES_NVTREE_INNER_H
#define CRABTREE_ENGINES_NVTREE_INNER_H

#include <linux/rcupdate.h>
#include <linux/seqlock.h>

#include "shared/numset.h"
#include "nvtree.h"

/* Entries of a parent node, and children of a node above: an inner node is as large as a leaf */
#ifndef CRAB_NV_ENTRIES			/* test builds: shadow/test_config.h */
#define CRAB_NV_ENTRIES(leaf_bytes)	((leaf_bytes) / 16 - 1)
#define CRAB_NV_FANOUT(leaf_bytes)	((leaf_bytes) / 8)
#endif
#define NV_LEVELS	40		/* above the parent nodes: any number of leaves fits */

/* An entry of a parent node: the lowest key of a leaf, and its number */
struct nv_entry {
	u64 low;
	u64 leaf;
};

/**
 * struct nv_parent - a parent node: the last node above the leaves
 * @seq: odd while the entries change
 * @count: number of entries
 * @entry: ascending
 */
struct nv_parent {
	seqcount_spinlock_t seq;
	u32 count;
	struct nv_entry entry[];
};

/**
 * struct nv_inner - all inner nodes
 * @rcu: to free it
 * @seq: odd while the entries of any parent node change
 * @bytes: of this memory
 * @entries: entries that a parent node can hold
 * @fanout: children of a node above the parent nodes
 * @stride: bytes from one parent node to the next
 * @parents: offset of the first parent node
 * @busy: parent nodes that have entries; its words follow the parent nodes
 * @levels: levels above the parent nodes
 * @nodes: number of nodes of each level; [0]: parent nodes
 * @keys: of each level from 1 on: where the lowest keys of the nodes of the level below are, as
 *	an index into @key. Node n of a level has the keys n * @fanout and following
 * @key: keys of all levels; the parent nodes follow
 */
struct nv_inner {
	struct rcu_head rcu;
	seqcount_spinlock_t seq;
	size_t bytes;
	u32 entries;
	u32 fanout;
	size_t stride;
	size_t parents;
	struct crab_numset busy;
	u32 levels;
	u64 nodes[NV_LEVELS + 1];
	u64 keys[NV_LEVELS + 1];
	u64 key[];
};

/**
 * struct nv_list - entries in ascending order, for a build
 * @entry: an array; NULL: all entries of @inner
 * @inner: inner nodes
 * @count: number of entries
 * @parent: next parent node of @inner
 * @pos: next entry in it, or of the array
 */
struct nv_list {
	const struct nv_entry *entry;
	const struct nv_inner *inner;
	u64 count;
	u64 parent;
	u64 pos;
};

static inline struct nv_parent *nv_parent(const struct nv_inner *inner, u64 n)
{
	return (struct nv_parent *)((u8 *)inner + inner->parents + n * inner->stride);
}

/**
 * crab_nv_inner_pack() - how many entries a build puts into each parent node
 * @tree: the tree
 * @dense: without an option: a quarter of a full node, else 1
 *
 * Context: any.
 * Return: the number; at least one more entry fits.
 */
u32 crab_nv_inner_pack(const struct nv_tree *tree, bool dense);

/**
 * crab_nv_inner_build() - make inner nodes
 * @tree: the tree
 * @list: the entries, at least one
 * @pack: entries of each parent node
 * @gfp: flags of the allocation
 *
 * Context: may sleep; under nv_tree.smo_lock, or attach.
 * Return: the inner nodes, or NULL if there is no memory.
 */
struct nv_inner *crab_nv_inner_build(struct nv_tree *tree, struct nv_list *list, u32 pack,
				     gfp_t gfp);

/**
 * crab_nv_inner_look() - find the entry of a key, without waiting
 * @inner: inner nodes
 * @key: any
 * @entry: out: the last entry whose key is not above @key
 * @high: out: key of the entry after it, or the reserved key; NULL: not wanted
 * @seq: out: the sequence count to validate by, and in @at its value
 * @at: out
 *
 * Context: RCU read-side section, or under nv_tree.smo_lock.
 */
void crab_nv_inner_look(const struct nv_inner *inner, u64 key, struct nv_entry *entry, u64 *high,
			const seqcount_spinlock_t **seq, unsigned int *at);

/**
 * crab_nv_inner_has_room() - test whether an entry can be added after that of a key
 * @tree: the tree
 * @key: any
 *
 * Context: under nv_tree.smo_lock.
 * Return: true if the parent node is not full.
 */
bool crab_nv_inner_has_room(const struct nv_tree *tree, u64 key);

/**
 * crab_nv_inner_rebuild() - replace the inner nodes by new ones with room in every parent node
 * @tree: the tree
 *
 * Context: may sleep; under nv_tree.smo_lock, no leaf is locked.
 * Return: 0 or -ENOMEM.
 */
int crab_nv_inner_rebuild(struct nv_tree *tree);

/**
 * crab_nv_inner_replace() - let an entry name another leaf
 * @tree: the tree
 * @low: key of the entry
 * @leaf: number of the leaf
 * @more: an entry to add after it, in the same step; or NULL
 *
 * Context: under nv_tree.smo_lock.
 */
void crab_nv_inner_replace(struct nv_tree *tree, u64 low, u64 leaf, const struct nv_entry *more);

/**
 * crab_nv_inner_remove() - remove an entry
 * @tree: the tree
 * @low: key of the entry, not the lowest of all
 *
 * Context: under nv_tree.smo_lock.
 */
void crab_nv_inner_remove(struct nv_tree *tree, u64 low);

#endif /* CRABTREE_ENGINES_NVTREE_INNER_H */
