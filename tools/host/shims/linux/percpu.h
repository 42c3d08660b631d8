/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_PERCPU_H
#define CRAB_SHIM_LINUX_PERCPU_H

/*
 * One object for each CPU, that is for each thread, on its own cache lines. Only its thread
 * writes it, so a plain addition is enough; a summing thread reads it concurrently.
 */
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/cpumask.h>
#include <linux/slab.h>
#include <linux/smp.h>

#define CRAB_HOST_PERCPU	512	/* from one CPU's object to the next one's */

#define alloc_percpu_gfp(type, gfp)							\
	({										\
		BUILD_BUG_ON(sizeof(type) > CRAB_HOST_PERCPU);				\
		(type *)crab_host_here(crab_host_alloc(CRAB_HOST_THREADS > 1 ?		\
			CRAB_HOST_THREADS * CRAB_HOST_PERCPU : sizeof(type),		\
			SMP_CACHE_BYTES, (gfp) | __GFP_ZERO));				\
	})
#define free_percpu(p)		kfree(p)

#define per_cpu_ptr(p, cpu) \
	((__typeof__(p))((char *)(p) + (size_t)(cpu) * CRAB_HOST_PERCPU))
#define this_cpu_ptr(p)		per_cpu_ptr(p, crab_host_this_cpu())

#define get_cpu_ptr(p)		this_cpu_ptr(p)
#define put_cpu_ptr(p)		((void)(p))

#define this_cpu_add(x, n)								\
	do {										\
		__typeof__(&(x)) here_ = this_cpu_ptr(&(x));				\
		WRITE_ONCE(*here_, READ_ONCE(*here_) + (n));				\
	} while (0)

#endif /* CRAB_SHIM_LINUX_PERCPU_H */
