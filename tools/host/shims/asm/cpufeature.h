/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_ASM_CPUFEATURE_H
#define CRAB_SHIM_ASM_CPUFEATURE_H

/* arm64: alternatives are those of cores with errata */
#define cpus_have_cap(cap)	true

#endif /* CRAB_SHIM_ASM_CPUFEATURE_H */
