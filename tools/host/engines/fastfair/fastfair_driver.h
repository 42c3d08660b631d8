/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the parts of the driver of the engine `fastfair`.
 */
#ifndef CRAB_HOST_FASTFAIR_DRIVER_H
#define CRAB_HOST_FASTFAIR_DRIVER_H

#include "crash.h"
#include "host_driver.h"
#include "load.h"
#include "space.h"
#include "workload.h"

/* A store; fills a struct space, a crash_setup or a part of one. @...: options */
#define FASTFAIR(bytes, ...)	\
	.driver = &host_driver_fastfair, .layout = "shift", .leaf_bytes = bytes, \
	.ff = { __VA_ARGS__ }

extern const struct corruption fastfair_corruptions[];

/* As host_driver.read */
const char *fastfair_image_read(const struct space *space, const struct crab_geometry *geo,
				const struct crab_media *media, struct content *content,
				struct state *state);

/* As host_driver.write */
void fastfair_image_write(const struct space *space, const struct crab_geometry *geo,
			  struct crab_media *media, const u8 *at, const u8 *end);

#endif /* CRAB_HOST_FASTFAIR_DRIVER_H */
