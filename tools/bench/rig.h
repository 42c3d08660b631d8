/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the shared parts of the measurements: the memory, the store in it, and the
 * pinning of threads to CPUs.
 *
 * An error here ends the program with a message.
 */
#ifndef CRAB_BENCH_RIG_H
#define CRAB_BENCH_RIG_H

#include "store/store.h"

#define RIG_HUGE	(2ULL << 20)

/**
 * rig_fail() - print an error and exit
 * @what: the failed action
 * @err: a negative errno
 */
void rig_fail(const char *what, int err) __attribute__((__noreturn__));

/**
 * rig_region() - allocate zeroed memory for a region, in huge pages if available
 * @bytes: size of the region
 *
 * Return: the media; an error exits.
 */
struct crab_media rig_region(u64 bytes);

/**
 * rig_region_free() - free a region
 * @media: from rig_region()
 */
void rig_region_free(struct crab_media *media);

/**
 * rig_attach() - attach the store in a region
 * @media: the region
 * @options: of the attach
 *
 * Return: the store; an error exits.
 */
struct crab_store *rig_attach(struct crab_media *media, const struct crab_attach_options *options);

/**
 * rig_format_as() - make an empty store in a region; an error exits
 * @media: the region
 * @options: of FORMAT
 */
void rig_format_as(struct crab_media *media, const struct crab_format_options *options);

/**
 * rig_format() - the same for a store of records
 * @media: the region
 * @engine: name of the engine
 * @layout: name of the layout
 * @leaf_bytes: size of a leaf
 */
void rig_format(struct crab_media *media, const char *engine, const char *layout, u32 leaf_bytes);

/**
 * rig_pin() - pin this thread to one CPU
 * @nth: number of the CPU among those of the program, modulo their number
 *
 * The first call comes from the first thread.
 */
void rig_pin(u32 nth);

/**
 * rig_leave_first_cpu() - make rig_pin() skip the first CPU from now on
 */
void rig_leave_first_cpu(void);

/**
 * rig_cpu_ns() - read the CPU time of this thread
 *
 * Return: nanoseconds.
 */
u64 rig_cpu_ns(void);

#endif /* CRAB_BENCH_RIG_H */
