/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the shared parts of the measurements: memory to measure in, a store in
 * it, CPUs to stay on.
 *
 * An error here ends the program with a message.
 */
#ifndef CRAB_BENCH_RIG_H
#define CRAB_BENCH_RIG_H

#include "store/store.h"

#define RIG_HUGE	(2ULL << 20)

/** rig_fail() - print that @what failed with the error -@err, and exit */
void rig_fail(const char *what, int err) __attribute__((__noreturn__));

/** rig_region() - zeroed memory for a region, in huge pages where there are any */
struct crab_media rig_region(u64 bytes);

/** rig_region_free() - free a region */
void rig_region_free(struct crab_media *media);

/** rig_attach() - attach the store in a region */
struct crab_store *rig_attach(struct crab_media *media, const struct crab_attach_options *options);

/** rig_format() - an empty store in a region */
void rig_format(struct crab_media *media, const char *engine, const char *layout, u32 leaf_bytes);

/**
 * rig_pin() - this thread stays on one CPU
 * @nth: of those that the program may use, counted around
 *
 * The first call comes from the first thread.
 */
void rig_pin(u32 nth);

/** rig_leave_first_cpu() - rig_pin() counts without the first CPU from here on */
void rig_leave_first_cpu(void);

/** rig_cpu_ns() - CPU time of this thread */
u64 rig_cpu_ns(void);

#endif /* CRAB_BENCH_RIG_H */
