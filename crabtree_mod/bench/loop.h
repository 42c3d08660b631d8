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
 * struct crab_bench - a store that is measured
 * @store: attached with crab_bench_kick() and this as its argument
 * @clock: nanoseconds, of the kind that the caller measures by
 * @kicked: crab_store_maintain() has work
 * @preparing: who does that work
 */
struct crab_bench {
	struct crab_store *store;
	u64 (*clock)(void);
	bool kicked;
	struct mutex preparing;
};

/** crab_bench_kick() - for crab_attach_options */
void crab_bench_kick(void *bench);

/**
 * crab_bench_run() - do all of a work
 * @bench: the store
 * @work: what
 *
 * What the module leaves to a worker, leaves to prepare or to merge, is done in the
 * calling thread when it is due, and timed apart.
 *
 * Context: may sleep; several threads side by side, each with a work of its own.
 * Return: 0, or the first error; -EIO for a value that was not stored.
 */
int crab_bench_run(struct crab_bench *bench, struct crab_bench_work *work);

/**
 * struct crab_bench_phase - one kind of operation on many keys
 * @name: of the operation
 * @op: ...
 * @part: it takes one key in so many
 */
struct crab_bench_phase {
	const char *name;
	enum crab_bench_op op;
	u32 part;
};

/* Insert all; search, update, scan, delete, each in an order of its own; ended by a NULL name */
extern const struct crab_bench_phase crab_bench_phases[];

/**
 * crab_bench_order() - the keys of one of these phases
 * @keys: out for the first phase; then as the phase before left them
 * @n: how many
 * @phase: its place in crab_bench_phases
 */
void crab_bench_order(u64 *keys, u64 n, u32 phase);

/** crab_bench_region_bytes() - room for @n keys in leaves that are half full, and some more */
static inline u64 crab_bench_region_bytes(u64 n, u32 leaf_bytes)
{
	return ALIGN((n * 2 / (crab_leaf_slots(leaf_bytes) - 1) + 64) * leaf_bytes, PAGE_SIZE) +
	       (4 << 20);
}

#endif /* CRABTREE_BENCH_LOOP_H */
