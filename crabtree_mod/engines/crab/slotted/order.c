// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the order of the records in a slotted leaf: complete for scans, and in
 * halves for splits.
 */

/**
 * DOC: the order of a slotted leaf
 *
 * Records are in any slot. A scan that finds no cached order of a leaf sorts its records, and
 * caches the slots' numbers in that order for the next scan, if the leaf is not locked and there is
 * memory (leaf_order.h). An insert or a delete invalidates the order by crab_leaf.ordered, which is
 * in a line that it writes anyway.
 *
 * Invariant: if crab_leaf.ordered is not 0, it is the number of records, and as many slots are in
 * order.
 *
 * Locking: written under the leaf's lock, read by readers of the leaf.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "engines/crab/access.h"
#include "engines/crab/leaf_order.h"
#include "engines/crab/run.h"
#include "engines/crab/verify.h"
#include "engines/select.h"
#include "smo.h"

#define ORDER_BITS	7
#define ORDER_BUCKETS	(1U << ORDER_BITS)
#define ORDER_SLOT_BITS	9	/* of a sort entry; the bits above are its bucket */
#define ORDER_STEP	8U	/* a search divides its range by this, repeatedly */

/* Records in each bucket, then before it; eight counters in a word, or four */
union order_counts {
	u8 narrow[ORDER_BUCKETS];
	__le16 wide[ORDER_BUCKETS];
	__le64 words[ORDER_BUCKETS * sizeof(u16) / sizeof(u64)];
};

/* Gaps of a shell sort (M. Ciura), before the last one, 1; used if eight records share a bucket */
static const u32 order_gaps[] = { 57, 23, 10, 4 };

/* A slot's number needs one byte or two; inline functions are compiled for both */
static bool order_is_wide(const struct crab_tree *tree)
{
	return tree->slots > U8_MAX + 1;
}

size_t crab_order_bytes(const struct crab_tree *tree)
{
	return ALIGN(tree->slots, sizeof(u64)) * (order_is_wide(tree) ? sizeof(u16) : sizeof(u8));
}

static __always_inline u32 order_get(const void *order, bool wide, u32 i)
{
	return wide ? READ_ONCE(((const u16 *)order)[i]) : READ_ONCE(((const u8 *)order)[i]);
}

static __always_inline void order_set(void *order, bool wide, u32 i, u32 slot)
{
	if (wide)
		((u16 *)order)[i] = slot;
	else
		((u8 *)order)[i] = slot;
}

/* Adds one to a bucket; returns its previous count */
static __always_inline u32 order_count(union order_counts *counts, bool wide, u32 bucket)
{
	u32 count;

	if (!wide)
		return counts->narrow[bucket]++;
	count = le16_to_cpu(counts->wide[bucket]);
	counts->wide[bucket] = cpu_to_le16(count + 1);
	return count;
}

/* Converts the count of each bucket to the count before it; do eight records share a bucket? */
static __always_inline bool order_sum(union order_counts *counts, bool wide)
{
	const u32 lane = wide ? 16 : 8;
	const u64 each = U64_MAX / ((1U << lane) - 1);	/* as a factor: adds lower lanes */
	u64 sum, before = 0, any = 0;
	u32 i;

	for (i = 0; i < ORDER_BUCKETS * lane / 64; i++) {
		any |= le64_to_cpu(counts->words[i]);
		sum = le64_to_cpu(counts->words[i]) * each;
		counts->words[i] = cpu_to_le64((sum << lane) + before * each);
		before += sum >> (64 - lane);
	}
	return any & ~(7 * each);
}

/*
 * Fills the sort entries: the bucket of each record, by the leading bits of its key's position in
 * the leaf's range, and its slot. Concurrently with a change the range is arbitrary. Returns their
 * number
 */
static __always_inline u32 order_collect(const struct crab_tree *tree, const struct crab_leaf *leaf,
					 bool wide, u16 *items, union order_counts *counts)
{
	u64 low = READ_ONCE(leaf->low), span = READ_ONCE(leaf->high) - 1 - low, live;
	u32 shift = max_t(u32, fls64(span), ORDER_BITS) - ORDER_BITS;
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	u32 group, slot, bucket, count = 0;

	for (group = 0; group * CRAB_SLOTTED_GROUP < tree->slots; group++) {
		for (live = crab_slotted_live(leaf, group); live; live &= live - 1) {
			slot = group * CRAB_SLOTTED_GROUP + __ffs64(live);
			bucket = (crab_load(tree->base.media, &slots[slot].key) - low) >> shift;
			bucket %= ORDER_BUCKETS;
			items[count++] = bucket << ORDER_SLOT_BITS | slot;
			order_count(counts, wide, bucket);
		}
	}
	return count;
}

/* By words: a factor of 8 is part of an address, one of 16 is an instruction of its own */
static __always_inline u64 order_key(const struct crab_media *media, const struct crab_dslot *slots,
				     const void *order, bool wide, u32 i)
{
	const __le64 *words = &slots->key;

	return crab_load(media, &words[2 * (u64)order_get(order, wide, i)]);
}

/* order_key(), settled: an order that is cached would stay wrong */
static __always_inline u64 order_key_settled(const struct crab_media *media,
					     const struct crab_dslot *slots, const void *order,
					     bool wide, u32 i)
{
	const __le64 *words = &slots->key;

	return crab_load_settled(media, &words[2 * (u64)order_get(order, wide, i)]);
}

/* Insert the @i-th entry, with @key, into each @gap-th one before it, which are in order */
static __always_inline void order_insert(const struct crab_media *media,
					 const struct crab_dslot *slots, void *order, bool wide,
					 u32 i, u32 gap, u64 key)
{
	u32 slot = order_get(order, wide, i);

	for (; i >= gap && order_key_settled(media, slots, order, wide, i - gap) > key; i -= gap)
		order_set(order, wide, i, order_get(order, wide, i - gap));
	order_set(order, wide, i, slot);
}

/* Sorts entries of which parts are far from their places */
static __always_inline void order_sort_far(const struct crab_media *media,
					   const struct crab_dslot *slots, void *order, bool wide,
					   u32 count)
{
	u32 g, i;

	for (g = 0; g < ARRAY_SIZE(order_gaps); g++)
		for (i = order_gaps[g]; i < count && order_gaps[g] <= count / 16; i++)
			order_insert(media, slots, order, wide, i, order_gaps[g],
				     order_key_settled(media, slots, order, wide, i));
}

/* Sorts entries that are near their places */
static __always_inline void order_sort(const struct crab_media *media,
				       const struct crab_dslot *slots, void *order, bool wide,
				       u32 count)
{
	u64 key, before = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		key = order_key_settled(media, slots, order, wide, i);
		if (likely(before <= key))
			before = key;
		else
			order_insert(media, slots, order, wide, i, 1, key);
	}
}

/*
 * Sorts the slots of a leaf; returns their number. After the distribution into buckets most are in
 * place, and no branch depends on a key until then.
 */
static __always_inline u32 order_make(const struct crab_tree *tree, const struct crab_leaf *leaf,
				      bool wide, u16 *items, void *order)
{
	union order_counts counts = { };
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	u32 count = order_collect(tree, leaf, wide, items, &counts), i, at;
	bool far = order_sum(&counts, wide);

	for (i = 0; i < count; i++) {
		at = order_count(&counts, wide, items[i] >> ORDER_SLOT_BITS);
		order_set(order, wide, at, items[i] & ((1U << ORDER_SLOT_BITS) - 1));
	}
	if (unlikely(far))
		order_sort_far(tree->base.media, slots, order, wide, count);
	order_sort(tree->base.media, slots, order, wide, count);
	return count;
}

/*
 * Caches the order for the next scan, unless a writer has the leaf, or had it meanwhile. The whole
 * array is copied, and every entry of it is a valid slot number: a reader that loaded a higher
 * crab_leaf.ordered before a delete may use entries after @count. It reads the media there before
 * its sequence count discards the result.
 */
static void order_keep(struct crab_reader *reader, const u64 *order, u32 count)
{
	struct crab_leaf *leaf = reader->leaf;
	u64 *kept;
	u32 i;

	if (reader->locked)
		return;
	kept = crab_leaf_order_make(&reader->tree->table, leaf);
	if (!kept || !spin_trylock(&leaf->lock))
		return;
	if (!leaf->ordered && !read_seqcount_retry(&leaf->seq, reader->seq)) {
		for (i = 0; i < crab_order_bytes(reader->tree) / sizeof(u64); i++)
			WRITE_ONCE(kept[i], order[i]);
		/* Pairs with crab_slotted_scan(): the slots are visible */
		smp_store_release(&leaf->ordered, count);
	}
	spin_unlock(&leaf->lock);
}

/* Is the key of the @i-th record below @key? @last stands for the records after it */
static __always_inline u32 order_less(const struct crab_media *media,
				      const struct crab_dslot *slots, const void *order,
				      bool wide, u32 i, u32 last, u64 key)
{
	return order_key(media, slots, order, wide, min(i, last)) < key;
}

/*
 * Among each @step-th record from @from on, seven of them, the number of records below @key. No
 * branch depends on a record or on their number
 */
static __always_inline u32 order_below(const struct crab_media *media,
				       const struct crab_dslot *slots, const void *order,
				       bool wide, u32 from, u32 step, u32 last, u64 key)
{
	const u32 at = from - 1;

	static_assert(ORDER_STEP == 8);
	return step * (order_less(media, slots, order, wide, at + step, last, key) +
		       order_less(media, slots, order, wide, at + 2 * step, last, key) +
		       order_less(media, slots, order, wide, at + 3 * step, last, key) +
		       order_less(media, slots, order, wide, at + 4 * step, last, key) +
		       order_less(media, slots, order, wide, at + 5 * step, last, key) +
		       order_less(media, slots, order, wide, at + 6 * step, last, key) +
		       order_less(media, slots, order, wide, at + 7 * step, last, key));
}

/*
 * The first record in order with a key not below @key. It takes few steps of seven independent
 * loads each
 */
static __always_inline u32 order_find(const struct crab_tree *tree, const struct crab_leaf *leaf,
				      const void *order, bool wide, u32 count, u64 key)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	const u32 most = ORDER_STEP * ORDER_STEP;
	u32 from = 0, step = count < most ? ORDER_STEP : most;

	for (; step; step /= ORDER_STEP)
		from += order_below(tree->base.media, slots, order, wide, from, step,
				    max(count, 1U) - 1, key);
	return min(from, count);	/* more, if all are below */
}

/* By words, as order_key() */
static __always_inline void order_copy_one(const struct crab_media *media, const __le64 *words,
					   u64 slot, struct crab_record *record)
{
	record->key = crab_load(media, &words[2 * slot]);
	record->value = crab_load(media, &words[2 * slot + 1]);
}

static __always_inline void order_copy_four(const struct crab_media *media,
					    const __le64 *words, const void *order, bool wide,
					    struct crab_record *records)
{
	order_copy_one(media, words, order_get(order, wide, 0), &records[0]);
	order_copy_one(media, words, order_get(order, wide, 1), &records[1]);
	order_copy_one(media, words, order_get(order, wide, 2), &records[2]);
	order_copy_one(media, words, order_get(order, wide, 3), &records[3]);
}

/*
 * Copies @count records in order, from @from on: four at a time, where the last four may overlap
 * the previous ones. Only one branch depends on @count
 */
static __always_inline void order_copy(const struct crab_tree *tree, const struct crab_leaf *leaf,
				       const void *order, bool wide, u32 from, u32 count,
				       struct crab_record *records)
{
	const __le64 *words = &crab_leaf_slot(tree, leaf, 0)->key;
	const struct crab_media *media = tree->base.media;
	const u32 bytes = wide ? sizeof(u16) : sizeof(u8);
	u32 i;

	order += from * bytes;
	if (count < 4) {
		for (i = 0; i < count; i++)
			order_copy_one(media, words, order_get(order, wide, i), &records[i]);
		return;
	}
	for (i = 4; i < count; i += 4, order += 4 * bytes, records += 4)
		order_copy_four(media, words, order, wide, records);
	i -= count;
	order_copy_four(media, words, order - i * bytes, wide, records - i);
}

/*
 * order_find() of a key inside the leaf's range, [@low, @high]; -EAGAIN: a record near the place is
 * outside of the range or on the wrong side, so the search may have been misled. Two on each side
 * are compared, for one of them may be the one that misled it
 */
static __always_inline int order_divide(const struct crab_tree *tree, const struct crab_leaf *leaf,
					const void *order, bool wide, u32 count, u64 low, u64 high,
					u64 key)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	const struct crab_media *media = tree->base.media;
	u32 at = order_find(tree, leaf, order, wide, count, key), i;

	for (i = at - min(at, 2U); i < at; i++)
		if (unlikely(order_key(media, slots, order, wide, i) - low >= key - low))
			return -EAGAIN;
	for (; i < min(at + 2, count); i++)
		if (unlikely(order_key(media, slots, order, wide, i) - key > high - key))
			return -EAGAIN;
	return at;
}

/* Is @key, that of the record @at, between those of its neighbours? */
static __always_inline bool order_is_placed(const struct crab_tree *tree,
					    const struct crab_leaf *leaf, const void *order,
					    bool wide, u32 count, u32 at, u64 key)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	const struct crab_media *media = tree->base.media;

	return (!at || order_key(media, slots, order, wide, at - 1) < key) &&
	       (at + 1 == count || order_key(media, slots, order, wide, at + 1) > key);
}

/*
 * The leaf's range shows whether a limit is inside it. The media may have changed: not each key is
 * compared, for there are many, but those at both ends, and the one after which the scan continues
 */
static __always_inline int order_read(const struct crab_reader *reader, const void *order,
				      bool wide, u32 count, u64 start, u64 end,
				      struct crab_record *records, u32 cap)
{
	const struct crab_tree *tree = reader->tree;
	const struct crab_leaf *leaf = reader->leaf;
	u64 low = READ_ONCE(leaf->low), high = READ_ONCE(leaf->high) - 1;
	u64 first = low, last = high;
	int from = 0, to = count, got, at;

	if (start > low) {
		from = order_divide(tree, leaf, order, wide, count, low, high, start);
		first = start;
	}
	if (end < high) {
		to = order_divide(tree, leaf, order, wide, count, low, high, end + 1);
		last = end;
	}
	if (unlikely((from | to) < 0))
		return -EAGAIN;
	got = min_t(u32, max(to - from, 0), cap);
	if (reader->last)
		from = to - got;
	order_copy(tree, leaf, order, wide, from, got, records);
	if (unlikely(got && (records[0].key - first > last - first ||
			     records[got - 1].key - first > last - first)))
		return -EAGAIN;
	at = reader->last ? 0 : got - 1;
	if (got == cap && !order_is_placed(tree, leaf, order, wide, count, from + at,
					   records[at].key))
		return -EAGAIN;
	return got;
}

static int order_scan(const struct crab_reader *reader, const void *order, u32 count, u64 start,
		      u64 end, struct crab_record *records, u32 cap)
{
	if (order_is_wide(reader->tree))
		return order_read(reader, order, true, count, start, end, records, cap);
	return order_read(reader, order, false, count, start, end, records, cap);
}

/* For few slots, which fit on the stack */
static noinline int order_scan_narrow(struct crab_reader *reader, u64 start, u64 end,
				      struct crab_record *records, u32 cap)
{
	const struct crab_tree *tree = reader->tree;
	u64 order[(U8_MAX + 1) / sizeof(u64)];
	u16 items[U8_MAX + 1];
	u32 count;

	memset(order, 0, crab_order_bytes(tree));
	count = order_make(tree, reader->leaf, false, items, order);
	order_keep(reader, order, count);
	return order_scan(reader, order, count, start, end, records, cap);
}

static noinline int order_scan_wide(struct crab_reader *reader, u64 start, u64 end,
				    struct crab_record *records, u32 cap, u16 *room)
{
	const struct crab_tree *tree = reader->tree;
	u16 *items = room + crab_order_bytes(tree) / sizeof(*room);
	u32 count;

	memset(room, 0, crab_order_bytes(tree));
	count = order_make(tree, reader->leaf, true, items, room);
	order_keep(reader, (u64 *)room, count);
	return order_scan(reader, room, count, start, end, records, cap);
}

int crab_slotted_scan(struct crab_reader *reader, u64 start, u64 end,
		      struct crab_record *records, u32 cap, u16 *room)
{
	const struct crab_tree *tree = reader->tree;
	struct crab_leaf *leaf = reader->leaf;
	/* Pairs with order_keep() */
	u32 count = smp_load_acquire(&leaf->ordered);
	const u64 *order;

	if (count) {
		order = reader->order ?: crab_leaf_order(&tree->table, leaf);
		return order_scan(reader, order, count, start, end, records, cap);
	}
	if (!READ_ONCE(leaf->count))
		return 0;
	if (!order_is_wide(tree))
		return order_scan_narrow(reader, start, end, records, cap);
	if (!room)
		return -ENOBUFS;
	return order_scan_wide(reader, start, end, records, cap, room);
}

int crab_slotted_scan_back(struct crab_reader *reader, u64 start, u64 end,
			   struct crab_record *records, u32 cap, u16 *room)
{
	int got, i;

	reader->last = true;
	got = crab_slotted_scan(reader, start, end, records, cap, room);
	for (i = 0; i < got / 2; i++)
		swap(records[i], records[got - 1 - i]);
	return got;
}

/*
 * Partitions the records of a full leaf and one more: those below @middle first, then the others,
 * whose lowest key is @low; or CRAB_KEY_EMPTY, if a key has a bit outside the leaf's range. Returns
 * the number of records below. No branch depends on a key
 */
static u32 order_part(const struct crab_tree *tree, const struct crab_leaf *leaf,
		      const struct crab_record *extra, u64 middle, struct crab_record *records,
		      u64 *low)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	u64 above = extra->key - middle;	/* the distance; huge for keys below */
	struct crab_record r;
	u64 seen = 0;
	u32 last = leaf->count, below = 0, i, at;

	for (i = 0; i < last; i++) {
		r = crab_slot_settled(tree->base.media, &slots[i]);
		seen |= r.key;
		at = r.key < middle ? below : last - (i - below);
		records[at] = r;
		above = min(above, r.key - middle);
		below += r.key < middle;
	}
	records[below] = *extra;
	*low = likely(crab_slotted_may_have(leaf, leaf->high, seen, records, last + 1)) ?
	       middle + above : CRAB_KEY_EMPTY;
	return below + (extra->key < middle);
}

/* crab_run_split() for unordered records, one of which has @key */
static u32 order_run(const struct crab_leaf *leaf, u64 key, const struct crab_record *records,
		     u32 count)
{
	u64 lower = leaf->low, upper = leaf->high;
	u32 below = 0, i;

	for (i = 0; i < count; i++) {
		below += records[i].key < key;
		if (records[i].key < key)
			lower = max(lower, records[i].key);
		else if (records[i].key > key)
			upper = min(upper, records[i].key);
	}
	return crab_run_split(key, lower, below, upper, count - 1 - below);
}

u32 crab_slotted_split(const struct crab_tree *tree, const struct crab_leaf *leaf,
		       const struct crab_record *extra, struct crab_record *records, u64 *low)
	__must_hold(&leaf->lock)
{
	u64 middle = leaf->low + (leaf->high - leaf->low) / 2;
	u32 count = leaf->count + 1, keep = (count + 1) / 2;
	u32 below = order_part(tree, leaf, extra, middle, records, low);

	if (min(below, count - below) >= count / 2 - count / 8 || unlikely(*low == CRAB_KEY_EMPTY))
		return below;
	keep = order_run(leaf, extra->key, records, count) ?: keep;
	crab_select(records, count, keep);
	*low = records[keep].key;
	return keep;
}
