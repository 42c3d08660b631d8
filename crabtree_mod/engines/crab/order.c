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
 * the line that it writes anyway.
 *
 * Invariant: where crab_leaf.ordered is not 0 it is the count of live records, and as many
 * slots are in order.
 *
 * Locking: written under the leaf's lock, read by readers of the leaf.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "crab.h"

#define ORDER_BITS	7
#define ORDER_BUCKETS	(1U << ORDER_BITS)
#define ORDER_LANES	4U

/* So many are in each bucket, then before it; four in a word */
union order_counts {
	__le16 at[ORDER_BUCKETS];
	__le64 words[ORDER_BUCKETS / ORDER_LANES];
};

/* Of a shell sort, as M. Ciura found them; the wide ones only where many share a bucket */
static const u32 order_gaps[] = { 57, 23, 10, 4, 1 };
#define ORDER_WIDEST(count)	max((count) / 16, 1U)

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
	return (const u8 *)leaf->fps + crab_slotted_fps(tree);
}

static __always_inline u32 order_at(const u8 *order, bool wide, u32 i)
{
	return wide ? READ_ONCE(((const u16 *)order)[i]) : READ_ONCE(order[i]);
}

static u32 order_get(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 i)
{
	return order_at(order_of(tree, leaf), order_is_wide(tree), i);
}

/* What was sorted: @items, each with its slot as its value */
static __always_inline void order_set(u8 *order, bool wide, const struct crab_record *items,
				      u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		if (wide)
			WRITE_ONCE(((u16 *)order)[i], items[i].value);
		else
			WRITE_ONCE(order[i], items[i].value);
	}
}

/* What is sorted: keys, each with the slot in place of its value; returns how many */
static u32 order_collect(const struct crab_tree *tree, const struct crab_leaf *leaf,
			 struct crab_record *items)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	const struct crab_media *media = tree->base.media;
	u32 group, slot, count = 0;
	u64 live;

	for (group = 0; group * CRAB_SLOTTED_GROUP < tree->slots; group++) {
		for (live = crab_slotted_live(leaf, group); live; live &= live - 1) {
			slot = group * CRAB_SLOTTED_GROUP + __ffs64(live);
			items[count].key = crab_load(media, &slots[slot].key);
			items[count++].value = slot;
		}
	}
	return count;
}

static __always_inline u32 order_bucket(u64 key, u64 low, u32 shift)
{
	return min_t(u64, (key - low) >> shift, ORDER_BUCKETS - 1);
}

/* From how many are in each bucket to how many are before it */
static void order_sum(union order_counts *counts)
{
	const u64 each = 0x0001000100010001ULL;
	u64 word, before = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(counts->words); i++) {
		word = le64_to_cpu(counts->words[i]) * each;	/* and those in the lanes below */
		counts->words[i] = cpu_to_le64((word << 16) + before);
		before += (word >> 48) * each;
	}
}

/*
 * By the leading bits of where keys are in the leaf's range: after that most are in their
 * place, and no branch depended on a key. The range may be any, beside a change.
 */
static void order_spread(const struct crab_leaf *leaf, const struct crab_record *items,
			 u32 count, struct crab_record *to)
{
	u64 low = READ_ONCE(leaf->low), span = READ_ONCE(leaf->high) - 1 - low;
	u32 shift = max_t(u32, fls64(span), ORDER_BITS) - ORDER_BITS, i;
	union order_counts counts = { };
	__le16 *at;

	for (i = 0; i < count; i++)
		le16_add_cpu(&counts.at[order_bucket(items[i].key, low, shift)], 1);
	order_sum(&counts);
	for (i = 0; i < count; i++) {
		at = &counts.at[order_bucket(items[i].key, low, shift)];
		to[le16_to_cpu(*at)] = items[i];
		le16_add_cpu(at, 1);
	}
}

/* Hardly more than a look at each where all but a few are in order */
static void order_sort(struct crab_record *items, u32 count)
{
	struct crab_record item;
	u32 gap, i, j, g;

	for (g = 0; g < ARRAY_SIZE(order_gaps); g++) {
		gap = order_gaps[g];
		if (gap > ORDER_WIDEST(count))
			continue;
		for (i = gap; i < count; i++) {
			if (likely(items[i - gap].key <= items[i].key))
				continue;
			item = items[i];
			for (j = i; j >= gap && items[j - gap].key > item.key; j -= gap)
				items[j] = items[j - gap];
			items[j] = item;
		}
	}
}

/* For the next scan; unless a writer has the leaf, or had it meanwhile */
static void order_keep(struct crab_reader *reader, const struct crab_record *items, u32 count)
{
	struct crab_leaf *leaf = reader->leaf;
	u8 *order = (u8 *)order_of(reader->tree, leaf);

	if (reader->insists || !spin_trylock(&leaf->lock))
		return;
	if (!leaf->ordered && !read_seqcount_retry(&leaf->seq, reader->seq)) {
		if (order_is_wide(reader->tree))
			order_set(order, true, items, count);
		else
			order_set(order, false, items, count);
		/* Pairs with crab_order_scan(): the slots are there */
		smp_store_release(&leaf->ordered, count);
	}
	spin_unlock(&leaf->lock);
}

static int order_scan_unordered(struct crab_reader *reader, u64 start, u64 end,
				struct crab_record *records, u32 cap, struct crab_record *room)
{
	const struct crab_tree *tree = reader->tree;
	const struct crab_leaf *leaf = reader->leaf;
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	struct crab_record *items = room + tree->slots;
	u32 count = order_collect(tree, leaf, items), from = 0, i;

	order_spread(leaf, items, count, room);
	order_sort(room, count);
	order_keep(reader, room, count);
	while (from < count && room[from].key < start)
		from++;
	for (i = from; i < count && i - from < cap && room[i].key <= end; i++, records++) {
		records->key = room[i].key;
		records->value = crab_load(tree->base.media, &slots[room[i].value].value);
	}
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

/* @count records, from @from on in order; inline, for either width */
static __always_inline void order_copy(const struct crab_tree *tree, const struct crab_leaf *leaf,
				       bool wide, u32 from, u32 count, struct crab_record *records)
{
	const u8 *order = order_of(tree, leaf) + from * (wide ? sizeof(u16) : sizeof(u8));
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0), *d;
	const struct crab_media *media = tree->base.media;
	u32 i;

	for (i = 0; i < count; i++) {
		d = &slots[order_at(order, wide, i)];
		records[i].key = crab_load(media, &d->key);
		records[i].value = crab_load(media, &d->value);
	}
}

/* The leaf's range says whether a limit has to be looked for in it */
static u32 order_scan_ordered(const struct crab_tree *tree, const struct crab_leaf *leaf,
			      u32 count, u64 start, u64 end, struct crab_record *records, u32 cap)
{
	u32 from = 0, to = count;

	if (start > READ_ONCE(leaf->low))
		from = order_find(tree, leaf, count, start);
	if (end < READ_ONCE(leaf->high) - 1)
		to = order_find(tree, leaf, count, end + 1);
	count = min(max(from, to) - from, cap);
	if (order_is_wide(tree))
		order_copy(tree, leaf, true, from, count, records);
	else
		order_copy(tree, leaf, false, from, count, records);
	return count;
}

int crab_order_scan(struct crab_reader *reader, u64 start, u64 end,
		    struct crab_record *records, u32 cap, struct crab_record *room)
{
	const struct crab_leaf *leaf = reader->leaf;
	/* Pairs with order_keep() */
	u32 count = smp_load_acquire(&leaf->ordered);

	if (count)
		return order_scan_ordered(reader->tree, leaf, count, start, end, records, cap);
	if (!READ_ONCE(leaf->count))
		return 0;
	if (!room)
		return -ENOBUFS;
	return order_scan_unordered(reader, start, end, records, cap, room);
}

/*
 * The records of a leaf, which is full, and one more: those below @middle to the front, the
 * others behind them, of which @low is the least. Returns how many are below. No branch
 * depends on a key
 */
static u32 order_part(const struct crab_tree *tree, const struct crab_leaf *leaf,
		      const struct crab_record *rider, u64 middle, struct crab_record *records,
		      u64 *low)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	u64 above = rider->key - middle, key;	/* the distance; of those below, a huge one */
	u32 last = leaf->count, below = 0, i, at;

	for (i = 0; i < last; i++) {
		key = crab_load(tree->base.media, &slots[i].key);
		at = key < middle ? below : last - (i - below);
		records[at].key = key;
		records[at].value = crab_load(tree->base.media, &slots[i].value);
		above = min(above, key - middle);
		below += key < middle;
	}
	records[below] = *rider;
	*low = middle + above;
	return below + (rider->key < middle);
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

u32 crab_order_split(const struct crab_tree *tree, const struct crab_leaf *leaf,
		     const struct crab_record *rider, struct crab_record *records, u64 *low)
{
	u64 middle = leaf->low + (leaf->high - leaf->low) / 2;
	u32 count = leaf->count + 1, keep = (count + 1) / 2;
	u32 below = order_part(tree, leaf, rider, middle, records, low);

	if (min(below, count - below) >= count / 2 - count / 8)
		return below;
	crab_order_halve(records, count, keep);
	*low = records[keep].key;
	return keep;
}
