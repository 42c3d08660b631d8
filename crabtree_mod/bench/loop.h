/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the loop of the benchmark over a store, for the kernel and
 * for user space.
 */
#ifndef CRABTREE_BENCH_LOOP_H
#define CRABTREE_BENCH_LOOP_H

#include <linux/align.h>
#include <linux/gfp.h>
#include <linux/mutex.h>

#include "store/store.h"
#include "work.h"

/**
 * struct crab_bench - a measured store
 * @store: attached with crab_bench_kick() and this as its argument
 * @clock: returns nanoseconds of the caller's clock
 * @kicked: crab_store_maintain() has work
 * @preparing: held by the thread that does this work
 */
struct crab_bench {
	struct crab_store *store;
	u64 (*clock)(void);
	bool kicked;
	struct mutex preparing;
};

/**
 * crab_bench_kick() - note that maintenance is due, for struct crab_attach_options
 * @bench: the struct crab_bench
 *
 * Context: any.
 */
void crab_bench_kick(void *bench);

/**
 * crab_bench_run() - execute all operations of a work
 * @bench: the store
 * @work: the operations
 *
 * The module leaves the preparation and the merging of leaves to a worker. Here the calling thread
 * does it when it is due, and times it separately.
 *
 * Context: may sleep; several threads may run concurrently, each with its own @work.
 * Return: 0, or the first error; -EIO for a value that was not stored.
 */
int crab_bench_run(struct crab_bench *bench, struct crab_bench_work *work);

/**
 * struct crab_bench_phase - one kind of operation on many keys
 * @name: name of the operation
 * @op: the operation
 * @part: one in @part keys takes part
 */
struct crab_bench_phase {
	const char *name;
	enum crab_bench_op op;
	u32 part;
};

/* Insert all; search, update, scan, delete, each in a different order; ended by a NULL name */
extern const struct crab_bench_phase crab_bench_phases[];

/**
 * crab_bench_order() - order the keys of a phase
 * @keys: out for the first phase; then the keys of the previous phase, in and out
 * @n: number of keys
 * @phase: index of the phase in crab_bench_phases
 *
 * Context: any.
 */
void crab_bench_order(u64 *keys, u64 n, u32 phase);

/**
 * crab_bench_region_bytes() - room for keys in leaves that are half full, and some more
 * @engine: name of the engine
 * @layout: name of its layout
 * @n: number of keys
 * @leaf_bytes: size of a leaf; 0: as FORMAT chooses it
 * Context: any.
 * Return: size of the region, in bytes.
 */
static inline u64 crab_bench_region_bytes(const char *engine, const char *layout, u64 n,
					  u32 leaf_bytes)
{
	const struct crab_layout *of = crab_layout_by_name(crab_engine_by_name(engine), layout);
	u32 bytes = leaf_bytes ?: of->leaf_large ?: of->leaf_default;
	u64 leaves = n * 2 / (of->records(bytes) - 1) + 64;
	u64 area = of->before_pool ? of->before_pool(leaves, bytes) : 0;

	return ALIGN(leaves * bytes + area, PAGE_SIZE) + (4 << 20);
}

#endif /* CRABTREE_BENCH_LOOP_H */
