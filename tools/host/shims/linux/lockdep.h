/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_LOCKDEP_H
#define CRAB_SHIM_LINUX_LOCKDEP_H

/* Every lock of the shims has a flag @held; @dep_map is another name of it */
#include <linux/bug.h>
#include <linux/types.h>

struct lockdep_map {
	u32 held;
};

#define CRAB_HOST_HELD			\
	union {				\
		u32 held;		\
		struct lockdep_map dep_map; \
	}

#define SINGLE_DEPTH_NESTING		1

/* Not in measurements, as in a kernel without lockdep */
#ifdef NDEBUG
#define crab_host_assert(cond)		((void)0)
#else
#define crab_host_assert(cond)		BUG_ON(!(cond))
#endif

#ifdef CRABTREE_HOST_TASKS
bool crab_task_holds(const unsigned int *held);
#define lock_is_held(map)		crab_task_holds(&(map)->held)
#elif defined(NDEBUG)
#define lockdep_assert_held(l)		((void)(l))
#else
#define lock_is_held(map)		READ_ONCE((map)->held)
#endif
#ifdef lock_is_held
#define CONFIG_LOCKDEP
#define lockdep_assert_held(l)		BUG_ON(!lock_is_held(&(l)->dep_map))
#endif

#ifdef CRABTREE_HOST_TASKS
void crab_task_may_sleep(void);
#define might_sleep()			crab_task_may_sleep()
#else
/* Does nothing; a program can replace it with the linker's --wrap */
void crab_host_may_sleep(void);
#define might_sleep()			crab_host_may_sleep()
#endif

/* With one thread a lock must be free when it is taken and held when it is released */
#define crab_host_take(l)							\
	do {									\
		BUG_ON((l)->held);						\
		(l)->held = 1;							\
	} while (0)

#define crab_host_release(l)							\
	do {									\
		BUG_ON(!(l)->held);						\
		(l)->held = 0;							\
	} while (0)

#define crab_host_try(l)	(!(l)->held && !crab_host_is_taken() && ((l)->held = 1))

/* One of this many tries fails, as if another thread held the lock; 0: none */
extern u32 crab_host_contended;

bool crab_host_is_taken(void);

#endif /* CRAB_SHIM_LINUX_LOCKDEP_H */
