/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_BITS_H
#define CRAB_SHIM_LINUX_BITS_H

#define BITS_PER_LONG		64
#define BIT(n)			(1UL << (n))

#endif /* CRAB_SHIM_LINUX_BITS_H */
