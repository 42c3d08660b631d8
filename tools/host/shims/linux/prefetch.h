/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_PREFETCH_H
#define CRAB_SHIM_LINUX_PREFETCH_H

#define prefetch(p)		__builtin_prefetch(p)
#ifdef __x86_64__	/* without this, compilers use another instruction */
#define prefetchw(p)		asm volatile("prefetchw %0" : : "m" (*(const char *)(p)))
#else
#define prefetchw(p)		__builtin_prefetch(p, 1)
#endif

#endif /* CRAB_SHIM_LINUX_PREFETCH_H */
