// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the order of the records in a slotted leaf: for scans, which
 * want it, and for splits, which want no more than halves.
 *
 * DOC: the order of a slotted leaf
 *
 * Records stand in any slot. A scan that finds no order of a leaf sorts it, and leaves
 * the slots' numbers in that order behind the fingerprints, in DRAM, for the next one, if
 * nobody has the leaf locked. An insert or a delete ends it by crab_leaf.ordered, which is in
 * the line that it writes anyway; what is left of it is where the next sort begins.
 *
 * Invariant: where crab_leaf.ordered is not 0 it is the count of live records, and as many
 * slots are in order.
 *
 * Locking: written under the leaf's lock, read by readers of the leaf.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "crab.h"

#define ORDER_SLOTS	(CRAB_LEAF_BYTES_MAX / sizeof(struct crab_dslot))

static const u32 order_gaps[] = { 132, 57, 23, 10, 4, 1 };	/* Ciura's, for a shell sort */

/* A number of a slot needs one byte, or two */
static bool order_is_wide(const struct crab_tree *tree)
{
	return tree->slots > U8_MAX + 1;
}

size_t crab_order_bytes(const struct crab_tree *tree)
{
	return ALIGN(tree->slots, sizeof(u64)) * (order_is_wide(tree) ? sizeof(u16) : sizeof(u8));
}

static const u8 *order_of(const struct crab_tree *tree, const struct crab_leaf *leaf)
{
	return leaf->fps + crab_slotted_fps(tree);
}

static __always_inline u32 order_at(const u8 *order, bool wide, u32 i)
{
	return wide ? READ_ONCE(((const u16 *)order)[i]) : READ_ONCE(order[i]);
}

static u32 order_get(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 i)
{
	return order_at(order_of(tree, leaf), order_is_wide(tree), i);
}

static void order_set(const struct crab_tree *tree, struct crab_leaf *leaf, u32 i, u32 slot)
{
	u8 *order = (u8 *)order_of(tree, leaf);

	if (order_is_wide(tree))
		WRITE_ONCE(((u16 *)order)[i], slot);
	else
		WRITE_ONCE(order[i], slot);
}

/* Live slots, as they were in order last, then the others */
static u32 order_begin(const struct crab_tree *tree, const struct crab_leaf *leaf, u16 *slots)
{
	DECLARE_BITMAP(seen, ORDER_SLOTS) = { };
	u32 i, slot, count = 0;

	for (i = 0; i < tree->slots; i++) {
		slot = order_get(tree, leaf, i);
		if (crab_slotted_is_live(leaf, slot) && !__test_and_set_bit(slot, seen))
			slots[count++] = slot;
	}
	for (slot = 0; slot < tree->slots; slot++)
		if (crab_slotted_is_live(leaf, slot) && !test_bit(slot, seen))
			slots[count++] = slot;
	return count;
}

/* Hardly more than a look at each where all but a few are in order */
static void order_sort(u16 *slots, struct crab_record *records, u32 count)
{
	struct crab_record record;
	u32 gap, i, j, g;
	u16 slot;

	for (g = 0; g < ARRAY_SIZE(order_gaps); g++) {
		gap = order_gaps[g];
		for (i = gap; i < count; i++) {
			record = records[i];
			slot = slots[i];
			for (j = i; j >= gap && records[j - gap].key > record.key; j -= gap) {
				records[j] = records[j - gap];
				slots[j] = slots[j - gap];
			}
			records[j] = record;
			slots[j] = slot;
		}
	}
}

/* For the next scan; unless a writer has the leaf, or had it meanwhile */
static void order_keep(struct crab_reader *reader, const u16 *slots, u32 count)
{
	struct crab_leaf *leaf = reader->leaf;
	u32 i;

	if (reader->insists || !spin_trylock(&leaf->lock))
		return;
	if (!leaf->ordered && !read_seqcount_retry(&leaf->seq, reader->seq)) {
		for (i = 0; i < count; i++)
			order_set(reader->tree, leaf, i, slots[i]);
		/* Pairs with crab_order_scan(): the slots are there */
		smp_store_release(&leaf->ordered, count);
	}
	spin_unlock(&leaf->lock);
}

/* The first of @count records, sorted, with a key not below @key */
static u32 order_above(const struct crab_record *records, u32 count, u64 key)
{
	u32 from = 0, len = count, half;

	while (len) {
		half = len / 2;
		if (records[from + half].key < key) {
			from += half + 1;
			len -= half + 1;
		} else {
			len = half;
		}
	}
	return from;
}

static int order_scan_unordered(struct crab_reader *reader, u64 start, u64 end,
				struct crab_record *records, u32 cap, struct crab_record *room)
{
	const struct crab_tree *tree = reader->tree;
	u16 slots[ORDER_SLOTS];
	u32 count, from, i;

	count = order_begin(tree, reader->leaf, slots);
	for (i = 0; i < count; i++)
		room[i] = crab_leaf_record(tree, reader->leaf, slots[i]);
	order_sort(slots, room, count);
	order_keep(reader, slots, count);
	from = order_above(room, count, start);
	for (i = from; i < count && i - from < cap && room[i].key <= end; i++)
		records[i - from] = room[i];
	return i - from;
}

/* The first record in order with a key not below @key; no branch depends on a key */
static u32 order_find(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 count,
		      u64 key)
{
	u32 from = 0, len = count, half;

	while (len > 1) {
		half = len / 2;
		from += crab_leaf_key(tree, leaf, order_get(tree, leaf, from + half - 1)) < key ?
			half : 0;
		len -= half;
	}
	return from + (crab_leaf_key(tree, leaf, order_get(tree, leaf, from)) < key);
}

/* The records from @from to @to in order, as long as no key is above @end; returns how many */
static u32 order_copy(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 from, u32 to,
		      u64 end, struct crab_record *records)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0), *d;
	const struct crab_media *media = tree->base.media;
	const u8 *order = order_of(tree, leaf);
	bool wide = order_is_wide(tree);
	u32 i;

	for (i = from; i < to; i++, records++) {
		d = &slots[order_at(order, wide, i)];
		records->key = crab_load(media, &d->key);
		records->value = crab_load(media, &d->value);
		if (records->key > end)
			break;
	}
	return i - from;
}

int crab_order_scan(struct crab_reader *reader, u64 start, u64 end,
		    struct crab_record *records, u32 cap, struct crab_record *room)
{
	const struct crab_tree *tree = reader->tree;
	const struct crab_leaf *leaf = reader->leaf;
	/* Pairs with order_keep() */
	u32 count = smp_load_acquire(&leaf->ordered), from = 0;

	if (!count && !READ_ONCE(leaf->count))
		return 0;
	if (!count && !room)
		return -ENOBUFS;
	if (!count)
		return order_scan_unordered(reader, start, end, records, cap, room);
	if (start > READ_ONCE(leaf->low))
		from = order_find(tree, leaf, count, start);
	return order_copy(tree, leaf, from, min(count, from + cap), end, records);
}

static void records_swap(struct crab_record *records, u32 a, u32 b)
{
	struct crab_record record = records[a];

	records[a] = records[b];
	records[b] = record;
}

/* Parts [@from, @to): keys below that of one record, it, the others; returns its place */
static u32 records_part(struct crab_record *records, u32 from, u32 to)
{
	u32 at = from, i, last = to - 1;
	u64 key;

	records_swap(records, from + (to - from) / 2, last);
	key = records[last].key;
	for (i = from; i < last; i++) {
		records_swap(records, i, at);
		at += records[at].key < key;
	}
	records_swap(records, at, last);
	return at;
}

/* Hoare's selection: keys are unique */
void crab_order_halve(struct crab_record *records, u32 count, u32 keep)
{
	u32 from = 0, to = count, at;

	while (to - from > 1) {
		at = records_part(records, from, to);
		if (at == keep)
			return;
		if (at < keep)
			from = at + 1;
		else
			to = at;
	}
}
