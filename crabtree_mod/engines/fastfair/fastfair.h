/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the state of the engine `fastfair` and its nodes on the media.
 *
 * Invariant: the nodes of each level form a list with ascending lowest keys, from 0 on. The first
 * node of a level is named by `first` of the first node above it, that of the highest level by the
 * head at CRAB_HEAD_OFFSET. The list alone defines the content; entries only shorten the way.
 *
 * Locking: engine.c documents it.
 */
#ifndef CRABTREE_ENGINES_FASTFAIR_FASTFAIR_H
#define CRABTREE_ENGINES_FASTFAIR_FASTFAIR_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>

#include "engines/engine.h"
#include "media/swap.h"
#include "shared/link.h"
#include "shared/pool.h"
#include "shared/side.h"
#include "tuning.h"

#define FF_LEVELS	16	/* levels of a tree; a root at the highest one is not grown */
#define FF_LINE_SLOTS	4U	/* slots of a cache line */
#define FF_NONE		(~0ULL)	/* no node */

/* crab_side.flags */
#define FF_DEAD		1U	/* no list has the node */
#define FF_BAD		2U	/* quarantined: nothing of it may be read */
#define FF_USED		4U	/* a list has the node */

/* Sizes of a node */
#define FF_NODE_BYTES_MIN	(CRAB_LEAF_BYTES_MIN < 256U ? CRAB_LEAF_BYTES_MIN : 256U)
#define FF_NODE_BYTES_DEFAULT	512U

/*
 * A slot: key and value of a record, or, above the leaves, the lowest key of a node and the link to
 * it. Slots ascend and end at the reserved key.
 */
struct ff_dslot {
	__le64 key;
	__le64 value;
};

/*
 * A node: a block of the pool. head.next links the next node of its level, head.own is the level
 * (0: leaf), head.low never changes.
 */
struct ff_dnode {
	struct crab_dhead head;
	__le64 first;		/* above the leaves: link of the node with the same lowest key */
	__le64 zero;
	struct ff_dslot slot[];
};

static_assert(sizeof(struct ff_dnode) == CRAB_LINE);
static_assert(sizeof(struct ff_dslot) * FF_LINE_SLOTS == CRAB_LINE);

struct ff_trace;

/**
 * struct ff_extra - an entry in memory, of a node that has none on the media
 * @low: lowest key of the node
 * @link: the word that links it
 * @level: its level
 */
struct ff_extra {
	u64 low;
	u64 link;
	u32 level;
};

/**
 * struct ff - an attached store
 * @base: the head
 * @structure: serialises splits, entries, removals, growth and shrinking of the root
 * @pool: free nodes
 * @sides: of the nodes in use; crab_side.count is the number of slots in use
 * @slots: of a node
 * @changes: how often @structure was taken for a change
 * @tuning: its options
 * @locked: reads lock the leaf: because of @torn, or of the option `leaf_locks`
 * @extras: number of entries in @extra
 * @extra: of ascending levels, and there of descending keys; only attach and repair write it
 * @birth: the highest one
 * @records: that attach found
 * @nodes: in use
 * @levels: of the tree
 * @splits: of leaves, since attach
 * @unlinks: removed leaves, since attach
 * @repairs: nodes that attach repaired
 * @quarantined: number of nodes with FF_BAD
 * @headless: the head cannot be read
 * @gaps: many nodes in a row may have no entry
 * @torn: nodes may have slots that a power cut left void
 * @traces: found by attach, for repair
 */
struct ff {
	struct crab_engine base;
	struct mutex structure;
	struct crab_pool pool;
	struct crab_sides sides;
	u32 slots;
	u64 changes;
	struct ff_tuning tuning;
	bool locked;
	u64 extras;
	struct ff_extra *extra;
	u64 birth;
	u64 records;
	u64 nodes;
	u32 levels;
	u64 splits;
	u64 unlinks;
	u64 repairs;
	u64 quarantined;
	bool headless;
	bool gaps;
	bool torn;
	struct ff_trace *traces;
};

#define ff_of(engine)	container_of(engine, struct ff, base)

/**
 * struct ff_node - a node whose header was read
 * @side: its side
 * @number: of its block
 * @link: the word that links it
 * @low: its lowest key
 * @level: 0: a leaf
 */
struct ff_node {
	struct crab_side *side;
	u64 number;
	u64 link;
	u64 low;
	u32 level;
};

/**
 * struct ff_find - the way to a node
 * @node: the node
 * @high: lowest key of an entry or a node to the right of the way; the reserved key: none
 * @after: link of the node that belongs to this key
 * @left: link of the neighbour to the left, if the same node has an entry for it; else 0
 */
struct ff_find {
	struct ff_node node;
	u64 high;
	u64 after;
	u64 left;
};

/**
 * struct ff_op - an operation
 * @ff: the store
 * @flow: of a write; or NULL
 * @tries: how often a leaf was looked for
 * @structure: the operation holds ff.structure
 * @missing: a node remains without an entry
 * @above: the last key of the leaf was above the key when the leaf was locked: a search that ends
 *	after the last slot met media that has changed
 * @fresh: an allocated block for a split, or FF_NONE
 * @find: the leaf
 */
struct ff_op {
	struct ff *ff;
	struct crab_flow *flow;
	u32 tries;
	bool structure;
	bool missing;
	bool above;
	u64 fresh;
	struct ff_find find;
};

static inline struct ff_dnode *ff_media(const struct ff *ff, u64 number)
{
	return (struct ff_dnode *)(ff->base.media->base + crab_leaf_offset(&ff->base.geo, number));
}

static inline struct ff_dslot *ff_slot(const struct ff *ff, u64 number, u32 slot)
{
	return &ff_media(ff, number)->slot[slot];
}

static inline u64 ff_key(const struct ff *ff, u64 number, u32 slot)
{
	return crab_load(ff->base.media, &ff_slot(ff, number, slot)->key);
}

static inline u64 ff_value(const struct ff *ff, u64 number, u32 slot)
{
	return crab_load(ff->base.media, &ff_slot(ff, number, slot)->value);
}

/**
 * crab_ff_halve() - find the first slot whose key is not below a key, by halves
 * @ff: the store
 * @number: of the node
 * @key: the key
 * @at: out: the key of the slot; unchanged if there is none
 *
 * Context: as ff_first(); or an inner node, of which a writer may shift the slots.
 * Return: as ff_first().
 */
u32 crab_ff_halve(const struct ff *ff, u64 number, u64 key, u64 *at);

/* Tests whether the key of a slot is not below @key; if so, it is in @at */
static __always_inline bool ff_reaches(const struct crab_media *media, const struct ff_dslot *slot,
				       u64 key, u64 *at, bool acquire)
{
	u64 found = acquire ? crab_load_acquire(media, &slot->key) : crab_load(media, &slot->key);

	if (found >= key)
		*at = found;
	return found >= key;
}

/**
 * ff_scan() - find the first slot whose key is not below a key, one slot after the other
 * @ff: the store
 * @number: of the node
 * @key: the key
 * @at: out: the key of the slot; unchanged if there is none
 * @acquire: each load comes before all later accesses: a writer may shift the slots
 *
 * The loop takes a line in a turn: an unrolled loop has half of the instructions.
 *
 * Context: any.
 * Return: the slot, or ff.slots.
 */
static __always_inline u32 ff_scan(const struct ff *ff, u64 number, u64 key, u64 *at,
				   bool acquire)
{
	const struct ff_dslot *slot = ff_slot(ff, number, 0);
	const struct crab_media *media = ff->base.media;
	u32 slots = ff->slots, i;

	for (i = 0; i + FF_LINE_SLOTS <= slots; i += FF_LINE_SLOTS, slot += FF_LINE_SLOTS) {
		if (ff_reaches(media, slot, key, at, acquire))
			return i;
		if (ff_reaches(media, slot + 1, key, at, acquire))
			return i + 1;
		if (ff_reaches(media, slot + 2, key, at, acquire))
			return i + 2;
		if (ff_reaches(media, slot + 3, key, at, acquire))
			return i + 3;
	}
	for (; i < slots && !ff_reaches(media, slot, key, at, acquire); i++)
		slot++;
	return i;
}

/**
 * ff_first() - find the first slot whose key is not below a key
 * @ff: the store
 * @number: of the node
 * @key: the key
 * @at: out: the key of the slot; unchanged if there is none
 *
 * Context: the node is locked, or the read is validated afterwards.
 * Return: the slot, or ff.slots.
 */
static __always_inline u32 ff_first(const struct ff *ff, u64 number, u64 key, u64 *at)
{
	u64 found = CRAB_KEY_EMPTY;	/* so that @at stays in a register */
	u32 i;

	if (likely(!ff->tuning.binary))
		return ff_scan(ff, number, key, at, false);
	i = crab_ff_halve(ff, number, key, &found);
	*at = found;
	return i;
}

static inline bool ff_begins_line(const struct ff_dslot *slot)
{
	return !((unsigned long)slot % CRAB_LINE);
}

/* The word at the end of the list of a level: the check bits of the link that leads to @node */
static inline u64 ff_link_end(const struct ff_node *node)
{
	return node->link & ~CRAB_LINK_MASK;
}

/* Tests whether two neighbours with so many records are to be merged */
static inline bool ff_is_sparse(const struct ff *ff, u32 a, u32 b)
{
	return !a || !b || a + b <= ff->slots * 3 / 4;
}

#endif /* CRABTREE_ENGINES_FASTFAIR_FASTFAIR_H */
