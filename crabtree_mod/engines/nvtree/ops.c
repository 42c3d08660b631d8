// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the verbs on one key, and the entry of the engine `nvtree` in the engine
 * table: a tree whose leaves are logs of elements on the media, and whose inner nodes are in DRAM
 * (Yang et al. 2015, "NV-Tree").
 */

/**
 * DOC: protocol of nvtree
 *
 * Leaves form a list on the media from the head on, in the order of keys. leaf.c documents the
 * append, smo.c the changes of the list. At each step a power cut leaves:
 *
 *   operation             power is cut        content that attach finds
 *   insert, update,       before P11          before: nothing reads beyond the count
 *   delete                from P11 to P6      before or after: the count is old or new
 *   update with `pairs`   from P11 to P6      old or new value: the count is old or two more
 *   split, replacement,   before P7           before: the fresh leaves are free
 *   merge, unlink         from P7 to P8       before or after: the link is old or new
 *                         after P8            after: the old leaves are free
 *   rebuild, attach,      anywhere            the same: they write no leaf in use
 *   detach (park.c)
 *
 * Invariant: a write that returns 0 is durable; one that returns an error has changed no record.
 * (An insert that finds the pool short may have merged neighbours, each merge durable and whole.)
 *
 * Locking: access.c documents it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/rcupdate.h>

#include "compact.h"
#include "inner.h"
#include "leaf.h"
#include "park.h"
#include "smo.h"

#define PAIR	2		/* elements of an update with the option `pairs` */

struct nv_tuning crab_nv_tuning_default;

/*
 * After -ERANGE the leaf of the key is verified. The element that read all ones may be that of the
 * key, and read as before again
 */
static int call_end(struct nv_tree *tree, u64 key, int err)
{
	return likely(err != -ERANGE) ? err : crab_nv_doubt(tree, key) ?: -EUCLEAN;
}

static int nv_lookup(struct crab_engine *engine, u64 key, u64 *value)
{
	struct nv_tree *tree = nv_tree_of(engine);
	struct nv_place place;
	u32 count;
	int err;

	do {
		crab_nv_find(tree, key, &place);
		if (nv_is_quarantined(&place))
			return -EUCLEAN;
		/* Pairs with crab_nv_leaf_append(): the elements are visible, and durable */
		count = smp_load_acquire(&place.side->count);
		err = crab_nv_leaf_get(tree, place.leaf, count, key, value);
		if (err && READ_ONCE(place.side->flags) & NV_MISPLACED)
			err = -EUCLEAN;
	} while (!crab_nv_holds(&place));
	return call_end(tree, key, err);
}

/* An insert or update by an append to the leaf, which is locked and has room */
static void leaf_put(struct nv_write *write, struct nv_place *place, u64 key, u64 value,
		     const struct crab_old *old)
{
	struct nv_tree *tree = write->tree;
	struct nv_element elements[PAIR] = {
		{ .key = key, .value = old->value, .negative = true },
		{ .key = key, .value = value },
	};
	u32 n = old->existed && tree->tuning.pairs ? PAIR : 1;

	crab_nv_leaf_append(write, place, elements + PAIR - n, n);
	if (old->existed) {
		crab_count_settled(&tree->base, updates, write->flow, 0);
		return;
	}
	WRITE_ONCE(place->side->flags, place->side->flags + 1);
	crab_count_settled(&tree->base, inserts, write->flow, 0);
}

/* A value that decides, or that is added to, is looked up again. -ERANGE: it reads otherwise */
static int leaf_decide(const struct nv_tree *tree, const struct nv_place *place, u64 key,
		       enum crab_insert_mode mode, const struct crab_old *old, u64 *value)
{
	u64 again;

	if (likely(!(mode & CRAB_INSERT_DECIDES)))
		return 0;
	if (crab_nv_leaf_get(tree, place->leaf, place->side->count, key, &again) ||
	    again != old->value)
		return -ERANGE;
	return crab_insert_decide(mode, old, value);
}

/* -EAGAIN: the leaf has no room */
static int insert_once(struct nv_write *write, u64 key, u64 value, enum crab_insert_mode mode,
		       struct crab_old *old)
{
	struct nv_tree *tree = write->tree;
	struct nv_place place;
	u64 next = value;
	u32 n;
	int err = crab_nv_lock(tree, key, &place);

	if (err)
		return err;
	__acquire(&place.side->lock);	/* hidden by crab_nv_lock() */
	err = crab_nv_leaf_get(tree, place.leaf, place.side->count, key, &old->value);
	old->existed = !err;
	n = old->existed && tree->tuning.pairs ? PAIR : 1;
	if (old->existed)
		err = leaf_decide(tree, &place, key, mode, old, &next);
	else if (err == -ENOENT && !(mode & CRAB_INSERT_NEEDS))
		err = 0;
	if (!err && place.side->count + n > tree->room)
		err = -EAGAIN;
	if (!err && !crab_nv_leaf_takes(tree, &place))
		err = -ERANGE;
	if (!err)
		leaf_put(write, &place, key, next, old);
	crab_unlock(&place.side->lock);
	return err;
}

static int nv_insert(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
		     enum crab_insert_mode mode, struct crab_old *old)
{
	struct nv_write write = { .tree = nv_tree_of(engine), .flow = flow };
	int err = insert_once(&write, key, value, mode, old);

	if (err != -EAGAIN)
		return call_end(write.tree, key, err);
	mutex_lock(&write.tree->smo_lock);
	do {
		/* Another task may have made room */
		err = insert_once(&write, key, value, mode, old);
		if (err == -EAGAIN)
			err = crab_nv_smo_change(&write, key, &value, mode, old);
		if (err != -ENOSPC)
			break;
		err = crab_nv_compact(&write);
	} while (!err);
	mutex_unlock(&write.tree->smo_lock);
	return call_end(write.tree, key, err);
}

/* Appends the negative of a record to the leaf, which is locked and has room */
static void leaf_delete(struct nv_write *write, struct nv_place *place, u64 key, u64 value)
{
	struct nv_element element = { .key = key, .value = value, .negative = true };
	struct nv_tree *tree = write->tree;

	crab_nv_leaf_append(write, place, &element, 1);
	if (!(place->side->flags & NV_NOTED))
		crab_nv_note(&tree->notes, place->leaf);
	WRITE_ONCE(place->side->flags, (place->side->flags - 1) | NV_NOTED);
	crab_count_settled(&tree->base, deletes, write->flow, 0);
}

/* -EAGAIN: not without smo_lock; with it: the leaf has no room */
static int leaf_remove(struct nv_write *write, struct nv_place *place, u64 key, bool structure,
		       struct crab_old *old)
{
	struct nv_tree *tree = write->tree;
	int err;

	err = crab_nv_leaf_get(tree, place->leaf, place->side->count, key, &old->value);
	old->existed = !err;
	if (err)
		return err;
	if (nv_live(place->side) == 1 && place->low)
		return structure ? crab_nv_smo_unlink(write, place) : -EAGAIN;
	if (place->side->count == tree->room)
		return -EAGAIN;
	if (!crab_nv_leaf_takes(tree, place))
		return -ERANGE;
	leaf_delete(write, place, key, old->value);
	return 0;
}

static int remove_once(struct nv_write *write, u64 key, bool structure, struct crab_old *old)
{
	struct nv_place place;
	int err = crab_nv_lock(write->tree, key, &place);

	if (err)
		return err;
	__acquire(&place.side->lock);	/* hidden by crab_nv_lock() */
	err = leaf_remove(write, &place, key, structure, old);
	crab_unlock(&place.side->lock);
	return err;
}

static int nv_remove(struct crab_engine *engine, struct crab_flow *flow, u64 key,
		     struct crab_old *old)
{
	struct nv_write write = { .tree = nv_tree_of(engine), .flow = flow };
	int err = remove_once(&write, key, false, old);

	if (err != -EAGAIN)
		return call_end(write.tree, key, err);
	mutex_lock(&write.tree->smo_lock);
	err = remove_once(&write, key, true, old);
	if (err == -EAGAIN)
		err = crab_nv_smo_change(&write, key, NULL, CRAB_INSERT_EITHER, old);
	mutex_unlock(&write.tree->smo_lock);
	return call_end(write.tree, key, err);
}

static u64 inner_bytes(const struct nv_tree *tree)
{
	u64 bytes;

	crab_rcu_enter();
	bytes = rcu_dereference_raw(tree->inner)->bytes;
	crab_rcu_leave();
	return bytes;
}

static void nv_stats(struct crab_engine *engine, struct crab_engine_stats *stats)
{
	const struct nv_tree *tree = nv_tree_of(engine);
	struct crab_counts counts;

	crab_counts_sum(engine, &counts);
	*stats = (struct crab_engine_stats) {
		.leaves_used = READ_ONCE(tree->leaves),
		.leaves_bad = READ_ONCE(tree->quarantined) + tree->pool.spoilt,
		.records = crab_counts_records(&counts, tree->records),
		.capacity = engine->geo.leaves * tree->room,
		.dram_bytes = inner_bytes(tree) + crab_sides_bytes(&tree->sides) +
			      engine->geo.leaves / 8 + crab_nv_notes_bytes(&tree->notes),
		.splits = READ_ONCE(tree->splits),
		.unlinks = READ_ONCE(tree->unlinks),
		.lines_bound = crab_nv_smo_bound(tree),
	};
}

static bool nv_wants(struct crab_engine *engine)
{
	return READ_ONCE(nv_tree_of(engine)->dense);
}

/* A rebuild off the write path, before a parent node is full. Without memory it is tried later */
static bool nv_maintain(struct crab_engine *engine)
{
	struct nv_tree *tree = nv_tree_of(engine);

	if (!READ_ONCE(tree->dense))
		return false;
	mutex_lock(&tree->smo_lock);
	if (tree->dense && crab_nv_inner_rebuild(tree))
		WRITE_ONCE(tree->dense, false);
	mutex_unlock(&tree->smo_lock);
	return false;
}

static const char * const nv_counters[] = {
	[NV_REBUILDS]		= "rebuilds",
	[NV_REBUILT]		= "rebuilt_pointers",
	[NV_REBUILD_NS]		= "rebuild_ns",
	[NV_INNER_LINES]	= "inner_lines",
	[NV_INNER_FENCES]	= "inner_fences",
	[NV_ATTACH_LINES]	= "attach_lines",
	NULL
};

static const struct crab_option nv_options[] = {
	CRAB_OPTION("pack", struct nv_tuning, pack, NULL),
	CRAB_OPTION("pairs", struct nv_tuning, pairs, NULL),
#ifdef CRAB_NV_INSTANT
	CRAB_OPTION("instant", struct nv_tuning, instant, NULL),
#endif
	{ }
};

static const struct crab_layout nv_layouts[] = {
	{
		.name = "append", .id = 1, .needs = CRAB_MODEL_WORD,
		.leaf_min = CRAB_LEAF_BYTES_MIN, .leaf_max = CRAB_LEAF_BYTES_MAX,
		.leaf_default = 4096, .records = nv_room,
	},
	{ }
};

const struct crab_engine_ops crab_engine_nvtree = {
	.name = "nvtree",
	.id = 3,
	.counters = nv_counters,
	.options = nv_options,
	.tuning = &crab_nv_tuning_default,
	.layouts = nv_layouts,
	.format = crab_nv_format,
	.attach = crab_nv_attach,
	.repair = crab_nv_repair,
#ifdef CRAB_NV_INSTANT
	.settle = crab_nv_park,
#endif
	.detach = crab_nv_detach,
	.lookup = nv_lookup,
	.seek = crab_nv_seek,
	.scan = crab_nv_scan,
	.beyond = crab_nv_beyond,
	.insert = nv_insert,
	.remove = nv_remove,
	.quarantine = crab_nv_quarantine,
	.check = crab_nv_check,
	.stats = nv_stats,
	.maintain = nv_maintain,
	.wants = nv_wants,
};
