// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements tasks: the choice of the task that runs, and the shims of locks and
 * RCU for tasks.
 *
 * Invariants: outside tasks_run() there is one task, the program, which never waits. A task
 * loses its turn only at a place where a thread can lose its CPU. An object passed to
 * kfree_rcu() is freed as soon as all sections that began before the call have ended.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <linux/bug.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "tasks.h"
#include "tests/rng.h"

#define TASK_STACK	(256UL << 10)
#define TASK_PATIENCE	100000	/* consecutive turns in which all tasks only waited */
#define TASK_ENDLESS	3000000	/* places; more: some tasks wait for ever while others run */
#define TASK_PARKED	5	/* factor of it while the first task is parked: the index does not follow */
#define TASK_STALL	16	/* one of this many turns begins a stall */

/**
 * struct task - a task
 * @run: its function
 * @arg: for @run
 * @context: its registers, while it does not have the turn
 * @stack: its stack
 * @ended: it has returned
 * @spins: spinlocks that it holds
 * @sections: number of nested RCU sections that it is in
 * @since: when the outermost section began
 * @places: places that it has passed in its turns that are over
 */
struct task {
	void (*run)(void *arg);
	void *arg;
	ucontext_t context;
	u8 *stack;
	bool ended;
	u32 spins;
	u32 sections;
	u64 since;
	u64 places;
};

/* An object that waits for a grace period */
struct later {
	struct later *next;
	const void *p;
	u64 since;
};

/* The last one is the program itself */
static struct task tasks[TASKS + 1];
static u32 count, self = TASKS, alive;
static u64 seed, limit, passed, waited;
static u32 stalled, stall_turns;
static bool parked;			/* the first task is */
static const struct tasks_plan *plan;
static enum tasks_end ending;
static struct later *later_first, **later_last = &later_first;
static u64 sections_begun;

/* Places until the next turn, and the value of this counter at the begin of the turn */
long crab_task_left = LONG_MAX;
static long turn_length = LONG_MAX;

/* The program must announce each change of the stack to AddressSanitizer */

#ifdef __SANITIZE_ADDRESS__

#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

static const void *program_stack;
static size_t program_stack_size;

static void *stack_kept[TASKS + 1];

static void stack_leave(u32 to, bool for_good)
{
	bool home = to == TASKS;

	__sanitizer_start_switch_fiber(for_good ? NULL : &stack_kept[self],
				       home ? program_stack : tasks[to].stack,
				       home ? program_stack_size : TASK_STACK);
}

static void stack_enter(void)
{
	const void *stack;
	size_t size;

	__sanitizer_finish_switch_fiber(stack_kept[self], &stack, &size);
	stack_kept[self] = NULL;
	if (!program_stack) {
		program_stack = stack;
		program_stack_size = size;
	}
}

static void stack_renew(struct task *task)
{
	__asan_unpoison_memory_region(task->stack, TASK_STACK);
}

#else

static void stack_leave(u32 to, bool for_good)	{ }
static void stack_enter(void)			{ }
static void stack_renew(struct task *task)	{ }

#endif

/* Turns */

static void turn_begin(void)
{
	if (self == TASKS) {
		crab_task_left = LONG_MAX;
		return;
	}
	turn_length = plan->park && !parked && !self ? plan->park : 1 + rng_below(&seed, 2 * plan->pace);
	if (limit)
		turn_length = clamp_t(long, limit - passed, 1, turn_length);
	crab_task_left = turn_length;
	if (plan->turn)
		plan->turn(plan->arg, self);
}

/* Adds the places that the task has passed in this turn */
static void turn_count(void)
{
	passed += turn_length - crab_task_left;
	tasks[self].places += turn_length - crab_task_left;
	turn_length = crab_task_left;
}

static void turn_give(u32 to, bool for_good)
{
	u32 from = self;

	stack_leave(to, for_good);
	self = to;
	swapcontext(&tasks[from].context, &tasks[to].context);
	stack_enter();
	turn_begin();
}

/*
 * A task that has not ended, other than @but if possible; sometimes one task is stalled. The parked
 * one is not chosen while there are others.
 */
static u32 turn_next(u32 but)
{
	bool keeps = parked && !tasks[0].ended && alive > 1;
	u32 next, others = alive - keeps;

	if (stall_turns) {
		stall_turns--;
	} else if (!rng_below(&seed, TASK_STALL)) {
		stalled = rng_below(&seed, count);
		stall_turns = rng_below(&seed, 8 * TASK_STALL);
	}
	do {
		next = rng_below(&seed, count);
	} while (tasks[next].ended || (keeps && !next) || (next == but && others > 2) ||
		 (next == stalled && stall_turns && others > 1));
	return next;
}

static void turn_stop(enum tasks_end end)
{
	ending = end;
	turn_give(TASKS, true);
}

/* The turn is over, unless it goes to the same task again */
static void turn_over(u32 but)
{
	u32 next;

	turn_count();
	turn_length = 0;
	crab_task_left = 0;
	parked |= plan->park && !self;
	if (limit && passed >= limit)
		turn_stop(TASKS_CUT);
	if (passed > TASK_ENDLESS * (plan->park ? TASK_PARKED : 1))
		turn_stop(TASKS_STUCK);
	next = turn_next(but);
	if (next != self)
		turn_give(next, false);
	else
		turn_begin();
}

void crab_task_switch(void)
{
	if (self == TASKS) {
		crab_task_left = LONG_MAX;
		return;
	}
	waited = 0;
	turn_over(TASKS);
}

void crab_task_wait(void)
{
	BUG_ON(self == TASKS);
	passed++;
	tasks[self].places++;
	if (++waited > TASK_PATIENCE)
		turn_stop(TASKS_STUCK);
	turn_over(self);
}

static void task_begin(void)
{
	struct task *task = &tasks[self];

	stack_enter();
	turn_begin();
	task->run(task->arg);
	BUG_ON(task->spins || task->sections);
	task->ended = true;
	turn_count();
	turn_length = 0;
	if (!--alive)
		turn_stop(TASKS_DONE);
	turn_give(turn_next(TASKS), true);
}

void tasks_add(void (*run)(void *arg), void *arg)
{
	struct task *task = &tasks[count];

	BUG_ON(count == TASKS);
	*task = (struct task) { .run = run, .arg = arg, .stack = task->stack };
	if (!task->stack)
		task->stack = aligned_alloc(4096, TASK_STACK);
	stack_renew(task);
	getcontext(&task->context);
	task->context.uc_stack.ss_sp = task->stack;
	task->context.uc_stack.ss_size = TASK_STACK;
	makecontext(&task->context, task_begin, 0);
	count++;
}

static void later_forget(void)
{
	struct later *later;

	while ((later = later_first)) {
		later_first = later->next;
		free(later);
	}
	later_last = &later_first;
}

enum tasks_end tasks_run(const struct tasks_plan *how)
{
	plan = how;
	seed = how->seed;
	limit = 0;
	passed = 0;
	waited = 0;
	stall_turns = 0;
	parked = false;
	alive = count;
	turn_give(how->park ? 0 : turn_next(TASKS), false);
	if (ending != TASKS_DONE)
		later_forget();		/* with the memory that it was to free */
	while (count) {
		tasks[--count].sections = 0;
		tasks[count].spins = 0;
	}
	return ending;
}

bool tasks_parked(void)
{
	return parked;
}

bool tasks_parked_reads(void)
{
	return parked && tasks[0].sections;
}

u64 tasks_places(void)
{
	return tasks[self].places + turn_length - crab_task_left;
}

void tasks_cut(u32 places, bool stall)
{
	turn_count();
	limit = passed + places;
	turn_begin();
	if (stall) {
		stalled = self;
		stall_turns = U32_MAX;
		crab_task_left = turn_length = 1;
	}
}

/* Functions that the shims call */

unsigned int crab_host_this_cpu(void)
{
	return self;
}

void crab_task_may_sleep(void)
{
	BUG_ON(tasks[self].spins || tasks[self].sections);
}

bool crab_task_holds(const unsigned int *held)
{
	return *held == self + 1;
}

static bool lock_try(u32 *held)
{
	BUG_ON(*held == self + 1);
	if (*held)
		return false;
	*held = self + 1;
	return true;
}

static void lock_release(u32 *held)
{
	BUG_ON(*held != self + 1);
	*held = 0;
	crab_task_point();
}

static void lock_take(u32 *held)
{
	crab_task_point();
	while (!lock_try(held))
		crab_task_wait();
}

void crab_task_spin_lock(u32 *held)
{
	lock_take(held);
	tasks[self].spins++;
}

bool crab_task_spin_trylock(u32 *held)
{
	bool got;

	crab_task_point();
	got = lock_try(held);
	tasks[self].spins += got;
	return got;
}

void crab_task_spin_unlock(u32 *held)
{
	tasks[self].spins--;
	lock_release(held);
}

void crab_task_mutex_lock(u32 *held)
{
	crab_task_may_sleep();
	lock_take(held);
}

bool crab_task_mutex_trylock(u32 *held)
{
	crab_task_point();
	return lock_try(held);
}

void crab_task_mutex_unlock(u32 *held)
{
	lock_release(held);
}

/* RCU */

/* Has every section that began before @since ended? */
static bool grace_passed(u64 since)
{
	u32 i;

	for (i = 0; i <= TASKS; i++)
		if (tasks[i].sections && tasks[i].since <= since)
			return false;
	return true;
}

static void later_free(void)
{
	struct later *later;

	while ((later = later_first) && grace_passed(later->since)) {
		later_first = later->next;
		if (!later_first)
			later_last = &later_first;
		kfree(later->p);
		free(later);
	}
}

void rcu_read_lock(void)
{
	struct task *task = &tasks[self];

	if (!task->sections++)
		task->since = ++sections_begun;
	crab_task_point();
}

void rcu_read_unlock(void)
{
	BUG_ON(!tasks[self].sections);
	if (!--tasks[self].sections)
		later_free();
	crab_task_point();
}

bool rcu_read_lock_held(void)
{
	return tasks[self].sections;
}

unsigned long start_poll_synchronize_rcu(void)
{
	return sections_begun;
}

bool poll_state_synchronize_rcu(unsigned long cookie)
{
	return grace_passed(cookie);
}

void synchronize_rcu(void)
{
	u64 since = sections_begun;

	crab_task_may_sleep();
	while (!grace_passed(since))
		crab_task_wait();
}

void crab_task_free_later(const void *p)
{
	struct later *later = malloc(sizeof(*later));

	*later = (struct later) { .p = p, .since = sections_begun };
	*later_last = later;
	later_last = &later->next;
	later_free();
}
