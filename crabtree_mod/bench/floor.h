/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the floor: what this machine charges for the least that a
 * durable write and a cold read can do.
 */
#ifndef CRABTREE_BENCH_FLOOR_H
#define CRABTREE_BENCH_FLOOR_H

#include "media/persist.h"

/**
 * struct crab_bench_floor - picoseconds
 * @line: store to, clean and fence one line after the other
 * @any: the same, lines anywhere in a large buffer
 * @load: one load that depends on the one before it, anywhere in the buffer
 */
struct crab_bench_floor {
	u64 line;
	u64 any;
	u64 load;
};

/**
 * crab_bench_floor_measure() - measure it
 * @media: where; what its first @bytes hold is lost
 * @bytes: of the buffer
 * @clock: nanoseconds
 * @floor: out
 */
void crab_bench_floor_measure(struct crab_media *media, u64 bytes, u64 (*clock)(void),
			      struct crab_bench_floor *floor);

#endif /* CRABTREE_BENCH_FLOOR_H */
