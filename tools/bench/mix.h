/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the orders in which keys are accessed, computed in advance:
 * Zipf's distribution, and the mixes A to F of YCSB (Cooper et al., Benchmarking
 * cloud serving systems with YCSB, SoCC 2010).
 */
#ifndef CRAB_BENCH_MIX_H
#define CRAB_BENCH_MIX_H

#include "bench/work.h"

#define MIX_THETA	0.99	/* the skew of YCSB */

/**
 * struct mix - a mix of YCSB, in per cent
 * @name: as rows name it
 * @search: ...
 * @update: ...
 * @insert: of new keys
 * @modify: search, then update
 * @scan: of one to a hundred records
 * @latest: the keys inserted last are accessed most; else any, by Zipf
 */
struct mix {
	const char *name;
	u32 search;
	u32 update;
	u32 insert;
	u32 modify;
	u32 scan;
	bool latest;
};

/* A, B, C, F, D, E: those that insert come last; ended by a NULL name */
extern const struct mix mixes[];

/**
 * mix_zipf() - draw keys from the first @keys ones by Zipf's distribution
 * @to: out: @n keys
 * @n: number of draws
 * @keys: number of keys
 * @theta: the skew, above 0 and below 1
 * @seed: of the random numbers
 */
void mix_zipf(u64 *to, u64 n, u64 keys, double theta, u64 seed);

/**
 * mix_fill() - @n operations of a mix for one thread
 * @mix: the mix
 * @ops: out: operations
 * @to: out: their keys
 * @n: number of operations
 * @keys: the first @keys keys are present
 * @fresh: number of the first key for its inserts, which are at most @n
 */
void mix_fill(const struct mix *mix, u8 *ops, u64 *to, u64 n, u64 keys, u64 fresh);

#endif /* CRAB_BENCH_MIX_H */
