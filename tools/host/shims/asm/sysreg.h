/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_ASM_SYSREG_H
#define CRAB_SHIM_ASM_SYSREG_H

/* arm64: the cache line is that of the register, the features are those that the kernel reports */
#include <sys/auxv.h>
#include <linux/types.h>

#define HWCAP_HAS(bit)		(getauxval(AT_HWCAP) >> (bit) & 1)
#define HWCAP2_HAS(bit)		(getauxval(AT_HWCAP2) >> (bit) & 1)

static inline u64 crab_sys_ctr(void)
{
	u64 ctr;

	asm volatile("mrs %0, ctr_el0" : "=r" (ctr));
	return ctr;
}

#define SYS_CTR_EL0		crab_sys_ctr()
/* DPB: DCPODP, or DCPOP alone */
#define SYS_ID_AA64ISAR1_EL1	(HWCAP2_HAS(0) ? 2UL : HWCAP_HAS(16))
/* Atomic: ATOMICS */
#define SYS_ID_AA64ISAR0_EL1	(HWCAP_HAS(8) << 21)
/* AT: USCAT */
#define SYS_ID_AA64MMFR2_EL1	(HWCAP_HAS(25) << 32)

#define read_sanitised_ftr_reg(reg)	(reg)

#endif /* CRAB_SHIM_ASM_SYSREG_H */
