// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements allocation as the kernel's slabs do it, in place of the host
 * build's on malloc(): objects of one size side by side without a header, in memory
 * that is mapped by huge pages, as the kernel's own is.
 *
 * Invariants: a slab, 64 KiB, holds objects of one size; an object is aligned to the
 * greatest power of two that divides its size. What is larger than 8 KiB comes from malloc().
 *
 * Locking: slab_lock; it is taken only where leaves and nodes come and go.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <linux/align.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "rig.h"
#include "slab.h"

#define SLAB_BYTES	(64ULL << 10)
#define SLAB_ARENA	(16ULL << 30)	/* reserved; used as far as needed */
#define SLAB_OBJECT	8192U		/* the largest */
#define SLAB_UNIT	8U		/* sizes are multiples of it */

struct slab_free {
	struct slab_free *next;
};

long crab_host_fail_alloc = -1;		/* of the shims; nothing fails here */
unsigned long crab_host_allocs;

static pthread_mutex_t slab_lock = PTHREAD_MUTEX_INITIALIZER;
static struct slab_free *slab_free[SLAB_OBJECT / SLAB_UNIT + 1];
static u16 slab_object[SLAB_ARENA / SLAB_BYTES];
static u8 *arena;
static u64 arena_used;

static void arena_map(void)
{
	u8 *base = mmap(NULL, SLAB_ARENA + RIG_HUGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		rig_fail("no memory for slabs", -ENOMEM);
	arena = (u8 *)ALIGN((unsigned long)base, RIG_HUGE);
	madvise(arena, SLAB_ARENA, MADV_HUGEPAGE);
}

void slab_populate(u64 bytes)
{
	if (!arena)
		arena_map();
	/* Where the kernel cannot, the first use of each page is paid in the measurement */
	madvise(arena, ALIGN(bytes, RIG_HUGE), MADV_POPULATE_WRITE);
}

/* Sizes that kmalloc() has; where an alignment is asked for, any multiple of it */
static u32 slab_round(size_t size, size_t align)
{
	if (align > SLAB_UNIT)
		return ALIGN(size, align);
	if (size > 64 && size <= 96)
		return 96;
	if (size > 128 && size <= 192)
		return 192;
	return roundup_pow_of_two(max_t(size_t, size, SLAB_UNIT));
}

static void slab_fill(u32 size)
{
	u8 *slab, *at;

	if (!arena)
		arena_map();
	if (arena_used == SLAB_ARENA)
		rig_fail("no memory for slabs", -ENOMEM);
	slab = arena + arena_used;
	slab_object[arena_used / SLAB_BYTES] = size;
	arena_used += SLAB_BYTES;
	for (at = slab + SLAB_BYTES / size * size; at > slab; ) {
		at -= size;
		((struct slab_free *)at)->next = slab_free[size / SLAB_UNIT];
		slab_free[size / SLAB_UNIT] = (struct slab_free *)at;
	}
}

static void *slab_alloc(u32 size)
{
	struct slab_free *object;

	pthread_mutex_lock(&slab_lock);
	if (!slab_free[size / SLAB_UNIT])
		slab_fill(size);
	object = slab_free[size / SLAB_UNIT];
	slab_free[size / SLAB_UNIT] = object->next;
	pthread_mutex_unlock(&slab_lock);
	return object;
}

/* Size of an object of a slab; 0 for what malloc() gave */
static u32 slab_size(const void *p)
{
	u64 at = (const u8 *)p - arena;

	return arena && at < SLAB_ARENA ? slab_object[at / SLAB_BYTES] : 0;
}

void *crab_host_alloc(size_t size, size_t align, gfp_t gfp)
{
	void *p;

	if (size <= SLAB_OBJECT && align <= SLAB_OBJECT)
		p = slab_alloc(slab_round(size, align));
	else if (size < SIZE_MAX / 2)
		p = aligned_alloc(max_t(size_t, align, 64), ALIGN(size, max_t(size_t, align, 64)));
	else
		return NULL;
	if (p && gfp & __GFP_ZERO)
		memset(p, 0, size);
	return p;
}

void crab_host_free(const void *p)
{
	struct slab_free *object = (struct slab_free *)p;
	u32 size = slab_size(p);

	if (!size) {
		free(object);
		return;
	}
	pthread_mutex_lock(&slab_lock);
	object->next = slab_free[size / SLAB_UNIT];
	slab_free[size / SLAB_UNIT] = object;
	pthread_mutex_unlock(&slab_lock);
}
