/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares bad memory: ranges of a region that cannot be read. Their provider
 * lists them; attach and FORMAT ask before they read or write.
 *
 * Locking: inside.
 */
#ifndef CRABTREE_BADMEM_H
#define CRABTREE_BADMEM_H

#include <linux/spinlock.h>

#include "persist.h"

/* As many as a list of bad blocks has entries (MAX_BADBLOCKS) */
#define CRAB_BADMEM_MAX		512

/**
 * struct crab_badmem - the ranges of a region that cannot be read
 * @lock: of the rest; innermost
 * @count: ranges; read without the lock to see that there is none
 * @range: sorted; they neither overlap nor touch
 */
struct crab_badmem {
	spinlock_t lock;
	u32 count;
	struct {
		u64 from;
		u64 to;
	} range[CRAB_BADMEM_MAX];
};

/** crab_badmem_init() - no range is bad */
void crab_badmem_init(struct crab_badmem *bad);

/**
 * crab_badmem_add() - a range cannot be read
 * @bad: the list; where it is full, the nearest range grows to hold this one
 * @from: its offset in the region
 * @len: bytes; 0: nothing
 * Context: process context.
 */
void crab_badmem_add(struct crab_badmem *bad, u64 from, u64 len);

/**
 * crab_badmem_next() - the first bad range from an offset on
 * @media: the region
 * @offset: where to begin
 * @from: out: its offset, at least @offset
 * @to: out: the offset after it
 * Return: false if there is none.
 */
bool crab_badmem_next(const struct crab_media *media, u64 offset, u64 *from, u64 *to);

/** crab_badmem_hits() - is a part of these bytes in the list? Reads no media */
bool crab_badmem_hits(const struct crab_media *media, u64 offset, u64 len);

/**
 * crab_badmem_probe() - can these bytes be read?
 * @media: the region
 * @offset: of the first byte
 * @len: bytes
 *
 * Not if they are in the list. Otherwise the architecture tries, if it has a copy that
 * survives a machine check. Plain loads follow: the lines are in the caches then.
 *
 * Context: any.
 */
bool crab_badmem_probe(const struct crab_media *media, u64 offset, u64 len);

#endif /* CRABTREE_BADMEM_H */
