/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the parts of the driver of the engine `clfb`.
 */
#ifndef CRAB_HOST_CLFB_DRIVER_H
#define CRAB_HOST_CLFB_DRIVER_H

#include "crash.h"
#include "host_driver.h"
#include "load.h"
#include "space.h"
#include "workload.h"

/* A store; fills a struct space, a crash_setup or a part of one */
#define INPLACE(bytes)	.driver = &host_driver_clfb, .layout = "inplace", .leaf_bytes = bytes
#define ENCODED		.driver = &host_driver_clfb, .layout = "encoded", .leaf_bytes = 64
#define ATOMIC(bytes)	.driver = &host_driver_clfb, .layout = "atomic", .leaf_bytes = bytes
#define TWIN(bytes)	.driver = &host_driver_clfb, .layout = "twin", .leaf_bytes = bytes

extern const struct corruption clfb_corruptions[];

/* As host_driver.read */
const char *clfb_image_read(const struct space *space, const struct crab_geometry *geo,
			    const struct crab_media *media, struct content *content,
			    struct state *state);

/* As host_driver.write */
void clfb_image_write(const struct space *space, const struct crab_geometry *geo,
		      struct crab_media *media, const u8 *at, const u8 *end);

#endif /* CRAB_HOST_CLFB_DRIVER_H */
