// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements all reads of the layout `eadr`.
 *
 * Invariant: a read stores nothing that other tasks read. The keys returned from one leaf belong to
 * one state of it.
 *
 * Locking: none; RCU from the search for a leaf to the last access to it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "engines/select.h"
#include "slots.h"

/* A read of one leaf, if there is one for the key */
static int read_once(struct ea_tree *tree, struct nb_read *read,
		     int (*body)(const struct ea_tree *tree, const struct nb_leaf *leaf,
				 struct nb_read *read))
{
	struct nb_leaf *leaf;
	int got = -EUCLEAN;

	crab_rcu_enter();
	leaf = crab_ea_leaf_of(tree, read->key);
	if (!leaf)
		goto out;
	read->low = leaf->low;
	if (READ_ONCE(leaf->quarantined)) {
		read->high = crab_ea_failed_high(tree, leaf, read->key);
		goto out;
	}
	/* Before the slots: the range may grow. Pairs with the delete that emptied the next leaf */
	read->high = smp_load_acquire(&leaf->high);
	if (read->high <= read->key)
		read->high = crab_ea_high(tree, leaf);
	if (read->high > read->key)
		got = body(tree, leaf, read);
out:
	crab_rcu_leave();
	return got;
}

/*
 * A read of one leaf; its range is in @read, also if the leaf is quarantined. @body returns -ERANGE
 * if the leaf has a wrong key: it is quarantined
 */
static int leaf_read(struct ea_tree *tree, struct nb_read *read,
		     int (*body)(const struct ea_tree *tree, const struct nb_leaf *leaf,
				 struct nb_read *read))
{
	int got;

	read->low = 0;
	read->high = CRAB_KEY_EMPTY;
	got = read_once(tree, read, body);
	/* The media has changed under the store: no walk goes on */
	if (read->high <= read->key)
		read->high = CRAB_KEY_EMPTY;
	return unlikely(got == -ERANGE) ? crab_ea_doubt(tree, read->key) : got;
}

static int body_lookup(const struct ea_tree *tree, const struct nb_leaf *leaf, struct nb_read *read)
{
	struct ea_slot slot = crab_ea_find(tree, leaf, read->key, tree->nb.room);

	if (!ea_is_record(slot.word))
		return crab_ea_missing(&slot);
	read->records->value = ea_value(tree, leaf, slot.number);
	return 0;
}

int crab_ea_lookup(struct crab_engine *engine, u64 key, u64 *value)
{
	struct crab_record record = { };
	struct nb_read read = { .key = key, .records = &record };
	int err = leaf_read(ea_tree_of(engine), &read, body_lookup);

	if (!err)
		*value = record.value;
	return err;
}

static int body_seek(const struct ea_tree *tree, const struct nb_leaf *leaf, struct nb_read *read)
{
	int err = crab_ea_near(tree, leaf, read);

	/* The range has grown since: the next leaf repeats the upper part */
	return err || read->records->key < read->high ? err : -ENOENT;
}

int crab_ea_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		 struct crab_record *record)
{
	struct nb_read read = { .key = key, .dir = dir, .records = record };
	struct ea_tree *tree = ea_tree_of(engine);
	int err;

	for (;;) {
		err = leaf_read(tree, &read, body_seek);
		/* Below the lowest key is the reserved one, too */
		read.key = dir == CRAB_SEEK_GE ? read.high : read.low - 1;
		if (err != -ENOENT || read.key == CRAB_KEY_EMPTY)
			return err;
		if (crab_engine_breathe(&tree->nb.base))
			return -EINTR;
	}
}

static int body_sorted(const struct ea_tree *tree, const struct nb_leaf *leaf, struct nb_read *read)
{
	return crab_ea_sorted(tree, leaf, read->high, read->records);
}

static int scan_range(struct ea_tree *tree, struct nb_read *read, u64 start, u64 end,
		      struct crab_record *records, u32 cap)
{
	u32 count = 0;
	int got;

	read->high = start;
	while (count < cap && read->high <= end && read->high != CRAB_KEY_EMPTY) {
		read->key = read->high;
		got = leaf_read(tree, read, body_sorted);
		if (got < 0)		/* the next call begins here and returns it */
			return count ? count : got;
		/* It may have grown on both sides; the next leaf repeats the upper part */
		count += crab_records_take(read->records, got, read->key, min(end, read->high - 1),
					   records + count, cap - count);
		if (crab_engine_breathe(&tree->nb.base))
			return count ?: -EINTR;
	}
	return count;
}

int crab_ea_scan(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records,
		 u32 cap)
{
	struct ea_tree *tree = ea_tree_of(engine);
	struct nb_read read = {
		.records = kmalloc_array(tree->nb.room, sizeof(*records), GFP_NOIO),
	};
	int got = read.records ? scan_range(tree, &read, start, end, records, cap) : -ENOMEM;

	kfree(read.records);
	return got;
}

static int body_nothing(const struct ea_tree *tree, const struct nb_leaf *leaf,
			struct nb_read *read)
{
	return 0;
}

/* A walk that is stopped returns a key of the range, where the next scan gets -EUCLEAN again */
u64 crab_ea_beyond(struct crab_engine *engine, u64 key, enum crab_seek_dir dir)
{
	struct ea_tree *tree = ea_tree_of(engine);
	struct nb_read read = { };
	bool bad = false, was;

	do {
		read.key = key;
		was = bad;
		bad = leaf_read(tree, &read, body_nothing);
		if (was && !bad)
			return key;
		key = dir == CRAB_SEEK_GE ? read.high : read.low - 1;
	} while (key != CRAB_KEY_EMPTY && !crab_engine_breathe(&tree->nb.base));
	return key;
}
