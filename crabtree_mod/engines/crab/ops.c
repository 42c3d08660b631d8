// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the verbs on one key, and the entry of the engine `crab` in the engine
 * table.
 *
 * Invariant: a write that returns 0 is durable; one that returns an error has changed no record.
 * (An insert that finds the pool empty may have merged underfull neighbours, each merge durable and
 * whole.)
 *
 * Locking: access.c documents it.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mutex.h>

#include "access.h"
#include "layout.h"
#include "leaf_order.h"
#include "shared/shortcut.h"
#include "smo.h"
#include "tree.h"
#include "verify.h"

/* Without waiting; below -ENOENT: it does not count */
static int lookup_try(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
		      u64 *value)
{
	unsigned int seq;
	int err;

	if (unlikely(!crab_leaf_read_begin(leaf, key, &seq)))
		return -EAGAIN;
	err = crab_layout_lookup(tree, leaf, key, value);
	return crab_leaf_read_valid(leaf, seq) ? err : -EAGAIN;
}

/* The lookup during a write or a change, or in a leaf that is quarantined, or is to be */
static noinline int tree_lookup_again(struct crab_tree *tree, u64 key, u64 *value)
{
	struct crab_reader reader = { .tree = tree };
	struct crab_leaf *leaf;
	int err;

	do {
		leaf = crab_reader_enter(&reader, key);
		err = PTR_ERR_OR_ZERO(leaf);
		if (!err)
			err = crab_layout_lookup(tree, leaf, key, value);
	} while (!crab_reader_leave(&reader));
	crab_reader_end(&reader);
	return err == -ERANGE ? crab_tree_doubt(tree, key) : err;
}

int crab_tree_lookup(struct crab_engine *engine, u64 key, u64 *value)
{
	struct crab_tree *tree = crab_tree_of(engine);
	const void *child;
	int err = -EAGAIN;

	crab_rcu_enter();
	child = crab_leaf_guess(tree, key);
	if (likely(child)) {
		crab_layout_prefetch_home(tree, crab_leaf_of_media(tree, child), key);
		err = lookup_try(tree, crab_leaf_of(tree, child), key, value);
	}
	crab_rcu_leave();
	if (likely(!err))
		return 0;
	return err == -ENOENT ? err : tree_lookup_again(tree, key, value);
}

/* A put over an existing record, whose value decides; apart, so that the other puts stay short */
static noinline int leaf_decide(struct crab_write *write, struct crab_leaf *leaf, u32 slot,
				struct crab_record put, enum crab_insert_mode mode,
				struct crab_old *old)
{
	struct crab_dslot *d = crab_leaf_slot(write->tree, leaf, slot);
	int err;

	old->value = crab_load(write->tree->base.media, &d->value);
	/* Failing memory may return a word otherwise once: a sum of it would be stored */
	if (crab_load(write->tree->base.media, &d->value) != old->value)
		return -ERANGE;
	err = crab_insert_decide(mode, old, &put.value);
	return err ?: crab_layout_update(write, leaf, d, put.key, put.value);
}

/* Puts a record into its leaf, which is locked */
static __always_inline int leaf_put(struct crab_write *write, struct crab_leaf *leaf,
				    struct crab_place place, u64 key, u64 value,
				    enum crab_insert_mode mode, struct crab_old *old)
{
	struct crab_dslot *d;

	old->existed = place.found;
	if (!place.found)
		return mode & CRAB_INSERT_NEEDS ? crab_leaf_missing(write->tree, leaf, key) :
		       crab_layout_insert(write, leaf, place.slot, key, value);
	if (unlikely(mode & CRAB_INSERT_DECIDES))
		return leaf_decide(write, leaf, place.slot,
				   (struct crab_record){ .key = key, .value = value }, mode, old);
	d = crab_leaf_slot(write->tree, leaf, place.slot);
	old->value = crab_load(write->tree->base.media, &d->value);
	return crab_layout_update(write, leaf, d, key, value);
}

static int insert_once(struct crab_write *write, u64 key, u64 value,
		       enum crab_insert_mode mode, struct crab_old *old)
{
	struct crab_place place;
	struct crab_leaf *leaf;
	int err;

	leaf = crab_leaf_lock(write, key, &place);
	if (!leaf)
		return -EUCLEAN;
	err = leaf_put(write, leaf, place, key, value, mode, old);
	crab_leaf_unlock(leaf);
	return err;
}

/* Gets the resource that the write lacked: smo_lock, memory or free leaves; true: retry */
static bool insert_again(struct crab_write *write, int *err)
{
	if (*err == -EAGAIN) {
		crab_write_lock_structure(write);
		*err = crab_smo_reserve(write->tree);
	} else if (*err == -ENOSPC && !write->compacted) {
		crab_write_lock_structure(write);
		write->compacted = true;
		*err = crab_underfull_compact(write);
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
	return unlikely(err == -ERANGE) ? crab_tree_doubt(write.tree, key) : err;
}

/* Removes the last record of a leaf, and mostly the leaf; -EAGAIN: the write needs smo_lock */
static noinline int leaf_remove_last(struct crab_write *write, struct crab_leaf *leaf, u32 slot)
{
	struct crab_leaf *pred;
	u64 word;

	if (crab_layout_keeps_empty(write->tree, leaf))
		return crab_layout_remove(write, leaf, slot);
	crab_smo_fetch_unlink(write->tree, leaf);
	if (!crab_write_try_structure(write))
		return -EAGAIN;
	if (crab_smo_verify_unlink(write->tree, leaf, &word))
		return -EUCLEAN;
	pred = leaf->prev;
	crab_lock_nested(&pred->lock);
	crab_leaf_begin(pred);
	crab_leaf_begin(leaf);
	crab_smo_bypass(write, leaf, word);
	crab_leaf_end(leaf);
	crab_leaf_end(pred);
	crab_unlock(&pred->lock);
	crab_count(&write->tree->base, deletes, 1);
	return 0;
}

/* Removes a record from its leaf, which is locked; -EAGAIN: the write needs smo_lock */
static __always_inline int leaf_remove(struct crab_write *write, struct crab_leaf *leaf,
				       struct crab_place place, u64 key, struct crab_old *old)
{
	old->existed = place.found;
	if (!place.found)
		return crab_leaf_missing(write->tree, leaf, key);
	old->value = crab_leaf_value(write->tree, leaf, place.slot);
	if (likely(leaf->count > 1 || !leaf->low))	/* the first leaf stays */
		return crab_layout_remove(write, leaf, place.slot);
	return leaf_remove_last(write, leaf, place.slot);
}

static int remove_once(struct crab_write *write, u64 key, struct crab_old *old)
{
	struct crab_place place;
	struct crab_leaf *leaf;
	int err;

	leaf = crab_leaf_lock(write, key, &place);
	if (!leaf)
		return -EUCLEAN;
	err = leaf_remove(write, leaf, place, key, old);
	crab_leaf_unlock(leaf);
	return err;
}

int crab_tree_remove(struct crab_engine *engine, struct crab_flow *flow, u64 key,
		     struct crab_old *old)
{
	struct crab_write write = { .tree = crab_tree_of(engine), .flow = flow, .removes = true };
	int err;

	while ((err = remove_once(&write, key, old)) == -EAGAIN)
		crab_write_lock_structure(&write);
	if (write.underfull)
		crab_layout_rebalance(&write, key);
	crab_write_end(&write);
	return unlikely(err == -ERANGE) ? crab_tree_doubt(write.tree, key) : err;
}

u64 crab_tree_records(const struct crab_tree *tree)
{
	struct crab_counts counts;

	crab_counts_sum(&tree->base, &counts);
	return crab_counts_records(&counts, tree->records);
}

static void tree_stats(struct crab_engine *engine, struct crab_engine_stats *stats)
{
	struct crab_tree *tree = crab_tree_of(engine);

	stats->leaves_used = READ_ONCE(tree->leaves);
	stats->leaves_bad = READ_ONCE(tree->quarantined) + tree->pool.spoilt;
	stats->records = crab_tree_records(tree);
	stats->capacity = engine->geo.leaves * tree->slots;
	stats->dram_bytes = crab_leaf_table_bytes(&tree->table,
						  crab_leaf_table_chunks(&tree->table)) +
			    crab_leaf_orders_bytes(&tree->table) +
			    crab_index_bytes(&tree->index) +
			    engine->geo.leaves / 8;
	stats->splits = READ_ONCE(tree->splits);
	stats->unlinks = READ_ONCE(tree->unlinks);
	stats->repairs = tree->repairs;
	stats->lines_bound = crab_smo_bound(tree);
}

/* Two leaves, as in most engines. Each fresh one takes a birth: an image may leave too few */
static int tree_takes(struct crab_engine *engine, u32 writes)
{
	return crab_tree_of(engine)->birth > CRAB_BIRTH_MAX - 2ULL * writes ? -ENOSPC : 0;
}

static bool tree_maintain(struct crab_engine *engine)
{
	struct crab_tree *tree = crab_tree_of(engine);

	return crab_layout_maintains(tree) &&
	       (crab_slotted_prepare(tree) || crab_underfull_merge(tree) ||
		crab_shortcut_maintain(&tree->index, &tree->smo_lock));
}

static bool tree_wants(struct crab_engine *engine)
{
	struct crab_tree *tree = crab_tree_of(engine);

	return crab_layout_maintains(tree) &&
	       (crab_pool_needs_refill(&tree->pool) || crab_underfull_is_due(&tree->underfull) ||
		crab_shortcut_wants(&tree->index));
}

static const struct crab_layout tree_layouts[] = {
	{
		.name = "slotted", .id = CRAB_LAYOUT_SLOTTED, .needs = CRAB_MODEL_WORD,
		.leaf_min = CRAB_LEAF_BYTES_MIN, .leaf_max = CRAB_LEAF_BYTES_MAX,
		.leaf_default = CRAB_LEAF_BYTES_DEFAULT, .leaf_large = 2 * CRAB_LEAF_BYTES_DEFAULT,
		.records = crab_leaf_slots,
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
	.counters = crab_sorted_counters,
	.options = crab_tuning_options,
	.tuning = &crab_tuning_default,
	.layouts = tree_layouts,
	.format = crab_tree_format,
	.attach = crab_tree_attach,
	.repair = crab_tree_repair,
	.detach = crab_tree_detach,
	.lookup = crab_tree_lookup,
	.seek = crab_tree_seek,
	.scan = crab_tree_scan,
	.scan_back = crab_tree_scan_back,
	.beyond = crab_tree_beyond,
	.insert = crab_tree_insert,
	.remove = crab_tree_remove,
	.batch = crab_tree_batch,
	.takes = tree_takes,
	.quarantine = crab_tree_quarantine,
	.check = crab_tree_check,
	.stats = tree_stats,
	.maintain = tree_maintain,
	.wants = tree_wants,
};
