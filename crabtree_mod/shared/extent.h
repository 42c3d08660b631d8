/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares extents: pieces of the pool that hold blobs. An extent has one of a few
 * sizes, its class. Extents of one class share slabs, which are runs of leaves that the pool lends.
 *
 * A place is the position and the class of an extent, in one number: the low 40 bits of the word
 * that names a blob. Nothing else about an extent is on the media: an extent is free if no
 * word names it, so a power cut cannot leak one.
 *
 * Layer L3: it includes media/ only; store/ and tests include it.
 *
 * Locking: crab_extents.lock, taken inside.
 */
#ifndef CRABTREE_EXTENT_H
#define CRABTREE_EXTENT_H

#include <linux/mutex.h>
#include <linux/types.h>

#include "geometry.h"
#include "media/media.h"
#include "numset.h"
#include "pool.h"

#define CRAB_EXTENT_CLASSES	21U
#define CRAB_NO_EXTENT		CRAB_PLACE_MASK	/* it is no place: there is no such class */

/**
 * struct crab_slab - a run of leaves with extents of one class
 * @number: of the slab: it begins at this multiple of the slab's size
 * @class: of its extents
 * @total: number of extents
 * @used: of these in use
 * @stuck: an evacuation has left some of them, or @spoilt: do not choose it again
 * @awaited: an evacuation has left an extent that no word named yet: choose it again once one does
 * @spoilt: a page of it, perhaps after the last extent, cannot be written: it stays
 * @map: one bit for each extent; set: in use, or in memory that cannot be read. Then one bit for
 *	each; set: no word names it yet, if it is in use
 */
struct crab_slab {
	u64 number;
	u32 class;
	u32 total;
	u32 used;
	bool stuck;
	bool awaited;
	bool spoilt;
	unsigned long map[];
};

/**
 * struct crab_extents - the extents of a store
 * @lock: protects the slabs and the set
 * @pool: lends the slabs
 * @media: the region
 * @geo: where the leaves are
 * @slab_lines: cache lines of a slab
 * @slabs_max: number of slabs that the pool could lend, and that places can name
 * @slabs: by number; NULL: not lent
 * @lent: number of slabs
 * @lines: lines of the extents in use
 * @room: slabs with a free extent: class by class, by their numbers; blobs gather in the lowest
 * @total: by class: extents of its slabs
 * @free: by class: of these free
 * @sparse: a slab could perhaps be emptied into others; read without the lock
 * @kept: leaves that no slab takes from the pool
 */
struct crab_extents {
	struct mutex lock;
	struct crab_pool *pool;
	const struct crab_media *media;
	struct crab_geometry geo;
	u32 slab_lines;
	u64 slabs_max;
	struct crab_slab **slabs;
	u64 lent;
	u64 lines;
	struct crab_numset room;
	u64 total[CRAB_EXTENT_CLASSES];
	u64 free[CRAB_EXTENT_CLASSES];
	bool sparse;
	u32 kept;
};

/**
 * crab_extent_slab_bytes() - the size of slabs that FORMAT chooses
 * @geo: where the leaves are
 *
 * A thirty-second part of the pool, within the bounds of the format.
 *
 * Context: any.
 * Return: bytes, a power of two, a multiple of the size of a leaf.
 */
u32 crab_extent_slab_bytes(const struct crab_geometry *geo);

/**
 * crab_extents_init() - begin with no slab
 * @extents: out
 * @pool: of the engine
 * @media: the region
 * @geo: where the leaves are
 * @slab_bytes: size of slabs; any number
 * Context: may sleep; the caller calls crab_extents_destroy() in either case.
 * Return: 0, -ENOMEM, or -EUCLEAN for an impossible size.
 */
int crab_extents_init(struct crab_extents *extents, struct crab_pool *pool,
		      const struct crab_media *media, const struct crab_geometry *geo,
		      u32 slab_bytes);

/**
 * crab_extents_destroy() - free the memory of all slabs
 * @extents: the extents; zeroed memory is allowed, too
 * Context: may sleep; no other call is running or will come.
 */
void crab_extents_destroy(struct crab_extents *extents);

/**
 * crab_extent_is_place() - whether a number is a place of an extent
 * @extents: the extents
 * @place: any number
 * Context: any.
 * Return: false if it is not within the pool, or not a multiple of its size within a slab.
 */
bool crab_extent_is_place(const struct crab_extents *extents, u64 place);

/**
 * crab_extent_offset() - where an extent is
 * @extents: the extents
 * @place: of the extent
 * Context: any.
 * Return: its offset in the region.
 */
u64 crab_extent_offset(const struct crab_extents *extents, u64 place);

/**
 * crab_extent_bytes() - the size of an extent
 * @place: of the extent
 * Context: any.
 * Return: bytes.
 */
u32 crab_extent_bytes(u64 place);

/**
 * crab_extents_mark() - attach: a word names an extent
 * @extents: the extents
 * @place: any number
 * Context: attach, once the engine has read all leaves, before it allocates one; may sleep.
 * Return: 0; -EUCLEAN if the number is no place, or if the memory belongs to the engine or to
 * another extent; -ENOMEM.
 */
int crab_extents_mark(struct crab_extents *extents, u64 place);

/**
 * crab_extents_alloc() - allocate an extent
 * @extents: the extents
 * @bytes: its content
 * @place: out
 *
 * Only crab_extents_free() frees it, until crab_extents_replace() is called.
 *
 * Context: may sleep.
 * Return: 0, -EMSGSIZE if no extent is so long, -ENOSPC, -ENOMEM.
 */
int crab_extents_alloc(struct crab_extents *extents, u32 bytes, u64 *place);

/**
 * crab_extents_keep() - leave memory for the engine
 * @extents: the extents
 * @leaves: from now on a new slab leaves so many free ones, and a few more; 0: only these
 * Context: may sleep.
 */
void crab_extents_keep(struct crab_extents *extents, u32 leaves);

/**
 * crab_extents_free() - free an extent
 * @extents: the extents
 * @place: any number: it is ignored if no such extent is in use
 *
 * The extent may be allocated at once: readers find out that the word has changed.
 *
 * Context: may sleep; no power cut can make a word name the extent again.
 */
void crab_extents_free(struct crab_extents *extents, u64 place);

/**
 * crab_extents_replace() - a word names another extent from now on
 * @extents: the extents
 * @now: place of an extent that the caller has allocated, or CRAB_NO_EXTENT
 * @before: place of the extent that the word named, or CRAB_NO_EXTENT; any number
 * @is: whether @before still has the content that the word named
 * @arg: of @is
 *
 * The extent @before is free now, unless it belongs to another word, or to a write that has
 * allocated it and has not stored its content yet: a word that comes back on the media names such
 * an extent. @is is called within crab_extents.lock, and must not allocate.
 *
 * Context: as crab_extents_free().
 */
void crab_extents_replace(struct crab_extents *extents, u64 now, u64 before,
			  bool (*is)(const void *arg), const void *arg);

/**
 * crab_extents_holds() - whether an extent is in use
 * @extents: the extents
 * @place: any number
 * Context: may sleep.
 * Return: true if so.
 */
bool crab_extents_holds(struct crab_extents *extents, u64 place);

/**
 * crab_extents_sparse() - choose a slab whose content fits into other slabs of its class
 * @extents: the extents
 * @urgent: in any case; else only if a quarter of the class remains free afterwards
 * @slab: out: its number
 *
 * It is the one with the highest number among those with a free extent, so that the others have
 * lower ones.
 *
 * Context: may sleep.
 * Return: true if there is one.
 */
bool crab_extents_sparse(struct crab_extents *extents, bool urgent, u64 *slab);

/**
 * crab_extents_next() - find an extent in use of a slab
 * @extents: the extents
 * @slab: number of the slab; it may have gone
 * @from: the first index; out: the index after the extent
 * @place: out
 * Context: may sleep.
 * Return: true if there is one.
 */
bool crab_extents_next(struct crab_extents *extents, u64 slab, u32 *from, u64 *place);

/**
 * crab_extents_alloc_below() - allocate an extent of the same class in a slab with a lower number
 * @extents: the extents
 * @from: the place of an extent in use
 * @place: out; as of crab_extents_alloc()
 * Context: may sleep.
 * Return: true if there is one.
 */
bool crab_extents_alloc_below(struct crab_extents *extents, u64 from, u64 *place);

/**
 * crab_extents_leave() - end the evacuation of a slab
 * @extents: the extents
 * @slab: number of the slab
 * Context: may sleep.
 * Return: true if the slab has gone; else it is not chosen again before one of its extents gets
 * free, or a word names one that a writer has now, or crab_extents_retry() is called.
 */
bool crab_extents_leave(struct crab_extents *extents, u64 slab);

/**
 * crab_extents_retry() - let slabs be chosen again that an evacuation has left
 * @extents: the extents
 *
 * The moves that failed for want of memory may succeed now.
 *
 * Context: may sleep.
 */
void crab_extents_retry(struct crab_extents *extents);

#endif /* CRABTREE_EXTENT_H */
