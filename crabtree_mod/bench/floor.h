/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the floor: the cost on this machine of the smallest possible durable write
 * and of a cold read.
 */
#ifndef CRABTREE_BENCH_FLOOR_H
#define CRABTREE_BENCH_FLOOR_H

#include "media/persist.h"

/**
 * struct crab_bench_floor - costs in picoseconds
 * @line: store to, clean and fence lines in order
 * @any: the same, lines anywhere in a large buffer
 * @load: one load that depends on the previous one, anywhere in the buffer
 */
struct crab_bench_floor {
	u64 line;
	u64 any;
	u64 load;
};

/**
 * crab_bench_floor_measure() - measure the floor
 * @media: the memory; its first @bytes are overwritten
 * @bytes: size of the buffer
 * @clock: returns nanoseconds
 * @floor: out
 *
 * Context: may sleep; one caller at a time for each @media.
 */
void crab_bench_floor_measure(struct crab_media *media, u64 bytes, u64 (*clock)(void),
			      struct crab_bench_floor *floor);

#endif /* CRABTREE_BENCH_FLOOR_H */
