/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares loads: random operations on leaves of usual sizes, each cut before every fence.
 */
#ifndef CRAB_HOST_LOAD_H
#define CRAB_HOST_LOAD_H

#include "crash.h"
#include "space.h"

/**
 * struct load - one load
 * @name: of the piece of `make crash`
 * @setup: store
 * @leaves: of the pool
 * @steps: operations
 * @depth: power cuts in a row; 0: 1
 * @seeds: number of runs, with seeds 1, 2, ...; 0: 1
 * @tier: the command that runs it
 * @batches: every other step is a batch of at most so many operations; 0: no batches
 */
struct load {
	const char *name;
	struct crash_setup setup;
	u32 leaves;
	u32 steps;
	u32 depth;
	u32 seeds;
	enum space_tier tier;
	u32 batches;
};

#endif /* CRAB_HOST_LOAD_H */
