/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_MUTEX_H
#define CRAB_SHIM_LINUX_MUTEX_H

/* With one thread: a flag; waiting for it is a deadlock */
#include <pthread.h>
#include <asm/processor.h>
#include <linux/lockdep.h>
#include <linux/types.h>

struct mutex {
#ifdef CRABTREE_HOST_THREADS
	pthread_mutex_t lock;
#endif
	CRAB_HOST_HELD;
};

#define mutex_lock_killable(l)	({ mutex_lock(l); 0; })

/* Around a wait for a lock: a grace period does not wait for a task that sleeps */
#ifdef CRABTREE_HOST_QSBR
void crab_host_sleeps(void);
void crab_host_wakes(void);
#else
#define crab_host_sleeps()	((void)0)
#define crab_host_wakes()	((void)0)
#endif

#ifdef CRABTREE_HOST_THREADS

#define DEFINE_MUTEX(x)		struct mutex x = { .lock = PTHREAD_MUTEX_INITIALIZER }

static inline void mutex_init(struct mutex *mutex)
{
	*mutex = (struct mutex) { .lock = PTHREAD_MUTEX_INITIALIZER };
}

static inline bool mutex_trylock(struct mutex *mutex)
{
	if (pthread_mutex_trylock(&mutex->lock))
		return false;
	WRITE_ONCE(mutex->held, 1);
	return true;
}

/* Like a kernel's: it spins for some time, because the owner may unlock soon, and then sleeps */
static inline void mutex_lock(struct mutex *mutex)
{
	u32 spins;

	for (spins = 0; spins < 1000; spins++) {
		if (mutex_trylock(mutex))
			return;
		cpu_relax();
	}
	crab_host_sleeps();
	pthread_mutex_lock(&mutex->lock);
	crab_host_wakes();
	WRITE_ONCE(mutex->held, 1);
}

static inline void mutex_unlock(struct mutex *mutex)
{
	WRITE_ONCE(mutex->held, 0);
	pthread_mutex_unlock(&mutex->lock);
}

#else

#define DEFINE_MUTEX(x)		struct mutex x = { 0 }
#define mutex_init(l)		((l)->held = 0)

#ifdef CRABTREE_HOST_TASKS

void crab_task_mutex_lock(u32 *held);
bool crab_task_mutex_trylock(u32 *held);
void crab_task_mutex_unlock(u32 *held);

#define mutex_lock(l)		crab_task_mutex_lock(&(l)->held)
#define mutex_trylock(l)	crab_task_mutex_trylock(&(l)->held)
#define mutex_unlock(l)		crab_task_mutex_unlock(&(l)->held)

#else

#define mutex_lock(l)							\
	do {								\
		might_sleep();						\
		crab_host_take(l);					\
	} while (0)
#define mutex_trylock(l)	crab_host_try(l)
#define mutex_unlock(l)		crab_host_release(l)

#endif

#endif

/* A lock of a class of which the task holds others, under @outer */
#define mutex_lock_nest_lock(l, outer)	mutex_lock(l)

#endif /* CRAB_SHIM_LINUX_MUTEX_H */
