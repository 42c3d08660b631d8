// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the structure modifications of sorted leaves.
 *
 * Invariant: as in engines/crab/smo.c.
 *
 * Locking: crab_tree.smo_lock, and the leaf.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/string.h>

#include "engines/crab/access.h"
#include "engines/crab/run.h"
#include "engines/crab/smo.h"
#include "engines/crab/verify.h"
#include "smo.h"

/* Reads the records in slots [@from, @end); returns the end of the records */
static struct crab_record *slots_read(const struct crab_tree *tree, const struct crab_leaf *leaf,
				      u32 from, u32 end, struct crab_record *to)
{
	const struct crab_dslot *d = crab_leaf_slot(tree, leaf, 0), *last = d + end;

	for (d += from; d < last; d++, to++)
		*to = crab_slot_settled(tree->base.media, d);
	return to;
}

/* Reads the records of @leaf into scratch, with @extra before @slot, or without @slot */
static u32 collect_changed(struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot,
			   const struct crab_record *extra)
{
	struct crab_record *to = slots_read(tree, leaf, 0, slot, tree->scratch);

	if (extra)
		*to++ = *extra;
	else
		slot++;
	return slots_read(tree, leaf, slot, leaf->count, to) - tree->scratch;
}

int crab_sorted_copy_leaf(struct crab_write *write, struct crab_leaf *leaf, u32 slot,
			  const struct crab_record *extra) __must_hold(&leaf->lock)
{
	struct crab_tree *tree = write->tree;
	struct crab_smo smo = { .n = 1 };
	u64 old = leaf->number;
	int err = crab_smo_take(tree, &smo, leaf, 0);
	u32 count;

	if (err)
		return err;
	count = collect_changed(tree, leaf, slot, extra);
	err = crab_smo_verify_records(tree, leaf, leaf->high, tree->scratch, count, tree->slots);
	if (err) {
		crab_pool_free(&tree->pool, smo.spare[0].leaf);
		return err;
	}
	crab_smo_number(write, &smo);
	smo.head[0].self = crab_leaf_offset(&tree->base.geo, smo.spare[0].leaf);
	smo.head[0].low = leaf->low;
	smo.head[0].next = crab_smo_last_word(tree, &smo, leaf);
	crab_sorted_store(write, smo.spare[0].leaf, &smo.head[0], tree->scratch, count);
	/* P7: the copy is whole before P8 links it */
	crab_fence(write->flow, CRAB_P7_FRESH);
	crab_smo_link(write, leaf->prev, crab_smo_first_word(tree, &smo));
	crab_leaf_begin(leaf);
	crab_sorted_firsts_fill(tree, leaf, tree->scratch, count);
	WRITE_ONCE(leaf->count, count);
	WRITE_ONCE(leaf->number, smo.spare[0].leaf);
	crab_leaf_end(leaf);
	crab_smo_release(write, old);
	return 0;
}

/* Index of the first record in scratch whose key is not below @key */
static u32 scratch_place(const struct crab_tree *tree, u32 count, u64 key)
{
	while (count && tree->scratch[count - 1].key >= key)
		count--;
	return count;
}

/*
 * Reads the records of @leaf and @extra into scratch, in order; returns their number. The media may
 * have the key of @extra now, and not when it was searched: then it is there twice.
 */
static u32 collect_with(struct crab_tree *tree, const struct crab_leaf *leaf,
			const struct crab_record *extra)
{
	u32 count = crab_layout_collect(tree, leaf, tree->scratch);
	u32 i = scratch_place(tree, count, extra->key);

	memmove(&tree->scratch[i + 1], &tree->scratch[i], (count - i) * sizeof(tree->scratch[0]));
	tree->scratch[i] = *extra;
	return count + 1;
}

int crab_sorted_split_right(struct crab_write *write, struct crab_leaf *leaf, u32 keep,
			    const struct crab_record *extra) __must_hold(&leaf->lock)
{
	struct crab_tree *tree = write->tree;
	const struct crab_record *moved = tree->scratch + keep;
	struct crab_smo smo;
	u32 count;
	int err;

	err = crab_smo_begin(write, &smo, leaf, 1, CRAB_POOL_RESERVE);
	if (err)
		return err;
	if (extra)
		count = collect_with(tree, leaf, extra) - keep;
	else
		count = crab_layout_collect(tree, leaf, tree->scratch) - keep;
	err = crab_smo_verify_records(tree, leaf, leaf->high, tree->scratch, keep + count,
				      keep + tree->slots);
	if (err)
		return crab_smo_abort(write, &smo, err);
	crab_smo_write(write, &smo, moved->key, moved, count, count, leaf);
	crab_smo_link(write, leaf, crab_smo_first_word(tree, &smo));
	crab_leaf_begin(leaf);
	crab_smo_splice(tree, &smo, leaf, leaf->next);
	crab_sorted_end(write, leaf, keep);
	WRITE_ONCE(leaf->count, keep);
	crab_underfull_touch(tree, leaf);
	crab_leaf_end(leaf);
	crab_index_insert(&tree->index, moved->key, crab_leaf_child(tree, smo.leaf[0]));
	WRITE_ONCE(tree->splits, tree->splits + 1);
	return 0;
}

bool crab_sorted_is_append(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
			   u64 *last) __must_hold(&leaf->lock)
{
	*last = crab_load_settled(tree->base.media,
				  &crab_leaf_slot(tree, leaf, leaf->count - 1)->key);
	return *last < key;		/* equal: a search was misled */
}

/* Returns how many of the records in scratch go to the first of two leaves; @key is new */
static u32 scratch_split(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 count,
			 u64 key)
{
	u32 pos = scratch_place(tree, count, key), above = count - 1 - pos;
	u64 lower = pos ? tree->scratch[pos - 1].key : leaf->low;
	u64 upper = above ? tree->scratch[pos + 1].key : leaf->high;

	return crab_run_split(key, lower, pos, upper, above) ?: (count + 1) / 2;
}

u32 crab_sorted_split(struct crab_tree *tree, const struct crab_leaf *leaf,
		      const struct crab_record *extra, u64 *low) __must_hold(&leaf->lock)
{
	u32 count = collect_with(tree, leaf, extra);
	u32 split = scratch_split(tree, leaf, count, extra->key);

	*low = tree->scratch[split].key;
	if (crab_smo_verify_records(tree, leaf, leaf->high, tree->scratch, count, count))
		*low = leaf->low;
	return split;
}

/* Keys that ascend are in the range if the first and the last are */
int crab_sorted_verify(struct crab_tree *tree, const struct crab_leaf *leaf, u64 high,
		       const struct crab_record *records, u32 count) __must_hold(&leaf->lock)
{
	const struct crab_record *end = records + count, *r;

	for (r = records + 1; r < end; r++)
		if (unlikely(r->key <= r[-1].key))
			return crab_smo_verify_failed(tree, leaf, "keys do not ascend");
	if (count && (records->key < leaf->low || end[-1].key >= high))
		return crab_smo_verify_failed(tree, leaf, "key outside its range");
	return 0;
}

/* The slot before the piece of @slot, from which on keys are compared */
static u32 shift_begin(const struct crab_tree *tree, u32 slot)
{
	u32 from = round_down(slot + CRAB_SORTED_HEADER, tree->piece_slots);

	return from - min(from, CRAB_SORTED_HEADER + 1);
}

static noinline int shift_refuse(struct crab_write *write, const struct crab_leaf *leaf)
	__must_hold(&leaf->lock)
{
	if (!crab_write_try_structure(write))
		return -EAGAIN;
	return crab_smo_verify_failed(write->tree, leaf, "keys do not ascend");
}

int crab_sorted_verify_shift(struct crab_write *write, const struct crab_leaf *leaf, u32 slot)
	__must_hold(&leaf->lock)
{
	u32 from = shift_begin(write->tree, slot);
	u64 high = READ_ONCE(leaf->high);	/* a change of the next leaf may set it meanwhile */

	if (likely(crab_sorted_tail_ascends(write->tree, leaf, from, high)))
		return 0;
	return shift_refuse(write, leaf);
}

int crab_sorted_verify_insert(struct crab_write *write, const struct crab_leaf *leaf, u32 slot,
			      u64 key) __must_hold(&leaf->lock)
{
	const struct crab_tree *tree = write->tree;
	u64 high = READ_ONCE(leaf->high);	/* see above */

	if (likely(crab_sorted_admits(tree, leaf, shift_begin(tree, slot), slot, key, high)))
		return 0;
	return shift_refuse(write, leaf);
}
