/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_COMPILER_H
#define CRAB_SHIM_LINUX_COMPILER_H

/* Compiler marks and single accesses. */
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define barrier()		asm volatile("" ::: "memory")

/* A place at which another task may run, see tasks.h */
#ifdef CRABTREE_HOST_TASKS
extern long crab_task_left;
void crab_task_switch(void);

static inline void crab_task_point(void)
{
	if (unlikely(!--crab_task_left))
		crab_task_switch();
}
#else
#define crab_task_point()	((void)0)
#endif

/* ThreadSanitizer must see accesses of several threads as atomic */
#ifdef CRABTREE_HOST_THREADS
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#elif defined(CRABTREE_HOST_TASKS)
#define READ_ONCE(x) \
	({ crab_task_point(); *(const volatile __typeof__(x) *)&(x); })
#define WRITE_ONCE(x, v)							\
	do {									\
		__auto_type once_ = (v);					\
		crab_task_point();						\
		*(volatile __typeof__(x) *)&(x) = once_;			\
	} while (0)
#else
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
#endif

#ifndef __always_inline
#define __always_inline		inline __attribute__((__always_inline__))
#endif
#ifndef __force
#define __force
#endif
#ifndef __user
#define __user
#endif
#define __percpu
#ifndef __rcu
#define __rcu
#endif
#define __must_hold(x)
#define __acquires(x)
#define __acquire(x)		((void)0)
#define __release(x)		((void)0)
#define __releases(x)
#define __cond_lock(x, c)	(c)
#define __aligned(x)		__attribute__((__aligned__(x)))
#define __printf(a, b)		__attribute__((__format__(printf, a, b)))
#define __init
#define __exit
#define noinline		__attribute__((__noinline__))
#define OPTIMIZER_HIDE_VAR(var)	__asm__("" : "+r" (var))

#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
#define data_race(x)								\
	({									\
		AnnotateIgnoreReadsBegin(__FILE__, __LINE__);			\
		__auto_type x_ = (x);						\
		AnnotateIgnoreReadsEnd(__FILE__, __LINE__);			\
		x_;								\
	})
#else
#define data_race(x)		({ crab_task_point(); (x); })
#endif

#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb()		__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb()		__atomic_thread_fence(__ATOMIC_RELEASE)
#define smp_load_acquire(p)	({ crab_task_point(); __atomic_load_n(p, __ATOMIC_ACQUIRE); })
#define smp_store_release(p, v)							\
	do {									\
		__auto_type release_ = (v);					\
		crab_task_point();						\
		__atomic_store_n(p, release_, __ATOMIC_RELEASE);		\
	} while (0)

#endif /* CRAB_SHIM_LINUX_COMPILER_H */
