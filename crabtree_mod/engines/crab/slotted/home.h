/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file implements the home lines of a key in a slotted leaf.
 */

/**
 * DOC: homes
 *
 * A key alone selects a group of slots in its leaf, and two home lines of the group: one at its
 * front, one at its back, like hash buckets of one cache line. Its record is stored in one of them
 * if there is room, else anywhere. So an operation can prefetch the lines as soon as the index
 * returns the leaf's place, together with the descriptor, which identifies the slot: mostly by the
 * fingerprints of one group, however large the leaf is.
 *
 * A fresh leaf has its records at the fronts, so that few lines have to be cleaned; later ones
 * find room at the backs.
 *
 * Invariant: none. Home lines are a hint; no reader of a leaf depends on them.
 *
 * No lock.
 */
#ifndef CRABTREE_ENGINES_CRAB_HOME_H
#define CRABTREE_ENGINES_CRAB_HOME_H

#include <linux/log2.h>
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

/* Lines of a group that may be homes: the last slot of the next line is in the next group */
#define CRAB_HOME_LINES		(CRAB_SLOTTED_GROUP / CRAB_SLOTTED_LINE - 1)

/*
 * The front is so many fifths of a group's lines. More would mean more lines to clean in each
 * split, fewer would leave more records of a fresh leaf in overflow.
 */
#define CRAB_HOME_FRONT		3

/**
 * struct crab_homes - division of leaves
 * @last: the first slot of the last group that has homes; their number is a power of two
 * @fronts: lines at the begin of a group that are first home lines
 * @back: the first line of the second home lines, counted from the begin of the group, too
 * @backs: number of second home lines
 */
struct crab_homes {
	u32 last;
	u32 fronts;
	u32 back;
	u32 backs;
};

/* Initialise for a leaf size */
static inline void crab_homes_init(struct crab_homes *homes, u32 leaf_bytes)
{
	u32 groups = DIV_ROUND_UP(crab_leaf_slots(leaf_bytes), CRAB_SLOTTED_GROUP);
	u32 lines = min_t(u32, leaf_bytes / CRAB_LINE - 1, CRAB_HOME_LINES);

	homes->last = (rounddown_pow_of_two(groups) - 1) * CRAB_SLOTTED_GROUP;
	homes->fronts = DIV_ROUND_UP(lines * CRAB_HOME_FRONT, 5);
	homes->backs = max(lines - homes->fronts, 1U);
	homes->back = lines - homes->backs;	/* the front, if there is only one line */
}

/* The first slot of the group in which a key has its home lines, by the key's hash */
static __always_inline u32 crab_home_group(const struct crab_homes *homes, u64 hash)
{
	static_assert(CRAB_SLOTTED_GROUP == 1U << 6);
	return (u32)(hash >> (48 - 6)) & homes->last;
}

/* The first home line, counted from the begin of its group */
static __always_inline u32 crab_home_nth_front(const struct crab_homes *homes, u64 hash)
{
	return ((u32)(hash >> 32) & 0xffff) * homes->fronts >> 16;
}

/* The second home line */
static __always_inline u32 crab_home_nth_back(const struct crab_homes *homes, u64 hash)
{
	return homes->back + ((u32)(hash >> 48) * homes->backs >> 16);
}

/* The first home line; 0 is the line after the header line */
static __always_inline u32 crab_home_front_line(const struct crab_homes *homes, u64 hash)
{
	return crab_home_group(homes, hash) / CRAB_SLOTTED_LINE + crab_home_nth_front(homes, hash);
}

/* The second home line */
static __always_inline u32 crab_home_back_line(const struct crab_homes *homes, u64 hash)
{
	return crab_home_group(homes, hash) / CRAB_SLOTTED_LINE + crab_home_nth_back(homes, hash);
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

/* The slots of all first home lines and of the header line */
static inline u32 crab_home_fronts(const struct crab_homes *homes)
{
	return CRAB_SLOTTED_HEADER + (homes->last / CRAB_SLOTTED_GROUP + 1) * homes->fronts *
				     CRAB_SLOTTED_LINE;
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
	u64 hash = crab_hash(key), group = crab_home_group(homes, hash);
	const u8 *lines = (const u8 *)leaf + CRAB_LINE + group * sizeof(struct crab_dslot);

	/* In 64 bits, which compilers turn into one shift */
	prefetch(lines + (u64)CRAB_LINE * crab_home_nth_front(homes, hash));
	prefetch(lines + (u64)CRAB_LINE * crab_home_nth_back(homes, hash));
}

#endif /* CRABTREE_ENGINES_CRAB_HOME_H */
