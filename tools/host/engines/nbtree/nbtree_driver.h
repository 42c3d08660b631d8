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

#define EADR(bytes)	.driver = &host_driver_eadr, .layout = "eadr", .leaf_bytes = bytes

#define NBTREE_IMAGE_LEAVES	24	/* more: the list is a ring */

/* Words of a leaf */
#define NBTREE_WORD_LOW		3
#define NBTREE_WORD_SLOTS	6

extern const struct corruption nbtree_corruptions[];

/* A word of a leaf */
__le64 *nbtree_word(const struct crab_media *media, const struct crab_geometry *geo, u64 leaf,
		    u32 word);

/* Adds a record, whose value is decoded, to a content and to a state; NULL, or the fault in words */
const char *nbtree_record_read(const struct space *space, const struct crab_geometry *geo,
			       const struct crab_media *media, struct crab_record *r,
			       struct content *content, struct state *state);

/* The lowest key of the leaf that @bits of the link of a leaf name, or the end of all keys */
u64 nbtree_next_low(const struct crab_geometry *geo, const struct crab_media *media, u64 leaf,
		    u64 bits);

/* Writes the header of leaf @i, linked to leaf @i + 1, whose birth is the next one */
void nbtree_header_write(struct crab_flow *flow, const struct crab_geometry *geo, u32 i, u64 birth,
			 u64 low, bool last);
void nbtree_slot_write(struct crab_flow *flow, const struct crab_geometry *geo, u64 leaf, u32 i,
		       u64 key, u64 value);

#define NBTREE_SEALED_BIT	(1ULL << 50)	/* of a link: in its check */

/* As host_driver.sealed: the link of the head and those of all leaves */
u32 nbtree_sealed(struct crab_store *store, __le64 **words, u32 room);

/* As host_driver.read */
const char *nbtree_image_read(const struct space *space, const struct crab_geometry *geo,
			      const struct crab_media *media, struct content *content,
			      struct state *state);

/* As host_driver.write */
void nbtree_image_write(const struct space *space, const struct crab_geometry *geo,
			struct crab_media *media, const u8 *at, const u8 *end);

/* The same for the layout `eadr` */
const char *eadr_image_read(const struct space *space, const struct crab_geometry *geo,
			    const struct crab_media *media, struct content *content,
			    struct state *state);
void eadr_image_write(const struct space *space, const struct crab_geometry *geo,
		      struct crab_media *media, const u8 *at, const u8 *end);

#endif /* CRAB_HOST_NBTREE_DRIVER_H */
