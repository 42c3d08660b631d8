/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file defines the leaves of this engine on the media; Documentation/design/format.rst
 * describes them byte by byte. A change here is a change of the format.
 *
 * Invariants: those of media/format.h.
 */
#ifndef CRABTREE_ENGINES_CRAB_FORMAT_H
#define CRABTREE_ENGINES_CRAB_FORMAT_H

#include "media/format.h"
#include "media/hooks.h"

#define CRAB_BITMAP_OFFSET	CRAB_AREA_OFFSET	/* of the layout sorted */

struct crab_dslot {
	__le64 key;
	__le64 value;
};

struct crab_dleaf {
	struct crab_dhead head;
	struct crab_dslot slots[];
};

static_assert(sizeof(struct crab_dslot) == 16);
static_assert(offsetof(struct crab_dleaf, slots) == 48);

/**
 * crab_leaf_slots() - records that a leaf can hold
 * @leaf_bytes: size of the leaf
 * Context: any.
 * Return: number of slots.
 */
static inline u32 crab_leaf_slots(u32 leaf_bytes)
{
	u32 slots = (leaf_bytes - sizeof(struct crab_dhead)) / sizeof(struct crab_dslot);

	return crab_hook_slots(slots);
}

#endif /* CRABTREE_ENGINES_CRAB_FORMAT_H */
