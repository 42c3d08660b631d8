/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file makes the worker of a module sleep for a tick, at one in four places where it may:
 * writers find it halfway through its work, and it comes in between wherever they sleep. Only a
 * copy of the module is compiled with it, never the shipped one.
 */
#ifndef TRACE_SLEEPS_H
#define TRACE_SLEEPS_H

#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/slab.h>

static inline void trace_sleep(void)
{
	static unsigned int places;

	if (current->flags & PF_WQ_WORKER && !(places++ & 3))
		schedule_timeout_uninterruptible(1);
}

#undef cond_resched
#undef kmalloc
#undef kvmalloc
#undef mutex_lock

#define cond_resched()		trace_sleep()
#define down_read(lock)		({ trace_sleep(); down_read(lock); })
#define kmalloc(...)		({ trace_sleep(); (kmalloc)(__VA_ARGS__); })
#define kvmalloc(...)		({ trace_sleep(); (kvmalloc)(__VA_ARGS__); })
#define mutex_lock(lock)	({ trace_sleep(); mutex_lock(lock); })

/* These headers define it, and so do sources of the module */
#undef pr_fmt

#endif /* TRACE_SLEEPS_H */
