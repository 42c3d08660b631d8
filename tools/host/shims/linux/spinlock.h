/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_SPINLOCK_H
#define CRAB_SHIM_LINUX_SPINLOCK_H

/*
 * Spinlocks. With several threads: test, test and set, and after some time yield the CPU.
 * With one thread: a flag; waiting for it is a deadlock. For tasks see tasks.c.
 */
#include <asm/processor.h>
#include <linux/lockdep.h>
#include <linux/types.h>

typedef struct spinlock {
	CRAB_HOST_HELD;
} spinlock_t;

#define spin_lock_init(l)	((l)->held = 0)

#ifdef CRABTREE_HOST_THREADS

static inline bool spin_trylock(spinlock_t *lock)
{
	return !READ_ONCE(lock->held) && !__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE);
}

static inline void spin_lock(spinlock_t *lock)
{
	u32 turns = 0;

	while (unlikely(__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE)))
		while (READ_ONCE(lock->held))
			crab_host_turn(&turns);
}

static inline void spin_unlock(spinlock_t *lock)
{
	__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

#elif defined(CRABTREE_HOST_TASKS)

void crab_task_spin_lock(u32 *held);
bool crab_task_spin_trylock(u32 *held);
void crab_task_spin_unlock(u32 *held);

#define spin_lock(l)		crab_task_spin_lock(&(l)->held)
#define spin_trylock(l)		crab_task_spin_trylock(&(l)->held)
#define spin_unlock(l)		crab_task_spin_unlock(&(l)->held)

#else

#define spin_lock(l)		crab_host_take(l)
#define spin_trylock(l)		crab_host_try(l)
#define spin_unlock(l)		crab_host_release(l)

#endif

#define spin_lock_nested(l, subclass)	spin_lock(l)

#endif /* CRAB_SHIM_LINUX_SPINLOCK_H */
