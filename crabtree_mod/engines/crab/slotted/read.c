// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements attach of a leaf of the layout `slotted`: it classifies the slots and
 * completes torn ones.
 *
 * Invariant: after repair each free slot has both sentinels.
 *
 * Locking: attach has the region to itself. Several CPUs read leaves at a time.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/string.h>

#include "planes.h"
#include "smo.h"

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
void crab_planes_set(struct crab_leaf *leaf, u32 group, const union crab_group_fps *fps)
{
	u64 *planes = crab_planes(leaf, group), w[CRAB_SLOTTED_PLANES];
	u32 i;

	static_assert(CRAB_SLOTTED_PLANES == 8);
	for (i = 0; i < CRAB_SLOTTED_PLANES; i++)
		w[i] = le64_to_cpu(fps->words[i]);
	words_swap(w, (const u8[]) { 0, 2, 4, 6 }, 1, 8, 0x00ff00ff00ff00ffULL);
	words_swap(w, (const u8[]) { 0, 1, 4, 5 }, 2, 16, 0x0000ffff0000ffffULL);
	words_swap(w, (const u8[]) { 0, 1, 2, 3 }, 4, 32, 0x00000000ffffffffULL);
	words_swap(w, (const u8[]) { 0, 2, 4, 6 }, 1, 1, 0x5555555555555555ULL);
	words_swap(w, (const u8[]) { 0, 1, 4, 5 }, 2, 2, 0x3333333333333333ULL);
	words_swap(w, (const u8[]) { 0, 1, 2, 3 }, 4, 4, 0x0f0f0f0f0f0f0f0fULL);
	for (i = 0; i < CRAB_SLOTTED_PLANES; i++)
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
				 u8 seen, struct crab_damage *damage)
{
	u64 key = crab_leaf_key(tree, leaf, slot);
	u8 fp = crab_fp(tree, key);

	if (fp != seen)
		crab_leaf_quarantine(tree, leaf, damage, slot, "two readings of a key differ");
	else if (key - leaf->low >= leaf->high - leaf->low)
		crab_leaf_quarantine(tree, leaf, damage, slot, "key outside the leaf's range");
	else if (crab_slotted_find_further(tree, leaf, key, 0,
					   crab_planes_match(leaf, 0, fp)) < (int)slot)
		crab_leaf_quarantine(tree, leaf, damage, slot, "key is there twice");
}

/*
 * The key of a slot of which two loads differ, or key or value alone is free: the slot is torn and
 * counts as free, or failing memory returned a word otherwise once. An insert overwrites a free
 * slot, and stores a key again whose fingerprint is wrong
 */
static noinline u64 slot_again(const struct crab_tree *tree, struct crab_leaf *leaf,
			       const struct crab_dslot *d)
{
	u64 value = crab_load(tree->base.media, &d->value);
	u64 key = crab_load(tree->base.media, &d->key);

	if ((key == CRAB_KEY_EMPTY) == (value == leaf->void_value))
		return key;
	leaf->torn++;
	return CRAB_KEY_EMPTY;
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
		if (unlikely(crab_load(media, &d->key) != key ||
			     (key == CRAB_KEY_EMPTY) != (value == void_value)))
			key = slot_again(tree, leaf, d);
		if (key == CRAB_KEY_EMPTY)
			continue;
		hash = crab_mix(&mix, key);
		fps.bytes[slot] = crab_fp_of_hash(hash);
		if (unlikely(key_seen(seen, nth, hash) || key - low >= span))
			suspects |= 1ULL << slot;
	}
	crab_planes_set(leaf, group, &fps);
	leaf->count += hweight64(crab_slotted_live(leaf, group));
	for (; suspects; suspects &= suspects - 1)
		slot_verify(tree, leaf, group * CRAB_SLOTTED_GROUP + __ffs64(suspects),
			    fps.bytes[__ffs64(suspects)], damage);
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

static bool slot_is_half(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot)
{
	struct crab_record r = crab_leaf_record(tree, leaf, slot);

	return (r.key == CRAB_KEY_EMPTY) != (r.value == leaf->void_value);
}

/* A slot is torn by two readings of it: one that reads otherwise once has a record */
static void leaf_repair(struct crab_write *write, struct crab_leaf *leaf)
{
	struct crab_tree *tree = write->tree;
	struct crab_flow *flow = write->flow;
	struct crab_dslot *d;
	u32 slot;

	for (slot = 0; slot < tree->slots; slot++) {
		if (!slot_is_half(tree, leaf, slot) || !slot_is_half(tree, leaf, slot))
			continue;
		d = crab_leaf_slot(tree, leaf, slot);
		crab_slot_free(flow, d, leaf->void_value);
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
		if (crab_engine_breathe(&tree->base))
			return -EINTR;
	}
	return 0;
}
