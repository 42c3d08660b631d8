/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares access to the slots of a leaf of the layout `eadr`, and how to find a leaf.
 *
 * Locking: none; RCU keeps the leaf.
 */
#ifndef CRABTREE_ENGINES_NBTREE_EADR_SLOTS_H
#define CRABTREE_ENGINES_NBTREE_EADR_SLOTS_H

#include <linux/minmax.h>

#include "eadr.h"
#include "engines/nbtree/fingerprint.h"

/* Neither 0, if the key is not known, nor EA_FP_VOID */
static inline u8 ea_fingerprint(u64 key)
{
	return max_t(u8, nb_fingerprint(key), EA_FP_VOID + 1);
}

/**
 * ea_note_key() - note the fingerprint of the key that a slot has
 * @leaf: the leaf
 * @slot: of the leaf
 * @key: the key
 * Context: any.
 */
static inline void ea_note_key(struct nb_leaf *leaf, u32 slot, u64 key)
{
	WRITE_ONCE(leaf->fp[slot], ea_fingerprint(key));
}

/**
 * ea_swap() - replace the key word and the value of a slot
 * @write: the write
 * @leaf: the leaf
 * @slot: of the leaf
 * @word: expected key word
 * @value: expected value
 * @to: new key word
 * @new_value: new value
 * Context: RCU.
 * Return: false, with nothing changed, if one of them was another one.
 */
static inline bool ea_swap(struct nb_write *write, const struct nb_leaf *leaf, u32 slot, u64 word,
			   u64 value, u64 to, u64 new_value)
{
	u64 old[2] = { word, value };

	return crab_cas_pair(write->flow, &nb_leaf_media(write->tree, leaf)->slot[slot].key,
			     old, to, new_value);
}

/**
 * crab_ea_leaf_of() - find the leaf whose range holds a key
 * @tree: the tree
 * @key: any
 * Context: RCU.
 * Return: a leaf that was in the list, with the key in its range, after the call began; or a
 * quarantined one, at which a search along the list ends; or NULL with damage noted: the media has
 * changed under the store.
 */
struct nb_leaf *crab_ea_leaf_of(struct ea_tree *tree, u64 key);

/**
 * crab_ea_high() - the end of the range of a leaf, by the list
 * @tree: the tree
 * @leaf: the leaf
 * Context: RCU; or attach. Read it before the slots: the range may grow.
 * Return: one past the highest key.
 */
u64 crab_ea_high(const struct ea_tree *tree, const struct nb_leaf *leaf);

/**
 * crab_ea_failed_high() - the end of the range of a quarantined leaf, by the index
 * @tree: the tree
 * @leaf: the leaf, whose memory is not read
 * @key: a key that leads to the leaf
 * Context: RCU.
 * Return: one past the highest key; @key or less, if the index is changing.
 */
u64 crab_ea_failed_high(const struct ea_tree *tree, const struct nb_leaf *leaf, u64 key);

/**
 * crab_ea_is_empty() - whether a leaf has no record
 * @tree: the tree
 * @leaf: the leaf
 * @near: a slot whose line is in the cache: its slots are read first
 * Context: RCU.
 * Return: true if it had none at a time during the call.
 */
bool crab_ea_is_empty(const struct ea_tree *tree, const struct nb_leaf *leaf, u32 near);

/**
 * crab_ea_close() - take the free slots of a leaf away; it gets no record any more
 * @write: the write
 * @leaf: the leaf
 * Context: RCU.
 * Return: true if it has no record, and never gets one.
 */
bool crab_ea_close(struct nb_write *write, struct nb_leaf *leaf);

/**
 * crab_ea_find() - find the slot of a key
 * @tree: the tree
 * @leaf: the leaf
 * @key: a key of its range
 * @end: number of slots to search
 * Context: RCU.
 * Return: the slot, if one had a record with the key during the call. Otherwise none had one
 * when the slot was free that is returned; nor can one get it while that slot is free. Its number
 * is @end if there is none, or %EA_SLOT_LOST.
 */
struct ea_slot crab_ea_find(const struct ea_tree *tree, const struct nb_leaf *leaf, u64 key,
			    u32 end);

/**
 * crab_ea_missing() - why a search did not find a key
 * @slot: of crab_ea_find()
 * Context: any.
 * Return: -ENOENT; or -ERANGE: crab_ea_doubt() follows.
 */
static inline int crab_ea_missing(const struct ea_slot *slot)
{
	return slot->number == EA_SLOT_LOST ? -ERANGE : -ENOENT;
}

/**
 * crab_ea_add() - insert a record that was not found
 * @write: the write
 * @leaf: the leaf
 * @slot: where the search has ended
 * @record: the record
 * Context: RCU.
 * Return: 0; -EAGAIN if another task was faster; -ENOSPC if no slot is free; -ERANGE for
 * %EA_SLOT_LOST: crab_ea_doubt() follows.
 */
int crab_ea_add(struct nb_write *write, struct nb_leaf *leaf, u32 slot,
		const struct crab_record *record);

/**
 * crab_ea_near() - find the record nearest to a key
 * @tree: the tree
 * @leaf: the leaf
 * @read: the seek. Its @records: out: one
 * Context: RCU.
 * Return: 0; -ENOENT if the leaf had none in this direction at a time during the call; -ERANGE if
 * the media has changed: a slot in use is free, or its key is not of the range.
 */
int crab_ea_near(const struct ea_tree *tree, const struct nb_leaf *leaf,
		 const struct nb_read *read);

/**
 * crab_ea_sorted() - read the records of a leaf
 * @tree: the tree
 * @leaf: the leaf
 * @high: the end of its range, read before
 * @records: out: by key. The leaf had these keys at one time during the call
 * Context: RCU.
 * Return: their number; or -ERANGE as crab_ea_near(), also if a key occurs twice.
 */
int crab_ea_sorted(const struct ea_tree *tree, const struct nb_leaf *leaf, u64 high,
		   struct crab_record *records);

/**
 * crab_ea_fault() - verify the slots of a leaf
 * @tree: the tree
 * @leaf: the leaf
 * @keys: out: its keys, in the order of their slots, each as it was during the call; room for a
 *	full leaf
 * @count: out: their number, exact only if no task changes the leaf
 * Context: RCU. The slots and the range may change meanwhile.
 * Return: NULL, or a description of the damage.
 */
const char *crab_ea_fault(const struct ea_tree *tree, const struct nb_leaf *leaf,
			  struct crab_record *keys, u32 *count);

/**
 * crab_ea_damaged() - the media of a leaf has changed under the store
 * @tree: the tree
 * @leaf: the leaf, or NULL
 * @what: description
 * Context: any; waits for no other task.
 * Return: -EUCLEAN.
 */
int crab_ea_damaged(struct ea_tree *tree, const struct nb_leaf *leaf, const char *what);

/**
 * crab_ea_open_slots() - find the records of a leaf at attach
 * @tree: the tree, whose nb_tree.records, ea_tree.torn and skipped follow
 * @leaf: the leaf, whose range is known
 * Context: attach.
 * Return: NULL, or a description of the damage.
 */
const char *crab_ea_open_slots(struct ea_tree *tree, struct nb_leaf *leaf);

#endif /* CRABTREE_ENGINES_NBTREE_EADR_SLOTS_H */
