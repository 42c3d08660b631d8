// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the verbs that write, and the entry of the engine `clfb` in the engine
 * table: a tree of nodes of one cache line on the media (Kim et al. 2018, "clfB-tree"). leaf.c,
 * node.c and smo.c document its protocols.
 *
 * Invariant: a write that returns 0 is durable; one that returns an error has changed nothing.
 *
 * Locking: takes clfb_tree.lock.
 */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "leaf.h"
#include "node.h"
#include "smo.h"

/* Updates the value in a slot */
static int put_old(struct clfb_write *write, u64 leaf, u32 slot, u64 value,
		   enum crab_insert_mode mode, struct crab_old *old)
{
	int err;

	old->value = crab_clfb_leaf_value(write->tree, leaf, slot);
	if (mode & CRAB_INSERT_DECIDES &&
	    crab_clfb_leaf_value(write->tree, leaf, slot) != old->value)
		return -ERANGE;
	err = crab_insert_decide(mode, old, &value);
	if (err)
		return err;
	crab_flow_pin();
	crab_clfb_leaf_set(write, leaf, slot, value);
	crab_flow_unpin();
	if (write->err)
		return write->err;
	crab_count_settled(&write->tree->base, updates, write->flow, 0);
	return 0;
}

/* Splits the full leaf of a new record; only this needs the range of the leaf */
static int put_split(struct clfb_write *write, struct clfb_place *place,
		     const struct crab_record *record)
{
	crab_clfb_find(write->tree, record->key, place);
	if (place->bad)		/* it was not, when the leaf was found */
		return crab_clfb_refused(write->tree, record->key);
	return crab_clfb_smo_split(write, place, record);
}

static int put_new(struct clfb_write *write, struct clfb_place *place, u64 key, u64 value)
{
	struct crab_record record = { .key = key, .value = value };
	bool added;
	int err = 0;

	crab_flow_pin();
	added = crab_clfb_leaf_add(write, place->leaf, &record);
	crab_flow_unpin();
	if (!added)
		err = write->err ?: put_split(write, place, &record);
	if (!err)
		crab_count_settled(&write->tree->base, inserts, write->flow, 0);
	return err;
}

static int put(struct clfb_write *write, u64 key, u64 value, enum crab_insert_mode mode,
	       struct crab_old *old)
{
	struct clfb_place place;
	int slot;

	crab_clfb_find_leaf(write->tree, key, &place);
	if (place.bad)
		return crab_clfb_refused(write->tree, key);
	slot = crab_clfb_leaf_find(write->tree, place.leaf, key);
	old->existed = slot >= 0;
	if (old->existed)
		return put_old(write, place.leaf, slot, value, mode, old);
	if (slot != -ENOENT || mode & CRAB_INSERT_NEEDS)
		return slot;
	return put_new(write, &place, key, value);
}

static int clfb_insert(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
		       enum crab_insert_mode mode, struct crab_old *old)
{
	struct clfb_write write = { .tree = clfb_tree_of(engine), .flow = flow };
	int err;

	down_write(&write.tree->lock);
	err = put(&write, key, value, mode, old);
	up_write(&write.tree->lock);
	return unlikely(err == -ERANGE) ? crab_clfb_doubt(write.tree, key) : err;
}

static int take(struct clfb_write *write, u64 key, struct crab_old *old)
{
	struct clfb_tree *tree = write->tree;
	struct clfb_place place;
	int err = -EBUSY, slot;

	crab_clfb_find_leaf(tree, key, &place);
	if (place.bad)
		return crab_clfb_refused(tree, key);
	slot = crab_clfb_leaf_find(tree, place.leaf, key);
	old->existed = slot >= 0;
	if (!old->existed)
		return slot;
	old->value = crab_clfb_leaf_value(tree, place.leaf, slot);
	if (crab_clfb_leaf_count(tree, place.leaf) == 1)
		err = crab_clfb_smo_unlink(write, &place);
	if (err == -EBUSY) {
		crab_flow_pin();
		crab_clfb_leaf_drop(write, place.leaf, slot);
		crab_flow_unpin();
		err = write->err;
	}
	if (!err)
		crab_count_settled(&tree->base, deletes, write->flow, 0);
	return err;
}

static int clfb_remove(struct crab_engine *engine, struct crab_flow *flow, u64 key,
		       struct crab_old *old)
{
	struct clfb_write write = { .tree = clfb_tree_of(engine), .flow = flow };
	int err;

	down_write(&write.tree->lock);
	err = take(&write, key, old);
	up_write(&write.tree->lock);
	return unlikely(err == -ERANGE) ? crab_clfb_doubt(write.tree, key) : err;
}

static int clfb_takes(struct crab_engine *engine, u32 writes)
{
	struct clfb_tree *tree = clfb_tree_of(engine);
	u64 nodes;

	down_read(&tree->lock);
	nodes = crab_clfb_smo_nodes(tree, writes);
	up_read(&tree->lock);
	return crab_pool_has(&tree->nodes, nodes) ? 0 : -ENOSPC;
}

static void clfb_stats(struct crab_engine *engine, struct crab_engine_stats *stats)
{
	struct clfb_tree *tree = clfb_tree_of(engine);
	struct crab_counts counts;

	down_read(&tree->lock);
	crab_counts_sum(engine, &counts);
	*stats = (struct crab_engine_stats) {
		.leaves_used = tree->leaves,
		.leaves_bad = tree->quarantined + tree->pool.spoilt,
		.records = crab_counts_records(&counts, tree->records),
		.capacity = engine->geo.leaves * tree->room,
		.dram_bytes = sizeof(*tree) + 4 * engine->geo.leaves / 8 +
			      (tree->copies - 1) * engine->geo.leaves * sizeof(*tree->second) +
			      (tree->room + 1) * sizeof(*tree->scratch),
		.splits = tree->splits,
		.unlinks = tree->unlinks,
		.lines_bound = crab_clfb_smo_bound(tree),
	};
	up_read(&tree->lock);
}

static u64 area_inplace(u64 leaves, u32 leaf_bytes)
{
	return crab_clfb_node_area(leaves, 1);
}

static u64 area_twin(u64 leaves, u32 leaf_bytes)
{
	return crab_clfb_node_area(leaves, 2);
}

static const char * const clfb_counters[] = {
	[CLFB_NODE_UPDATES]	= "node_updates",
	[CLFB_NODES_WRITTEN]	= "nodes_written",
	NULL
};

static const struct crab_layout clfb_layouts[] = {
	{
		.name = "inplace", .id = CLFB_LAYOUT_INPLACE, .needs = CRAB_MODEL_WORD,
		.leaf_min = CRAB_LEAF_BYTES_MIN, .leaf_max = CLFB_LEAF_BYTES_MAX,
		.leaf_default = CRAB_LEAF_BYTES_DEFAULT, .records = clfb_room,
		.before_pool = area_inplace,
	},
	{
		.name = "twin", .id = CLFB_LAYOUT_TWIN, .needs = CRAB_MODEL_WORD,
		.leaf_min = CRAB_LEAF_BYTES_MIN, .leaf_max = CLFB_LEAF_BYTES_MAX,
		.leaf_default = CRAB_LEAF_BYTES_DEFAULT, .records = clfb_room,
		.before_pool = area_twin,
	},
	{
		.name = "atomic", .id = CLFB_LAYOUT_ATOMIC, .needs = CRAB_MODEL_WHOLE_LINE,
		.leaf_min = CRAB_LEAF_BYTES_MIN, .leaf_max = CLFB_LEAF_BYTES_MAX,
		.leaf_default = CRAB_LEAF_BYTES_DEFAULT, .records = clfb_room,
		.before_pool = area_inplace,
	},
	{
		.name = "encoded", .id = CLFB_LAYOUT_ENCODED, .needs = CRAB_MODEL_WHOLE_LINE,
		.leaf_min = CRAB_LINE, .leaf_max = CRAB_LINE, .leaf_default = CRAB_LINE,
		.records = clfb_room_encoded, .before_pool = area_inplace,
	},
#ifdef CRAB_CLFB_BARE
	{
		.name = "bare", .id = CLFB_LAYOUT_BARE, .needs = CRAB_MODEL_WORD,
		.leaf_min = CRAB_LINE, .leaf_max = CRAB_LEAF_BYTES_DEFAULT,
		.leaf_default = CRAB_LEAF_BYTES_DEFAULT, .records = clfb_room_bare,
		.before_pool = area_inplace,
	},
#endif
	{ }
};

const struct crab_engine_ops crab_engine_clfb = {
	.name = "clfb",
	.id = 5,
	.counters = clfb_counters,
	.layouts = clfb_layouts,
	.format = crab_clfb_format,
	.attach = crab_clfb_attach,
	.repair = crab_clfb_repair,
	.detach = crab_clfb_detach,
	.lookup = crab_clfb_lookup,
	.seek = crab_clfb_seek,
	.scan = crab_clfb_scan,
	.beyond = crab_clfb_beyond,
	.insert = clfb_insert,
	.remove = clfb_remove,
	.takes = clfb_takes,
	.quarantine = crab_clfb_quarantine,
	.check = crab_clfb_check,
	.stats = clfb_stats,
};
