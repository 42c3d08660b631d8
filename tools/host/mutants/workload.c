// SPDX-License-Identifier: GPL-2.0
/*
 * This file holds the workloads.
 *
 * They differ in what they reach: the strategies and options of sorted leaves, leaves of
 * two and of four lines, recoveries that are cut themselves, FORMAT after FORMAT.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "workload.h"

#define SLOTTED(bytes)	{								\
	.layout = "slotted", .model = CRAB_SHADOW_MODEL_WORD, .leaf_bytes = bytes,	\
}

#define SORTED(how, bytes, ...)	{							\
	.layout = "sorted", .model = CRAB_SHADOW_MODEL_LINE, .leaf_bytes = bytes,	\
	.tuning = { .strategy = CRAB_STRATEGY_##how, ##__VA_ARGS__ },			\
}

/* As if a round to the media cost so much, and a store in order so little */
#define COSTS	.costs = { .round = 300, .line = 30, .order = 1, .record = 2, .pair = 1 }

const struct workload workloads[] = {
	{ "slotted", SLOTTED(128), 10, 128, 1000, 1, 0, 0, 0 },
	{ "shift", SORTED(SIP, 128), 10, 128, 2000, 1, 0, 0, 0 },
	{ "copy", SORTED(COW, 128), 10, 128, 500, 1, 0, 0, 0 },
	{ "shift, on demand", SORTED(SIP, 128, .on_demand = true), 10, 128, 1000, 1, 0, 0, 0 },
	{ "shift, pairs", SORTED(SIP, 256, .pair = true), 10, 128, 1000, 1, 0, 0, 0 },
	{ "slotted, formatted", SLOTTED(128), 8, 8, 500, 1, 0, 0, 0 },
	{ "sorted, formatted", SORTED(AUTO, 128, .on_demand = true, COSTS), 8, 8, 500, 1, 0, 0, 0 },
	{ "slotted, survives", SLOTTED(128), 10, 128, 1000, 1, CRASH_SURVIVE, 3, 0 },
	{ "shift, survives", SORTED(SIP, 128), 10, 128, 2000, 1, CRASH_SURVIVE, 3, 0 },
	{ "slotted, prepared", SLOTTED(256), 10, 64, 2000, 1, CRASH_MAINTAIN, 3, 6 },
	{ "shift, wide", SORTED(SIP, 256), 10, 128, 1000, 1, 0, 0, 0 },
	{ "choice", SORTED(AUTO, 256, .on_demand = true, .probe = true, COSTS),
	  10, 128, 1000, 1, 0, 0, 0 },
	{ "choice, more", SORTED(AUTO, 512, .probe = true, COSTS), 10, 128, 3000, 1, 0, 0, 17 },
	{ "slotted, cut again", SLOTTED(128), 10, 128, 300, 2, 0, 0, 0 },
	{ "shift, cut again", SORTED(SIP, 128), 10, 128, 300, 2, 0, 0, 0 },
	{ "choice, cut again", SORTED(AUTO, 256, .pair = true, .probe = true, COSTS),
	  8, 128, 300, 2, 0, 0, 0 },
	{ "copy, cut again", SORTED(COW, 128, .on_demand = true), 12, 128, 300, 2, 0, 0, 0 },
};

const u32 workloads_count = ARRAY_SIZE(workloads);

enum workload_end workload_run(const struct workload *workload, char *said)
{
	enum workload_end end = WORKLOAD_SOUND;
	static struct crash c;
	bool ok;

	crab_tiny_slots = workload->slots;
	ok = crash_begin(&c, &workload->setup, workload->leaves, 1);

	c.format_every = workload->format_every;
	c.often = workload->often;
	c.often_every = workload->often_every;
	if (!ok || !crash_run(&c, workload->steps, workload->depth))
		end = c.gave_up || c.shadow->errors ? WORKLOAD_GAVE_UP : WORKLOAD_FOUND;
	strscpy(said, c.said, CRASH_SAID);
	crash_end(&c);
	return end;
}
