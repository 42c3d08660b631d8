/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_RWSEM_H
#define CRAB_SHIM_LINUX_RWSEM_H

#include <pthread.h>
#include <linux/lockdep.h>

struct rw_semaphore {
	pthread_rwlock_t lock;
};

#define init_rwsem(l)		pthread_rwlock_init(&(l)->lock, NULL)
#define down_read(l)		pthread_rwlock_rdlock(&(l)->lock)
#define down_read_killable(l)	pthread_rwlock_rdlock(&(l)->lock)
#define down_read_trylock(l)	(!pthread_rwlock_tryrdlock(&(l)->lock))
#define down_write(l)		pthread_rwlock_wrlock(&(l)->lock)
#define down_write_killable(l)	pthread_rwlock_wrlock(&(l)->lock)
#define down_write_trylock(l)	(!pthread_rwlock_trywrlock(&(l)->lock))
#define up_read(l)		pthread_rwlock_unlock(&(l)->lock)
#define up_write(l)		pthread_rwlock_unlock(&(l)->lock)

#endif /* CRAB_SHIM_LINUX_RWSEM_H */
