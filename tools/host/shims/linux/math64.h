/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_MATH64_H
#define CRAB_SHIM_LINUX_MATH64_H

#include <linux/math.h>
#include <linux/types.h>

static inline u64 div_u64(u64 n, u32 d)
{
	return n / d;
}

static inline u64 div64_u64(u64 n, u64 d)
{
	return n / d;
}

static inline u64 div64_u64_rem(u64 n, u64 d, u64 *rem)
{
	*rem = n % d;
	return n / d;
}

#endif /* CRAB_SHIM_LINUX_MATH64_H */
