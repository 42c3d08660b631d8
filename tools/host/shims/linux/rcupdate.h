/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_RCUPDATE_H
#define CRAB_SHIM_LINUX_RCUPDATE_H

/*
 * RCU. With several threads it is liburcu's, for tasks it is in tasks.c. With one thread the only
 * reader is the caller: kfree_rcu() frees at the end of its section, or at once, and
 * AddressSanitizer detects a later use.
 *
 * Tests use the flavour of liburcu with explicit ends of sections. Measurements use QSBR
 * (CRABTREE_HOST_QSBR), which behaves like a kernel without preemption: sections cost nothing, a
 * section lasts from one cond_resched() to the next, and a grace period disturbs no reader.
 */
#include <linux/bug.h>
#include <linux/container_of.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/types.h>

#ifdef CRABTREE_HOST_THREADS

#include <linux/smp.h>

#ifdef __SANITIZE_THREAD__
/* The library is not instrumented: the order of a grace period must be annotated */
#include <sanitizer/tsan_interface.h>
#define crab_host_rcu_release()		__tsan_release(&crab_host_rcu)
#define crab_host_rcu_acquire()		__tsan_acquire(&crab_host_rcu)
extern char crab_host_rcu;
#else
#define _LGPL_SOURCE			/* inlines the functions of readers */
#define crab_host_rcu_release()		((void)0)
#define crab_host_rcu_acquire()		((void)0)
#endif

#ifdef CRABTREE_HOST_QSBR
#include <urcu/urcu-qsbr.h>
#define crab_urcu(what)			urcu_qsbr_##what
#else
#include <urcu/urcu-memb.h>
#define crab_urcu(what)			urcu_memb_##what
#endif
#undef rcu_dereference
#undef rcu_assign_pointer

static inline void rcu_read_lock(void)
{
	crab_host_enter();
	crab_urcu(read_lock)();
}

static inline void rcu_read_unlock(void)
{
	crab_host_rcu_release();
	crab_urcu(read_unlock)();
}

static inline bool rcu_read_lock_held(void)
{
	return crab_urcu(read_ongoing)();
}

static inline void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	crab_host_enter();
	crab_host_rcu_release();
	crab_urcu(call_rcu)(head, func);
}

/* This liburcu cannot poll: a callback reports the end of each grace period (threads.c) */
unsigned long start_poll_synchronize_rcu(void);
bool poll_state_synchronize_rcu(unsigned long cookie);
void synchronize_rcu(void);

/* The nested function uses no variable of the enclosing one: it needs no trampoline */
#define kfree_rcu(p, field)								\
	do {										\
		void free_(struct rcu_head *head)					\
		{									\
			crab_host_rcu_acquire();					\
			kfree(container_of(head, __typeof__(*(p)), field));		\
		}									\
		call_rcu(&(p)->field, free_);						\
	} while (0)

#else

struct rcu_head {
	struct rcu_head *next;
	void (*func)(struct rcu_head *head);
};

#ifdef CRABTREE_HOST_TASKS

void rcu_read_lock(void);
void rcu_read_unlock(void);
bool rcu_read_lock_held(void);
void crab_task_free_later(const void *p);
unsigned long start_poll_synchronize_rcu(void);
bool poll_state_synchronize_rcu(unsigned long cookie);
void synchronize_rcu(void);

#define kfree_rcu(p, field)		((void)&(p)->field, crab_task_free_later(p))

#else

extern __thread unsigned int crab_host_rcu_depth;
extern __thread const void *crab_host_rcu_freed[40];
extern __thread unsigned int crab_host_rcu_count;
extern bool crab_host_poll_late;	/* polling overlooks the ends of grace periods */

static inline void rcu_read_lock(void)
{
	crab_host_rcu_depth++;
}

static inline void rcu_read_unlock(void)
{
	BUG_ON(!crab_host_rcu_depth);
	if (--crab_host_rcu_depth)
		return;
	while (unlikely(crab_host_rcu_count))
		kfree(crab_host_rcu_freed[--crab_host_rcu_count]);
}

static inline void crab_host_rcu_free(const void *p)
{
	BUG_ON(crab_host_rcu_count == ARRAY_SIZE(crab_host_rcu_freed));
	if (crab_host_rcu_depth)
		crab_host_rcu_freed[crab_host_rcu_count++] = p;
	else
		kfree(p);
}

#define kfree_rcu(p, field)		((void)&(p)->field, crab_host_rcu_free(p))
#define rcu_read_lock_held()		(crab_host_rcu_depth > 0)

static inline unsigned long start_poll_synchronize_rcu(void)
{
	return 0;
}

static inline void synchronize_rcu(void)
{
	BUG_ON(rcu_read_lock_held());
}

/* The only reader is this thread */
static inline bool poll_state_synchronize_rcu(unsigned long cookie)
{
	return !crab_host_poll_late && !rcu_read_lock_held();
}

#endif

#endif

#define kvfree_rcu(p, field)		kfree_rcu(p, field)
#define rcu_dereference_raw(p)		smp_load_acquire(&(p))
#define rcu_dereference_protected(p, c)	({ BUG_ON(!(c)); READ_ONCE(p); })
#define rcu_access_pointer(p)		READ_ONCE(p)
#define rcu_assign_pointer(p, v)	smp_store_release(&(p), v)
#define RCU_INIT_POINTER(p, v)		WRITE_ONCE(p, v)

#endif /* CRAB_SHIM_LINUX_RCUPDATE_H */
