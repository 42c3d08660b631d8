// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements a leaf of the layout `slotted`.
 *
 * DOC: slotted leaves
 *
 * Records are in any slot, most of them in a home line (home.h). A free slot has two sentinels:
 * the reserved key, and the leaf's void, which no record of the leaf has as its value. A slot holds
 * a record only if neither word is a sentinel. Each operation needs one line and one fence (P6),
 * and any subset of its two words that a power cut leaves is a valid state:
 *
 *   insert   free (E, void) -> (key, value)   half: (key, void) or (E, value): absent
 *   delete   (key, value) -> (E, void)        half: the same two: absent
 *   update   value, one word                  old or new
 *
 * Attach completes the sentinels of a half-set slot before the first operation (P3). An insert or
 * update with a value equal to the leaf's void replaces the leaf by one with another void (smo.c).
 *
 * Invariant: the fingerprints agree with the media, except within a write section of
 * the leaf.
 *
 * Locking: see access.c.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include <linux/random.h>
#include <linux/string.h>

#include "engines/crab/access.h"
#include "engines/crab/layout.h"
#include "engines/crab/smo.h"
#include "smo.h"

#define FP_BITS		CRAB_SLOTTED_PLANES

/* Never 0, the fingerprint of a free slot */
static __always_inline u8 hash_fp(u64 hash)
{
	u8 fp = hash >> 56;

	return fp + !fp;
}

static __always_inline u8 fingerprint(const struct crab_tree *tree, u64 key)
{
	return hash_fp(crab_mix(&tree->mix, key));
}

/*
 * Among 64 keys at a distance of any power of two, at most 20 share a fingerprint with an earlier
 * one; found by search
 */
static const u64 mix_factors[] = {
	0xa5aec7978306d03bULL, 0xa51149bbe060a725ULL, 0x90624fe36b82e6c9ULL, 0xd98145593a9afa39ULL,
	0xed4d19b885dc0a69ULL, 0xd61b5e08eea33d4fULL, 0x9c31b9301543c8efULL, 0xb093e3b47df2fc59ULL,
};

struct crab_mix crab_mix_choose(void)
{
	return (struct crab_mix) {
		.flip = get_random_u64(),
		.factor = mix_factors[get_random_u64() % ARRAY_SIZE(mix_factors)],
	};
}

/* The fingerprints of a group: word b has bit b of each */
static __always_inline u64 *group_planes(struct crab_leaf *leaf, u32 group)
{
	return &leaf->fps[group * FP_BITS];
}

u32 crab_slotted_next(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot)
{
	u64 live;

	for (; slot < tree->slots; slot = round_up(slot + 1, CRAB_SLOTTED_GROUP)) {
		live = crab_slotted_live(leaf, slot / CRAB_SLOTTED_GROUP) >>
		       slot % CRAB_SLOTTED_GROUP;
		if (live)
			return slot + __ffs64(live);
	}
	return tree->slots;
}

u32 crab_slotted_collect(const struct crab_tree *tree, const struct crab_leaf *leaf,
			 struct crab_record *records)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0), *d;
	const u32 groups = crab_slotted_group_count(tree);
	struct crab_record *to = records;
	u32 group;
	u64 live;

	for (group = 0; group < groups; group++, slots += CRAB_SLOTTED_GROUP) {
		for (live = crab_slotted_live(leaf, group); live; live &= live - 1, to++) {
			d = &slots[__ffs64(live)];
			to->key = crab_load(tree->base.media, &d->key);
			to->value = crab_load(tree->base.media, &d->value);
		}
	}
	return to - records;
}

/* All ones or none: bit @bit of a fingerprint */
static __always_inline u64 fp_spread(u8 fp, u32 bit)
{
	return (s64)((u64)fp << (63 - bit)) >> 63;
}

/* A bit for each slot whose fingerprint has another bit here */
static __always_inline u64 plane_others(const u64 *planes, u8 fp, u32 bit)
{
	/* A reader concurrent with a writer validates the result by the seqcount */
	return data_race(planes[bit]) ^ fp_spread(fp, bit);
}

/*
 * A bit for each slot of a group whose fingerprint is @fp. No branch depends on loaded data, and
 * the code is short, so that several searches overlap in one CPU as long as it has registers for
 * all of them.
 */
static __always_inline u64 group_matches(const struct crab_leaf *leaf, u32 group, u8 fp)
{
	const u64 *p = &leaf->fps[group * FP_BITS];

	static_assert(FP_BITS == 8);
	/* In pairs: a chain of eight would keep the record's load waiting */
	return ~(((plane_others(p, fp, 0) | plane_others(p, fp, 1)) |
		  (plane_others(p, fp, 2) | plane_others(p, fp, 3))) |
		 ((plane_others(p, fp, 4) | plane_others(p, fp, 5)) |
		  (plane_others(p, fp, 6) | plane_others(p, fp, 7))));
}

/* A bit for each slot of a line, given its first; arbitrary if they are in another group */
static __always_inline u64 line_slots(u32 slot)
{
	return ((1ULL << CRAB_SLOTTED_LINE) - 1) << slot % CRAB_SLOTTED_GROUP;
}

/* The first slot with a key, among those of @mask in the first group, and all other groups */
static noinline int find_further(const struct crab_tree *tree, const struct crab_leaf *leaf,
				 u64 key, u64 mask)
{
	const u8 fp = fingerprint(tree, key);
	u32 group = 0, slot;

	for (;;) {
		for (; mask; mask &= mask - 1) {
			slot = group * CRAB_SLOTTED_GROUP + __ffs64(mask);
			if (crab_leaf_key(tree, leaf, slot) == key)
				return slot;
		}
		if (++group * CRAB_SLOTTED_GROUP >= tree->slots)
			return -1;
		mask = group_matches(leaf, group, fp);
	}
}

/*
 * The slot that most likely has a key, among at least one slot of the first group: one in a home
 * line if there is any. Without a branch, which would be unpredictable.
 */
static __always_inline u32 likely_slot(const struct crab_tree *tree, u64 hash, u64 slots)
{
	u64 near = slots & (line_slots(crab_home_front(&tree->homes, hash)) |
			    line_slots(crab_home_back(&tree->homes, hash)));

	OPTIMIZER_HIDE_VAR(near);	/* or compilers create a branch */
	return __ffs64(near | (-(u64)!near & slots));
}

/* @slots: the leaf's */
static __always_inline int slotted_find(const struct crab_tree *tree, const struct crab_leaf *leaf,
					const struct crab_dslot *slots, u64 key)
{
	u64 mask = group_matches(leaf, 0, fingerprint(tree, key));
	u32 slot;

	if (mask) {
		slot = likely_slot(tree, crab_hash(key), mask);
		if (likely(crab_load(tree->base.media, &slots[slot].key) == key))
			return slot;
		mask &= ~(1ULL << slot);
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

/*
 * A bit for each free slot of a line, given the slots in use of its group; slots of the line in the
 * next group are no home
 */
static __always_inline u64 line_free(u64 live, u32 slot)
{
	return ~live >> slot % CRAB_SLOTTED_GROUP & ((1U << CRAB_SLOTTED_LINE) - 1);
}

/* The first free slot, or one that does not exist */
static noinline u32 first_free(const struct crab_tree *tree, const struct crab_leaf *leaf)
{
	u32 group;
	u64 free;

	for (group = 0; group < crab_slotted_group_count(tree); group++) {
		free = ~crab_slotted_live(leaf, group);
		if (free)
			return min_t(u32, group * CRAB_SLOTTED_GROUP + __ffs64(free), tree->slots);
	}
	return tree->slots;
}

/* The free slot for a key: in a home line, or the first; or one that does not exist */
static u32 leaf_free(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key)
{
	u64 hash = crab_hash(key), free;
	u32 home = crab_home_front(&tree->homes, hash), slot;

	free = line_free(crab_slotted_live(leaf, home / CRAB_SLOTTED_GROUP), home);
	if (!free) {
		home = crab_home_back(&tree->homes, hash);
		free = line_free(crab_slotted_live(leaf, home / CRAB_SLOTTED_GROUP), home);
	}
	slot = home + __ffs64(free | 1ULL << CRAB_SLOTTED_LINE);
	return likely(free && slot < tree->slots) ? slot : first_free(tree, leaf);
}

u32 crab_slotted_likely_slot(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key)
{
	u64 mask = group_matches(leaf, 0, fingerprint(tree, key));
	u32 slot = mask ? likely_slot(tree, crab_hash(key), mask) : leaf_free(tree, leaf, key);

	if (likely(slot < tree->slots))
		prefetch(crab_leaf_slot(tree, leaf, slot));
	else
		slot = 0;
	return slot;
}

bool crab_slotted_lookup_at(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot,
			    u64 key, u64 *value)
{
	const struct crab_dslot *d = crab_leaf_slot(tree, leaf, slot);
	u64 found = crab_load(tree->base.media, &d->value);

	if (crab_load(tree->base.media, &d->key) != key || found == leaf->void_value)
		return false;
	*value = found;
	return true;
}

struct crab_place crab_slotted_place(const struct crab_tree *tree, const struct crab_leaf *leaf,
				     u64 key)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	int slot = slotted_find(tree, leaf, slots, key);

	if (slot >= 0)
		return (struct crab_place) { .slot = slot, .found = true };
	slot = leaf_free(tree, leaf, key);
	if (likely(slot < tree->slots))
		crab_prefetchw_range(&slots[slot], sizeof(slots[slot]));
	else	/* it will be split */
		crab_prefetch_range(slots, tree->slots * sizeof(*slots));
	return (struct crab_place) { .slot = slot };
}

static __always_inline void leaf_set(const struct crab_tree *tree, struct crab_leaf *leaf, u32 slot,
				     u64 key)
{
	u64 *planes = group_planes(leaf, slot / CRAB_SLOTTED_GROUP);
	u64 mask = 1ULL << slot % CRAB_SLOTTED_GROUP;
	u64 bits = rol64(fingerprint(tree, key), slot % CRAB_SLOTTED_GROUP);

	/*
	 * The slot was free. A concurrent reader finds another sequence count. One rotation per
	 * plane moves each bit to the slot's position: 8 instructions less than spreading each bit.
	 */
	planes[0] |= bits & mask;
	planes[1] |= ror64(bits, 1) & mask;
	planes[2] |= ror64(bits, 2) & mask;
	planes[3] |= ror64(bits, 3) & mask;
	planes[4] |= ror64(bits, 4) & mask;
	planes[5] |= ror64(bits, 5) & mask;
	planes[6] |= ror64(bits, 6) & mask;
	planes[7] |= ror64(bits, 7) & mask;
	WRITE_ONCE(leaf->count, leaf->count + 1);
	WRITE_ONCE(leaf->ordered, 0);
}

static __always_inline void slot_set(struct crab_flow *flow, const struct crab_tree *tree,
				     struct crab_leaf *leaf, u32 slot, u64 key, u64 value)
{
	struct crab_dslot *d = crab_leaf_slot(tree, leaf, slot);

	crab_store(flow, &d->value, value);
	crab_store(flow, &d->key, key);
	crab_clean_word(flow, &d->key);
	leaf_set(tree, leaf, slot, key);
}

void crab_slotted_insert_nofence(struct crab_write *write, struct crab_leaf *leaf, u32 slot,
				 u64 key, u64 value)
{
	slot_set(write->flow, write->tree, leaf, slot, key, value);
	crab_count(&write->tree->base, inserts, 1);
}

/* An insert that replaces the leaf: it is full, or the value is its void */
static noinline int insert_by_smo(struct crab_write *write, struct crab_leaf *leaf, bool full,
				  u64 key, u64 value)
{
	int err;

	if (!crab_write_may_change(write))
		return -EAGAIN;
	err = full ? crab_smo_add(write, leaf, key, value) :
		     crab_slotted_rewrite(write, leaf, key, value);
	if (!err)
		crab_count(&write->tree->base, inserts, 1);
	return err;
}

int crab_slotted_insert(struct crab_write *write, struct crab_leaf *leaf, u32 slot, u64 key,
			u64 value)
{
	struct crab_tree *tree = write->tree;
	struct crab_flow *flow = write->flow;
	bool full = slot == tree->slots, is_void = value == leaf->void_value;

	if (unlikely(full || is_void))
		return insert_by_smo(write, leaf, full, key, value);
	crab_leaf_begin(leaf);
	slot_set(flow, tree, leaf, slot, key, value);
	crab_count_settled(&tree->base, inserts, flow);
	/* P6: the record is durable; any part of it alone reads as a free slot */
	crab_fence(flow, CRAB_P6_RECORD);
	crab_leaf_end(leaf);
	return 0;
}

int crab_slotted_update_void(struct crab_write *write, struct crab_leaf *leaf, u64 key, u64 value)
{
	int err;

	if (!crab_write_may_change(write))
		return -EAGAIN;
	err = crab_slotted_rewrite(write, leaf, key, value);
	if (!err)
		crab_count(&write->tree->base, updates, 1);
	return err;
}

static void slot_free(struct crab_flow *flow, struct crab_dslot *d, u64 void_value)
{
	crab_store(flow, &d->key, CRAB_KEY_EMPTY);
	crab_store(flow, &d->value, void_value);
}

static __always_inline void leaf_clear(struct crab_leaf *leaf, u32 slot)
{
	u64 *planes = group_planes(leaf, slot / CRAB_SLOTTED_GROUP);
	u64 others = ~(1ULL << slot % CRAB_SLOTTED_GROUP);

	planes[0] &= others;
	planes[1] &= others;
	planes[2] &= others;
	planes[3] &= others;
	planes[4] &= others;
	planes[5] &= others;
	planes[6] &= others;
	planes[7] &= others;
	WRITE_ONCE(leaf->count, leaf->count - 1);
	WRITE_ONCE(leaf->ordered, 0);
}

static __always_inline void slot_clear(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
{
	struct crab_dslot *d = crab_leaf_slot(write->tree, leaf, slot);

	slot_free(write->flow, d, leaf->void_value);
	crab_clean_word(write->flow, &d->key);
	leaf_clear(leaf, slot);
}

void crab_slotted_remove_nofence(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
{
	slot_clear(write, leaf, slot);
	crab_underfull_note(write->tree, leaf);
	crab_count(&write->tree->base, deletes, 1);
}

void crab_slotted_remove(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
{
	struct crab_flow *flow = write->flow;

	crab_leaf_begin(leaf);
	slot_clear(write, leaf, slot);
	if (unlikely(crab_underfull_note(write->tree, leaf)))
		crab_count(&write->tree->base, deletes, 1);	/* not settled: a merge is due */
	else
		crab_count_settled(&write->tree->base, deletes, flow);
	/* P6: the slot is free, and only now may be reused */
	crab_fence(flow, CRAB_P6_RECORD);
	crab_leaf_end(leaf);
}

bool crab_slotted_keeps_empty(const struct crab_tree *tree, const struct crab_leaf *leaf)
{
	const struct crab_leaf *prev;

	if (READ_ONCE(leaf->next))
		return false;
	/* Pairs with smo_join() */
	prev = smp_load_acquire(&leaf->prev);
	return READ_ONCE(prev->count) == tree->slots;
}

/* Exchange the bits (@mask << @shift) of @low with the bits @mask of @high */
static __always_inline void bits_swap(u64 *low, u64 *high, u32 shift, u64 mask)
{
	u64 swap = (*low >> shift ^ *high) & mask;

	*high ^= swap;
	*low ^= swap << shift;
}

/* bits_swap() of each word at @at and the word @by places after it */
static __always_inline void words_swap(u64 *w, const u8 at[4], u32 by, u32 shift, u64 mask)
{
	bits_swap(&w[at[0]], &w[at[0] + by], shift, mask);
	bits_swap(&w[at[1]], &w[at[1] + by], shift, mask);
	bits_swap(&w[at[2]], &w[at[2] + by], shift, mask);
	bits_swap(&w[at[3]], &w[at[3] + by], shift, mask);
}

/*
 * Sets the bit planes of a descriptor that no reader sees yet. The bytes are transposed, after
 * which byte j of word w is the fingerprint of slot 8 j + w; then an 8x8 bit transpose turns words
 * into planes. Without a loop the words stay in registers.
 */
static void group_set(struct crab_leaf *leaf, u32 group, const union crab_group_fps *fps)
{
	u64 *planes = group_planes(leaf, group), w[FP_BITS];
	u32 i;

	static_assert(FP_BITS == 8);
	for (i = 0; i < FP_BITS; i++)
		w[i] = le64_to_cpu(fps->words[i]);
	words_swap(w, (const u8[]) { 0, 2, 4, 6 }, 1, 8, 0x00ff00ff00ff00ffULL);
	words_swap(w, (const u8[]) { 0, 1, 4, 5 }, 2, 16, 0x0000ffff0000ffffULL);
	words_swap(w, (const u8[]) { 0, 1, 2, 3 }, 4, 32, 0x00000000ffffffffULL);
	words_swap(w, (const u8[]) { 0, 2, 4, 6 }, 1, 1, 0x5555555555555555ULL);
	words_swap(w, (const u8[]) { 0, 1, 4, 5 }, 2, 2, 0x3333333333333333ULL);
	words_swap(w, (const u8[]) { 0, 1, 2, 3 }, 4, 4, 0x0f0f0f0f0f0f0f0fULL);
	for (i = 0; i < FP_BITS; i++)
		planes[i] = w[i];
}

/* Does a key of this leaf have the same first bits of the hash? */
static __always_inline bool key_seen(struct crab_seen *seen, u8 leaf, u64 hash)
{
	u8 *mark = &seen->marks[hash >> (64 - CRAB_SEEN_BITS)];
	bool was = *mark == leaf;

	*mark = leaf;
	return was;
}

/* A slot that failed the fast check; the fingerprints of all slots before it are set */
static noinline void slot_verify(const struct crab_tree *tree, struct crab_leaf *leaf, u32 slot,
				 struct crab_damage *damage)
{
	u64 key = crab_leaf_key(tree, leaf, slot);
	u8 fp = fingerprint(tree, key);

	if (key - leaf->low >= leaf->high - leaf->low)
		crab_leaf_quarantine(tree, leaf, damage, slot, "key outside the leaf's range");
	else if (find_further(tree, leaf, key, group_matches(leaf, 0, fp)) < (int)slot)
		crab_leaf_quarantine(tree, leaf, damage, slot, "key is there twice");
}

/* Reads one group: the hottest loop of attach, so constants are in local variables */
static void slotted_read_group(const struct crab_tree *tree, struct crab_leaf *leaf, u32 group,
			       struct crab_seen *seen, struct crab_damage *damage)
{
	const u64 low = leaf->low, span = leaf->high - low, void_value = leaf->void_value;
	const struct crab_mix mix = tree->mix;
	const struct crab_dslot *d = crab_leaf_slot(tree, leaf, group * CRAB_SLOTTED_GROUP);
	const u32 slots = min(tree->slots - group * CRAB_SLOTTED_GROUP, CRAB_SLOTTED_GROUP);
	const struct crab_media *media = tree->base.media;
	const u8 nth = seen->leaf;
	union crab_group_fps fps = { };
	u64 key, value, hash, suspects = 0;
	u32 slot;

	for (slot = 0; slot < slots; slot++, d++) {
		key = crab_load(media, &d->key);
		value = crab_load(media, &d->value);
		if (key == CRAB_KEY_EMPTY) {
			if (unlikely(value != void_value))
				leaf->torn++;
			continue;
		}
		if (unlikely(value == void_value)) {
			leaf->torn++;
			continue;
		}
		hash = crab_mix(&mix, key);
		fps.bytes[slot] = hash_fp(hash);
		if (unlikely(key_seen(seen, nth, hash) || key - low >= span))
			suspects |= 1ULL << slot;
	}
	group_set(leaf, group, &fps);
	leaf->count += hweight64(crab_slotted_live(leaf, group));
	for (; suspects; suspects &= suspects - 1)
		slot_verify(tree, leaf, group * CRAB_SLOTTED_GROUP + __ffs64(suspects), damage);
}

/* A new number invalidates the marks of other leaves, until the numbers wrap */
static void seen_begin(struct crab_seen *seen)
{
	if (++seen->leaf)
		return;
	memset(seen->marks, 0, sizeof(seen->marks));
	seen->leaf = 1;
}

void crab_slotted_read(const struct crab_tree *tree, struct crab_leaf *leaf,
		       struct crab_seen *seen, struct crab_damage *damage)
{
	u32 group;

	seen_begin(seen);
	leaf->count = 0;
	for (group = 0; group < crab_slotted_group_count(tree); group++)
		slotted_read_group(tree, leaf, group, seen, damage);
}

static void leaf_repair(struct crab_write *write, struct crab_leaf *leaf)
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

int crab_slotted_repair(struct crab_write *write)
{
	struct crab_tree *tree = write->tree;
	struct crab_leaf *leaf;

	for (leaf = tree->torn ? tree->first : NULL; leaf; leaf = leaf->next) {
		if (leaf->torn)
			leaf_repair(write, leaf);
		if (crab_tree_breathe(tree))
			return -EINTR;
	}
	return 0;
}

u64 crab_slotted_void(const struct crab_record *records, u32 count)
{
	u64 value;
	u32 i;

again:
	value = get_random_u64();
	if (value + 1 <= 2)	/* 0, 1 and ~0 are frequent values */
		goto again;
	for (i = 0; i < count; i++)
		if (records[i].value == value)
			goto again;
	return value;
}

/* Sentinels into slots [@from, all); the caller cleans them */
static void sentinels_store(struct crab_flow *flow, struct crab_dleaf *dleaf, u32 from, u32 slots,
			    u64 void_value)
{
	for (; from < slots; from++)
		slot_free(flow, &dleaf->slots[from], void_value);
}

void crab_slotted_format(struct crab_flow *flow, struct crab_dleaf *dleaf,
			 const struct crab_geometry *geo, u64 void_value)
{
	sentinels_store(flow, dleaf, 0, crab_leaf_slots(geo->leaf_bytes), void_value);
}

bool crab_slotted_prepare(struct crab_tree *tree)
{
	struct crab_flow prepare = { .media = tree->base.media };
	struct crab_flow *flow = &prepare;
	struct crab_spare spare;
	struct crab_dleaf *d;

	if (!crab_pool_prepare_begin(&tree->pool, &spare))
		return false;
	d = crab_leaf_media(tree, spare.leaf);
	spare.tag = crab_slotted_void(NULL, 0);
	sentinels_store(flow, d, CRAB_SLOTTED_HEADER, tree->slots, spare.tag);
	crab_clean(flow, &d->slots[CRAB_SLOTTED_HEADER],
		   (tree->slots - CRAB_SLOTTED_HEADER) * sizeof(d->slots[0]));
	/* P5: the slots of the free leaf read as free after any cut */
	crab_fence(flow, CRAB_P5_PREPARED);
	crab_count_prepare(&tree->base, flow);
	spare.prepared = true;
	crab_pool_prepare_end(&tree->pool, &spare);
	return true;
}

static bool records_have_value(const struct crab_record *records, u32 count, u64 value)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (records[i].value == value)
			return true;
	return false;
}

/**
 * struct fresh - a leaf while it is filled, before it is linked
 * @flow: flow of the write
 * @mix: hash parameter of the tree
 * @fps: its fingerprints, one byte for each slot
 * @overflow: records without room in their home lines
 * @taken: slots of each line that have a record, without the one next to the header
 */
struct fresh {
	struct crab_flow *flow;
	struct crab_mix mix;
	u8 *fps;
	u16 *overflow;
	u8 taken[CRAB_LEAF_BYTES_MAX / CRAB_LINE];
};

static __always_inline void fresh_put(struct fresh *fresh, struct crab_dslot *slots, u32 slot,
				      struct crab_record record)
{
	crab_store(fresh->flow, &slots[slot].value, record.value);
	crab_store(fresh->flow, &slots[slot].key, record.key);
	fresh->fps[slot] = hash_fp(crab_mix(&fresh->mix, record.key));
}

/*
 * Places the overflow records in the first line with room; if @count records exceed the front, in
 * the home line at the back if it has room
 */
static void fresh_overflow(struct fresh *fresh, struct crab_dslot *slots,
			   const struct crab_homes *homes, const struct crab_record *records,
			   u32 count, u32 overflowed)
{
	bool is_many = count > crab_home_end(homes);
	u32 i, line, room = 0;

	for (i = 0; i < overflowed; i++) {
		const struct crab_record record = records[fresh->overflow[i]];
		u64 hash = crab_hash(record.key);

		while (fresh->taken[room] == CRAB_SLOTTED_LINE)
			room++;
		line = is_many ? crab_home_back_line(homes, hash) : room;
		if (fresh->taken[line] == CRAB_SLOTTED_LINE)
			line = room;
		fresh_put(fresh, slots, crab_home_slot(line) + fresh->taken[line]++, record);
	}
}

/*
 * Places records at the front, so that few lines have to be cleaned. A record whose home line is
 * full goes to the overflow list; the last such record is stored next to the header
 */
static void fresh_fill(struct fresh *fresh, struct crab_dslot *slots,
		       const struct crab_tree *tree, const struct crab_record *records, u32 count)
{
	const struct crab_homes homes = tree->homes;
	u32 i, line, nth, slot, has_room, overflowed = 0;
	struct crab_record record;
	u64 hash;

	for (i = 0; i < count; i++) {
		record = records[i];
		hash = crab_hash(record.key);
		line = crab_home_front_line(&homes, hash);
		nth = fresh->taken[line];
		slot = crab_home_slot(line) + nth;
		has_room = (nth < CRAB_SLOTTED_LINE) & (slot < tree->slots);
		fresh->taken[line] = nth + has_room;
		fresh->overflow[overflowed] = i;
		overflowed += !has_room;
		/* No branch depends on a key */
		fresh_put(fresh, slots, slot & -has_room, record);
	}
	if (overflowed > 1)
		fresh_overflow(fresh, slots, &homes, records, count, overflowed - 1);
}

/* In a prepared leaf all lines without a record are durable, except the header line */
static void fresh_clean(const struct fresh *fresh, const struct crab_tree *tree,
			struct crab_dleaf *d)
{
	u32 line;

	crab_clean(fresh->flow, d, CRAB_LINE);
	for (line = 0; crab_home_slot(line) < tree->slots; line++)
		if (fresh->taken[line])
			crab_clean_word(fresh->flow, &d->slots[crab_home_slot(line)].key);
}

void crab_slotted_fresh(struct crab_write *write, const struct crab_spare *spare,
			struct crab_head *head, const struct crab_record *records, u32 count,
			struct crab_leaf *leaf)
{
	bool prepared = spare->prepared && !records_have_value(records, count, spare->tag);
	const struct crab_tree *tree = write->tree;
	struct crab_dleaf *d = crab_leaf_media(tree, spare->leaf);
	struct fresh fresh = {
		.flow = write->flow,
		.mix = tree->mix,
		.fps = tree->fps[0].bytes,
		.overflow = tree->overflow,
	};
	u32 slot, group;

	head->void_value = prepared ? spare->tag : crab_slotted_void(records, count);
	leaf->void_value = head->void_value;
	crab_head_store(write->flow, tree->base.geo.store_id, head);
	memset(tree->fps, 0, crab_slotted_fps_bytes(tree));
	fresh_fill(&fresh, &d->slots[0], tree, records, count);
	for (group = 0; group < crab_slotted_group_count(tree); group++)
		group_set(leaf, group, &tree->fps[group]);
	leaf->count = count;
	for (slot = 0; slot < (prepared ? CRAB_SLOTTED_HEADER : tree->slots); slot++)
		if (!crab_slotted_is_live(leaf, slot))
			slot_free(write->flow, &d->slots[slot], head->void_value);
	if (prepared)
		fresh_clean(&fresh, tree, d);
	else
		crab_clean(write->flow, d, tree->base.geo.leaf_bytes);
}
