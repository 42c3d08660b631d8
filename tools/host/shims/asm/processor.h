/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_ASM_PROCESSOR_H
#define CRAB_SHIM_ASM_PROCESSOR_H

#include <sched.h>
#include <linux/compiler.h>

#ifdef __x86_64__
#define cpu_relax()		__builtin_ia32_pause()
#else
#define cpu_relax()		asm volatile("yield" ::: "memory")
#endif

#ifdef CRABTREE_HOST_TASKS
void crab_task_wait(void);
#endif

#ifdef CRABTREE_HOST_THREADS
extern __thread unsigned long crab_host_waits;	/* of this thread for another one */
#endif

/* One iteration of a wait for another thread, which may have lost its CPU */
static inline void crab_host_turn(unsigned int *turns)
{
#ifdef CRABTREE_HOST_TASKS
	crab_task_wait();
#else
#ifdef CRABTREE_HOST_THREADS
	crab_host_waits += !*turns;
#endif
	if (++*turns % 128)
		cpu_relax();
	else
		sched_yield();
#endif
}

#endif /* CRAB_SHIM_ASM_PROCESSOR_H */
