// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the engine `volatile`: an ordinary B+-tree with sorted leaves, all of it
 * in DRAM. It cleans nothing and promises nothing. It is the upper bound for comparisons (Wang
 * et al. 2020, section 6). Its content ends with the attach.
 *
 * Invariants: records of a leaf ascend; leaves ascend; no leaf except the first is empty. It
 * uses at most as many leaves as the pool of the region would have.
 *
 * Locking: vol_tree.lock; readers share it.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "engines/array.h"
#include "engines/counts.h"
#include "engines/defaults.h"
#include "shared/index.h"

#define CHECK_LEAVES	128	/* for which check holds the lock */

struct vol_leaf {
	struct vol_leaf *prev;
	struct vol_leaf *next;
	u64 low;
	struct crab_array array;
};

struct vol_tree {
	struct crab_engine base;
	struct rw_semaphore lock;
	struct crab_index index;
	struct vol_leaf *first;
	u32 slots;
	u64 leaves;
	u64 records;
	u64 splits;
	u64 unlinks;
};

static struct vol_tree *vol_of(struct crab_engine *engine)
{
	return container_of(engine, struct vol_tree, base);
}

static struct vol_leaf *vol_leaf_alloc(const struct vol_tree *tree)
{
	return kzalloc(struct_size((struct vol_leaf *)NULL, array.records, tree->slots), GFP_NOIO);
}

static void vol_detach(struct crab_engine *engine)
{
	struct vol_tree *tree = vol_of(engine);
	struct vol_leaf *leaf;

	while ((leaf = tree->first)) {
		tree->first = leaf->next;
		kfree(leaf);
		cond_resched();
	}
	crab_index_destroy(&tree->index);
	crab_engine_free(engine);
}

static struct crab_engine *vol_attach(struct crab_media *media, const struct crab_geometry *geo,
				      const struct crab_attach_how *how)
{
	struct crab_engine *engine = crab_engine_alloc(sizeof(struct vol_tree),
						       &crab_engine_volatile, media, geo, how);
	struct vol_tree *tree;

	if (!engine)
		return ERR_PTR(-ENOMEM);
	tree = vol_of(engine);
	init_rwsem(&tree->lock);
	tree->slots = crab_engine_records(geo->leaf_bytes);
	tree->leaves = 1;
	tree->first = vol_leaf_alloc(tree);
	if (!tree->first || crab_index_append(&tree->index, 0, tree->first)) {
		vol_detach(engine);
		return ERR_PTR(-ENOMEM);
	}
	crab_index_set_lock(&tree->index, &tree->lock);
	return engine;
}

static int vol_lookup(struct crab_engine *engine, u64 key, u64 *value)
{
	struct vol_tree *tree = vol_of(engine);
	const struct vol_leaf *leaf;
	int err = -ENOENT;
	u32 pos;

	down_read(&tree->lock);
	leaf = crab_index_find(&tree->index, key);
	pos = crab_array_find(&leaf->array, key);
	if (crab_array_has(&leaf->array, pos, key)) {
		*value = leaf->array.records[pos].value;
		err = 0;
	}
	up_read(&tree->lock);
	return err;
}

static int vol_near(const struct vol_tree *tree, u64 key, enum crab_seek_dir dir,
		    struct crab_record *record)
{
	const struct vol_leaf *leaf = crab_index_find(&tree->index, key);

	if (crab_array_near(&leaf->array, key, dir, record))
		return 0;
	leaf = dir == CRAB_SEEK_GE ? leaf->next : leaf->prev;
	if (!leaf || !crab_array_near(&leaf->array, key, dir, record))
		return -ENOENT;
	return 0;
}

static int vol_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		    struct crab_record *record)
{
	struct vol_tree *tree = vol_of(engine);
	int err;

	down_read(&tree->lock);
	err = vol_near(tree, key, dir, record);
	up_read(&tree->lock);
	return err;
}

static u32 vol_gather(const struct vol_tree *tree, u64 start, u64 end,
		      struct crab_record *records, u32 cap)
{
	const struct vol_leaf *leaf = crab_index_find(&tree->index, start);
	u32 pos = crab_array_find(&leaf->array, start), count = 0;

	for (; leaf && count < cap; leaf = leaf->next, pos = 0) {
		for (; pos < leaf->array.count && count < cap; pos++) {
			if (leaf->array.records[pos].key > end)
				return count;
			records[count++] = leaf->array.records[pos];
		}
	}
	return count;
}

static int vol_scan(struct crab_engine *engine, u64 start, u64 end,
		    struct crab_record *records, u32 cap)
{
	struct vol_tree *tree = vol_of(engine);
	int count;

	down_read(&tree->lock);
	count = vol_gather(tree, start, end, records, cap);
	up_read(&tree->lock);
	return count;
}

/* The upper half of a full leaf, or nothing of a last one that keys are appended to */
static struct vol_leaf *vol_split(struct vol_tree *tree, struct vol_leaf *leaf, u32 pos, u64 key)
{
	u32 count = leaf->array.count, keep = !leaf->next && pos == count ? count : count / 2;
	struct vol_leaf *right;

	if (tree->leaves >= tree->base.geo.leaves)
		return ERR_PTR(-ENOSPC);
	right = vol_leaf_alloc(tree);
	if (!right || crab_index_reserve(&tree->index)) {
		kfree(right);
		return ERR_PTR(-ENOMEM);
	}
	right->array.count = count - keep;
	memcpy(right->array.records, leaf->array.records + keep,
	       right->array.count * sizeof(right->array.records[0]));
	leaf->array.count = keep;
	right->low = right->array.count ? right->array.records[0].key : key;
	right->prev = leaf;
	right->next = leaf->next;
	if (right->next)
		right->next->prev = right;
	leaf->next = right;
	crab_index_insert(&tree->index, right->low, right);
	tree->leaves++;
	tree->splits++;
	return right;
}

static int vol_add(struct vol_tree *tree, struct vol_leaf *leaf, u32 pos, u64 key, u64 value)
{
	struct vol_leaf *right;

	if (leaf->array.count == tree->slots) {
		right = vol_split(tree, leaf, pos, key);
		if (IS_ERR(right))
			return PTR_ERR(right);
		if (key >= right->low) {
			pos -= leaf->array.count;
			leaf = right;
		}
	}
	crab_array_insert(&leaf->array, pos, key, value);
	tree->records++;
	crab_count(&tree->base, inserts, 1);
	return 0;
}

static int vol_put(struct vol_tree *tree, u64 key, u64 value, enum crab_insert_mode mode,
		   struct crab_old *old)
{
	struct vol_leaf *leaf = crab_index_find(&tree->index, key);
	u32 pos = crab_array_find(&leaf->array, key);
	int err;

	old->existed = crab_array_has(&leaf->array, pos, key);
	if (!old->existed)
		return mode & CRAB_INSERT_NEEDS ? -ENOENT : vol_add(tree, leaf, pos, key, value);
	old->value = leaf->array.records[pos].value;
	err = crab_insert_decide(mode, old, &value);
	if (err)
		return err;
	leaf->array.records[pos].value = value;
	crab_count(&tree->base, updates, 1);
	return 0;
}

static int vol_insert(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
		      enum crab_insert_mode mode, struct crab_old *old)
{
	struct vol_tree *tree = vol_of(engine);
	int err;

	down_write(&tree->lock);
	err = vol_put(tree, key, value, mode, old);
	up_write(&tree->lock);
	flow->settled = true;
	return err;
}

static void vol_unlink(struct vol_tree *tree, struct vol_leaf *leaf)
{
	leaf->prev->next = leaf->next;
	if (leaf->next)
		leaf->next->prev = leaf->prev;
	crab_index_remove(&tree->index, leaf->low);
	kfree(leaf);
	tree->leaves--;
	tree->unlinks++;
}

static int vol_take(struct vol_tree *tree, u64 key, struct crab_old *old)
{
	struct vol_leaf *leaf = crab_index_find(&tree->index, key);
	u32 pos = crab_array_find(&leaf->array, key);

	old->existed = crab_array_has(&leaf->array, pos, key);
	if (!old->existed)
		return -ENOENT;
	old->value = leaf->array.records[pos].value;
	crab_array_remove(&leaf->array, pos);
	tree->records--;
	crab_count(&tree->base, deletes, 1);
	if (!leaf->array.count && leaf->prev)
		vol_unlink(tree, leaf);
	return 0;
}

static int vol_remove(struct crab_engine *engine, struct crab_flow *flow, u64 key,
		      struct crab_old *old)
{
	struct vol_tree *tree = vol_of(engine);
	int err;

	down_write(&tree->lock);
	err = vol_take(tree, key, old);
	up_write(&tree->lock);
	flow->settled = true;
	return err;
}

static void vol_check_leaf(const struct vol_leaf *leaf, struct crab_check_report *report)
{
	u64 above = leaf->next ? leaf->next->low : CRAB_KEY_EMPTY;
	u32 i;

	for (i = 0; i < leaf->array.count; i++)
		if (leaf->array.records[i].key < leaf->low || leaf->array.records[i].key >= above ||
		    (i && leaf->array.records[i].key <= leaf->array.records[i - 1].key))
			crab_damage_note(&report->damage, 0, "leaf %llu: keys out of order",
					 report->leaves);
	report->leaves++;
	report->records += leaf->array.count;
}

/* Lets writers in; returns the leaf to go on with */
static const struct vol_leaf *vol_check_pause(struct vol_tree *tree, const struct vol_leaf *leaf)
{
	u64 low = leaf->low;

	up_read(&tree->lock);
	cond_resched();
	down_read(&tree->lock);
	return crab_index_find(&tree->index, low);
}

static int vol_check_leaves(struct vol_tree *tree, struct crab_check_report *report)
{
	const struct vol_leaf *leaf = tree->first;

	while (leaf) {
		if (crab_engine_is_stopped(&tree->base))
			return -EINTR;
		if (crab_index_find(&tree->index, leaf->low) != leaf)
			crab_damage_note(&report->damage, 0, "leaf %llu: the index finds another one",
					 report->leaves);
		vol_check_leaf(leaf, report);
		leaf = leaf->next;
		if (leaf && !(report->leaves % CHECK_LEAVES))
			leaf = vol_check_pause(tree, leaf);
	}
	return 0;
}

static int vol_check(struct crab_engine *engine, struct crab_check_report *report)
{
	struct vol_tree *tree = vol_of(engine);
	struct crab_counts before, now;
	int err;

	down_read(&tree->lock);
	crab_counts_sum(engine, &before);
	err = vol_check_leaves(tree, report);
	crab_counts_sum(engine, &now);
	if (!err && now.inserts == before.inserts && now.deletes == before.deletes &&
	    (report->records != tree->records || report->leaves != tree->leaves))
		crab_damage_note(&report->damage, 0, "counts of leaves or records are wrong");
	up_read(&tree->lock);
	return err;
}

static void vol_stats(struct crab_engine *engine, struct crab_engine_stats *stats)
{
	struct vol_tree *tree = vol_of(engine);

	memset(stats, 0, sizeof(*stats));
	down_read(&tree->lock);
	stats->leaves_used = tree->leaves;
	stats->records = tree->records;
	stats->capacity = engine->geo.leaves * tree->slots;
	stats->dram_bytes = tree->leaves * struct_size(tree->first, array.records, tree->slots) +
			    crab_index_bytes(&tree->index);
	stats->splits = tree->splits;
	stats->unlinks = tree->unlinks;
	up_read(&tree->lock);
}

/* No leaf of a pool; a split takes one of those that the region would have */
static int vol_takes(struct crab_engine *engine, u32 writes)
{
	return vol_of(engine)->leaves + writes <= engine->geo.leaves ? 0 : -ENOSPC;
}

static const struct crab_layout vol_layouts[] = {
	{
		.name = "sorted", .id = 1, .needs = CRAB_MODEL_NONE,
		.leaf_min = CRAB_LEAF_BYTES_MIN, .leaf_max = CRAB_LEAF_BYTES_MAX,
		.leaf_default = CRAB_LEAF_BYTES_DEFAULT, .records = crab_engine_records,
	},
	{ }
};

/*
 * There is no body. But a FORMAT that was cut may have overwritten a part of an old one, and the
 * superblock of that must not become valid again (super.c)
 */
static int vol_format(struct crab_flow *flow, const struct crab_geometry *geo)
{
	/* P2: the old superblocks' checksums are gone before a superblock is written */
	crab_fence(flow, CRAB_P2_BODY);
	return 0;
}

const struct crab_engine_ops crab_engine_volatile = {
	.name = "volatile",
	.id = 2,
	.flags = CRAB_ENGINE_VOLATILE,
	.layouts = vol_layouts,
	.format = vol_format,
	.attach = vol_attach,
	.detach = vol_detach,
	.lookup = vol_lookup,
	.seek = vol_seek,
	.scan = vol_scan,
	.beyond = crab_engine_beyond,
	.insert = vol_insert,
	.remove = vol_remove,
	.takes = vol_takes,
	.check = vol_check,
	.stats = vol_stats,
};
