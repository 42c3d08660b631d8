/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_CPUMASK_H
#define CRAB_SHIM_LINUX_CPUMASK_H

/* As many as the program says; 0 until then: those that there are */
extern unsigned int crab_host_cpus;

unsigned int num_online_cpus(void);

#endif /* CRAB_SHIM_LINUX_CPUMASK_H */
