/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the locks that one function takes and another one releases.
 *
 * Invariant: lockdep sees each of them. Sparse does not: it counts within one function.
 */
#ifndef CRABTREE_ENGINES_CRAB_LOCK_H
#define CRABTREE_ENGINES_CRAB_LOCK_H

#include <linux/rcupdate.h>
#include <linux/spinlock.h>

static inline void crab_rcu_enter(void)
{
	if (CRAB_ALONE)
		return;
	rcu_read_lock();
	__release(RCU);
}

static inline void crab_rcu_leave(void)
{
	if (CRAB_ALONE)
		return;
	__acquire(RCU);
	rcu_read_unlock();
}

static inline void crab_lock(spinlock_t *lock)
{
	if (CRAB_ALONE)
		return;
	spin_lock(lock);
	__release(lock);
}

/* The second lock of a leaf */
static inline void crab_lock_nested(spinlock_t *lock)
{
	if (CRAB_ALONE)
		return;
	spin_lock_nested(lock, SINGLE_DEPTH_NESTING);
	__release(lock);
}

static inline bool crab_trylock(spinlock_t *lock)
{
	if (CRAB_ALONE)
		return true;
	if (!spin_trylock(lock))
		return false;
	__release(lock);
	return true;
}

static inline void crab_unlock(spinlock_t *lock)
{
	if (CRAB_ALONE)
		return;
	__acquire(lock);
	spin_unlock(lock);
}

#endif /* CRABTREE_ENGINES_CRAB_LOCK_H */
