/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_SCHED_H
#define CRAB_SHIM_LINUX_SCHED_H

#include <linux/lockdep.h>

struct task_struct;

#define current			((struct task_struct *)0)

#ifdef CRABTREE_HOST_QSBR
void crab_host_quiescent(void);
#define cond_resched()		crab_host_quiescent()
#else
#define cond_resched()		might_sleep()
#endif

/* Another task may run meanwhile */
#define schedule_timeout_uninterruptible(ticks)	might_sleep()

#endif /* CRAB_SHIM_LINUX_SCHED_H */
