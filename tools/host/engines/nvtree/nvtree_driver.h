/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the parts of the driver of the engine `nvtree`.
 */
#ifndef CRAB_HOST_NVTREE_DRIVER_H
#define CRAB_HOST_NVTREE_DRIVER_H

#include "crash.h"
#include "host_driver.h"
#include "load.h"
#include "space.h"
#include "workload.h"

/* A store; fills a struct space, a crash_setup or a part of one. @...: options */
#define NVTREE(bytes, ...)	\
	.driver = &host_driver_nvtree, .layout = "append", .leaf_bytes = bytes, \
	.nv = { __VA_ARGS__ }

extern const struct corruption nvtree_corruptions[];

/* As host_driver.read */
const char *nvtree_image_read(const struct space *space, const struct crab_geometry *geo,
			      const struct crab_media *media, struct content *content,
			      struct state *state);

/* As host_driver.write */
void nvtree_image_write(const struct space *space, const struct crab_geometry *geo,
			struct crab_media *media, const u8 *at, const u8 *end);

/* As host_driver.root */
u64 nvtree_image_root(const struct space *space, const struct crab_geometry *geo, const u8 *at,
		      const u8 *end);

#endif /* CRAB_HOST_NVTREE_DRIVER_H */
