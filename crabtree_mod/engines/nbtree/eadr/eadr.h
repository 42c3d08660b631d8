/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the layout `eadr` of the engine `nbtree`: slots and leaves that change by
 * compare-and-swap only. The format of a leaf and the list are those of the layout `adr`.
 *
 * Invariant: a slot never returns to an earlier state, and a leaf that began to freeze never
 * takes a record again.
 *
 * Locking: nb_tree.smo_lock protects the index, and nothing else; no operation on a record waits
 * for it, unless it finds no free leaf. All other fields that change are read and written by single
 * accesses, under RCU.
 */
#ifndef CRABTREE_ENGINES_NBTREE_EADR_H
#define CRABTREE_ENGINES_NBTREE_EADR_H

#include <linux/atomic.h>
#include <linux/llist.h>

#include "engines/nbtree/leaf.h"
#include "media/again.h"
#include "media/swap.h"

/*
 * The key word of a slot: its state, and the key below it. All keys of a leaf are in one quarter
 * of the key space, so that the two highest bits of a key are those of the leaf.
 */
#define EA_STATE_SHIFT	62
#define EA_LIVE		(1ULL << EA_STATE_SHIFT)
#define EA_FROZEN	(2ULL << EA_STATE_SHIFT)	/* a record that moves to a fresh leaf */
#define EA_KEY_BITS	(EA_LIVE - 1)

/*
 * The words of a slot without a key. The word EA_DEAD - 1, and those whose two highest bits are 0,
 * count as dead as well: stores of earlier versions have them.
 */
#define EA_FREE		CRAB_KEY_EMPTY
#define EA_DEAD		(CRAB_KEY_EMPTY - 1)	/* it never gets one */

#define EA_FP_VOID	1U	/* fingerprint of a slot that has no record, and never gets one */

#define EA_QUARTERS	4U

/*
 * So often a link is loaded that is another one at each time. In one RCU section other tasks would
 * have to replace so many neighbours of a leaf, each between two loads: the media changes by itself
 */
#define EA_LINK_TRIES	1000U

/* A bit of the number in a link: the leaf that holds the link is frozen, and so is the link */
#define EA_LINK_MARK	(1ULL << (CRAB_LINK_BITS - 1))

/**
 * struct ea_smo - a structure modification: a leaf freezes and moves to fresh ones, or is unlinked
 * @rcu: to free it after the last helper
 * @leaf: the leaf
 * @node: in ea_tree.queue
 * @fresh: the fresh leaves; the second one may be NULL. If both are, the leaf has no record and
 *	never gets one: its range goes to the leaf before it
 * @split: lowest key of the second one, or CRAB_KEY_EMPTY
 * @later: to free the old leaf
 * @copied: the fresh leaves are whole, and durable
 * @applied: the index does not lead to the leaf; under nb_tree.smo_lock
 *
 * Only @node, @copied and @applied change once nb_leaf.smo leads here, so that any task can
 * complete it without memory.
 */
struct ea_smo {
	struct rcu_head rcu;
	struct nb_leaf *leaf;
	struct llist_node node;
	struct nb_leaf *fresh[2];
	u64 split;
	struct crab_later *later;
	u32 copied;
	bool applied;
};

/**
 * struct ea_tree - an attached store
 * @nb: of all layouts; @splits, @leaves and @unlinks are of the state that the index has
 * @births: highest birth of a leaf
 * @begun: structure modifications that took a leaf of the pool
 * @ended: those whose leaves are in the list or in the pool
 * @retired: leaves that were replaced, and handed over to the pool
 * @synced: how many of them no reader can have any more
 * @freed: moves after leaves became free that were retired, or allocated for nothing
 * @unlinking: the leaf that is being unlinked, from before that until the index follows; or NULL
 * @queue: changes of leaves that are gone, and that the index may still lead to
 * @skipped: leaves without records that may have stayed in the list since the last sweep began
 * @sweep: a key of the leaf at which maintain goes on with its sweep, or 0; under nb_tree.smo_lock
 * @torn: attach found traces of a power cut
 * @repairs: slots and links that attach repaired
 * @damaged: an operation has found damage, and describes it
 */
struct ea_tree {
	struct nb_tree nb;
	atomic64_t births;
	atomic64_t begun;
	atomic64_t ended;
	atomic64_t retired;
	atomic64_t synced;
	atomic64_t freed;
	struct nb_leaf *unlinking;
	struct llist_head queue;
	atomic_t skipped;
	u64 sweep;
	bool torn;
	u64 repairs;
	u32 damaged;
};

/*
 * Its own counts. CHECK compares sums only while no write is under way. A write begins again if its
 * swap was lost, or if its leaf freezes or is full.
 */
#define EA_COUNT_BEGUN	own[0]
#define EA_COUNT_ENDED	own[1]
#define EA_COUNT_AGAIN	own[2]

#define EA_SLOT_LOST	U32_MAX

/**
 * struct ea_slot - where the search for a key has ended
 * @number: of the slot that has the record; otherwise of the lowest free one, or the number of
 *	slots that were searched, or %EA_SLOT_LOST if a slot that had the key, or one with its
 *	fingerprint, reads as free: the media has changed
 * @word: the key word of the record, or EA_FREE
 */
struct ea_slot {
	u32 number;
	u64 word;
};

static inline struct ea_tree *ea_tree_of(struct crab_engine *engine)
{
	return container_of(engine, struct ea_tree, nb.base);
}

/* The structure modification of a leaf that freezes or has moved, or NULL */
static inline struct ea_smo *ea_smo(const struct nb_leaf *leaf)
{
	/* Pairs with cmpxchg() in smo_publish() */
	return smp_load_acquire(&leaf->smo);
}

static inline struct nb_dslot *ea_slot_at(const struct ea_tree *tree, const struct nb_leaf *leaf,
					  u32 slot)
{
	return &nb_leaf_media(&tree->nb, leaf)->slot[slot];
}

static inline u64 ea_word(const struct ea_tree *tree, const struct nb_leaf *leaf, u32 slot)
{
	return crab_load_acquire(tree->nb.base.media, &ea_slot_at(tree, leaf, slot)->key);
}

/* At attach: the word of a slot, also if failing memory returns it otherwise once */
static inline u64 ea_settled(const struct ea_tree *tree, const struct nb_leaf *leaf, u32 slot)
{
	return crab_load_settled(tree->nb.base.media, &ea_slot_at(tree, leaf, slot)->key);
}

static inline u64 ea_value(const struct ea_tree *tree, const struct nb_leaf *leaf, u32 slot)
{
	return crab_load(tree->nb.base.media, &ea_slot_at(tree, leaf, slot)->value);
}

static inline bool ea_is_live(u64 word)
{
	return word >> EA_STATE_SHIFT == EA_LIVE >> EA_STATE_SHIFT;
}

static inline bool ea_is_frozen(u64 word)
{
	return word >> EA_STATE_SHIFT == EA_FROZEN >> EA_STATE_SHIFT;
}

/* Has the slot a record? */
static inline bool ea_is_record(u64 word)
{
	return ea_is_live(word) || ea_is_frozen(word);
}

static inline bool ea_is_dead(u64 word)
{
	return word == EA_DEAD || word == EA_DEAD - 1 || word <= EA_KEY_BITS;
}

/* The key of a key word with a key, in a leaf that begins at @low */
static inline u64 ea_key_of(u64 low, u64 word)
{
	return (low & ~EA_KEY_BITS) | (word & EA_KEY_BITS);
}

static inline u64 ea_key(const struct nb_leaf *leaf, u64 word)
{
	return ea_key_of(leaf->low, word);
}

/* upkeep.c */

/**
 * crab_ea_upkeep() - enter leaves that replace others into the index, unless a task does so
 * @tree: the tree
 * Context: may sleep; not in an RCU section.
 */
void crab_ea_upkeep(struct ea_tree *tree);

/**
 * crab_ea_reclaim() - wait until replaced leaves are free
 * @tree: the tree
 * Context: may sleep; not in an RCU section.
 * Return: false if no leaf waits for readers. An operation that finds no free leaf waits here for
 * the holder of the lock, and for readers.
 */
bool crab_ea_reclaim(struct ea_tree *tree);

/**
 * crab_ea_lock() - take nb_tree.smo_lock, and let the index follow the list
 * @tree: the tree
 * Context: may sleep; not in an RCU section. The caller releases the lock.
 */
void crab_ea_lock(struct ea_tree *tree);

/**
 * crab_ea_unlink() - unlink the leaf of a key if it has no record, unless a task changes the index
 * @write: the write
 * @key: a key of the leaf
 * Context: may sleep; not in an RCU section.
 */
void crab_ea_unlink(struct nb_write *write, u64 key);

/**
 * crab_ea_sweep() - maintain: unlink those of some leaves that have no record
 * @tree: the tree
 *
 * A delete leaves an empty leaf in the list while another task changes the index, and so does a
 * power cut. A sweep looks at all leaves, once there may be one such leaf in EA_SKIPPED_SHARE.
 *
 * Context: may sleep; not in an RCU section; one call at a time.
 * Return: true if more leaves are to be looked at.
 */
bool crab_ea_sweep(struct ea_tree *tree);

/**
 * crab_ea_sweep_is_due() - whether there is something to sweep
 * @tree: the tree
 * Context: any; a hint.
 * Return: true if so.
 */
bool crab_ea_sweep_is_due(const struct ea_tree *tree);

/**
 * crab_ea_is_behind() - whether the index leads to leaves that are gone
 * @tree: the tree
 * Context: any; a hint.
 * Return: true if so.
 */
bool crab_ea_is_behind(const struct ea_tree *tree);

/* quarantine.c */

/**
 * crab_ea_doubt() - quarantine a leaf: its content on the media has changed
 * @tree: the tree
 * @key: a key of the range, where a read found a key that cannot be in its place
 *
 * If the leaf is replaced meanwhile: the fresh one with @key. Another read finds another one.
 *
 * Context: may sleep; not in an RCU section.
 * Return: -EUCLEAN; damage is noted.
 */
int crab_ea_doubt(struct ea_tree *tree, u64 key);

/* As in struct nb_kind */
int crab_ea_format(struct crab_flow *flow, const struct crab_geometry *geo);
const char *crab_ea_open(struct nb_tree *tree, struct nb_leaf *leaf);

/* Functions of struct crab_engine_ops, which documents them */
int crab_ea_repair(struct crab_engine *engine, struct crab_flow *flow);
int crab_ea_lookup(struct crab_engine *engine, u64 key, u64 *value);
int crab_ea_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		 struct crab_record *record);
int crab_ea_scan(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records,
		 u32 cap);
u64 crab_ea_beyond(struct crab_engine *engine, u64 key, enum crab_seek_dir dir);
u64 crab_ea_quarantine(struct crab_engine *engine, u64 from, u64 to);
int crab_ea_check(struct crab_engine *engine, struct crab_check_report *report);
void crab_ea_detach(struct crab_engine *engine);

#endif /* CRABTREE_ENGINES_NBTREE_EADR_H */
