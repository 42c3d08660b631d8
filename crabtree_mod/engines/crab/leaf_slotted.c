// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements a leaf of the layout `slotted`.
 *
 * DOC: slotted leaves
 *
 * Records stand in any slot. A free slot carries two landmarks: the reserved key
 * and a value equal to the leaf's void, which no live value of the leaf equals.
 * A record is live only if neither landmark is there. So, with one line and one
 * fence each (P6), and whatever subset of the two words a power cut lets through:
 *
 *   insert   free (E, void) -> (key, value)   half: (key, void) or (E, value): not there
 *   delete   (key, value) -> (E, void)        half: the same two: not there
 *   update   value, one word                  old or new
 *
 * A half-set slot is found by attach, which completes its landmarks before the
 * first operation (P3). An insert or update of the value that is the leaf's void
 * replaces the leaf by one with another void (smo.c).
 *
 * Invariant: the fingerprints agree with the media, except within a write section of
 * the leaf.
 *
 * Locking: access.c tells it.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include <linux/random.h>
#include <linux/string.h>

#include "crab.h"

#define FP_FACTOR	0x9e3779b97f4a7c15ULL
#define FP_ONES		0x0101010101010101ULL
#define FP_HIGHS	0x8080808080808080ULL

/* Never 0, which is a free slot's */
static u8 fingerprint(u64 key)
{
	return (key * FP_FACTOR) >> 56 ?: 1;
}

u32 crab_slotted_next(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot)
{
	while (slot < tree->slots && !crab_slotted_is_live(leaf, slot))
		slot++;
	return slot;
}

/* The high bit of each of eight fingerprints that is not the one in all of @fp */
static __always_inline u64 fp_others(const u8 *fps, u64 fp)
{
	u64 other = le64_to_cpu(READ_ONCE(*(const __le64 *)fps)) ^ fp;

	return (other | ((other & ~FP_HIGHS) + ~FP_HIGHS)) & FP_HIGHS;
}

/*
 * A bit for each slot of a group whose fingerprint is @fp: the low bit of each byte for the
 * first eight slots, the next bit for the next eight, and so on. No branch depends on what
 * is loaded: several searches go on side by side in one CPU.
 */
static __always_inline u64 leaf_matches(const struct crab_leaf *leaf, u32 base, u8 fp)
{
	const u8 *fps = &leaf->fps[base];
	const u64 all = FP_ONES * fp;

	/* In pairs: a chain of eight would keep the record's load waiting */
	return ~(((fp_others(fps, all) >> 7 | fp_others(fps + 8, all) >> 6) |
		  (fp_others(fps + 16, all) >> 5 | fp_others(fps + 24, all) >> 4)) |
		 ((fp_others(fps + 32, all) >> 3 | fp_others(fps + 40, all) >> 2) |
		  (fp_others(fps + 48, all) >> 1 | fp_others(fps + 56, all))));
}

/* The slot of the lowest bit */
static u32 match_slot(u32 base, u64 mask)
{
	u32 bit = __ffs64(mask);

	return base + bit / 8 + bit % 8 * 8;
}

/* The slots of the first group that @mask still has, then the other groups */
static noinline int find_further(const struct crab_tree *tree, const struct crab_leaf *leaf,
				 u64 key, u64 mask)
{
	u32 base = 0, slot;

	for (;;) {
		for (; mask; mask &= mask - 1) {
			slot = match_slot(base, mask);
			if (crab_leaf_key(tree, leaf, slot) == key)
				return slot;
		}
		base += CRAB_SLOTTED_GROUP;
		if (base >= tree->slots)
			return -1;
		mask = leaf_matches(leaf, base, fingerprint(key));
	}
}

/* @slots: the leaf's */
static __always_inline int slotted_find(const struct crab_tree *tree, const struct crab_leaf *leaf,
					const struct crab_dslot *slots, u64 key)
{
	u64 mask = leaf_matches(leaf, 0, fingerprint(key));
	u32 slot;

	if (mask) {
		slot = match_slot(0, mask);
		if (likely(crab_load(tree->base.media, &slots[slot].key) == key))
			return slot;
		mask &= mask - 1;
	}
	if (likely(!mask && tree->slots <= CRAB_SLOTTED_GROUP))
		return -1;
	return find_further(tree, leaf, key, mask);
}

int crab_slotted_find(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key)
{
	return slotted_find(tree, leaf, crab_leaf_slot(tree, leaf, 0), key);
}

bool crab_slotted_lookup(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
			 u64 *value)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	int slot = slotted_find(tree, leaf, slots, key);

	if (slot < 0)
		return false;
	*value = crab_load(tree->base.media, &slots[slot].value);
	return true;
}

/* A free slot, or one that does not exist; where nothing was deleted it is the next one */
static u32 leaf_free(const struct crab_tree *tree, const struct crab_leaf *leaf)
{
	u32 slot = READ_ONCE(leaf->count);

	if (slot >= tree->slots || !crab_slotted_is_live(leaf, slot))
		return slot;
	for (slot = 0; slot < tree->slots; slot++)
		if (!crab_slotted_is_live(leaf, slot))
			break;
	return slot;
}

void crab_slotted_fetch(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key)
{
	u64 mask = leaf_matches(leaf, 0, fingerprint(key));
	u32 slot = mask ? match_slot(0, mask) : READ_ONCE(leaf->count);

	if (slot < tree->slots)
		prefetch(crab_leaf_slot(tree, leaf, slot));
}

int crab_slotted_place(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	int slot = slotted_find(tree, leaf, slots, key);

	if (slot >= 0)
		return slot;
	slot = leaf_free(tree, leaf);
	if (slot < tree->slots)
		crab_fetch(&slots[slot], sizeof(slots[slot]));
	return ~slot;
}

static void leaf_set(struct crab_leaf *leaf, u32 slot, u64 key)
{
	WRITE_ONCE(leaf->fps[slot], fingerprint(key));
	WRITE_ONCE(leaf->count, leaf->count + 1);
	WRITE_ONCE(leaf->ordered, 0);
}

static __always_inline void slot_set(struct crab_write *write, struct crab_leaf *leaf, u32 slot,
				     u64 key, u64 value)
{
	struct crab_dslot *d = crab_leaf_slot(write->tree, leaf, slot);

	crab_store(write->flow, &d->value, value);
	crab_store(write->flow, &d->key, key);
	crab_clean(write->flow, d, sizeof(*d));
	leaf_set(leaf, slot, key);
}

void crab_slotted_set(struct crab_write *write, struct crab_leaf *leaf, u32 slot, u64 key,
		      u64 value)
{
	slot_set(write, leaf, slot, key, value);
}

void crab_slotted_insert(struct crab_write *write, struct crab_leaf *leaf, u32 slot, u64 key,
			 u64 value)
{
	slot_set(write, leaf, slot, key, value);
	/* P6: the record is durable; any part of it alone reads as a free slot */
	crab_fence(write->flow, CRAB_P6_RECORD);
}

static void slot_free(struct crab_flow *flow, struct crab_dslot *d, u64 void_value)
{
	crab_store(flow, &d->key, CRAB_KEY_EMPTY);
	crab_store(flow, &d->value, void_value);
}

static __always_inline void slot_clear(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
{
	struct crab_dslot *d = crab_leaf_slot(write->tree, leaf, slot);

	slot_free(write->flow, d, leaf->void_value);
	crab_clean(write->flow, d, sizeof(*d));
	WRITE_ONCE(leaf->fps[slot], 0);
	WRITE_ONCE(leaf->count, leaf->count - 1);
	WRITE_ONCE(leaf->ordered, 0);
}

void crab_slotted_clear(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
{
	slot_clear(write, leaf, slot);
}

void crab_slotted_remove(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
{
	slot_clear(write, leaf, slot);
	/* P6: the slot is free, and only now may be used again */
	crab_fence(write->flow, CRAB_P6_RECORD);
}

/* Keys seen in one leaf: a filter so wide that few keys have to be compared */
#define TWIN_BITS	2048

struct twin_filter {
	u64 words[TWIN_BITS / 64];
};

/* Is @key already in a slot before this one? */
static bool leaf_has_twin(const struct crab_tree *tree, const struct crab_leaf *leaf,
			  struct twin_filter *seen, u64 key)
{
	u32 at = (key * FP_FACTOR) >> 40 & (TWIN_BITS - 1);
	u64 bit = 1ULL << (at % 64);

	if (!(seen->words[at / 64] & bit)) {
		seen->words[at / 64] |= bit;
		return false;
	}
	return crab_slotted_find(tree, leaf, key) >= 0;
}

/* The loop that attach spends its time in: what does not change is in locals */
void crab_slotted_read(const struct crab_tree *tree, struct crab_leaf *leaf,
		       struct crab_damage *damage)
{
	const u64 low = leaf->low, void_value = leaf->void_value;
	const u64 span = leaf->high - low;
	const struct crab_media *media = tree->base.media;
	const struct crab_dslot *d = crab_leaf_slot(tree, leaf, 0);
	const u32 slots = tree->slots;
	struct twin_filter seen = { };
	u64 key, value;
	u32 slot, count = 0;

	for (slot = 0; slot < slots; slot++, d++) {
		key = crab_load(media, &d->key);
		value = crab_load(media, &d->value);
		if (unlikely(key == CRAB_KEY_EMPTY || value == void_value)) {
			leaf->torn += key != CRAB_KEY_EMPTY || value != void_value;
			continue;
		}
		if (unlikely(key - low >= span))
			crab_leaf_condemn(tree, leaf, damage, slot, "key outside the leaf's range");
		else if (leaf_has_twin(tree, leaf, &seen, key))
			crab_leaf_condemn(tree, leaf, damage, slot, "key is there twice");
		leaf->fps[slot] = fingerprint(key);
		count++;
	}
	leaf->count = count;
}

void crab_slotted_repair(struct crab_write *write, struct crab_leaf *leaf)
{
	struct crab_tree *tree = write->tree;
	struct crab_flow *flow = write->flow;
	struct crab_dslot *d;
	u32 slot;

	for (slot = 0; slot < tree->slots; slot++) {
		struct crab_record r = crab_leaf_record(tree, leaf, slot);

		if ((r.key == CRAB_KEY_EMPTY) == (r.value == leaf->void_value))
			continue;
		d = crab_leaf_slot(tree, leaf, slot);
		slot_free(flow, d, leaf->void_value);
		crab_clean(flow, d, sizeof(*d));
		tree->repairs++;
	}
	leaf->torn = 0;
}

u64 crab_slotted_void(const struct crab_record *records, u32 count)
{
	u64 value;
	u32 i;

again:
	value = get_random_u64();
	if (value + 1 <= 2)	/* 0, 1 and ~0 are values that people store */
		goto again;
	for (i = 0; i < count; i++)
		if (records[i].value == value)
			goto again;
	return value;
}

void crab_slotted_landmarks(struct crab_flow *flow, struct crab_dleaf *dleaf, u32 from, u32 slots,
			    u64 void_value)
{
	for (; from < slots; from++)
		slot_free(flow, &dleaf->slots[from], void_value);
}

static bool records_have_value(const struct crab_record *records, u32 count, u64 value)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (records[i].value == value)
			return true;
	return false;
}

void crab_slotted_fresh(struct crab_write *write, const struct crab_spare *spare,
			struct crab_head *head, const struct crab_record *records, u32 count,
			struct crab_leaf *leaf)
{
	bool prepared = spare->prepared && !records_have_value(records, count, spare->void_value);
	const struct crab_tree *tree = write->tree;
	struct crab_dleaf *d = crab_leaf_media(tree, spare->leaf);
	struct crab_flow *flow = write->flow;
	u32 slot;

	head->void_value = prepared ? spare->void_value : crab_slotted_void(records, count);
	leaf->void_value = head->void_value;
	crab_head_store(flow, tree->base.geo.store_id, head);
	for (slot = 0; slot < count; slot++) {
		crab_store(flow, &d->slots[slot].value, records[slot].value);
		crab_store(flow, &d->slots[slot].key, records[slot].key);
		WRITE_ONCE(leaf->fps[slot], fingerprint(records[slot].key));
	}
	leaf->count = count;
	crab_slotted_landmarks(flow, d, count, prepared ? CRAB_SLOTTED_BESIDE : tree->slots,
			       head->void_value);
	crab_clean(flow, d, prepared ? offsetof(struct crab_dleaf, slots[count]) :
				       tree->base.geo.leaf_bytes);
}
