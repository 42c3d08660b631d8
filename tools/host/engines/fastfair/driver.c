// SPDX-License-Identifier: GPL-2.0
/*
 * This file is the driver of the engine `fastfair` for the crash tests: its spaces, loads and
 * workloads.
 *
 * Nodes of two to five slots and a handful of blocks reach splits and removals on two levels, growth
 * and shrinking of the root, and an empty pool. A node of 128 bytes has one line of slots; only
 * nodes of 256 bytes and more meet P9.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>

#include "engines/fastfair/fastfair.h"
#include "fastfair_driver.h"
#include "store/store_priv.h"

#define SEALED_BIT	(1ULL << 50)	/* of a link: in its check */

static u64 shape(struct crab_store *store)
{
	const struct ff *ff = ff_of(store->engine);

	return ff->birth + ff->unlinks;
}

/* A split needs a block for each level; each other operation of the call may have freed one since */
static bool is_full(struct crab_store *store, u32 ops)
{
	struct crab_store_info info;

	crab_store_info(store, &info);
	return info.super.leaves - info.stats.leaves_used < ops + ff_of(store->engine)->levels;
}

/* The links of all nodes */
static u32 sealed(struct crab_store *store, __le64 **words, u32 room)
{
	const struct ff *ff = ff_of(store->engine);
	const struct crab_side *side;
	u32 n = 0, i;

	words[n++] = &crab_list_head(ff->base.media)->next;
	for (i = 0; i < ff->base.geo.leaves && n + 1 < room; i++) {
		side = crab_side(&ff->sides, i);
		if (!side || !(side->flags & FF_USED))
			continue;
		words[n++] = &ff_media(ff, i)->head.next;
		if (le64_to_cpu(ff_media(ff, i)->head.own))
			words[n++] = &ff_media(ff, i)->first;
	}
	return n;
}

static const struct space fastfair_spaces[] = {
	{ "fastfair-2x3x3", FASTFAIR(128), .slots = 2, .leaves = 3, .keys = 3, .format = true,
	  .tier = SPACE_TINY },
	{ "fastfair-modify", FASTFAIR(128), .slots = 2, .leaves = 3, .keys = 3, .modify = true },
	{ "fastfair-ranges", FASTFAIR(128), .slots = 2, .leaves = 3, .keys = 4, .ranges = true },
	{ "fastfair-commits", FASTFAIR(128), .slots = 2, .leaves = 10, .keys = 2, .commits = 2,
	  .survive = true, .lives = 2 },
	{ "fastfair-commits-3", FASTFAIR(128), .slots = 2, .leaves = 11, .keys = 3, .commits = 2,
	  .tier = SPACE_LONG },
	{ "fastfair-lives", FASTFAIR(128), .slots = 2, .leaves = 5, .keys = 3, .lives = 2 },
	{ "fastfair-halves", FASTFAIR(128, .binary = true), .slots = 2, .leaves = 6, .keys = 4 },
	{ "fastfair-lazy", FASTFAIR(128, .lazy = true), .slots = 2, .leaves = 5, .keys = 3,
	  .lives = 2 },
	{ "fastfair-2x3x4", FASTFAIR(128), .slots = 2, .leaves = 3, .keys = 4 },
	{ "fastfair-2x6x4", FASTFAIR(128), .slots = 2, .leaves = 6, .keys = 4, .tier = SPACE_LONG },
	{ "fastfair-5x3x5", FASTFAIR(256), .slots = 5, .leaves = 3, .keys = 5 },
	{ "fastfair-3x3x5", FASTFAIR(128), .slots = 3, .leaves = 3, .keys = 5, .tier = SPACE_FULL },
	{ "fastfair-5x4x6", FASTFAIR(256), .slots = 5, .leaves = 4, .keys = 6, .tier = SPACE_FULL },
	{ "fastfair-lazy-2x6x4", FASTFAIR(128, .lazy = true), .slots = 2, .leaves = 6, .keys = 4,
	  .tier = SPACE_FULL },
	{ "fastfair-lazy-wide", FASTFAIR(128, .lazy = true), .slots = 3, .leaves = 4, .keys = 4,
	  .lives = 2, .tier = SPACE_FULL },
	{ "fastfair-2x9x5", FASTFAIR(128), .slots = 2, .leaves = 9, .keys = 5, .tier = SPACE_FULL },
	{ "fastfair-survive", FASTFAIR(128), .slots = 2, .leaves = 3, .keys = 3, .survive = true,
	  .tier = SPACE_FULL },
	{ }
};

static const struct load fastfair_loads[] = {
	{ "load-fastfair-512", { FASTFAIR(512), .keys = 256 }, .leaves = 12, .steps = 500 },
	{ "load-fastfair-256", { FASTFAIR(256), .keys = 128 }, .leaves = 12, .steps = 120,
	  .depth = 2 },
	{ "long-fastfair-256", { FASTFAIR(256), .keys = 256 },
	  .leaves = 40, .steps = 2000, .depth = 2, .tier = SPACE_FULL },
	{ }
};

static const struct workload fastfair_workloads[] = {
	{ "fastfair", { FASTFAIR(128) }, .steps = 1000, .leaves = 20 },
	{ "fastfair, wide", { FASTFAIR(256), .slots = 9 }, .steps = 1000 },
	{ "fastfair, high", { FASTFAIR(128), .slots = 2 }, .steps = 1000, .leaves = 40 },
	{ "fastfair, survives", { FASTFAIR(128) }, .steps = 600, .leaves = 20,
	  .often = CRASH_SURVIVE, .often_every = 3 },
	{ "fastfair, few blocks", { FASTFAIR(128), .slots = 2, .keys = 5 }, .steps = 1000, .leaves = 5 },
	{ "fastfair, formatted", { FASTFAIR(128), .slots = 2 }, .steps = 300, .leaves = 12,
	  .format_every = 16 },
	{ "fastfair, cut again", { FASTFAIR(128), .slots = 3 }, .steps = 300, .leaves = 20, .depth = 2 },
	{ "fastfair, by halves", { FASTFAIR(256, .binary = true), .slots = 7 }, .steps = 500,
	  .leaves = 20 },
	{ "fastfair, lazy", { FASTFAIR(128, .lazy = true), .slots = 2, .keys = 5 }, .steps = 2000,
	  .leaves = 7 },
	{ "fastfair, lazy, wide", { FASTFAIR(128, .lazy = true), .keys = 8 }, .steps = 2000,
	  .leaves = 7 },
	{ "fastfair, damaged", { FASTFAIR(128) }, .steps = 30, .leaves = 20, .damage = true },
	{ "fastfair, modified", { FASTFAIR(128), .modify = true }, .steps = 500, .leaves = 20 },
	{ }
};

static const struct crash_setup fastfair_setups[] = {
	{ FASTFAIR(128) },
	{ }
};

static struct crash_setup sample(u32 i)
{
	return (struct crash_setup) {
		FASTFAIR(i % 2 ? 256 : 128, .binary = i / 6 % 2, .leaf_locks = i / 12 % 2),
		.slots = i % 2 ? 5 + i % 5 : 2 + i / 2 % 3
	};
}

const struct host_driver host_driver_fastfair = {
	.engine = "fastfair",
	.met = "splits unlinks full repairs",
	.spaces = fastfair_spaces,
	.loads = fastfair_loads,
	.workloads = fastfair_workloads,
	.setups = fastfair_setups,
	.corruptions = fastfair_corruptions,
	.read = fastfair_image_read,
	.write = fastfair_image_write,
	.shape = shape,
	.is_full = is_full,
	.sealed = sealed,
	.sealed_bit = SEALED_BIT,
	.sample = sample,
};
