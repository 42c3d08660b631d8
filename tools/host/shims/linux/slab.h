/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_SLAB_H
#define CRAB_SHIM_LINUX_SLAB_H

/*
 * Memory, from malloc(). Every allocation calls crab_host_alloc(), in which a test
 * can inject failures. The includes are those of the kernel's header.
 */
#include <linux/err.h>
#include <linux/find.h>
#include <linux/gfp.h>
#include <linux/overflow.h>
#include <linux/types.h>

/* Allocations that still succeed before one fails; negative: all of them */
extern long crab_host_fail_alloc;
/* Allocations so far, failed ones included */
extern unsigned long crab_host_allocs;

/**
 * struct crab_host_site - a place in the source that allocates
 * @file: source file
 * @line: line in @file
 * @failed: number of injected failures
 *
 * The sites of all objects of a program are in [__start_crab_sites, __stop_crab_sites).
 */
struct crab_host_site {
	const char *file;
	int line;
	unsigned int failed;
};

/* The site of the current allocation */
extern __thread struct crab_host_site *crab_host_site;

#define crab_host_here(allocation)						\
	({									\
		static struct crab_host_site here_				\
			__attribute__((section("crab_sites"), used)) =		\
			{ __FILE__, __LINE__, 0 };				\
		crab_host_site = &here_;					\
		allocation;							\
	})

void *crab_host_alloc(size_t size, size_t align, gfp_t gfp);
void crab_host_free(const void *p);

/* As in the kernel, memory of a power of two is aligned to its size; here up to a page */
static inline size_t crab_host_align(size_t size)
{
	return size <= 4096 && !(size & (size - 1)) ? size : 0;
}

#define kmalloc(size, gfp)		crab_host_here(crab_host_alloc(size, crab_host_align(size), gfp))
#define kzalloc(size, gfp)		kmalloc(size, (gfp) | __GFP_ZERO)
#define kmalloc_array(n, size, gfp)	kmalloc(size_mul(n, size), gfp)
#define kcalloc(n, size, gfp)		kzalloc(size_mul(n, size), gfp)
#define kfree(p)			crab_host_free(p)
#define kvmalloc(size, gfp)		kmalloc(size, gfp)
#define kvzalloc(size, gfp)		kzalloc(size, gfp)
#define kvmalloc_array(n, size, gfp)	kmalloc_array(n, size, gfp)
#define kvcalloc(n, size, gfp)		kcalloc(n, size, gfp)
#define kvfree(p)			crab_host_free(p)

#endif /* CRAB_SHIM_LINUX_SLAB_H */
