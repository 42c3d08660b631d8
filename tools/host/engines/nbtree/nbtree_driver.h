/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the parts of the driver of the engine `nbtree`.
 */
#ifndef CRAB_HOST_NBTREE_DRIVER_H
#define CRAB_HOST_NBTREE_DRIVER_H

#include "crash.h"
#include "host_driver.h"
#include "load.h"
#include "space.h"
#include "workload.h"

/* A store; fills a struct space, a crash_setup or a part of one */
#define ADR(bytes)	.driver = &host_driver_nbtree, .layout = "adr", .leaf_bytes = bytes

extern const struct corruption nbtree_corruptions[];

/* As host_driver.read */
const char *nbtree_image_read(const struct space *space, const struct crab_geometry *geo,
			      const struct crab_media *media, struct content *content,
			      struct state *state);

/* As host_driver.write */
void nbtree_image_write(const struct space *space, const struct crab_geometry *geo,
			struct crab_media *media, const u8 *at, const u8 *end);

#endif /* CRAB_HOST_NBTREE_DRIVER_H */
