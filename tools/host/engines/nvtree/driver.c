// SPDX-License-Identifier: GPL-2.0
/*
 * This file is the driver of the engine `nvtree` for the crash tests: its spaces, loads and
 * workloads.
 *
 * With leaves of two to four elements and a handful of leaves, few keys reach every structure
 * change, the first and the last leaf and a full pool. Leaves of four elements have two lines.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>

#include "engines/nvtree/nvtree.h"
#include "nvtree_driver.h"
#include "store/store_priv.h"

#define SEALED_BIT	(1ULL << 50)	/* of a link: in its check */

static u64 shape(struct crab_store *store)
{
	const struct nv_tree *tree = nv_tree_of(store->engine);

	return tree->birth + tree->unlinks;
}

/*
 * One leaf remains free, and any two neighbours have more records than fit in one leaf. Each other
 * operation may have deleted a record since, or freed a leaf
 */
static bool is_full(struct crab_store *store, u32 ops)
{
	const struct nv_tree *tree = nv_tree_of(store->engine);
	struct crab_store_info info;

	crab_store_info(store, &info);
	return info.super.leaves - info.stats.leaves_used < 2 + ops &&
	       info.stats.records + ops >= info.stats.leaves_used / 2 * (tree->room + 1);
}

/* Entries are parked if they fit in the free leaves, and attach believes them */
static const char *settled(struct crab_store *store)
{
	const struct nv_tree *tree = nv_tree_of(store->engine);
	u64 free = tree->base.geo.leaves - tree->leaves;

	if (!tree->tuning.instant)
		return NULL;
	if (!tree->base.root)
		return free * nv_park_room(tree->base.geo.leaf_bytes) < tree->leaves ? NULL :
		       "entries are not parked, though there is room";
	return tree->first.elements ? NULL : "attach does not believe the parked entries";
}

/* The links and counts of all leaves */
static u32 sealed(struct crab_store *store, __le64 **words, u32 room)
{
	struct nv_tree *tree = nv_tree_of(store->engine);
	struct nv_place leaf;
	u32 n = 0;
	u64 key;

	for (key = 0; key != CRAB_KEY_EMPTY && n + 1 < room; key = leaf.high) {
		crab_nv_find_range(tree, key, &leaf);
		words[n++] = &nv_leaf_media(tree, leaf.leaf)->head.next;
		words[n++] = &nv_leaf_media(tree, leaf.leaf)->count;
	}
	return n;
}

static const struct space nvtree_spaces[] = {
	{ "nvtree-2x4x3", NVTREE(128), .slots = 2, .leaves = 4, .keys = 3, .format = true },
	{ "nvtree-survive", NVTREE(128), .slots = 2, .leaves = 4, .keys = 2, .survive = true,
	  .tier = SPACE_TINY },
	{ "nvtree-modify", NVTREE(128, .pairs = true), .slots = 2, .leaves = 4, .keys = 2,
	  .modify = true, .tier = SPACE_TINY },
	{ "nvtree-ranges", NVTREE(128), .slots = 2, .leaves = 4, .keys = 3, .ranges = true },
	{ "nvtree-blobs", NVTREE(128), .slots = 2, .leaves = 10, .keys = 2, .blobs = true,
	  .survive = true, .tier = SPACE_TINY },
	{ "nvtree-blobs-3", NVTREE(128), .slots = 2, .leaves = 12, .keys = 3, .blobs = true },
	{ "nvtree-name-commits", NVTREE(128), .slots = 2, .leaves = 16, .keys = 2, .commits = 2,
	  .blobs = true, .names = true },
	{ "nvtree-commits", NVTREE(128), .slots = 2, .leaves = 10, .keys = 2, .commits = 2,
	  .survive = true, .lives = 2 },
	{ "nvtree-commits-3", NVTREE(128), .slots = 2, .leaves = 10, .keys = 3, .commits = 2,
	  .tier = SPACE_FULL },
	{ "nvtree-3x3x3", NVTREE(128), .slots = 3, .leaves = 3, .keys = 3, .survive = true,
	  .tier = SPACE_LONG },
	{ "nvtree-full", NVTREE(128), .slots = 2, .leaves = 3, .keys = 4 },
	{ "nvtree-pairs", NVTREE(128, .pairs = true), .slots = 3, .leaves = 4, .keys = 2,
	  .survive = true },
	{ "nvtree-lines", NVTREE(256, .pairs = true), .slots = 4, .leaves = 3, .keys = 2 },
	{ "nvtree-instant", NVTREE(128, .instant = true), .slots = 2, .leaves = 5, .keys = 3,
	  .lives = 2 },
	{ "nvtree-instant-survive", NVTREE(128, .instant = true), .slots = 2, .leaves = 4, .keys = 2,
	  .survive = true, .format = true, .tier = SPACE_TINY },
	{ "nvtree-batch", NVTREE(128, .pack = 2), .slots = 2, .leaves = 5, .keys = 3, .batch = 2 },
	{ }
};

#define FILLED		.changes = true, .inserts = 900

static const struct load nvtree_loads[] = {
	{ "load-nvtree-512", { NVTREE(512), .keys = 128 }, .leaves = 12, .steps = 1500,
	  .depth = 2 },
	{ "load-nvtree-pairs", { NVTREE(512, .pairs = true), .keys = 128 }, .leaves = 12,
	  .steps = 1500 },
	{ "load-nvtree-4096", { NVTREE(4096), FILLED, .keys = 1024 }, .leaves = 12, .steps = 6000 },
	{ "load-nvtree-full", { NVTREE(512), FILLED, .keys = 1024 }, .leaves = 40, .steps = 2500 },
	{ }
};

static const struct workload nvtree_workloads[] = {
	{ "nvtree", { NVTREE(128) }, .steps = 500 },
	{ "nvtree, pairs", { NVTREE(256, .pairs = true), .slots = 4 }, .steps = 1000 },
	{ "nvtree, formatted", { NVTREE(128) }, .steps = 300, .leaves = 8, .format_every = 8 },
	{ "nvtree, survives", { NVTREE(128), .keys = 6 }, .steps = 1000, .often = CRASH_SURVIVE,
	  .often_every = 3 },
	{ "nvtree, rebuilt", { NVTREE(128, .pack = 2) }, .steps = 1000, .leaves = 20,
	  .often = CRASH_MAINTAIN, .often_every = 5 },
	{ "nvtree, cut again", { NVTREE(128) }, .steps = 200, .depth = 2 },
	{ "nvtree, damaged", { NVTREE(128) }, .steps = 30, .damage = true },
	{ "nvtree, instant", { NVTREE(128, .instant = true), .slots = 2, .keys = 6 }, .steps = 1000,
	  .often = CRASH_REATTACH, .often_every = 5 },
	{ "nvtree, instant, closed", .space = "nvtree-instant-survive" },
	{ "nvtree, modified", { NVTREE(128), .modify = true }, .steps = 500 },
	{ }
};

static const struct crash_setup nvtree_setups[] = {
	{ NVTREE(128) },
	{ }
};

static struct crash_setup sample(u32 i)
{
	return (struct crash_setup) {
		NVTREE(i % 2 ? 256 : 128, .pack = i / 2 % 3, .pairs = i / 6 % 2,
		       .instant = i % 4 == 2)
	};
}

const struct host_driver host_driver_nvtree = {
	.engine = "nvtree",
	.met = "splits unlinks full",
	.spaces = nvtree_spaces,
	.loads = nvtree_loads,
	.workloads = nvtree_workloads,
	.setups = nvtree_setups,
	.corruptions = nvtree_corruptions,
	.read = nvtree_image_read,
	.write = nvtree_image_write,
	.root = nvtree_image_root,
	.shape = shape,
	.is_full = is_full,
	.settled = settled,
	.sealed = sealed,
	.sealed_bit = SEALED_BIT,
	.sample = sample,
};
