// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the measurement of operations alone.
 *
 * The clock is the counter of the processor. That of arm64 may have steps of some ten
 * nanoseconds: there the mean is exact, and the percentiles are not.
 *
 * Invariant: between two readings of the counter is one operation and nothing else.
 */
#include <stdlib.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ktime.h>

#include "alone.h"
#include "rig.h"
#include "team.h"

#define CALIBRATE_NS	20000000U
#define LOOP_STEPS	100000U

/* Nanoseconds of one step of the counter */
static double step_ns;

/* The counter, once all earlier loads and stores are complete; nothing later begins before */
static __always_inline u64 alone_counter(void)
{
	u64 at;
#if defined(__x86_64__)
	u32 low, high;

	asm volatile("mfence; lfence; rdtsc; lfence" : "=a" (low), "=d" (high) :: "memory");
	at = (u64)high << 32 | low;
#elif defined(__aarch64__)
	asm volatile("dsb sy; isb; mrs %0, cntvct_el0; isb" : "=r" (at) :: "memory");
#else
#error "no counter is known"
#endif
	return at;
}

static void calibrate(void)
{
	u64 began = ktime_get_ns(), at = alone_counter(), ns;

	do
		ns = ktime_get_ns() - began;
	while (ns < CALIBRATE_NS);
	step_ns = (double)ns / (alone_counter() - at);
}

/* A map that does nothing, to measure the loop */
static int nothing(void *map, struct crab_bench_work *work)
{
	return 0;
}

static __always_inline int measure_one(int (*run)(void *, struct crab_bench_work *), void *map,
				       struct crab_bench_work *one, float *ns)
{
	u64 began = alone_counter();
	int err = run(map, one);

	*ns = (alone_counter() - began) * step_ns;
	return err;
}

static int float_cmp(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x < y ? -1 : x > y;
}

/* The median: a loop that was preempted does not count */
static double loop_ns(const struct crab_bench_work *work, float *ns)
{
	u32 steps = min_t(u64, work->n, LOOP_STEPS), i;
	struct crab_bench_work one = *work;

	one.n = 1;
	for (i = 0; i < steps; i++)
		measure_one(nothing, NULL, &one, &ns[i]);
	qsort(ns, steps, sizeof(*ns), float_cmp);
	return ns[steps / 2];
}

static void summarize(float *ns, u64 n, double loop, struct alone_time *time)
{
	u64 most = n - n / 1000, i;
	double sum = 0;

	qsort(ns, n, sizeof(*ns), float_cmp);
	for (i = 0; i < most; i++)
		sum += ns[i];
	time->mean = sum / most - loop;
	time->p50 = ns[n / 2] - loop;
	time->p99 = ns[n - 1 - n / 100] - loop;
	time->p999 = ns[most - 1] - loop;
	time->worst = ns[n - 1] - loop;
}

/* A map that keeps the time of each operation of a work whose first key is at @keys */
struct timed {
	const struct peer *peer;
	void *map;
	const u64 *keys;
	float *ns;
};

static int timed_run(void *map, struct crab_bench_work *work)
{
	const struct timed *timed = map;
	float *ns = timed->ns + (work->keys - timed->keys);
	struct crab_bench_work one = *work;
	int err = 0;
	u64 i;

	one.n = 1;
	for (i = 0; i < work->n && !err; i++, one.keys++, one.ops += !!one.ops) {
		one.prepare_ns = 0;
		err = measure_one(timed->peer->run, timed->map, &one, &ns[i]);
		ns[i] -= one.prepare_ns;
		work->prepare_ns += one.prepare_ns;
	}
	return err;
}

int alone_run(const struct peer *peer, void *map, const struct crab_bench_work *work, u32 threads,
	      struct alone_time *time)
{
	static const struct peer timed_peer = { .run = timed_run };
	struct crab_media media = rig_region(work->n * sizeof(float));
	struct timed timed = { peer, map, work->keys, (float *)media.base };
	struct crab_bench_work here = *work;
	struct team_time team;
	double loop;
	int err;

	*time = (struct alone_time) { };
	if (!step_ns)
		calibrate();
	loop = loop_ns(work, timed.ns);
	if (threads == 1)
		err = timed_run(&timed, &here);
	else
		err = team_run(&timed_peer, &timed, work, threads, &team);
	if (!err)
		summarize(timed.ns, work->n, loop, time);
	time->prepare_ns = threads == 1 ? here.prepare_ns : team.prepare_ns;
	rig_region_free(&media);
	return err;
}
