// SPDX-License-Identifier: GPL-2.0
/*
 * This file measures the store as in the module: with its locks and counters, and
 * with real cleans and fences.
 */
#include <stdlib.h>

#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/string.h>

#include "bench/loop.h"
#include "engines/crab/sorted/tuning.h"
#include "peer.h"
#include "rig.h"

bool peer_fence_only;

static u64 read_sum;	/* so that the compiler keeps the reads */

struct map {
	struct crab_media media;
	struct crab_bench bench;
};

static void map_attach(struct map *map)
{
	struct crab_attach_options options = { .kick = crab_bench_kick, .arg = &map->bench };

	map->bench.store = rig_attach(&map->media, &options);
}

static void *crab_open(const struct peer *peer, u64 keys, u32 leaf_bytes)
{
	struct map *map = calloc(1, sizeof(*map));

	if (!map)
		rig_fail("no memory", -ENOMEM);
	map->media = rig_region(crab_bench_region_bytes(peer->engine, peer->layout, keys,
							leaf_bytes));
	map->media.fence_only = peer_fence_only;
	rig_format(&map->media, peer->engine, peer->layout, leaf_bytes);
	map->bench.clock = rig_cpu_ns;
	mutex_init(&map->bench.preparing);
	map_attach(map);
	return map;
}

static int crab_run(void *map, struct crab_bench_work *work)
{
	return crab_bench_run(&((struct map *)map)->bench, work);
}

static void crab_counts(void *map, struct peer_counts *counts)
{
	struct crab_store_info info;

	crab_store_info(((struct map *)map)->bench.store, &info);
	*counts = (struct peer_counts) {
		.lines = info.counts.lines, .fences = info.counts.fences,
		.orders = info.counts.orders, .prepare_lines = info.prepare_lines,
		.prepare_fences = info.prepare_fences, .leaves = info.stats.leaves_used,
		.splits = info.stats.splits, .dram = info.stats.dram_bytes,
		.media = info.stats.leaves_used * info.super.leaf_bytes, .names = info.counters,
	};
	BUILD_BUG_ON(sizeof(counts->own) != sizeof(info.counts.own));
	memcpy(counts->own, info.counts.own, sizeof(counts->own));
}

/* Time to read @bytes from the begin of the region, word by word; rig_region() wrote all of them */
static u64 read_ns(const struct crab_media *media, u64 bytes)
{
	const u64 *word = (const u64 *)media->base, *end = word + bytes / sizeof(u64);
	u64 began = ktime_get_ns(), sum = 0;

	for (; word < end; word++)
		sum += *word;
	WRITE_ONCE(read_sum, sum);
	return ktime_get_ns() - began;
}

static void crab_attach(void *arg, bool clean, struct peer_attach *times)
{
	struct crab_store_info before, after;
	struct map *map = arg;

	crab_store_info(map->bench.store, &before);
	if (clean)
		crab_store_detach(map->bench.store);
	else
		crab_store_abandon(map->bench.store);
	map_attach(map);
	crab_store_info(map->bench.store, &after);
	if (after.stats.records != before.stats.records)
		rig_fail("attach lost records", -EIO);
	times->attach_ns = after.attach_ns;
	times->region_ns = read_ns(&map->media, map->media.size);
	times->used_ns = read_ns(&map->media, before.stats.leaves_used * before.super.leaf_bytes);
}

void peer_store_price(void)
{
	crab_tuning_default.pair = CRAB_PAIR_IF_CHEAPER;
	crab_tuning_default.costs = (struct crab_costs){ };
}

bool peer_store_option(const char *text)
{
	const char *value = strchr(text, '=');
	const struct crab_option *option;
	void *values;
	char *name;

	if (!value)
		return false;
	name = strndup(text, value - text);
	option = crab_option_find(name, &values);
	free(name);
	return option && !crab_option_set(option, values, value + 1);
}

const struct peer *peer_store(const char *engine, const char *layout)
{
	static struct peer peer = {
		.open = crab_open, .run = crab_run, .threads = true, .batches = true,
	};
	const struct crab_engine_ops *ops = crab_engine_by_name(engine);
	const struct crab_layout *found = ops ? crab_layout_by_name(ops, layout) : NULL;

	if (!found)
		return NULL;
	peer.engine = ops->name;
	peer.layout = ops->flags & CRAB_ENGINE_VOLATILE ? "" : found->name;
	if (!(ops->flags & CRAB_ENGINE_VOLATILE)) {
		peer.counts = crab_counts;
		peer.attach = crab_attach;
	}
	return &peer;
}
