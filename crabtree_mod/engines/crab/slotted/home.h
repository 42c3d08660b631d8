/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file holds the home lines of a key in a slotted leaf.
 *
 * DOC: homes
 *
 * A key alone tells two lines of whatever leaf it is in: one at the front, one at the back. Its
 * record is put into one of them if there is room, else anywhere. So the line that an
 * operation will want can be asked for as soon as the index tells where the leaf is, and
 * comes while the descriptor does, which tells the slot.
 *
 * A fresh leaf has its records at the front, so that few lines have to be cleaned; the next ones
 * find room at the back.
 *
 * Invariant: none. Homes are a hint, on which nothing that reads a leaf relies.
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

/* Slots in the line of the header, which is written and cleaned with it: nobody's home */
#define CRAB_SLOTTED_HEADER	1U

/* Slots in each other line */
#define CRAB_SLOTTED_LINE	4U

static_assert(offsetof(struct crab_dleaf, slots[CRAB_SLOTTED_HEADER]) == CRAB_LINE);
static_assert(sizeof(struct crab_dslot[CRAB_SLOTTED_LINE]) == CRAB_LINE);

/*
 * Of a leaf's lines so many fifths are the front. More would be more lines to clean in each
 * split, fewer leave records of a fresh leaf without a home.
 */
#define CRAB_HOME_FRONT		3

/**
 * struct crab_homes - how leaves are divided
 * @fronts: lines behind the header's that are the first home of keys
 * @back: the first line that is the second home, counted from the header's, too
 * @backs: how many are
 */
struct crab_homes {
	u32 fronts;
	u32 back;
	u32 backs;
};

/** crab_homes_init() - of leaves of so many bytes */
static inline void crab_homes_init(struct crab_homes *homes, u32 leaf_bytes)
{
	u32 lines = leaf_bytes / CRAB_LINE - 1;

	homes->fronts = DIV_ROUND_UP(lines * CRAB_HOME_FRONT, 5);
	homes->backs = max(lines - homes->fronts, 1U);
	homes->back = lines - homes->backs;	/* the front, where there is but one */
}

/** crab_home_front_line() - the line of the first home, by a key's hash; 0: behind the header's */
static __always_inline u32 crab_home_front_line(const struct crab_homes *homes, u64 hash)
{
	return ((u32)(hash >> 32) & 0xffff) * homes->fronts >> 16;
}

/** crab_home_back_line() - the same of the second home */
static __always_inline u32 crab_home_back_line(const struct crab_homes *homes, u64 hash)
{
	return homes->back + ((u32)(hash >> 48) * homes->backs >> 16);
}

/** crab_home_slot() - the first slot of a line */
static __always_inline u32 crab_home_slot(u32 line)
{
	return CRAB_SLOTTED_HEADER + line * CRAB_SLOTTED_LINE;
}

/** crab_home_front() - the first slot of the first home */
static __always_inline u32 crab_home_front(const struct crab_homes *homes, u64 hash)
{
	return crab_home_slot(crab_home_front_line(homes, hash));
}

/** crab_home_back() - the same of the second */
static __always_inline u32 crab_home_back(const struct crab_homes *homes, u64 hash)
{
	return crab_home_slot(crab_home_back_line(homes, hash));
}

/** crab_home_end() - behind the last slot at the front */
static inline u32 crab_home_end(const struct crab_homes *homes)
{
	return CRAB_SLOTTED_HEADER + homes->fronts * CRAB_SLOTTED_LINE;
}

/**
 * crab_home_fetch() - a hint: a key will be asked for, or written
 * @homes: of its leaf
 * @leaf: where that is on the media, as the index tells it; beside a change where another one is
 * @key: the key
 */
static __always_inline void crab_home_fetch(const struct crab_homes *homes, const void *leaf,
					    u64 key)
{
	const struct crab_dleaf *d = leaf;
	u64 hash = crab_hash(key);

	prefetch(&d->slots[crab_home_front(homes, hash)]);
	prefetch(&d->slots[crab_home_back(homes, hash)]);
}

#endif /* CRABTREE_ENGINES_CRAB_HOME_H */
