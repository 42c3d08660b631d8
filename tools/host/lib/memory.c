// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements allocation with malloc(), and the failures that a test
 * injects. Programs that attach a store millions of times (CRABTREE_HOST_REUSE) keep freed blocks,
 * by powers of two: each attach asks for the same sizes.
 *
 * Invariant: every allocation of L0-L5 in user space calls these functions, or those that a
 * program links instead of this file.
 */
#include <stdint.h>
#include <stdlib.h>

#include <linux/bitops.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

long crab_host_fail_alloc = -1;
unsigned long crab_host_allocs;

#ifdef CRABTREE_HOST_REUSE	/* one thread */
#define count_alloc()	(crab_host_allocs++)
#else
#define count_alloc()	__atomic_fetch_add(&crab_host_allocs, 1, __ATOMIC_RELAXED)
#endif

static bool alloc_fails(void)
{
	long left;

	count_alloc();
	left = __atomic_load_n(&crab_host_fail_alloc, __ATOMIC_RELAXED);
	if (left < 0 || __atomic_fetch_sub(&crab_host_fail_alloc, 1, __ATOMIC_RELAXED))
		return false;
	__atomic_fetch_add(&crab_host_site->failed, 1, __ATOMIC_RELAXED);
	return true;
}

#ifdef CRABTREE_HOST_REUSE	/* one thread, no sanitizer */

#define BLOCK_LEAST	64U
#define BLOCK_SIZES	17	/* 64 bytes to 4 MiB; larger ones are not kept */
#define BLOCK_ALIGN	4096U	/* at most, as of crab_host_align() */

/* The cache line in front of a block, which is aligned to its size */
struct block {
	struct block *next;
	u32 size;	/* BLOCK_LEAST << size; BLOCK_SIZES: not kept */
} __aligned(BLOCK_LEAST);

static struct block *kept[BLOCK_SIZES];

static size_t block_align(u32 size)
{
	return min_t(size_t, (size_t)BLOCK_LEAST << size, BLOCK_ALIGN);
}

static void *host_alloc(size_t bytes, size_t align)
{
	struct block *block;
	void *p = NULL;
	u32 size = min_t(u32, fls64((max_t(size_t, bytes, align) - 1) / BLOCK_LEAST), BLOCK_SIZES);

	if (size < BLOCK_SIZES && kept[size]) {
		block = kept[size];
		kept[size] = block->next;
		return block + 1;
	}
	if (size < BLOCK_SIZES)
		bytes = (size_t)BLOCK_LEAST << size;
	if (posix_memalign(&p, block_align(size), block_align(size) + bytes))
		return NULL;
	p += block_align(size);
	block = (struct block *)p - 1;
	block->size = size;
	return p;
}

static void host_free(void *p)
{
	struct block *block = (struct block *)p - 1;

	if (!p)
		return;
	if (block->size == BLOCK_SIZES) {
		free(p - BLOCK_ALIGN);
		return;
	}
	block->next = kept[block->size];
	kept[block->size] = block;
}

#else

static void *host_alloc(size_t bytes, size_t align)
{
	void *p = NULL;

	if (align <= _Alignof(max_align_t))
		return malloc(bytes);
	return posix_memalign(&p, align, bytes) ? NULL : p;
}

static void host_free(void *p)
{
	free(p);
}

#endif

void *crab_host_alloc(size_t size, size_t align, gfp_t gfp)
{
	void *p;

	if (gfpflags_allow_blocking(gfp))
		might_sleep();
	if (size == SIZE_MAX || alloc_fails())
		return NULL;
	p = host_alloc(size, align);
	if (p && gfp & __GFP_ZERO)
		memset(p, 0, size);
	return p;
}

void crab_host_free(const void *p)
{
	host_free((void *)p);
}
