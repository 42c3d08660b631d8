// SPDX-License-Identifier: GPL-2.0
/*
 * This file names the workloads of the kill matrix for the engine `crab`.
 *
 * They differ in their coverage: strategies and options of sorted leaves, leaves of two and of
 * four cache lines, recoveries that are cut themselves, repeated FORMATs. Damage to the links
 * reaches the paths to which no power cut leads.
 */
#include "crab_driver.h"

/* As if an access to the media were expensive, and a store in order cheap */
#define COSTS	.costs = { .round = 300, .line = 30, .order = 1, .record = 2, .pair = 1 }

const struct workload crab_workloads[] = {
	{ "slotted", { CRAB_SLOTTED(128) }, .steps = 1000 },
	{ "shift", { CRAB_SORTED(128, SIP) }, .steps = 2000 },
	{ "copy", { CRAB_SORTED(128, COW) }, .steps = 500 },
	{ "shift, on demand", { CRAB_SORTED(128, SIP, .on_demand = true) }, .steps = 1000 },
	{ "shift, pairs", { CRAB_SORTED(256, SIP, .pair = true) }, .steps = 1000 },
	{ "slotted, formatted", { CRAB_SLOTTED(128) },
	  .steps = 500, .leaves = 8, .format_every = 8 },
	{ "sorted, formatted", { CRAB_SORTED(128, AUTO, .on_demand = true, COSTS) },
	  .steps = 500, .leaves = 8, .format_every = 8 },
	{ "slotted, survives", { CRAB_SLOTTED(128) },
	  .steps = 1000, .often = CRASH_SURVIVE, .often_every = 3 },
	{ "shift, survives", { CRAB_SORTED(128, SIP) },
	  .steps = 2000, .often = CRASH_SURVIVE, .often_every = 3 },
	{ "slotted, prepared", { CRAB_SLOTTED(256), .slots = 6 },
	  .steps = 2000, .format_every = 64, .often = CRASH_MAINTAIN, .often_every = 3 },
	{ "shift, wide", { CRAB_SORTED(256, SIP) }, .steps = 1000 },
	{ "choice", { CRAB_SORTED(256, AUTO, .on_demand = true, .probe = true, COSTS) },
	  .steps = 1000 },
	{ "choice, more", { CRAB_SORTED(512, AUTO, .probe = true, COSTS), .slots = 17 },
	  .steps = 3000 },
	{ "slotted, cut again", { CRAB_SLOTTED(128) }, .steps = 300, .depth = 2 },
	{ "shift, cut again", { CRAB_SORTED(128, SIP) }, .steps = 300, .depth = 2 },
	{ "choice, cut again", { CRAB_SORTED(256, AUTO, .pair = true, .probe = true, COSTS) },
	  .steps = 300, .leaves = 8, .depth = 2 },
	{ "copy, cut again", { CRAB_SORTED(128, COW, .on_demand = true) },
	  .steps = 300, .leaves = 12, .depth = 2 },
	{ "slotted, damaged", { CRAB_SLOTTED(128) }, .steps = 30, .damage = true },
	{ "sorted, damaged", { CRAB_SORTED(128, SIP) }, .steps = 30, .damage = true },
	{ "batches", { CRAB_SLOTTED(128) },
	  .steps = 400, .often = CRASH_BATCH, .often_every = 2, .batch = 4 },
	{ "batches, long", { CRAB_SLOTTED(128) },
	  .steps = 200, .leaves = 12, .often = CRASH_BATCH, .often_every = 2, .batch = 16 },
	{ "batches, sorted", { CRAB_SORTED(128, SIP) },
	  .steps = 400, .often = CRASH_BATCH, .often_every = 2, .batch = 4 },
	{ "slotted, modified", { CRAB_SLOTTED(128), .modify = true }, .steps = 500 },
	{ "shift, modified", { CRAB_SORTED(128, SIP), .modify = true }, .steps = 500 },
	{ "blobs, slotted", .space = "slotted-blobs" },
	{ "names, slotted", { CRAB_SLOTTED(128), .blobs = true, .names = true },
	  .steps = 300, .leaves = 24, .often = CRASH_MAINTAIN, .often_every = 3 },
	{ }
};
