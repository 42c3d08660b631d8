/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares sides: for each leaf of the pool that is in use, what an engine keeps in
 * memory beside it. An engine finds the side of a leaf by the leaf's number.
 *
 * Layer L3: it includes media/ only; engines/, store/ and tests include it.
 *
 * Invariant: a side lives until detach, also when its leaf is free, so a reader may look at it
 * at any time. crab_side.gen moves when the leaf dies, and is never reset.
 *
 * Locking: crab_side.lock protects the leaf on the media and the other fields. A read without the
 * lock counts only if crab_side_read_valid() returns true for it.
 */
#ifndef CRABTREE_SIDE_H
#define CRABTREE_SIDE_H

#include <linux/atomic.h>
#include <linux/lockdep.h>
#include <linux/rcupdate.h>
#include <linux/seqlock.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "lock.h"

#define CRAB_SIDE_CHUNK		128U	/* sides that are allocated together */

/**
 * struct crab_side - beside a leaf
 * @lock: see above
 * @seq: odd while the leaf changes and until that is durable
 * @gen: moves when the leaf dies
 * @count: the engine's; elements or records of the leaf
 * @flags: the engine's
 */
struct crab_side {
	spinlock_t lock;
	seqcount_spinlock_t seq;
	u32 gen;
	u16 count;
	u16 flags;
};

/**
 * struct crab_sides - the sides of a store
 * @chunks: arrays of CRAB_SIDE_CHUNK sides; NULL where no leaf was ever in use
 * @leaves: number of leaves of the pool
 * @made: number of arrays
 */
struct crab_sides {
	struct crab_side **chunks;
	u64 leaves;
	atomic64_t made;
};

/**
 * crab_sides_init() - make a table without sides
 * @sides: the table
 * @leaves: number of leaves of the pool
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int crab_sides_init(struct crab_sides *sides, u64 leaves);

/**
 * crab_sides_destroy() - free all sides
 * @sides: the table; zeroed memory is a table without sides
 * Context: may sleep; no other call is running or will come.
 */
void crab_sides_destroy(struct crab_sides *sides);

/**
 * crab_side_make() - the side of a leaf, allocated if there is none yet
 * @sides: the table
 * @leaf: number of the leaf, below crab_sides.leaves
 * @gfp: flags of the allocation
 * Context: may sleep, as @gfp permits; any number of callers at a time.
 * Return: the side, or NULL if there is no memory.
 */
struct crab_side *crab_side_make(struct crab_sides *sides, u64 leaf, gfp_t gfp);

/**
 * crab_sides_bytes() - memory in use
 * @sides: the table
 * Context: any.
 * Return: bytes.
 */
u64 crab_sides_bytes(const struct crab_sides *sides);

/**
 * crab_side() - the side of a leaf
 * @sides: the table
 * @leaf: any number
 * Context: any.
 * Return: the side, or NULL if the number is out of the pool or was never in use.
 */
static inline struct crab_side *crab_side(const struct crab_sides *sides, u64 leaf)
{
	struct crab_side *chunk;

	if (unlikely(leaf >= sides->leaves))
		return NULL;
	/* Pairs with the cmpxchg in crab_side_make(): the sides are zeroed. They are never freed */
	chunk = rcu_dereference_raw(sides->chunks[leaf / CRAB_SIDE_CHUNK]);
	return likely(chunk) ? &chunk[leaf % CRAB_SIDE_CHUNK] : NULL;
}

/**
 * crab_side_begin() - begin a write section: readers wait for its end
 * @side: of the leaf
 * Context: the side is locked.
 */
static inline void crab_side_begin(struct crab_side *side)
{
	crab_lock_assert(&side->lock);
	raw_write_seqcount_begin(&side->seq);
}

/**
 * crab_side_end() - end a write section, once its stores are durable
 * @side: of the leaf
 * Context: the side is locked.
 */
static inline void crab_side_end(struct crab_side *side)
{
	crab_lock_assert(&side->lock);
	raw_write_seqcount_end(&side->seq);
}

/**
 * crab_side_read_begin() - begin a read without the lock
 * @side: of the leaf
 *
 * It does not wait: a read that begins in a write section is not valid in the end.
 *
 * Context: any.
 * Return: for crab_side_read_valid().
 */
static inline unsigned int crab_side_read_begin(const struct crab_side *side)
{
	return raw_seqcount_begin(&side->seq);
}

/**
 * crab_side_read_valid() - end a read without the lock
 * @side: of the leaf
 * @seq: of crab_side_read_begin()
 * Context: as crab_side_read_begin().
 * Return: true if no writer changed the leaf meanwhile, and the result counts.
 */
static inline bool crab_side_read_valid(const struct crab_side *side, unsigned int seq)
{
	return !read_seqcount_retry(&side->seq, seq);
}

#endif /* CRABTREE_SIDE_H */
