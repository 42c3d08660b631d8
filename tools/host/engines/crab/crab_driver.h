/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the parts of the driver of the engine `crab`.
 */
#ifndef CRAB_HOST_CRAB_DRIVER_H
#define CRAB_HOST_CRAB_DRIVER_H

#include "crash.h"
#include "host_driver.h"
#include "load.h"
#include "space.h"
#include "workload.h"

/* A store of one layout; both macros fill a struct space, a crash_setup or a part of one */
#define CRAB_SLOTTED(bytes)	\
	.driver = &host_driver_crab, .layout = "slotted", .leaf_bytes = bytes
#define CRAB_SORTED(bytes, how, ...)	\
	.driver = &host_driver_crab, .layout = "sorted", .leaf_bytes = bytes, \
	.tuning = { .strategy = CRAB_STRATEGY_ ## how, ##__VA_ARGS__ }

extern const struct space crab_spaces[];
extern const struct load crab_loads[];
extern const struct workload crab_workloads[];
extern const struct crash_setup crab_setups[];
extern const struct corruption crab_corruptions[];

/* As host_driver.read */
const char *crab_image_read(const struct space *space, const struct crab_geometry *geo,
			    const struct crab_media *media, struct content *content,
			    struct state *state);

/* As host_driver.write */
void crab_image_write(const struct space *space, const struct crab_geometry *geo,
		      struct crab_media *media, const u8 *at, const u8 *end);

#endif /* CRAB_HOST_CRAB_DRIVER_H */
