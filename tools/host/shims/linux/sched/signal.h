/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_SCHED_SIGNAL_H
#define CRAB_SHIM_LINUX_SCHED_SIGNAL_H

#include <linux/sched.h>

static inline int fatal_signal_pending(struct task_struct *task)
{
	(void)task;
	return 0;
}

#endif /* CRAB_SHIM_LINUX_SCHED_SIGNAL_H */
