/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_SMP_H
#define CRAB_SHIM_LINUX_SMP_H

/*
 * CPUs. Each thread is a CPU: it has its own number from the first use of the number until
 * it ends or announces a wait, and is registered with RCU during this time. A program
 * with one thread is CPU 0.
 */
#include <linux/compiler.h>

#ifdef CRABTREE_HOST_THREADS

#define CRAB_HOST_THREADS	64	/* threads that have a number at the same time */

/* Number of this thread, from 1 on; 0: it has none yet */
extern __thread unsigned int crab_host_thread;

void crab_host_thread_begin(void);

/* This thread is about to wait for others; it is in no section */
void crab_host_leave(void);

static inline void crab_host_enter(void)
{
	if (unlikely(!crab_host_thread))
		crab_host_thread_begin();
}

static inline unsigned int crab_host_this_cpu(void)
{
	crab_host_enter();
	return crab_host_thread - 1;
}

#elif defined(CRABTREE_HOST_TASKS)

#define CRAB_HOST_THREADS	16

unsigned int crab_host_this_cpu(void);

#else

#define CRAB_HOST_THREADS	1
#define crab_host_this_cpu()	0U

#endif

#endif /* CRAB_SHIM_LINUX_SMP_H */
