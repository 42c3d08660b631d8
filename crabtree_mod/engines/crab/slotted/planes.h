/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file holds the fingerprints in a descriptor as bit planes: word b of a group has bit b of
 * the fingerprint of each slot, so that a few instructions compare all slots of a group.
 *
 * Locking: as in slotted.h.
 */
#ifndef CRABTREE_ENGINES_CRAB_SLOTTED_PLANES_H
#define CRABTREE_ENGINES_CRAB_SLOTTED_PLANES_H

#include <linux/bitops.h>

#include "slotted.h"

/* Never 0, the fingerprint of a free slot */
static __always_inline u8 crab_fp_of_hash(u64 hash)
{
	u8 fp = hash >> 56;

	return fp + !fp;
}

static __always_inline u8 crab_fp(const struct crab_tree *tree, u64 key)
{
	return crab_fp_of_hash(crab_mix(&tree->mix, key));
}

/* The fingerprints of a group: word b has bit b of each */
static __always_inline u64 *crab_planes(struct crab_leaf *leaf, u32 group)
{
	return &leaf->fps[group * CRAB_SLOTTED_PLANES];
}

/* All ones or none: bit @bit of a fingerprint */
static __always_inline u64 crab_fp_spread(u8 fp, u32 bit)
{
	return (s64)((u64)fp << (63 - bit)) >> 63;
}

/* A bit for each slot whose fingerprint has another bit here */
static __always_inline u64 crab_plane_others(const u64 *planes, u8 fp, u32 bit)
{
	/* A reader concurrent with a writer validates the result by the seqcount */
	return data_race(planes[bit]) ^ crab_fp_spread(fp, bit);
}

/*
 * A bit for each slot of the group that begins with slot @first whose fingerprint is @fp. No branch
 * depends on loaded data, and the code is short, so that several searches overlap in one CPU as
 * long as it has registers for all of them.
 */
static __always_inline u64 crab_planes_match(const struct crab_leaf *leaf, u64 first, u8 fp)
{
	/* The planes of a group have a byte for each slot */
	const u64 *p = (const u64 *)((const u8 *)leaf->fps + first);

	static_assert(CRAB_SLOTTED_PLANES * sizeof(*p) == CRAB_SLOTTED_GROUP);
	static_assert(CRAB_SLOTTED_PLANES == 8);
	/* In pairs: a chain of eight would keep the record's load waiting */
	return ~(((crab_plane_others(p, fp, 0) | crab_plane_others(p, fp, 1)) |
		  (crab_plane_others(p, fp, 2) | crab_plane_others(p, fp, 3))) |
		 ((crab_plane_others(p, fp, 4) | crab_plane_others(p, fp, 5)) |
		  (crab_plane_others(p, fp, 6) | crab_plane_others(p, fp, 7))));
}

/**
 * crab_planes_set() - set the fingerprints of a group
 * @leaf: descriptor that no reader sees yet
 * @group: the group
 * @fps: the fingerprints, one byte a slot
 *
 * Context: any.
 */
void crab_planes_set(struct crab_leaf *leaf, u32 group, const union crab_group_fps *fps);

/**
 * crab_slotted_find_further() - find the first slot with a key
 * @tree: the tree
 * @leaf: the leaf
 * @key: the key
 * @first: first slot of the first group to look at; the groups after it follow, then those before
 * @mask: slots of the first group to look at; of all other groups those that match
 *
 * Context: any.
 * Return: the slot, or -1.
 */
int crab_slotted_find_further(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
			      u32 first, u64 mask);

static inline void crab_slot_free(struct crab_flow *flow, struct crab_dslot *d, u64 void_value)
{
	crab_store(flow, &d->key, CRAB_KEY_EMPTY);
	crab_store(flow, &d->value, void_value);
}

#endif /* CRABTREE_ENGINES_CRAB_SLOTTED_PLANES_H */
