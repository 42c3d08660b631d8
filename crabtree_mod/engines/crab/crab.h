/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the engine `crab`: a B+-tree whose leaves form a linked
 * list on the media and whose internal nodes are in DRAM (seed 000, section 4).
 *
 * One file a noun: engine.c the verbs, leaf_slotted.c a leaf and its slots,
 * link.c the words that link leaves, smo.c the structure changes, recover.c
 * FORMAT and attach, check.c the verifier.
 *
 * Locking: as in engine.h; nothing here takes a lock but the pool's.
 */
#ifndef CRABTREE_ENGINES_CRAB_H
#define CRABTREE_ENGINES_CRAB_H

#include "../../engine.h"
#include "../../index.h"
#include "../../pool.h"

#define CRAB_LAYOUT_SLOTTED	1

/**
 * struct crab_leaf - what DRAM knows of a leaf in the list
 * @prev: the leaf before it, NULL for the first
 * @next: the leaf behind it, NULL for the last
 * @low: the least key that it may hold; its place in the index
 * @void_value: value of its free slots
 * @number: which leaf of the pool; CRAB_LEAF_NOWHERE for a gap in a damaged list
 * @count: live records
 * @half: slots with one landmark, which repair completes
 * @bad: quarantined: every access to its range gives -EUCLEAN
 * @live: a bit a slot; behind it a byte a slot: the fingerprint of its key
 *
 * Fingerprints are the idea of the FPTree and of NBTree (seed 004); here they
 * are never on the media, and so cost no line.
 */
struct crab_leaf {
	struct crab_leaf *prev;
	struct crab_leaf *next;
	u64 low;
	u64 void_value;
	u64 number;
	u16 count;
	u16 half;
	bool bad;
	unsigned long live[];
};

#define CRAB_LEAF_NOWHERE	(~0ULL)

/**
 * struct crab_tree - an attached engine
 * @base: what the store knows; the store's lock covers all but @pool
 * @pool: free leaves, under its own lock
 * @index: internal nodes
 * @first: first leaf of the list, never unlinked; NULL if the head is damaged
 * @last: last leaf
 * @slots: records a leaf can hold
 * @live_words: words of crab_leaf.live
 * @birth: of the youngest leaf
 * @records: live records in all leaves
 * @leaves: leaves in the list
 * @bad: quarantined leaves and gaps
 * @splits: since attach
 * @unlinks: since attach
 * @repairs: slots that attach completed
 * @removed: records removed since compaction last found nothing
 * @scratch: the writers' room for one leaf's records and one more
 */
struct crab_tree {
	struct crab_engine base;
	struct crab_pool pool;
	struct crab_index index;
	struct crab_leaf *first;
	struct crab_leaf *last;
	u32 slots;
	u32 live_words;
	u64 birth;
	u64 records;
	u64 leaves;
	u64 bad;
	u64 splits;
	u64 unlinks;
	u64 repairs;
	u64 removed;
	struct crab_record *scratch;
};

static inline struct crab_tree *crab_tree_of(struct crab_engine *engine)
{
	return container_of(engine, struct crab_tree, base);
}

static inline u64 crab_leaf_offset(const struct crab_geometry *geo, u64 number)
{
	return geo->pool_offset + number * geo->leaf_bytes;
}

static inline struct crab_dleaf *crab_leaf_media(const struct crab_tree *tree, u64 number)
{
	return (struct crab_dleaf *)(tree->base.media->base +
				     crab_leaf_offset(&tree->base.geo, number));
}

static inline struct crab_dhead *crab_list_head(const struct crab_media *media)
{
	return (struct crab_dhead *)(media->base + CRAB_HEAD_OFFSET);
}

/* link.c: headers and the words that link them */

/**
 * struct crab_head - a header in the CPU's byte order
 */
struct crab_head {
	u64 next;
	u64 self;
	u64 birth;
	u64 low;
	u64 void_value;
};

/** crab_head_load() - read the header at @offset; false if it is not one of this store */
bool crab_head_load(const struct crab_media *media, u64 offset, u32 store_id,
		    struct crab_head *head);

/** crab_head_store() - write the header of a fresh leaf; the caller cleans it */
void crab_head_store(struct crab_flow *flow, u32 store_id, const struct crab_head *head);

/** crab_link_check() - the check bits of a link to the leaf born @birth at @offset */
u64 crab_link_check(u32 store_id, u64 offset, u64 birth);

/** crab_link_to() - the word that links to leaf @number, born @birth */
u64 crab_link_to(const struct crab_geometry *geo, u64 number, u64 birth);

/** crab_link_end() - the word that ends the list in the leaf born @birth at @offset */
u64 crab_link_end(u32 store_id, u64 offset, u64 birth);

/* leaf_slotted.c: one leaf */

size_t crab_leaf_dram(const struct crab_tree *tree);
struct crab_leaf *crab_leaf_alloc(const struct crab_tree *tree, gfp_t gfp);

/** crab_leaf_find() - slot of @key, or -1 */
int crab_leaf_find(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key);

/** crab_leaf_record() - the record in a live slot */
struct crab_record crab_leaf_record(const struct crab_tree *tree, const struct crab_leaf *leaf,
				    u32 slot);

/** crab_leaf_insert() - a record into a free slot (P6); there is one, @value is not void */
void crab_leaf_insert(struct crab_tree *tree, struct crab_leaf *leaf, u64 key, u64 value);

/** crab_leaf_update() - a value in place (P6); it is not the leaf's void */
void crab_leaf_update(struct crab_tree *tree, struct crab_leaf *leaf, u32 slot, u64 value);

/** crab_leaf_remove() - landmarks into a live slot (P6) */
void crab_leaf_remove(struct crab_tree *tree, struct crab_leaf *leaf, u32 slot);

/** crab_leaf_gather() - all records with keys in [@start, @end], sorted; returns how many */
u32 crab_leaf_gather(const struct crab_tree *tree, const struct crab_leaf *leaf,
		     u64 start, u64 end, struct crab_record *records);

/** crab_leaf_sort() - records by key */
void crab_leaf_sort(struct crab_record *records, u32 count);

/** crab_leaf_read() - attach: classify every slot of a leaf; notes damage; writes nothing */
void crab_leaf_read(struct crab_tree *tree, struct crab_leaf *leaf);

/** crab_leaf_repair() - complete the half-set landmarks of a leaf; the caller fences (P4) */
void crab_leaf_repair(struct crab_tree *tree, struct crab_leaf *leaf);

/**
 * crab_leaf_fresh() - write a whole leaf that nothing links to yet; the caller fences (P7)
 * @tree: the tree
 * @spare: where
 * @head: @next and @low are given; the rest is filled in
 * @records: what it holds, sorted
 * @count: how many, at most the slots of a leaf
 * @leaf: out: its descriptor, allocated by the caller
 */
void crab_leaf_fresh(struct crab_tree *tree, const struct crab_spare *spare,
		     struct crab_head *head, const struct crab_record *records, u32 count,
		     struct crab_leaf *leaf);

/** crab_leaf_void() - a random value that no record here has and that nobody favours */
u64 crab_leaf_void(const struct crab_record *records, u32 count);

/** crab_leaf_landmarks() - landmarks into slots [@from, all); the caller cleans them */
void crab_leaf_landmarks(struct crab_flow *flow, struct crab_dleaf *dleaf, u32 from, u32 slots,
			 u64 void_value);

/* smo.c: structure changes */

/** crab_smo_add() - insert into a leaf that is full: split it, or append a leaf */
int crab_smo_add(struct crab_tree *tree, struct crab_leaf *leaf, u64 key, u64 value);

/** crab_smo_rewrite() - put a record whose value is the leaf's void: a new leaf, a new void */
int crab_smo_rewrite(struct crab_tree *tree, struct crab_leaf *leaf, u64 key, u64 value);

/** crab_smo_unlink() - remove the last record of a leaf together with the leaf */
void crab_smo_unlink(struct crab_tree *tree, struct crab_leaf *leaf);

/** crab_smo_prepare() - maintain: make one free leaf's landmarks durable (P5) */
bool crab_smo_prepare(struct crab_tree *tree);

/* recover.c */
int crab_tree_format(struct crab_flow *flow, const struct crab_geometry *geo);
struct crab_engine *crab_tree_attach(struct crab_media *media, const struct crab_geometry *geo);
int crab_tree_repair(struct crab_engine *engine);
void crab_tree_detach(struct crab_engine *engine);

/* check.c */
void crab_tree_check(struct crab_engine *engine, struct crab_check_report *report);

#endif /* CRABTREE_ENGINES_CRAB_H */
