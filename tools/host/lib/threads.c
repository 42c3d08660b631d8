// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the threads of a program that has several: their numbers, and their
 * registration with RCU.
 *
 * Invariant: no two threads have the same number at the same time, and the stores of the last
 * owner of a number precede those of the next one.
 */
#include <pthread.h>

#include <linux/bug.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/types.h>

_Static_assert(CRAB_HOST_THREADS == 64, "one bit a thread");

__thread unsigned int crab_host_thread;
__thread unsigned long crab_host_waits;

#ifdef __SANITIZE_THREAD__
char crab_host_rcu;
#endif

/* Number of grace periods that were requested, and of the last one that has ended */
static unsigned long graces_begun, graces_ended;

struct grace {
	struct rcu_head rcu;
	unsigned long nth;
};

static u64 threads_used;
static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

static void thread_end(void *arg)
{
	u64 bit = 1ULL << (crab_host_thread - 1);

	crab_urcu(unregister_thread)();
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
	crab_urcu(register_thread)();
	pthread_once(&thread_once, thread_key_make);
	BUG_ON(pthread_setspecific(thread_key, &crab_host_thread));
}

void crab_host_leave(void)
{
	if (!crab_host_thread)
		return;
	BUG_ON(pthread_setspecific(thread_key, NULL));
	thread_end(NULL);
}

/* Grace periods of one thread end in order, those of several threads possibly not */
static void graces_reach(unsigned long nth)
{
	unsigned long ended = READ_ONCE(graces_ended);

	while (ended < nth && !__atomic_compare_exchange_n(&graces_ended, &ended, nth, false,
							   __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

static void grace_end(struct rcu_head *head)
{
	struct grace *grace = container_of(head, struct grace, rcu);

	crab_host_rcu_acquire();
	graces_reach(grace->nth);
	free(grace);
}

unsigned long start_poll_synchronize_rcu(void)
{
	unsigned long nth = __atomic_add_fetch(&graces_begun, 1, __ATOMIC_SEQ_CST);
	struct grace *grace = malloc(sizeof(*grace));

	grace->nth = nth;
	call_rcu(&grace->rcu, grace_end);	/* which may free it before this function returns */
	return nth;
}

bool poll_state_synchronize_rcu(unsigned long cookie)
{
	return __atomic_load_n(&graces_ended, __ATOMIC_ACQUIRE) >= cookie;
}

/*
 * After it, polls with an earlier cookie see the end of the grace period, too. urcu_barrier() would
 * do that as well, but it waits for the timer of the callbacks, and its memory has a count of users
 * in the library, which ThreadSanitizer does not see.
 */
void synchronize_rcu(void)
{
	unsigned long nth = __atomic_add_fetch(&graces_begun, 1, __ATOMIC_SEQ_CST);

	crab_host_enter();
	crab_host_rcu_release();
	crab_urcu(synchronize_rcu)();
	crab_host_rcu_acquire();
	graces_reach(nth);
}

#ifdef CRABTREE_HOST_QSBR
void crab_host_quiescent(void)
{
	crab_host_enter();
	crab_urcu(quiescent_state)();
}

void crab_host_sleeps(void)
{
	crab_host_enter();
	crab_urcu(thread_offline)();
}

void crab_host_wakes(void)
{
	crab_urcu(thread_online)();
}
#endif
