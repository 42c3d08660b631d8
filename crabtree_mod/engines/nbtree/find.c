// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements all reads.
 *
 * Invariant: the records returned from one leaf belong to one state of it.
 *
 * Locking: access.c documents it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "engines/select.h"
#include "leaf.h"

/* As crab_nb_read(). @body returns -ERANGE if the leaf has a wrong key: it is quarantined */
static int leaf_read(struct nb_tree *tree, struct nb_read *read,
		     int (*body)(const struct nb_tree *tree, const struct nb_leaf *leaf,
				 struct nb_read *read))
{
	int got = crab_nb_read(tree, read, body);

	return unlikely(got == -ERANGE) ? crab_nb_doubt(tree, read->key) : got;
}

static int body_lookup(const struct nb_tree *tree, const struct nb_leaf *leaf, struct nb_read *read)
{
	u32 slot = crab_nb_leaf_find(tree, leaf, read->key);

	if (slot >= NB_SLOT_BLANK)
		return slot == NB_SLOT_BLANK ? -ERANGE : -ENOENT;
	read->records->value = crab_nb_leaf_value(tree, leaf, slot);
	return 0;
}

int crab_nb_lookup(struct crab_engine *engine, u64 key, u64 *value)
{
	struct crab_record record = { };
	struct nb_read read = { .key = key, .records = &record };
	int err = leaf_read(nb_tree_of(engine), &read, body_lookup);

	if (!err)
		*value = record.value;
	return err;
}

static int body_seek(const struct nb_tree *tree, const struct nb_leaf *leaf, struct nb_read *read)
{
	return crab_nb_leaf_near(tree, leaf, read->key, read->dir, read->records);
}

int crab_nb_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		 struct crab_record *record)
{
	struct nb_read read = { .key = key, .dir = dir, .records = record };
	struct nb_tree *tree = nb_tree_of(engine);
	int err;

	for (;;) {
		err = leaf_read(tree, &read, body_seek);
		/* Below the lowest key is the reserved one, too */
		read.key = dir == CRAB_SEEK_GE ? read.high : read.low - 1;
		if (err != -ENOENT || read.key == CRAB_KEY_EMPTY)
			return err;
		if (crab_engine_breathe(&tree->base))
			return -EINTR;
	}
}

static int body_sorted(const struct nb_tree *tree, const struct nb_leaf *leaf, struct nb_read *read)
{
	u32 count = crab_nb_leaf_sorted(tree, leaf, read->records);

	/* The key 0 is loaded again: of all leaves, the first one has all keys in its range */
	if (count && !read->records->key && crab_nb_leaf_find(tree, leaf, 0) >= NB_SLOT_BLANK)
		return -ERANGE;
	return crab_records_fault(read->records, count, read->low, read->high) ? -ERANGE : count;
}

static int scan_range(struct nb_tree *tree, struct nb_read *read, u64 start, u64 end,
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
		/* The leaf may begin before the key: a range has grown since */
		count += crab_records_take(read->records, got, read->key, end, records + count,
					   cap - count);
		if (crab_engine_breathe(&tree->base))
			return count ?: -EINTR;
	}
	return count;
}

int crab_nb_scan(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records,
		 u32 cap)
{
	struct nb_tree *tree = nb_tree_of(engine);
	struct nb_read read = {
		.records = kmalloc_array(tree->room, sizeof(*records), GFP_NOIO),
	};
	int got = read.records ? scan_range(tree, &read, start, end, records, cap) : -ENOMEM;

	kfree(read.records);
	return got;
}

static int body_nothing(const struct nb_tree *tree, const struct nb_leaf *leaf,
			struct nb_read *read)
{
	return 0;
}

/* A walk that is stopped returns a key of the range, where the next scan gets -EUCLEAN again */
u64 crab_nb_beyond(struct crab_engine *engine, u64 key, enum crab_seek_dir dir)
{
	struct nb_tree *tree = nb_tree_of(engine);
	struct nb_read read = { };
	bool bad = false, was;

	do {
		read.key = key;
		was = bad;
		bad = crab_nb_read(tree, &read, body_nothing);
		if (was && !bad)
			return key;
		key = dir == CRAB_SEEK_GE ? read.high : read.low - 1;
	} while (key != CRAB_KEY_EMPTY && !crab_engine_breathe(&tree->base));
	return key;
}
