/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares a tree, i.e. an attached store of the engine `nbtree`, its leaves in DRAM, and
 * how its functions find one.
 *
 * Locking: at each field; access.c documents how readers and writers meet.
 */
#ifndef CRABTREE_ENGINES_NBTREE_H
#define CRABTREE_ENGINES_NBTREE_H

#include <linux/kernel.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/seqlock.h>

#include "engines/counts.h"
#include "engines/defaults.h"
#include "shared/index.h"
#include "shared/link.h"
#include "shared/lock.h"
#include "shared/pool.h"
#include "format.h"

#define NB_NOWHERE	(~0ULL)		/* number of a leaf that a damaged list does not name */

/* The media determines the amount of memory: an allocation fails before it kills a process */
#define NB_GFP_ATTACH	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* Fingerprints are also read by whole words */
#define NB_FP_WORDS	DIV_ROUND_UP(NB_SLOTS_MAX, sizeof(__le64))

/**
 * struct nb_leaf - a leaf in DRAM
 * @number: its number on the media, or NB_NOWHERE; constant
 * @birth: its birth; constant
 * @low: lowest key of its range; constant
 * @high: one past the highest key of its range. Adr: @low: the leaf is not in use any more. Eadr:
 *	or less, since the range may have grown; set under nb_tree.smo_lock once the index leads to
 *	the leaf
 * @lock: adr: excludes writers; protects the media of the leaf, except its link, and the fields
 *	that change
 * @seq: adr: changes whenever such a field does, or the record of a live slot
 * @live: adr: one bit for each slot: it has a record
 * @smo: eadr: the leaf freezes, or has moved; NULL before that; then constant
 * @before: eadr: the leaf that it replaces, until the index follows the change of that one;
 *	changes under nb_tree.smo_lock
 * @fp: fingerprint of the key of each live slot; eadr: 0 until the key of the slot is known
 * @quarantined: every access to the range returns -EUCLEAN
 * @stale: adr: slots may have keys that moved to a later leaf
 * @gone: eadr: the list on the media does not have the leaf any more; no lock
 * @queued: eadr: its @smo is in ea_tree.queue, or was, or will be
 * @fp_words: the fingerprints by eight; those of no slot are @quarantined and the flags after it
 * @rcu: to free it after the last reader
 *
 * Two cache lines (without lock debugging). The first one has fingerprints, too.
 */
struct nb_leaf {
	u64 number;
	u64 birth;
	u64 low;
	u64 high;
	union {
		struct {
			spinlock_t lock;
			seqcount_spinlock_t seq;
			u64 live;
		};
		struct {
			struct ea_smo *smo;
			struct nb_leaf *before;
		};
	};
	union {
		struct {
			u8 fp[NB_SLOTS_MAX];
			bool quarantined;
			union {
				bool stale;
				u8 gone;
			};
			u8 queued;
		};
		__le64 fp_words[NB_FP_WORDS];
	};
	struct rcu_head rcu;
};

struct ea_smo;
struct nb_tree;

/**
 * struct nb_kind - the part of a layout that attach knows
 * @ops: the operations of an attached store
 * @tree_bytes: size of the structure that begins with a struct nb_tree
 * @init: prepare the fields of the layout in a leaf that is zeroed, or NULL
 * @link_bits: bits of a link on the media that name the next leaf
 * @numbered: the tree has nb_tree.by_number
 * @format: as crab_engine_ops.format
 * @open: find the records of a leaf, whose @low and @high are set, in its slots. NULL, or a
 *	description of the damage
 */
struct nb_kind {
	const struct crab_engine_ops *ops;
	size_t tree_bytes;
	void (*init)(struct nb_leaf *leaf);
	u64 link_bits;
	bool numbered;
	int (*format)(struct crab_flow *flow, const struct crab_geometry *geo);
	const char *(*open)(struct nb_tree *tree, struct nb_leaf *leaf);
};

/**
 * struct nb_tree - an attached store
 * @base: head that all engines have
 * @kind: its layout
 * @room: records that a leaf holds
 * @records: live records that attach found
 * @by_number: the leaf of each number, if the layout finds leaves by the list; or NULL
 * @pool: free leaves, under a lock of its own
 * @index: leads to the leaves; read under RCU, changed under @smo_lock
 * @smo_lock: protects the list on the media, and all that follows
 * @quarantined: quarantined leaves
 * @scratch: room for the records of a leaf
 * @birth: highest birth of a leaf
 * @leaves: leaves in the list
 * @splits: splits since attach
 * @unlinks: leaves unlinked since attach
 */
struct nb_tree {
	struct crab_engine base;
	const struct nb_kind *kind;
	u32 room;
	u64 records;
	struct nb_leaf **by_number;
	struct crab_pool pool;
	struct crab_index index;
	struct mutex smo_lock;
	u64 quarantined;
	struct crab_record *scratch;
	u64 birth;
	u64 leaves;
	u64 splits;
	u64 unlinks;
};

/**
 * struct nb_write - a write under way
 * @tree: the tree
 * @flow: stores, cleans and fences of the write
 * @structure: it holds nb_tree.smo_lock
 */
struct nb_write {
	struct nb_tree *tree;
	struct crab_flow *flow;
	bool structure;
};

/**
 * struct nb_read - a read of one leaf
 * @key: a key of its range
 * @dir: for a seek
 * @low: out: lowest key of its range
 * @high: out: one past the highest
 * @records: out
 */
struct nb_read {
	u64 key;
	enum crab_seek_dir dir;
	u64 low;
	u64 high;
	struct crab_record *records;
};

static inline struct nb_tree *nb_tree_of(struct crab_engine *engine)
{
	return container_of(engine, struct nb_tree, base);
}

static inline struct nb_dleaf *nb_leaf_media(const struct nb_tree *tree, const struct nb_leaf *leaf)
{
	return (struct nb_dleaf *)(tree->base.media->base +
				   crab_leaf_offset(&tree->base.geo, leaf->number));
}

/* access.c */

/**
 * crab_nb_read() - read one leaf
 * @tree: the tree
 * @read: the read; @low and @high are set also if the leaf is quarantined
 * @body: reads the leaf, perhaps several times. It is bounded for any values that it reads
 * Context: may sleep; no leaf is locked.
 * Return: the result of a call of @body during which the leaf did not change, or -EUCLEAN if the
 * leaf is quarantined.
 */
int crab_nb_read(struct nb_tree *tree, struct nb_read *read,
		 int (*body)(const struct nb_tree *tree, const struct nb_leaf *leaf,
			     struct nb_read *read));

/**
 * crab_nb_lock() - find and lock the leaf whose range holds a key
 * @write: the write; crab_nb_end() ends it
 * @key: any
 * Context: may sleep; no leaf is locked. On return an RCU read-side section has begun, until
 * crab_nb_unlock().
 * Return: the leaf; or NULL, with nothing locked, if it is quarantined.
 */
struct nb_leaf *crab_nb_lock(struct nb_write *write, u64 key);

/**
 * crab_nb_unlock() - release the leaf of crab_nb_lock()
 * @leaf: the leaf
 * Context: ends the RCU read-side section.
 */
void crab_nb_unlock(struct nb_leaf *leaf);

/**
 * crab_nb_lock_structure() - take nb_tree.smo_lock for a write
 * @write: the write, which may hold the lock already
 * Context: may sleep; no leaf is locked.
 */
void crab_nb_lock_structure(struct nb_write *write);

/**
 * crab_nb_end() - end a write: release nb_tree.smo_lock if it holds the lock
 * @write: the write
 * Context: may sleep; no leaf is locked.
 */
void crab_nb_end(struct nb_write *write);

/* quarantine.c */

/**
 * crab_nb_doubt() - quarantine a leaf: its content on the media has changed
 * @tree: the tree
 * @key: a key of the range, where a valid read found a key that cannot be in its place
 *
 * If the leaf is split meanwhile: its half with @key. Another read finds the other one.
 *
 * Context: may sleep; no lock.
 * Return: -EUCLEAN; damage is noted.
 */
int crab_nb_doubt(struct nb_tree *tree, u64 key);

/**
 * nb_change_begin() - begin a change of a leaf: readers wait for its end
 * @leaf: the leaf
 * Context: the leaf is locked.
 */
static inline void nb_change_begin(struct nb_leaf *leaf)
{
	crab_lock_assert(&leaf->lock);
	raw_write_seqcount_begin(&leaf->seq);
}

/**
 * nb_change_end() - end a change of a leaf, once its stores are durable
 * @leaf: the leaf
 * Context: the leaf is locked.
 */
static inline void nb_change_end(struct nb_leaf *leaf)
{
	crab_lock_assert(&leaf->lock);
	raw_write_seqcount_end(&leaf->seq);
}

extern const struct crab_layout crab_nb_layouts[];
extern const struct nb_kind crab_ea_kind;	/* the layout eadr */

/* As crab_engine_ops.attach, of a layout */
struct crab_engine *crab_nb_attach(const struct nb_kind *kind, struct crab_media *media,
				   const struct crab_geometry *geo,
				   const struct crab_attach_how *how);

/* Functions of struct crab_engine_ops, which documents them */
int crab_nb_format(struct crab_flow *flow, const struct crab_geometry *geo);
int crab_nb_repair(struct crab_engine *engine, struct crab_flow *flow);
void crab_nb_detach(struct crab_engine *engine);
int crab_nb_lookup(struct crab_engine *engine, u64 key, u64 *value);
int crab_nb_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		 struct crab_record *record);
int crab_nb_scan(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records,
		 u32 cap);
u64 crab_nb_beyond(struct crab_engine *engine, u64 key, enum crab_seek_dir dir);
u64 crab_nb_quarantine(struct crab_engine *engine, u64 from, u64 to);
int crab_nb_check(struct crab_engine *engine, struct crab_check_report *report);

#endif /* CRABTREE_ENGINES_NBTREE_H */
