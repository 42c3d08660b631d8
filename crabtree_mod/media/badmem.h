/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares bad memory: ranges of a region that cannot be read. The provider of the
 * region lists them; attach and FORMAT look them up before they read or write.
 *
 * Layer L1: it includes nothing outside media/; every folder may include it.
 *
 * Locking: inside.
 */
#ifndef CRABTREE_BADMEM_H
#define CRABTREE_BADMEM_H

#include <linux/spinlock.h>

#include "persist.h"

/* The kernel's lists of bad blocks have as many entries (MAX_BADBLOCKS) */
#define CRAB_BADMEM_MAX		512
#define CRAB_BADMEM_PAGE	4096ULL		/* that a machine check makes unusable */

/**
 * struct crab_badmem - the ranges of a region that cannot be read
 * @lock: protects the other fields; innermost
 * @count: number of ranges; read without the lock to see that there is none
 * @added: number of additions so far
 * @range: sorted; they neither overlap nor touch; when: the addition that made or enlarged it
 */
struct crab_badmem {
	spinlock_t lock;
	u32 count;
	u32 added;
	struct {
		u64 from;
		u64 to;
		u32 when;
	} range[CRAB_BADMEM_MAX];
};

/**
 * crab_badmem_init() - make an empty list
 * @bad: the list
 * Context: any.
 */
void crab_badmem_init(struct crab_badmem *bad);

/**
 * crab_badmem_add() - add a range that cannot be read
 * @bad: the list; if it is full, the nearest range grows to include this one
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
 * Context: process context.
 * Return: false if there is none.
 */
bool crab_badmem_next(const struct crab_media *media, u64 offset, u64 *from, u64 *to);

/**
 * crab_badmem_added() - the number of additions so far
 * @media: the region
 *
 * All of them are in the list, for lookups after this call.
 *
 * Context: process context.
 * Return: their number.
 */
u32 crab_badmem_added(const struct crab_media *media);

/**
 * crab_badmem_since() - the first bad range from an offset on that was added, or enlarged, later
 * @media: the region
 * @added: from crab_badmem_added()
 * @offset: where to begin
 * @from: out: its offset
 * @to: out: the offset after it
 * Context: process context.
 * Return: false if there is none.
 */
bool crab_badmem_since(const struct crab_media *media, u32 added, u64 offset, u64 *from, u64 *to);

/**
 * crab_badmem_next_page() - crab_badmem_next(), of whole pages
 * @media: the region
 * @offset: where to begin
 * @from: out: its offset, at least @offset
 * @to: out: the offset after it, which may be beyond the region
 *
 * After a machine check x86 takes the whole page out of the kernel's map. Reads of the rest of it
 * may still succeed (crab_badmem_probe()); a write to it would stop the kernel.
 *
 * Context: process context.
 * Return: false if there is none.
 */
bool crab_badmem_next_page(const struct crab_media *media, u64 offset, u64 *from, u64 *to);

/**
 * crab_badmem_hits() - whether a part of a range is in the list
 * @media: the region
 * @offset: of the first byte
 * @len: bytes
 * Context: process context; does not read the media.
 * Return: true if so.
 */
bool crab_badmem_hits(const struct crab_media *media, u64 offset, u64 len);

#if defined(__KERNEL__) && !defined(CRABTREE_HOST) && defined(CONFIG_ARCH_HAS_COPY_MC)
#define CRAB_BADMEM_COPIES
/**
 * crab_badmem_survives() - copy a range by a function that survives a machine check
 * @at: the first byte
 * @len: bytes
 * Context: process context.
 * Return: false if it met one.
 */
bool crab_badmem_survives(const u8 *at, u64 len);
#else
static inline bool crab_badmem_survives(const u8 *at, u64 len)
{
	return true;
}
#endif

/**
 * crab_badmem_probe() - whether a range can be read
 * @media: the region
 * @offset: of the first byte
 * @len: bytes
 *
 * A range in the list cannot. Others are copied by a function that survives a machine check,
 * if the architecture has one. The lines are then in the caches, for the plain loads after it.
 * Inline, because attach calls it for each header of the pool: out of line it was 12 % of the
 * instructions of an attach (callgrind, 50,000 records).
 *
 * Context: process context.
 * Return: true if plain loads are safe.
 */
static inline bool crab_badmem_probe(const struct crab_media *media, u64 offset, u64 len)
{
	if (unlikely(media->bad && READ_ONCE(media->bad->count)) &&
	    crab_badmem_hits(media, offset, len))
		return false;
	return crab_badmem_survives(media->base + offset, len);
}

#endif /* CRABTREE_BADMEM_H */
