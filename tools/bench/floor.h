/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the floor: what this machine charges for the least that a
 * durable write and a cold read can do.
 */
#ifndef CRAB_BENCH_FLOOR_H
#define CRAB_BENCH_FLOOR_H

#include "persist.h"

/**
 * struct floor - nanoseconds of thread CPU time
 * @random: store to, clean and fence one line, anywhere in a large buffer
 * @sequential: the same, one line after the other
 * @load: one load that depends on the one before it, anywhere in the buffer
 */
struct floor {
	double random;
	double sequential;
	double load;
};

/** floor_measure() - over the first @bytes of @media, which it overwrites */
struct floor floor_measure(struct crab_media *media, u64 bytes);

/** cpu_ns() - CPU time of this thread */
u64 cpu_ns(void);

#endif /* CRAB_BENCH_FLOOR_H */
