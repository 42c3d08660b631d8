// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements how records are found in a leaf of the layout `sorted`.
 */

/**
 * DOC: search of sorted leaves
 *
 * A binary search (Wang et al. 2020, section 4.3) whose first steps are in DRAM. A leaf is searched
 * in pieces, which are lines or powers of two of them, and the descriptor has the first key of
 * each.
 *
 * Invariant: the first keys in DRAM are those on the media, CRAB_KEY_EMPTY after the end, except
 * within a write section.
 *
 * Locking: access.c documents it. A reader is bounded for any values that it reads.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>

#include "engines/crab/verify.h"
#include "smo.h"

u32 crab_sorted_next(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot)
{
	slot += slot == leaf->duplicate;
	return slot < crab_sorted_extent(leaf) ? slot : tree->slots;
}

/* The first slot of a piece; the first one begins with the header */
static u32 piece_slot(const struct crab_tree *tree, u32 piece)
{
	return piece ? piece * tree->piece_slots - CRAB_SORTED_HEADER : 0;
}

/* The records end before a slot */
void crab_sorted_firsts_end(const struct crab_tree *tree, struct crab_leaf *leaf, u32 slot)
{
	u32 piece = tree->pieces;

	while (--piece && piece_slot(tree, piece) >= slot)
		WRITE_ONCE(crab_sorted_firsts(leaf)[piece], CRAB_KEY_EMPTY);
}

void crab_sorted_desc_init(const struct crab_tree *tree, struct crab_leaf *leaf)
{
	leaf->duplicate = CRAB_LEAF_NO_DUPLICATE;
	crab_sorted_firsts_end(tree, leaf, 0);
}

bool crab_sorted_is_known(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 piece)
{
	u32 slot = piece_slot(tree, piece);
	u64 key = CRAB_KEY_EMPTY;

	if (slot < crab_sorted_extent(leaf))
		key = crab_leaf_key(tree, leaf, slot);
	return crab_sorted_firsts(leaf)[piece] == (piece ? key : 0);
}

void crab_sorted_firsts_fill(const struct crab_tree *tree, struct crab_leaf *leaf,
			     const struct crab_record *records, u32 count)
{
	u64 *first = crab_sorted_firsts(leaf) + 1, *end = first + tree->pieces - 1;
	const u32 step = tree->piece_slots;
	u32 slot = piece_slot(tree, 1);

	for (; first < end; first++, slot += step)
		WRITE_ONCE(*first, slot < count ? records[slot].key : CRAB_KEY_EMPTY);
}

/* The last piece whose first key is not above @key */
static __always_inline u32 leaf_piece(const struct crab_tree *tree, const struct crab_leaf *leaf,
				      u64 key)
{
	const u64 *firsts = crab_sorted_firsts(leaf), *at = firsts;
	u32 step;

	prefetch(firsts);
	for (step = tree->pieces / 2; step; step /= 2)
		at = READ_ONCE(at[step]) <= key ? at + step : at;
	return at - firsts;
}

/* Prefetches the lines of a piece, except the one that is read first */
static void piece_fetch(const struct crab_dslot *line, u32 slots)
{
	const struct crab_dslot *end = line + slots;

	while ((line += CRAB_SORTED_LINE) < end)
		prefetch(line);
}

/* A leaf as if the header were slots as well, which makes pieces of equal size */
static const struct crab_dslot *leaf_places(const struct crab_tree *tree,
					    const struct crab_leaf *leaf)
{
	return (const struct crab_dslot *)crab_leaf_media(tree, READ_ONCE(leaf->number));
}

/*
 * The last of these places whose key is not above @key; a place in the header if there is none. No
 * branch depends on a key: the next search begins while this one waits for memory. Every key that
 * is read belongs to a record, unless the leaf is empty.
 */
static __always_inline u32 sorted_last(const struct crab_tree *tree, const struct crab_leaf *leaf,
				       const struct crab_dslot *places, u64 key)
{
	u32 end = crab_sorted_extent(leaf) + CRAB_SORTED_HEADER - 1, step = tree->piece_slots, to;
	u32 at = leaf_piece(tree, leaf, key) * step;

	if (step > CRAB_SORTED_LINE)
		piece_fetch(&places[at], step);
	while (step /= 2) {
		to = min(max(at + step, CRAB_SORTED_HEADER), end);
		at = crab_load(tree->base.media, &places[to].key) <= key ? at + step : at;
	}
	return min(at, end);
}

u32 crab_sorted_above(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key)
{
	u32 at = sorted_last(tree, leaf, leaf_places(tree, leaf), key);

	return max(at + 1, CRAB_SORTED_HEADER) - CRAB_SORTED_HEADER;
}

/* Shared, not exclusive: other readers use the leaf too */
void crab_sorted_prefetch(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slots)
{
	const struct crab_dslot *line = leaf_places(tree, leaf);
	const struct crab_dslot *end = line + CRAB_SORTED_HEADER + slots;

	for (; line < end; line += CRAB_SORTED_LINE)
		prefetch(line);
}

/* Tests whether the slot before @above, which is crab_sorted_above() of @key, holds the key */
static bool leaf_has_below(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 above,
			   u64 key)
{
	return above && crab_load_is(tree->base.media, &crab_leaf_slot(tree, leaf, above - 1)->key,
				     key);
}

int crab_sorted_find(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key)
{
	u32 above = crab_sorted_above(tree, leaf, key);

	return leaf_has_below(tree, leaf, above, key) ? (int)above - 1 : -1;
}

struct crab_place crab_sorted_place(const struct crab_tree *tree, const struct crab_leaf *leaf,
				    u64 key, bool removes)
{
	bool found;
	u32 above;

	if (removes)
		crab_sorted_prefetch(tree, leaf, crab_sorted_extent(leaf));
	above = crab_sorted_above(tree, leaf, key);
	found = leaf_has_below(tree, leaf, above, key);
	if (!removes && !found)
		crab_sorted_prefetch(tree, leaf, crab_sorted_extent(leaf));
	return (struct crab_place) { .slot = above - found, .found = found };
}

/* -ENOENT; or -ERANGE if the keys where a search has ended are others than it has compared */
static noinline int sorted_missing(const struct crab_tree *tree, const struct crab_leaf *leaf,
				   const struct crab_dslot *places, u32 at, u64 key)
{
	u32 end = crab_sorted_extent(leaf) + CRAB_SORTED_HEADER;
	u64 above;

	if (at >= CRAB_SORTED_HEADER && crab_load(tree->base.media, &places[at].key) >= key)
		return -ERANGE;
	at = max(at + 1, CRAB_SORTED_HEADER);
	if (at >= end)
		return -ENOENT;
	above = crab_load(tree->base.media, &places[at].key);
	return above <= key || above == CRAB_KEY_EMPTY ? -ERANGE : -ENOENT;
}

int crab_sorted_lookup(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
		       u64 *value)
{
	const struct crab_dslot *places = leaf_places(tree, leaf);
	u32 at = sorted_last(tree, leaf, places, key);

	if (at < CRAB_SORTED_HEADER || !crab_load_is(tree->base.media, &places[at].key, key))
		return sorted_missing(tree, leaf, places, at, key);
	*value = crab_load(tree->base.media, &places[at].value);
	return 0;
}

bool crab_sorted_ascend(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 from,
			u32 to, u64 low, u64 high)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	u64 key;

	for (; from < to; from++) {
		if (from == leaf->duplicate)
			continue;
		key = crab_load(tree->base.media, &slots[from].key);
		if (key < low || key >= high)
			return false;
		low = key + 1;
	}
	return true;
}

/* As crab_sorted_ascend(), of slots without a duplicate */
static __always_inline bool slots_ascend(const struct crab_media *media,
					 const struct crab_dslot *d, const struct crab_dslot *end,
					 u64 low, u64 high)
{
	u64 key, before;

	if (d >= end)
		return true;
	before = crab_load(media, &d->key);
	if (before < low)
		return false;
	while (++d < end) {
		key = crab_load(media, &d->key);
		if (key <= before)
			return false;
		before = key;
	}
	return before < high;
}

bool crab_sorted_tail_ascends(const struct crab_tree *tree, const struct crab_leaf *leaf,
			      u32 from, u64 high)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);

	return slots_ascend(tree->base.media, slots + from, slots + leaf->count, leaf->low, high);
}

/* Inline: two calls are 10 instructions more of 2,570 of an insert (callgrind) */
bool crab_sorted_admits(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 from,
			u32 slot, u64 key, u64 high)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0), *at = slots + slot;

	return slots_ascend(tree->base.media, slots + from, at, leaf->low, key) &&
	       slots_ascend(tree->base.media, at, slots + leaf->count, key + 1, high);
}

/*
 * The media may have changed: the order of the records is compared, and two more keys beyond each
 * end, so that no key that turned into another one leads a search or the end of the scan astray
 */
#define SCAN_BEYOND	2U

/* The lowest key that a scan from 0 on may return: in the first leaf a key may read 0 once */
static noinline u64 scan_low(const struct crab_tree *tree, const struct crab_leaf *leaf)
{
	u32 slot = crab_sorted_next(tree, leaf, 0);

	return slot < tree->slots &&
	       crab_load_settled(tree->base.media, &crab_leaf_slot(tree, leaf, slot)->key);
}

int crab_sorted_scan(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 start, u64 end,
		     struct crab_record *records, u32 cap)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	u64 low = READ_ONCE(leaf->low), high = READ_ONCE(leaf->high), key;
	u32 extent = crab_sorted_extent(leaf), slot = 0, count = 0;

	if (start > low) {
		slot = crab_sorted_above(tree, leaf, start - 1);
		if (!crab_sorted_ascend(tree, leaf, slot - min(slot, SCAN_BEYOND), slot, low,
					start))
			return -EAGAIN;
		low = start;
	}
	if (unlikely(!low))
		low = scan_low(tree, leaf);
	end = min(end, high - 1);
	for (; slot < extent && count < cap; slot++) {
		if (slot == leaf->duplicate)
			continue;
		key = crab_load(tree->base.media, &slots[slot].key);
		if (key < low || key > end)
			break;
		records[count].key = key;
		records[count++].value = crab_load(tree->base.media, &slots[slot].value);
		low = key + 1;
	}
	if (count < cap)	/* the key that ended the scan, read again, must be above it */
		low = end + 1;
	if (!crab_sorted_ascend(tree, leaf, slot, min(slot + SCAN_BEYOND, extent), low, high))
		return -EAGAIN;
	return count;
}

int crab_sorted_scan_back(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 start,
			  u64 end, struct crab_record *records, u32 cap)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	u64 low = READ_ONCE(leaf->low), high = READ_ONCE(leaf->high), key;
	u32 extent = crab_sorted_extent(leaf), slot = extent, count = 0;

	if (end < high - 1) {
		slot = crab_sorted_above(tree, leaf, end);
		if (!crab_sorted_ascend(tree, leaf, slot, min(slot + SCAN_BEYOND, extent), end + 1,
					high))
			return -EAGAIN;
		high = end + 1;
	}
	if (unlikely(!low))
		low = scan_low(tree, leaf);
	start = max(start, low);
	for (; slot && count < cap; slot--) {
		if (slot - 1 == leaf->duplicate)
			continue;
		key = crab_load(tree->base.media, &slots[slot - 1].key);
		if (key < start || key >= high)
			break;
		records[count].key = key;
		records[count++].value = crab_load(tree->base.media, &slots[slot - 1].value);
		high = key;
	}
	if (count < cap)
		high = start;
	if (!crab_sorted_ascend(tree, leaf, slot - min(slot, SCAN_BEYOND), slot, low, high))
		return -EAGAIN;
	return count;
}

u32 crab_sorted_collect(const struct crab_tree *tree, const struct crab_leaf *leaf,
			struct crab_record *records) __must_hold(&leaf->lock)
{
	u32 count = 0, slot;

	for (slot = crab_sorted_next(tree, leaf, 0); slot < tree->slots;
	     slot = crab_sorted_next(tree, leaf, slot + 1))
		records[count++] = crab_slot_settled(tree->base.media,
						     crab_leaf_slot(tree, leaf, slot));
	return count;
}
