// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the verbs of the engine `crab` and its entry in the
 * engine table.
 *
 * Invariant: a function that returns 0 to a writer has made its effect durable;
 * one that returns an error has changed no record. (A full pool may have had
 * sparse neighbours merged on the way, each merge durable and whole.)
 *
 * Locking: access.c tells it.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "quarantine.h"
#include "smo.h"
#include "tree.h"

#define SCAN_AHEAD	4U	/* leaves that a scan waits for at a time */
#define SCAN_SLOTS	256U	/* slots of each, at most */

/* Without waiting; -EAGAIN: it does not count */
static int lookup_try(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
		      u64 *value)
{
	unsigned int seq = raw_seqcount_begin(&leaf->seq);
	int err;

	if (unlikely(!crab_leaf_holds(leaf, key) || leaf->bad))
		return -EAGAIN;
	err = crab_leaf_lookup(tree, leaf, key, value);
	return read_seqcount_retry(&leaf->seq, seq) ? -EAGAIN : err;
}

/* Beside a writer or a change, or in a quarantined leaf */
static noinline int tree_lookup_again(struct crab_tree *tree, u64 key, u64 *value)
{
	struct crab_reader reader = { .tree = tree };
	struct crab_leaf *leaf;
	int err;

	do {
		leaf = crab_reader_enter(&reader, key);
		err = PTR_ERR_OR_ZERO(leaf);
		if (!err)
			err = crab_leaf_lookup(tree, leaf, key, value);
	} while (!crab_reader_leave(&reader));
	crab_reader_end(&reader);
	return err;
}

int crab_tree_lookup(struct crab_engine *engine, u64 key, u64 *value)
{
	struct crab_tree *tree = crab_tree_of(engine);
	const struct crab_leaf *leaf;
	const void *dleaf;
	int err;

	rcu_read_lock();
	leaf = crab_index_find_hint(&tree->index, key, &dleaf);
	if (likely(leaf && !tree->sorted))
		crab_home_fetch(&tree->homes, dleaf, key);
	err = leaf ? lookup_try(tree, leaf, key, value) : -EAGAIN;
	rcu_read_unlock();
	return unlikely(err == -EAGAIN) ? tree_lookup_again(tree, key, value) : err;
}

/* The record nearest to @key in one leaf; false if none lies in the direction */
static bool leaf_seek(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
		      enum crab_seek_dir dir, struct crab_record *best)
{
	struct crab_record r;
	bool found = false;
	u32 slot;

	crab_leaf_for_each(tree, leaf, slot) {
		r = crab_leaf_record(tree, leaf, slot);
		if (dir == CRAB_SEEK_GE ? r.key < key : r.key > key)
			continue;
		if (found && (dir == CRAB_SEEK_GE ? r.key > best->key : r.key < best->key))
			continue;
		*best = r;
		found = true;
	}
	return found;
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
		if (!leaf_seek(tree, leaf, *at, dir, record))
			err = -ENOENT;
		next = dir == CRAB_SEEK_GE ? READ_ONCE(leaf->high) : READ_ONCE(leaf->low) - 1;
	} while (!crab_reader_leave(&reader));
	crab_reader_end(&reader);
	*at = next;
	*end = next == CRAB_KEY_EMPTY;		/* also behind the least low there is, 0 */
	return err;
}

static int tree_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		     struct crab_record *record)
{
	struct crab_tree *tree = crab_tree_of(engine);
	bool end;
	int err;

	for (;;) {
		err = seek_leaf(tree, &key, dir, record, &end);
		if (err != -ENOENT || end)
			return err;
		if (crab_tree_breathe(tree))
			return -EINTR;
	}
}

/* Lines with @count records; in a slotted leaf, which is at @dleaf, they are all over it */
static void scan_fetch_slots(const struct crab_tree *tree, const struct crab_leaf *leaf,
			     const struct crab_dleaf *dleaf, u32 count)
{
	if (tree->sorted)
		crab_sorted_fetch(tree, leaf, min(count, SCAN_SLOTS));
	else
		crab_prefetch_range(&dleaf->slots[0],
				    min(tree->slots, SCAN_SLOTS) * sizeof(struct crab_dslot));
}

/* @cap records mostly need an @i-th leaf behind the first, if leaves are full to three quarters */
static bool scan_is_needed(const struct crab_tree *tree, u32 i, u32 cap)
{
	return !tree->sorted && i * tree->slots * 3 / 4 <= cap;
}

/* So many of a leaf's records are not before @at, if they are spread over its range */
static u32 scan_share(const struct crab_leaf *leaf, u32 count, u64 at)
{
	u64 high = READ_ONCE(leaf->high), range = high - READ_ONCE(leaf->low);
	u32 shift = max(fls64(range), 16) - 16;

	return count * (u32)((high - at) >> shift) / max((u32)(range >> shift), 1U);
}

/*
 * The leaves that hold the next @cap records, on their way; of how many that was done. Where
 * they are, the index tells: the first ones need not wait for their descriptors.
 */
static u32 scan_fetch(const struct crab_tree *tree, u64 at, u32 cap, struct crab_leaf **leaves)
{
	const size_t dram = crab_leaf_dram(tree);
	const void *dleaves[SCAN_AHEAD];
	u32 n, i, count, blind;

	n = crab_index_find_run(&tree->index, at, SCAN_AHEAD, (void **)leaves, dleaves);
	for (i = 0; i < n; i++)
		crab_prefetch_range(leaves[i], dram);
	for (blind = 0; blind < n && scan_is_needed(tree, blind, cap); blind++)
		scan_fetch_slots(tree, leaves[blind], dleaves[blind], 0);
	for (i = 0; i < n && cap; i++) {
		count = READ_ONCE(leaves[i]->count);
		if (i >= blind)
			scan_fetch_slots(tree, leaves[i], dleaves[i], count);
		cap -= min(cap, i ? count : scan_share(leaves[i], count, at));
	}
	return i;
}

/* As scan_leaf(), without sleeping, of a leaf that may be the one; -EAGAIN: it does not count */
static int scan_try(struct crab_tree *tree, struct crab_leaf *leaf, u64 *at, u64 end,
		    struct crab_record *records, u32 cap, u16 *room)
{
	struct crab_reader reader = {
		.tree = tree,
		.leaf = leaf,
		.seq = read_seqcount_begin(&leaf->seq),
	};
	u64 high;
	int got;

	if (!crab_leaf_holds(leaf, *at) || leaf->bad)
		return -EAGAIN;
	got = crab_leaf_scan(&reader, *at, end, records, cap, room);
	high = READ_ONCE(leaf->high);
	if (read_seqcount_retry(&leaf->seq, reader.seq))
		return -EAGAIN;
	if (got >= 0)
		*at = high;
	return got;
}

/* Records of the leaf that holds @at, all of one moment; @at goes on to the next leaf */
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
		got = crab_leaf_scan(&reader, *at, end, records, cap, room);
		next = READ_ONCE(leaf->high);
	} while (!crab_reader_leave(&reader));
	crab_reader_end(&reader);
	if (got >= 0)
		*at = next;
	return got;
}

/*
 * Records of the leaves behind each other, from the one that holds @at on, as far as it goes;
 * -EAGAIN: not by itself, -ENOBUFS: not without @room
 */
static int scan_run(struct crab_tree *tree, u64 *at, u64 end, struct crab_record *records, u32 cap,
		    u16 *room, u32 *count)
{
	struct crab_leaf *leaves[SCAN_AHEAD];
	int got = -EAGAIN;
	u32 n, i;

	crab_rcu_enter();
	n = scan_fetch(tree, *at, cap - *count, leaves);
	for (i = 0; i < n && *count < cap && *at <= end; i++) {
		got = scan_try(tree, leaves[i], at, end, records + *count, cap - *count, room);
		if (got < 0)
			break;
		*count += got;
	}
	crab_rcu_leave();
	return got;
}

static int tree_scan(struct crab_engine *engine, u64 start, u64 end,
		     struct crab_record *records, u32 cap)
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
		if (got < 0)
			break;
		cond_resched();
	}
	kfree(room);
	if (got == -EUCLEAN && count)
		return count;	/* the next call begins here, and says so */
	return got < 0 ? got : (int)count;
}

/* Is the leaf that holds @at quarantined? @at goes on to the next leaf */
static bool beyond_leaf(struct crab_tree *tree, u64 *at)
{
	struct crab_reader reader = { .tree = tree };
	struct crab_leaf *leaf;
	u64 next;

	do {
		leaf = crab_reader_enter(&reader, *at);
		next = reader.leaf ? READ_ONCE(reader.leaf->high) : CRAB_KEY_EMPTY;
	} while (!crab_reader_leave(&reader));
	crab_reader_end(&reader);
	*at = next > *at ? next : CRAB_KEY_EMPTY;	/* in no leaf: to the end, once */
	return IS_ERR(leaf);
}

/* A walk that is stopped returns a key of the range, where the next scan gets -EUCLEAN again */
static u64 tree_beyond(struct crab_engine *engine, u64 key)
{
	struct crab_tree *tree = crab_tree_of(engine);
	u64 at = key;
	bool bad = false;

	do {
		key = at;
		if (beyond_leaf(tree, &at))
			bad = true;
		else if (bad)
			return key;
	} while (at != CRAB_KEY_EMPTY && !crab_tree_breathe(tree));
	return at;
}

/* A write that replaces the leaf, if it may */
static int slotted_change(struct crab_write *write, struct crab_leaf *leaf, u64 key, u64 value,
			  int (*change)(struct crab_write *write, struct crab_leaf *leaf, u64 key,
					u64 value))
{
	return crab_write_may_change(write) ? change(write, leaf, key, value) : -EAGAIN;
}

static int slotted_add(struct crab_write *write, struct crab_leaf *leaf, u32 slot, u64 key,
		       u64 value)
{
	bool full = slot == write->tree->slots, is_void = value == leaf->void_value;
	int err;

	if (unlikely(full || is_void)) {
		err = slotted_change(write, leaf, key, value,
				     full ? crab_smo_add : crab_smo_rewrite);
		if (!err)
			crab_count(&write->tree->base, inserts, 1);
		return err;
	}
	crab_leaf_begin(leaf);
	crab_slotted_insert(write, leaf, slot, key, value);
	crab_leaf_end(leaf);
	return 0;
}

static int slotted_update(struct crab_write *write, struct crab_leaf *leaf, struct crab_dslot *d,
			  u64 key, u64 value)
{
	int err;

	if (unlikely(value == leaf->void_value)) {
		err = slotted_change(write, leaf, key, value, crab_smo_rewrite);
		if (!err)
			crab_count(&write->tree->base, updates, 1);
		return err;
	}
	crab_leaf_begin(leaf);
	crab_slot_update(write, d, value);
	crab_leaf_end(leaf);
	return 0;
}

/* @at: as crab_slotted_place() says it */
static int slotted_put(struct crab_write *write, struct crab_leaf *leaf, int at, u64 key,
		       u64 value, enum crab_insert_mode mode, struct crab_old *old)
{
	struct crab_dslot *d;

	old->existed = at >= 0;
	if (at < 0)
		return mode == CRAB_INSERT_REPLACE ? -ENOENT :
						     slotted_add(write, leaf, ~at, key, value);
	d = crab_leaf_slot(write->tree, leaf, at);
	old->value = crab_load(write->tree->base.media, &d->value);
	if (mode == CRAB_INSERT_CREATE)
		return -EEXIST;
	return slotted_update(write, leaf, d, key, value);
}

static int insert_once(struct crab_write *write, u64 key, u64 value,
		       enum crab_insert_mode mode, struct crab_old *old)
{
	struct crab_leaf *leaf;
	int at, err;

	leaf = crab_leaf_lock(write, key, &at);
	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	if (write->tree->sorted)
		err = crab_sorted_insert(write, leaf, at, key, value, mode, old);
	else
		err = slotted_put(write, leaf, at, key, value, mode, old);
	crab_leaf_unlock(leaf);
	return err;
}

/* Sees to what was missing: the structure, memory, free leaves; true: try again */
static bool insert_again(struct crab_write *write, int *err)
{
	if (*err == -EAGAIN) {
		crab_write_insist(write);
		*err = crab_smo_reserve(write->tree);
	} else if (*err == -ENOSPC && !write->compacted) {
		crab_write_insist(write);
		write->compacted = true;
		*err = crab_sparse_compact(write);
	} else {
		return false;
	}
	return !*err;
}

int crab_tree_insert(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
		     enum crab_insert_mode mode, struct crab_old *old)
{
	struct crab_write write = { .tree = crab_tree_of(engine), .flow = flow };
	int err;

	do {
		err = insert_once(&write, key, value, mode, old);
	} while (insert_again(&write, &err));
	crab_write_end(&write);
	return err;
}

/* A record that is not the only one of its leaf */
static __always_inline int leaf_remove_one(struct crab_write *write, struct crab_leaf *leaf,
					   u32 slot)
{
	int err;

	if (write->tree->sorted) {
		err = crab_sorted_remove(write, leaf, slot);
		if (!err)
			crab_count(&write->tree->base, deletes, 1);
		return err;
	}
	crab_leaf_begin(leaf);
	crab_slotted_remove(write, leaf, slot);
	crab_leaf_end(leaf);
	return 0;
}

/*
 * The last leaf stays when it empties, if the one before it is full: the next key behind that one
 * would need a leaf again. Both are read without the structure: a hint
 */
static bool leaf_stays(const struct crab_tree *tree, const struct crab_leaf *leaf)
{
	const struct crab_leaf *prev;

	if (tree->sorted || READ_ONCE(leaf->next))
		return false;
	/* Pairs with smo_join() */
	prev = smp_load_acquire(&leaf->prev);
	return READ_ONCE(prev->count) == tree->slots;
}

/*
 * The last record of a leaf, which is locked, and mostly the leaf; or -EAGAIN: it needs the
 * structure
 */
static noinline int leaf_remove_last(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
{
	struct crab_leaf *pred;
	u64 word;

	if (leaf_stays(write->tree, leaf))
		return leaf_remove_one(write, leaf, slot);
	crab_smo_fetch_unlink(write->tree, leaf);
	if (!crab_write_try_structure(write))
		return -EAGAIN;
	if (crab_smo_verify_unlink(write->tree, leaf, &word))
		return -EUCLEAN;
	pred = leaf->prev;
	crab_leaf_take_too(pred);
	crab_leaf_begin(pred);
	crab_leaf_begin(leaf);
	crab_smo_bypass(write, leaf, word);
	crab_leaf_end(leaf);
	crab_leaf_end(pred);
	crab_leaf_give(pred);
	crab_count(&write->tree->base, deletes, 1);
	return 0;
}

/* @at: as crab_leaf_place() says it; -EAGAIN: it needs the structure */
static __always_inline int leaf_remove(struct crab_write *write, struct crab_leaf *leaf, int at,
				       u64 key, struct crab_old *old)
{
	int slot = at;

	if (write->tree->sorted)
		slot = crab_sorted_is_at(write->tree, leaf, at, key) ? at - 1 : -1;
	old->existed = slot >= 0;
	if (slot < 0)
		return -ENOENT;
	old->value = crab_leaf_value(write->tree, leaf, slot);
	if (likely(leaf->count > 1 || !leaf->low))	/* the first leaf stays */
		return leaf_remove_one(write, leaf, slot);
	return leaf_remove_last(write, leaf, slot);
}

static int remove_once(struct crab_write *write, u64 key, struct crab_old *old)
{
	struct crab_leaf *leaf;
	int at, err;

	leaf = crab_leaf_lock(write, key, &at);
	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	err = leaf_remove(write, leaf, at, key, old);
	crab_leaf_unlock(leaf);
	return err;
}

int crab_tree_remove(struct crab_engine *engine, struct crab_flow *flow, u64 key,
		     struct crab_old *old)
{
	struct crab_write write = { .tree = crab_tree_of(engine), .flow = flow, .removes = true };
	int err;

	while ((err = remove_once(&write, key, old)) == -EAGAIN)
		crab_write_insist(&write);
	if (write.sparse)
		crab_sorted_rebalance(&write, key);
	crab_write_end(&write);
	return err;
}

u64 crab_tree_records(const struct crab_tree *tree)
{
	struct crab_counts counts;

	crab_counts_sum(&tree->base, &counts);
	return tree->records + counts.inserts - counts.deletes;
}

static void tree_stats(struct crab_engine *engine, struct crab_engine_stats *stats)
{
	struct crab_tree *tree = crab_tree_of(engine);

	stats->leaves_used = READ_ONCE(tree->leaves);
	stats->leaves_bad = READ_ONCE(tree->bad) + tree->pool.spoilt;
	stats->records = crab_tree_records(tree);
	stats->capacity = engine->geo.leaves * tree->slots;
	stats->dram_bytes = stats->leaves_used * crab_leaf_slab(tree) +
			    READ_ONCE(tree->index.nodes) *
			    roundup_pow_of_two(sizeof(struct crab_index_node)) +
			    engine->geo.leaves / 8;
	stats->splits = READ_ONCE(tree->splits);
	stats->unlinks = READ_ONCE(tree->unlinks);
	stats->repairs = tree->repairs;
	stats->lines_bound = crab_smo_bound(tree);
}

static bool tree_maintain(struct crab_engine *engine)
{
	struct crab_tree *tree = crab_tree_of(engine);

	return !tree->sorted && (crab_smo_prepare(tree) || crab_sparse_merge(tree));
}

static bool tree_wants(struct crab_engine *engine)
{
	struct crab_tree *tree = crab_tree_of(engine);

	return !tree->sorted &&
	       (crab_pool_needs_refill(&tree->pool) || crab_sparse_is_due(&tree->sparse));
}

static const struct crab_layout tree_layouts[] = {
	{
		.name = "slotted", .id = CRAB_LAYOUT_SLOTTED, .needs = CRAB_MODEL_WORD,
		.leaf_min = CRAB_LEAF_BYTES_MIN, .leaf_max = CRAB_LEAF_BYTES_MAX,
		.leaf_default = CRAB_LEAF_BYTES_DEFAULT, .records = crab_leaf_slots,
	},
	{
		.name = "sorted", .id = CRAB_LAYOUT_SORTED, .needs = CRAB_MODEL_LINE,
		.leaf_min = CRAB_LEAF_BYTES_MIN, .leaf_max = CRAB_LEAF_BYTES_MAX,
		.leaf_default = CRAB_LEAF_BYTES_DEFAULT, .records = crab_leaf_slots,
		.before_pool = crab_bitmap_bytes,
	},
	{ }
};

const struct crab_engine_ops crab_engine_crab = {
	.name = "crab",
	.id = 1,
	.layouts = tree_layouts,
	.format = crab_tree_format,
	.attach = crab_tree_attach,
	.repair = crab_tree_repair,
	.detach = crab_tree_detach,
	.lookup = crab_tree_lookup,
	.seek = tree_seek,
	.scan = tree_scan,
	.beyond = tree_beyond,
	.insert = crab_tree_insert,
	.remove = crab_tree_remove,
	.batch = crab_tree_batch,
	.quarantine = crab_tree_quarantine,
	.check = crab_tree_check,
	.stats = tree_stats,
	.maintain = tree_maintain,
	.wants = tree_wants,
};
