/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file holds the x86-64 primitives: clwb, clflushopt or clflush, whichever
 * is the best that the CPU has, and sfence.
 *
 * In the kernel clwb() is an alternative of the three, patched at load. User
 * space and user-mode Linux, which has no alternatives, read cpuid once.
 *
 * Included by persist.h only.
 */
#ifndef CRABTREE_PERSIST_X86_H
#define CRABTREE_PERSIST_X86_H

#if defined(__KERNEL__) && !defined(CONFIG_UML) && !defined(CRABTREE_HOST)

#include <asm/special_insns.h>

static __always_inline void crab_arch_clean_line(void *line)
{
	clwb(line);
}

#else

enum crab_x86_clean { CRAB_X86_CLFLUSH, CRAB_X86_CLFLUSHOPT, CRAB_X86_CLWB };

extern enum crab_x86_clean crab_x86_clean;

static __always_inline void crab_arch_clean_line(void *line)
{
	volatile char *p = line;

	if (likely(crab_x86_clean == CRAB_X86_CLWB))
		asm volatile(".byte 0x66; xsaveopt %0" : "+m" (*p));	/* clwb */
	else if (crab_x86_clean == CRAB_X86_CLFLUSHOPT)
		asm volatile(".byte 0x66; clflush %0" : "+m" (*p));	/* clflushopt */
	else
		asm volatile("clflush %0" : "+m" (*p));
}

#endif

static __always_inline void crab_arch_fence(void)
{
	asm volatile("sfence" ::: "memory");
}

/* x86 keeps stores in order: the compiler must too */
static __always_inline void crab_arch_order(void)
{
	barrier();
}

extern bool crab_x86_cx16;

/*
 * Repeats cmpxchg16b until it succeeds: the comparand is a hint, so a torn read of
 * it only costs another turn. A CPU without it does two stores, which x86 keeps in
 * order.
 */
static __always_inline void crab_arch_store_pair(__le64 *p, __le64 first, __le64 second)
{
	u64 lo, hi;
	bool done;

	if (!crab_x86_cx16) {
		WRITE_ONCE(p[1], second);
		barrier();
		WRITE_ONCE(p[0], first);
		return;
	}
	lo = (__force u64)READ_ONCE(p[0]);
	hi = (__force u64)READ_ONCE(p[1]);
	do {
		asm volatile("lock cmpxchg16b %1"
			     : "=@ccz" (done), "+m" (*(volatile __int128 *)p), "+a" (lo), "+d" (hi)
			     : "b" ((__force u64)first), "c" ((__force u64)second)
			     : "memory");
	} while (!done);
}

/* As cmpxchg16b does it: on failure @lo and @hi are the words that it found */
static __always_inline bool crab_arch_cas_pair(__le64 *p, u64 *lo, u64 *hi, __le64 first,
					       __le64 second)
{
	bool done;

	asm volatile("lock cmpxchg16b %1"
		     : "=@ccz" (done), "+m" (*(volatile __int128 *)p), "+a" (*lo), "+d" (*hi)
		     : "b" ((__force u64)first), "c" ((__force u64)second)
		     : "memory");
	return done;
}

extern bool crab_x86_movdir64b;

/*
 * movdir64b passes earlier and later stores: a fence before it and one after it keep the order
 * that x86 guarantees for other stores. Its bytes are spelled out for older assemblers.
 */
static __always_inline void crab_arch_store_line(__le64 *line, const __le64 *words)
{
	u32 i;

	if (!crab_x86_movdir64b) {
		for (i = 0; i < CRAB_LINE / sizeof(*line); i++)
			WRITE_ONCE(line[i], words[i]);
		return;
	}
	/* The bytes are those of movdir64b (%rdx), %rax */
	asm volatile("sfence\n\t.byte 0x66, 0x0f, 0x38, 0xf8, 0x02\n\tsfence"
		     : : "a" (line), "d" (words) : "memory");
}

#endif /* CRABTREE_PERSIST_X86_H */
