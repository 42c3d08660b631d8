// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements extents: their classes, slabs and bitmaps, all of them in DRAM.
 *
 * Invariants: a slab is lent by the pool as long as it is in the table; its bitmap has each extent
 * that a word names or a writer has allocated; it is in the set of its class if and only if one
 * of its extents is free. Until a word names an extent, only the writer that has allocated it frees
 * it: it may have its old content still, which an old word names that has come back on the media.
 * A slab without an extent in use goes back to the pool, unless a page of it cannot be written:
 * then no leaf and no other slab gets the place.
 *
 * Locking: crab_extents.lock, a mutex, because a slab is allocated under it. crab_pool.lock is
 * inside.
 */
#include <linux/bitops.h>
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "extent.h"
#include "media/badmem.h"

#define EXTENT_GFP	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
#define SLAB_GFP	(GFP_NOIO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)	/* under the lock */
#define EXTENT_PARTS	32	/* slabs in a pool that is large enough */
#define EXTENT_KEPT	4	/* leaves that remain for the engine: a split and its reserve */
/* Lines that a place can name */
#define EXTENT_LINES	((CRAB_PLACE_MASK >> CRAB_PLACE_CLASS_BITS) + 1)

/* Lines of an extent of each class; at most a third of a longer one remains unused */
static const u16 class_lines[CRAB_EXTENT_CLASSES] = {
	1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 682, 1024, 2048,
};

static_assert(CRAB_EXTENT_CLASSES <= 1U << CRAB_PLACE_CLASS_BITS);
static_assert(CRAB_SLAB_BYTES_MAX == 2048 * CRAB_LINE);

static u32 place_class(u64 place)
{
	return place & ((1U << CRAB_PLACE_CLASS_BITS) - 1);
}

/* The first line, counted from the pool's offset */
static u64 place_line(u64 place)
{
	return place >> CRAB_PLACE_CLASS_BITS;
}

static u64 place_slab(const struct crab_extents *extents, u64 place)
{
	return div_u64(place_line(place), extents->slab_lines);
}

/* Number of the extent within its slab */
static u32 place_index(const struct crab_extents *extents, u64 place)
{
	u64 line = place_line(place) - place_slab(extents, place) * extents->slab_lines;

	return (u32)line / class_lines[place_class(place)];
}

static u32 slab_leaves(const struct crab_extents *extents)
{
	return extents->slab_lines * CRAB_LINE / extents->geo.leaf_bytes;
}

/* A smaller size, from the media, would need much more DRAM for the tables */
static u32 slab_bytes_least(const struct crab_geometry *geo)
{
	return max(CRAB_SLAB_BYTES_MIN, geo->leaf_bytes);
}

u32 crab_extent_slab_bytes(const struct crab_geometry *geo)
{
	u64 pool = geo->leaves * geo->leaf_bytes;
	u32 least = slab_bytes_least(geo);

	pool = min_t(u64, div_u64(pool, EXTENT_PARTS), CRAB_SLAB_BYTES_MAX);
	return pool < least ? least : rounddown_pow_of_two((u32)pool);
}

/* The number in front of the slabs of a class in the set; it is never there */
static u64 room_edge(const struct crab_extents *extents, u32 class)
{
	return class * (extents->slabs_max + 1);
}

static u64 room_number(const struct crab_extents *extents, const struct crab_slab *slab)
{
	return room_edge(extents, slab->class) + 1 + slab->number;
}

/* The slab of a class with the lowest number among those with a free extent, or NULL */
static struct crab_slab *room_first(const struct crab_extents *extents, u32 class)
{
	u64 edge = room_edge(extents, class), n = crab_numset_after(&extents->room, edge);

	return n > edge && n < room_edge(extents, class + 1) ? extents->slabs[n - edge - 1] : NULL;
}

/* The one with the highest number that may be chosen, or NULL */
static struct crab_slab *room_last(const struct crab_extents *extents, u32 class)
{
	u64 edge = room_edge(extents, class), at = room_edge(extents, class + 1), n;
	struct crab_slab *slab;

	while ((n = crab_numset_before(&extents->room, at)) > edge && n < at) {
		slab = extents->slabs[n - edge - 1];
		if (!slab->stuck)
			return slab;
		at = n;
	}
	return NULL;
}

int crab_extents_init(struct crab_extents *extents, struct crab_pool *pool,
		      const struct crab_media *media, const struct crab_geometry *geo,
		      u32 slab_bytes)
{
	int err;

	mutex_init(&extents->lock);
	extents->pool = pool;
	extents->media = media;
	extents->geo = *geo;
	extents->kept = EXTENT_KEPT;
	extents->slab_lines = 1;	/* until it is known: no number is a place */
	if (!is_power_of_2(slab_bytes) || slab_bytes < slab_bytes_least(geo) ||
	    slab_bytes > CRAB_SLAB_BYTES_MAX)
		return -EUCLEAN;
	extents->slab_lines = slab_bytes / CRAB_LINE;
	extents->slabs_max = min(div_u64(geo->leaves, slab_leaves(extents)),
				 div_u64(EXTENT_LINES, extents->slab_lines));
	err = crab_numset_init(&extents->room, room_edge(extents, CRAB_EXTENT_CLASSES) + 1);
	if (err)
		return err;
	extents->slabs = kvcalloc(extents->slabs_max + 1, sizeof(*extents->slabs), EXTENT_GFP);
	return extents->slabs ? 0 : -ENOMEM;
}

void crab_extents_destroy(struct crab_extents *extents)
{
	u64 n;

	for (n = 0; extents->slabs && n < extents->slabs_max; n++)
		kvfree(extents->slabs[n]);
	kvfree(extents->slabs);
	extents->slabs = NULL;
	crab_numset_destroy(&extents->room);
}

bool crab_extent_is_place(const struct crab_extents *extents, u64 place)
{
	u32 class = place_class(place), lines;
	u64 slab = place_slab(extents, place), line;

	if (class >= CRAB_EXTENT_CLASSES || slab >= extents->slabs_max)
		return false;
	lines = class_lines[class];
	line = place_line(place) - slab * extents->slab_lines;
	return line + lines <= extents->slab_lines && !((u32)line % lines);
}

u64 crab_extent_offset(const struct crab_extents *extents, u64 place)
{
	return extents->geo.pool_offset + place_line(place) * CRAB_LINE;
}

u32 crab_extent_bytes(u64 place)
{
	return class_lines[place_class(place)] * CRAB_LINE;
}

static u64 slab_place(const struct crab_extents *extents, const struct crab_slab *slab, u32 index)
{
	u64 line = slab->number * extents->slab_lines + (u64)index * class_lines[slab->class];

	return line << CRAB_PLACE_CLASS_BITS | slab->class;
}

/* Which of the extents in use a writer has allocated, and no word names yet */
static unsigned long *slab_fresh(struct crab_slab *slab)
{
	return slab->map + BITS_TO_LONGS(slab->total);
}

/* Is a part of a range in a page that cannot be written? */
static bool range_is_bad(const struct crab_extents *extents, u64 offset, u64 bytes)
{
	u64 from, to;

	return crab_badmem_next_page(extents->media, offset, &from, &to) && from < offset + bytes;
}

static bool extent_is_bad(const struct crab_extents *extents, u64 place)
{
	return range_is_bad(extents, crab_extent_offset(extents, place), crab_extent_bytes(place));
}

static void slab_take(struct crab_extents *extents, struct crab_slab *slab, u32 index)
{
	__set_bit(index, slab->map);
	extents->lines += class_lines[slab->class];
	extents->free[slab->class]--;
	if (++slab->used == slab->total)
		crab_numset_remove(&extents->room, room_number(extents, slab));
}

/* Attach: a slab with a bad page stays, and its extents in such pages are never free */
static void slab_spoil(struct crab_extents *extents, struct crab_slab *slab)
{
	u64 first = crab_extent_offset(extents, slab_place(extents, slab, 0));
	u32 i;

	slab->spoilt = range_is_bad(extents, first, extents->slab_lines * CRAB_LINE);
	slab->stuck = slab->spoilt;
	for (i = 0; slab->spoilt && i < slab->total; i++)
		if (extent_is_bad(extents, slab_place(extents, slab, i)))
			slab_take(extents, slab, i);
}

static struct crab_slab *slab_alloc(const struct crab_extents *extents, u32 class)
{
	u32 total = extents->slab_lines / class_lines[class];
	struct crab_slab *slab;

	slab = kvzalloc(struct_size(slab, map, 2 * BITS_TO_LONGS(total)), SLAB_GFP);
	if (!slab)
		return NULL;
	slab->class = class;
	slab->total = total;
	return slab;
}

/* The pool has lent the slab's leaves */
static void slab_enter(struct crab_extents *extents, struct crab_slab *slab, u64 number)
{
	slab->number = number;
	extents->slabs[number] = slab;
	extents->lent++;
	extents->total[slab->class] += slab->total;
	extents->free[slab->class] += slab->total;
	crab_numset_add(&extents->room, room_number(extents, slab));
}

/* Attach: the slab of a place, new if no word named one of its extents before */
static int slab_found(struct crab_extents *extents, u64 place, struct crab_slab **slab)
{
	u64 number = place_slab(extents, place);
	u32 leaves = slab_leaves(extents);
	int err;

	*slab = extents->slabs[number];
	if (*slab)
		return (*slab)->class == place_class(place) ? 0 : -EUCLEAN;
	*slab = slab_alloc(extents, place_class(place));
	if (!*slab)
		return -ENOMEM;
	err = crab_pool_lend(extents->pool, number * leaves, leaves);
	if (err) {
		kvfree(*slab);
		return err;
	}
	slab_enter(extents, *slab, number);
	slab_spoil(extents, *slab);
	return 0;
}

int crab_extents_mark(struct crab_extents *extents, u64 place)
{
	struct crab_slab *slab;
	int err;

	if (!crab_extent_is_place(extents, place))
		return -EUCLEAN;
	err = slab_found(extents, place, &slab);
	if (err)
		return err;
	if (!test_bit(place_index(extents, place), slab->map))
		slab_take(extents, slab, place_index(extents, place));
	else if (!extent_is_bad(extents, place))
		return -EUCLEAN;
	return 0;
}

/* The smallest class that is long enough, or the number of classes */
static u32 class_for(const struct crab_extents *extents, u32 bytes)
{
	u32 class;

	for (class = 0; class < CRAB_EXTENT_CLASSES; class++)
		if (class_lines[class] * CRAB_LINE >= bytes)
			break;
	if (class == CRAB_EXTENT_CLASSES || class_lines[class] > extents->slab_lines)
		return CRAB_EXTENT_CLASSES;
	return class;
}

/* The lowest slab of a class with a free extent; one more is borrowed if there is none */
static int slab_with_room(struct crab_extents *extents, u32 class, struct crab_slab **slab)
{
	u32 leaves = slab_leaves(extents);
	u64 first;
	int err;

	*slab = room_first(extents, class);
	if (*slab)
		return 0;
	*slab = slab_alloc(extents, class);
	if (!*slab)
		return -ENOMEM;
	err = crab_pool_alloc_run(extents->pool, leaves, extents->slabs_max * leaves, extents->kept,
				  &first);
	if (err) {
		kvfree(*slab);
		return err;
	}
	slab_enter(extents, *slab, div_u64(first, leaves));
	return 0;
}

/* Takes the first free extent of a slab that has one; its place */
static u64 slab_alloc_extent(struct crab_extents *extents, struct crab_slab *slab)
{
	u32 index = find_first_zero_bit(slab->map, slab->total);

	slab_take(extents, slab, index);
	__set_bit(index, slab_fresh(slab));
	return slab_place(extents, slab, index);
}

int crab_extents_alloc(struct crab_extents *extents, u32 bytes, u64 *place)
{
	u32 class = class_for(extents, bytes);
	struct crab_slab *slab;
	int err;

	if (class == CRAB_EXTENT_CLASSES)
		return -EMSGSIZE;
	mutex_lock(&extents->lock);
	err = slab_with_room(extents, class, &slab);
	if (!err)
		*place = slab_alloc_extent(extents, slab);
	mutex_unlock(&extents->lock);
	return err;
}

void crab_extents_keep(struct crab_extents *extents, u32 leaves)
{
	mutex_lock(&extents->lock);
	extents->kept = EXTENT_KEPT + leaves;
	mutex_unlock(&extents->lock);
}

static void slab_return(struct crab_extents *extents, struct crab_slab *slab)
{
	u32 leaves = slab_leaves(extents);

	crab_numset_remove(&extents->room, room_number(extents, slab));
	extents->slabs[slab->number] = NULL;
	extents->lent--;
	extents->total[slab->class] -= slab->total;
	extents->free[slab->class] -= slab->total;
	crab_pool_free_run(extents->pool, slab->number * leaves, leaves);
	kvfree(slab);
}

/* The slab of an extent in use, or NULL */
static struct crab_slab *extents_find(const struct crab_extents *extents, u64 place)
{
	struct crab_slab *slab;

	lockdep_assert_held(&extents->lock);
	if (!crab_extent_is_place(extents, place))
		return NULL;
	slab = extents->slabs[place_slab(extents, place)];
	return slab && slab->class == place_class(place) &&
	       test_bit(place_index(extents, place), slab->map) ? slab : NULL;
}

/* Would a slab less be enough, @urgent: with no extent to spare? */
static bool class_is_sparse(const struct crab_extents *extents, u32 class, bool urgent)
{
	u32 slab = extents->slab_lines / class_lines[class];
	u64 spare = urgent ? 0 : extents->total[class] / 4;

	return extents->total[class] > slab && extents->free[class] >= slab + spare;
}

/* The evacuation that left it may succeed now */
static void slab_loosen(struct crab_extents *extents, struct crab_slab *slab)
{
	slab->stuck = slab->spoilt;
	slab->awaited = false;
	if (class_is_sparse(extents, slab->class, false))
		WRITE_ONCE(extents->sparse, true);
}

static void slab_free(struct crab_extents *extents, struct crab_slab *slab, u64 place)
{
	if (extent_is_bad(extents, place))
		return;
	__clear_bit(place_index(extents, place), slab->map);
	extents->lines -= class_lines[slab->class];
	extents->free[slab->class]++;
	slab_loosen(extents, slab);
	if (slab->used-- == slab->total)
		crab_numset_add(&extents->room, room_number(extents, slab));
	if (!slab->used && !slab->spoilt)
		slab_return(extents, slab);
}

void crab_extents_free(struct crab_extents *extents, u64 place)
{
	struct crab_slab *slab;

	mutex_lock(&extents->lock);
	slab = extents_find(extents, place);
	if (slab)
		slab_free(extents, slab, place);
	mutex_unlock(&extents->lock);
}

void crab_extents_replace(struct crab_extents *extents, u64 now, u64 before,
			  bool (*is)(const void *arg), const void *arg)
{
	struct crab_slab *slab;

	mutex_lock(&extents->lock);
	slab = extents_find(extents, now);
	if (slab) {
		__clear_bit(place_index(extents, now), slab_fresh(slab));
		if (slab->awaited)
			slab_loosen(extents, slab);
	}
	slab = extents_find(extents, before);
	if (slab && !test_bit(place_index(extents, before), slab_fresh(slab)) && is(arg))
		slab_free(extents, slab, before);
	mutex_unlock(&extents->lock);
}

bool crab_extents_holds(struct crab_extents *extents, u64 place)
{
	bool holds;

	mutex_lock(&extents->lock);
	holds = extents_find(extents, place);
	mutex_unlock(&extents->lock);
	return holds;
}

bool crab_extents_sparse(struct crab_extents *extents, bool urgent, u64 *slab)
{
	struct crab_slab *last = NULL;
	u32 class;

	mutex_lock(&extents->lock);
	for (class = 0; class < CRAB_EXTENT_CLASSES && !last; class++)
		if (class_is_sparse(extents, class, urgent))
			last = room_last(extents, class);
	if (last)
		*slab = last->number;
	else if (!urgent)
		WRITE_ONCE(extents->sparse, false);
	mutex_unlock(&extents->lock);
	return last;
}

bool crab_extents_next(struct crab_extents *extents, u64 slab, u32 *from, u64 *place)
{
	const struct crab_slab *at;
	u32 index = 0;
	bool found;

	mutex_lock(&extents->lock);
	at = extents->slabs[slab];
	if (at)
		index = find_next_bit(at->map, at->total, *from);
	found = at && index < at->total;
	if (found) {
		*place = slab_place(extents, at, index);
		*from = index + 1;
	}
	mutex_unlock(&extents->lock);
	return found;
}

bool crab_extents_alloc_below(struct crab_extents *extents, u64 from, u64 *place)
{
	u64 number = place_slab(extents, from);
	struct crab_slab *below;
	bool found;

	mutex_lock(&extents->lock);
	below = room_first(extents, place_class(from));
	found = below && below->number < number;
	if (found)
		*place = slab_alloc_extent(extents, below);
	mutex_unlock(&extents->lock);
	return found;
}

bool crab_extents_leave(struct crab_extents *extents, u64 slab)
{
	struct crab_slab *at;

	mutex_lock(&extents->lock);
	at = extents->slabs[slab];
	if (at) {
		at->stuck = true;
		at->awaited = bitmap_intersects(at->map, slab_fresh(at), at->total);
	}
	mutex_unlock(&extents->lock);
	return !at;
}

/* Slabs of a class that evacuations have left, and that have a free extent */
static void class_retry(struct crab_extents *extents, u32 class)
{
	u64 edge = room_edge(extents, class), end = room_edge(extents, class + 1), at = edge, n;

	while ((n = crab_numset_after(&extents->room, at)) > at && n < end) {
		slab_loosen(extents, extents->slabs[n - edge - 1]);
		at = n;
	}
}

void crab_extents_retry(struct crab_extents *extents)
{
	u32 class;

	mutex_lock(&extents->lock);
	for (class = 0; class < CRAB_EXTENT_CLASSES; class++)
		if (class_is_sparse(extents, class, true))
			class_retry(extents, class);
	mutex_unlock(&extents->lock);
}
