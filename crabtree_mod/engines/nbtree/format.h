/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file defines the leaves of this engine on the media. A change here changes the format:
 * Documentation/design/protocols-nbtree.rst describes it byte by byte.
 *
 * Invariants: those of media/format.h. No slot crosses a cache line.
 */
#ifndef CRABTREE_ENGINES_NBTREE_FORMAT_H
#define CRABTREE_ENGINES_NBTREE_FORMAT_H

#include "media/format.h"
#include "media/hooks.h"

#define NB_LEAF_BYTES_MAX	1024U	/* a word of DRAM has a bit for each slot */
#define NB_SLOTS_MAX		61U

enum nb_layout {
	NB_LAYOUT_ADR = 1,
	NB_LAYOUT_EADR,
};

struct nb_dslot {
	__le64 key;		/* CRAB_KEY_EMPTY: free */
	__le64 value;
};

struct nb_dleaf {
	struct crab_dhead head;	/* @own is 0 */
	struct nb_dslot slot[];
};

static_assert(offsetof(struct nb_dleaf, slot) % sizeof(struct nb_dslot) == 0);
static_assert((NB_LEAF_BYTES_MAX - sizeof(struct nb_dleaf)) / sizeof(struct nb_dslot) ==
	      NB_SLOTS_MAX);

/**
 * nb_room() - records that a leaf can hold
 * @leaf_bytes: size of the leaf
 * Context: any.
 * Return: their number.
 */
static inline u32 nb_room(u32 leaf_bytes)
{
	u32 slots = (leaf_bytes - sizeof(struct nb_dleaf)) / sizeof(struct nb_dslot);

	return crab_hook_slots(slots);
}

#endif /* CRABTREE_ENGINES_NBTREE_FORMAT_H */
