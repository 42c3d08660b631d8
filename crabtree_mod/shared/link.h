/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares leaf headers and the words that link leaves.
 *
 * Layer L3: it includes media/ only; engines/, store/ and tests include it.
 *
 * No lock: the lock of the structure that contains them.
 */
#ifndef CRABTREE_LINK_H
#define CRABTREE_LINK_H

#include <linux/prefetch.h>
#include <linux/types.h>

#include "geometry.h"
#include "media/persist.h"

/* The last birth. A header with a higher one is not valid */
#define CRAB_BIRTH_MAX		(1ULL << 62)

/*
 * Half of the births are enough for the operations of any life: who begins in the lower half never
 * reaches the last one. So a high birth counts only in the list: elsewhere, the bytes of a header
 * may be those of a user.
 */
static inline bool crab_birth_is_high(u64 birth)
{
	return birth > CRAB_BIRTH_MAX / 2;
}

/**
 * struct crab_head - a leaf header in the CPU's byte order
 * @next: the link word
 * @self: offset of the header in the region
 * @birth: birth of the leaf
 * @low: lowest key that the leaf may hold
 * @own: the word of the engine; crab keeps the value of free slots here
 */
struct crab_head {
	u64 next;
	u64 self;
	u64 birth;
	u64 low;
	u64 own;
};

/* @store_id and @crc share the last word of the header */
static inline __le64 *crab_head_seal(struct crab_dhead *d)
{
	return (__le64 *)&d->store_id;
}

/**
 * crab_head_load() - read a header
 * @media: the region
 * @offset: of the header
 * @store_id: of the store
 * @head: out
 *
 * The rest of the header's line can be read if the header could be.
 *
 * Context: any.
 * Return: false if it is not a header of this store, or cannot be read.
 */
bool crab_head_load(const struct crab_media *media, u64 offset, u32 store_id,
		    struct crab_head *head);

/**
 * crab_head_store() - write the header of a fresh leaf
 * @flow: the caller's flow
 * @store_id: id of the store
 * @head: the header
 * Context: any; the caller cleans the line.
 */
void crab_head_store(struct crab_flow *flow, u32 store_id, const struct crab_head *head);

/**
 * crab_link_check() - check bits of a link
 * @store_id: id of the store
 * @offset: offset of the target in the region
 * @birth: birth of the target
 * Context: any.
 * Return: the check bits, at their place in the link word.
 */
static inline u64 crab_link_check(u32 store_id, u64 offset, u64 birth)
{
	u64 h = (offset ^ (u64)store_id << 32) * 0x9e3779b97f4a7c15ULL;

	h = (h ^ h >> 32 ^ birth) * 0xd6e8feb86659fd93ULL;
	return h >> CRAB_LINK_BITS << CRAB_LINK_BITS;
}

/**
 * crab_link_to() - link word to a leaf
 * @geo: the geometry
 * @number: number of the leaf
 * @birth: birth of the leaf
 * Context: any.
 * Return: the word.
 */
u64 crab_link_to(const struct crab_geometry *geo, u64 number, u64 birth);

/**
 * crab_link_end() - link word at the end of the list
 * @store_id: id of the store
 * @offset: offset of the last leaf in the region
 * @birth: birth of the last leaf
 * Context: any.
 * Return: the word.
 */
u64 crab_link_end(u32 store_id, u64 offset, u64 birth);

/**
 * crab_link_holds() - whether the target of a link is the leaf for which the word was made
 * @media: the region
 * @geo: the geometry
 * @link: the word; any value
 *
 * It reads the header of the target, but does not compare its crc: attach did.
 *
 * Context: any; the memory of all leaves in use can be read.
 * Return: false if the word names no leaf of the pool, or if the check bits differ.
 */
static __always_inline bool crab_link_holds(const struct crab_media *media,
					    const struct crab_geometry *geo, u64 link)
{
	u64 number = (link & CRAB_LINK_MASK) - 1, offset;
	struct crab_dhead *d;

	if (number >= geo->leaves)
		return false;
	offset = crab_leaf_offset(geo, number);
	d = (struct crab_dhead *)(media->base + offset);
	return crab_load(media, &d->self) == offset &&
	       (u32)crab_load(media, crab_head_seal(d)) == geo->store_id &&
	       (link & ~CRAB_LINK_MASK) ==
	       crab_link_check(geo->store_id, offset, crab_load(media, &d->birth));
}

/* The header at the head of the list of leaves */
static inline struct crab_dhead *crab_list_head(const struct crab_media *media)
{
	return (struct crab_dhead *)(media->base + CRAB_HEAD_OFFSET);
}

/**
 * crab_list_format() - end FORMAT: the head of a list of one leaf, which is leaf 0 with birth 1
 * @flow: the caller's flow, which has cleaned the leaf
 * @geo: the geometry
 *
 * Durable on return, with the leaf (P2).
 *
 * Context: the region belongs to the caller.
 */
void crab_list_format(struct crab_flow *flow, const struct crab_geometry *geo);

/**
 * crab_link_doubt() - attach: read the header of the leaf that a link names
 * @media: the region
 * @geo: the geometry
 * @link: the word; any value
 * @used: one bit for each leaf that attach has met before
 * @head: out: the header
 *
 * The leaf must belong to this store, have the birth for which the word was made, and be new.
 *
 * Context: attach.
 * Return: NULL, or a description of the damage.
 */
const char *crab_link_doubt(const struct crab_media *media, const struct crab_geometry *geo,
			    u64 link, const unsigned long *used, struct crab_head *head);

/**
 * crab_link_prefetch() - attach: announce a leaf that will be read after the one before it
 * @media: the region
 * @geo: the geometry
 * @leaf: its number, which crab_link_doubt() has verified
 * @link: its link; any value. The header to which it leads is announced as well
 *
 * GCC removes the call of a function that only prefetches; so this one is always inlined.
 *
 * Context: any.
 */
static __always_inline void crab_link_prefetch(const struct crab_media *media,
					       const struct crab_geometry *geo, u64 leaf, u64 link)
{
	u64 next = (link & CRAB_LINK_MASK) - 1;

	if (next < geo->leaves)
		prefetch(media->base + crab_leaf_offset(geo, next));
	crab_prefetch_range(media->base + crab_leaf_offset(geo, leaf), geo->leaf_bytes);
}

#endif /* CRABTREE_LINK_H */
