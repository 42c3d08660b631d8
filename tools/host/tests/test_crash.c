// SPDX-License-Identifier: GPL-2.0
/*
 * This file runs the crash test over random workloads on small stores.
 *
 *   test_crash [ROUNDS [SEED]]
 */
#include "crash.h"
#include "host_driver.h"
#include "test.h"

#define STEPS	200
#define STEPS_QUICK	80	/* with one round */
#define BLOB_LEAVES	24
#define COMMIT_LEAVES	30
#define COMMIT_MOST	2U

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
	c.batches = setup->commits ? COMMIT_MOST :
		    seed % 4 == 1 && !setup->blobs ? CRASH_BATCH_MOST : 0;
	c.often_every = c.batches ? 4 : 0;
	ok = ok && crash_run(&c, steps, depth);
	if (!ok)
		tap_fail("%s", c.said);
	crash_end(&c);
	count_add(&c);
	tap_ok(ok, "%s/%s, seed %llu, %u leaves of %u%s: %u operations, %llu points, %llu images",
	       setup->driver->engine, setup->layout, seed, leaves, setup->leaf_bytes, every_store ? ", every store" : "",
	       c.step, c.counts.points + c.counts.nested, c.counts.images);
}

/* Each way in which the driver configures a store; each store of it with every store cut */
static void run_driver(const struct host_driver *driver, u32 rounds, u64 seed)
{
	struct crash_setup setup;
	u32 i;

	for (i = 0; i < 12 * rounds; i++) {
		setup = driver->sample(i);
		run_workload(&setup, 8 + i / 3 % 3 * 2, seed + i, false,
			     rounds > 1 ? STEPS : STEPS_QUICK, rounds > 1 ? 2 : 1 + i % 2);
	}
	for (i = 0; i < rounds; i++)
		run_workload(&driver->setups[0], 8, seed + i, true, rounds > 1 ? STEPS : 48,
			     rounds > 1 ? 2 : 1);
}

/* Stores of blobs or names, with as many leaves as slabs need */
static void run_blobs(const struct host_driver *driver, bool names, u32 rounds, u64 seed)
{
	struct crash_setup setup = driver->setups[0];
	u32 i;

	setup.blobs = true;
	setup.names = names;
	for (i = 0; i < rounds; i++)
		run_workload(&setup, BLOB_LEAVES, seed + i, false, STEPS, rounds > 1 ? 2 : 1);
}

/* Stores of commits, of blobs or names as well, and with snapshots: batches are commits of two keys at most */
static void run_commits(const struct host_driver *driver, bool blobs, bool names, bool snaps,
			u32 rounds, u64 seed)
{
	struct crash_setup setup = driver->setups[0];
	u32 i;

	setup.commits = true;
	setup.blobs = blobs;
	setup.names = names;
	setup.snaps = snaps;
	for (i = 0; i < rounds; i++)
		run_workload(&setup, COMMIT_LEAVES, seed + i, false, STEPS, rounds > 1 ? 2 : 1);
}

/* If the workloads did not meet all of these, their silence would mean little */
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

static bool has_driver(const struct crab_engine_ops *ops)
{
	const struct host_driver * const *driver;

	for (driver = host_drivers; *driver; driver++)
		if (!strcmp((*driver)->engine, ops->name))
			return true;
	return ops->flags & CRAB_ENGINE_VOLATILE;
}

/* Nothing cuts an engine without a driver, and no mutant is made of it */
static void run_table(void)
{
	const struct crab_engine_ops * const *ops;

	for (ops = crab_engines; *ops; ops++)
		tap_check(has_driver(*ops), "the engine %s has no driver", (*ops)->name);
	tap_ok(true, "every engine of the table has a driver");
}

int main(int argc, char **argv)
{
	u32 rounds = argc > 1 ? atoi(argv[1]) : 1;
	u64 seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	const struct host_driver * const *driver;

	for (driver = host_drivers; *driver; driver++)
		run_driver(*driver, rounds, seed);
	run_blobs(&host_driver_crab, false, rounds, seed);
	run_blobs(&host_driver_crab, true, rounds, seed);
	run_blobs(&host_driver_nvtree, false, rounds, seed);
	run_blobs(&host_driver_nvtree, true, rounds, seed);
	run_commits(&host_driver_crab, false, false, false, rounds, seed);
	run_commits(&host_driver_crab, true, false, false, rounds, seed);
	run_commits(&host_driver_nvtree, true, true, false, rounds, seed);
	run_commits(&host_driver_crab, true, true, true, rounds, seed);
	printf("# %llu crash points, %llu in recoveries; %llu images, at most %llu a point\n",
	       total.points + total.nested, total.nested, total.images, total.largest);
	printf("# %llu images chosen at random: of batches of more than %u\n", total.sampled,
	       CRASH_TOGETHER);
	printf("# %llu recoveries, %llu repairs; %llu splits, %llu unlinks, %llu times full\n",
	       total.recoveries, total.repairs, total.splits, total.unlinks, total.full);
	run_coverage();
	run_table();
	return tap_done();
}
