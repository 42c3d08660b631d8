// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the pool of leaves.
 *
 * Invariant: a set bit in @used is a leaf of the list, in stock, or in the hands
 * of exactly one caller; @free counts the clear bits and the stock. One leaf at most is being
 * prepared, so of the leaves that the reserve holds back one at least is free. A leaf comes
 * back only after the fence that made its unlinking durable, so that a leaf
 * handed out is reached by no list that a power cut could bring back.
 *
 * Locking: crab_pool.lock, taken inside; innermost of all.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "pool.h"

int crab_pool_init(struct crab_pool *pool, u64 leaves)
{
	if (leaves > LONG_MAX)
		return -ENOMEM;
	pool->used = kvcalloc(BITS_TO_LONGS(leaves), sizeof(long),
			      GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (!pool->used)
		return -ENOMEM;
	spin_lock_init(&pool->lock);
	pool->leaves = leaves;
	pool->free = leaves;
	pool->cursor = 0;
	pool->given = 0;
	pool->stocked = 0;
	pool->raw = 0;
	pool->spoilt = 0;
	pool->closed = false;
	return 0;
}

void crab_pool_destroy(struct crab_pool *pool)
{
	kvfree(pool->used);
	pool->used = NULL;
}

bool crab_pool_mark(struct crab_pool *pool, u64 leaf)
{
	if (test_bit(leaf, pool->used))
		return false;
	__set_bit(leaf, pool->used);
	pool->free--;
	return true;
}

void crab_pool_spoil(struct crab_pool *pool, u64 leaf)
{
	pool->spoilt += crab_pool_mark(pool, leaf);
}

void crab_pool_close(struct crab_pool *pool)
{
	spin_lock(&pool->lock);
	pool->closed = true;
	spin_unlock(&pool->lock);
}

/*
 * A leaf that came back a while ago and was not taken since, or LEAVES: its lines are
 * in the caches still, and no longer on their way out
 */
static u64 pool_recent(const struct crab_pool *pool)
{
	u32 given = READ_ONCE(pool->given);
	u64 leaf = READ_ONCE(pool->recent[given % CRAB_POOL_RECENT]);

	return given < CRAB_POOL_RECENT || test_bit(leaf, pool->used) ? pool->leaves : leaf;
}

static u64 pool_next(const struct crab_pool *pool)
{
	u64 leaf = pool_recent(pool), cursor = READ_ONCE(pool->cursor);

	if (leaf < pool->leaves)
		return leaf;
	return find_next_zero_bit(pool->used, pool->leaves, min(cursor, pool->leaves));
}

u64 crab_pool_next(const struct crab_pool *pool)
{
	/* A leaf that is taken meanwhile was prefetched for nothing */
	return data_race(pool_next(pool));
}

/* One clear bit: a recent one, or from the cursor on and around; there is one */
static u64 pool_pick(struct crab_pool *pool)
{
	u64 leaf;

	lockdep_assert_held(&pool->lock);
	leaf = pool_recent(pool);
	if (leaf >= pool->leaves) {
		leaf = find_next_zero_bit(pool->used, pool->leaves, pool->cursor);
		if (leaf >= pool->leaves)
			leaf = find_first_zero_bit(pool->used, pool->leaves);
		pool->cursor = leaf + 1;
	}
	__set_bit(leaf, pool->used);
	pool->free--;
	return leaf;
}

int crab_pool_alloc(struct crab_pool *pool, struct crab_spare *spares, u32 n, u32 leave)
{
	int err = 0;
	u32 i;

	spin_lock(&pool->lock);
	/* A leaf that is being prepared comes back soon: it counts among those that remain */
	if (pool->closed || pool->free < n || pool->free + pool->raw < (u64)n + leave) {
		err = -ENOSPC;
		goto out;
	}
	for (i = 0; i < n; i++) {
		if (pool->stocked) {
			spares[i] = pool->stock[--pool->stocked];
			pool->free--;
		} else {
			spares[i].leaf = pool_pick(pool);
			spares[i].prepared = false;
		}
	}
out:
	spin_unlock(&pool->lock);
	return err;
}

bool crab_pool_prepare_begin(struct crab_pool *pool, struct crab_spare *spare)
{
	bool ok;

	spin_lock(&pool->lock);
	ok = !pool->closed && !pool->raw && pool->stocked < CRAB_POOL_READY &&
	     pool->free > pool->stocked;
	if (ok) {
		spare->leaf = pool_pick(pool);
		spare->prepared = false;
		pool->raw++;
	}
	spin_unlock(&pool->lock);
	return ok;
}

void crab_pool_prepare_end(struct crab_pool *pool, const struct crab_spare *spare)
{
	spin_lock(&pool->lock);
	pool->stock[pool->stocked++] = *spare;
	pool->free++;
	pool->raw--;
	spin_unlock(&pool->lock);
}

static bool pool_wants(const struct crab_pool *pool)
{
	u32 stocked = READ_ONCE(pool->stocked);

	return !READ_ONCE(pool->closed) && stocked < CRAB_POOL_READY / 2 &&
	       READ_ONCE(pool->free) > stocked;
}

bool crab_pool_needs_refill(const struct crab_pool *pool)
{
	/* Whoever is kicked for nothing finds nothing to do */
	return data_race(pool_wants(pool));
}

bool crab_pool_has(const struct crab_pool *pool, u64 n)
{
	/* Leaves come and go: the caller then tries, and looks again if that fails */
	return data_race(pool->free + pool->raw) >= n;
}

u64 crab_pool_unlisted(struct crab_pool *pool)
{
	u64 leaves;

	spin_lock(&pool->lock);
	leaves = pool->free + pool->raw + pool->spoilt;
	spin_unlock(&pool->lock);
	return leaves;
}

void crab_pool_free(struct crab_pool *pool, u64 leaf)
{
	spin_lock(&pool->lock);
	__clear_bit(leaf, pool->used);
	pool->free++;
	pool->recent[pool->given % CRAB_POOL_RECENT] = leaf;
	WRITE_ONCE(pool->given, pool->given + 1);
	spin_unlock(&pool->lock);
}
