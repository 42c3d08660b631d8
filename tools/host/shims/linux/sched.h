/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_SCHED_H
#define CRAB_SHIM_LINUX_SCHED_H

struct task_struct;

#define current			((struct task_struct *)0)
#define cond_resched()		((void)0)

#endif /* CRAB_SHIM_LINUX_SCHED_H */
