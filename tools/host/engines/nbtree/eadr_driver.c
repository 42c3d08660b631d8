// SPDX-License-Identifier: GPL-2.0
/*
 * This file is the driver of the layout `eadr` of the engine `nbtree` for the crash tests: its
 * spaces, loads and workloads.
 *
 * FORMAT makes four leaves, of which the keys of a space use the first and the last. A split needs
 * three free ones.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>

#include "engines/nbtree/eadr/eadr.h"
#include "nbtree_driver.h"
#include "store/store_priv.h"

static u64 shape(struct crab_store *store)
{
	return atomic64_read(&ea_tree_of(store->engine)->ended);
}

/* Each other operation of the call may have freed a leaf since */
static bool is_full(struct crab_store *store, u32 ops)
{
	return ea_tree_of(store->engine)->nb.pool.free < 3 + ops;
}

static const struct space eadr_spaces[] = {
	{ "eadr-2x7x3", EADR(128), .slots = 2, .leaves = 7, .keys = 3, .tier = SPACE_TINY },
	{ "eadr-2x8x4", EADR(128), .slots = 2, .leaves = 8, .keys = 4, .sparse = true,
	  .tier = SPACE_LONG },
	{ "eadr-2x5x4", EADR(128), .slots = 2, .leaves = 5, .keys = 4 },
	{ "eadr-format", EADR(128), .slots = 2, .leaves = 7, .keys = 3, .format = true },
	{ "eadr-survive", EADR(128), .slots = 2, .leaves = 7, .keys = 3, .survive = true },
	{ "eadr-modify", EADR(128), .slots = 2, .leaves = 7, .keys = 3, .modify = true },
	{ "eadr-lives", EADR(128), .slots = 2, .leaves = 8, .keys = 4, .lives = 2,
	  .tier = SPACE_LONG },
	{ "eadr-batch", EADR(128), .slots = 2, .leaves = 7, .keys = 3, .batch = 2 },
	{ "eadr-ranges", EADR(128), .slots = 2, .leaves = 7, .keys = 3, .ranges = true },
	{ "eadr-commits", EADR(128), .slots = 2, .leaves = 16, .keys = 3, .commits = 2,
	  .tier = SPACE_FULL },
	{ "eadr-format-2x8x4", EADR(128), .slots = 2, .leaves = 8, .keys = 4, .format = true,
	  .tier = SPACE_FULL },
	{ "eadr-survive-2x8x4", EADR(128), .slots = 2, .leaves = 8, .keys = 4, .survive = true,
	  .tier = SPACE_FULL },
	{ "eadr-full", EADR(128), .slots = 2, .leaves = 7, .keys = 5, .tier = SPACE_FULL },
	{ "eadr-3x8x5", EADR(128), .slots = 3, .leaves = 8, .keys = 5, .tier = SPACE_FULL },
	{ }
};

#define FILLED		.changes = true, .inserts = 900

static const struct load eadr_loads[] = {
	{ "load-eadr-512", { EADR(512), .keys = 256 }, .leaves = 24, .steps = 1600, .depth = 2 },
	{ "load-eadr-1024", { EADR(1024), FILLED, .keys = 1024 }, .leaves = 60, .steps = 2000 },
	{ }
};

static const struct workload eadr_workloads[] = {
	{ "eadr", { EADR(128), .slots = 2 }, .steps = 200, .leaves = 16 },
	{ "eadr, formatted", { EADR(128), .slots = 2 }, .steps = 80, .leaves = 12, .format_every = 8 },
	{ "eadr, survives", { EADR(128), .slots = 2, .keys = 6 }, .steps = 150, .leaves = 16,
	  .often = CRASH_SURVIVE, .often_every = 3 },
	{ "eadr, swept", { EADR(128), .slots = 2, .keys = 8 }, .steps = 800, .leaves = 16,
	  .often = CRASH_CUT, .often_every = 2 },
	{ "eadr, cut again", { EADR(128), .slots = 3 }, .steps = 60, .leaves = 16, .depth = 2 },
	{ "eadr, damaged", { EADR(128) }, .steps = 30, .leaves = 16, .damage = true },
	{ }
};

static const struct crash_setup eadr_setups[] = {
	{ EADR(128) },
	{ }
};

static struct crash_setup sample(u32 i)
{
	return (struct crash_setup) { EADR(i % 2 ? 256 : 128) };
}

const struct host_driver host_driver_eadr = {
	.engine = "nbtree",
	.met = "splits unlinks full",
	.spaces = eadr_spaces,
	.loads = eadr_loads,
	.workloads = eadr_workloads,
	.setups = eadr_setups,
	.corruptions = nbtree_corruptions,
	.read = eadr_image_read,
	.write = eadr_image_write,
	.shape = shape,
	.is_full = is_full,
	.sealed = nbtree_sealed,
	.sealed_bit = NBTREE_SEALED_BIT,
	.sample = sample,
};
