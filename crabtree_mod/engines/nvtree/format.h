/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file defines the leaves of this engine on the media; Documentation/design/format.rst
 * describes them byte by byte. A change here is a change of the format.
 *
 * Invariants: those of media/format.h. No element crosses a cache line.
 */
#ifndef CRABTREE_ENGINES_NVTREE_FORMAT_H
#define CRABTREE_ENGINES_NVTREE_FORMAT_H

#include "media/format.h"
#include "media/hooks.h"

#define NV_LINE_SLOTS	3U

struct nv_dslot {
	__le64 key;
	__le64 value;
};

struct nv_dline {
	struct nv_dslot slot[NV_LINE_SLOTS];
	__le64 sign;		/* bit i: the element in slot i is negative */
	__le64 zero;		/* reserved */
};

struct nv_dleaf {
	struct crab_dhead head;
	__le64 count;		/* elements; those from here on are not read */
	__le64 zero;		/* reserved */
	struct nv_dline line[];
};

static_assert(sizeof(struct nv_dline) == CRAB_LINE);
static_assert(offsetof(struct nv_dleaf, line) == CRAB_LINE);

/**
 * nv_room() - elements that a leaf can hold
 * @leaf_bytes: size of the leaf
 * Context: any.
 * Return: their number.
 */
static inline u32 nv_room(u32 leaf_bytes)
{
	u32 slots = (leaf_bytes / CRAB_LINE - 1) * NV_LINE_SLOTS;

	return crab_hook_slots(slots);
}

#endif /* CRABTREE_ENGINES_NVTREE_FORMAT_H */
