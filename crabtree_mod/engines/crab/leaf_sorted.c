// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements a leaf of the layout `sorted`: the leaf of seed 000.
 *
 * DOC: sorted leaves
 *
 * Records stand sorted and dense from slot 0 and end at the first slot with the
 * reserved key, so that no counter has to be kept (the published tree spends a
 * line and a fence on it in every write). They are found by binary search
 * (section 4.3), of which the first steps are in DRAM: a leaf is searched in pieces, lines
 * or powers of two of them, and the descriptor has the first key of each. They are shifted
 * in place, SIP, line by line (section 4.2, Algorithm 1, lines 23-31; section 4.4):
 *
 *   insert  shifts right, each value before its key; commits with the new key
 *   delete  shifts left, each key before its value; commits with its first key
 *
 * Key and value are kept in order by crab_order(), or are stored as one event of
 * 16 bytes (section 5.3). A line that received a record is durable before the
 * line that the record came from is overwritten (P9).
 *
 * The published recovery knows a torn shift by equal values and by null values.
 * Users may store equal values and zero, so here keys, which are unique, say it:
 * of two equal neighbouring keys the left one is void. One rule for both
 * directions. A search takes the last of equal keys, so a read-only attach serves
 * a torn leaf as it is; repair closes the gap over the left twin.
 *
 * An append that would meet junk behind the end moves the end first (P10).
 *
 * The second rule is for splits, merges and redistributions, which write a record
 * to its new leaf before they take it from the old one: records at or above the
 * first key of the next leaf that is not empty are void. For that reason the
 * `low` in the header of a sorted leaf is a birth mark only; what counts is the
 * first key.
 *
 * All of this needs model L: stores to one line that were kept in order persist
 * in order. Under model W a shift can lose a record; `slotted` cannot.
 *
 * Invariants: without a twin, slots [0, count) are the records. The first keys in DRAM are
 * those on the media, CRAB_KEY_EMPTY behind the end, except within a write section.
 *
 * Locking: access.c tells it.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>

#include "smo.h"

#define SORTED_HEADER	3U	/* slots that would have room where the header is */
#define SORTED_LINE	4U	/* slots of a line */

static_assert(offsetof(struct crab_dleaf, slots[SORTED_LINE - SORTED_HEADER]) == CRAB_LINE);

/* Slots that are searched: the records, and the void twin if there is one */
static u32 sorted_extent(const struct crab_leaf *leaf)
{
	return READ_ONCE(leaf->count) + (leaf->twin != CRAB_LEAF_NO_TWIN);
}

u32 crab_sorted_next(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot)
{
	slot += slot == leaf->twin;
	return slot < sorted_extent(leaf) ? slot : tree->slots;
}

void crab_sorted_pieces(struct crab_tree *tree, u32 leaf_bytes)
{
	tree->pieces = min(leaf_bytes / CRAB_LINE, CRAB_SORTED_PIECES);
	tree->piece_slots = leaf_bytes / tree->pieces / sizeof(struct crab_dslot);
}

/* The first slot of a piece; the first one begins with the header */
static u32 piece_slot(const struct crab_tree *tree, u32 piece)
{
	return piece ? piece * tree->piece_slots - SORTED_HEADER : 0;
}

/* A key came to stand in a slot */
static void leaf_first(const struct crab_tree *tree, struct crab_leaf *leaf, u32 slot, u64 key)
{
	u32 at = slot + SORTED_HEADER;

	if (!(at & (tree->piece_slots - 1)))
		WRITE_ONCE(crab_sorted_firsts(leaf)[at / tree->piece_slots], key);
}

/* The records end before a slot */
static void leaf_firsts_end(const struct crab_tree *tree, struct crab_leaf *leaf, u32 slot)
{
	u32 piece = tree->pieces;

	while (--piece && piece_slot(tree, piece) >= slot)
		WRITE_ONCE(crab_sorted_firsts(leaf)[piece], CRAB_KEY_EMPTY);
}

void crab_sorted_init(const struct crab_tree *tree, struct crab_leaf *leaf)
{
	leaf->twin = CRAB_LEAF_NO_TWIN;
	leaf_firsts_end(tree, leaf, 0);
}

bool crab_sorted_is_known(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 piece)
{
	u32 slot = piece_slot(tree, piece);
	u64 key = slot < sorted_extent(leaf) ? crab_leaf_key(tree, leaf, slot) : CRAB_KEY_EMPTY;

	return crab_sorted_firsts(leaf)[piece] == (piece ? key : 0);
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

/* The other lines of a piece than the one that is read first */
static void piece_fetch(const struct crab_dslot *line, u32 slots)
{
	const struct crab_dslot *end = line + slots;

	while ((line += SORTED_LINE) < end)
		prefetch(line);
}

/* A leaf as if the header were slots as well, which makes pieces of equal size */
static const struct crab_dslot *leaf_places(const struct crab_tree *tree,
					    const struct crab_leaf *leaf)
{
	return (const struct crab_dslot *)crab_leaf_media(tree, READ_ONCE(leaf->number));
}

/*
 * Of these places the last one with a key not above @key; one in the header if there is none. No
 * branch depends on a key: the next search begins while this one waits for memory. Each
 * key that is read is a record's, but for a leaf that has none.
 */
static __always_inline u32 sorted_last(const struct crab_tree *tree, const struct crab_leaf *leaf,
				       const struct crab_dslot *places, u64 key)
{
	u32 end = sorted_extent(leaf) + SORTED_HEADER - 1, step = tree->piece_slots, to;
	u32 at = leaf_piece(tree, leaf, key) * step;

	if (step > SORTED_LINE)
		piece_fetch(&places[at], step);
	while (step /= 2) {
		to = min(max(at + step, SORTED_HEADER), end);
		at = crab_load(tree->base.media, &places[to].key) <= key ? at + step : at;
	}
	return min(at, end);
}

u32 crab_sorted_place(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key)
{
	u32 at = sorted_last(tree, leaf, leaf_places(tree, leaf), key);

	return max(at + 1, SORTED_HEADER) - SORTED_HEADER;
}

/* Shared, for readers meet in a leaf */
void crab_sorted_fetch(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slots)
{
	const struct crab_dslot *line = leaf_places(tree, leaf);
	const struct crab_dslot *end = line + SORTED_HEADER + slots;

	for (; line < end; line += SORTED_LINE)
		prefetch(line);
}

u32 crab_sorted_place_moving(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
			     bool removes)
{
	u32 pos;

	if (removes)
		crab_sorted_fetch(tree, leaf, sorted_extent(leaf));
	pos = crab_sorted_place(tree, leaf, key);
	if (!removes && !crab_sorted_is_at(tree, leaf, pos, key))
		crab_sorted_fetch(tree, leaf, sorted_extent(leaf));
	return pos;
}

int crab_sorted_find(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key)
{
	u32 above = crab_sorted_place(tree, leaf, key);

	return crab_sorted_is_at(tree, leaf, above, key) ? (int)above - 1 : -1;
}

bool crab_sorted_lookup(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
			u64 *value)
{
	const struct crab_dslot *places = leaf_places(tree, leaf);
	u32 at = sorted_last(tree, leaf, places, key);

	if (at < SORTED_HEADER || crab_load(tree->base.media, &places[at].key) != key)
		return false;
	*value = crab_load(tree->base.media, &places[at].value);
	return true;
}

int crab_sorted_scan(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 start, u64 end,
		     struct crab_record *records, u32 cap)
{
	u32 extent = sorted_extent(leaf), slot, count = 0;
	struct crab_record record;

	slot = start ? crab_sorted_place(tree, leaf, start - 1) : 0;
	for (; slot < extent && count < cap; slot++) {
		record = crab_leaf_record(tree, leaf, slot);
		if (record.key > end)
			break;
		if (slot != leaf->twin)
			records[count++] = record;
	}
	return count;
}

static bool same_line(const void *a, const void *b)
{
	return (((unsigned long)a ^ (unsigned long)b) & ~(CRAB_LINE - 1UL)) == 0;
}

/*
 * One record to @to, behind all that was stored before: its value first for a
 * shift to the right, its key first to the left
 */
static void slot_store(struct crab_write *write, struct crab_dslot *to,
		       struct crab_record record, bool value_first)
{
	struct crab_flow *flow = write->flow;

	crab_order(flow);
	if (write->tree->base.tuning.pair && crab_pair_is_atomic()) {
		crab_store_pair(flow, &to->key, record.key, record.value);
	} else if (value_first) {
		crab_store(flow, &to->value, record.value);
		crab_order(flow);
		crab_store(flow, &to->key, record.key);
	} else {
		crab_store(flow, &to->key, record.key);
		crab_order(flow);
		crab_store(flow, &to->value, record.value);
	}
}

/* The line of @at will not be written again: durable before the neighbour's is */
static void line_done(struct crab_write *write, struct crab_dslot *at)
{
	crab_clean(write->flow, at, sizeof(*at));
	/* P9: the line that received a record, before its old place is overwritten */
	crab_fence(write->flow, CRAB_P9_SHIFTED);
}

/* The slot behind the last record must end them before slot @count is filled */
static void end_before_append(struct crab_write *write, struct crab_leaf *leaf, u32 count)
{
	const struct crab_tree *tree = write->tree;
	struct crab_dslot *last = crab_leaf_slot(tree, leaf, count - 1);
	struct crab_dslot *end = last + 1;

	if (count >= tree->slots || crab_load(tree->base.media, &end->key) == CRAB_KEY_EMPTY)
		return;
	crab_store(write->flow, &end->key, CRAB_KEY_EMPTY);
	if (same_line(last, end))
		return;
	crab_clean(write->flow, &end->key, sizeof(end->key));
	/* P10: the new end, before the record in front of it hides the old one */
	crab_fence(write->flow, CRAB_P10_ENDED);
}

void crab_sorted_shift_in(struct crab_write *write, struct crab_leaf *leaf, u32 pos,
			  u64 key, u64 value)
{
	const struct crab_tree *tree = write->tree;
	struct crab_record record = { .key = key, .value = value }, moved;
	struct crab_dslot *d = crab_leaf_slot(tree, leaf, 0);
	u32 i;

	crab_prefetchw_range(&d[pos], (leaf->count - pos + 1) * sizeof(*d));
	end_before_append(write, leaf, leaf->count + 1);
	for (i = leaf->count; i > pos; i--) {
		moved = crab_leaf_record(tree, leaf, i - 1);
		slot_store(write, &d[i], moved, true);
		if (same_line(&d[i], &d[i - 1]))
			continue;
		line_done(write, &d[i]);
		leaf_first(tree, leaf, i, moved.key);
	}
	slot_store(write, &d[pos], record, true);
	crab_clean(write->flow, &d[pos], sizeof(d[pos]));
	leaf_first(tree, leaf, pos, key);
	WRITE_ONCE(leaf->count, leaf->count + 1);
	/* P6: the new key is durable, and with it the record */
	crab_fence(write->flow, CRAB_P6_RECORD);
}

void crab_sorted_shift_out(struct crab_write *write, struct crab_leaf *leaf, u32 pos)
{
	const struct crab_tree *tree = write->tree;
	struct crab_dslot *d = crab_leaf_slot(tree, leaf, 0);
	u32 i, last = sorted_extent(leaf) - 1;
	struct crab_record moved;

	crab_prefetchw_range(&d[pos], (last - pos + 1) * sizeof(*d));
	for (i = pos; i < last; i++) {
		moved = crab_leaf_record(tree, leaf, i + 1);
		slot_store(write, &d[i], moved, false);
		leaf_first(tree, leaf, i, moved.key);
		if (!same_line(&d[i], &d[i + 1]))
			line_done(write, &d[i]);
	}
	crab_order(write->flow);
	crab_store(write->flow, &d[last].key, CRAB_KEY_EMPTY);
	crab_clean(write->flow, &d[last], sizeof(d[last]));
	leaf_firsts_end(tree, leaf, last);
	WRITE_ONCE(leaf->count, last);
	/* P6: the record is gone durably, and no slot is a twin any more */
	crab_fence(write->flow, CRAB_P6_RECORD);
}

void crab_sorted_end(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
{
	const struct crab_tree *tree = write->tree;
	struct crab_dslot *end = crab_leaf_slot(tree, leaf, slot);

	crab_store(write->flow, &end->key, CRAB_KEY_EMPTY);
	crab_clean(write->flow, &end->key, sizeof(end->key));
	leaf_firsts_end(tree, leaf, slot);
	/* P10: what is behind the end stands elsewhere and was void already */
	crab_fence(write->flow, CRAB_P10_ENDED);
}

void crab_sorted_append(struct crab_write *write, struct crab_leaf *leaf,
			const struct crab_record *records, u32 count)
{
	const struct crab_tree *tree = write->tree;
	struct crab_dslot *d = crab_leaf_slot(tree, leaf, leaf->count);
	struct crab_flow *flow = write->flow;
	u32 end = leaf->count + count, i;

	for (i = 0; i < count; i++)
		leaf_first(tree, leaf, leaf->count + i, records[i].key);
	for (i = 1; i < count; i++) {
		crab_store(flow, &d[i].value, records[i].value);
		crab_store(flow, &d[i].key, records[i].key);
	}
	if (end < tree->slots)
		crab_store(flow, &d[count].key, CRAB_KEY_EMPTY);
	if (count > 1 || end < tree->slots) {
		crab_clean(flow, &d[1].key, (count - 1) * sizeof(*d) +
			   (end < tree->slots ? sizeof(d->key) : 0));
		/* P11: all but the first and the end are there before the first reveals them */
		crab_fence(flow, CRAB_P11_APPENDED);
	}
	slot_store(write, &d[0], records[0], true);
	crab_clean(flow, &d[0], sizeof(d[0]));
	WRITE_ONCE(leaf->count, end);
	/* P6: the first key reveals the others */
	crab_fence(flow, CRAB_P6_RECORD);
}

/* Into a fresh leaf, slot after slot; a line that is full is on its way out from then on */
static void fresh_store(struct crab_flow *flow, struct crab_dslot *slot, struct crab_record record)
{
	crab_store(flow, &slot->key, record.key);
	crab_store(flow, &slot->value, record.value);
	if (!same_line(slot, slot + 1))
		crab_clean(flow, slot, sizeof(*slot));
}

/* The records of a fresh leaf end before @slot; its last line is on its way out too */
static void fresh_end(struct crab_write *write, struct crab_dleaf *d, u32 slot)
{
	const struct crab_tree *tree = write->tree;
	if (slot == tree->slots)
		return;
	crab_store(write->flow, &d->slots[slot].key, CRAB_KEY_EMPTY);
	crab_clean(write->flow, &d->slots[slot].key, sizeof(d->slots[slot].key));
}

void crab_sorted_fresh(struct crab_write *write, const struct crab_spare *spare,
		       struct crab_head *head, const struct crab_record *records, u32 count,
		       struct crab_leaf *leaf)
{
	const struct crab_tree *tree = write->tree;
	struct crab_dleaf *d = crab_leaf_media(tree, spare->leaf);
	struct crab_flow *flow = write->flow;
	u32 i;

	crab_head_store(flow, tree->base.geo.store_id, head);
	for (i = 0; i < count; i++) {
		fresh_store(flow, &d->slots[i], records[i]);
		leaf_first(tree, leaf, i, records[i].key);
	}
	fresh_end(write, d, count);
	leaf->count = count;
}

void crab_sorted_copy(struct crab_write *write, const struct crab_leaf *leaf,
		      const struct crab_head *head, u64 number, u32 slot,
		      const struct crab_record *rider)
{
	const struct crab_tree *tree = write->tree;
	struct crab_dleaf *d = crab_leaf_media(tree, number);
	struct crab_flow *flow = write->flow;
	u32 from, to = 0;

	crab_head_store(flow, tree->base.geo.store_id, head);
	for (from = 0; from < slot; from++)
		fresh_store(flow, &d->slots[to++], crab_leaf_record(tree, leaf, from));
	if (rider)
		fresh_store(flow, &d->slots[to++], *rider);
	else
		from++;
	for (; from < leaf->count; from++)
		fresh_store(flow, &d->slots[to++], crab_leaf_record(tree, leaf, from));
	fresh_end(write, d, to);
}

void crab_sorted_copied(const struct crab_tree *tree, struct crab_leaf *leaf, u64 number,
			u32 slot, const struct crab_record *rider)
{
	u32 count = rider ? leaf->count + 1 : leaf->count - 1, piece, at;
	u64 key;

	for (piece = tree->pieces - 1; piece; piece--) {
		at = piece_slot(tree, piece);
		if (at < slot)
			break;
		if (at >= count)
			key = CRAB_KEY_EMPTY;
		else if (rider)
			key = at == slot ? rider->key : crab_leaf_key(tree, leaf, at - 1);
		else
			key = crab_leaf_key(tree, leaf, at + 1);
		WRITE_ONCE(crab_sorted_firsts(leaf)[piece], key);
	}
	WRITE_ONCE(leaf->count, count);
	WRITE_ONCE(leaf->number, number);
}

/*
 * Attach: one twin at the most, keys otherwise ascending. crab_leaf.count is all
 * records, those included that crab_sorted_overlap() will find void.
 */
void crab_sorted_read(const struct crab_tree *tree, struct crab_leaf *leaf,
		      struct crab_damage *damage)
{
	u64 key, prev = 0;
	u32 slot;

	for (slot = 0; slot < tree->slots; slot++, prev = key) {
		key = crab_leaf_key(tree, leaf, slot);
		if (key == CRAB_KEY_EMPTY)
			break;
		leaf_first(tree, leaf, slot, key);
		if (!slot || key > prev)
			continue;
		if (key == prev && leaf->twin == CRAB_LEAF_NO_TWIN) {
			leaf->twin = slot - 1;
			leaf->torn++;
			continue;
		}
		crab_leaf_condemn(tree, leaf, damage, slot, key < prev ? "keys do not ascend" :
				  "more than one record was being shifted");
		break;
	}
	leaf->count = slot - (leaf->twin != CRAB_LEAF_NO_TWIN);
}

/* The first key of a leaf, or CRAB_KEY_EMPTY: in a sorted leaf it is in the header's line */
static u64 first_key(const struct crab_tree *tree, const struct crab_leaf *leaf)
{
	return crab_leaf_key(tree, leaf, 0);
}

void crab_sorted_overlap(struct crab_tree *tree, struct crab_leaf *leaf,
			 const struct crab_leaf *behind)
{
	u32 extent = sorted_extent(leaf), keep, slot;
	u64 bound = first_key(tree, behind);

	if (!extent || leaf->bad || crab_leaf_key(tree, leaf, extent - 1) < bound)
		return;
	keep = bound ? crab_sorted_place(tree, leaf, bound - 1) : 0;
	/* In quarantine nobody knows what is there: those keys get -EUCLEAN, as all of it */
	for (slot = keep; slot < extent && !behind->bad; slot++) {
		if (crab_sorted_find(tree, behind, crab_leaf_key(tree, leaf, slot)) < 0) {
			crab_leaf_condemn(tree, leaf, &tree->base.damage, slot,
					  "key belongs to a leaf behind this one");
			return;
		}
	}
	leaf->torn += extent - keep;
	leaf_firsts_end(tree, leaf, keep);
	if (leaf->twin != CRAB_LEAF_NO_TWIN && leaf->twin + 1 >= keep)
		leaf->twin = CRAB_LEAF_NO_TWIN;
	leaf->count = keep - (leaf->twin != CRAB_LEAF_NO_TWIN);
}

void crab_sorted_complete(struct crab_write *write, struct crab_leaf *leaf)
{
	struct crab_tree *tree = write->tree;
	u32 extent = sorted_extent(leaf);

	if (extent < tree->slots && crab_leaf_key(tree, leaf, extent) != CRAB_KEY_EMPTY)
		crab_sorted_end(write, leaf, extent);
	if (leaf->twin != CRAB_LEAF_NO_TWIN)
		crab_sorted_shift_out(write, leaf, leaf->twin);
	leaf->twin = CRAB_LEAF_NO_TWIN;
	tree->repairs += leaf->torn;
	leaf->torn = 0;
}
