// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements all reads; and quarantine at run time, when memory under an attached store
 * has failed.
 *
 * Invariant: the records returned from one leaf belong to one state of it.
 *
 * Locking: access.c documents it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "leaf.h"

static int body_lookup(const struct nb_tree *tree, const struct nb_leaf *leaf, struct nb_read *read)
{
	u32 slot = crab_nb_leaf_find(tree, leaf, read->key);

	if (slot == NB_SLOT_NONE)
		return -ENOENT;
	read->records->value = crab_nb_leaf_value(tree, leaf, slot);
	return 0;
}

int crab_nb_lookup(struct crab_engine *engine, u64 key, u64 *value)
{
	struct crab_record record = { };
	struct nb_read read = { .key = key, .records = &record };
	int err = crab_nb_read(nb_tree_of(engine), &read, body_lookup);

	if (!err)
		*value = record.value;
	return err;
}

static int body_seek(const struct nb_tree *tree, const struct nb_leaf *leaf, struct nb_read *read)
{
	const struct crab_record *found = read->records;

	if (!crab_nb_leaf_near(tree, leaf, read->key, read->dir, read->records))
		return -ENOENT;
	/* Outside the range: the media has changed */
	return found->key >= read->low && found->key < read->high ? 0 : -ENOENT;
}

int crab_nb_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		 struct crab_record *record)
{
	struct nb_read read = { .key = key, .dir = dir, .records = record };
	struct nb_tree *tree = nb_tree_of(engine);
	int err;

	for (;;) {
		err = crab_nb_read(tree, &read, body_seek);
		/* Below the lowest key is the reserved one, too */
		read.key = dir == CRAB_SEEK_GE ? read.high : read.low - 1;
		if (err != -ENOENT || read.key == CRAB_KEY_EMPTY)
			return err;
		if (nb_breathe(tree))
			return -EINTR;
	}
}

static int body_sorted(const struct nb_tree *tree, const struct nb_leaf *leaf, struct nb_read *read)
{
	return crab_nb_leaf_sorted(tree, leaf, read->records);
}

static int scan_range(struct nb_tree *tree, struct nb_read *read, u64 start, u64 end,
		      struct crab_record *records, u32 cap)
{
	struct crab_record *to = records, *full = to + cap;
	const struct crab_record *r, *behind;
	u64 last, from;
	int got;

	read->high = start;
	while (to < full && read->high <= end && read->high != CRAB_KEY_EMPTY) {
		read->key = read->high;
		got = crab_nb_read(tree, read, body_sorted);
		if (got < 0)		/* the next call begins here and returns it */
			return to > records ? to - records : got;
		last = min(end, read->high - 1);
		/* The leaf may begin before the key: a range has grown since */
		from = read->key;
		behind = read->records + got;
		for (r = read->records; r < behind && to < full; r++)
			if (r->key >= from && r->key <= last) {
				from = r->key + 1;	/* not twice: the media has changed */
				*to++ = *r;
			}
		if (nb_breathe(tree))
			return to > records ? to - records : -EINTR;
	}
	return to - records;
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
	} while (key != CRAB_KEY_EMPTY && !nb_breathe(tree));
	return key;
}

static bool leaf_quarantine(struct nb_leaf *leaf)
{
	bool was;

	crab_lock(&leaf->lock);
	nb_change_begin(leaf);
	was = leaf->quarantined;
	WRITE_ONCE(leaf->quarantined, true);
	nb_change_end(leaf);
	crab_unlock(&leaf->lock);
	return !was;
}

u64 crab_nb_quarantine(struct crab_engine *engine, u64 from, u64 to)
{
	struct nb_tree *tree = nb_tree_of(engine);
	struct nb_leaf *leaf;
	u64 hit = 0, key, offset;

	mutex_lock(&tree->smo_lock);
	crab_pool_close(&tree->pool);
	for (key = 0; key != CRAB_KEY_EMPTY; key = leaf->high) {
		cond_resched();
		leaf = crab_index_find(&tree->index, key);
		offset = crab_leaf_offset(&engine->geo, leaf->number);
		if (leaf->number != NB_NOWHERE && offset < to &&
		    offset + engine->geo.leaf_bytes > from)
			hit += leaf_quarantine(leaf);
	}
	tree->quarantined += hit;
	mutex_unlock(&tree->smo_lock);
	return hit;
}
