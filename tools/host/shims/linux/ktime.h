/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_KTIME_H
#define CRAB_SHIM_LINUX_KTIME_H

#include <time.h>
#include <linux/types.h>

/* Programs that attach a store millions of times measure nothing, and need no exact clock */
#ifdef CRABTREE_HOST_REUSE
#define CRAB_HOST_CLOCK	CLOCK_MONOTONIC_COARSE
#else
#define CRAB_HOST_CLOCK	CLOCK_MONOTONIC
#endif

static inline u64 ktime_get_ns(void)
{
	struct timespec t;

	clock_gettime(CRAB_HOST_CLOCK, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* After crab_host_seed() was called, a reading is so many seconds after the one before */
extern u64 crab_host_tick;

u64 ktime_get_real_seconds(void);

#endif /* CRAB_SHIM_LINUX_KTIME_H */
