// SPDX-License-Identifier: GPL-2.0
/*
 * This file counts the media accesses of every layout of every engine that keeps its records:
 * lines cleaned and fences per operation, by leaf size; and DRAM per byte of media in use. The
 * results are the same on every machine. Layouts for persistent caches clean no line: none is counted.
 *
 *   count [--keys N]	-> JSON on standard output
 *
 * On the write path: between a call and its return. Prepared: by crab_store_maintain(), off the
 * write path.
 */
#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/random.h>

#include "bench/loop.h"
#include "rig.h"
#include "row.h"
#include "table.h"

#define LEAF_MIN	256U
#define LEAF_MAX	8192U

static u64 keys = 1000000;

static struct json_object *count_phase(struct crab_bench *bench, struct crab_bench_work *work)
{
	struct json_object *cost = json_object_new_object();
	struct crab_store_info a, b;
	int err;

	crab_store_info(bench->store, &a);
	err = crab_bench_run(bench, work);
	if (err)
		rig_fail("count", err);
	crab_store_info(bench->store, &b);
	row_double(cost, "lines", (double)(b.counts.lines - a.counts.lines) / work->n);
	row_double(cost, "fences", (double)(b.counts.fences - a.counts.fences) / work->n);
	row_double(cost, "prepared_lines", (double)(b.prepare_lines - a.prepare_lines) / work->n);
	row_double(cost, "prepared_fences", (double)(b.prepare_fences - a.prepare_fences) / work->n);
	return cost;
}

static void add_sizes(struct json_object *row, const struct crab_bench *bench,
		      const struct crab_layout *layout, u32 leaf_bytes)
{
	struct crab_store_info info;

	crab_store_info(bench->store, &info);
	row_double(row, "fill", (double)keys / (info.stats.leaves_used * layout->records(leaf_bytes)));
	row_double(row, "dram_per_media",
	    (double)info.stats.dram_bytes / (info.stats.leaves_used * leaf_bytes));
}

static void count_phases(struct json_object *row, struct crab_bench *bench, u64 *order,
			 const struct crab_layout *layout, u32 leaf_bytes)
{
	struct crab_bench_work work = { .keys = order };
	const struct crab_bench_phase *p;

	row_int(row, "leaf_bytes", leaf_bytes);
	for (p = crab_bench_phases; p->name; p++) {
		crab_bench_order(order, keys, p - crab_bench_phases);
		work.op = p->op;
		work.n = keys / p->part;
		json_object_object_add(row, p->name, count_phase(bench, &work));
		if (p->op == CRAB_BENCH_INSERT)
			add_sizes(row, bench, layout, leaf_bytes);
	}
}

static struct json_object *count_leaf(const struct crab_engine_ops *engine,
				      const struct crab_layout *layout, u64 *order, u32 leaf_bytes)
{
	struct crab_media media = rig_region(crab_bench_region_bytes(engine->name, layout->name, keys,
								     leaf_bytes));
	struct crab_bench bench = { .clock = rig_cpu_ns };
	struct crab_attach_options options = { .kick = crab_bench_kick, .arg = &bench };
	struct json_object *row = json_object_new_object();

	media.fence_only = true;	/* lines are counted, not cleaned */
	mutex_init(&bench.preparing);
	rig_format(&media, engine->name, layout->name, leaf_bytes);
	bench.store = rig_attach(&media, &options);
	row_text(row, "engine", engine->name);
	row_text(row, "layout", layout->name);
	json_object_object_add(row, "default", json_object_new_boolean(leaf_bytes == layout->leaf_default));
	count_phases(row, &bench, order, layout, leaf_bytes);
	crab_store_detach(bench.store);
	rig_region_free(&media);
	return row;
}

static void count_layout(struct json_object *rows, const struct crab_engine_ops *engine,
			 const struct crab_layout *layout, u64 *order)
{
	u32 leaf_bytes = min(max(layout->leaf_min, LEAF_MIN), layout->leaf_max);

	for (; leaf_bytes <= min(layout->leaf_max, LEAF_MAX); leaf_bytes *= 2)
		json_object_array_add(rows, count_leaf(engine, layout, order, leaf_bytes));
}

static void count_layouts(struct json_object *rows, const struct crab_engine_ops *engine,
			  u64 *order)
{
	const struct crab_layout *layout;

	for (layout = engine->layouts; layout->name; layout++)
		if (layout->needs != CRAB_MODEL_CACHE)
			count_layout(rows, engine, layout, order);
}

static void options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "keys", required_argument, NULL, 'k' },
		{ }
	};

	while (getopt_long(argc, argv, "", known, NULL) == 'k')
		keys = strtoull(optarg, NULL, 0);
	if (optind < argc || keys < 1000)
		rig_fail("usage: count [--keys N], at least 1000", -EINVAL);
}

int main(int argc, char **argv)
{
	struct json_object *said = json_object_new_object(), *rows = json_object_new_array();
	const struct crab_engine_ops * const *engine;
	struct crab_media order;

	options(argc, argv);
	if (crab_persist_init())
		rig_fail("this CPU cannot clean a cache line", -EOPNOTSUPP);
	crab_host_seed(1);
	order = rig_region(keys * sizeof(u64));
	for (engine = crab_engines; *engine; engine++)
		if (table_is_measured(*engine) && !((*engine)->flags & CRAB_ENGINE_VOLATILE))
			count_layouts(rows, *engine, (u64 *)order.base);
	row_int(said, "keys", keys);
	json_object_object_add(said, "leaves", rows);
	row_print(said);
	return 0;
}
