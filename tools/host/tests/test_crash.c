// SPDX-License-Identifier: GPL-2.0
/*
 * This file runs the crash test over random workloads on small stores.
 *
 *   test_crash [ROUNDS [SEED]]
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/kernel.h>

#include "crash.h"
#include "tap.h"

#define STEPS	200

static struct crash_counts total;

static void count_add(const struct crash *c)
{
	u64 *to = (u64 *)&total, *from = (u64 *)&c->counts;
	u64 largest = max(total.largest, c->counts.largest);
	u32 i;

	for (i = 0; i < sizeof(total) / sizeof(u64); i++)
		to[i] += from[i];
	total.largest = largest;
}

static void run_workload(const struct crash_setup *setup, u32 leaves, u64 seed, bool every_store,
			 u32 steps, u32 depth)
{
	struct crash c;
	bool ok = crash_begin(&c, setup, leaves, seed);

	c.every_store = every_store;
	c.often = CRASH_BATCH;
	c.often_every = seed % 4 == 1 ? 4 : 0;
	c.batches = seed % 4 == 1 ? CRASH_BATCH_MOST : 0;
	ok = ok && crash_run(&c, steps, depth);
	if (!ok)
		tap_fail("%s", c.said);
	crash_end(&c);
	count_add(&c);
	tap_ok(ok, "%s, seed %llu, %u leaves of %u%s: %u operations, %llu points, %llu images",
	       setup->layout, seed, leaves, setup->leaf_bytes, every_store ? ", every store" : "",
	       c.step, c.counts.points + c.counts.nested, c.counts.images);
}

/* Each strategy, with and without each optimization of the paper, section 5 */
static void run_sorted(u32 i, u64 seed, u32 depth)
{
	struct crash_setup sorted = {
		.layout = "sorted", .model = CRAB_SHADOW_MODEL_LINE,
		.leaf_bytes = i % 2 ? 256 : 128,
		.tuning = crab_tuning_default,
	};

	sorted.tuning.strategy = (const enum crab_strategy[]) {
		CRAB_STRATEGY_SIP, CRAB_STRATEGY_AUTO, CRAB_STRATEGY_COW, CRAB_STRATEGY_SIP,
	}[i / 2 % 4];
	sorted.tuning.pair = i % 3 == 0;
	sorted.tuning.probe = i % 4 < 2;
	sorted.tuning.on_demand = i % 5 == 0;
	run_workload(&sorted, 8 + i % 3 * 2, seed, false, STEPS, depth);
}

/* What the workloads must have met, or their silence means little */
static void run_coverage(void)
{
	u32 i;

	for (i = 0; i < CRASH_VERBS; i++)
		tap_check(total.ops[i], "verb %u", i);
	tap_check(total.splits, "no split");
	tap_check(total.unlinks, "no unlink");
	tap_check(total.full, "never full");
	tap_check(total.repairs, "nothing to repair");
	for (i = 1; i < CRAB_POINTS; i++)
		tap_check(total.fences[i], "no fence of %s", crab_shadow_point_name(i));
	tap_ok(true, "every verb, every structure change and every persist point was met");
}

int main(int argc, char **argv)
{
	u32 rounds = argc > 1 ? atoi(argv[1]) : 1;
	u64 seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	u32 i;

	if (crab_persist_init())
		return 2;
	for (i = 0; i < 4 * rounds; i++)
		run_workload(&crash_slotted, 8 + i % 3 * 2, seed + i, false, STEPS, 2);
	for (i = 0; i < rounds; i++)
		run_workload(&crash_slotted, 8, seed + i, true, rounds > 1 ? STEPS : 48,
			     rounds > 1 ? 2 : 1);
	for (i = 0; i < 8 * rounds; i++)
		run_sorted(i, seed + i, rounds > 1 ? 2 : 1 + i % 2);
	printf("# %llu crash points, %llu in recoveries; %llu images, at most %llu a point\n",
	       total.points + total.nested, total.nested, total.images, total.largest);
	printf("# %llu images chosen at random: of batches of more than %u\n", total.sampled,
	       CRASH_TOGETHER);
	printf("# %llu recoveries, %llu repairs; %llu splits, %llu unlinks, %llu times full\n",
	       total.recoveries, total.repairs, total.splits, total.unlinks, total.full);
	run_coverage();
	return tap_done();
}
