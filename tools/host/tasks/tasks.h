/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares tasks: threads of which one runs at a time. A seed determines when
 * another one runs. The same seed therefore repeats the same run, and all tasks can be
 * stopped at any place.
 *
 * A task may lose its turn at every READ_ONCE(), WRITE_ONCE(), acquire and release, that is at
 * every access of the media, and at locks and fences. Its view of memory is sequentially
 * consistent: ThreadSanitizer and the litmus tests test reordering. The other rules are the
 * kernel's: a task that waits for a lock lets others run, no task takes a spinlock twice, and none
 * sleeps with a spinlock held or in an RCU section. Objects passed to kfree_rcu() are freed at the
 * first permitted time, so that AddressSanitizer detects a later use.
 */
#ifndef CRAB_HOST_TASKS_H
#define CRAB_HOST_TASKS_H

#include <linux/types.h>

#define TASKS		8	/* at most */

enum tasks_end {
	TASKS_DONE,		/* all have returned */
	TASKS_CUT,		/* they were stopped */
	TASKS_STUCK,		/* some wait for ever */
};

/**
 * struct tasks_plan - how the tasks alternate
 * @seed: of all choices; not 0
 * @pace: average number of places that a task passes before it loses its turn
 * @park: the first task passes this many places before any other one runs, and then none until all
 *	others have ended; 0: it is like the others
 * @turn: called with the task that runs from now on, 0 is the first; or NULL
 * @arg: for @turn
 */
struct tasks_plan {
	u64 seed;
	u32 pace;
	u32 park;
	void (*turn)(void *arg, u32 task);
	void *arg;
};

/**
 * tasks_add() - add a task to the next run; tasks are numbered from 0 in this order
 * @run: function of the task
 * @arg: its argument
 */
void tasks_add(void (*run)(void *arg), void *arg);

/**
 * tasks_run() - run the added tasks to their end or until tasks_cut() stops them
 * @plan: how they alternate
 *
 * Return: how the run ended.
 */
enum tasks_end tasks_run(const struct tasks_plan *plan);

/**
 * tasks_parked() - whether the first task of the run was parked before it ended
 *
 * Return: true if so.
 */
bool tasks_parked(void);

/**
 * tasks_parked_reads() - whether the parked task is in an RCU section
 *
 * Return: true if so.
 */
bool tasks_parked_reads(void);

/**
 * tasks_places() - the places that the calling task has passed in this run
 *
 * Return: their number. A wait is one.
 */
u64 tasks_places(void);

/**
 * tasks_cut() - from within a task: stop all of them soon
 * @places: number of places that they pass until then
 * @stall: the calling task passes none of them, as long as others can run
 */
void tasks_cut(u32 places, bool stall);

#endif /* CRAB_HOST_TASKS_H */
