/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_LIMITS_H
#define CRAB_SHIM_LINUX_LIMITS_H

/* Extremes of the kernel's integer types. */
#include_next <linux/limits.h>
#include <limits.h>

#define U8_MAX		((__u8)~0U)
#define U16_MAX		((__u16)~0U)
#define U32_MAX		((__u32)~0U)
#define U64_MAX		((__u64)~0ULL)
#define S32_MAX		((__s32)(U32_MAX >> 1))

#endif /* CRAB_SHIM_LINUX_LIMITS_H */
