/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_CPUMASK_H
#define CRAB_SHIM_LINUX_CPUMASK_H

#include <linux/smp.h>

/* Number of CPUs set by the program; 0: the CPUs of the machine */
extern unsigned int crab_host_cpus;

unsigned int num_online_cpus(void);

/* Each thread counts as a CPU, see smp.h */
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < CRAB_HOST_THREADS; (cpu)++)

#endif /* CRAB_SHIM_LINUX_CPUMASK_H */
