/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_LOG2_H
#define CRAB_SHIM_LINUX_LOG2_H

#include <linux/types.h>

static inline int ilog2(u64 n)
{
	return 63 - __builtin_clzll(n);
}

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

static inline unsigned long rounddown_pow_of_two(unsigned long n)
{
	return 1UL << (63 - __builtin_clzl(n));
}

static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	return n <= 1 ? 1 : 1UL << (64 - __builtin_clzl(n - 1));
}

#endif /* CRAB_SHIM_LINUX_LOG2_H */
