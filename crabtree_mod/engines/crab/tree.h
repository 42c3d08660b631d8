/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares a tree, i.e. an attached store of the engine, and the reads and writes under
 * way in it. FORMAT, attach, repair and detach have the region to themselves.
 *
 * Locking: at each field of struct crab_tree.
 */
#ifndef CRABTREE_ENGINES_CRAB_TREE_H
#define CRABTREE_ENGINES_CRAB_TREE_H

#include <linux/cache.h>
#include <linux/mutex.h>

#include "engines/counts.h"
#include "engines/defaults.h"
#include "shared/index.h"
#include "shared/pool.h"
#include "format.h"
#include "leaf_table.h"
#include "slotted/fingerprint.h"
#include "slotted/home.h"
#include "underfull.h"
#include "sorted/tuning.h"

struct crab_leaf;

#define CRAB_LAYOUT_SLOTTED	1
#define CRAB_LAYOUT_SORTED	2

/* Free leaves that inserts leave for updates and merges */
#define CRAB_POOL_RESERVE	2

/* Maximum number of leaves that one structure modification adds to the list */
#define CRAB_SMO_FRESH		2

/**
 * struct crab_tree - an attached store
 * @base: head that all engines have
 * @tuning: sorted: its options
 * @records: live records that attach found
 * @quarantined: quarantined leaves and gaps; written by attach, then under @smo_lock
 * @torn: slotted: slots that attach found torn
 * @repairs: slots that attach completed
 * @scratch: room for the records of two leaves and one more; under @smo_lock
 * @sorted: the layout is sorted, else slotted; only layout*.h read it
 * @slots: slots of a leaf
 * @noted: a delete that leaves this many records in a leaf, or fewer, notes the leaf (underfull.c)
 * @watched: every such delete notes the leaf, not only one that halves the rest
 * @pieces: sorted: pieces in which a leaf is searched, a power of two
 * @piece_slots: sorted: slots of a piece; the first has fewer, for the header is in it
 * @homes: slotted: home lines of keys
 * @mix: slotted: hash of the fingerprints
 * @fps: slotted: fingerprints of one leaf, a byte a slot; under @smo_lock
 * @overflow: slotted: room for the numbers of a leaf's records; under @smo_lock
 * @region: base.media->base, for readers
 * @index: internal nodes; its children are crab_leaf_child()
 * @table: descriptors of the leaves
 * @pool: free leaves, under a lock of its own
 * @underfull: slotted: leaves that may be worth a merge, under a lock of its own
 * @smo_lock: protects the list, the ranges of leaves, changes of the index, and all fields below
 * @first: first leaf of the list, never unlinked; NULL if the head is damaged
 * @last: last leaf
 * @birth: highest birth of a leaf
 * @leaves: leaves in the list
 * @splits: splits since attach
 * @unlinks: leaves unlinked since attach
 * @wanted: free leaves that the last change needed which returned -ENOSPC
 * @fresh: descriptors that are allocated for the next change
 *
 * Read-mostly and frequently written fields are on separate cache lines. Fields that only attach
 * writes, and the index, lie between them.
 */
struct crab_tree {
	struct crab_engine base;
	struct crab_tuning tuning;
	u64 records;
	u64 quarantined;
	u64 torn;
	u64 repairs;
	struct crab_record *scratch;
	bool sorted;
	u32 slots;
	u32 noted;
	bool watched;
	u32 pieces;
	u32 piece_slots;
	struct crab_homes homes;
	struct crab_mix mix;
	union crab_group_fps *fps;
	u16 *overflow;
	u8 *region;
	struct crab_index index;
	struct crab_leaf_table table;
	struct crab_pool pool;
	struct crab_underfull underfull;
	struct mutex smo_lock ____cacheline_aligned_in_smp;
	struct crab_leaf *first ____cacheline_aligned_in_smp;
	struct crab_leaf *last;
	u64 birth;
	u64 leaves;
	u64 splits;
	u64 unlinks;
	u32 wanted;
	struct crab_leaf *fresh[CRAB_SMO_FRESH];
};

/**
 * struct crab_reader - a read under way
 * @tree: the tree
 * @leaf: leaf that is being read, or NULL
 * @order: slotted: memory for the order of @leaf, if a scan found it together with the leaf
 * @seq: sequence count of @leaf at the begin of the read
 * @tries: attempts so far
 * @locked: the reader holds crab_tree.smo_lock and the lock of @leaf
 * @last: slotted: where the room is short, the read returns the last records of the range
 */
struct crab_reader {
	struct crab_tree *tree;
	struct crab_leaf *leaf;
	const u64 *order;
	unsigned int seq;
	u32 tries;
	bool locked;
	bool last;
};

/**
 * struct crab_write - a write under way
 * @tree: the tree
 * @flow: stores, cleans and fences of the write
 * @structure: the write holds crab_tree.smo_lock
 * @compacted: the write has searched the whole tree for leaves to merge
 * @underfull: the leaf that lost a record is to be merged
 * @removes: the write is a delete
 */
struct crab_write {
	struct crab_tree *tree;
	struct crab_flow *flow;
	bool structure;
	bool compacted;
	bool underfull;
	bool removes;
};

#define CRAB_SLOT_DOUBT		U32_MAX

/**
 * struct crab_place - the slot of a key in a leaf
 * @slot: if @found, the slot that holds the key; else the slot into which the key goes, or the
 *	number of slots if the leaf is full, or %CRAB_SLOT_DOUBT if a slot that may have the key
 *	reads all ones
 * @found: the leaf holds the key
 */
struct crab_place {
	u32 slot;
	bool found;
};

static inline struct crab_tree *crab_tree_of(struct crab_engine *engine)
{
	return container_of(engine, struct crab_tree, base);
}

/**
 * crab_tree_records() - count the live records
 * @tree: the tree
 *
 * Context: any, no lock; exact only while no write is under way.
 * Return: the number of live records.
 */
u64 crab_tree_records(const struct crab_tree *tree);

/**
 * crab_tree_doubt() - quarantine a leaf: its content on the media has changed
 * @tree: the tree
 * @key: a key of the range, where a valid read found a record that cannot be in its place
 *
 * If the leaf is split meanwhile, the half with @key is quarantined, and another read finds the
 * other.
 *
 * Context: may sleep; no lock.
 * Return: -EUCLEAN; damage is noted.
 */
int crab_tree_doubt(struct crab_tree *tree, u64 key);

/**
 * crab_leaf_missing() - why a write does not find a key
 * @tree: the tree
 * @leaf: the leaf that has it in its range
 * @key: the key
 * Context: the leaf is locked.
 * Return: -ENOENT; or -ERANGE if its record reads all ones, or is found now: crab_tree_doubt()
 * follows.
 */
int crab_leaf_missing(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key);

/* Functions of struct crab_engine_ops, which documents them */
int crab_tree_format(struct crab_flow *flow, const struct crab_geometry *geo);
struct crab_engine *crab_tree_attach(struct crab_media *media, const struct crab_geometry *geo,
				     const struct crab_attach_how *how);
int crab_tree_repair(struct crab_engine *engine, struct crab_flow *flow);
void crab_tree_detach(struct crab_engine *engine);
int crab_tree_lookup(struct crab_engine *engine, u64 key, u64 *value);
int crab_tree_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		   struct crab_record *record);
int crab_tree_scan(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records,
		   u32 cap);
int crab_tree_scan_back(struct crab_engine *engine, u64 start, u64 end,
			struct crab_record *records, u32 cap);
u64 crab_tree_beyond(struct crab_engine *engine, u64 key, enum crab_seek_dir dir);
int crab_tree_insert(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
		     enum crab_insert_mode mode, struct crab_old *old);
int crab_tree_remove(struct crab_engine *engine, struct crab_flow *flow, u64 key,
		     struct crab_old *old);
void crab_tree_batch(struct crab_engine *engine, struct crab_flow *flow,
		     struct crab_batch_op *ops, u32 n);
u64 crab_tree_quarantine(struct crab_engine *engine, u64 from, u64 to);
int crab_tree_check(struct crab_engine *engine, struct crab_check_report *report);

#endif /* CRABTREE_ENGINES_CRAB_TREE_H */
