// SPDX-License-Identifier: GPL-2.0
/*
 * This file names the random loads on leaves of usual sizes of the engine `crab`.
 */
#include "crab_driver.h"

/* With this many leaves, several CPUs share the work of attach */
#define LOAD_PARALLEL	(2 * 8192)

#define FILLED		.changes = true, .inserts = 900

const struct load crab_loads[] = {
	{ "load-slotted-512", { CRAB_SLOTTED(512), .keys = 128 }, .leaves = 7, .steps = 1500,
	  .depth = 2 },
	{ "load-slotted-1024", { CRAB_SLOTTED(1024), .keys = 256 }, .leaves = 6, .steps = 3000 },
	{ "load-slotted-4096", { CRAB_SLOTTED(4096), FILLED, .slots = 130, .keys = 1024 },
	  .leaves = 12, .steps = 20000 },
	{ "load-slotted-8192", { CRAB_SLOTTED(8192), FILLED, .slots = 260, .keys = 1024 },
	  .leaves = 8, .steps = 20000 },
	{ "load-slotted-full", { CRAB_SLOTTED(1024), FILLED, .keys = 1024 }, .leaves = 14,
	  .steps = 12000 },
	{ "load-sip-512", { CRAB_SORTED(512, SIP), .keys = 128 }, .leaves = 8, .steps = 3000 },
	{ "load-auto-1024", { CRAB_SORTED(1024, AUTO), .keys = 256 }, .leaves = 8, .steps = 2000 },
	{ "load-cow-4096", { CRAB_SORTED(4096, COW), FILLED, .slots = 133, .keys = 1024 },
	  .leaves = 12, .steps = 1500 },
	{ "load-sip-8192", { CRAB_SORTED(8192, SIP), FILLED, .slots = 261, .keys = 1024 },
	  .leaves = 8, .steps = 6000 },
	{ "load-slotted-many", { CRAB_SLOTTED(128), .slots = 3, .keys = 1024, .changes = true,
	  .inserts = 1024, .deletes = 640 }, .leaves = 800, .steps = 150 },
	{ "load-slotted-parallel", { CRAB_SLOTTED(128), .keys = 64 }, .leaves = LOAD_PARALLEL,
	  .steps = 60 },
	{ "sampled-batches-128", { CRAB_SLOTTED(128) }, .leaves = 12, .steps = 1500,
	  .batches = CRASH_BATCH_MOST },
	{ "sampled-batches-512", { CRAB_SLOTTED(512), .keys = 128 }, .leaves = 12, .steps = 1000,
	  .batches = CRASH_BATCH_MOST },
	{ "long-slotted-512", { CRAB_SLOTTED(512), .keys = 128 },
	  .leaves = 12, .steps = 4000, .depth = 2, .seeds = 40, .tier = SPACE_FULL },
	{ "long-slotted-1024", { CRAB_SLOTTED(1024), .keys = 256 },
	  .leaves = 12, .steps = 6000, .depth = 2, .seeds = 20, .tier = SPACE_FULL },
	{ "long-slotted-4096", { CRAB_SLOTTED(4096), FILLED, .slots = 130, .keys = 1024 },
	  .leaves = 12, .steps = 20000, .seeds = 12, .tier = SPACE_FULL },
	{ "long-slotted-8192", { CRAB_SLOTTED(8192), FILLED, .slots = 260, .keys = 1024 },
	  .leaves = 8, .steps = 20000, .seeds = 12, .tier = SPACE_FULL },
	{ "long-slotted-full", { CRAB_SLOTTED(1024), FILLED, .keys = 1024 },
	  .leaves = 14, .steps = 12000, .seeds = 12, .tier = SPACE_FULL },
	{ "long-sip-512", { CRAB_SORTED(512, SIP), .keys = 128 },
	  .leaves = 12, .steps = 4000, .depth = 2, .seeds = 10, .tier = SPACE_FULL },
	{ "long-auto-1024", { CRAB_SORTED(1024, AUTO), .keys = 256 },
	  .leaves = 12, .steps = 6000, .depth = 2, .seeds = 20, .tier = SPACE_FULL },
	{ }
};
