/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_SCHED_MM_H
#define CRAB_SHIM_LINUX_SCHED_MM_H

struct mem_cgroup;

static inline struct mem_cgroup *set_active_memcg(struct mem_cgroup *memcg)
{
	return memcg;
}

#endif /* CRAB_SHIM_LINUX_SCHED_MM_H */
