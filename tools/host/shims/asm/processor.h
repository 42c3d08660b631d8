/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_ASM_PROCESSOR_H
#define CRAB_SHIM_ASM_PROCESSOR_H

#include <sched.h>

#ifdef __x86_64__
#define cpu_relax()		__builtin_ia32_pause()
#else
#define cpu_relax()		asm volatile("yield" ::: "memory")
#endif

/* One turn of a wait for another thread, which may have lost its CPU */
static inline void crab_host_turn(unsigned int *turns)
{
	if (++*turns % 128)
		cpu_relax();
	else
		sched_yield();
}

#endif /* CRAB_SHIM_ASM_PROCESSOR_H */
