/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the verbs on a leaf of the layout `slotted`. layout.h leads to them.
 *
 * Locking: access.c documents it. A verb that reads expects a read of the leaf under way, or its
 * lock. A verb that writes expects the lock.
 */
#ifndef CRABTREE_ENGINES_CRAB_SLOTTED_H
#define CRABTREE_ENGINES_CRAB_SLOTTED_H

#include "engines/crab/leaf.h"

struct crab_check;

static inline u32 crab_slotted_group_count(const struct crab_tree *tree)
{
	return DIV_ROUND_UP(tree->slots, CRAB_SLOTTED_GROUP);
}

/* Bytes of fingerprints in a descriptor */
static inline size_t crab_slotted_fps_bytes(const struct crab_tree *tree)
{
	return crab_slotted_group_count(tree) * CRAB_SLOTTED_PLANES * sizeof(u64);
}

/* A bit for each slot of a group that holds a record */
static __always_inline u64 crab_slotted_live(const struct crab_leaf *leaf, u32 group)
{
	const u64 *p = &leaf->fps[group * CRAB_SLOTTED_PLANES];

	/* A reader validates this by the sequence count */
	return data_race(p[0] | p[1] | p[2] | p[3] | p[4] | p[5] | p[6] | p[7]);
}

/* Tests whether a slot holds a record */
static inline bool crab_slotted_is_live(const struct crab_leaf *leaf, u32 slot)
{
	return crab_slotted_live(leaf, slot / CRAB_SLOTTED_GROUP) >> slot % CRAB_SLOTTED_GROUP & 1;
}

static inline void crab_slotted_init(struct crab_tree *tree)
{
	crab_homes_init(&tree->homes, tree->base.geo.leaf_bytes);
}

/* find.c */

/**
 * crab_slotted_next() - find the next slot with a record
 * @tree: the tree
 * @leaf: the leaf
 * @slot: first slot to look at
 *
 * Context: any.
 * Return: the slot, or crab_tree.slots.
 */
u32 crab_slotted_next(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot);

/**
 * crab_slotted_collect() - read all records of a leaf
 * @tree: the tree
 * @leaf: the leaf
 * @records: out: the records
 *
 * Context: the leaf is locked.
 * Return: the number of records.
 */
u32 crab_slotted_collect(const struct crab_tree *tree, const struct crab_leaf *leaf,
			 struct crab_record *records) __must_hold(&leaf->lock);

/**
 * crab_slotted_find() - find the slot of a key
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 *
 * Context: any.
 * Return: the slot, or -1.
 */
int crab_slotted_find(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key);

/**
 * crab_slotted_lookup() - read the value of a key
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 * @value: out: the value
 *
 * Context: any.
 * Return: 0; -ENOENT if the leaf does not have the key; -ERANGE: if the read is valid, the media
 * has changed.
 */
int crab_slotted_lookup(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
			u64 *value);

/**
 * crab_slotted_likely_slot() - guess the slot of a key, and prefetch it
 * @tree: the tree
 * @leaf: the leaf
 * @key: a key that a lookup or a write will need
 *
 * Context: RCU read-side section.
 * Return: the slot that the key is in or goes to, most likely.
 */
u32 crab_slotted_likely_slot(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key);

/**
 * crab_slotted_foresee() - find the place of a key whose fingerprint the leaf does not have
 * @tree: the tree
 * @leaf: the leaf
 * @key: a key that a write will need
 * @place: out: where the key goes
 *
 * It reads no line of the media, but prefetches the one that crab_slotted_place() reads.
 *
 * Context: RCU read-side section.
 * Return: false if the leaf may have the key: crab_slotted_place() is to be called.
 */
bool crab_slotted_foresee(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
			  struct crab_place *place);

/**
 * crab_slotted_lookup_at() - crab_slotted_lookup() in one slot
 * @tree: the tree
 * @leaf: the leaf
 * @slot: the slot
 * @key: the key
 * @value: out: the value
 *
 * Context: any.
 * Return: false if the key is not in this slot.
 */
bool crab_slotted_lookup_at(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot,
			    u64 key, u64 *value);

/**
 * crab_slotted_place() - find the place of a key for a write
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 *
 * Context: RCU read-side section; the line of a free slot is prefetched.
 * Return: the slot of the key; else the free slot for it, crab_tree.slots, or %CRAB_SLOT_DOUBT.
 */
struct crab_place crab_slotted_place(const struct crab_tree *tree, const struct crab_leaf *leaf,
				     u64 key);

/* write.c */

/**
 * crab_slotted_insert() - insert a key (P6)
 * @write: the write
 * @leaf: the leaf
 * @slot: crab_place.slot
 * @key: the key
 * @value: the value
 *
 * A full leaf is split. A value that is the leaf's void makes the leaf change its void.
 *
 * Context: the leaf is locked.
 * Return: 0 when durable; -EAGAIN: the write needs crab_tree.smo_lock or memory; -ENOSPC;
 * -EUCLEAN; -ERANGE for %CRAB_SLOT_DOUBT: crab_tree_doubt() follows.
 */
int crab_slotted_insert(struct crab_write *write, struct crab_leaf *leaf, u32 slot, u64 key,
			u64 value) __must_hold(&leaf->lock);

/**
 * crab_slotted_update_void() - replace the value of a key by the leaf's void
 * @write: the write
 * @leaf: the leaf
 * @key: the key
 * @value: the value
 *
 * Context: the leaf is locked.
 * Return: as crab_slotted_insert().
 */
int crab_slotted_update_void(struct crab_write *write, struct crab_leaf *leaf, u64 key, u64 value)
	__must_hold(&leaf->lock);

/**
 * crab_slotted_remove() - free the slot of a key (P6)
 * @write: the write
 * @leaf: the leaf, which stays in the list
 * @slot: slot of the key
 *
 * Context: the leaf is locked.
 */
void crab_slotted_remove(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
	__must_hold(&leaf->lock);

/**
 * crab_slotted_insert_nofence() - store a record into a free slot
 * @write: the write
 * @leaf: the leaf
 * @slot: a free slot
 * @key: the key
 * @value: the value; not the leaf's void
 *
 * Context: the leaf is locked and in a write section, which the caller ends after a fence.
 */
void crab_slotted_insert_nofence(struct crab_write *write, struct crab_leaf *leaf, u32 slot,
				 u64 key, u64 value) __must_hold(&leaf->lock);

/**
 * crab_slotted_remove_nofence() - free a slot
 * @write: the write
 * @leaf: the leaf
 * @slot: slot of the key
 *
 * Context: as crab_slotted_insert_nofence(); the slot is not used before that fence.
 */
void crab_slotted_remove_nofence(struct crab_write *write, struct crab_leaf *leaf, u32 slot);

/**
 * crab_slotted_keeps_empty() - test whether a leaf stays when it loses its last record
 * @tree: the tree
 * @leaf: the leaf
 *
 * Context: the leaf is locked. Its neighbour is not: a hint.
 * Return: true for the last leaf if the previous one is full: the next key that is appended would
 * need a leaf again.
 */
bool crab_slotted_keeps_empty(const struct crab_tree *tree, const struct crab_leaf *leaf);

/* order.c */

/**
 * crab_order_bytes() - size of the cached order of a leaf
 * @tree: the tree
 *
 * Context: any.
 * Return: bytes.
 */
size_t crab_order_bytes(const struct crab_tree *tree);

/**
 * crab_slotted_scan() - read records of a leaf in order
 * @reader: in the leaf
 * @start: lowest key
 * @end: highest key
 * @records: out: the records
 * @cap: room in @records
 * @room: twice crab_order_bytes(), or NULL
 *
 * Context: a read of the leaf is under way.
 * Return: the number of records; -ENOBUFS: @room is needed, as in leaves of 8 KiB.
 */
int crab_slotted_scan(struct crab_reader *reader, u64 start, u64 end,
		      struct crab_record *records, u32 cap, u16 *room);

/**
 * crab_slotted_scan_back() - read the last records of a leaf in descending order
 * @reader: in the leaf
 * @start: lowest key
 * @end: highest key
 * @records: out: the records
 * @cap: room in @records
 * @room: as of crab_slotted_scan()
 *
 * Context: as crab_slotted_scan().
 * Return: as crab_slotted_scan().
 */
int crab_slotted_scan_back(struct crab_reader *reader, u64 start, u64 end,
			   struct crab_record *records, u32 cap, u16 *room);

static inline size_t crab_slotted_desc_bytes(const struct crab_tree *tree)
{
	return sizeof(struct crab_leaf) + crab_slotted_fps_bytes(tree);
}

#endif /* CRABTREE_ENGINES_CRAB_SLOTTED_H */
