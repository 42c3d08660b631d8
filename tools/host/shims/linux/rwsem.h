/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_RWSEM_H
#define CRAB_SHIM_LINUX_RWSEM_H

#include <pthread.h>
#include <stdlib.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/types.h>

#ifdef CRABTREE_HOST_TASKS

/* For tasks, readers lock like writers: this is stricter and sufficient */
struct rw_semaphore {
	CRAB_HOST_HELD;
};

#define init_rwsem(l)		((l)->held = 0)
#define down_read(l)		crab_task_mutex_lock(&(l)->held)
#define down_write(l)		crab_task_mutex_lock(&(l)->held)
#define up_read(l)		crab_task_mutex_unlock(&(l)->held)
#define up_write(l)		crab_task_mutex_unlock(&(l)->held)

#else

struct rw_semaphore {
	pthread_rwlock_t lock;
	CRAB_HOST_HELD;		/* by a writer */
};

#define init_rwsem(l)		((l)->held = 0, pthread_rwlock_init(&(l)->lock, NULL))
/* A task that has the lock for writing gets an error */
#define crab_host_rwlock(kind, l)					\
	do {								\
		might_sleep();						\
		if (!pthread_rwlock_try##kind(&(l)->lock))		\
			break;						\
		crab_host_sleeps();					\
		if (pthread_rwlock_##kind(&(l)->lock))			\
			abort();					\
		crab_host_wakes();					\
	} while (0)
#define down_read(l)		crab_host_rwlock(rdlock, l)
#define down_write(l)							\
	do {								\
		crab_host_rwlock(wrlock, l);				\
		(l)->held = 1;						\
	} while (0)
#define up_read(l)		pthread_rwlock_unlock(&(l)->lock)
#define up_write(l)		((l)->held = 0, pthread_rwlock_unlock(&(l)->lock))

#endif

#endif /* CRAB_SHIM_LINUX_RWSEM_H */
