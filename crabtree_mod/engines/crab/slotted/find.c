// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the search in a leaf of the layout `slotted`.
 *
 * Invariant: none; it changes nothing.
 *
 * Locking: access.c documents it. A reader is bounded by the slots of the leaf.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>

#include "engines/crab/verify.h"
#include "planes.h"

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
			 struct crab_record *records) __must_hold(&leaf->lock)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0), *d;
	const u32 groups = crab_slotted_group_count(tree);
	struct crab_record *to = records;
	u32 group;
	u64 live;

	for (group = 0; group < groups; group++, slots += CRAB_SLOTTED_GROUP) {
		for (live = crab_slotted_live(leaf, group); live; live &= live - 1, to++) {
			d = &slots[__ffs64(live)];
			*to = crab_slot_settled(tree->base.media, d);
		}
	}
	return to - records;
}

/* A bit for each slot of a line, given its first; arbitrary if they are in another group */
static __always_inline u64 line_slots(u32 slot)
{
	return ((1ULL << CRAB_SLOTTED_LINE) - 1) << slot % CRAB_SLOTTED_GROUP;
}

/* The first slot of the group after the one that begins with @first; after the last one, 0 */
static u32 group_after(const struct crab_tree *tree, u32 first)
{
	first += CRAB_SLOTTED_GROUP;
	return first < tree->slots ? first : 0;
}

#define SLOT_NONE	(-1)	/* no slot has the key */
#define SLOT_BLANK	(-2)	/* one with its fingerprint reads all ones: the media has changed */

noinline int crab_slotted_find_further(const struct crab_tree *tree, const struct crab_leaf *leaf,
				       u64 key, u32 first, u64 mask)
{
	const u8 fp = crab_fp(tree, key);
	u32 group = first, slot;
	u64 at;

	for (;;) {
		for (; mask; mask &= mask - 1) {
			slot = group + __ffs64(mask);
			at = crab_leaf_key(tree, leaf, slot);
			if (at == key)
				return slot;
			if (unlikely(at == CRAB_KEY_EMPTY))
				return SLOT_BLANK;
		}
		group = group_after(tree, group);
		if (group == first)
			return SLOT_NONE;
		mask = crab_planes_match(leaf, group, fp);
	}
}

/*
 * The slot that most likely has a key, among at least one slot of its group, counted from the begin
 * of the group: one in a home line if there is any. Mostly there is one slot; the choice among
 * several has no branch, which would be unpredictable.
 */
static __always_inline u32 likely_slot(const struct crab_tree *tree, u64 hash, u64 slots)
{
	u64 near;

	if (likely(!(slots & (slots - 1))))
		return __ffs64(slots);
	near = slots & (line_slots(crab_home_front(&tree->homes, hash)) |
			line_slots(crab_home_back(&tree->homes, hash)));
	OPTIMIZER_HIDE_VAR(near);	/* or compilers create a branch */
	return __ffs64(near | (-(u64)!near & slots));
}

/* @slots: the leaf's */
static __always_inline int slotted_find(const struct crab_tree *tree, const struct crab_leaf *leaf,
					const struct crab_dslot *slots, u64 key)
{
	u64 hash = crab_hash(key);
	u32 first = crab_home_group(&tree->homes, hash), slot;
	u64 mask = crab_planes_match(leaf, first, crab_fp(tree, key));

	if (mask) {
		slot = first + likely_slot(tree, hash, mask);
		if (likely(crab_load(tree->base.media, &slots[slot].key) == key))
			return slot;
	} else if (likely(tree->slots <= CRAB_SLOTTED_GROUP)) {
		return SLOT_NONE;
	}
	return crab_slotted_find_further(tree, leaf, key, first, mask);
}

int crab_slotted_find(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key)
{
	return slotted_find(tree, leaf, crab_leaf_slot(tree, leaf, 0), key);
}

int crab_slotted_lookup(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
			u64 *value)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	int slot = slotted_find(tree, leaf, slots, key);

	if (slot < 0)
		return slot == SLOT_BLANK ? -ERANGE : -ENOENT;
	*value = crab_load(tree->base.media, &slots[slot].value);
	return 0;
}

/*
 * A bit for each free slot of a line, given the slots in use of its group; slots of the line in the
 * next group are no home
 */
static __always_inline u64 line_free(u64 live, u32 slot)
{
	return ~live >> slot % CRAB_SLOTTED_GROUP & ((1U << CRAB_SLOTTED_LINE) - 1);
}

/* A free slot: in the group that begins with @first, or in another; or one that does not exist */
static noinline u32 first_free(const struct crab_tree *tree, const struct crab_leaf *leaf,
			       u32 first)
{
	u32 group = first, slot;
	u64 free;

	do {
		free = ~crab_slotted_live(leaf, group / CRAB_SLOTTED_GROUP);
		slot = free ? group + __ffs64(free) : tree->slots;
		if (slot < tree->slots)
			return slot;
		group = group_after(tree, group);
	} while (group != first);
	return tree->slots;
}

/* The free slot for a key: in a home line, its group, or the leaf; or one that does not exist */
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
	return likely(free && slot < tree->slots) ? slot :
	       first_free(tree, leaf, crab_home_group(&tree->homes, hash));
}

u32 crab_slotted_likely_slot(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key)
{
	u64 hash = crab_hash(key);
	u32 first = crab_home_group(&tree->homes, hash);
	u64 mask = crab_planes_match(leaf, first, crab_fp(tree, key));
	u32 slot = mask ? first + likely_slot(tree, hash, mask) : leaf_free(tree, leaf, key);

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

/* The place of a key that the leaf does not have; @slots: the leaf's */
static __always_inline struct crab_place place_free(const struct crab_tree *tree,
						    const struct crab_leaf *leaf,
						    const struct crab_dslot *slots, u64 key)
{
	u32 slot = leaf_free(tree, leaf, key);

	if (likely(slot < tree->slots))
		prefetchw(&slots[slot]);
	else	/* it will be split */
		crab_prefetch_range(slots, tree->slots * sizeof(*slots));
	return (struct crab_place) { .slot = slot };
}

bool crab_slotted_foresee(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
			  struct crab_place *place)
{
	u64 hash = crab_hash(key), mask;
	u32 first = crab_home_group(&tree->homes, hash), group = first, slot;
	const u8 fp = crab_fp(tree, key);

	do {
		mask = crab_planes_match(leaf, group, fp);
		if (mask) {
			slot = group + likely_slot(tree, hash, mask);
			prefetchw(crab_leaf_slot(tree, leaf, slot));
			return false;
		}
		group = group_after(tree, group);
	} while (group != first);
	*place = place_free(tree, leaf, crab_leaf_slot(tree, leaf, 0), key);
	return true;
}

/* crab_slotted_place() once more: a key read otherwise when it was loaded again */
static noinline struct crab_place place_again(const struct crab_tree *tree,
					      const struct crab_leaf *leaf, u64 key)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	int slot = slotted_find(tree, leaf, slots, key);

	if (slot == SLOT_NONE)
		return place_free(tree, leaf, slots, key);
	if (slot < 0 || crab_load(tree->base.media, &slots[slot].key) != key)
		return (struct crab_place) { .slot = CRAB_SLOT_DOUBT };
	return (struct crab_place) { .slot = slot, .found = true };
}

struct crab_place crab_slotted_place(const struct crab_tree *tree, const struct crab_leaf *leaf,
				     u64 key)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	int slot = slotted_find(tree, leaf, slots, key);

	if (slot >= 0) {
		/* Failing memory may return the key of another record as this one, once */
		barrier();
		if (unlikely(crab_load_again(tree->base.media, &slots[slot].key) != key))
			return place_again(tree, leaf, key);
		return (struct crab_place) { .slot = slot, .found = true };
	}
	if (unlikely(slot == SLOT_BLANK))	/* it may be the record of the key */
		return (struct crab_place) { .slot = CRAB_SLOT_DOUBT };
	return place_free(tree, leaf, slots, key);
}
