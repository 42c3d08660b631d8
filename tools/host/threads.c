// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the threads of a program that has several: their numbers, that
 * RCU knows them, and how they wait for all that was left to RCU.
 *
 * Invariant: two threads never have one number at a time, and what the last owner of a
 * number stored comes before what the next one does.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <semaphore.h>

#include <linux/bug.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/types.h>

_Static_assert(CRAB_HOST_THREADS == 64, "one bit a thread");

__thread unsigned int crab_host_thread;

#ifdef __SANITIZE_THREAD__
char crab_host_rcu;
#endif

static u64 threads_used;
static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

static void thread_end(void *arg)
{
	u64 bit = 1ULL << (crab_host_thread - 1);

	urcu_memb_unregister_thread();
	crab_host_thread = 0;
	__atomic_fetch_and(&threads_used, ~bit, __ATOMIC_RELEASE);
}

static void thread_key_make(void)
{
	BUG_ON(pthread_key_create(&thread_key, thread_end));
}

void crab_host_thread_begin(void)
{
	u64 used = READ_ONCE(threads_used);

	do
		BUG_ON(!~used);
	while (!__atomic_compare_exchange_n(&threads_used, &used, used | (used + 1), false,
					    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	crab_host_thread = __builtin_ctzll(~used) + 1;
	urcu_memb_register_thread();
	pthread_once(&thread_once, thread_key_make);
	BUG_ON(pthread_setspecific(thread_key, &crab_host_thread));
}

struct barrier {
	struct rcu_head rcu;
	sem_t passed;
};

static void barrier_passed(struct rcu_head *head)
{
	sem_post(&container_of(head, struct barrier, rcu)->passed);
}

/* All callbacks stand in one queue: when one has run, so have those before it */
void rcu_barrier(void)
{
	struct barrier last;

	sem_init(&last.passed, 0, 0);
	call_rcu(&last.rcu, barrier_passed);
	while (sem_wait(&last.passed))
		;
	sem_destroy(&last.passed);
}
