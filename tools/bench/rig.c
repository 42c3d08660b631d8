// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the shared parts of the measurements.
 *
 * Invariant: all memory is populated before the clock starts, so that no measurement
 * includes the first use of a page.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <linux/align.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "rig.h"

extern char *program_invocation_short_name;

void rig_fail(const char *what, int err)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(-err));
	exit(1);
}

struct crab_media rig_region(u64 bytes)
{
	struct crab_media media = {
		.size = ALIGN(bytes, RIG_HUGE), .durability = CRAB_DURABILITY_POP,
	};
	u8 *base = mmap(NULL, media.size + RIG_HUGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		rig_fail("no memory for the region", -ENOMEM);
	media.base = (u8 *)ALIGN((unsigned long)base, RIG_HUGE);
	madvise(media.base, media.size, MADV_HUGEPAGE);
	memset(media.base, 0, media.size);
	return media;
}

void rig_region_free(struct crab_media *media)
{
	munmap(media->base, media->size);
}

struct crab_store *rig_attach(struct crab_media *media, const struct crab_attach_options *options)
{
	struct crab_attach_report report;
	struct crab_store *store = crab_store_attach(media, options, &report);

	if (IS_ERR(store))
		rig_fail("attach", PTR_ERR(store));
	return store;
}

void rig_format_as(struct crab_media *media, const struct crab_format_options *options)
{
	char reason[CRAB_REASON_LEN];
	int err = crab_store_format(media, options, reason);

	if (err)
		rig_fail(reason, err);
}

void rig_format(struct crab_media *media, const char *engine, const char *layout, u32 leaf_bytes)
{
	const struct crab_format_options options = {
		.force = true, .leaf_bytes = leaf_bytes, .engine = engine, .layout = layout,
		.label = "bench",
	};

	rig_format_as(media, &options);
}

/* The CPUs of the program at its begin: children of a pinned thread inherit only one CPU */
static cpu_set_t allowed;

static const cpu_set_t *allowed_cpus(void)
{
	if (!CPU_COUNT(&allowed) && sched_getaffinity(0, sizeof(allowed), &allowed))
		rig_fail("affinity", -errno);
	return &allowed;
}

void rig_pin(u32 nth)
{
	const cpu_set_t *may = allowed_cpus();
	cpu_set_t set;
	u32 cpu;

	nth %= CPU_COUNT(may);
	for (cpu = 0; !CPU_ISSET(cpu, may) || nth--; cpu++)
		;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		rig_fail("not pinned", -errno);
}

void rig_leave_first_cpu(void)
{
	const cpu_set_t *may = allowed_cpus();
	cpu_set_t set = *may;
	u32 cpu;

	for (cpu = 0; !CPU_ISSET(cpu, may); cpu++)
		;
	CPU_CLR(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		rig_fail("there is one CPU only", -errno);
	allowed = set;
}

u64 rig_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}
