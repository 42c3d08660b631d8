/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_SPINLOCK_H
#define CRAB_SHIM_LINUX_SPINLOCK_H

#include <pthread.h>
#include <linux/lockdep.h>

typedef struct spinlock {
	pthread_mutex_t lock;
} spinlock_t;

#define DEFINE_SPINLOCK(x)	spinlock_t x = { PTHREAD_MUTEX_INITIALIZER }
#define spin_lock_init(l)	pthread_mutex_init(&(l)->lock, NULL)
#define spin_lock(l)		pthread_mutex_lock(&(l)->lock)
#define spin_trylock(l)		(!pthread_mutex_trylock(&(l)->lock))
#define spin_unlock(l)		pthread_mutex_unlock(&(l)->lock)
#define spin_lock_irqsave(l, f)	do { (f) = 0; spin_lock(l); } while (0)
#define spin_unlock_irqrestore(l, f)	do { (void)(f); spin_unlock(l); } while (0)

#endif /* CRAB_SHIM_LINUX_SPINLOCK_H */
