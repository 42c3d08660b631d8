/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file defines the leaves and nodes of this engine on the media;
 * Documentation/design/protocols-clfb.rst describes them byte by byte. A change here is a change
 * of the format.
 *
 * Invariants: those of media/format.h. A node is one cache line.
 */
#ifndef CRABTREE_ENGINES_CLFB_FORMAT_H
#define CRABTREE_ENGINES_CLFB_FORMAT_H

#include <linux/minmax.h>

#include "media/format.h"
#include "media/hooks.h"
#include "shared/geometry.h"

#define CLFB_LINE_WORDS		8U
#define CLFB_BITMAP_WORDS	2U
#define CLFB_LEAF_BYTES_MAX	2048U	/* the bitmap has a bit for each slot */
#define CLFB_LEVELS_MAX		24U	/* of nodes above the leaves */

#define CLFB_LAYOUT_INPLACE	1
#define CLFB_LAYOUT_TWIN	2
#define CLFB_LAYOUT_ATOMIC	4
#define CLFB_LAYOUT_ENCODED	5
#define CLFB_LAYOUT_BARE	3	/* only builds that measure: clfb_is_bare() */

struct clfb_dslot {
	__le64 key;
	__le64 value;
};

struct clfb_dleaf {
	struct crab_dhead head;			/* @next, @birth and @own are 0 */
	__le64 valid[CLFB_BITMAP_WORDS];	/* bit i: slot i holds a record */
	struct clfb_dslot slot[];
};

/* A leaf of `encoded` is one line, by bytes */
#define CLFB_LEAF_CRC		0	/* 4 bytes */
#define CLFB_LEAF_COUNT		4	/* number of records */
#define CLFB_LEAF_WIDTH		5	/* bytes of a key from the second one on */
#define CLFB_LEAF_KEY		8	/* 8 bytes: the first key; or a key of the range */
#define CLFB_LEAF_PAYLOAD	16	/* values, 8 bytes each; keys, as differences */

#define CLFB_LEAF_RECORDS_MAX	5U	/* with two bytes for each key */

/* A node line, by bytes */
#define CLFB_CRC		0	/* 4 bytes */
#define CLFB_COUNT		4	/* number of children; above it CLFB_OF_LEAVES */
#define CLFB_WIDTHS		5	/* bytes of a key; those of a reference << 4 */
#define CLFB_MARK		6	/* 1 valid, 0 not; `twin`: sequence */
#define CLFB_REF		7	/* 5 bytes: the first child */
#define CLFB_KEY		12	/* 8 bytes: the lowest key of the second child */
#define CLFB_PAYLOAD		20	/* references from child 1 on; keys from child 2 on */

#define CLFB_REF_BYTES		5U
#define CLFB_OF_LEAVES		0x80U	/* the children are leaves */
#define CLFB_PAYLOAD_BYTES	(CRAB_LINE - CLFB_PAYLOAD)
#define CLFB_CHILDREN_MAX	23U	/* with one byte for each reference and each key */

#ifndef CRAB_CLFB_FANOUT		/* test builds: shadow/test_config.h */
#define CRAB_CLFB_FANOUT	CLFB_CHILDREN_MAX
#endif

/* The word at CRAB_HEAD_OFFSET: the number of the root, its level, check bits */
#define CLFB_ROOT_BITS		40
#define CLFB_ROOT_MASK		((1ULL << CLFB_ROOT_BITS) - 1)
#define CLFB_LEVEL_MASK		31U
#define CLFB_CHECK_SHIFT	45

static_assert(sizeof(struct clfb_dleaf) == CRAB_LINE);
static_assert(CLFB_LEVELS_MAX <= CLFB_LEVEL_MASK);

/*
 * The published leaf: one word of the bitmap, then slots. It has no header, so attach recognises
 * no foreign or stale leaf: it is only for counts that are compared with those of the paper.
 */
static inline bool clfb_is_bare(const struct crab_geometry *geo)
{
#ifdef CRAB_CLFB_BARE
	return geo->layout == CLFB_LAYOUT_BARE;
#else
	return false;
#endif
}

/* Lines of nodes are stored as a whole (model A) */
static inline bool clfb_is_atomic(const struct crab_geometry *geo)
{
	return geo->layout == CLFB_LAYOUT_ATOMIC || geo->layout == CLFB_LAYOUT_ENCODED;
}

/**
 * clfb_room() - records that a leaf can hold
 * @leaf_bytes: size of the leaf
 * Context: any.
 * Return: their number.
 */
static inline u32 clfb_room(u32 leaf_bytes)
{
	u32 slots = (leaf_bytes - sizeof(struct clfb_dleaf)) / sizeof(struct clfb_dslot);

	return crab_hook_slots(slots);
}

/* The same of a leaf without a header */
static inline u32 clfb_room_bare(u32 leaf_bytes)
{
	u32 slots = (leaf_bytes - sizeof(__le64)) / sizeof(struct clfb_dslot);

	return crab_hook_slots(slots);
}

/* The same of a leaf that is one line; any three records fit */
static inline u32 clfb_room_encoded(u32 leaf_bytes)
{
	return crab_hook_slots(CLFB_LEAF_RECORDS_MAX);
}

/* The same for the layout of a store */
static inline u32 clfb_records(const struct crab_geometry *geo)
{
	if (clfb_is_bare(geo))
		return clfb_room_bare(geo->leaf_bytes);
	return geo->layout == CLFB_LAYOUT_ENCODED ? clfb_room_encoded(geo->leaf_bytes) :
						    clfb_room(geo->leaf_bytes);
}

/* Lines that a fresh leaf with so many records cleans. The published leaf is flushed whole */
static inline u32 clfb_fresh_lines(const struct crab_geometry *geo, u32 records)
{
	u32 bytes = sizeof(struct clfb_dleaf) + records * sizeof(struct clfb_dslot);

	if (clfb_is_bare(geo))
		bytes = geo->leaf_bytes;
	return DIV_ROUND_UP(min(bytes, geo->leaf_bytes), CRAB_LINE);
}

#endif /* CRABTREE_ENGINES_CLFB_FORMAT_H */
