// SPDX-License-Identifier: GPL-2.0
/*
 * This file writes whole leaves of the layout `slotted`: fresh leaves, prepared leaves, FORMAT.
 *
 * Invariant: nothing links to the leaf yet; the caller makes it durable (P7) before that.
 *
 * Locking: crab_tree.smo_lock; crab_slotted_prepare() has its leaf from the pool alone; FORMAT has
 * the region to itself.
 */
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/string.h>

#include "engines/counts.h"
#include "planes.h"
#include "smo.h"

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
		crab_slot_free(flow, &dleaf->slots[from], void_value);
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
	const struct crab_record *end = records + count;

	for (; records < end; records++)
		if (records->value == value)
			return true;
	return false;
}

/**
 * struct fresh - a leaf while it is filled, before it is linked
 * @flow: flow of the write
 * @mix: hash parameter of the tree
 * @fps: its fingerprints, one byte for each slot
 * @overflow: records without room in their home lines
 * @room: no line before this one has room
 * @taken: slots of each line that have a record, without the one next to the header
 */
struct fresh {
	struct crab_flow *flow;
	struct crab_mix mix;
	u8 *fps;
	u16 *overflow;
	u32 room;
	u8 taken[CRAB_LEAF_BYTES_MAX / CRAB_LINE];
};

static __always_inline void fresh_put(struct fresh *fresh, struct crab_dslot *slots, u32 slot,
				      struct crab_record record)
{
	crab_store(fresh->flow, &slots[slot].value, record.value);
	crab_store(fresh->flow, &slots[slot].key, record.key);
	fresh->fps[slot] = crab_fp_of_hash(crab_mix(&fresh->mix, record.key));
}

/* The first line with room at the front of a key's group, or in the leaf */
static u32 fresh_room(struct fresh *fresh, const struct crab_homes *homes, u64 hash)
{
	u32 line = crab_home_group(homes, hash) / CRAB_SLOTTED_LINE, end = line + homes->back;

	while (line < end && fresh->taken[line] == CRAB_SLOTTED_LINE)
		line++;
	if (line < end)
		return line;
	while (fresh->taken[fresh->room] == CRAB_SLOTTED_LINE)
		fresh->room++;
	return fresh->room;
}

/*
 * Places the overflow records in the first line with room; if @count records exceed the fronts, in
 * the home line at the back if it has room
 */
static void fresh_overflow(struct fresh *fresh, struct crab_dslot *slots,
			   const struct crab_homes *homes, const struct crab_record *records,
			   u32 count, u32 overflowed)
{
	bool is_many = count > crab_home_fronts(homes);
	u32 i, line;

	for (i = 0; i < overflowed; i++) {
		const struct crab_record record = records[fresh->overflow[i]];
		u64 hash = crab_hash(record.key);

		line = crab_home_back_line(homes, hash);
		if (!is_many || fresh->taken[line] == CRAB_SLOTTED_LINE)
			line = fresh_room(fresh, homes, hash);
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
	u32 lines = tree->base.geo.leaf_bytes / CRAB_LINE - 1, line;

	crab_clean(fresh->flow, d, CRAB_LINE);
	for (line = 0; line < lines; line++)
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

	head->own = prepared ? spare->tag : crab_slotted_void(records, count);
	leaf->void_value = head->own;
	crab_head_store(write->flow, tree->base.geo.store_id, head);
	memset(tree->fps, 0, crab_slotted_fps_bytes(tree));
	fresh_fill(&fresh, &d->slots[0], tree, records, count);
	for (group = 0; group < crab_slotted_group_count(tree); group++)
		crab_planes_set(leaf, group, &tree->fps[group]);
	leaf->count = count;
	for (slot = 0; slot < (prepared ? CRAB_SLOTTED_HEADER : tree->slots); slot++)
		if (!crab_slotted_is_live(leaf, slot))
			crab_slot_free(write->flow, &d->slots[slot], head->own);
	if (prepared)
		fresh_clean(&fresh, tree, d);
	else
		crab_clean(write->flow, d, tree->base.geo.leaf_bytes);
}
