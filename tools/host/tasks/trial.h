/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares trials: actors act as tasks on a store, the power is cut at some place of
 * their operations, and the real attach recovers the store; this repeats. The results before a cut
 * and the content after it are checked together.
 */
#ifndef CRAB_HOST_TRIAL_H
#define CRAB_HOST_TRIAL_H

#include "linear.h"
#include "subject.h"
#include "tasks.h"

#define TRIAL_SAID	256

/**
 * struct trial_totals - sums over trials
 * @counts: of the checker
 * @lives: number of runs of actors, each after an attach
 * @cuts: cuts among actors
 * @survived: cuts after which the caches survived, including cuts of an attach
 * @recoveries_cut: power cuts during an attach
 * @repairs: slots that attaches completed
 * @full: results ENOSPC
 * @splits: of leaves, in runs without a cut
 * @unlinks: the same
 * @snaps: snapshots that were read
 * @stale: those that ended early
 */
struct trial_totals {
	struct linear_counts counts;
	u64 lives;
	u64 cuts;
	u64 survived;
	u64 recoveries_cut;
	u64 repairs;
	u64 full;
	u64 splits;
	u64 unlinks;
	u64 snaps;
	u64 stale;
};

/**
 * trial_run() - run one store with its cuts; the same seed repeats the same run
 * @subject: kind of store
 * @seed: of all choices
 * @totals: added to
 * @why: file for operations without an explanation
 * @directory: directory for such a history, or NULL
 *
 * Return: NULL, or the error, valid until the next call.
 */
const char *trial_run(const struct subject *subject, u64 seed, struct trial_totals *totals,
		      FILE *why, const char *directory);

/**
 * struct trial_parked - a task that is parked within a write, while others use the store
 * @prepare: makes the content before the tasks run
 * @look: called when the task is parked, or has ended before; no place may be passed in it
 * @verb: its write
 * @key: number of the key
 * @from: the others use the keys from this number on
 * @place: the task passes this many places before all others
 * @ops: operations of one key of each other task
 * @cut: the power is cut when the others have ended; otherwise the task goes on then
 * @seen: out: it was parked, and not at the end of its write
 * @end: out: how the tasks ended
 * @done: out: operations of one key by the others
 * @most: out: highest number of places that one of these operations passed
 */
struct trial_parked {
	void (*prepare)(struct trial_parked *parked, struct crab_store *store, const u64 *keys);
	void (*look)(struct trial_parked *parked, struct crab_engine *engine);
	enum history_verb verb;
	u32 key;
	u32 from;
	u32 place;
	u32 ops;
	bool cut;
	bool seen;
	enum tasks_end end;
	u64 done;
	u64 most;
};

/**
 * trial_park() - run one store with a parked task, and judge the history
 * @subject: kind of store; the first of its threads is parked
 * @seed: of all choices
 * @parked: the task; its out fields are added to
 * @why: file for operations without an explanation
 *
 * Return: NULL, or the error, valid until the next call.
 */
const char *trial_park(const struct subject *subject, u64 seed, struct trial_parked *parked,
		       FILE *why);

/**
 * trial_fits() - test whether a store survives a power cut
 * @subject: kind of the store
 *
 * Return: true if it does.
 */
bool trial_fits(const struct subject *subject);

/**
 * trial_where() - describe the current run: seed, subject, number of the run
 *
 * Return: one line, valid until the next call.
 */
const char *trial_where(void);

#endif /* CRAB_HOST_TRIAL_H */
