/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the measurement of operations alone: each begins after all loads and stores
 * before it are complete, so that it overlaps none of them. This is how a caller finds them who
 * comes through a system call.
 */
#ifndef CRAB_BENCH_ALONE_H
#define CRAB_BENCH_ALONE_H

#include "peer.h"

/**
 * struct alone_time - times of the operations of a work, in nanoseconds, without maintenance
 * @mean: of all but the slowest of a thousand: other programs interrupt those
 * @p50: half of them take so long at most
 * @p99: 99 of 100
 * @p999: 999 of 1000
 * @worst: the longest
 * @prepare_ns: CPU time of maintenance, of all together
 */
struct alone_time {
	double mean;
	double p50;
	double p99;
	double p999;
	double worst;
	u64 prepare_ns;
};

/**
 * alone_run() - execute the operations of a work one by one, alone
 * @peer: kind of map
 * @map: the map
 * @work: the operations
 * @threads: 1: this thread, on its CPU; more: each does one share, pinned to its own CPU, and
 *	overlaps nothing with its own operations
 * @time: out: the time of the loop and of the clock is subtracted
 * Return: 0, or the first error.
 */
int alone_run(const struct peer *peer, void *map, const struct crab_bench_work *work, u32 threads,
	      struct alone_time *time);

#endif /* CRAB_BENCH_ALONE_H */
