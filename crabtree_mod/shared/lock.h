/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the locks that one function takes and another one releases.
 *
 * Layer L3: it includes media/ only; engines/, store/ and tests include it.
 *
 * Invariant: lockdep and sparse see each of them. A function that takes or releases one for its
 * caller has __acquires() or __releases(); one that is called under a lock has __must_hold() or
 * crab_lock_assert().
 */
#ifndef CRABTREE_LOCK_H
#define CRABTREE_LOCK_H

#include <linux/lockdep.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "media/hooks.h"

/**
 * crab_rcu_enter() - begin an RCU read-side section
 * Context: any.
 */
static inline void crab_rcu_enter(void)
	__acquires(RCU)
{
	if (CRAB_ALONE)
		__acquire(RCU);
	else
		rcu_read_lock();
}

/**
 * crab_rcu_leave() - end the section of crab_rcu_enter()
 * Context: RCU read-side section.
 */
static inline void crab_rcu_leave(void)
	__releases(RCU)
{
	if (CRAB_ALONE)
		__release(RCU);
	else
		rcu_read_unlock();
}

/**
 * crab_lock() - take a spinlock
 * @lock: the lock
 * Context: any; atomic until crab_unlock().
 */
static inline void crab_lock(spinlock_t *lock)
	__acquires(lock)
{
	if (CRAB_ALONE)
		__acquire(lock);
	else
		spin_lock(lock);
}

/**
 * crab_lock_nested() - take a second spinlock of the same kind
 * @lock: the lock
 * Context: as crab_lock(); the caller holds the first one.
 */
static inline void crab_lock_nested(spinlock_t *lock)
	__acquires(lock)
{
	if (CRAB_ALONE)
		__acquire(lock);
	else
		spin_lock_nested(lock, SINGLE_DEPTH_NESTING);
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
		return __cond_lock(lock, true);
	return spin_trylock(lock);
}

/**
 * crab_unlock() - release a spinlock
 * @lock: the lock
 * Context: the caller holds the lock.
 */
static inline void crab_unlock(spinlock_t *lock)
	__releases(lock)
{
	if (CRAB_ALONE)
		__release(lock);
	else
		spin_unlock(lock);
}

/**
 * crab_lock_assert() - state that the caller holds a spinlock; lockdep verifies it
 * @lock: the lock
 * Context: the caller holds the lock.
 */
static inline void crab_lock_assert(const spinlock_t *lock)
{
	if (!CRAB_ALONE)
		lockdep_assert_held(lock);
}

#endif /* CRABTREE_LOCK_H */
