/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_PREEMPT_H
#define CRAB_SHIM_LINUX_PREEMPT_H

#define migrate_disable()	((void)0)
#define migrate_enable()	((void)0)

#endif /* CRAB_SHIM_LINUX_PREEMPT_H */
