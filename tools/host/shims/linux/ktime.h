/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_KTIME_H
#define CRAB_SHIM_LINUX_KTIME_H

#include <time.h>
#include <linux/types.h>

static inline u64 ktime_get_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Constant after crab_host_seed() was called */
u64 ktime_get_real_seconds(void);

#endif /* CRAB_SHIM_LINUX_KTIME_H */
