/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_HASH_H
#define CRAB_SHIM_LINUX_HASH_H

#include <linux/types.h>

#define GOLDEN_RATIO_64		0x61c8864680b583ebULL

static inline u32 hash_64(u64 value, unsigned int bits)
{
	return value * GOLDEN_RATIO_64 >> (64 - bits);
}

#endif /* CRAB_SHIM_LINUX_HASH_H */
