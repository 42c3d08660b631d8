/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares a team: threads that divide a work among them.
 */
#ifndef CRAB_BENCH_TEAM_H
#define CRAB_BENCH_TEAM_H

#include "peer.h"

#define TEAM_MAX	64

/**
 * struct team_time - times of a work
 * @cpu_ns: of all threads, without @prepare_ns
 * @prepare_ns: CPU time of maintenance
 * @wall_ns: from the first begin to the last end
 * @waits: of a thread for another one, which had a lock or was in the section of a writer
 */
struct team_time {
	u64 cpu_ns;
	u64 prepare_ns;
	u64 wall_ns;
	u64 waits;
};

/**
 * team_share() - compute one thread's share of @n operations
 * @n: number of operations
 * @threads: number of threads
 * @nth: number of the thread
 * @from: out: first operation
 * @to: out: one past the last operation
 */
void team_share(u64 n, u32 threads, u32 nth, u64 *from, u64 *to);

/**
 * team_run() - do a work
 * @peer: kind of map
 * @map: the map
 * @work: the work; each thread does one share
 * @threads: number of threads, each pinned to its own CPU
 * @time: out
 * Return: 0, or the first error.
 */
int team_run(const struct peer *peer, void *map, const struct crab_bench_work *work, u32 threads,
	     struct team_time *time);

#endif /* CRAB_BENCH_TEAM_H */
