/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_ATOMIC_H
#define CRAB_SHIM_LINUX_ATOMIC_H

#include <linux/types.h>

#define atomic_read(a)		__atomic_load_n(&(a)->counter, __ATOMIC_RELAXED)
#define atomic_set(a, n)	__atomic_store_n(&(a)->counter, n, __ATOMIC_RELAXED)
#define atomic_add(n, a)	((void)__atomic_fetch_add(&(a)->counter, n, __ATOMIC_RELAXED))
#define atomic_inc_return(a)	__atomic_add_fetch(&(a)->counter, 1, __ATOMIC_SEQ_CST)
#define atomic_inc(a)		atomic_add(1, a)
#define atomic_dec(a)		atomic_add(-1, a)
#define atomic_dec_and_test(a)	(!__atomic_sub_fetch(&(a)->counter, 1, __ATOMIC_SEQ_CST))
#define atomic64_read(a)	atomic_read(a)
#define atomic64_set(a, n)	atomic_set(a, n)
#define atomic64_inc(a)		atomic_inc(a)
#define atomic64_inc_return(a)	atomic_inc_return(a)

#define cmpxchg(p, old, new) ({							\
	__typeof__(*(p)) crab_found = (old);						\
	__atomic_compare_exchange_n(p, &crab_found, new, false, __ATOMIC_SEQ_CST,	\
				    __ATOMIC_SEQ_CST);					\
	crab_found;									\
})

#endif /* CRAB_SHIM_LINUX_ATOMIC_H */
