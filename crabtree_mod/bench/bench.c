// SPDX-License-Identifier: GPL-2.0
/*
 * This file runs the benchmark inside a kernel, in memory like that of ram=, and prints the cost
 * of each phase: a cross-check of the same loop in user space (tools/bench). The benchmark is a
 * separate module, which is not installed (CRABTREE_BENCH=1), and runs while it is loaded.
 *
 * Invariant: the floor is measured immediately before each phase, in separate memory.
 *
 * Locking: none; one thread.
 */
#define pr_fmt(fmt) "crabtree_bench: " fmt

#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/vmalloc.h>

#include "floor.h"
#include "loop.h"

#define BENCH_FLOOR_BYTES	(64ULL << 20)

static ulong keys = 1000000;
module_param(keys, ulong, 0444);
MODULE_PARM_DESC(keys, "Number of keys");

static uint leaf;
module_param(leaf, uint, 0444);
MODULE_PARM_DESC(leaf, "Leaf size in bytes; 0: as FORMAT chooses it");

/**
 * struct bench_run - state of a run
 * @bench: the store, in the loop's structure
 * @info: counters of the store after the last phase
 * @media: media of the store
 * @floor: memory for the measurement of the floor
 * @order: the keys of the current phase
 */
struct bench_run {
	struct crab_bench bench;
	struct crab_store_info info;
	struct crab_media media;
	struct crab_media floor;
	u64 *order;
};

static int bench_phase(struct bench_run *run, const struct crab_bench_phase *phase)
{
	struct crab_bench_work work = {
		.op = phase->op, .keys = run->order, .n = keys / phase->part,
	};
	struct crab_counts before = run->info.counts;
	struct crab_bench_floor floor;
	u64 ns;
	int err;

	crab_bench_order(run->order, keys, phase - crab_bench_phases);
	crab_bench_floor_measure(&run->floor, run->floor.size, ktime_get_ns, &floor);
	ns = ktime_get_ns();
	err = crab_bench_run(&run->bench, &work);
	ns = ktime_get_ns() - ns - work.prepare_ns;
	crab_store_info(run->bench.store, &run->info);
	pr_info("%s n=%llu ns=%llu prepare_ns=%llu lines=%llu fences=%llu floor_line=%llu floor_any=%llu floor_load=%llu error=%d\n",
		phase->name, work.n, ns, work.prepare_ns,
		run->info.counts.lines - before.lines, run->info.counts.fences - before.fences,
		floor.line, floor.any, floor.load, err);
	return err;
}

static int bench_store(struct bench_run *run)
{
	struct crab_format_options format = {
		.force = true, .leaf_bytes = leaf, .engine = "crab", .layout = "slotted",
		.label = "bench",
	};
	struct crab_attach_options attach = {
		.kick = crab_bench_kick, .arg = &run->bench,
	};
	const struct crab_bench_phase *phase;
	struct crab_attach_report report;
	struct crab_store *store;
	int err = crab_store_format(&run->media, &format, report.reason);

	if (err)
		return err;
	store = crab_store_attach(&run->media, &attach, &report);
	if (IS_ERR(store))
		return PTR_ERR(store);
	run->bench.store = store;
	crab_store_info(store, &run->info);
	for (phase = crab_bench_phases; phase->name && !err; phase++)
		err = bench_phase(run, phase);
	crab_store_detach(store);
	return err;
}

static void bench_free(struct bench_run *run)
{
	vfree(run->order);
	vfree(run->floor.base);
	vfree(run->media.base);
	vfree(run);
}

static struct bench_run *bench_alloc(void)
{
	struct bench_run *run = vzalloc(sizeof(*run));

	if (!run)
		return NULL;
	mutex_init(&run->bench.preparing);
	run->bench.clock = ktime_get_ns;
	run->media.size = crab_bench_region_bytes("crab", "slotted", keys, leaf);
	run->media.base = vzalloc(run->media.size);
	run->floor.size = BENCH_FLOOR_BYTES;
	run->floor.base = vzalloc(run->floor.size);
	run->order = vzalloc(array_size(keys, sizeof(*run->order)));
	if (run->media.base && run->floor.base && run->order)
		return run;
	bench_free(run);
	return NULL;
}

static int __init bench_init(void)
{
	struct bench_run *run;
	int err = crab_persist_init();

	if (err)
		return err;
	run = bench_alloc();
	if (!run)
		return -ENOMEM;
	err = bench_store(run);
	bench_free(run);
	return err;
}

static void __exit bench_exit(void)
{
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("Benchmark of crabtree inside the kernel");
MODULE_AUTHOR("The crabtree authors");
MODULE_LICENSE("GPL");
