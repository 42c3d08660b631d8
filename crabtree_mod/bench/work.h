/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the operations of a benchmark on an ordered map, with keys
 * that are generated before the clock starts. The same work runs on the store in
 * the kernel (bench.c) and in user space, there with other maps too (tools/bench).
 *
 * Locking: none; a work belongs to one thread.
 */
#ifndef CRABTREE_BENCH_WORK_H
#define CRABTREE_BENCH_WORK_H

#include <linux/types.h>

#define CRAB_BENCH_SCAN		100	/* records of a scan, unless the work says how many */
#define CRAB_BENCH_BATCH	64	/* operations in a batch, at most */

enum crab_bench_op {
	CRAB_BENCH_INSERT,	/* an absent key */
	CRAB_BENCH_SEARCH,
	CRAB_BENCH_UPDATE,	/* a present key */
	CRAB_BENCH_SCAN_FULL,	/* CRAB_BENCH_SCAN records from a key on */
	CRAB_BENCH_SCAN_SOME,	/* one to CRAB_BENCH_SCAN, derived from the key */
	CRAB_BENCH_MODIFY,	/* search, then update */
	CRAB_BENCH_DELETE,
	CRAB_BENCH_OPS
};

/**
 * struct crab_bench_work - operations for one thread
 * @op: all of them, unless @ops
 * @ops: one for each key, or NULL
 * @keys: one for each operation
 * @scans: records of the scan of each operation, or NULL: at most CRAB_BENCH_SCAN, by @op
 * @n: number of keys
 * @batch: so many at a time, where the map has batches and no scans are asked for; 0 or 1:
 *	one by one
 * @prepare_ns: out: the part of the time that maintenance took
 */
struct crab_bench_work {
	enum crab_bench_op op;
	const u8 *ops;
	const u64 *keys;
	const u32 *scans;
	u64 n;
	u32 batch;
	u64 prepare_ns;
};

/* The @i-th key: a bijection, so that no key occurs twice; never the reserved key */
static inline u64 crab_bench_key(u64 i)
{
	i += 1;
	i = (i ^ i >> 31) * 0x7fb5d329728ea185ULL;
	i = (i ^ i >> 27) * 0x81dadef4bc2dd44dULL;
	i ^= i >> 33;
	return i + 1 ? i : 0;
}

#define CRAB_BENCH_VERSIONS	(1U << 16)

/* Value of a key: after an insert with @version 0, after an update with 1 to CRAB_BENCH_VERSIONS */
static inline u64 crab_bench_value(u64 key, u32 version)
{
	return ~key ^ version;
}

static inline bool crab_bench_value_ok(u64 key, u64 value)
{
	return (value ^ ~key) <= CRAB_BENCH_VERSIONS;
}

/* Records that operation @i reads, a scan of the kind @op */
static inline u32 crab_bench_scan_length(const struct crab_bench_work *work, enum crab_bench_op op,
					 u64 i)
{
	if (work->scans)
		return work->scans[i];
	return op == CRAB_BENCH_SCAN_FULL ? CRAB_BENCH_SCAN :
					    1 + (u32)work->keys[i] % CRAB_BENCH_SCAN;
}

/*
 * Expand @each(op), a loop over operations, with the kind as a constant if a phase has only one, so
 * that the loop has no branch on it. The same for all maps.
 */
#define crab_bench_each(op, each)							\
	((op) == CRAB_BENCH_INSERT ? each(CRAB_BENCH_INSERT) :				\
	 (op) == CRAB_BENCH_SEARCH ? each(CRAB_BENCH_SEARCH) :				\
	 (op) == CRAB_BENCH_UPDATE ? each(CRAB_BENCH_UPDATE) :				\
	 (op) == CRAB_BENCH_DELETE ? each(CRAB_BENCH_DELETE) : each(op))

#endif /* CRABTREE_BENCH_WORK_H */
