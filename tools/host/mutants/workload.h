/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the workloads of the kill matrix. The drivers of the engines name them, the
 * cheapest first.
 */
#ifndef CRAB_HOST_WORKLOAD_H
#define CRAB_HOST_WORKLOAD_H

#include "crash.h"

#define WORKLOADS_MAX	96

/**
 * struct workload - operations on a small store, each cut everywhere
 * @name: of the kill matrix
 * @setup: store. Sorted: the slots in use are one more than a multiple of four, so that a full
 *	leaf ends with its cache line, as it does where all slots are in use
 * @steps: operations
 * @leaves: of the pool; 0: 10
 * @format_every: operations from one FORMAT to the next; 0: 128
 * @depth: power cuts in a row; 0: 1
 * @often: an operation that is chosen more often
 * @often_every: operations from one to the next; 0: it is not
 * @batch: operations of a batch at most, cut at every store, while some leaves are locked; 0:
 *	there are no batches
 * @space: a state space that is closed instead of the operations: of blobs, whose words and bytes
 *	are then damaged, one bit at a time
 * @damage: the store's sealed words are then damaged, one at a time: attach must report it, no
 *	record may be denied, and nothing may be written
 */
struct workload {
	const char *name;
	struct crash_setup setup;
	u32 steps;
	u32 leaves;
	u32 format_every;
	u32 depth;
	enum crash_verb often;
	u32 often_every;
	u32 batch;
	bool damage;
	const char *space;
};

/* The workloads of all engines, by number; filled by workloads_init() */
extern const struct workload *workloads[WORKLOADS_MAX];
extern u32 workloads_count;

/* Collects the workloads of all drivers */
void workloads_init(void);

enum workload_end {
	WORKLOAD_SOUND,
	WORKLOAD_FOUND,		/* something is wrong */
	WORKLOAD_GAVE_UP,	/* too much to try */
};

/**
 * workload_run() - run a workload
 * @workload: the workload
 * @said: out: CRASH_SAID bytes, the first finding, or ""
 *
 * Return: how it ended.
 */
enum workload_end workload_run(const struct workload *workload, char *said);

#endif /* CRAB_HOST_WORKLOAD_H */
