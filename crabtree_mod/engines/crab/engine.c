// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the verbs of the engine `crab` and its entry in the
 * engine table.
 *
 * Invariant: a function that returns 0 to a writer has made its effect durable;
 * one that returns an error has changed no record. (A full pool may have had
 * sparse neighbours merged on the way, each merge durable and whole.)
 *
 * Locking: the store's, as engine.h says.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "crab.h"

/* The leaf whose range holds @key, or ERR_PTR(-EUCLEAN) where that is quarantined */
static struct crab_leaf *tree_leaf(const struct crab_tree *tree, u64 key)
{
	struct crab_leaf *leaf;

	if (!tree->first)
		return ERR_PTR(-EUCLEAN);
	leaf = crab_index_find(&tree->index, key);
	return leaf->bad ? ERR_PTR(-EUCLEAN) : leaf;
}

static int tree_lookup(struct crab_engine *engine, u64 key, u64 *value)
{
	struct crab_tree *tree = crab_tree_of(engine);
	struct crab_leaf *leaf = tree_leaf(tree, key);
	int slot;

	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	slot = crab_leaf_find(tree, leaf, key);
	if (slot < 0)
		return leaf->doubt ? -EUCLEAN : -ENOENT;
	*value = crab_leaf_record(tree, leaf, slot).value;
	return 0;
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

static int tree_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		     struct crab_record *record)
{
	struct crab_tree *tree = crab_tree_of(engine);
	struct crab_leaf *leaf = tree_leaf(tree, key);

	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	for (; leaf; leaf = dir == CRAB_SEEK_GE ? leaf->next : leaf->prev) {
		if (leaf->bad)
			return -EUCLEAN;
		if (leaf_seek(tree, leaf, key, dir, record))
			return 0;
	}
	return -ENOENT;
}

static int tree_scan(struct crab_engine *engine, u64 start, u64 end,
		     struct crab_record *records, u32 cap)
{
	struct crab_tree *tree = crab_tree_of(engine);
	struct crab_leaf *leaf = tree_leaf(tree, start);
	struct crab_record *room;
	u32 count = 0, n;

	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	room = kmalloc_array(tree->slots, sizeof(*room), GFP_NOIO);
	if (!room)
		return -ENOMEM;
	for (; leaf && leaf->low <= end && count < cap; leaf = leaf->next) {
		if (leaf->bad)
			break;	/* the next call begins here, and says so */
		n = min(crab_leaf_gather(tree, leaf, start, end, room), cap - count);
		memcpy(records + count, room, n * sizeof(*room));
		count += n;
	}
	kfree(room);
	return !count && leaf && leaf->low <= end && leaf->bad ? -EUCLEAN : (int)count;
}

static u64 tree_beyond(struct crab_engine *engine, u64 key)
{
	struct crab_tree *tree = crab_tree_of(engine);
	struct crab_leaf *leaf = tree->first ? crab_index_find(&tree->index, key) : NULL;
	u64 low = 0;

	while (leaf && !leaf->bad)	/* served, but with nothing from @key on */
		leaf = leaf->next;
	for (; leaf && (leaf->bad || leaf->low == low); leaf = leaf->next)
		low = leaf->low;	/* where a leaf that a cut emptied lies, too */
	return leaf ? max(key, leaf->low) : CRAB_KEY_EMPTY;
}

static int tree_add(struct crab_tree *tree, struct crab_leaf *leaf, u64 key, u64 value)
{
	if (leaf->count == tree->slots)
		return crab_smo_add(tree, leaf, key, value);
	if (value == leaf->void_value)
		return crab_smo_rewrite(tree, leaf, key, value);
	crab_slotted_insert(tree, leaf, key, value);
	return 0;
}

static int tree_update(struct crab_tree *tree, struct crab_leaf *leaf, u32 slot,
		       u64 key, u64 value)
{
	if (value == leaf->void_value)
		return crab_smo_rewrite(tree, leaf, key, value);
	crab_leaf_update(tree, leaf, slot, value);
	return 0;
}

static int tree_insert(struct crab_engine *engine, u64 key, u64 value,
		       enum crab_insert_mode mode, struct crab_old *old)
{
	struct crab_tree *tree = crab_tree_of(engine);
	struct crab_leaf *leaf = tree_leaf(tree, key);
	int slot;

	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	if (tree->sorted)
		return crab_sorted_insert(tree, leaf, key, value, mode, old);
	slot = crab_leaf_find(tree, leaf, key);
	old->existed = slot >= 0;
	if (slot < 0)
		return mode == CRAB_INSERT_REPLACE ? -ENOENT : tree_add(tree, leaf, key, value);
	old->value = crab_leaf_record(tree, leaf, slot).value;
	if (mode == CRAB_INSERT_CREATE)
		return -EEXIST;
	return tree_update(tree, leaf, slot, key, value);
}

static int tree_remove(struct crab_engine *engine, u64 key, struct crab_old *old)
{
	struct crab_tree *tree = crab_tree_of(engine);
	struct crab_leaf *leaf = tree_leaf(tree, key);
	int slot;

	if (IS_ERR(leaf))
		return PTR_ERR(leaf);
	if (tree->sorted)
		return crab_sorted_remove(tree, leaf, key, old);
	slot = crab_leaf_find(tree, leaf, key);
	old->existed = slot >= 0;
	if (slot < 0)
		return -ENOENT;
	old->value = crab_leaf_record(tree, leaf, slot).value;
	if (leaf->count == 1 && leaf->prev)
		crab_smo_unlink(tree, leaf);
	else
		crab_slotted_remove(tree, leaf, slot);
	return 0;
}

static void tree_stats(struct crab_engine *engine, struct crab_engine_stats *stats)
{
	struct crab_tree *tree = crab_tree_of(engine);
	u64 leaf = roundup_pow_of_two(crab_leaf_dram(tree));

	if (crab_leaf_dram(tree) <= 96)		/* an allocator's size of its own */
		leaf = min_t(u64, leaf, 96);
	stats->leaves_used = tree->leaves;
	stats->leaves_bad = tree->bad;
	stats->records = tree->records;
	stats->capacity = engine->geo.leaves * tree->slots;
	stats->dram_bytes = tree->leaves * leaf +
			    tree->index.nodes * sizeof(struct crab_index_node) +
			    engine->geo.leaves / 8;
	stats->splits = tree->splits;
	stats->unlinks = tree->unlinks;
	stats->repairs = tree->repairs;
	stats->sips = tree->sip.count;
	stats->sip_lines = tree->sip.lines;
	stats->sip_fences = tree->sip.fences;
	stats->cows = tree->cow.count;
	stats->cow_lines = tree->cow.lines;
	stats->cow_fences = tree->cow.fences;
}

static bool tree_maintain(struct crab_engine *engine)
{
	struct crab_tree *tree = crab_tree_of(engine);

	return !tree->sorted && crab_smo_prepare(tree);
}

static bool tree_wants(struct crab_engine *engine)
{
	struct crab_tree *tree = crab_tree_of(engine);

	return !tree->sorted && crab_pool_wants(&tree->pool);
}

static const struct crab_layout tree_layouts[] = {
	{ .name = "slotted", .id = CRAB_LAYOUT_SLOTTED, .needs = CRAB_MODEL_WORD },
	{ .name = "sorted", .id = CRAB_LAYOUT_SORTED, .needs = CRAB_MODEL_LINE, .bitmap = true },
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
	.lookup = tree_lookup,
	.seek = tree_seek,
	.scan = tree_scan,
	.beyond = tree_beyond,
	.insert = tree_insert,
	.remove = tree_remove,
	.check = crab_tree_check,
	.stats = tree_stats,
	.maintain = tree_maintain,
	.wants = tree_wants,
};
