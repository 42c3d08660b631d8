// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements all reads of the layout `eadr`; and quarantine at run time, when memory
 * under an attached store has failed.
 *
 * Invariant: a read stores nothing that other tasks read. The keys returned from one leaf belong to
 * one state of it.
 *
 * Locking: none; RCU from the search for a leaf to the last access to it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "slots.h"

/* A read of one leaf, if there is one for the key */
static int read_once(const struct ea_tree *tree, struct nb_read *read,
		     int (*body)(const struct ea_tree *tree, const struct nb_leaf *leaf,
				 struct nb_read *read))
{
	struct nb_leaf *leaf;
	int got = -EUCLEAN;

	crab_rcu_enter();
	leaf = crab_ea_leaf_of(tree, read->key);
	if (!leaf)
		goto out;
	/* Before the slots: the range may grow */
	read->low = leaf->low;
	read->high = READ_ONCE(leaf->high);
	if (read->high <= read->key)
		read->high = crab_ea_high(tree, leaf);
	if (read->high > read->key && !READ_ONCE(leaf->quarantined))
		got = body(tree, leaf, read);
out:
	crab_rcu_leave();
	return got;
}

/* A read of one leaf; its range is in @read, also if the leaf is quarantined */
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
	return got;
}

static int body_lookup(const struct ea_tree *tree, const struct nb_leaf *leaf, struct nb_read *read)
{
	struct ea_slot slot = crab_ea_find(tree, leaf, read->key, tree->nb.room);

	if (!ea_is_record(slot.word))
		return -ENOENT;
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
	const struct crab_record *found = read->records;

	if (!crab_ea_near(tree, leaf, read->key, read->dir, read->records))
		return -ENOENT;
	/* Outside the range: that has grown, or the media has changed */
	return found->key >= read->low && found->key < read->high ? 0 : -ENOENT;
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
		if (nb_breathe(&tree->nb))
			return -EINTR;
	}
}

static int body_sorted(const struct ea_tree *tree, const struct nb_leaf *leaf, struct nb_read *read)
{
	return crab_ea_sorted(tree, leaf, read->records);
}

static int scan_range(struct ea_tree *tree, struct nb_read *read, u64 start, u64 end,
		      struct crab_record *records, u32 cap)
{
	const struct crab_record *r = read->records;
	u64 last, from;
	u32 count = 0;
	int got, i;

	read->high = start;
	while (count < cap && read->high <= end && read->high != CRAB_KEY_EMPTY) {
		read->key = read->high;
		got = leaf_read(tree, read, body_sorted);
		if (got < 0)		/* the next call begins here and returns it */
			return count ? count : got;
		last = min(end, read->high - 1);
		from = read->key;
		for (i = 0; i < got && count < cap; i++)
			/* It may have grown on both sides; the next leaf repeats the upper part */
			if (r[i].key >= from && r[i].key <= last) {
				from = r[i].key + 1;	/* not twice: the media has changed */
				records[count++] = r[i];
			}
		if (nb_breathe(&tree->nb))
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
	} while (key != CRAB_KEY_EMPTY && !nb_breathe(&tree->nb));
	return key;
}

/* Quarantines the leaf of a number, if there is one */
static bool leaf_quarantine(struct ea_tree *tree, u64 number)
{
	struct nb_leaf *leaf;
	bool hit;

	crab_rcu_enter();
	leaf = READ_ONCE(tree->nb.by_number[number]);
	hit = leaf && !leaf->quarantined;
	if (hit)
		WRITE_ONCE(leaf->quarantined, true);
	crab_rcu_leave();
	return hit;
}

/*
 * Also the leaves to which the index does not lead: those that replace others are in use already,
 * or tasks fill them
 */
u64 crab_ea_quarantine(struct crab_engine *engine, u64 from, u64 to)
{
	const struct crab_geometry *geo = &engine->geo;
	struct ea_tree *tree = ea_tree_of(engine);
	u64 hit = 0, number, end;

	from = max(from, geo->pool_offset) - geo->pool_offset;
	to = max(to, geo->pool_offset) - geo->pool_offset;
	end = min(geo->leaves, div_u64(to + geo->leaf_bytes - 1, geo->leaf_bytes));
	crab_ea_lock(tree);
	crab_pool_close(&tree->nb.pool);
	/* Pairs with smp_mb() in begin_once(): its leaves are seen below, or not used */
	smp_mb();
	for (number = div_u64(from, geo->leaf_bytes); number < end; number++) {
		cond_resched();
		hit += leaf_quarantine(tree, number);
	}
	tree->nb.quarantined += hit;
	mutex_unlock(&tree->nb.smo_lock);
	/* No store of a write that has not seen this comes later: it is in an RCU section */
	synchronize_rcu();
	return hit;
}
