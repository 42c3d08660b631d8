// SPDX-License-Identifier: GPL-2.0
/*
 * This file names the state spaces that are closed.
 *
 * Slotted leaves of two or three records and a handful of leaves reach every
 * structure change, the first and the last leaf and an empty pool with few keys.
 * Sorted ones have five records, the least that ends with a line: what is written
 * of a full leaf relies on that.
 */
#include <linux/string.h>

#include "state.h"

#define SLOTTED(n)							\
	.layout = "slotted", .model = CRAB_SHADOW_MODEL_WORD, .leaf_bytes = 128, .slots = n

/* So priced, CRAB_STRATEGY_AUTO does the one and the other in leaves of five */
#define SORTED(how, ...)						\
	.layout = "sorted", .model = CRAB_SHADOW_MODEL_LINE, .leaf_bytes = 128, .slots = 5, \
	.tuning = { .strategy = CRAB_STRATEGY_ ## how, ##__VA_ARGS__,	\
		    .costs = { .round = 60, .line = 20, .order = 10, .record = 5, .pair = 5 } }

#define EVERYTHING	.voids = true, .prepare = true, .format = true

const struct space spaces[] = {
	{ "slotted-2x5x3", SLOTTED(2), .leaves = 5, .keys = 3, .voids = true, .prepare = true,
	  .tier = SPACE_TINY },
	{ "sorted-sip-5x3x3", SORTED(SIP), .leaves = 3, .keys = 3, .format = true,
	  .tier = SPACE_TINY },
	{ "sorted-cow-5x3x3", SORTED(COW), .leaves = 3, .keys = 3, .format = true,
	  .tier = SPACE_TINY },
	{ "slotted-survive", SLOTTED(2), .leaves = 5, .keys = 2, .voids = true, .survive = true,
	  .tier = SPACE_TINY },
	{ "sorted-sip-survive", SORTED(SIP), .leaves = 3, .keys = 3, .survive = true,
	  .tier = SPACE_TINY },
	{ "slotted-2x4x4", SLOTTED(2), .leaves = 4, .keys = 4, EVERYTHING, .tier = SPACE_QUICK },
	{ "slotted-2x5x5", SLOTTED(2), .leaves = 5, .keys = 5, .survive = true, .tier = SPACE_QUICK },
	{ "slotted-3x6x5", SLOTTED(3), .leaves = 6, .keys = 5, .tier = SPACE_QUICK },
	{ "slotted-3x5x4", SLOTTED(3), .leaves = 5, .keys = 4, .sparse = true, .tier = SPACE_QUICK },
	{ "slotted-batch", SLOTTED(2), .leaves = 5, .keys = 3, .batch = 3, .tier = SPACE_QUICK },
	{ "slotted-batch-full", SLOTTED(2), .leaves = 4, .keys = 4, .survive = true, .batch = 2,
	  .tier = SPACE_QUICK },
	{ "sorted-sip-5x3x6", SORTED(SIP), .leaves = 3, .keys = 6, .tier = SPACE_QUICK },
	{ "sorted-cow-5x4x6", SORTED(COW), .leaves = 4, .keys = 6, .tier = SPACE_QUICK },
	{ "sorted-auto-5x3x6", SORTED(AUTO, .probe = true, .pair = true), .leaves = 3, .keys = 6,
	  .format = true, .tier = SPACE_QUICK },
	{ "sorted-demand-5x4x6", SORTED(COW, .on_demand = true), .leaves = 4, .keys = 6,
	  .tier = SPACE_QUICK },
	{ "sorted-batch", SORTED(SIP), .leaves = 4, .keys = 3, .survive = true, .batch = 3,
	  .tier = SPACE_QUICK },
	{ "slotted-3x6x6", SLOTTED(3), .leaves = 6, .keys = 6, .tier = SPACE_FULL },
	{ "slotted-3x5x5", SLOTTED(3), .leaves = 5, .keys = 5, .voids = true, .prepare = true,
	  .tier = SPACE_FULL },
	{ "slotted-2x5x6", SLOTTED(2), .leaves = 5, .keys = 6, .tier = SPACE_FULL },
	{ "sorted-cow-5x4x7", SORTED(COW), .leaves = 4, .keys = 7, .tier = SPACE_FULL },
	{ "sorted-sip-5x4x7", SORTED(SIP), .leaves = 4, .keys = 7, .tier = SPACE_FULL },
	{ "slotted-3x6x4", SLOTTED(3), .leaves = 6, .keys = 4, EVERYTHING, .tier = SPACE_FULL },
	{ "slotted-2x4x5", SLOTTED(2), .leaves = 4, .keys = 5, .voids = true, .prepare = true,
	  .tier = SPACE_FULL },
	{ "sorted-auto-5x4x6", SORTED(AUTO, .probe = true, .pair = true), .leaves = 4, .keys = 6,
	  .format = true, .tier = SPACE_FULL },
	{ "slotted-batch-voids", SLOTTED(2), .leaves = 5, .keys = 3, .batch = 3, .voids = true,
	  .tier = SPACE_FULL },
	{ "slotted-batch-of-4", SLOTTED(2), .leaves = 5, .keys = 3, .batch = 4, .tier = SPACE_FULL },
	{ }
};

const struct space *space_by_name(const char *name)
{
	const struct space *space;

	for (space = spaces; space->name && strcmp(space->name, name); space++)
		;
	return space->name ? space : NULL;
}
