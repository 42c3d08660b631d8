/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the fingerprints of the keys in a slotted leaf: their form in DRAM
 * and the hash from which they are taken.
 *
 * FPTree (Oukid et al. 2016) and NBTree (Zhang et al. 2022) introduced fingerprints;
 * here they are never on the media, and so cost no line.
 *
 * No lock: the containing structure protects them.
 */
#ifndef CRABTREE_ENGINES_CRAB_FINGERPRINT_H
#define CRABTREE_ENGINES_CRAB_FINGERPRINT_H

#include <linux/types.h>

/* Slots whose fingerprints are compared at a time, and their bits: a line of the cache */
#define CRAB_SLOTTED_GROUP	64U
#define CRAB_SLOTTED_PLANES	8U

/* The fingerprints of a group, one byte a slot, before they are transposed to planes */
union crab_group_fps {
	u8 bytes[CRAB_SLOTTED_GROUP];
	__le64 words[CRAB_SLOTTED_PLANES];
};

#ifndef CRAB_SEEN_BITS
#define CRAB_SEEN_BITS		13
#endif

/* Hashes seen in a slotted leaf: so wide that few keys collide, cleared once in 255 leaves */
struct crab_seen {
	u8 leaf;	/* number of the current leaf; 0 before the first one */
	u8 marks[1U << CRAB_SEEN_BITS];	/* the last leaf that had a key with such a hash */
};

/**
 * struct crab_mix - how the fingerprints of one attach are made
 * @flip: bits of the keys that are inverted; random
 * @factor: one of several that spread keys of any regular stride well
 *
 * The keys that share a fingerprint depend on both, and neither leaves DRAM. So keys cannot be
 * chosen to share one, as they could when the hash was the same for every store.
 */
struct crab_mix {
	u64 flip;
	u64 factor;
};

/**
 * crab_mix_choose() - choose how the fingerprints of this attach are made
 *
 * Context: any.
 * Return: another one at each attach.
 */
struct crab_mix crab_mix_choose(void);

/**
 * crab_mix() - mix the bits of a key for its fingerprint
 * @mix: of the attach
 * @key: the key
 *
 * Context: any.
 * Return: the mixed bits; the top ones are the fingerprint.
 */
static __always_inline u64 crab_mix(const struct crab_mix *mix, u64 key)
{
	return (key ^ mix->flip) * mix->factor;
}

/**
 * crab_hash() - mix the bits of a key for its place on the media
 * @key: the key
 *
 * Context: any.
 * Return: the mixed bits, the same at every attach.
 */
static __always_inline u64 crab_hash(u64 key)
{
	return key * 0x9e3779b97f4a7c15ULL;
}

#endif /* CRABTREE_ENGINES_CRAB_FINGERPRINT_H */
