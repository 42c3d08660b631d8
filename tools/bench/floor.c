// SPDX-License-Identifier: GPL-2.0
/*
 * This file measures the floor, right beside what is compared with it, so that a
 * ratio of the two means something on a machine that others use too.
 *
 * Invariant: the primitives are those of L1; nothing else touches the buffer.
 */
#include <time.h>

#include "floor.h"

#define FLOOR_STEPS	100000
#define FLOOR_WORDS	(CRAB_LINE / sizeof(__le64))

u64 cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Every line of a power of two of them once, in an order that nothing can foresee */
static u64 step(u64 at, u64 lines)
{
	return (at * 6364136223846793005ULL + 1442695040888963407ULL) & (lines - 1);
}

static double clean_ns(struct crab_media *media, u64 lines, bool sequential)
{
	struct crab_flow flow = { .media = media };
	__le64 *words = (__le64 *)media->base;
	u64 at = 1, began = cpu_ns();
	u32 i;

	for (i = 0; i < FLOOR_STEPS; i++) {
		at = sequential ? (at + 1) & (lines - 1) : step(at, lines);
		crab_store(&flow, &words[at * FLOOR_WORDS], i);
		crab_clean(&flow, &words[at * FLOOR_WORDS], 1);
		/* P6: as an insert's only record would be */
		crab_fence(&flow, CRAB_P6_RECORD);
	}
	return (double)(cpu_ns() - began) / FLOOR_STEPS;
}

/* Each line holds the number of the next one */
static double load_ns(struct crab_media *media, u64 lines)
{
	struct crab_flow flow = { .media = media };
	__le64 *words = (__le64 *)media->base;
	u64 at, began;
	u32 i;

	for (at = 0; at < lines; at++)
		crab_store(&flow, &words[at * FLOOR_WORDS], step(at, lines));
	began = cpu_ns();
	for (i = 0; i < FLOOR_STEPS; i++)
		at = crab_load(media, &words[(at & (lines - 1)) * FLOOR_WORDS]);
	asm volatile("" :: "r" (at));
	return (double)(cpu_ns() - began) / FLOOR_STEPS;
}

struct floor floor_measure(struct crab_media *media, u64 bytes)
{
	u64 lines = 1;
	struct floor floor;

	while (lines * 2 * CRAB_LINE <= bytes)
		lines *= 2;
	floor.random = clean_ns(media, lines, false);
	floor.sequential = clean_ns(media, lines, true);
	floor.load = load_ns(media, lines);
	return floor;
}
