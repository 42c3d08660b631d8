/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_CACHE_H
#define CRAB_SHIM_LINUX_CACHE_H

#define L1_CACHE_SHIFT			6
#define L1_CACHE_BYTES			64
#define SMP_CACHE_BYTES			64
#define ____cacheline_aligned		__attribute__((__aligned__(64)))
#define ____cacheline_aligned_in_smp	____cacheline_aligned
#define cache_line_size()		64

#endif /* CRAB_SHIM_LINUX_CACHE_H */
