// SPDX-License-Identifier: GPL-2.0
/*
 * This file chooses the primitives of persist.h and swap.h for this CPU, once, and reports how
 * far they reach.
 *
 * Invariant: nothing here changes after crab_persist_init(); no lock.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/types.h>

#include "crc.h"
#include "swap.h"

#if defined(__x86_64__)

bool crab_x86_cx16, crab_x86_movdir64b;

#if defined(__KERNEL__) && !defined(CONFIG_UML) && !defined(CRABTREE_HOST)

#include <asm/cpufeature.h>

static u32 x86_line(void)		{ return boot_cpu_data.x86_clflush_size; }
static bool x86_has_clwb(void)		{ return boot_cpu_has(X86_FEATURE_CLWB); }
static bool x86_has_clflushopt(void)	{ return boot_cpu_has(X86_FEATURE_CLFLUSHOPT); }
static bool x86_has_clflush(void)	{ return boot_cpu_has(X86_FEATURE_CLFLUSH); }
static bool x86_has_cx16(void)		{ return boot_cpu_has(X86_FEATURE_CX16); }
static bool x86_has_movdir64b(void)	{ return boot_cpu_has(X86_FEATURE_MOVDIR64B); }
static bool x86_has_crc32(void)		{ return boot_cpu_has(X86_FEATURE_XMM4_2); }
static void x86_choose(void)		{ }	/* clwb() is an alternative of all three */

#else

enum crab_x86_clean crab_x86_clean;

static u32 x86_cpuid_word(u32 leaf, u32 reg)
{
	u32 r[4];

	asm volatile("cpuid" : "=a" (r[0]), "=b" (r[1]), "=c" (r[2]), "=d" (r[3])
			     : "a" (leaf), "c" (0));
	return r[reg];
}

static bool x86_cpuid(u32 leaf, u32 reg, u32 bit)
{
	return x86_cpuid_word(leaf, reg) & (1U << bit);
}

/* CPUID.1:EBX[15:8], in units of 8 bytes */
static u32 x86_line(void)		{ return (x86_cpuid_word(1, 1) >> 8 & 0xff) * 8; }
static bool x86_has_clwb(void)		{ return x86_cpuid(7, 1, 24); }
static bool x86_has_clflushopt(void)	{ return x86_cpuid(7, 1, 23); }
static bool x86_has_clflush(void)	{ return x86_cpuid(1, 3, 19); }
static bool x86_has_cx16(void)		{ return x86_cpuid(1, 2, 13); }
static bool x86_has_movdir64b(void)	{ return x86_cpuid(7, 2, 28); }
static bool x86_has_crc32(void)		{ return x86_cpuid(1, 2, 20); }

static void x86_choose(void)
{
	crab_x86_clean = x86_has_clwb() ? CRAB_X86_CLWB :
			 x86_has_clflushopt() ? CRAB_X86_CLFLUSHOPT : CRAB_X86_CLFLUSH;
}

#endif

int crab_persist_init(void)
{
	if (!x86_has_clflush() || x86_line() < CRAB_LINE)
		return -EOPNOTSUPP;
	x86_choose();
	crab_x86_cx16 = x86_has_cx16();
	crab_x86_movdir64b = x86_has_movdir64b();
	crab_crc_init(x86_has_crc32());
	return 0;
}

/* A line that leaves the caches is in the platform's ADR domain: there is no other point */
enum crab_durability crab_persist_class(void)
{
	return CRAB_DURABILITY_POP;
}

const char *crab_persist_method(void)
{
	return x86_has_clwb() ? "clwb" : x86_has_clflushopt() ? "clflushopt" : "clflush";
}

bool crab_pair_is_atomic(void)
{
	return crab_x86_cx16;
}

int crab_cas_pair_check(void)
{
	return crab_x86_cx16 ? 0 : -EOPNOTSUPP;
}

bool crab_line_is_atomic(void)
{
	return crab_x86_movdir64b;
}

#elif defined(__aarch64__)

#include <asm/sysreg.h>

DEFINE_STATIC_KEY_FALSE(crab_arm64_cvap);
DEFINE_STATIC_KEY_FALSE(crab_arm64_cvadp);
DEFINE_STATIC_KEY_FALSE(crab_arm64_lse2);
DEFINE_STATIC_KEY_FALSE(crab_arm64_casp);

#define arm64_enable(key)	static_branch_enable(&crab_arm64_##key)

static const char *arm64_poc_method(void)
{
	return cpus_have_cap(ARM64_WORKAROUND_CLEAN_CACHE) ? "dc civac" : "dc cvac";
}

/* CTR_EL0.DminLine: log2 of the words of the smallest data line of all cores */
static u32 arm64_line(void)
{
	return 4U << (read_sanitised_ftr_reg(SYS_CTR_EL0) >> 16 & 0xf);
}

/* ID_AA64ISAR1_EL1.DPB: 1 dc cvap, 2 dc cvadp too; the system-wide value */
static u32 arm64_dpb(void)
{
	return (read_sanitised_ftr_reg(SYS_ID_AA64ISAR1_EL1) >> 0) & 0xf;
}

/* ID_AA64ISAR0_EL1.Atomic: 2 LSE */
static bool arm64_has_lse(void)
{
	return ((read_sanitised_ftr_reg(SYS_ID_AA64ISAR0_EL1) >> 20) & 0xf) >= 2;
}

/* ID_AA64MMFR2_EL1.AT: an aligned 16-byte pair is single-copy atomic */
static bool arm64_has_lse2(void)
{
	return ((read_sanitised_ftr_reg(SYS_ID_AA64MMFR2_EL1) >> 32) & 0xf) >= 1;
}

int crab_persist_init(void)
{
	if (arm64_line() < CRAB_LINE)
		return -EOPNOTSUPP;
	if (arm64_dpb() >= 1)
		arm64_enable(cvap);
	if (arm64_dpb() >= 2)
		arm64_enable(cvadp);
	if (arm64_has_lse())
		arm64_enable(casp);
	if (arm64_has_lse2())
		arm64_enable(lse2);
	return 0;
}

enum crab_durability crab_persist_class(void)
{
	if (crab_arm64_has(cvadp))
		return CRAB_DURABILITY_PODP;
	return crab_arm64_has(cvap) ? CRAB_DURABILITY_POP : CRAB_DURABILITY_POC;
}

const char *crab_persist_method(void)
{
	if (crab_arm64_has(cvadp))
		return "dc cvadp";
	return crab_arm64_has(cvap) ? "dc cvap" : arm64_poc_method();
}

bool crab_pair_is_atomic(void)
{
	return crab_arm64_has(lse2) || crab_arm64_has(casp);
}

int crab_cas_pair_check(void)
{
	return 0;
}

bool crab_line_is_atomic(void)
{
	return false;
}

#endif
