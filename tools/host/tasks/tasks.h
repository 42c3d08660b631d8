/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares tasks: threads of which one runs at a time, and which change places
 * as a seed determines. So the same seed gives the same run, and all of them can be
 * stopped in the middle.
 *
 * A task may lose its turn at every READ_ONCE(), WRITE_ONCE(), acquire and release, that is at
 * every access of the media, and at locks and fences. Its view of memory is sequentially
 * consistent: reordering is for ThreadSanitizer and the litmus tests. The rest is as the kernel has
 * it: a task that waits for a lock lets others run, a spinlock is not taken twice, nothing sleeps
 * with one held or in an RCU section, and objects passed to kfree_rcu() are freed at the first
 * permitted time, for AddressSanitizer to see.
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
 * struct tasks_plan - how they change places
 * @seed: of everything; not 0
 * @pace: places that a task passes before it loses its turn, about
 * @turn: called with the task that runs from now on, 0 is the first; or NULL
 * @arg: for @turn
 */
struct tasks_plan {
	u64 seed;
	u32 pace;
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
 * @plan: when they change places
 *
 * Return: how the run ended.
 */
enum tasks_end tasks_run(const struct tasks_plan *plan);

/**
 * tasks_cut() - from within a task: stop all of them soon
 * @places: that they pass until then
 * @stall: this one passes none of them, while others can
 */
void tasks_cut(u32 places, bool stall);

#endif /* CRAB_HOST_TASKS_H */
