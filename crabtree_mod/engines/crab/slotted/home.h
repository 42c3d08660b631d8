/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file implements the home lines of a key in a slotted leaf.
 */

/**
 * DOC: homes
 *
 * A key alone selects two home lines in its leaf: one at the front, one at the back, like hash
 * buckets of one cache line. Its record is stored in one of them if there is room, else anywhere.
 * So an operation can prefetch the line as soon as the index returns the leaf's place, together
 * with the descriptor, which identifies the slot.
 *
 * A fresh leaf has its records at the front, so that few lines have to be cleaned; later ones
 * find room at the back.
 *
 * Invariant: none. Home lines are a hint; no reader of a leaf depends on them.
 *
 * No lock.
 */
#ifndef CRABTREE_ENGINES_CRAB_HOME_H
#define CRABTREE_ENGINES_CRAB_HOME_H

#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include <linux/types.h>

#include "fingerprint.h"
#include "engines/crab/format.h"

/* Slots in the header line, which are written and cleaned with it and are no home */
#define CRAB_SLOTTED_HEADER	1U

/* Slots in each other line */
#define CRAB_SLOTTED_LINE	4U

static_assert(offsetof(struct crab_dleaf, slots[CRAB_SLOTTED_HEADER]) == CRAB_LINE);
static_assert(sizeof(struct crab_dslot[CRAB_SLOTTED_LINE]) == CRAB_LINE);

/*
 * The front is so many fifths of a leaf's lines. More would mean more lines to clean in each split,
 * fewer would leave more records of a fresh leaf in overflow.
 */
#define CRAB_HOME_FRONT		3

/**
 * struct crab_homes - division of leaves
 * @fronts: lines after the header line that are first home lines
 * @back: the first line of the second home lines, counted from the header line, too
 * @backs: number of second home lines
 */
struct crab_homes {
	u32 fronts;
	u32 back;
	u32 backs;
};

/* Initialise for a leaf size */
static inline void crab_homes_init(struct crab_homes *homes, u32 leaf_bytes)
{
	u32 lines = leaf_bytes / CRAB_LINE - 1;

	homes->fronts = DIV_ROUND_UP(lines * CRAB_HOME_FRONT, 5);
	homes->backs = max(lines - homes->fronts, 1U);
	homes->back = lines - homes->backs;	/* the front, if there is only one line */
}

/* The first home line, by a key's hash; 0 is the line after the header line */
static __always_inline u32 crab_home_front_line(const struct crab_homes *homes, u64 hash)
{
	return ((u32)(hash >> 32) & 0xffff) * homes->fronts >> 16;
}

/* The second home line */
static __always_inline u32 crab_home_back_line(const struct crab_homes *homes, u64 hash)
{
	return homes->back + ((u32)(hash >> 48) * homes->backs >> 16);
}

/* The first slot of a line */
static __always_inline u32 crab_home_slot(u32 line)
{
	return CRAB_SLOTTED_HEADER + line * CRAB_SLOTTED_LINE;
}

/* The first slot of the first home line */
static __always_inline u32 crab_home_front(const struct crab_homes *homes, u64 hash)
{
	return crab_home_slot(crab_home_front_line(homes, hash));
}

/* The first slot of the second home line */
static __always_inline u32 crab_home_back(const struct crab_homes *homes, u64 hash)
{
	return crab_home_slot(crab_home_back_line(homes, hash));
}

/* One past the last slot at the front */
static inline u32 crab_home_end(const struct crab_homes *homes)
{
	return CRAB_SLOTTED_HEADER + homes->fronts * CRAB_SLOTTED_LINE;
}

/**
 * crab_home_fetch() - prefetch the home lines of a key
 * @homes: division of its leaf
 * @leaf: address of the leaf on the media, from the index; concurrently with a change perhaps
 *	that of another leaf
 * @key: the key
 */
static __always_inline void crab_home_fetch(const struct crab_homes *homes, const void *leaf,
					    u64 key)
{
	const u8 *lines = (const u8 *)leaf + CRAB_LINE;
	u64 hash = crab_hash(key);

	/* In 64 bits, which compilers turn into one shift */
	prefetch(lines + (u64)CRAB_LINE * crab_home_front_line(homes, hash));
	prefetch(lines + (u64)CRAB_LINE * crab_home_back_line(homes, hash));
}

#endif /* CRABTREE_ENGINES_CRAB_HOME_H */
