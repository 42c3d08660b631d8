/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_ASM_ALTERNATIVE_H
#define CRAB_SHIM_ASM_ALTERNATIVE_H

/* arm64: the instruction for cores with the erratum is right on every core */
#define ALTERNATIVE(old, new, cap)	new

#endif /* CRAB_SHIM_ASM_ALTERNATIVE_H */
