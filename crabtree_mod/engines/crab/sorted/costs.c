// SPDX-License-Identifier: GPL-2.0
/*
 * This file prices cleans and fences on this CPU by a short test (Wang et al. 2020,
 * section 4.2: "can be estimated through a quick test").
 *
 * Lines of a batch are stored first and cleaned afterwards, as the lines of a fresh
 * leaf are. No line is cleaned twice within a short time, because a second clean costs
 * more than any clean in the engine.
 *
 * Invariant: a price is the lowest of several runs, and never 0.
 *
 * Locking: none; the buffer belongs to the call.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "media/persist.h"
#include "tuning.h"

#define COSTS_LINES	1024	/* lines of the buffer: 64 KiB */
#define COSTS_BATCH	32	/* lines before a fence: a leaf of 2 KiB */
#define COSTS_WORDS	(CRAB_LINE / sizeof(__le64))
#define COSTS_RUNS	8

static void costs_round(struct crab_flow *flow, __le64 *words)
{
	u32 i;

	for (i = 0; i < COSTS_LINES; i++) {
		crab_store(flow, &words[i * COSTS_WORDS], i);
		crab_clean(flow, &words[i * COSTS_WORDS], 1);
		/* P6: priced as a record's own */
		crab_fence(flow, CRAB_P6_RECORD);
	}
}

static void costs_batch(struct crab_flow *flow, __le64 *words)
{
	u32 i, j;

	for (i = 0; i < COSTS_LINES; i += COSTS_BATCH) {
		for (j = i; j < i + COSTS_BATCH; j++)
			crab_store(flow, &words[j * COSTS_WORDS], j);
		crab_clean(flow, &words[i * COSTS_WORDS], COSTS_BATCH * CRAB_LINE);
		/* P7: priced as a fresh leaf's */
		crab_fence(flow, CRAB_P7_FRESH);
	}
}

static void costs_order(struct crab_flow *flow, __le64 *words)
{
	u32 i;

	for (i = 0; i < COSTS_LINES; i++) {
		crab_store(flow, &words[i], i);
		crab_order(flow);
	}
}

static void costs_record(struct crab_flow *flow, __le64 *words)
{
	u32 i;

	for (i = 2 * COSTS_LINES; i; i -= 2) {
		crab_store(flow, &words[i + 1], crab_load(flow->media, &words[i - 1]));
		crab_store(flow, &words[i], crab_load(flow->media, &words[i - 2]));
	}
}

static void costs_pair(struct crab_flow *flow, __le64 *words)
{
	u32 i;

	for (i = 0; i < 2 * COSTS_LINES; i += 2)
		crab_store_pair(flow, &words[i], i, i);
}

static u32 costs_of(void (*test)(struct crab_flow *flow, __le64 *words), struct crab_flow *flow)
{
	u64 best = U64_MAX, began;
	u32 run;

	for (run = 0; run < COSTS_RUNS; run++) {
		began = ktime_get_ns();
		test(flow, (__le64 *)flow->media->base);
		best = min(best, ktime_get_ns() - began);
	}
	return clamp_t(u64, div_u64(best * 1000, COSTS_LINES), 1, U32_MAX);
}

int crab_costs_measure(struct crab_costs *costs)
{
	struct crab_media media = { .size = COSTS_LINES * CRAB_LINE };
	struct crab_flow flow = { .media = &media };
	u64 batch;

	media.base = kvzalloc(media.size, GFP_KERNEL);
	if (!media.base)
		return -ENOMEM;
	crab_flow_pin();
	costs->round = costs_of(costs_round, &flow);
	batch = (u64)costs_of(costs_batch, &flow) * COSTS_BATCH;
	costs->line = max_t(u64, batch - min_t(u64, batch, costs->round), COSTS_BATCH) /
		      (COSTS_BATCH - 1);
	costs->order = costs_of(costs_order, &flow);
	costs->record = costs_of(costs_record, &flow);
	costs->pair = costs_of(costs_pair, &flow);
	crab_flow_unpin();
	kvfree(media.base);
	return 0;
}
