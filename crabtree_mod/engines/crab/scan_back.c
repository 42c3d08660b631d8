// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements scans in descending order. A scan reads the leaves from right to left, and
 * the lowest key of each leaf shows where the next one ends.
 *
 * Invariant: the records returned from one leaf belong to one state of it. The scan goes on below
 * the lowest key of the range that was read, so no record is returned twice or passed.
 *
 * Locking: access.c documents it. Descriptors are not followed from one to the previous: those
 * links change under crab_tree.smo_lock.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "access.h"
#include "layout.h"
#include "tree.h"

#define BACK_RUN	16U	/* leaves of one RCU section, at most */

/**
 * struct back - a scan under way
 * @at: the highest key not yet read; the reserved key: below the lowest key
 * @start: the lowest key wanted
 * @records: room for the next records
 * @cap: how many fit
 * @room: to sort a large leaf, or NULL
 */
struct back {
	u64 at;
	u64 start;
	struct crab_record *records;
	u32 cap;
	u16 *room;
};

static bool back_is_left(const struct back *back)
{
	return back->cap && back->at >= back->start && back->at != CRAB_KEY_EMPTY;
}

/* The scan after a leaf with the lowest key @low */
static void back_advance(struct back *back, u32 got, u64 low)
{
	back->records += got;
	back->cap -= got;
	back->at = low - 1;
}

/* To read the leaf that most likely holds a key, prefetched; without a leaf: there is none */
static struct crab_reader back_find(struct crab_tree *tree, u64 key)
{
	const void *child = crab_index_find(&tree->index, key);
	struct crab_reader reader = { };

	if (!child)
		return reader;
	reader = crab_layout_reader(tree, child);
	crab_layout_prefetch_scan(tree, reader.leaf, crab_leaf_of_media(tree, child), tree->slots);
	return reader;
}

/*
 * To read the leaf below @above, prefetched while the caller copies that one; without a leaf: the
 * scan most likely ends there
 */
static struct crab_reader back_fetch(struct crab_tree *tree, const struct back *back,
				     const struct crab_leaf *above, u64 low)
{
	if (low <= back->start || back->cap <= READ_ONCE(above->count))
		return (struct crab_reader) { };
	return back_find(tree, low - 1);
}

/* Reads a leaf that the index returned, without a lock; -EAGAIN: not valid */
static int back_try(struct crab_reader *reader, u64 low, struct back *back)
{
	struct crab_leaf *leaf = reader->leaf;
	int got;

	if (!crab_leaf_read_begin(leaf, back->at, &reader->seq) || READ_ONCE(leaf->low) != low)
		return -EAGAIN;
	got = crab_layout_scan_back(reader, back->start, back->at, back->records, back->cap,
				    back->room);
	if (!crab_leaf_read_valid(leaf, reader->seq))
		return -EAGAIN;
	if (got >= 0)
		back_advance(back, got, low);
	return got;
}

/* Reads consecutive leaves, as far as possible; -EAGAIN, -ENOBUFS: as of scan_run() */
static int back_run(struct crab_tree *tree, struct back *back)
{
	struct crab_reader reader, previous;
	u32 leaves = BACK_RUN;
	int got = -EAGAIN;
	u64 low;

	crab_rcu_enter();
	reader = back_find(tree, back->at);
	while (reader.leaf && leaves-- && back_is_left(back)) {
		low = READ_ONCE(reader.leaf->low);
		previous = back_fetch(tree, back, reader.leaf, low);
		got = back_try(&reader, low, back);
		if (got < 0)
			break;
		reader = previous;
	}
	crab_rcu_leave();
	return got;
}

/* Reads the leaf that holds @back->at */
static int back_leaf(struct crab_tree *tree, struct back *back)
{
	struct crab_reader reader = { .tree = tree };
	struct crab_leaf *leaf;
	u64 low = 0;
	int got;

	do {
		leaf = crab_reader_enter(&reader, back->at);
		got = PTR_ERR_OR_ZERO(leaf);
		if (got)
			continue;
		low = READ_ONCE(leaf->low);
		got = crab_layout_scan_back(&reader, back->start, back->at, back->records,
					    back->cap, back->room);
	} while (!crab_reader_leave(&reader));
	crab_reader_end(&reader);
	if (got == -EAGAIN)
		return crab_tree_doubt(tree, back->at);
	if (got >= 0)
		back_advance(back, got, low);
	return got;
}

int crab_tree_scan_back(struct crab_engine *engine, u64 start, u64 end,
			struct crab_record *records, u32 cap)
{
	struct back back = { .at = end, .start = start, .records = records, .cap = cap };
	struct crab_tree *tree = crab_tree_of(engine);
	int got = 0;

	while (got >= 0 && back_is_left(&back)) {
		got = back_run(tree, &back);
		if (got == -EAGAIN)
			got = back_leaf(tree, &back);
		if (got == -ENOBUFS) {
			back.room = kmalloc(2 * crab_order_bytes(tree), GFP_NOIO);
			got = back.room ? 0 : -ENOMEM;
		}
		if (crab_engine_breathe(&tree->base) && got >= 0)
			got = -EINTR;
	}
	kfree(back.room);
	if ((got == -EUCLEAN || got == -EINTR) && back.cap < cap)
		return cap - back.cap;	/* the next call begins here and returns it */
	return got < 0 ? got : (int)(cap - back.cap);
}
