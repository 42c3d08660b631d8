// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the writes of one key, and the entry of the engine `nbtree` in the engine
 * table: a tree whose leaves have unsorted slots on the media, and whose inner nodes, bitmaps and
 * fingerprints are in DRAM (Zhang et al. 2024, "NBTree", as NBTree-WR in mode ADR).
 *
 * Invariant: a write that returns 0 is durable; one that returns an error has changed no record.
 *
 * Locking: access.c documents it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "guess.h"
#include "leaf.h"
#include "smo.h"

/* An insert or update; the leaf is locked */
static int leaf_put(struct nb_write *write, struct nb_leaf *leaf, u32 slot,
		    const struct crab_record *record, const struct crab_old *old)
{
	struct nb_tree *tree = write->tree;

	if (old->existed) {
		crab_nb_leaf_set(write, leaf, slot, record->value);
		crab_count_settled(&tree->base, updates, write->flow, 0);
		return 0;
	}
	slot = crab_nb_leaf_free_slot(tree, leaf);
	if (slot == NB_SLOT_NONE)
		return -EAGAIN;
	crab_nb_leaf_add(write, leaf, slot, record);
	crab_count_settled(&tree->base, inserts, write->flow, 0);
	return 0;
}

/* The value that decides, or that is added to, is loaded again. -ERANGE: it differs */
static int leaf_decide(const struct nb_tree *tree, const struct nb_leaf *leaf, u32 slot,
		       enum crab_insert_mode mode, struct crab_old *old, u64 *value)
{
	if (likely(!(mode & CRAB_INSERT_DECIDES)))
		return 0;
	if (crab_nb_leaf_value(tree, leaf, slot) != old->value)
		return -ERANGE;
	return crab_insert_decide(mode, old, value);
}

/* -EAGAIN: the leaf has no room; -ERANGE: the media has changed */
static int insert_once(struct nb_write *write, struct crab_record record,
		       enum crab_insert_mode mode, struct crab_old *old)
{
	struct nb_tree *tree = write->tree;
	struct nb_leaf *leaf = crab_nb_lock(write, record.key);
	int err = 0;
	u32 slot;

	if (!leaf)
		return -EUCLEAN;
	slot = crab_nb_leaf_find(tree, leaf, record.key);
	old->existed = slot < NB_SLOT_BLANK;
	if (old->existed) {
		old->value = crab_nb_leaf_value(tree, leaf, slot);
		err = leaf_decide(tree, leaf, slot, mode, old, &record.value);
	} else if (unlikely(slot == NB_SLOT_BLANK)) {
		err = -ERANGE;
	} else if (mode & CRAB_INSERT_NEEDS) {
		err = -ENOENT;
	}
	if (!err)
		err = leaf_put(write, leaf, slot, &record, old);
	crab_nb_unlock(leaf);
	return err;
}

static int nb_insert(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
		     enum crab_insert_mode mode, struct crab_old *old)
{
	struct nb_write write = { .tree = nb_tree_of(engine), .flow = flow };
	struct crab_record record = { .key = key, .value = value };
	int err;

	for (;;) {
		err = insert_once(&write, record, mode, old);
		if (err != -EAGAIN)
			break;
		if (!write.structure) {
			/* Another task may have made room before this one has the lock */
			crab_nb_lock_structure(&write);
			continue;
		}
		err = crab_nb_smo_split(&write, key);
		if (err)
			break;
	}
	crab_nb_end(&write);
	return unlikely(err == -ERANGE) ? crab_nb_doubt(write.tree, key) : err;
}

/* As insert_once(). @empty: out: the leaf has no records left, and is not the first one */
static int remove_once(struct nb_write *write, u64 key, struct crab_old *old, bool *empty)
{
	struct nb_tree *tree = write->tree;
	struct nb_leaf *leaf = crab_nb_lock(write, key);
	u32 slot;

	if (!leaf)
		return -EUCLEAN;
	slot = crab_nb_leaf_find(tree, leaf, key);
	old->existed = slot < NB_SLOT_BLANK;
	if (old->existed) {
		old->value = crab_nb_leaf_value(tree, leaf, slot);
		crab_nb_leaf_drop(write, leaf, slot);
		*empty = leaf->low && !leaf->live;
		if (*empty)	/* the flow goes on */
			crab_count(&tree->base, deletes, 1);
		else
			crab_count_settled(&tree->base, deletes, write->flow, 0);
	}
	crab_nb_unlock(leaf);
	return old->existed ? 0 : slot == NB_SLOT_BLANK ? -ERANGE : -ENOENT;
}

static int nb_remove(struct crab_engine *engine, struct crab_flow *flow, u64 key,
		     struct crab_old *old)
{
	struct nb_write write = { .tree = nb_tree_of(engine), .flow = flow };
	bool empty = false;
	int err = remove_once(&write, key, old, &empty);

	if (empty) {
		crab_nb_lock_structure(&write);
		crab_nb_smo_unlink(&write, key);
	}
	crab_nb_end(&write);
	return unlikely(err == -ERANGE) ? crab_nb_doubt(write.tree, key) : err;
}

static void nb_stats(struct crab_engine *engine, struct crab_engine_stats *stats)
{
	const struct nb_tree *tree = nb_tree_of(engine);
	u64 leaves = READ_ONCE(tree->leaves);
	struct crab_counts counts;

	crab_counts_sum(engine, &counts);
	*stats = (struct crab_engine_stats) {
		.leaves_used = leaves,
		.leaves_bad = READ_ONCE(tree->quarantined) + tree->pool.spoilt,
		.records = crab_counts_records(&counts, tree->records),
		.capacity = engine->geo.leaves * tree->room,
		.dram_bytes = crab_index_bytes(&tree->index) +
			      leaves * sizeof(struct nb_leaf) + engine->geo.leaves / 8,
		.splits = READ_ONCE(tree->splits),
		.unlinks = READ_ONCE(tree->unlinks),
		.lines_bound = crab_nb_smo_bound(tree),
	};
}

static const struct nb_kind nb_adr = {
	.ops = &crab_engine_nbtree,
	.tree_bytes = sizeof(struct nb_tree),
	.init = crab_nb_leaf_init,
	.link_bits = ~0ULL,
	.format = crab_nb_format,
	.open = crab_nb_leaf_open,
};

/* The rows of the layouts, by the places in @crab_nb_layouts */
static const struct nb_kind * const nb_kinds[] = { &nb_adr, &crab_ea_kind };

const struct crab_layout crab_nb_layouts[] = {
	{
		.name = "adr", .id = NB_LAYOUT_ADR, .needs = CRAB_MODEL_LINE,
		.leaf_min = CRAB_LEAF_BYTES_MIN, .leaf_max = NB_LEAF_BYTES_MAX,
		.leaf_default = NB_LEAF_BYTES_MAX, .records = nb_room,
	},
	{
		.name = "eadr", .id = NB_LAYOUT_EADR, .needs = CRAB_MODEL_CACHE, .swaps = true,
		.leaf_min = CRAB_LEAF_BYTES_MIN, .leaf_max = NB_LEAF_BYTES_MAX,
		.leaf_default = NB_LEAF_BYTES_MAX, .records = nb_room,
	},
	{ }
};

static const struct nb_kind *nb_kind_of(const struct crab_geometry *geo)
{
	return nb_kinds[crab_layout_by_id(&crab_engine_nbtree, geo->layout) - crab_nb_layouts];
}

static int nb_format(struct crab_flow *flow, const struct crab_geometry *geo)
{
	return nb_kind_of(geo)->format(flow, geo);
}

static struct crab_engine *nb_attach(struct crab_media *media, const struct crab_geometry *geo,
				     const struct crab_attach_how *how)
{
	return crab_nb_attach(nb_kind_of(geo), media, geo, how);
}

const struct crab_engine_ops crab_engine_nbtree = {
	.name = "nbtree",
	.id = 6,
	.layouts = crab_nb_layouts,
	.format = nb_format,
	.attach = nb_attach,
	.repair = crab_nb_repair,
	.detach = crab_nb_detach,
	.lookup = crab_nb_lookup,
	.seek = crab_nb_seek,
	.scan = crab_nb_scan,
	.beyond = crab_nb_beyond,
	.insert = nb_insert,
	.remove = nb_remove,
	.quarantine = crab_nb_quarantine,
	.check = crab_nb_check,
	.stats = nb_stats,
	.maintain = crab_nb_shorten,
	.wants = crab_nb_shorten_is_due,
};
