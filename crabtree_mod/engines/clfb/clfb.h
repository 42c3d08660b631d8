/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares a tree, i.e. an attached store of the engine `clfb`, and how its functions
 * find a leaf.
 *
 * Locking: clfb_tree.lock. Writers hold it until their last fence, so readers find nothing that is
 * not durable.
 */
#ifndef CRABTREE_ENGINES_CLFB_H
#define CRABTREE_ENGINES_CLFB_H

#include <linux/kernel.h>
#include <linux/rwsem.h>

#include "engines/counts.h"
#include "engines/defaults.h"
#include "shared/link.h"
#include "shared/pool.h"
#include "line_read.h"

/* The media determines the amount of memory: an allocation fails before it kills a process */
#define CLFB_GFP_ATTACH	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

#define CLFB_FRESH_MAX	((CLFB_LEVELS_MAX + 1) * CLFB_PIECES_MAX)

/* Own counters of the engine */
enum clfb_counter {
	CLFB_NODE_UPDATES,	/* lines of nodes that were replaced */
	CLFB_NODES_WRITTEN,	/* fresh nodes */
};

/**
 * struct clfb_fresh - a node that nothing names yet
 * @number: of the node
 * @line: its content
 */
struct clfb_fresh {
	u64 number;
	union clfb_line line;
};

/**
 * struct clfb_plan - the nodes of a structure modification, before its first store
 * @fresh: fresh nodes
 * @count: how many
 * @list: children of the current node
 * @pieces: nodes that replace it in the node above
 * @line: new content of the node that commits the change; or
 * @new_root: the root word commits it
 * @number: of that node, or of the new root
 * @level: levels of nodes that the change replaces: from the leaves up, below that node
 * @levels: of the tree after the change
 */
struct clfb_plan {
	struct clfb_fresh fresh[CLFB_FRESH_MAX];
	u32 count;
	struct clfb_list list;
	struct clfb_list pieces;
	union clfb_line line;
	bool new_root;
	u64 number;
	u32 level;
	u32 levels;
};

/**
 * struct clfb_tree - an attached store
 * @base: head that all engines have
 * @lock: protects all that follows, and the media
 * @room: records that a leaf holds
 * @copies: lines of a node: 2 in the layout `twin`
 * @root: number of the root
 * @levels: levels of nodes above the leaves; 0: the root is a leaf
 * @lost: the root word is damaged
 * @records: live records that attach found
 * @leaves: leaves in use
 * @splits: splits since attach
 * @unlinks: leaves unlinked since attach
 * @quarantined: quarantined leaves and nodes
 * @pool: free leaves
 * @nodes: free nodes
 * @second: `twin`: for each node: its second line counts. A search waits for it at each level, and
 *	for a byte less long than for a bit
 * @leaf_live: one bit for each leaf: it is in the tree, and not quarantined
 * @node_live: one bit for each node: so is the node
 * @broken: attach found a node that the log replaces
 * @broken_node: its number
 * @log: its content
 * @scratch: room for the records of a leaf and one more; of writers
 * @plan: of writers
 */
struct clfb_tree {
	struct crab_engine base;
	struct rw_semaphore lock;
	u32 room;
	u32 copies;
	u64 root;
	u32 levels;
	bool lost;
	u64 records;
	u64 leaves;
	u64 splits;
	u64 unlinks;
	u64 quarantined;
	struct crab_pool pool;
	struct crab_pool nodes;
	bool *second;
	unsigned long *leaf_live;
	unsigned long *node_live;
	bool broken;
	u64 broken_node;
	union clfb_line log;
	struct crab_record *scratch;
	struct clfb_plan plan;
};

/**
 * struct clfb_place - a leaf that was found, its range, and the path to it
 * @low: lowest key of the range; crab_clfb_find_leaf() leaves both ends of it unknown
 * @high: one past the highest
 * @leaf: number of the leaf
 * @level: the level that was reached: 0 unless @bad
 * @bad: the range is quarantined
 * @step: of each level of nodes, 1 above the leaves: the node, and which of its children
 */
struct clfb_place {
	u64 low;
	u64 high;
	u64 leaf;
	u32 level;
	bool bad;
	struct {
		u64 node;
		u32 at;
	} step[CLFB_LEVELS_MAX + 1];
};

/**
 * struct clfb_write - a write under way
 * @tree: the tree
 * @flow: stores, cleans and fences of the write
 * @err: -EUCLEAN: the leaf has changed since it was found: damage, and nothing was written
 */
struct clfb_write {
	struct clfb_tree *tree;
	struct crab_flow *flow;
	int err;
};

static inline struct clfb_tree *clfb_tree_of(struct crab_engine *engine)
{
	return container_of(engine, struct clfb_tree, base);
}

static inline struct clfb_dleaf *clfb_leaf_media(const struct clfb_tree *tree, u64 leaf)
{
	return (struct clfb_dleaf *)(tree->base.media->base +
				     crab_leaf_offset(&tree->base.geo, leaf));
}

static inline __le64 *clfb_root_media(const struct crab_media *media)
{
	return (__le64 *)(media->base + CRAB_HEAD_OFFSET);
}

/**
 * crab_clfb_find() - find the leaf whose range holds a key, and that range
 * @tree: the tree
 * @key: any but the reserved key
 * @place: out: the range holds the key, also if nodes have changed since attach
 * Context: clfb_tree.lock.
 */
void crab_clfb_find(const struct clfb_tree *tree, u64 key, struct clfb_place *place);

/**
 * crab_clfb_find_leaf() - find the leaf whose range holds a key
 * @tree: the tree
 * @key: any
 * @place: out: without the range
 * Context: clfb_tree.lock.
 */
void crab_clfb_find_leaf(const struct clfb_tree *tree, u64 key, struct clfb_place *place);

/**
 * crab_clfb_refused() - refuse the access to a range that is bad
 * @tree: the tree
 * @key: a key of the range
 *
 * If nothing is quarantined, a line has changed since attach or the last write: this is noted as
 * damage.
 *
 * Context: clfb_tree.lock, or attach.
 * Return: -EUCLEAN.
 */
int crab_clfb_refused(struct clfb_tree *tree, u64 key);

/**
 * crab_clfb_doubt() - quarantine a leaf: its content on the media has changed
 * @tree: the tree
 * @key: a key of the range, where a read found a key that cannot be in its place
 *
 * If the leaf is split meanwhile: its half with @key. Another read finds the other one.
 *
 * Context: may sleep; no lock.
 * Return: -EUCLEAN; damage is noted.
 */
int crab_clfb_doubt(struct clfb_tree *tree, u64 key);

/**
 * clfb_step() - note the step from a node to one child
 * @place: out: the step of @level
 * @level: level of the node
 * @node: number of the node
 * @line: its content
 * @key: a key of the child
 * Context: any.
 * Return: number of the child.
 */
static inline u64 clfb_step(struct clfb_place *place, u32 level, u64 node,
			    const union clfb_line *line, u64 key)
{
	u32 at = crab_clfb_line_find(line, key);

	place->step[level].node = node;
	place->step[level].at = at;
	return crab_clfb_line_ref(line, at);
}

/**
 * clfb_enter() - the same, and narrow the range to that of the child
 * @place: out: the step of @level; range
 * @level: level of the node
 * @node: number of the node
 * @line: its content
 * @key: a key of the child
 * Context: any.
 * Return: number of the child.
 */
static inline u64 clfb_enter(struct clfb_place *place, u32 level, u64 node,
			     const union clfb_line *line, u64 key)
{
	u32 at = crab_clfb_line_range(line, key, &place->low, &place->high);

	place->step[level].node = node;
	place->step[level].at = at;
	return crab_clfb_line_ref(line, at);
}

/* Functions of struct crab_engine_ops, which documents them */
int crab_clfb_format(struct crab_flow *flow, const struct crab_geometry *geo);
struct crab_engine *crab_clfb_attach(struct crab_media *media, const struct crab_geometry *geo,
				     const struct crab_attach_how *how);
int crab_clfb_repair(struct crab_engine *engine, struct crab_flow *flow);
void crab_clfb_detach(struct crab_engine *engine);
int crab_clfb_lookup(struct crab_engine *engine, u64 key, u64 *value);
int crab_clfb_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		   struct crab_record *record);
int crab_clfb_scan(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records,
		   u32 cap);
u64 crab_clfb_beyond(struct crab_engine *engine, u64 key, enum crab_seek_dir dir);
u64 crab_clfb_quarantine(struct crab_engine *engine, u64 from, u64 to);
int crab_clfb_check(struct crab_engine *engine, struct crab_check_report *report);

#endif /* CRABTREE_ENGINES_CLFB_H */
