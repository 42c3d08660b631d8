/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the workloads that mutants are run under, the cheapest first.
 */
#ifndef CRAB_HOST_WORKLOAD_H
#define CRAB_HOST_WORKLOAD_H

#include "crash.h"

/**
 * struct workload - operations on a small store, each cut everywhere
 * @name: for people
 * @setup: of what kind
 * @leaves: how many
 * @format_every: operations from one FORMAT to the next
 * @steps: operations
 * @depth: cuts in a row
 * @often: what is done more often than it would be
 * @often_every: operations from one to the next; 0: it is not
 * @slots: of a leaf that are used; 0: all. Sorted: one more than a multiple of four: a full leaf ends
 *	with its line, as it does where all are used
 * @batch: operations of a batch at most, cut at every store, beside others who have leaves
 *	locked; 0: there is none
 * @damage: then break each link: attach must say so, deny no record, and write nothing
 */
struct workload {
	const char *name;
	struct crash_setup setup;
	u32 leaves;
	u32 format_every;
	u32 steps;
	u32 depth;
	enum crash_verb often;
	u32 often_every;
	u32 slots;
	bool damage;
	u32 batch;
};

#define WORKLOADS_MAX	24

extern const struct workload workloads[];
extern const u32 workloads_count;

enum workload_end {
	WORKLOAD_SOUND,
	WORKLOAD_FOUND,		/* something is wrong */
	WORKLOAD_GAVE_UP,	/* too much to try */
};

/** workload_run() - one of them; what was found goes to @said, CRASH_SAID bytes */
enum workload_end workload_run(const struct workload *workload, char *said);

#endif /* CRAB_HOST_WORKLOAD_H */
