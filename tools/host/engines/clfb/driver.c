// SPDX-License-Identifier: GPL-2.0
/*
 * This file is the driver of the engine `clfb` for the crash tests: its spaces and loads.
 *
 * Test builds put 3 children into a node at most. With leaves of one or two records few keys reach
 * every structure change: the split of a node, a new root, an unlink through a node with one
 * child, and a lower tree. Loads on larger leaves have as many children as fit by bytes.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>

#include "clfb_driver.h"
#include "engines/clfb/node.h"
#include "store/store_priv.h"

#define SEALED_BIT	(1ULL << 50)	/* of the root word: in its check */

static u64 shape(struct crab_store *store)
{
	const struct clfb_tree *tree = clfb_tree_of(store->engine);

	return tree->splits + tree->unlinks;
}

/*
 * A split takes two leaves, and two nodes on each level that splits; a new root one more. Each
 * other operation of the call may have freed a leaf, or nodes, since
 */
static bool is_full(struct crab_store *store, u32 ops)
{
	const struct clfb_tree *tree = clfb_tree_of(store->engine);

	return tree->pool.free < 2 + ops || tree->nodes.free < 2 * tree->levels + 1 + 3 * ops;
}

/* The root word; of each leaf the first line after its first word: header and bitmap, or all */
static u32 sealed(struct crab_store *store, __le64 **words, u32 room)
{
	struct clfb_tree *tree = clfb_tree_of(store->engine);
	struct clfb_place leaf;
	__le64 *word;
	u32 n = 0, i;
	u64 key;

	words[n++] = clfb_root_media(store->engine->media);
	for (key = 0; key != CRAB_KEY_EMPTY; key = leaf.high) {
		crab_clfb_find(tree, key, &leaf);
		word = (__le64 *)clfb_leaf_media(tree, leaf.leaf);
		for (i = 1; i < CRAB_LINE / sizeof(*word) && n < room; i++)
			words[n++] = word + i;
	}
	return n;
}

static const struct space clfb_spaces[] = {
	{ "clfb-2x4x3", INPLACE(128), .slots = 2, .leaves = 4, .keys = 3, .format = true,
	  .tier = SPACE_TINY },
	{ "clfb-survive", INPLACE(128), .slots = 1, .leaves = 5, .keys = 3, .survive = true,
	  .tier = SPACE_TINY },
	{ "clfb-twin", TWIN(128), .slots = 2, .leaves = 4, .keys = 3, .survive = true,
	  .tier = SPACE_TINY },
	{ "clfb-atomic", ATOMIC(128), .slots = 1, .leaves = 5, .keys = 3, .survive = true,
	  .tier = SPACE_TINY },
	{ "clfb-encoded", ENCODED, .slots = 2, .leaves = 5, .keys = 3, .survive = true,
	  .tier = SPACE_TINY },
	{ "clfb-blobs", INPLACE(128), .slots = 2, .leaves = 10, .keys = 2, .blobs = true },
	{ "clfb-blob-commits", INPLACE(128), .slots = 2, .leaves = 16, .keys = 2, .commits = 2,
	  .blobs = true },
	{ "clfb-commits", INPLACE(128), .slots = 2, .leaves = 12, .keys = 2, .commits = 2,
	  .survive = true, .lives = 2 },
	{ "clfb-twin-commits", TWIN(128), .slots = 1, .leaves = 12, .keys = 3, .commits = 2 },
	{ "clfb-encoded-blobs", ENCODED, .slots = 2, .leaves = 20, .keys = 3, .blobs = true },
	{ "clfb-encoded-blob-commits", ENCODED, .slots = 2, .leaves = 24, .keys = 2, .commits = 2,
	  .blobs = true },
	{ "clfb-encoded-commits", ENCODED, .slots = 2, .leaves = 12, .keys = 3, .commits = 2 },
	{ "clfb-full", INPLACE(128), .slots = 1, .leaves = 4, .keys = 4, .modify = true },
	{ "clfb-encoded-full", ENCODED, .slots = 2, .leaves = 3, .keys = 4, .modify = true },
	{ "clfb-twin-full", TWIN(128), .slots = 2, .leaves = 3, .keys = 4, .ranges = true },
	{ "clfb-twin-batch", TWIN(128), .slots = 2, .leaves = 4, .keys = 3, .batch = 2 },
	{ "clfb-high", INPLACE(128), .slots = 1, .leaves = 7, .keys = 4 },
	{ "clfb-twin-high", TWIN(128), .slots = 1, .leaves = 7, .keys = 4 },
	{ }
};

#define FILLED		.changes = true, .inserts = 900

static const struct load clfb_loads[] = {
	{ "load-clfb-512", { INPLACE(512), .keys = 1024, FILLED }, .leaves = 60, .steps = 6000 },
	{ "load-clfb-twin", { TWIN(512), .keys = 512 }, .leaves = 30, .steps = 2000 },
	{ }
};

static const struct workload clfb_workloads[] = {
	{ "clfb", { INPLACE(128), .slots = 2 }, .steps = 500 },
	{ "clfb, two lines", { TWIN(128), .slots = 2 }, .steps = 500 },
	{ "clfb, whole lines", { ATOMIC(128), .slots = 2 }, .steps = 500 },
	{ "clfb, leaves of a line", { ENCODED }, .steps = 500 },
	{ "clfb, formatted", { INPLACE(128) }, .steps = 300, .leaves = 8, .format_every = 8 },
	{ "clfb, survives", { INPLACE(128), .slots = 1, .keys = 6 }, .steps = 600,
	  .often = CRASH_SURVIVE, .often_every = 3 },
	{ "clfb, two lines, survives", { TWIN(128), .slots = 1, .keys = 6 }, .steps = 600,
	  .often = CRASH_SURVIVE, .often_every = 3 },
	{ "clfb, cut again", { INPLACE(128), .slots = 1 }, .steps = 200, .depth = 2 },
	{ "clfb, two lines, cut again", { TWIN(128), .slots = 1 }, .steps = 200, .depth = 2 },
	{ "clfb, damaged", { INPLACE(128) }, .steps = 30, .damage = true },
	{ "clfb, two lines, damaged", { TWIN(128) }, .steps = 30, .damage = true },
	{ "clfb, leaves of a line, damaged", { ENCODED }, .steps = 30, .damage = true },
	{ "clfb, closed", .space = "clfb-2x4x3" },
	{ "clfb, two lines, closed", .space = "clfb-twin" },
	{ "clfb, whole lines, closed", .space = "clfb-atomic" },
	{ "clfb, leaves of a line, closed", .space = "clfb-encoded" },
	{ }
};

static const struct crash_setup clfb_setups[] = {
	{ INPLACE(128) },
	{ TWIN(128) },
	{ ENCODED },
	{ }
};

static struct crash_setup sample(u32 i)
{
	const u32 leaf_bytes = i / 4 % 2 ? 256 : 128;

	switch (i % 4) {
	case 0:
		return (struct crash_setup) { INPLACE(leaf_bytes) };
	case 1:
		return (struct crash_setup) { TWIN(leaf_bytes) };
	case 2:
		return (struct crash_setup) { ATOMIC(leaf_bytes) };
	default:
		return (struct crash_setup) { ENCODED };
	}
}

const struct host_driver host_driver_clfb = {
	.engine = "clfb",
	.met = "splits unlinks full",
	.spaces = clfb_spaces,
	.loads = clfb_loads,
	.workloads = clfb_workloads,
	.setups = clfb_setups,
	.corruptions = clfb_corruptions,
	.read = clfb_image_read,
	.write = clfb_image_write,
	.shape = shape,
	.is_full = is_full,
	.sealed = sealed,
	.sealed_bit = SEALED_BIT,
	.sample = sample,
};
