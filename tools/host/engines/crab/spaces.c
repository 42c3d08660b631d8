// SPDX-License-Identifier: GPL-2.0
/*
 * This file names the state spaces of the engine `crab`.
 *
 * With slotted leaves of two or three records and a handful of leaves, few keys reach every
 * structure change, the first and the last leaf and an empty pool. Sorted leaves have five records,
 * the smallest number that ends with a cache line: writes to a full leaf rely on that.
 */
#include "crab_driver.h"

#define SLOTTED(n)		CRAB_SLOTTED(128), .slots = n

/* With these costs CRAB_STRATEGY_AUTO chooses both strategies in leaves of five records */
#define COSTS			.costs = { .round = 60, .line = 20, .order = 10, .record = 5, .pair = 5 }
#define SORTED(how, ...)	CRAB_SORTED(128, how, COSTS, ##__VA_ARGS__), .slots = 5

#define EVERYTHING	.specials = true, .prepare = true, .format = true

const struct space crab_spaces[] = {
	{ "slotted-2x5x3", SLOTTED(2), .leaves = 5, .keys = 3, .specials = true, .prepare = true,
	  .tier = SPACE_TINY },
	{ "sorted-sip-5x3x3", SORTED(SIP), .leaves = 3, .keys = 3, .format = true,
	  .tier = SPACE_TINY },
	{ "sorted-cow-5x3x3", SORTED(COW), .leaves = 3, .keys = 3, .format = true,
	  .tier = SPACE_TINY },
	{ "slotted-survive", SLOTTED(2), .leaves = 5, .keys = 2, .specials = true, .survive = true,
	  .tier = SPACE_TINY },
	{ "sorted-sip-survive", SORTED(SIP), .leaves = 3, .keys = 3, .survive = true,
	  .tier = SPACE_TINY },
	{ "slotted-modify", SLOTTED(2), .leaves = 5, .keys = 3, .specials = true, .modify = true },
	{ "sorted-sip-modify", SORTED(SIP), .leaves = 3, .keys = 3, .modify = true,
	  .tier = SPACE_TINY },
	{ "sorted-sip-ranges", SORTED(SIP), .leaves = 3, .keys = 3, .ranges = true,
	  .tier = SPACE_TINY },
	{ "slotted-blobs", SLOTTED(2), .leaves = 10, .keys = 2, .blobs = true, .format = true,
	  .survive = true, .tier = SPACE_TINY },
	{ "slotted-names", SLOTTED(2), .leaves = 10, .keys = 2, .blobs = true, .names = true, .format = true,
	  .survive = true, .tier = SPACE_TINY },
	{ "slotted-blobs-3", SLOTTED(2), .leaves = 12, .keys = 3, .blobs = true },
	{ "slotted-commits", SLOTTED(2), .leaves = 9, .keys = 2, .commits = 2, .format = true,
	  .survive = true, .lives = 2 },
	{ "slotted-commits-lives", SLOTTED(2), .leaves = 9, .keys = 2, .commits = 2, .format = true,
	  .survive = true, .lives = 3, .tier = SPACE_LONG },
	{ "slotted-commits-3", SLOTTED(2), .leaves = 10, .keys = 3, .commits = 2,
	  .tier = SPACE_LONG },
	{ "slotted-commits-of-3", SLOTTED(2), .leaves = 12, .keys = 3, .commits = 3,
	  .tier = SPACE_FULL },
	{ "slotted-blob-commits", SLOTTED(2), .leaves = 16, .keys = 2, .commits = 2,
	  .blobs = true },
	{ "slotted-blob-commits-3", SLOTTED(2), .leaves = 18, .keys = 3, .commits = 2, .blobs = true,
	  .tier = SPACE_FULL },
	{ "slotted-blob-commits-full", SLOTTED(2), .leaves = 12, .keys = 2, .commits = 2,
	  .blobs = true },
	{ "slotted-blob-commits-lives", SLOTTED(2), .leaves = 16, .keys = 2, .commits = 2, .blobs = true,
	  .format = true, .survive = true, .lives = 2, .tier = SPACE_FULL },
	{ "slotted-name-commits", SLOTTED(2), .leaves = 16, .keys = 2, .commits = 2, .blobs = true,
	  .names = true },
	{ "sorted-commits", SORTED(SIP), .leaves = 10, .keys = 2, .commits = 2, .lives = 2 },
	{ "sorted-commits-of-3", SORTED(SIP), .leaves = 11, .keys = 3, .commits = 3,
	  .tier = SPACE_LONG },
	{ "slotted-modify-batch", SLOTTED(2), .leaves = 5, .keys = 3, .modify = true, .batch = 2 },
	{ "slotted-ranges", SLOTTED(2), .leaves = 5, .keys = 3, .ranges = true, .survive = true },
	{ "slotted-ranges-4", SLOTTED(2), .leaves = 5, .keys = 4, .ranges = true,
	  .tier = SPACE_LONG },
	{ "slotted-2x4x4", SLOTTED(2), .leaves = 4, .keys = 4, EVERYTHING, .tier = SPACE_LONG },
	{ "slotted-2x5x4", SLOTTED(2), .leaves = 5, .keys = 4, .survive = true, .tier = SPACE_LONG },
	{ "slotted-3x5x4", SLOTTED(3), .leaves = 5, .keys = 4, .sparse = true, .tier = SPACE_LONG },
	{ "slotted-batch", SLOTTED(2), .leaves = 5, .keys = 3, .batch = 2 },
	{ "slotted-batch-of-3", SLOTTED(2), .leaves = 5, .keys = 3, .batch = 3, .tier = SPACE_LONG },
	{ "slotted-batch-full", SLOTTED(2), .leaves = 4, .keys = 4, .survive = true, .batch = 2,
	  .tier = SPACE_LONG },
	{ "sorted-sip-5x3x6", SORTED(SIP), .leaves = 3, .keys = 6, .tier = SPACE_LONG },
	{ "sorted-cow-5x4x6", SORTED(COW), .leaves = 4, .keys = 6, .tier = SPACE_LONG },
	{ "sorted-auto-5x3x6", SORTED(AUTO, .probe = true, .pair = true), .leaves = 3, .keys = 6,
	  .format = true },
	{ "sorted-demand-5x4x6", SORTED(COW, .on_demand = true), .leaves = 4, .keys = 6 },
	{ "sorted-batch", SORTED(SIP), .leaves = 4, .keys = 3, .survive = true, .batch = 2 },
	{ "sorted-batch-of-3", SORTED(SIP), .leaves = 4, .keys = 3, .survive = true, .batch = 3,
	  .tier = SPACE_LONG },
	{ "slotted-blobs-4", SLOTTED(2), .leaves = 12, .keys = 4, .blobs = true,
	  .tier = SPACE_FULL },
	{ "slotted-2x5x5", SLOTTED(2), .leaves = 5, .keys = 5, .survive = true, .tier = SPACE_FULL },
	{ "slotted-3x6x5", SLOTTED(3), .leaves = 6, .keys = 5, .tier = SPACE_FULL },
	{ "slotted-3x6x6", SLOTTED(3), .leaves = 6, .keys = 6, .tier = SPACE_FULL },
	{ "slotted-3x5x5", SLOTTED(3), .leaves = 5, .keys = 5, .specials = true, .prepare = true,
	  .tier = SPACE_FULL },
	{ "slotted-2x5x6", SLOTTED(2), .leaves = 5, .keys = 6, .tier = SPACE_FULL },
	{ "sorted-cow-5x4x7", SORTED(COW), .leaves = 4, .keys = 7, .tier = SPACE_FULL },
	{ "sorted-sip-5x4x7", SORTED(SIP), .leaves = 4, .keys = 7, .tier = SPACE_FULL },
	{ "slotted-3x6x4", SLOTTED(3), .leaves = 6, .keys = 4, EVERYTHING, .tier = SPACE_FULL },
	{ "slotted-2x4x5", SLOTTED(2), .leaves = 4, .keys = 5, .specials = true, .prepare = true,
	  .tier = SPACE_FULL },
	{ "sorted-auto-5x4x6", SORTED(AUTO, .probe = true, .pair = true), .leaves = 4, .keys = 6,
	  .format = true, .tier = SPACE_FULL },
	{ "slotted-batch-voids", SLOTTED(2), .leaves = 5, .keys = 3, .batch = 3, .specials = true,
	  .tier = SPACE_FULL },
	{ "slotted-batch-of-4", SLOTTED(2), .leaves = 5, .keys = 3, .batch = 4, .tier = SPACE_FULL },
	{ }
};
