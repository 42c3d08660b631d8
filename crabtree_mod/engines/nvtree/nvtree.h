/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares a tree, i.e. an attached store of the engine `nvtree`, and how its functions
 * find a leaf.
 *
 * Locking: at each field of struct nv_tree; access.c documents how readers and writers meet.
 */
#ifndef CRABTREE_ENGINES_NVTREE_H
#define CRABTREE_ENGINES_NVTREE_H

#include <linux/kernel.h>
#include <linux/mutex.h>

#include "engines/counts.h"
#include "engines/defaults.h"
#include "shared/link.h"
#include "shared/pool.h"
#include "shared/side.h"
#include "format.h"
#include "tuning.h"

#define NV_LEAF_NOWHERE	(~0ULL)		/* number of a gap in a damaged list */
#define NV_SPARES	2		/* fresh leaves of one structure modification, at most */

/* The media determines the amount of memory: an allocation fails before it kills a process */
#define NV_GFP_ATTACH	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* crab_side.flags: the number of live records, and above it: */
#define NV_LIVE		0x0fff
#define NV_UNREAD	0x1000		/* it is as it was parked, and was not read: park.c */
#define NV_NOTED	0x2000		/* it has a note: compact.c */
#define NV_MISPLACED	0x4000		/* a key of the range may be in a quarantined leaf */
#define NV_QUARANTINED	0x8000		/* every access to the range returns -EUCLEAN */

struct nv_inner;

/**
 * struct nv_element - an element of a leaf, and its place
 * @key: the key
 * @value: the value; of a negative element without a meaning
 * @at: its number in the leaf: of two elements with one key the higher one counts
 * @negative: it deletes the key
 */
struct nv_element {
	u64 key;
	u64 value;
	u32 at;
	u32 negative;
};

/* Own counters of the engine */
enum nv_counter {
	NV_REBUILDS,		/* of the inner nodes, except that of attach */
	NV_REBUILT,		/* pointers to leaves that they copied */
	NV_REBUILD_NS,		/* time that they took */
	NV_INNER_LINES,		/* lines and fences that inner nodes on the media would cost: */
	NV_INNER_FENCES,	/* not executed */
	NV_ATTACH_LINES,	/* of leaves, or of parked entries, that attach read */
};

/**
 * struct nv_notes - leaves that may fit in one leaf together with a neighbour
 * @lock: protects all other fields; innermost
 * @leaf: one bit for each leaf
 * @word: one bit for each word of @leaf, set if a bit of it is
 * @words: number of words of @leaf
 * @next: the word at which the search continues
 */
struct nv_notes {
	spinlock_t lock;
	unsigned long *leaf;
	unsigned long *word;
	u64 words;
	u64 next;
};

/**
 * struct nv_first - the first reads of leaves whose entries were parked
 * @lock: protects all other fields, the sides of leaves that were not read yet, and
 *	crab_engine.found; only crab_pool.lock is taken under it
 * @elements: room for those of one leaf
 * @records: room for those of one leaf
 */
struct nv_first {
	spinlock_t lock;
	struct nv_element *elements;
	struct crab_record *records;
};

/**
 * struct nv_tree - an attached store
 * @base: head that all engines have
 * @tuning: its options
 * @room: elements that a leaf holds
 * @records: live records that attach found
 * @quarantined: quarantined leaves and gaps; written by attach, then under @smo_lock, or under
 *	nv_first.lock in test builds
 * @sides: of the leaves
 * @pool: free leaves, under a lock of its own
 * @notes: leaves to merge if the pool is short, under a lock of their own
 * @inner: inner nodes; read under RCU, replaced under @smo_lock
 * @inner_lock: protects the entries of parent nodes; innermost
 * @smo_lock: protects the list, the set of leaves in use, and all fields below
 * @elements: room for those of one leaf
 * @scratch: room for the records of two leaves and one more
 * @birth: highest birth of a leaf
 * @leaves: leaves in the list
 * @splits: splits since attach
 * @unlinks: leaves unlinked since attach
 * @recent: splits since the last rebuild
 * @appends: those of them at the end of the tree
 * @first: see there; only in test builds
 * @dense: a parent node is three quarters full, and a rebuild makes room
 */
struct nv_tree {
	struct crab_engine base;
	struct nv_tuning tuning;
	u32 room;
	u64 records;
	u64 quarantined;
	struct crab_sides sides;
	struct crab_pool pool;
	struct nv_notes notes;
	struct nv_inner __rcu *inner;
	spinlock_t inner_lock;
	struct mutex smo_lock;
	struct nv_element *elements;
	struct crab_record *scratch;
	u64 birth;
	u64 leaves;
	u64 splits;
	u64 unlinks;
	u64 recent;
	u64 appends;
#ifdef CRAB_NV_INSTANT
	struct nv_first first;
#endif
	bool dense;
};

/**
 * struct nv_place - a leaf that was found, and its range
 * @low: lowest key of the range
 * @high: one past the highest; only crab_nv_find_range() sets it
 * @leaf: number of the leaf, or NV_LEAF_NOWHERE
 * @side: of the leaf; NULL: the range is quarantined
 * @gen: crab_side.gen when it was found
 * @signs: only crab_nv_leaf_takes() sets it
 */
struct nv_place {
	u64 low;
	u64 high;
	u64 leaf;
	u64 signs;
	struct crab_side *side;
	u32 gen;
};

/**
 * struct nv_write - a write under way
 * @tree: the tree
 * @flow: stores, cleans and fences of the write
 */
struct nv_write {
	struct nv_tree *tree;
	struct crab_flow *flow;
};

static inline struct nv_tree *nv_tree_of(struct crab_engine *engine)
{
	return container_of(engine, struct nv_tree, base);
}

static inline struct nv_dleaf *nv_leaf_media(const struct nv_tree *tree, u64 leaf)
{
	return (struct nv_dleaf *)(tree->base.media->base +
				   crab_leaf_offset(&tree->base.geo, leaf));
}

/**
 * nv_live() - live records of a leaf
 * @side: of the leaf
 *
 * Context: any; a hint unless the side is locked.
 * Return: their number.
 */
static inline u32 nv_live(const struct crab_side *side)
{
	return READ_ONCE(side->flags) & NV_LIVE;
}

static inline bool nv_is_quarantined(const struct nv_place *place)
{
	return unlikely(!place->side || READ_ONCE(place->side->flags) & NV_QUARANTINED);
}

/* access.c */

/**
 * crab_nv_look() - find the leaf whose range holds a key, and read no word of it
 * @tree: the tree
 * @key: any
 * @place: out
 * @high: out: as of &struct nv_place; NULL: not wanted
 *
 * Context: as crab_nv_find().
 */
void crab_nv_look(struct nv_tree *tree, u64 key, struct nv_place *place, u64 *high);

/**
 * crab_nv_find() - find the leaf whose range holds a key
 * @tree: the tree
 * @key: any
 * @place: out: all but @high
 *
 * Context: may sleep; any locks of leaves are not held unless nv_tree.smo_lock is.
 */
void crab_nv_find(struct nv_tree *tree, u64 key, struct nv_place *place);

/**
 * crab_nv_find_range() - crab_nv_find(), and the end of the range
 * @tree: the tree
 * @key: any
 * @place: out
 *
 * The range of a leaf in use never shrinks, so that it holds all keys up to @high of @place.
 *
 * Context: as crab_nv_find().
 */
void crab_nv_find_range(struct nv_tree *tree, u64 key, struct nv_place *place);

/**
 * crab_nv_holds() - test whether a leaf is still in use as it was found
 * @place: the leaf
 *
 * Context: any. Without the lock of the leaf, it holds for earlier reads.
 * Return: true if it was not replaced or unlinked.
 */
static inline bool crab_nv_holds(const struct nv_place *place)
{
	if (!place->side)
		return true;
	/* Pairs with smp_wmb() in crab_nv_kill() */
	smp_rmb();
	return likely(READ_ONCE(place->side->gen) == place->gen);
}

/**
 * crab_nv_lock() - find and lock the leaf whose range holds a key
 * @tree: the tree
 * @key: any
 * @place: out
 *
 * Context: may sleep; no leaf is locked. Atomic until crab_unlock() of the side if it returns 0.
 * Return: 0, or -EUCLEAN if the leaf is quarantined, with nothing locked.
 */
int crab_nv_lock(struct nv_tree *tree, u64 key, struct nv_place *place);

/**
 * crab_nv_kill() - end the use of a leaf: another one has replaced it
 * @side: of the leaf
 *
 * Context: the side is locked; the inner nodes do not lead to it any more.
 */
void crab_nv_kill(struct crab_side *side);

/* quarantine.c */

/**
 * crab_nv_doubt() - verify a leaf in which a read found a key outside of its range
 * @tree: the tree
 * @key: a key of the range
 *
 * If the leaf is split meanwhile: its half with @key. Another read finds the other one.
 *
 * Context: may sleep; no lock.
 * Return: 0: the range has grown. -EUCLEAN: the media has changed; damage is noted, and the leaf is
 * quarantined.
 */
int crab_nv_doubt(struct nv_tree *tree, u64 key);

/* Functions of struct crab_engine_ops, which documents them */
int crab_nv_format(struct crab_flow *flow, const struct crab_geometry *geo);
struct crab_engine *crab_nv_attach(struct crab_media *media, const struct crab_geometry *geo,
				   const struct crab_attach_how *how);
int crab_nv_repair(struct crab_engine *engine, struct crab_flow *flow);
void crab_nv_detach(struct crab_engine *engine);
int crab_nv_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		 struct crab_record *record);
int crab_nv_scan(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records,
		 u32 cap);
u64 crab_nv_beyond(struct crab_engine *engine, u64 key, enum crab_seek_dir dir);
u64 crab_nv_quarantine(struct crab_engine *engine, u64 from, u64 to);
int crab_nv_check(struct crab_engine *engine, struct crab_check_report *report);

#endif /* CRABTREE_ENGINES_NVTREE_H */
