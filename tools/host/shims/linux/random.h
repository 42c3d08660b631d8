/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_RANDOM_H
#define CRAB_SHIM_LINUX_RANDOM_H

/* Random numbers: reproducible once crab_host_seed() was called. */
#include <linux/types.h>

void crab_host_seed(u64 seed);
u64 get_random_u64(void);

/* Called first, if not NULL; returns true if it stored the random number in @x */
extern bool (*crab_host_random)(u64 *x);

u32 get_random_u32(void);
void get_random_bytes(void *p, size_t n);

#endif /* CRAB_SHIM_LINUX_RANDOM_H */
