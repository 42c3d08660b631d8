// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements stores to a node in place.
 */

/**
 * DOC: shifts of fastfair
 *
 * Slots are shifted in place, line by line (FAST, Hwang et al. 2018, section III-A, Algorithm 1).
 * The published rule takes a slot as void if its pointer equals that of its neighbour. Values of
 * users may be equal, so here keys decide:
 *
 *   R1  of two equal neighbouring keys the left one is void
 *   R2  a slot whose key is not below the lowest key of the next node is void
 *
 *   insert  shifts right, each value before its key; commits with the new key
 *   delete  shifts left, each key before its value; commits with its first key
 *   update  stores one word
 *
 * crab_order() keeps the stores to a line in order; under model L a power cut keeps that order. A
 * line that received a slot is durable before the line that the slot came from is overwritten
 * (P9). A shift to the right that needs a new end stores it first; if the end begins a line, it is
 * durable before the shift begins (P10), because the old words after it would become visible. The
 * published shift never cleans such an end, and never cleans the last line of a delete.
 *
 * So any cut leaves at most one void slot of R1 in one node. Attach serves it as it is, and repair
 * closes the gap.
 *
 * Before a write shifts, crab_ff_verify_shift() reads a key of each line that will move, for memory
 * that reads all ones would end the slots there. The shift reads them again, because there is no
 * room for a copy: each word twice. If the two loads differ, a third one counts.
 *
 * Invariant: crab_side.count is the number of slots before the end.
 *
 * Locking: the node is locked and in a write section, or it is an inner one under ff.structure.
 */
#include <linux/kernel.h>

#include "shift.h"

/* Stores one slot after all that was stored before, its value first or its key first */
static __always_inline void slot_store(struct crab_flow *flow, struct ff_dslot *to, u64 key,
				       u64 value, bool value_first)
{
	crab_order(flow);
	if (value_first) {
		crab_store(flow, &to->value, value);
		crab_order(flow);
		crab_store(flow, &to->key, key);
	} else {
		crab_store(flow, &to->key, key);
		crab_order(flow);
		crab_store(flow, &to->value, value);
	}
}

/* Stores the third loads if the first two differ: the old place is overwritten next */
static __always_inline void slot_copy(struct crab_flow *flow, struct ff_dslot *to,
				      const struct ff_dslot *from, bool value_first)
{
	u64 key = crab_load(flow->media, &from->key);
	u64 value = crab_load(flow->media, &from->value);

	barrier();
	if (unlikely(key + value - crab_load_again(flow->media, &from->key) -
		     crab_load_again(flow->media, &from->value))) {
		key = crab_load(flow->media, &from->key);
		value = crab_load(flow->media, &from->value);
	}
	slot_store(flow, to, key, value, value_first);
}

static __always_inline void slot_right(struct crab_flow *flow, struct ff_dslot *to)
{
	slot_copy(flow, to, to - 1, true);
}

static __always_inline void slot_left(struct crab_flow *flow, struct ff_dslot *to)
{
	slot_copy(flow, to, to + 1, false);
}

/* The line of @at will not be written again: durable before the neighbouring line is */
static __always_inline void line_done(struct crab_flow *flow, struct ff_dslot *at)
{
	crab_clean_word(flow, &at->key);
	/* P9: the line that received a slot, before its old place is overwritten */
	crab_fence(flow, CRAB_P9_SHIFTED);
}

/* The last fence of a change of one slot */
static void slot_done(struct ff_op *op, const struct ff_node *node)
{
	if (node->level) {
		/* P13: the entry is there, or gone, durably */
		crab_fence(op->flow, CRAB_P13_PARENT);
	} else {
		/* P6: the record is there, or gone, durably */
		crab_fence(op->flow, CRAB_P6_RECORD);
	}
}

/* Slot @end ends the slots, before slot @end - 1 is filled: or those of an earlier node count */
static void end_before(struct ff_op *op, const struct ff_node *node, u32 end)
{
	struct ff_dslot *at = ff_slot(op->ff, node->number, end);

	if (end >= op->ff->slots || crab_load_is(op->flow->media, &at->key, CRAB_KEY_EMPTY))
		return;
	crab_store(op->flow, &at->key, CRAB_KEY_EMPTY);
	if (!ff_begins_line(at))
		return;
	crab_clean_word(op->flow, &at->key);
	/* P10: the new end, before the slot in front of it hides the old one */
	crab_fence(op->flow, CRAB_P10_ENDED);
}

/* Adds what a loop has done. It has its own flow, so that the compiler leaves its counts out */
static __always_inline void flow_add(struct crab_flow *flow, u64 slots, unsigned long bytes)
{
	flow->orders += 2 * slots;
	flow->lines += bytes / CRAB_LINE;
	flow->fences += bytes / CRAB_LINE;
}

/* Copies the slots from @from to @to - 1 one slot to the right, the last one first */
static void slots_right(struct crab_flow *own, struct ff_dslot *from, struct ff_dslot *to)
{
	struct crab_flow flow = { .media = own->media };
	struct ff_dslot *line = ff_line(to);

	flow_add(own, to - from, (u8 *)line - (u8 *)ff_line(from));
	if (line > from) {
		for (; to >= line; to--)
			slot_right(&flow, to);
		line_done(&flow, line);
		while ((line -= FF_LINE_SLOTS) > from) {
			slot_right(&flow, line + 3);
			slot_right(&flow, line + 2);
			slot_right(&flow, line + 1);
			slot_right(&flow, line);
			line_done(&flow, line);
		}
		to = line + 3;
	}
	for (; to > from; to--)
		slot_right(&flow, to);
}

/* Copies the slots from @to + 1 to @end one slot to the left, the first one first */
static void slots_left(struct crab_flow *own, struct ff_dslot *to, struct ff_dslot *end)
{
	struct crab_flow flow = { .media = own->media };
	struct ff_dslot *line = ff_line(end);

	flow_add(own, end - to, (u8 *)line - (u8 *)ff_line(to));
	if (to < line) {
		do
			slot_left(&flow, to);
		while (!ff_begins_line(++to));
		line_done(&flow, to - 1);
		for (; to < line; to += FF_LINE_SLOTS) {
			slot_left(&flow, to);
			slot_left(&flow, to + 1);
			slot_left(&flow, to + 2);
			slot_left(&flow, to + 3);
			line_done(&flow, to + 3);
		}
	}
	for (; to < end; to++)
		slot_left(&flow, to);
}

void crab_ff_shift_in(struct ff_op *op, const struct ff_node *node, u32 pos, u64 key, u64 value)
{
	struct ff_dslot *slot = ff_slot(op->ff, node->number, 0);
	u32 count = node->side->count;

	crab_prefetchw_range(&slot[pos], (count + 1 - pos) * sizeof(*slot));
	end_before(op, node, count + 1);
	slots_right(op->flow, &slot[pos], &slot[count]);
	slot_store(op->flow, &slot[pos], key, value, true);
	crab_clean_word(op->flow, &slot[pos].key);
	WRITE_ONCE(node->side->count, count + 1);
	slot_done(op, node);
}

void crab_ff_shift_out(struct ff_op *op, const struct ff_node *node, u32 pos)
{
	struct ff_dslot *slot = ff_slot(op->ff, node->number, 0);
	u32 last = node->side->count - 1;

	crab_prefetchw_range(&slot[pos], (last + 1 - pos) * sizeof(*slot));
	slots_left(op->flow, &slot[pos], &slot[last]);
	crab_order(op->flow);
	crab_store(op->flow, &slot[last].key, CRAB_KEY_EMPTY);
	crab_clean_word(op->flow, &slot[last].key);
	WRITE_ONCE(node->side->count, last);
	slot_done(op, node);
}

void crab_ff_update(struct ff_op *op, const struct ff_node *node, u32 pos, u64 value)
{
	struct ff_dslot *slot = ff_slot(op->ff, node->number, pos);

	crab_store(op->flow, &slot->value, value);
	crab_clean(op->flow, &slot->value, sizeof(slot->value));
	/* P6: the new value is durable; before it, either value may be found */
	crab_fence(op->flow, CRAB_P6_RECORD);
}

void crab_ff_end(struct ff_op *op, const struct ff_node *node, u32 pos)
{
	struct ff_dslot *slot = ff_slot(op->ff, node->number, pos);

	crab_store(op->flow, &slot->key, CRAB_KEY_EMPTY);
	crab_clean(op->flow, &slot->key, sizeof(slot->key));
	WRITE_ONCE(node->side->count, pos);
	/* P10: the slots from here on are in the next node, and were void already */
	crab_fence(op->flow, CRAB_P10_ENDED);
}

void crab_ff_append(struct ff_op *op, const struct ff_node *node, const struct ff_node *from)
{
	u32 at = node->side->count, n = from->side->count, end = at + n, i;
	struct ff_dslot *slot = ff_slot(op->ff, node->number, 0);
	struct ff_dslot *other = ff_slot(op->ff, from->number, 0);
	struct crab_media *media = op->flow->media;

	for (i = 1; i < n; i++) {
		crab_store(op->flow, &slot[at + i].value, crab_load(media, &other[i].value));
		crab_store(op->flow, &slot[at + i].key, crab_load(media, &other[i].key));
	}
	if (end < op->ff->slots)
		crab_store(op->flow, &slot[end].key, CRAB_KEY_EMPTY);
	if (n > 1 || end < op->ff->slots) {
		crab_clean(op->flow, &slot[at + 1], (n - 1) * sizeof(*slot) +
			   (end < op->ff->slots ? sizeof(slot->key) : 0));
		/* P11: all but the first, and the end, before the first reveals them */
		crab_fence(op->flow, CRAB_P11_APPENDED);
	}
	slot_copy(op->flow, &slot[at], other, true);
	crab_clean(op->flow, &slot[at], sizeof(*slot));
	WRITE_ONCE(node->side->count, end);
	/* P6: the slots are there; they are void until the other node is bypassed */
	crab_fence(op->flow, CRAB_P6_RECORD);
}

void crab_ff_link(struct ff_op *op, const struct ff_node *node, u64 link)
{
	__le64 *next = &ff_media(op->ff, node->number)->head.next;

	crab_store(op->flow, next, link);
	crab_clean(op->flow, next, sizeof(*next));
	/* P8: the list is durable, before an entry names the next node or a bypassed one is free */
	crab_fence(op->flow, CRAB_P8_LINKED);
}
