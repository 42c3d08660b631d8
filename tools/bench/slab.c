// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements allocation like the kernel's slabs, instead of the host build's
 * malloc(): objects of one size are adjacent and have no header, and huge pages map the
 * memory, as in the kernel.
 *
 * Invariants: a slab, 64 KiB, holds objects of one size; an object is aligned to the
 * largest power of two that divides its size. A free object is in the list of its slab, or,
 * until the thread ends, in the list of the thread that took all free objects of the slab. A
 * slab with free objects is in a list for its size. Objects above 8 KiB come from malloc(); those of
 * a huge page or more from memory that slab_populate() reserved, as long as there is some, which is
 * not used again.
 *
 * Locking: only its thread accesses a thread's lists, like the lists of a CPU in the kernel;
 * slab_lock protects all other data.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <linux/align.h>
#include <linux/kernel.h>
#include <linux/prefetch.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "rig.h"
#include "slab.h"

#define SLAB_BYTES	(64ULL << 10)
#define SLAB_ARENA	(16ULL << 30)	/* reserved; used as far as needed */
#define SLAB_OBJECT	8192U		/* the largest */
#define SLAB_UNIT	8U		/* all sizes are multiples of this one */

#define SLAB_SIZES	(SLAB_OBJECT / SLAB_UNIT + 1)

struct slab_free {
	struct slab_free *next;
};

struct slab {
	struct slab *next;		/* next slab with free objects */
	struct slab_free *free;
	u16 size;			/* of its objects */
};

long crab_host_fail_alloc = -1;		/* of the shims; no allocation fails here */
unsigned long crab_host_allocs;

static pthread_mutex_t slab_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct slab_free *slab_mine[SLAB_SIZES];
static pthread_key_t slab_key;			/* its destructor returns the lists of a thread */
static pthread_once_t slab_once = PTHREAD_ONCE_INIT;
static struct slab *slab_some[SLAB_SIZES];	/* slabs that have free objects */
static struct slab slabs[SLAB_ARENA / SLAB_BYTES];
static u8 *arena;
static u64 arena_used;
static u8 *large;				/* for objects of a huge page or more */
static u64 large_bytes, large_used;

static u8 *huge_map(u64 bytes)
{
	u8 *base = mmap(NULL, bytes + RIG_HUGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		rig_fail("no memory for slabs", -ENOMEM);
	base = (u8 *)ALIGN((unsigned long)base, RIG_HUGE);
	madvise(base, bytes, MADV_HUGEPAGE);
	return base;
}

/* If the kernel cannot populate, the measurement includes the first use of each page */
void slab_populate(u64 bytes)
{
	bytes = ALIGN(bytes, RIG_HUGE);
	if (!arena)
		arena = huge_map(SLAB_ARENA);
	madvise(arena, bytes, MADV_POPULATE_WRITE);
	large = huge_map(bytes);
	large_bytes = bytes;
	madvise(large, bytes, MADV_POPULATE_WRITE);
}

/* Slab of an object; NULL for one from malloc() */
static struct slab *slab_of(const void *p)
{
	u64 at = (const u8 *)p - arena;

	return arena && at < SLAB_ARENA ? &slabs[at / SLAB_BYTES] : NULL;
}

/* Sizes of kmalloc(); with an alignment, any multiple of the alignment */
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

static void slab_put(struct slab *slab, struct slab_free *object)
{
	struct slab **some = &slab_some[slab->size / SLAB_UNIT];

	if (!slab->free) {
		slab->next = *some;
		*some = slab;
	}
	object->next = slab->free;
	slab->free = object;
}

static void slab_fill(u32 size)
{
	struct slab *slab;
	u8 *begin, *at;

	if (!arena)
		arena = huge_map(SLAB_ARENA);
	if (arena_used == SLAB_ARENA)
		rig_fail("no memory for slabs", -ENOMEM);
	slab = &slabs[arena_used / SLAB_BYTES];
	slab->size = size;
	begin = arena + arena_used;
	arena_used += SLAB_BYTES;
	for (at = begin + SLAB_BYTES / size * size; at > begin; ) {
		at -= size;
		slab_put(slab, (struct slab_free *)at);
	}
}

/* Takes all free objects of one slab */
static struct slab_free *slab_take(u32 size)
{
	struct slab **some = &slab_some[size / SLAB_UNIT], *slab;
	struct slab_free *free;

	pthread_mutex_lock(&slab_lock);
	if (!*some)
		slab_fill(size);
	slab = *some;
	*some = slab->next;
	free = slab->free;
	slab->free = NULL;
	pthread_mutex_unlock(&slab_lock);
	return free;
}

static void slab_give(struct slab *slab, void *p)
{
	pthread_mutex_lock(&slab_lock);
	slab_put(slab, p);
	pthread_mutex_unlock(&slab_lock);
}

/* A thread ends */
static void slab_leave(void *mine)
{
	struct slab_free **free = mine, *object;
	u32 i;

	for (i = 0; i < SLAB_SIZES; i++) {
		while ((object = free[i])) {
			free[i] = object->next;
			slab_give(slab_of(object), object);
		}
	}
}

static void slab_key_make(void)
{
	if (pthread_key_create(&slab_key, slab_leave))
		rig_fail("no key for slabs", -ENOMEM);
}

static void slab_refill(u32 size)
{
	pthread_once(&slab_once, slab_key_make);
	if (pthread_setspecific(slab_key, slab_mine))
		rig_fail("no key for slabs", -ENOMEM);
	slab_mine[size / SLAB_UNIT] = slab_take(size);
}

static void *slab_alloc(u32 size)
{
	struct slab_free **free = &slab_mine[size / SLAB_UNIT], *object;

	if (unlikely(!*free))
		slab_refill(size);
	object = *free;
	*free = object->next;
	prefetchw(object->next);
	return object;
}

/* Populated memory, or NULL */
static void *large_take(size_t size)
{
	void *p = NULL;

	pthread_mutex_lock(&slab_lock);
	if (size <= large_bytes - large_used) {
		p = large + large_used;
		large_used += size;
	}
	pthread_mutex_unlock(&slab_lock);
	return p;
}

static bool is_large(const void *p)
{
	return large && (u64)((const u8 *)p - large) < large_bytes;
}

/* Like kvmalloc(), which uses huge pages for large objects, and maps them when it allocates them */
static void *large_alloc(size_t size, size_t align)
{
	bool is_huge = size >= RIG_HUGE;
	void *p;

	align = max_t(size_t, align, is_huge ? RIG_HUGE : 64);
	size = ALIGN(size, align);
	p = is_huge ? large_take(size) : NULL;
	if (p)
		return p;
	p = aligned_alloc(align, size);
	if (p && is_huge)
		madvise(p, size, MADV_HUGEPAGE);
	return p;
}

void *crab_host_alloc(size_t size, size_t align, gfp_t gfp)
{
	void *p;

	if (size <= SLAB_OBJECT && align <= SLAB_OBJECT)
		p = slab_alloc(slab_round(size, align));
	else if (size < SIZE_MAX / 2)
		p = large_alloc(size, align);
	else
		return NULL;
	if (p && gfp & __GFP_ZERO)
		memset(p, 0, size);
	return p;
}

void crab_host_free(const void *p)
{
	struct slab *slab = slab_of(p);

	if (slab)
		slab_give(slab, (void *)p);
	else if (!is_large(p))
		free((void *)p);
}
