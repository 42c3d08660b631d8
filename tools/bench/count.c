// SPDX-License-Identifier: GPL-2.0
/*
 * This file counts the media accesses of the layout `slotted`: lines cleaned and
 * fences per operation, by leaf size; and DRAM per byte of media in use. The results are
 * the same on every machine.
 *
 *   count [--keys N]	-> JSON on standard output
 *
 * On the write path: between a call and its return. Prepared: sentinels of
 * free leaves, which crab_store_maintain() makes durable off the write path.
 */
#include <getopt.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/random.h>

#include "bench/loop.h"
#include "engines/crab/format.h"
#include "rig.h"

static u64 keys = 1000000;

static void add(struct json_object *to, const char *name, double value)
{
	json_object_object_add(to, name, json_object_new_double(value));
}

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
	add(cost, "lines", (double)(b.counts.lines - a.counts.lines) / work->n);
	add(cost, "fences", (double)(b.counts.fences - a.counts.fences) / work->n);
	add(cost, "prepared_lines", (double)(b.prepare_lines - a.prepare_lines) / work->n);
	add(cost, "prepared_fences", (double)(b.prepare_fences - a.prepare_fences) / work->n);
	return cost;
}

static void add_sizes(struct json_object *row, const struct crab_bench *bench, u32 leaf_bytes)
{
	struct crab_store_info info;

	crab_store_info(bench->store, &info);
	add(row, "fill", (double)keys / (info.stats.leaves_used * crab_leaf_slots(leaf_bytes)));
	add(row, "dram_per_media",
	    (double)info.stats.dram_bytes / (info.stats.leaves_used * leaf_bytes));
}

static struct json_object *count_phases(struct crab_bench *bench, u64 *order, u32 leaf_bytes)
{
	struct json_object *row = json_object_new_object();
	struct crab_bench_work work = { .keys = order };
	const struct crab_bench_phase *p;

	json_object_object_add(row, "leaf_bytes", json_object_new_int(leaf_bytes));
	for (p = crab_bench_phases; p->name; p++) {
		crab_bench_order(order, keys, p - crab_bench_phases);
		work.op = p->op;
		work.n = keys / p->part;
		json_object_object_add(row, p->name, count_phase(bench, &work));
		if (p->op == CRAB_BENCH_INSERT)
			add_sizes(row, bench, leaf_bytes);
	}
	return row;
}

static struct json_object *count_leaf(u64 *order, u32 leaf_bytes)
{
	struct crab_media media = rig_region(crab_bench_region_bytes("crab", "slotted", keys, leaf_bytes));
	struct crab_bench bench = { .clock = rig_cpu_ns };
	struct crab_attach_options options = { .kick = crab_bench_kick, .arg = &bench };
	struct json_object *row;

	media.fence_only = true;	/* lines are counted, not cleaned */
	mutex_init(&bench.preparing);
	rig_format(&media, "crab", "slotted", leaf_bytes);
	bench.store = rig_attach(&media, &options);
	row = count_phases(&bench, order, leaf_bytes);
	crab_store_detach(bench.store);
	rig_region_free(&media);
	return row;
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
	struct crab_media order;
	u32 leaf_bytes;

	options(argc, argv);
	if (crab_persist_init())
		rig_fail("this CPU cannot clean a cache line", -EOPNOTSUPP);
	crab_host_seed(1);
	order = rig_region(keys * sizeof(u64));
	for (leaf_bytes = 512; leaf_bytes <= CRAB_LEAF_BYTES_MAX; leaf_bytes *= 2)
		json_object_array_add(rows, count_leaf((u64 *)order.base, leaf_bytes));
	json_object_object_add(said, "keys", json_object_new_uint64(keys));
	json_object_object_add(said, "leaves", rows);
	puts(json_object_to_json_string_ext(said, JSON_C_TO_STRING_PRETTY));
	return 0;
}
