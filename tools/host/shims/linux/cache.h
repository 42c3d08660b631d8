/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_CACHE_H
#define CRAB_SHIM_LINUX_CACHE_H

#include <linux/compiler.h>

#define SMP_CACHE_BYTES			64
#define ____cacheline_aligned_in_smp	__aligned(SMP_CACHE_BYTES)

#endif /* CRAB_SHIM_LINUX_CACHE_H */
