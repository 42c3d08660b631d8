/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_KTIME_H
#define CRAB_SHIM_LINUX_KTIME_H

#include <time.h>
#include <linux/types.h>

typedef s64 ktime_t;

static inline u64 ktime_get_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static inline ktime_t ktime_get(void)
{
	return ktime_get_ns();
}

/* Constant after crab_host_seed() was called */
u64 ktime_get_real_seconds(void);

#define ktime_to_ns(t)		(t)
#define ktime_sub(a, b)		((a) - (b))
#define NSEC_PER_SEC		1000000000L

#endif /* CRAB_SHIM_LINUX_KTIME_H */
