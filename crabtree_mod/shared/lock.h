/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the locks that one function takes and another one releases.
 *
 * Invariant: lockdep sees each of them. Sparse does not: it counts within one function.
 */
#ifndef CRABTREE_LOCK_H
#define CRABTREE_LOCK_H

#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "media/hooks.h"

/**
 * crab_rcu_enter() - begin an RCU read-side section
 * Context: any.
 */
static inline void crab_rcu_enter(void)
{
	if (CRAB_ALONE)
		return;
	rcu_read_lock();
	__release(RCU);
}

/**
 * crab_rcu_leave() - end the section of crab_rcu_enter()
 * Context: RCU read-side section.
 */
static inline void crab_rcu_leave(void)
{
	if (CRAB_ALONE)
		return;
	__acquire(RCU);
	rcu_read_unlock();
}

/**
 * crab_lock() - take a spinlock
 * @lock: the lock
 * Context: any; atomic until crab_unlock().
 */
static inline void crab_lock(spinlock_t *lock)
{
	if (CRAB_ALONE)
		return;
	spin_lock(lock);
	__release(lock);
}

/**
 * crab_lock_nested() - take a second spinlock of the same kind
 * @lock: the lock
 * Context: as crab_lock(); the caller holds the first one.
 */
static inline void crab_lock_nested(spinlock_t *lock)
{
	if (CRAB_ALONE)
		return;
	spin_lock_nested(lock, SINGLE_DEPTH_NESTING);
	__release(lock);
}

/**
 * crab_trylock() - take a spinlock if it is free
 * @lock: the lock
 * Context: as crab_lock().
 * Return: true if the caller holds the lock.
 */
static inline bool crab_trylock(spinlock_t *lock)
{
	if (CRAB_ALONE)
		return true;
	if (!spin_trylock(lock))
		return false;
	__release(lock);
	return true;
}

/**
 * crab_unlock() - release a spinlock
 * @lock: the lock
 * Context: the caller holds the lock.
 */
static inline void crab_unlock(spinlock_t *lock)
{
	if (CRAB_ALONE)
		return;
	__acquire(lock);
	spin_unlock(lock);
}

#endif /* CRABTREE_LOCK_H */
