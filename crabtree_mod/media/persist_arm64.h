/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file holds the arm64 primitives.
 *
 * Clean: dc cvadp where the CPU has a point of deep persistence, dc cvap where
 * it has a point of persistence, else dc cvac; the last by an alternative to
 * dc civac on cores whose errata need it (ARM64_WORKAROUND_CLEAN_CACHE, among
 * them Cortex-A53). The choice between them is a static key, set at load: the
 * system-wide capability, so that it holds on every core. In user space the shims of
 * tools/host take the place of the alternative and of the static keys.
 *
 * Fence: dsb sy, as the kernel's own cleans to persistence end. Neither dmb nor
 * dsb ishst completes a clean.
 *
 * Included by persist.h only.
 */
#ifndef CRABTREE_PERSIST_ARM64_H
#define CRABTREE_PERSIST_ARM64_H

#define CRAB_DC_CVAP	"sys 3, c7, c12, 1, %0"	/* named so for assemblers older than Armv8.2 */
#define CRAB_DC_CVADP	"sys 3, c7, c13, 1, %0"

#include <linux/jump_label.h>
#include <asm/alternative.h>
#include <asm/cpufeature.h>

DECLARE_STATIC_KEY_FALSE(crab_arm64_cvap);
DECLARE_STATIC_KEY_FALSE(crab_arm64_cvadp);
DECLARE_STATIC_KEY_FALSE(crab_arm64_lse2);
DECLARE_STATIC_KEY_FALSE(crab_arm64_casp);

#define crab_arm64_has(key)	static_branch_unlikely(&crab_arm64_##key)

static __always_inline void crab_arm64_clean_poc(void *line)
{
	asm volatile(ALTERNATIVE("dc cvac, %0", "dc civac, %0", ARM64_WORKAROUND_CLEAN_CACHE)
		     : : "r" (line) : "memory");
}

static __always_inline void crab_arch_clean_line(void *line)
{
	if (crab_arm64_has(cvadp))
		asm volatile(CRAB_DC_CVADP : : "r" (line) : "memory");
	else if (crab_arm64_has(cvap))
		asm volatile(CRAB_DC_CVAP : : "r" (line) : "memory");
	else
		crab_arm64_clean_poc(line);
}

static __always_inline void crab_arch_fence(void)
{
	asm volatile("dsb sy" ::: "memory");
}

/* Between stores to one line; completes no clean */
static __always_inline void crab_arch_order(void)
{
	asm volatile("dmb ishst" ::: "memory");
}

/*
 * One casp; true if it stored, else *@lo and *@hi are the previous values. The
 * registers are named right before the instruction: a call in between, such as
 * the sanitizers insert after each load, may use them.
 */
static __always_inline bool crab_arm64_casp_once(__le64 *p, u64 *lo, u64 *hi, u64 first,
						 u64 second)
{
	u64 was_lo = *lo, was_hi = *hi;
	register u64 x0 asm("x0") = was_lo;
	register u64 x1 asm("x1") = was_hi;
	register u64 x2 asm("x2") = first;
	register u64 x3 asm("x3") = second;

	asm volatile(".arch_extension lse\n\tcaspal %0, %1, %2, %3, [%4]"
		     : "+r" (x0), "+r" (x1)
		     : "r" (x2), "r" (x3), "r" (p) : "memory");
	*lo = x0;
	*hi = x1;
	return *lo == was_lo && *hi == was_hi;
}

/* Repeats casp until it succeeds: a torn comparand only costs another turn */
static __always_inline void crab_arm64_casp_store(__le64 *p, __le64 first, __le64 second)
{
	u64 lo = (__force u64)READ_ONCE(p[0]);
	u64 hi = (__force u64)READ_ONCE(p[1]);

	while (!crab_arm64_casp_once(p, &lo, &hi, (__force u64)first, (__force u64)second))
		;
}

static __always_inline void crab_arch_store_pair(__le64 *p, __le64 first, __le64 second)
{
	if (crab_arm64_has(lse2)) {
		asm volatile("stp %0, %1, [%2]"
			     : : "r" ((__force u64)first), "r" ((__force u64)second), "r" (p)
			     : "memory");
	} else if (crab_arm64_has(casp)) {
		crab_arm64_casp_store(p, first, second);
	} else {
		WRITE_ONCE(p[1], second);
		asm volatile("dmb ishst" ::: "memory");
		WRITE_ONCE(p[0], first);
	}
}

/* For cores without caspal. After a failed comparison, @lo and @hi may be torn */
static __always_inline bool crab_arm64_llsc_pair(__le64 *p, u64 *lo, u64 *hi, u64 first,
						 u64 second)
{
	u64 was_lo = *lo, was_hi = *hi;
	u32 failed;

	asm volatile("1:	ldaxp	%0, %1, %3\n"
		     "	cmp	%0, %4\n"
		     "	ccmp	%1, %5, #0, eq\n"
		     "	b.ne	2f\n"
		     "	stlxp	%w2, %6, %7, %3\n"
		     "	cbnz	%w2, 1b\n"
		     "2:	dmb	ish"
		     : "=&r" (*lo), "=&r" (*hi), "=&r" (failed), "+Q" (*(__int128 *)p)
		     : "r" (was_lo), "r" (was_hi), "r" (first), "r" (second)
		     : "cc", "memory");
	return *lo == was_lo && *hi == was_hi;
}

static __always_inline bool crab_arch_cas_pair(__le64 *p, u64 *lo, u64 *hi, __le64 first,
					       __le64 second)
{
	if (crab_arm64_has(casp))
		return crab_arm64_casp_once(p, lo, hi, (__force u64)first, (__force u64)second);
	return crab_arm64_llsc_pair(p, lo, hi, (__force u64)first, (__force u64)second);
}

/* Stores of 64 bytes reach device memory only (FEAT_LS64) */
static __always_inline void crab_arch_store_line(__le64 *line, const __le64 *words)
{
	u32 i;

	for (i = 0; i < CRAB_LINE / sizeof(*line); i++)
		WRITE_ONCE(line[i], words[i]);
}

#endif /* CRABTREE_PERSIST_ARM64_H */
