/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the engine `crab`: a B+-tree whose leaves form a linked
 * list on the media and whose internal nodes are in DRAM (seed 000, section 4).
 *
 * One file a noun: engine.c the verbs, batch.c several at a time, access.c how they come
 * into a leaf beside each other, leaf.c what leaves of both layouts share, leaf_slotted.c
 * and leaf_sorted.c the layouts, fingerprint.h, home.h and order.c by what records of a slotted
 * leaf are known, where they are at home and in what order, strategy.c the choice between
 * shifting and copying, bitmap.c allocation on demand,
 * smo.c the structure changes, smo_verify.c what they take from the media, smo_sorted.c those of
 * sorted leaves in place (smo.h), sparse.c when sparse neighbours are merged, recover.c FORMAT and
 * attach, recover_pool.c what attach finds in the pool, recover_list.c how it follows the list,
 * quarantine.c leaves whose memory fails, check.c the verifier.
 *
 * Locking: access.c tells it. Functions that take a struct crab_write and a leaf
 * want that leaf locked; those that store to it, within its write section too.
 */
#ifndef CRABTREE_ENGINES_CRAB_H
#define CRABTREE_ENGINES_CRAB_H

#include <linux/align.h>
#include <linux/bitops.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/seqlock.h>
#include <linux/spinlock.h>

#include "engines/counts.h"
#include "shared/index.h"
#include "shared/link.h"
#include "shared/pool.h"
#include "fingerprint.h"
#include "format.h"
#include "home.h"
#include "run.h"
#include "sparse.h"

#define CRAB_LAYOUT_SLOTTED	1
#define CRAB_LAYOUT_SORTED	2

/**
 * struct crab_leaf - what DRAM knows of a leaf in the list
 * @prev: the leaf before it, NULL for the first; under crab_tree.structure, as is @next
 * @next: the leaf behind it, NULL for the last
 * @rcu: of a dead leaf
 * @low: the least key that it may hold; its place in the index
 * @high: the least key that it may not hold; @low in a dead leaf
 * @void_value: slotted: value of its free slots
 * @number: which leaf of the pool; CRAB_LEAF_NOWHERE for a gap in a damaged list
 * @lock: of all that follows, the records, and changes of what stands above
 * @seq: odd while a record or the range changes and until that is durable
 * @count: live records
 * @torn: slots that a power cut left torn, and that repair completes
 * @twin: sorted: the slot that is void because its right neighbour has its key, or
 *	CRAB_LEAF_NO_TWIN; there is none once repaired
 * @ordered: slotted: so many records stand in the order that is kept (order.c), all of
 *	them, or 0
 * @bad: quarantined: every access to its range gives -EUCLEAN; never cleared
 * @doubt: a key of its range was seen where it must not be: what is not found here
 *	gives -EUCLEAN, not -ENOENT
 * @fps: slotted: CRAB_SLOTTED_PLANES words for each group of slots, of which word b has bit
 *	b of the fingerprint of each slot's key, none set in a free one; then the order;
 *	sorted: crab_sorted_firsts()
 *
 * All before the fingerprints is one line of the cache, where locks are not debugged.
 */
struct crab_leaf {
	union {
		struct {
			struct crab_leaf *prev;
			struct crab_leaf *next;
		};
		struct rcu_head rcu;
	};
	u64 low;
	u64 high;
	u64 void_value;
	u64 number;
	spinlock_t lock;
	seqcount_spinlock_t seq;
	u16 count;
	u16 torn;
	union {
		u16 twin;
		u16 ordered;
	};
	bool bad;
	bool doubt;
	u64 fps[];
};

#define CRAB_LEAF_NOWHERE	(~0ULL)
#define CRAB_LEAF_NO_TWIN	0xffff

#define CRAB_POOL_RESERVE	2	/* leaves that inserts leave for updates and merges */

/* Leaves that take the place of others in one change of the structure, at most */
#define CRAB_SMO_FRESH		2

/* Pieces in which a sorted leaf is searched, at most: their first keys are two lines of DRAM */
#define CRAB_SORTED_PIECES	16U

/**
 * struct crab_tree - an attached engine
 * @base: what the store knows
 * @records: live records that attach found
 * @bad: quarantined leaves and gaps; written by attach, then under @structure
 * @torn: slots that attach found torn
 * @repairs: slots that attach completed
 * @scratch: room for the records of two leaves and one more; under @structure
 * @sorted: layout sorted, else slotted
 * @slots: records a leaf can hold
 * @noted: a delete that leaves so many records in a leaf, or fewer, notes it (sparse.c)
 * @watched: each of them does, not only those that halve what is left
 * @pieces: sorted: in which a leaf is searched, a power of two
 * @piece_slots: sorted: slots of each, the first one but for the header; a power of two
 * @homes: slotted: where in a leaf records are at home
 * @mix: slotted: how fingerprints are made
 * @fps: slotted: room for the fingerprints of one leaf, a byte a slot; under @structure
 * @spill: slotted: room for the numbers of a leaf's records; under @structure
 * @index: internal nodes
 * @pool: free leaves, under its own lock
 * @sparse: slotted: where a merge may pay, under its own lock
 * @structure: of the list, the ranges, the index's changes and all that follows
 * @first: first leaf of the list, never unlinked; NULL if the head is damaged
 * @last: last leaf
 * @birth: of the youngest leaf
 * @leaves: leaves in the list
 * @splits: since attach
 * @unlinks: since attach
 * @wanted: free leaves that a change lacked which gave -ENOSPC
 * @fresh: descriptors at hand for the next change
 *
 * What every operation reads stands apart from what changes: between them is what attach
 * alone writes, and the index's own.
 */
struct crab_tree {
	struct crab_engine base;
	u64 records;
	u64 bad;
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
	u16 *spill;
	struct crab_index index;
	struct crab_pool pool;
	struct crab_sparse sparse;
	struct mutex structure;
	struct crab_leaf *first;
	struct crab_leaf *last;
	u64 birth;
	u64 leaves;
	u64 splits;
	u64 unlinks;
	u32 wanted;
	struct crab_leaf *fresh[CRAB_SMO_FRESH];
};

static inline struct crab_tree *crab_tree_of(struct crab_engine *engine)
{
	return container_of(engine, struct crab_tree, base);
}

/** crab_tree_records() - live records, where no write is under way */
u64 crab_tree_records(const struct crab_tree *tree);

static inline struct crab_dleaf *crab_leaf_media(const struct crab_tree *tree, u64 number)
{
	return (struct crab_dleaf *)(tree->base.media->base +
				     crab_leaf_offset(&tree->base.geo, number));
}

/** crab_leaf_hint() - where it is, for the index to tell; of a gap, where any leaf is */
static inline const void *crab_leaf_hint(const struct crab_tree *tree, const struct crab_leaf *leaf)
{
	return crab_leaf_media(tree, leaf->number == CRAB_LEAF_NOWHERE ? 0 : leaf->number);
}

static inline struct crab_dhead *crab_list_head(const struct crab_media *media)
{
	return (struct crab_dhead *)(media->base + CRAB_HEAD_OFFSET);
}

/* access.c: into a leaf and out again */

/*
 * Locks that one function takes and another one gives back: sparse counts them within a
 * function, and is told that there is nothing to count.
 */

static inline void crab_rcu_enter(void)
{
	if (CRAB_ALONE)
		return;
	rcu_read_lock();
	__release(RCU);
}

static inline void crab_rcu_leave(void)
{
	if (CRAB_ALONE)
		return;
	__acquire(RCU);
	rcu_read_unlock();
}

static inline void crab_leaf_take(struct crab_leaf *leaf)
{
	if (CRAB_ALONE)
		return;
	spin_lock(&leaf->lock);
	__release(&leaf->lock);
}

/* The second of two */
static inline void crab_leaf_take_too(struct crab_leaf *leaf)
{
	if (CRAB_ALONE)
		return;
	spin_lock_nested(&leaf->lock, SINGLE_DEPTH_NESTING);
	__release(&leaf->lock);
}

static inline bool crab_leaf_try(struct crab_leaf *leaf)
{
	if (CRAB_ALONE)
		return true;
	if (!spin_trylock(&leaf->lock))
		return false;
	__release(&leaf->lock);
	return true;
}

static inline void crab_leaf_give(struct crab_leaf *leaf)
{
	if (CRAB_ALONE)
		return;
	__acquire(&leaf->lock);
	spin_unlock(&leaf->lock);
}

/**
 * struct crab_reader - a read under way
 * @tree: where
 * @leaf: which leaf it is in, or NULL
 * @seq: of the leaf, when it came
 * @tries: how often it tried
 * @insists: it holds crab_tree.structure and the leaf's lock
 */
struct crab_reader {
	struct crab_tree *tree;
	struct crab_leaf *leaf;
	unsigned int seq;
	u32 tries;
	bool insists;
};

/** crab_leaf_holds() - is a key in the leaf's range? A dead leaf holds nothing */
static inline bool crab_leaf_holds(const struct crab_leaf *leaf, u64 key)
{
	return key >= READ_ONCE(leaf->low) && key < READ_ONCE(leaf->high);
}

/**
 * crab_leaf_may_have() - a hint: can these keys be in a leaf's range?
 * @leaf: the leaf
 * @high: where the range ends, which may be that of a leaf after it
 * @keys: all of them, or'ed
 *
 * False where one of them has a bit that no key of the range has, as a key of all ones nearly
 * always does. That is one instruction a key; a comparison with both ends is three.
 */
static inline bool crab_leaf_may_have(const struct crab_leaf *leaf, u64 high, u64 keys)
{
	u32 differ = fls64(leaf->low ^ (high - 1));	/* bits that differ within the range */
	u64 common = differ < 64 ? ~0ULL << differ : 0;

	return !(keys & ~leaf->low & common);
}

/** crab_reader_again() - crab_reader_enter(), after it came to the wrong leaf */
struct crab_leaf *crab_reader_again(struct crab_reader *reader, u64 key);

/**
 * crab_reader_enter() - into the leaf whose range holds a key
 * @reader: @tree is given, the rest zero or from the call before
 * @key: any
 * Context: may sleep, before the section; the section is RCU and must not.
 * Return: the leaf, or ERR_PTR(-EUCLEAN) where it is quarantined; crab_reader_leave()
 * in either case.
 */
static inline struct crab_leaf *crab_reader_enter(struct crab_reader *reader, u64 key)
{
	struct crab_leaf *leaf;

	if (unlikely(reader->tries++))
		return crab_reader_again(reader, key);
	crab_rcu_enter();
	leaf = crab_index_find(&reader->tree->index, key);
	reader->leaf = leaf;
	if (unlikely(!leaf))
		return ERR_PTR(-EUCLEAN);
	reader->seq = read_seqcount_begin(&leaf->seq);
	if (likely(crab_leaf_holds(leaf, key) && !leaf->bad))
		return leaf;
	return crab_reader_again(reader, key);
}

/** crab_reader_leave() - out of it; false: what was read does not count, enter again */
static inline bool crab_reader_leave(struct crab_reader *reader)
{
	struct crab_leaf *leaf = reader->leaf;
	bool counts = !leaf || !read_seqcount_retry(&leaf->seq, reader->seq);

	if (unlikely(reader->insists) && leaf)
		crab_leaf_give(leaf);
	crab_rcu_leave();
	reader->leaf = NULL;
	return counts;
}

/** crab_reader_end() - the read is over, after the last leave */
void crab_reader_end(struct crab_reader *reader);

/**
 * struct crab_write - a write under way
 * @tree: where
 * @flow: its stores, cleans and fences
 * @structure: it holds crab_tree.structure
 * @compacted: it has looked for room in the whole tree
 * @sparse: the leaf it removed a record from is to be merged
 * @removes: it is a delete
 */
struct crab_write {
	struct crab_tree *tree;
	struct crab_flow *flow;
	bool structure;
	bool compacted;
	bool sparse;
	bool removes;
};

/** crab_write_insist() - take the structure; no leaf is locked; may sleep */
void crab_write_insist(struct crab_write *write);

/** crab_write_try_structure() - take it if nobody has it, with a leaf locked */
bool crab_write_try_structure(struct crab_write *write);

/** crab_write_may_change() - the same, and whether all is reserved that a change needs */
bool crab_write_may_change(struct crab_write *write);

/** crab_write_release() - give the structure back; may sleep */
void crab_write_release(struct crab_write *write);

/** crab_write_end() - the write is over; may sleep */
static inline void crab_write_end(struct crab_write *write)
{
	if (unlikely(write->structure))
		crab_write_release(write);
}

/** crab_leaf_unlock() - of crab_leaf_lock() */
static inline void crab_leaf_unlock(struct crab_leaf *leaf)
{
	crab_leaf_give(leaf);
	crab_rcu_leave();
}

/** crab_leaf_lock_pair() - two neighbours, while the write holds the structure */
void crab_leaf_lock_pair(struct crab_write *write, struct crab_leaf *left,
			 struct crab_leaf *right);
void crab_leaf_unlock_pair(struct crab_leaf *left, struct crab_leaf *right);

/**
 * crab_leaf_begin() - a write section of a locked leaf: readers wait for its end
 * @leaf: the leaf
 *
 * Raw, because a batch has several at a time.
 */
static inline void crab_leaf_begin(struct crab_leaf *leaf)
{
	if (!CRAB_ALONE)
		lockdep_assert_held(&leaf->lock);
	raw_write_seqcount_begin(&leaf->seq);
}

/** crab_leaf_end() - what was written is durable */
static inline void crab_leaf_end(struct crab_leaf *leaf)
{
	raw_write_seqcount_end(&leaf->seq);
}

/** crab_leaf_kill() - a locked leaf was replaced: its range is empty from now on */
void crab_leaf_kill(struct crab_leaf *leaf);

/* leaf.c: what leaves of both layouts share */

static inline struct crab_dslot *crab_leaf_slot(const struct crab_tree *tree,
						const struct crab_leaf *leaf, u32 slot)
{
	return &crab_leaf_media(tree, READ_ONCE(leaf->number))->slots[slot];
}

static inline u64 crab_leaf_key(const struct crab_tree *tree, const struct crab_leaf *leaf,
				u32 slot)
{
	return crab_load(tree->base.media, &crab_leaf_slot(tree, leaf, slot)->key);
}

size_t crab_leaf_dram(const struct crab_tree *tree);

/** crab_leaf_slab() - memory that the allocator takes for it */
size_t crab_leaf_slab(const struct crab_tree *tree);
struct crab_leaf *crab_leaf_alloc(const struct crab_tree *tree, gfp_t gfp);

/** crab_leaf_next() - the first live slot from @slot on, or one that does not exist */
u32 crab_leaf_next(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot);

#define crab_leaf_for_each(tree, leaf, slot)					\
	for ((slot) = crab_leaf_next(tree, leaf, 0); (slot) < (tree)->slots;	\
	     (slot) = crab_leaf_next(tree, leaf, (slot) + 1))

/** crab_leaf_find() - slot of @key, or -1 */
int crab_leaf_find(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key);

static inline u64 crab_leaf_value(const struct crab_tree *tree, const struct crab_leaf *leaf,
				  u32 slot)
{
	return crab_load(tree->base.media, &crab_leaf_slot(tree, leaf, slot)->value);
}

/** crab_leaf_record() - the record in a slot */
struct crab_record crab_leaf_record(const struct crab_tree *tree, const struct crab_leaf *leaf,
				    u32 slot);

/** crab_slot_set_value() - crab_slot_update(); the caller fences */
void crab_slot_set_value(struct crab_write *write, struct crab_dslot *d, u64 value);

/** crab_slot_update() - a value in place (P6); in a slotted leaf not its void */
void crab_slot_update(struct crab_write *write, struct crab_dslot *d, u64 value);

/** crab_leaf_collect() - all records, of a sorted leaf in order; returns how many */
u32 crab_leaf_collect(const struct crab_tree *tree, const struct crab_leaf *leaf,
		      struct crab_record *records);

/**
 * crab_leaf_scan() - the records of a leaf that is being read, in order
 * @reader: in the leaf
 * @start: the least key
 * @end: the greatest
 * @records: out
 * @cap: how many of them, at most
 * @room: twice crab_order_bytes(), or NULL
 * Return: how many, or -ENOBUFS: it cannot be done without @room, as in leaves of 8 KiB.
 */
int crab_leaf_scan(struct crab_reader *reader, u64 start, u64 end,
		   struct crab_record *records, u32 cap, u16 *room);

/**
 * crab_leaf_read() - attach: classify every slot of a leaf
 * @tree: the tree; not changed, several leaves may be read at a time
 * @leaf: the leaf; its neighbours' @low is settled
 * @seen: of this caller alone, as it was left after the leaf before
 * @damage: where to note what is broken
 */
void crab_leaf_read(const struct crab_tree *tree, struct crab_leaf *leaf,
		    struct crab_seen *seen, struct crab_damage *damage);

/** crab_leaf_condemn() - note damage in a slot and quarantine the leaf */
void crab_leaf_condemn(const struct crab_tree *tree, struct crab_leaf *leaf,
		       struct crab_damage *damage, u32 slot, const char *what);

/**
 * crab_leaf_fresh() - write a whole leaf that nothing links to yet; the caller fences (P7)
 * @write: the write
 * @spare: where
 * @head: @next and @low are given; the rest is filled in
 * @records: what it holds, sorted
 * @count: how many, at most the slots of a leaf
 * @leaf: out: its descriptor, allocated by the caller
 */
void crab_leaf_fresh(struct crab_write *write, const struct crab_spare *spare,
		     struct crab_head *head, const struct crab_record *records, u32 count,
		     struct crab_leaf *leaf);

/** crab_leaf_empty() - FORMAT: the slots of the first leaf; the caller cleans them */
void crab_leaf_empty(struct crab_flow *flow, struct crab_dleaf *dleaf,
		     const struct crab_geometry *geo, u64 void_value);

/* leaf_slotted.c */
u32 crab_slotted_next(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot);
int crab_slotted_find(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key);
u32 crab_slotted_collect(const struct crab_tree *tree, const struct crab_leaf *leaf,
			 struct crab_record *records);

/** crab_slotted_lookup() - the value of a key, if it is there */
bool crab_slotted_lookup(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
			 u64 *value);
void crab_slotted_read(const struct crab_tree *tree, struct crab_leaf *leaf,
		       struct crab_seen *seen, struct crab_damage *damage);

/** crab_slotted_repair() - complete half-set landmarks, durable with P3 */
void crab_slotted_repair(struct crab_write *write, struct crab_leaf *leaf);
void crab_slotted_fresh(struct crab_write *write, const struct crab_spare *spare,
			struct crab_head *head, const struct crab_record *records, u32 count,
			struct crab_leaf *leaf);

/**
 * crab_slotted_place() - where a key stands or could stand
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 * Return: its slot; or ~slot of the first free one, which is fetched; ~slots if the leaf is full.
 */
int crab_slotted_place(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key);

/** crab_slotted_insert() - a record into a free slot (P6); @value is not void */
void crab_slotted_insert(struct crab_write *write, struct crab_leaf *leaf, u32 slot, u64 key,
			 u64 value);

/** crab_slotted_set() - crab_slotted_insert(); the caller fences */
void crab_slotted_set(struct crab_write *write, struct crab_leaf *leaf, u32 slot, u64 key,
		      u64 value);

/** crab_slotted_clear() - crab_slotted_remove(); the caller fences before the slot is used again */
void crab_slotted_clear(struct crab_write *write, struct crab_leaf *leaf, u32 slot);

/** crab_slotted_fetch() - a hint: @key will be asked for, or written; returns where it may be */
u32 crab_slotted_fetch(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key);

/** crab_slotted_lookup_at() - crab_slotted_lookup(), if the key is in this very slot */
bool crab_slotted_lookup_at(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot,
			    u64 key, u64 *value);

/** crab_slotted_remove() - landmarks into a live slot (P6) */
void crab_slotted_remove(struct crab_write *write, struct crab_leaf *leaf, u32 slot);

/** crab_slotted_groups() - how many groups of slots a leaf has */
static inline u32 crab_slotted_groups(const struct crab_tree *tree)
{
	return DIV_ROUND_UP(tree->slots, CRAB_SLOTTED_GROUP);
}

/** crab_slotted_fps() - bytes of fingerprints in a descriptor */
static inline size_t crab_slotted_fps(const struct crab_tree *tree)
{
	return crab_slotted_groups(tree) * CRAB_SLOTTED_PLANES * sizeof(u64);
}

/** crab_slotted_live() - a bit for each slot of a group that holds a record */
static __always_inline u64 crab_slotted_live(const struct crab_leaf *leaf, u32 group)
{
	const u64 *p = &leaf->fps[group * CRAB_SLOTTED_PLANES];

	/* Who reads beside a writer asks the seqcount what that was worth */
	return data_race(p[0] | p[1] | p[2] | p[3] | p[4] | p[5] | p[6] | p[7]);
}

/** crab_slotted_is_live() - does a slot hold a record? */
static inline bool crab_slotted_is_live(const struct crab_leaf *leaf, u32 slot)
{
	return crab_slotted_live(leaf, slot / CRAB_SLOTTED_GROUP) >> slot % CRAB_SLOTTED_GROUP & 1;
}

/** crab_slotted_void() - a random value that no record here has and that nobody favours */
u64 crab_slotted_void(const struct crab_record *records, u32 count);

/** crab_slotted_landmarks() - landmarks into slots [@from, all); the caller cleans them */
void crab_slotted_landmarks(struct crab_flow *flow, struct crab_dleaf *dleaf, u32 from, u32 slots,
			    u64 void_value);

/* order.c */

/** crab_order_bytes() - DRAM for the order of one leaf */
size_t crab_order_bytes(const struct crab_tree *tree);

/** crab_order_scan() - crab_leaf_scan() of a slotted leaf */
int crab_order_scan(struct crab_reader *reader, u64 start, u64 end,
		    struct crab_record *records, u32 cap, u16 *room);

/**
 * crab_order_split() - the records of a leaf and one more, in two parts
 * @tree: the tree
 * @leaf: the leaf, full
 * @rider: one more, whose key it does not have
 * @records: out: those of lesser keys, then the others
 * @low: out: the least key of the others
 *
 * By the middle of the leaf's range, if that leaves three in eight on either side, as it
 * mostly does with keys that come at random; else beside the new key, if it looks like one of
 * a run; else into halves. Where a key is outside that range, @low is CRAB_KEY_EMPTY, which is
 * in none.
 *
 * Return: how many are in the first part.
 */
u32 crab_order_split(const struct crab_tree *tree, const struct crab_leaf *leaf,
		     const struct crab_record *rider, struct crab_record *records, u64 *low);

/** crab_order_halve() - the @keep records of the least keys to the front, the next one at @keep */
void crab_order_halve(struct crab_record *records, u32 count, u32 keep);

/* leaf_sorted.c */
u32 crab_sorted_next(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot);
int crab_sorted_find(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key);

/** crab_sorted_lookup() - the value of a key, if it is there */
bool crab_sorted_lookup(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
			u64 *value);

/** crab_sorted_scan() - crab_leaf_scan() of a sorted leaf */
int crab_sorted_scan(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 start, u64 end,
		     struct crab_record *records, u32 cap);
void crab_sorted_read(const struct crab_tree *tree, struct crab_leaf *leaf,
		      struct crab_damage *damage);
void crab_sorted_fresh(struct crab_write *write, const struct crab_spare *spare,
		       struct crab_head *head, const struct crab_record *records, u32 count,
		       struct crab_leaf *leaf);

/** crab_sorted_pieces() - in what pieces leaves are searched */
void crab_sorted_pieces(struct crab_tree *tree, u32 leaf_bytes);

/** crab_sorted_init() - the descriptor of a leaf without records */
void crab_sorted_init(const struct crab_tree *tree, struct crab_leaf *leaf);

/** crab_sorted_firsts() - the first keys of its pieces: 0 for the first, then as they stand */
static inline u64 *crab_sorted_firsts(const struct crab_leaf *leaf)
{
	return (u64 *)leaf->fps;
}

/** crab_sorted_is_known() - is the first key of a piece the one in DRAM? */
bool crab_sorted_is_known(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 piece);

/** crab_sorted_place() - the first slot with a key above @key, or the one behind the last record */
u32 crab_sorted_place(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key);

/** crab_sorted_fetch() - a hint: the first @slots of a leaf will be read, soon and in order */
void crab_sorted_fetch(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slots);

/**
 * crab_sorted_place_moving() - crab_sorted_place() for a write
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 * @removes: it takes the record away
 *
 * Where records will have to move, all of them are on their way.
 */
u32 crab_sorted_place_moving(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
			     bool removes);

/**
 * crab_sorted_copy() - write a fresh leaf, another's with one change; the caller fences (P7)
 * @write: the write
 * @leaf: the other
 * @head: of the fresh one, whole
 * @number: where
 * @slot: of the change
 * @rider: goes in front of @slot; NULL: @slot is left out
 */
void crab_sorted_copy(struct crab_write *write, const struct crab_leaf *leaf,
		      const struct crab_head *head, u64 number, u32 slot,
		      const struct crab_record *rider);

/**
 * crab_sorted_copied() - the copy takes the place of the other; in its write section
 * @tree: the tree
 * @leaf: its descriptor, which stays
 * @number: where the copy is
 * @slot: of the change
 * @rider: as for crab_sorted_copy()
 */
void crab_sorted_copied(const struct crab_tree *tree, struct crab_leaf *leaf, u64 number,
			u32 slot, const struct crab_record *rider);

/** crab_sorted_shift_in() - insert at @pos by shifting right (P6) */
void crab_sorted_shift_in(struct crab_write *write, struct crab_leaf *leaf, u32 pos,
			  u64 key, u64 value);

/** crab_sorted_shift_out() - remove slot @pos by shifting left (P6) */
void crab_sorted_shift_out(struct crab_write *write, struct crab_leaf *leaf, u32 pos);

/** crab_sorted_end() - let the records end before @slot (P10); the caller counts them */
void crab_sorted_end(struct crab_write *write, struct crab_leaf *leaf, u32 slot);

/** crab_sorted_append() - @count records behind the end, revealed by the first one (P11, P6) */
void crab_sorted_append(struct crab_write *write, struct crab_leaf *leaf,
			const struct crab_record *records, u32 count);

/**
 * crab_sorted_overlap() - records of a leaf that also stand in the leaf behind it
 * @tree: the tree
 * @leaf: the leaf
 * @behind: the next one that is not empty
 *
 * What a split, a merge or a redistribution leaves when it is cut; they are
 * void. Notes damage where a record would be lost that way.
 */
void crab_sorted_overlap(struct crab_tree *tree, struct crab_leaf *leaf,
			 const struct crab_leaf *behind);

/** crab_sorted_complete() - close the gap over a twin, end the leaf before what overlaps */
void crab_sorted_complete(struct crab_write *write, struct crab_leaf *leaf);

/* strategy.c */

/** crab_strategy_lines() - lines of a leaf that hold the slots [@from, @to] */
u32 crab_strategy_lines(u32 from, u32 to);

/** crab_strategy_sip() - price of moving @moved records by one slot, slot @pos the first */
u64 crab_strategy_sip(const struct crab_tree *tree, u32 pos, u32 moved);

/** crab_strategy_cow() - price of a fresh leaf of @count records in place of another */
u64 crab_strategy_cow(const struct crab_tree *tree, u32 count);

/** crab_strategy_is_sip() - the choice, given both prices */
bool crab_strategy_is_sip(const struct crab_tree *tree, u64 sip, u64 cow);

/* bitmap.c */

/** crab_bitmap_set() - one leaf taken or given back, durable (P12) */
void crab_bitmap_set(struct crab_write *write, u64 leaf, bool used);

/**
 * crab_bitmap_bytes() - how long the bitmap is
 * @leaves: in the pool
 * @leaf_bytes: not used: the size of a leaf does not matter
 * Context: any.
 * Return: bytes, as &crab_layout.before_pool has them.
 */
u64 crab_bitmap_bytes(u64 leaves, u32 leaf_bytes);

/** crab_bitmap_rebuild() - write all of it from what the list reaches; durable with P3 */
void crab_bitmap_rebuild(struct crab_write *write);

/** crab_leaf_place() - where a write of @key begins */
static inline int crab_leaf_place(const struct crab_write *write, const struct crab_leaf *leaf,
				  u64 key)
{
	const struct crab_tree *tree = write->tree;

	return tree->sorted ? (int)crab_sorted_place_moving(tree, leaf, key, write->removes) :
			      crab_slotted_place(tree, leaf, key);
}

/** crab_leaf_lock_again() - crab_leaf_lock(), after something came between */
struct crab_leaf *crab_leaf_lock_again(struct crab_write *write, u64 key, int *at);

/**
 * crab_leaf_lock() - lock the leaf whose range holds a key
 * @write: the write
 * @key: any
 * @at: out: crab_leaf_place() of it, found before the lock is taken where nobody interferes:
 *	while the fence of the write before completes
 * Context: may sleep; what follows must not, until crab_leaf_unlock().
 * Return: the leaf, or ERR_PTR(-EUCLEAN) where it is quarantined.
 */
static __always_inline struct crab_leaf *crab_leaf_lock(struct crab_write *write, u64 key, int *at)
{
	struct crab_leaf *leaf;
	const void *dleaf;
	unsigned int seq;

	crab_rcu_enter();
	leaf = crab_index_find_hint(&write->tree->index, key, &dleaf);
	if (likely(leaf && !write->tree->sorted))
		crab_home_fetch(&write->tree->homes, dleaf, key);
	if (unlikely(!leaf || READ_ONCE(leaf->bad))) {
		crab_rcu_leave();
		return ERR_PTR(-EUCLEAN);
	}
	seq = raw_seqcount_begin(&leaf->seq);
	*at = crab_leaf_place(write, leaf, key);
	crab_leaf_take(leaf);
	if (likely(crab_leaf_holds(leaf, key) && !read_seqcount_retry(&leaf->seq, seq)))
		return leaf;
	crab_leaf_unlock(leaf);
	return crab_leaf_lock_again(write, key, at);
}

/* engine.c: the verbs that a batch does one by one */
int crab_tree_lookup(struct crab_engine *engine, u64 key, u64 *value);
int crab_tree_insert(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
		     enum crab_insert_mode mode, struct crab_old *old);
int crab_tree_remove(struct crab_engine *engine, struct crab_flow *flow, u64 key,
		     struct crab_old *old);

/** crab_leaf_lookup() - the value of a key in its leaf; -ENOENT, or -EUCLEAN in doubt */
static inline int crab_leaf_lookup(const struct crab_tree *tree, const struct crab_leaf *leaf,
				   u64 key, u64 *value)
{
	bool found = tree->sorted ? crab_sorted_lookup(tree, leaf, key, value) :
				    crab_slotted_lookup(tree, leaf, key, value);

	return likely(found) ? 0 : leaf->doubt ? -EUCLEAN : -ENOENT;
}

/* batch.c */
void crab_tree_batch(struct crab_engine *engine, struct crab_flow *flow,
		     struct crab_batch_op *ops, u32 n);

#endif /* CRABTREE_ENGINES_CRAB_H */
