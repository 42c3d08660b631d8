// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements leaves with a slot for each record, of all layouts but `encoded`.
 */

/**
 * DOC: leaf with slots of clfb
 *
 * A record counts if the bit of its slot is set. Slots are in no order (Kim et al. 2018, sections
 * 2.2 and 7.2):
 *
 *   insert    the slot, P11, its bit, P6
 *   update    the value, P6
 *   delete    the bit, P6
 *
 * Each last store is one word, so that a cut leaves the record or the value before or after it. A
 * free slot is written only after the store that cleared its bit is durable (P6).
 *
 * A word of the bitmap that failing memory returns otherwise once would hide records, or lose them
 * if it was stored back. So it is loaded twice.
 *
 * In the layout `bare`, which begins with one word, every fourth slot lies in two lines. As the
 * publication counts, an insert cleans one of them: a cut may lose the value.
 *
 * Locking: clfb_tree.lock.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>

#include "shared/keyset.h"
#include "leaf_layouts.h"

#define WORD_BITS	64U
#define SLOT_NONE	(~0U)

/* The valid slots of a leaf, whose bits outside of the leaf are ignored */
struct leaf_bits {
	u64 word[CLFB_BITMAP_WORDS];
};

static u64 word_mask(u32 room, u32 word)
{
	u32 from = word * WORD_BITS;

	if (room <= from)
		return 0;
	return room - from >= WORD_BITS ? ~0ULL : (1ULL << (room - from)) - 1;
}

/* Words of the bitmap that have bits of slots */
static u32 slot_words(const struct clfb_tree *tree)
{
	return tree->room > WORD_BITS ? 2 : 1;
}

static u32 bitmap_words(const struct crab_geometry *geo)
{
	return clfb_is_bare(geo) ? 1 : CLFB_BITMAP_WORDS;
}

static __le64 *leaf_valid(const struct crab_media *media, const struct crab_geometry *geo,
			  u64 leaf)
{
	u64 at = clfb_is_bare(geo) ? 0 : offsetof(struct clfb_dleaf, valid);

	return (__le64 *)(media->base + crab_leaf_offset(geo, leaf) + at);
}

static struct clfb_dslot *leaf_slots(const struct crab_media *media,
				     const struct crab_geometry *geo, u64 leaf)
{
	return (struct clfb_dslot *)(leaf_valid(media, geo, leaf) + bitmap_words(geo));
}

static struct clfb_dslot *slot_media(const struct clfb_tree *tree, u64 leaf, u32 slot)
{
	return leaf_slots(tree->base.media, &tree->base.geo, leaf) + slot;
}

/* Loads each word twice; false: the loads differ */
static bool bits_read(const struct clfb_tree *tree, u64 leaf, struct leaf_bits *bits)
{
	const __le64 *valid = leaf_valid(tree->base.media, &tree->base.geo, leaf);
	u64 word, changed = 0;
	u32 i;

	bits->word[1] = 0;
	for (i = 0; i < slot_words(tree); i++) {
		word = crab_load(tree->base.media, valid + i);
		changed |= word ^ crab_load(tree->base.media, valid + i);
		bits->word[i] = word & word_mask(tree->room, i);
	}
	return likely(!changed);
}

/* Takes the lowest slot out of the set; SLOT_NONE: it is empty */
static u32 bits_next(struct leaf_bits *bits)
{
	u32 i, slot;

	for (i = 0; i < CLFB_BITMAP_WORDS; i++) {
		if (!bits->word[i])
			continue;
		slot = i * WORD_BITS + __ffs64(bits->word[i]);
		bits->word[i] &= bits->word[i] - 1;
		return slot;
	}
	return SLOT_NONE;
}

static u64 slot_key(const struct clfb_tree *tree, u64 leaf, u32 slot)
{
	return crab_load(tree->base.media, &slot_media(tree, leaf, slot)->key);
}

u64 crab_clfb_append_value(const struct clfb_tree *tree, u64 leaf, u32 slot)
{
	return crab_load(tree->base.media, &slot_media(tree, leaf, slot)->value);
}

/* One past the highest slot in the set */
static u32 bits_end(const struct leaf_bits *bits)
{
	return bits->word[1] ? WORD_BITS + fls64(bits->word[1]) : fls64(bits->word[0]);
}

static bool bits_test(const struct leaf_bits *bits, u32 slot)
{
	return bits->word[slot / WORD_BITS] >> slot % WORD_BITS & 1;
}

static u32 bits_count(const struct leaf_bits *bits)
{
	return hweight64(bits->word[0]) + hweight64(bits->word[1]);
}

/* Is it the record of a key? @none: out: -ERANGE if the key of a record has changed */
static __always_inline bool slot_is(const struct clfb_tree *tree, const struct clfb_dslot *slots,
				    const struct clfb_dslot *d, const struct leaf_bits *bits,
				    u64 key, int *none)
{
	u64 at = crab_load(tree->base.media, &d->key);

	/* All ones, and zeros, are doubted */
	if (likely(at != key && at + 1 > 1))
		return false;
	if (!bits_test(bits, d - slots))
		return false;
	if (at != CRAB_KEY_EMPTY && likely(crab_load(tree->base.media, &d->key) == at))
		return at == key;
	*none = -ERANGE;
	return false;
}

int crab_clfb_append_find(const struct clfb_tree *tree, u64 leaf, u64 key)
{
	const struct clfb_dslot *slots = slot_media(tree, leaf, 0), *d, *end;
	struct leaf_bits bits;
	int none = -ENOENT;

	/* All lines, not only those in use: the bitmap shows these once its own line is there */
	crab_prefetch_range(slots, tree->room * sizeof(*slots));
	if (!bits_read(tree, leaf, &bits))
		return -ERANGE;
	end = slots + bits_end(&bits);
	/* Two slots in each turn: this saves more instructions than the doubts take */
	for (d = slots; d + 1 < end; d += 2) {
		if (slot_is(tree, slots, d, &bits, key, &none))
			return d - slots;
		if (slot_is(tree, slots, d + 1, &bits, key, &none))
			return d + 1 - slots;
	}
	return d < end && slot_is(tree, slots, d, &bits, key, &none) ? d - slots : none;
}

u32 crab_clfb_append_count(const struct clfb_tree *tree, u64 leaf)
{
	struct leaf_bits bits;

	return bits_read(tree, leaf, &bits) ? bits_count(&bits) : 0;
}

u64 crab_clfb_append_low(const struct clfb_tree *tree, u64 leaf)
{
	return crab_load(tree->base.media, &clfb_leaf_media(tree, leaf)->head.low);
}

/* The lowest free slot, or SLOT_NONE */
static u32 free_slot(const struct clfb_tree *tree, const struct leaf_bits *bits)
{
	struct leaf_bits rest;
	u32 i;

	for (i = 0; i < CLFB_BITMAP_WORDS; i++)
		rest.word[i] = ~bits->word[i] & word_mask(tree->room, i);
	return bits_next(&rest);
}

int crab_clfb_append_near(const struct clfb_tree *tree, const struct clfb_place *place, u64 key,
			  enum crab_seek_dir dir, struct crab_record *record)
{
	const u64 low = place->low ?: 1;	/* a key that reads 0 is doubted */
	struct leaf_bits bits;
	u32 slot, best = SLOT_NONE;
	u64 at;

	if (!bits_read(tree, place->leaf, &bits))
		return -ERANGE;
	while ((slot = bits_next(&bits)) != SLOT_NONE) {
		at = slot_key(tree, place->leaf, slot);
		if ((at < low || at >= place->high) &&
		    (at || place->low || slot_key(tree, place->leaf, slot)))
			return -ERANGE;
		if (crab_seek_is_before(dir, at, key))
			continue;
		if (best != SLOT_NONE &&
		    (dir == CRAB_SEEK_GE ? at >= record->key : at <= record->key))
			continue;
		best = slot;
		record->key = at;
	}
	if (best == SLOT_NONE)
		return -ENOENT;
	record->value = crab_clfb_append_value(tree, place->leaf, best);
	return 0;
}

bool crab_clfb_append_agrees(const struct clfb_tree *tree, u64 leaf,
			     const struct crab_record *records, u32 count)
{
	const struct crab_media *media = tree->base.media;
	const struct clfb_dslot *slots = slot_media(tree, leaf, 0);
	u64 sum = 0;
	u32 i;

	/* In another order: one word that has changed changes the sum */
	for (i = 0; i < count; i++)
		sum += crab_load(media, &slots[i].key) - records[i].key +
		       crab_load(media, &slots[i].value) - records[i].value;
	return !sum && count == tree->room;
}

/* Has a record in a slot below @slot the key? */
static bool is_below(const struct clfb_tree *tree, u64 leaf, const struct leaf_bits *bits, u32 slot,
		     u64 key)
{
	while (slot--)
		if (slot_key(tree, leaf, slot) == key && bits_test(bits, slot))
			return true;
	return false;
}

/* The lowest key read 0. Does it still? */
static bool is_zero(const struct clfb_tree *tree, u64 leaf)
{
	struct leaf_bits bits;

	return bits_read(tree, leaf, &bits) && is_below(tree, leaf, &bits, tree->room, 0);
}

int crab_clfb_append_sorted(const struct clfb_tree *tree, u64 leaf, struct crab_record *records)
{
	struct leaf_bits bits;
	struct crab_record r;
	u32 slot, count = 0, i;

	if (!bits_read(tree, leaf, &bits))
		return -ERANGE;
	while ((slot = bits_next(&bits)) != SLOT_NONE) {
		r.key = slot_key(tree, leaf, slot);
		r.value = crab_clfb_append_value(tree, leaf, slot);
		for (i = count++; i && records[i - 1].key > r.key; i--)
			records[i] = records[i - 1];
		records[i] = r;
	}
	return count && unlikely(!records[0].key) && !is_zero(tree, leaf) ? -ERANGE : count;
}

/* A header of this place and store; its lowest key was in the range when the leaf was written */
static const char *header_fault(const struct clfb_tree *tree, const struct clfb_place *place)
{
	const struct crab_geometry *geo = &tree->base.geo;
	struct crab_head head;

	if (clfb_is_bare(geo))
		return NULL;
	if (!crab_head_load(tree->base.media, crab_leaf_offset(geo, place->leaf), geo->store_id,
			    &head))
		return "no valid header";
	if (head.low < place->low || head.low >= place->high)
		return "its lowest key is out of its range";
	return NULL;
}

static const char *records_fault(const struct clfb_tree *tree, const struct clfb_place *place,
				 u32 *count)
{
	struct leaf_bits bits, rest;
	struct crab_keyset seen = { };
	u32 slot;
	u64 key;

	if (!bits_read(tree, place->leaf, &bits))
		return "its bitmap has changed";
	*count = bits_count(&bits);
	rest = bits;
	while ((slot = bits_next(&rest)) != SLOT_NONE) {
		key = slot_key(tree, place->leaf, slot);
		if (key < place->low || key >= place->high)
			return "a key is out of its range";
		if (crab_keyset_add(&seen, key) && is_below(tree, place->leaf, &bits, slot, key))
			return "a key occurs twice";
	}
	return NULL;
}

const char *crab_clfb_append_fault(const struct clfb_tree *tree, const struct clfb_place *place,
				   u32 *count)
{
	const __le64 *valid = leaf_valid(tree->base.media, &tree->base.geo, place->leaf);
	const char *fault = header_fault(tree, place);
	u32 i;

	*count = 0;
	if (fault)
		return fault;
	for (i = 0; i < bitmap_words(&tree->base.geo); i++)
		if (crab_load(tree->base.media, valid + i) & ~word_mask(tree->room, i))
			return "a bit of no slot is set";
	return records_fault(tree, place, count);
}

/* The media has changed */
static bool write_stop(struct clfb_write *write, u64 leaf)
{
	struct crab_engine *engine = &write->tree->base;

	write->err = crab_engine_damaged(engine, crab_leaf_offset(&engine->geo, leaf),
					 "leaf %llu: its bitmap has changed",
					 (unsigned long long)leaf);
	return false;
}

/* The word of the bitmap with the bit of a slot */
static __le64 *slot_valid(const struct clfb_tree *tree, u64 leaf, u32 slot)
{
	return leaf_valid(tree->base.media, &tree->base.geo, leaf) + slot / WORD_BITS;
}

/* Sets or clears the bit of a slot, durably. @valid: the word as two loads returned it */
static void leaf_mark(struct clfb_write *write, u64 leaf, u32 slot, u64 valid, bool counts)
{
	__le64 *word = slot_valid(write->tree, leaf, slot);
	u64 bit = 1ULL << slot % WORD_BITS, others = valid & ~bit;

	crab_store(write->flow, word, counts ? others | bit : others);
	crab_clean_word(write->flow, word);
	/* P6: the bit is durable: the record counts, or its slot is free */
	crab_fence(write->flow, CRAB_P6_RECORD);
}

bool crab_clfb_append_add(struct clfb_write *write, u64 leaf, const struct crab_record *record)
{
	struct leaf_bits bits;
	struct clfb_dslot *d;
	u32 slot;

	if (!bits_read(write->tree, leaf, &bits))
		return write_stop(write, leaf);
	slot = free_slot(write->tree, &bits);
	if (slot == SLOT_NONE)
		return false;
	d = slot_media(write->tree, leaf, slot);
	crab_store(write->flow, &d->key, record->key);
	crab_store(write->flow, &d->value, record->value);
	crab_clean_word(write->flow, &d->key);
	/* P11: the slot is whole before its bit reveals it */
	crab_fence(write->flow, CRAB_P11_APPENDED);
	leaf_mark(write, leaf, slot, bits.word[slot / WORD_BITS], true);
	return true;
}

void crab_clfb_append_set(struct clfb_write *write, u64 leaf, u32 slot, u64 value)
{
	__le64 *word = &slot_media(write->tree, leaf, slot)->value;

	crab_store(write->flow, word, value);
	crab_clean_word(write->flow, word);
	/* P6: the value is durable */
	crab_fence(write->flow, CRAB_P6_RECORD);
}

void crab_clfb_append_drop(struct clfb_write *write, u64 leaf, u32 slot)
{
	const __le64 *word = slot_valid(write->tree, leaf, slot);
	u64 valid = crab_load(write->flow->media, word);

	if (crab_load(write->flow->media, word) == valid)
		leaf_mark(write, leaf, slot, valid, false);
	else
		write_stop(write, leaf);
}

void crab_clfb_append_fresh(struct crab_flow *flow, const struct crab_geometry *geo, u64 leaf,
			    u64 low, const struct crab_record *records, u32 count)
{
	struct crab_head head = { .self = crab_leaf_offset(geo, leaf), .low = low };
	__le64 *valid = leaf_valid(flow->media, geo, leaf);
	struct clfb_dslot *slots = leaf_slots(flow->media, geo, leaf);
	u8 *base = flow->media->base + head.self;
	u32 i;

	if (!clfb_is_bare(geo))
		crab_head_store(flow, geo->store_id, &head);
	for (i = 0; i < bitmap_words(geo); i++)
		crab_store(flow, valid + i, word_mask(count, i));
	for (i = 0; i < count; i++) {
		crab_store(flow, &slots[i].key, records[i].key);
		crab_store(flow, &slots[i].value, records[i].value);
	}
	/* The published leaf is flushed whole */
	crab_clean(flow, base, clfb_is_bare(geo) ? geo->leaf_bytes : (u8 *)(slots + count) - base);
}
