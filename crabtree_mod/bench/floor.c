// SPDX-License-Identifier: GPL-2.0
/*
 * This file measures the floor, close in time to the measurement that it is compared with, so that
 * their ratio is meaningful on a shared machine.
 *
 * Invariant: the primitives are those of L1; no other code accesses the buffer. No lock.
 */
#include <linux/compiler.h>
#include <linux/math64.h>

#include "floor.h"

#define FLOOR_STEPS	100000
#define FLOOR_WORDS	(CRAB_LINE / sizeof(__le64))

/* Each of a power of two of lines once, in an order that no prefetcher predicts */
static u64 step(u64 at, u64 lines)
{
	return (at * 6364136223846793005ULL + 1442695040888963407ULL) & (lines - 1);
}

static u64 per_step(u64 ns)
{
	return div_u64(ns * 1000, FLOOR_STEPS);
}

static u64 clean_ps(struct crab_media *media, u64 lines, bool sequential, u64 (*clock)(void))
{
	struct crab_flow flow = { .media = media };
	__le64 *words = (__le64 *)media->base;
	u64 at = 1, began = clock();
	u32 i;

	for (i = 0; i < FLOOR_STEPS; i++) {
		at = sequential ? (at + 1) & (lines - 1) : step(at, lines);
		crab_store(&flow, &words[at * FLOOR_WORDS], i);
		crab_clean(&flow, &words[at * FLOOR_WORDS], 1);
		/* P6: durable, as the only record of an insert */
		crab_fence(&flow, CRAB_P6_RECORD);
	}
	return per_step(clock() - began);
}

/* Each line holds the number of the next one */
static u64 load_ps(struct crab_media *media, u64 lines, u64 (*clock)(void))
{
	struct crab_flow flow = { .media = media };
	__le64 *words = (__le64 *)media->base;
	u64 at, began;
	u32 i;

	for (at = 0; at < lines; at++)
		crab_store(&flow, &words[at * FLOOR_WORDS], step(at, lines));
	began = clock();
	for (at = 0, i = 0; i < FLOOR_STEPS; i++)
		at = crab_load(media, &words[(at & (lines - 1)) * FLOOR_WORDS]);
	crab_store(&flow, words, at);	/* keeps the loads */
	return per_step(clock() - began);
}

void crab_bench_floor_measure(struct crab_media *media, u64 bytes, u64 (*clock)(void),
			      struct crab_bench_floor *floor)
{
	u64 lines = 1;

	while (lines * 2 * CRAB_LINE <= bytes)
		lines *= 2;
	floor->any = clean_ps(media, lines, false, clock);
	floor->line = clean_ps(media, lines, true, clock);
	floor->load = load_ps(media, lines, clock);
}
