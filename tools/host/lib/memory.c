// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements allocation with malloc(), and the failures that a test
 * injects.
 *
 * Invariant: every allocation of L0-L5 in user space calls these functions, or those that a
 * program links instead of this file.
 */
#include <stdint.h>
#include <stdlib.h>

#include <linux/lockdep.h>
#include <linux/slab.h>
#include <linux/string.h>

long crab_host_fail_alloc = -1;
unsigned long crab_host_allocs;

static bool alloc_fails(void)
{
	long left;

	__atomic_fetch_add(&crab_host_allocs, 1, __ATOMIC_RELAXED);
	left = __atomic_load_n(&crab_host_fail_alloc, __ATOMIC_RELAXED);
	if (left < 0 || __atomic_fetch_sub(&crab_host_fail_alloc, 1, __ATOMIC_RELAXED))
		return false;
	__atomic_fetch_add(&crab_host_site->failed, 1, __ATOMIC_RELAXED);
	return true;
}

void *crab_host_alloc(size_t size, size_t align, gfp_t gfp)
{
	void *p = NULL;

	if (gfpflags_allow_blocking(gfp))
		might_sleep();
	if (size == SIZE_MAX || alloc_fails())
		return NULL;
	if (align <= _Alignof(max_align_t))
		return gfp & __GFP_ZERO ? calloc(1, size) : malloc(size);
	if (posix_memalign(&p, align, size))
		return NULL;
	if (gfp & __GFP_ZERO)
		memset(p, 0, size);
	return p;
}

void crab_host_free(const void *p)
{
	free((void *)p);
}
