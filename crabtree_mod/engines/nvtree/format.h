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

struct nv_dentry {
	__le64 low;		/* lowest key of a leaf */
	__le64 link;		/* the link to it */
};

/*
 * Parked entries of the parent nodes, in free blocks that engine_root leads to. @head.next: the
 * next such block; @head.own: number of entries, and above it the crc32c of all after the header
 */
struct nv_dparked {
	struct crab_dhead head;
	__le64 leaves;		/* entries of all blocks */
	__le64 records;		/* of the store */
	struct nv_dentry entry[];
};

static_assert(sizeof(struct nv_dline) == CRAB_LINE);
static_assert(offsetof(struct nv_dparked, entry) == CRAB_LINE);
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

/**
 * nv_park_room() - entries that a parked block can hold
 * @leaf_bytes: size of the block
 * Context: any.
 * Return: their number.
 */
static inline u32 nv_park_room(u32 leaf_bytes)
{
	u32 entries = (leaf_bytes - sizeof(struct nv_dparked)) / sizeof(struct nv_dentry);

	return crab_hook_slots(entries);
}

#endif /* CRABTREE_ENGINES_NVTREE_FORMAT_H */
