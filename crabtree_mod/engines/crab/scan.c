// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements reads of several keys: seek, scan, and the search for the end of a
 * quarantined range.
 *
 * Invariant: the records returned from one leaf belong to one state of it.
 *
 * Locking: access.c documents it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "access.h"
#include "layout.h"
#include "shared/shortcut.h"
#include "tree.h"

#define SCAN_AHEAD	4U	/* leaves that a scan prefetches at a time */
#define SCAN_SLOTS	256U	/* slots of each, at most */

/* The record nearest to @key in one leaf; -ENOENT, or -ERANGE if a key is not of the range */
static int leaf_seek(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
		     enum crab_seek_dir dir, struct crab_record *best)
{
	u64 low = READ_ONCE(leaf->low), span = READ_ONCE(leaf->high) - low, at;
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	u32 slot, nearest = tree->slots;

	crab_leaf_for_each(tree, leaf, slot) {
		at = crab_load_settled(tree->base.media, &slots[slot].key);
		if (at - low >= span)
			return -ERANGE;
		if (crab_seek_is_before(dir, at, key))
			continue;
		if (nearest < tree->slots &&
		    (dir == CRAB_SEEK_GE ? at > best->key : at < best->key))
			continue;
		best->key = at;
		nearest = slot;
	}
	if (nearest == tree->slots)
		return -ENOENT;
	best->value = crab_load(tree->base.media, &slots[nearest].value);
	return 0;
}

/*
 * The record nearest to @at in the leaf that holds it; -ENOENT: go on at @at, which is then
 * the nearest key of the neighbour's, unless @end
 */
static int seek_leaf(struct crab_tree *tree, u64 *at, enum crab_seek_dir dir,
		     struct crab_record *record, bool *end)
{
	struct crab_reader reader = { .tree = tree };
	struct crab_leaf *leaf;
	u64 next = 0;
	int err;

	do {
		leaf = crab_reader_enter(&reader, *at);
		err = PTR_ERR_OR_ZERO(leaf);
		if (err)
			continue;
		err = leaf_seek(tree, leaf, *at, dir, record);
		next = dir == CRAB_SEEK_GE ? READ_ONCE(leaf->high) : READ_ONCE(leaf->low) - 1;
	} while (!crab_reader_leave(&reader));
	crab_reader_end(&reader);
	if (err == -ERANGE)
		return crab_tree_doubt(tree, *at);
	*at = next;
	*end = next == CRAB_KEY_EMPTY;		/* also below the lowest key */
	return err;
}

int crab_tree_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		   struct crab_record *record)
{
	struct crab_tree *tree = crab_tree_of(engine);
	bool end;
	int err;

	for (;;) {
		err = seek_leaf(tree, &key, dir, record, &end);
		if (err != -ENOENT || end)
			return err;
		if (crab_engine_breathe(&tree->base))
			return -EINTR;
	}
}

/* Estimates how many records are not before @at, if they are spread evenly over the range */
static u32 scan_share(const struct crab_leaf *leaf, u32 count, u64 at)
{
	u64 high = READ_ONCE(leaf->high), range = high - READ_ONCE(leaf->low);
	u32 shift = max(fls64(range), 16) - 16;

	return count * (u32)((high - at) >> shift) / max((u32)(range >> shift), 1U);
}

/* As many leaves, each full to 3/4, as have no more than @cap records, and one more */
static u32 scan_leaves(const struct crab_tree *tree, u32 cap)
{
	return 1 + cap / max(tree->slots * 3 / 4, 1U);
}

/* Finds the leaves of the keys from @at on, at least @wanted of them if there are as many */
static u32 scan_find(const struct crab_tree *tree, u64 at, u32 wanted, void **children)
{
	u32 n = crab_shortcut_find_run(&tree->index, at, SCAN_AHEAD, children);

	if (likely(n >= wanted))
		return n;
	return crab_index_find_run(&tree->index, at, SCAN_AHEAD, children);
}

/*
 * Prefetches the leaves that hold the next @cap records; returns their number. Their places are
 * found with them, so that the first ones need not wait for their descriptors.
 */
static u32 scan_fetch(struct crab_tree *tree, u64 at, u32 cap, struct crab_reader *readers)
{
	void *children[SCAN_AHEAD];
	u32 wanted = min(scan_leaves(tree, cap), SCAN_AHEAD), n, i, count, blind;

	n = scan_find(tree, at, wanted, children);
	for (i = 0; i < n; i++)
		readers[i] = crab_layout_reader(tree, children[i]);
	blind = crab_layout_is_blind(tree) ? min(n, wanted) : 0;
	for (i = 0; i < blind; i++)
		crab_layout_prefetch_scan(tree, readers[i].leaf,
					  crab_leaf_of_media(tree, children[i]), 0);
	for (i = 0; i < n && cap; i++) {
		count = READ_ONCE(readers[i].leaf->count);
		if (i >= blind)
			crab_layout_prefetch_scan(tree, readers[i].leaf,
						  crab_leaf_of_media(tree, children[i]),
						  min(count, SCAN_SLOTS));
		cap -= min(cap, i ? count : scan_share(readers[i].leaf, count, at));
	}
	return i;
}

/* As scan_leaf(), of a leaf that scan_fetch() returned; it does not sleep. -EAGAIN: not valid */
static int scan_try(struct crab_reader *reader, u64 *at, u64 end, struct crab_record *records,
		    u32 cap, u16 *room)
{
	struct crab_leaf *leaf = reader->leaf;
	u64 high;
	int got;

	if (!crab_leaf_read_begin(leaf, *at, &reader->seq))
		return -EAGAIN;
	got = crab_layout_scan(reader, *at, end, records, cap, room);
	high = READ_ONCE(leaf->high);
	if (!crab_leaf_read_valid(leaf, reader->seq))
		return -EAGAIN;
	if (got >= 0)
		*at = high;
	return got;
}

/* Returns the records of the leaf of @at, all of one state; @at advances to the next leaf */
static int scan_leaf(struct crab_tree *tree, u64 *at, u64 end, struct crab_record *records,
		     u32 cap, u16 *room)
{
	struct crab_reader reader = { .tree = tree };
	struct crab_leaf *leaf;
	u64 next = 0;
	int got;

	do {
		leaf = crab_reader_enter(&reader, *at);
		got = PTR_ERR_OR_ZERO(leaf);
		if (got)
			continue;
		got = crab_layout_scan(&reader, *at, end, records, cap, room);
		next = READ_ONCE(leaf->high);
	} while (!crab_reader_leave(&reader));
	crab_reader_end(&reader);
	if (got == -EAGAIN)
		return crab_tree_doubt(tree, *at);
	if (got >= 0)
		*at = next;
	return got;
}

/*
 * Returns the records of consecutive leaves, from that of @at on, as far as possible;
 * -EAGAIN: not by itself, -ENOBUFS: not without @room
 */
static int scan_run(struct crab_tree *tree, u64 *at, u64 end, struct crab_record *records, u32 cap,
		    u16 *room, u32 *count)
{
	struct crab_reader readers[SCAN_AHEAD];
	int got = -EAGAIN;
	u32 n, i;

	crab_rcu_enter();
	n = scan_fetch(tree, *at, cap - *count, readers);
	for (i = 0; i < n && *count < cap && *at <= end; i++) {
		got = scan_try(&readers[i], at, end, records + *count, cap - *count, room);
		if (got < 0)
			break;
		*count += got;
	}
	crab_rcu_leave();
	return got;
}

int crab_tree_scan(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records,
		   u32 cap)
{
	struct crab_tree *tree = crab_tree_of(engine);
	u16 *room = NULL;
	u32 count = 0;
	int got = 0;

	while (count < cap && start <= end) {
		got = scan_run(tree, &start, end, records, cap, room, &count);
		if (got == -EAGAIN) {
			got = scan_leaf(tree, &start, end, records + count, cap - count, room);
			count += max(got, 0);
		}
		if (got == -ENOBUFS) {
			room = kmalloc(2 * crab_order_bytes(tree), GFP_NOIO);
			got = room ? 0 : -ENOMEM;
		}
		/* Between two leaves, not after the last one */
		if (got >= 0 && count < cap && start <= end && crab_engine_breathe(&tree->base))
			got = -EINTR;
		if (got < 0)
			break;
	}
	kfree(room);
	if ((got == -EUCLEAN || got == -EINTR) && count)
		return count;	/* the next call begins here and returns it */
	return got < 0 ? got : (int)count;
}

/* The nearest key of the leaf after the one of a reader; the reserved key: there is none */
static u64 beyond_next(const struct crab_leaf *leaf, u64 at, enum crab_seek_dir dir)
{
	u64 low, high;

	if (!leaf)
		return CRAB_KEY_EMPTY;
	low = READ_ONCE(leaf->low);
	high = READ_ONCE(leaf->high);
	if (dir == CRAB_SEEK_LE)
		return (at < high ? low : high) - 1;
	return high > at ? high : CRAB_KEY_EMPTY;	/* in no leaf: to the end, once */
}

/* Is the leaf that holds @at quarantined? @at goes on to the next leaf */
static bool beyond_leaf(struct crab_tree *tree, u64 *at, enum crab_seek_dir dir)
{
	struct crab_reader reader = { .tree = tree };
	struct crab_leaf *leaf;
	u64 next;

	do {
		leaf = crab_reader_enter(&reader, *at);
		next = beyond_next(reader.leaf, *at, dir);
	} while (!crab_reader_leave(&reader));
	crab_reader_end(&reader);
	*at = next;
	return IS_ERR(leaf);
}

/* A walk that is stopped returns a key of the range, where the next scan gets -EUCLEAN again */
u64 crab_tree_beyond(struct crab_engine *engine, u64 key, enum crab_seek_dir dir)
{
	struct crab_tree *tree = crab_tree_of(engine);
	u64 at = key;
	bool bad = false;

	do {
		key = at;
		if (beyond_leaf(tree, &at, dir))
			bad = true;
		else if (bad)
			return key;
	} while (at != CRAB_KEY_EMPTY && !crab_engine_breathe(&tree->base));
	return at;
}
