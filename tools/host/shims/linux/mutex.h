/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_MUTEX_H
#define CRAB_SHIM_LINUX_MUTEX_H

#include <pthread.h>
#include <linux/lockdep.h>

struct mutex {
	pthread_mutex_t lock;
};

#define DEFINE_MUTEX(x)		struct mutex x = { PTHREAD_MUTEX_INITIALIZER }
#define mutex_init(l)		pthread_mutex_init(&(l)->lock, NULL)
#define mutex_destroy(l)	pthread_mutex_destroy(&(l)->lock)
#define mutex_lock(l)		pthread_mutex_lock(&(l)->lock)
#define mutex_lock_killable(l)	pthread_mutex_lock(&(l)->lock)
#define mutex_trylock(l)	(!pthread_mutex_trylock(&(l)->lock))
#define mutex_unlock(l)		pthread_mutex_unlock(&(l)->lock)

#endif /* CRAB_SHIM_LINUX_MUTEX_H */
