/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_CRC32_H
#define CRAB_SHIM_LINUX_CRC32_H

/* compat.h defines the same function in the kernel. */
#include <linux/types.h>

#define CRAB_CRC32C_LIB_FAST	0

u32 crab_crc32c_lib(u32 seed, const void *p, size_t n);

#endif /* CRAB_SHIM_LINUX_CRC32_H */
