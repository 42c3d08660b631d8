// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the slots of a leaf on the media, and their bitmaps and fingerprints.
 */

/**
 * DOC: leaf of nbtree
 *
 * A slot is two words of one line, and slots are in no order (Zhang et al. 2024, section III-A).
 * The key decides: all ones is a free slot, a key of the leaf's range a record, and a key from the
 * end of the range on is *stale*: it moved to a later leaf. A stale slot is free as well.
 *
 *   insert    value, order, key: one line, P6
 *   update    value, P6
 *   delete    key = all ones, P6
 *
 * An insert needs no more than the order of two stores to one line: model L. DRAM has a bitmap for
 * live slots and a fingerprint for each key, so that a search reads one line.
 *
 * Locking: access.c documents it.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "engines/select.h"
#include "shared/keyset.h"
#include "fingerprint.h"
#include "leaf.h"

static u64 room_mask(const struct nb_tree *tree)
{
	return (1ULL << tree->room) - 1;
}

/* Takes the lowest slot out of a set that is not empty */
static u32 bits_take(u64 *bits)
{
	u32 slot = __ffs64(*bits);

	*bits &= *bits - 1;
	return slot;
}

static struct nb_dslot *slot_at(const struct nb_tree *tree, const struct nb_leaf *leaf, u32 slot)
{
	return &nb_leaf_media(tree, leaf)->slot[slot];
}

static u64 slot_key(const struct nb_tree *tree, const struct nb_leaf *leaf, u32 slot)
{
	return crab_load(tree->base.media, &slot_at(tree, leaf, slot)->key);
}

u64 crab_nb_leaf_value(const struct nb_tree *tree, const struct nb_leaf *leaf, u32 slot)
{
	return crab_load(tree->base.media, &slot_at(tree, leaf, slot)->value);
}

u32 crab_nb_leaf_find(const struct nb_tree *tree, const struct nb_leaf *leaf, u64 key)
{
	u64 live = READ_ONCE(leaf->live), likely, at;
	u8 fp = nb_fingerprint(key);
	u32 first, slot;

	for (first = 0; first < NB_SLOTS_MAX && live >> first; first += NB_FP_BYTES) {
		likely = nb_fp_equal(nb_fp_load(leaf, first), fp);
		for (; likely; likely &= likely - 1) {
			slot = first + __ffs64(likely) / NB_FP_BITS;
			if (!(live >> slot & 1))
				continue;
			at = slot_key(tree, leaf, slot);
			if (at == key)
				return slot;
			if (unlikely(at == CRAB_KEY_EMPTY || slot_key(tree, leaf, slot) != at))
				return NB_SLOT_BLANK;
		}
	}
	return NB_SLOT_NONE;
}

u32 crab_nb_leaf_free_slot(const struct nb_tree *tree, const struct nb_leaf *leaf)
{
	u64 bits = ~leaf->live & room_mask(tree);

	return bits ? __ffs64(bits) : NB_SLOT_NONE;
}

/* Has a slot the key 0, also if it is loaded again, in the leaf that may have it? */
static noinline bool slot_is_first(const struct nb_tree *tree, const struct nb_leaf *leaf, u32 slot,
				   u64 key)
{
	return !key && !leaf->low && !slot_key(tree, leaf, slot);
}

int crab_nb_leaf_near(const struct nb_tree *tree, const struct nb_leaf *leaf, u64 key,
		      enum crab_seek_dir dir, struct crab_record *record)
{
	u64 bits = READ_ONCE(leaf->live), high = READ_ONCE(leaf->high), at;
	const u64 low = leaf->low ?: 1;		/* the key 0 is looked at */
	u32 slot, best = NB_SLOT_NONE;

	while (bits) {
		slot = bits_take(&bits);
		at = slot_key(tree, leaf, slot);
		if (unlikely(at < low || at >= high) && !slot_is_first(tree, leaf, slot, at))
			return -ERANGE;
		if (crab_seek_is_before(dir, at, key))
			continue;
		if (best != NB_SLOT_NONE &&
		    (dir == CRAB_SEEK_GE ? at >= record->key : at <= record->key))
			continue;
		best = slot;
		record->key = at;
	}
	if (best == NB_SLOT_NONE)
		return -ENOENT;
	record->value = crab_nb_leaf_value(tree, leaf, best);
	return 0;
}

u32 crab_nb_leaf_sorted(const struct nb_tree *tree, const struct nb_leaf *leaf,
			struct crab_record *records)
{
	u64 bits = READ_ONCE(leaf->live);
	u32 slot, count = 0;

	while (bits) {
		slot = bits_take(&bits);
		records[count].key = slot_key(tree, leaf, slot);
		records[count++].value = crab_nb_leaf_value(tree, leaf, slot);
	}
	crab_sort(records, count);
	return count;
}

/* A slot without a record: its key is free, or stale */
static bool slot_is_void(const struct nb_tree *tree, const struct nb_leaf *leaf, u32 slot)
{
	u64 key = slot_key(tree, leaf, slot);

	return key == CRAB_KEY_EMPTY || (leaf->stale && key >= leaf->high);
}

const char *crab_nb_leaf_fault(const struct nb_tree *tree, const struct nb_leaf *leaf,
			       struct crab_record *records, u32 *count)
{
	u32 slot;

	*count = crab_nb_leaf_sorted(tree, leaf, records);
	for (slot = 0; slot < tree->room; slot++) {
		if (!(leaf->live >> slot & 1) && !slot_is_void(tree, leaf, slot))
			return "a slot without a record has a key";
		if (leaf->live >> slot & 1 &&
		    leaf->fp[slot] != nb_fingerprint(slot_key(tree, leaf, slot)))
			return "a key does not have its fingerprint";
	}
	return crab_records_fault(records, *count, leaf->low, leaf->high);
}

/* Finds a record or a stale key in a slot; @seen: the keys of lower slots */
static const char *slot_open(const struct nb_tree *tree, struct nb_leaf *leaf, u32 slot,
			     struct crab_keyset *seen)
{
	const struct nb_dslot *d = slot_at(tree, leaf, slot);
	u64 key = crab_load(tree->base.media, &d->key);

	leaf->fp[slot] = nb_fingerprint(key);
	/* A record that read as a free slot would be overwritten */
	if (crab_load(tree->base.media, &d->key) != key)
		return "two readings of a key differ";
	if (key < leaf->low)
		return "a key is out of its range";
	if (key < leaf->high) {
		if (crab_keyset_add(seen, key) &&
		    crab_nb_leaf_find(tree, leaf, key) != NB_SLOT_NONE)
			return "a key occurs twice";
		leaf->live |= 1ULL << slot;
	} else if (key != CRAB_KEY_EMPTY) {
		leaf->stale = true;
	}
	return NULL;
}

const char *crab_nb_leaf_open(struct nb_tree *tree, struct nb_leaf *leaf)
{
	struct crab_keyset seen = { };
	const char *fault = NULL;
	u32 slot;

	for (slot = 0; slot < tree->room && !fault; slot++)
		fault = slot_open(tree, leaf, slot, &seen);
	if (!fault)
		tree->records += hweight64(leaf->live);
	return fault;
}

/* Completes a store to one slot: its line, and the fence */
static void slot_settle(struct nb_write *write, const struct nb_dslot *d)
{
	crab_clean_word(write->flow, &d->key);
	/* P6: the slot is durable before readers see it, and before it is written again */
	crab_fence(write->flow, CRAB_P6_RECORD);
}

void crab_nb_leaf_add(struct nb_write *write, struct nb_leaf *leaf, u32 slot,
		      const struct crab_record *record)
{
	struct nb_dslot *d = slot_at(write->tree, leaf, slot);

	crab_store(write->flow, &d->value, record->value);
	/* Model L: a cut that keeps the key keeps the value */
	crab_order(write->flow);
	crab_store(write->flow, &d->key, record->key);
	slot_settle(write, d);
	nb_change_begin(leaf);
	WRITE_ONCE(leaf->fp[slot], nb_fingerprint(record->key));
	WRITE_ONCE(leaf->live, leaf->live | 1ULL << slot);
	nb_change_end(leaf);
}

void crab_nb_leaf_set(struct nb_write *write, struct nb_leaf *leaf, u32 slot, u64 value)
{
	struct nb_dslot *d = slot_at(write->tree, leaf, slot);

	nb_change_begin(leaf);
	crab_store(write->flow, &d->value, value);
	slot_settle(write, d);
	nb_change_end(leaf);
}

void crab_nb_leaf_drop(struct nb_write *write, struct nb_leaf *leaf, u32 slot)
{
	struct nb_dslot *d = slot_at(write->tree, leaf, slot);

	nb_change_begin(leaf);
	crab_store(write->flow, &d->key, CRAB_KEY_EMPTY);
	slot_settle(write, d);
	WRITE_ONCE(leaf->live, leaf->live & ~(1ULL << slot));
	nb_change_end(leaf);
}

void crab_nb_leaf_erase(struct nb_write *write, struct nb_leaf *leaf)
{
	struct nb_tree *tree = write->tree;
	u64 bits = ~leaf->live & room_mask(tree);

	if (!leaf->stale)
		return;
	while (bits)
		crab_store(write->flow, &slot_at(tree, leaf, bits_take(&bits))->key,
			   CRAB_KEY_EMPTY);
	crab_clean(write->flow, slot_at(tree, leaf, 0), tree->room * sizeof(struct nb_dslot));
	/* P20: no stale key is left before P8 lets the range grow over it */
	crab_fence(write->flow, CRAB_P20_ERASED);
	WRITE_ONCE(leaf->stale, false);
}

bool crab_nb_leaf_upper(const struct nb_tree *tree, const struct nb_leaf *leaf, u64 high,
			const struct crab_record *records, u32 count, u64 *upper)
{
	u64 bits = leaf->live, sum = 0, key;
	const struct nb_dslot *d;
	u32 slot;

	*upper = 0;
	while (bits) {
		slot = bits_take(&bits);
		d = slot_at(tree, leaf, slot);
		key = crab_load(tree->base.media, &d->key);
		if (key < high)
			continue;
		*upper |= 1ULL << slot;
		/* One word that reads otherwise changes the sum */
		sum += key + crab_load(tree->base.media, &d->value);
	}
	while (count--)
		sum -= records[count].key + records[count].value;
	return !sum;
}

void crab_nb_leaf_cut(struct nb_leaf *leaf, u64 high, u64 upper)
{
	WRITE_ONCE(leaf->live, leaf->live & ~upper);
	WRITE_ONCE(leaf->stale, leaf->stale || upper);
	WRITE_ONCE(leaf->high, high);
}

void crab_nb_leaf_fresh(struct crab_flow *flow, const struct crab_geometry *geo,
			const struct crab_head *head, const struct crab_record *records, u32 count)
{
	struct nb_dleaf *d = (struct nb_dleaf *)(flow->media->base + head->self);
	u32 room = nb_room(geo->leaf_bytes), i;

	crab_head_store(flow, geo->store_id, head);
	for (i = 0; i < count; i++) {
		crab_store(flow, &d->slot[i].key, records[i].key);
		crab_store(flow, &d->slot[i].value, records[i].value);
	}
	for (; i < room; i++)
		crab_store(flow, &d->slot[i].key, CRAB_KEY_EMPTY);
	crab_clean(flow, d, offsetof(struct nb_dleaf, slot[room]));
}

void crab_nb_leaf_init(struct nb_leaf *leaf)
{
	spin_lock_init(&leaf->lock);
	seqcount_spinlock_init(&leaf->seq, &leaf->lock);
}

struct nb_leaf *crab_nb_leaf_make(const struct nb_tree *tree, u64 number, u64 birth, u64 low,
				  gfp_t gfp)
{
	struct nb_leaf *leaf = kzalloc(sizeof(*leaf), gfp);

	if (!leaf)
		return NULL;
	leaf->number = number;
	leaf->birth = birth;
	leaf->low = low;
	leaf->high = low;
	if (tree->kind->init)
		tree->kind->init(leaf);
	return leaf;
}

void crab_nb_leaf_fill(struct nb_leaf *leaf, const struct crab_record *records, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		leaf->fp[i] = nb_fingerprint(records[i].key);
	leaf->live = (1ULL << count) - 1;
}
