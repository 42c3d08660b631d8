// SPDX-License-Identifier: GPL-2.0
/*
 * This file is the driver of the engine `nbtree` for the crash tests: its spaces, loads and
 * workloads.
 *
 * With leaves of two or three records few keys reach every structure change: a split in the middle
 * and at the end of the list, stale keys, their erasure, and a full pool. The second slot of a leaf
 * is on another line than the first one and the link.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>

#include "engines/nbtree/nbtree.h"
#include "nbtree_driver.h"
#include "store/store_priv.h"

static u64 shape(struct crab_store *store)
{
	const struct nb_tree *tree = nb_tree_of(store->engine);

	return tree->splits + tree->unlinks;
}

/* A split takes one leaf. Each other operation of the call may have freed one since */
static bool is_full(struct crab_store *store, u32 ops)
{
	return nb_tree_of(store->engine)->pool.free < 1 + ops;
}

u32 nbtree_sealed(struct crab_store *store, __le64 **words, u32 room)
{
	struct nb_tree *tree = nb_tree_of(store->engine);
	struct nb_leaf *leaf;
	u32 n = 0;
	u64 key;

	words[n++] = &crab_list_head(tree->base.media)->next;
	for (key = 0; key != CRAB_KEY_EMPTY && n < room; key = leaf->high) {
		leaf = crab_index_find(&tree->index, key);
		words[n++] = &nb_leaf_media(tree, leaf)->head.next;
	}
	return n;
}

static const struct space nbtree_spaces[] = {
	{ "nbtree-2x3x3", ADR(128), .slots = 2, .leaves = 3, .keys = 3, .format = true,
	  .tier = SPACE_TINY },
	{ "nbtree-survive", ADR(128), .slots = 2, .leaves = 3, .keys = 3, .survive = true,
	  .tier = SPACE_TINY },
	{ "nbtree-modify", ADR(128), .slots = 2, .leaves = 3, .keys = 3, .modify = true },
	{ "nbtree-ranges", ADR(128), .slots = 2, .leaves = 3, .keys = 4, .ranges = true },
	{ "nbtree-lives", ADR(128), .slots = 2, .leaves = 3, .keys = 3, .lives = 2 },
	{ "nbtree-blobs", ADR(128), .slots = 2, .leaves = 10, .keys = 2, .blobs = true },
	{ "nbtree-blobs-full", ADR(128), .slots = 2, .leaves = 8, .keys = 2, .blobs = true },
	{ "nbtree-blob-commits", ADR(128), .slots = 2, .leaves = 16, .keys = 2, .commits = 2,
	  .blobs = true },
	{ "nbtree-commits", ADR(128), .slots = 2, .leaves = 12, .keys = 3, .commits = 2 },
	{ "nbtree-2x4x4", ADR(128), .slots = 2, .leaves = 4, .keys = 4 },
	{ "nbtree-full", ADR(128), .slots = 2, .leaves = 3, .keys = 5, .tier = SPACE_FULL },
	{ "nbtree-3x3x4", ADR(128), .slots = 3, .leaves = 3, .keys = 4, .tier = SPACE_LONG },
	{ "nbtree-batch", ADR(128), .slots = 2, .leaves = 3, .keys = 3, .batch = 2 },
	{ }
};

#define FILLED		.changes = true, .inserts = 900

static const struct load nbtree_loads[] = {
	{ "load-nbtree-512", { ADR(512), .keys = 256 }, .leaves = 20, .steps = 2000, .depth = 2 },
	{ "load-nbtree-1024", { ADR(1024), FILLED, .keys = 1024 }, .leaves = 60, .steps = 2000 },
	{ }
};

static const struct workload nbtree_workloads[] = {
	{ "nbtree", { ADR(128), .slots = 2 }, .steps = 500 },
	{ "nbtree, formatted", { ADR(128), .slots = 2 }, .steps = 300, .leaves = 8, .format_every = 8 },
	{ "nbtree, survives", { ADR(128), .slots = 2, .keys = 6 }, .steps = 600,
	  .often = CRASH_SURVIVE, .often_every = 3 },
	{ "nbtree, cut again", { ADR(128), .slots = 3 }, .steps = 200, .depth = 2 },
	{ "nbtree, damaged", { ADR(128) }, .steps = 30, .damage = true },
	{ "nbtree, closed", .space = "nbtree-2x3x3" },
	{ }
};

static const struct crash_setup nbtree_setups[] = {
	{ ADR(128) },
	{ }
};

static struct crash_setup sample(u32 i)
{
	return (struct crash_setup) { ADR(i % 2 ? 256 : 128) };
}

const struct host_driver host_driver_nbtree = {
	.engine = "nbtree",
	.met = "splits unlinks full",
	.spaces = nbtree_spaces,
	.loads = nbtree_loads,
	.workloads = nbtree_workloads,
	.setups = nbtree_setups,
	.corruptions = nbtree_corruptions,
	.read = nbtree_image_read,
	.write = nbtree_image_write,
	.shape = shape,
	.is_full = is_full,
	.sealed = nbtree_sealed,
	.sealed_bit = NBTREE_SEALED_BIT,
	.sample = sample,
};
