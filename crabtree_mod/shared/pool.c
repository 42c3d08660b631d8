// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the pool of leaves.
 *
 * Invariant: a set bit in @used is a leaf that the media reaches, that is in stock, that waits
 * for readers, that is lent, or that one caller has allocated; @free counts the clear bits and
 * the stock, and @room has the numbers of the words with a clear bit. At most one leaf is being
 * prepared, so a reserve of two leaves has one that is free. A leaf is freed only after the fence
 * that made its unlinking durable: no list that a power cut could bring back reaches a leaf that
 * is allocated again.
 *
 * Locking: crab_pool.lock, taken inside; innermost of all.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "media/badmem.h"
#include "pool.h"

#define POOL_BREATHE	1023	/* leaves between two cond_resched(), as a mask */
#define POOL_SETTLES	64	/* leaves that become free at once */

int crab_pool_init(struct crab_pool *pool, u64 leaves)
{
	const u64 words = BITS_TO_LONGS(leaves);

	*pool = (struct crab_pool){
		.leaves = leaves, .free = leaves, .run = leaves, .later_end = &pool->later,
	};
	if (leaves > LONG_MAX)
		return -ENOMEM;
	pool->used = kvcalloc(words, sizeof(long),
			      GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (!pool->used)
		return -ENOMEM;
	if (crab_numset_init(&pool->room, words)) {
		kvfree(pool->used);
		pool->used = NULL;
		return -ENOMEM;
	}
	crab_numset_fill(&pool->room, words);
	spin_lock_init(&pool->lock);
	return 0;
}

void crab_pool_destroy(struct crab_pool *pool)
{
	struct crab_later *later;

	while ((later = pool->later)) {
		pool->later = later->next;
		kfree(later);
	}
	crab_numset_destroy(&pool->room);
	kvfree(pool->used);
	pool->used = NULL;
	kvfree(pool->bad);
	pool->bad = NULL;
}

/* The first free leaf from @from on in the word of @from, or @leaves */
static u64 pool_in_word(const struct crab_pool *pool, u64 from)
{
	u64 end = min(round_down(from, BITS_PER_LONG) + BITS_PER_LONG, pool->leaves);
	u64 leaf = find_next_zero_bit(pool->used, end, from);

	return leaf < end ? leaf : pool->leaves;
}

/* The first free leaf from @from on, or @leaves */
static u64 pool_search(const struct crab_pool *pool, u64 from)
{
	u64 leaf, word;

	if (from >= pool->leaves)
		return pool->leaves;
	leaf = pool_in_word(pool, from);
	word = crab_numset_after(&pool->room, BIT_WORD(from));
	if (leaf < pool->leaves || word == BIT_WORD(from))
		return leaf;
	return pool_in_word(pool, word * BITS_PER_LONG);
}

/* Sets a clear bit */
static void pool_take(struct crab_pool *pool, u64 leaf)
{
	__set_bit(leaf, pool->used);
	pool->free--;
	if (pool_in_word(pool, round_down(leaf, BITS_PER_LONG)) >= pool->leaves)
		crab_numset_remove(&pool->room, BIT_WORD(leaf));
}

/* Clears a bit; false: it was clear */
static bool pool_give(struct crab_pool *pool, u64 leaf)
{
	if (!__test_and_clear_bit(leaf, pool->used))
		return false;
	pool->free++;
	crab_numset_add(&pool->room, BIT_WORD(leaf));
	return true;
}

bool crab_pool_mark(struct crab_pool *pool, u64 leaf)
{
	if (test_bit(leaf, pool->used))
		return false;
	pool_take(pool, leaf);
	return true;
}

void crab_pool_spoil(struct crab_pool *pool, u64 leaf)
{
	if (!crab_pool_mark(pool, leaf))
		return;
	pool->spoilt++;
	if (pool->bad)
		__set_bit(leaf, pool->bad);
}

void crab_pool_spoil_bad(struct crab_pool *pool, const struct crab_media *media,
			 const struct crab_geometry *geo)
{
	u64 from, to, n, end, offset = geo->pool_offset;

	if (crab_badmem_next_page(media, offset, &from, &to))
		pool->bad = kvcalloc(BITS_TO_LONGS(pool->leaves), sizeof(long),
				     GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	while (crab_badmem_next_page(media, offset, &from, &to)) {
		end = min(geo->leaves,
			  div_u64(to - geo->pool_offset + geo->leaf_bytes - 1, geo->leaf_bytes));
		for (n = div_u64(from - geo->pool_offset, geo->leaf_bytes); n < end; n++) {
			crab_pool_spoil(pool, n);
			if (!(n & POOL_BREATHE))
				cond_resched();
		}
		offset = to;
	}
}

/* May a leaf be lent? It shares a bad page with others, which may be in use */
static int pool_lends(const struct crab_pool *pool, u64 leaf)
{
	if (!test_bit(leaf, pool->used))
		return 0;
	if (pool->bad)
		return test_bit(leaf, pool->bad) ? 0 : -EUCLEAN;
	return pool->spoilt ? -ENOMEM : -EUCLEAN;
}

static void pool_borrow(struct crab_pool *pool, u64 leaf)
{
	if (crab_pool_mark(pool, leaf))
		return;
	__clear_bit(leaf, pool->bad);
	pool->spoilt--;
}

int crab_pool_lend(struct crab_pool *pool, u64 first, u32 n)
{
	int err = 0;
	u64 leaf;

	for (leaf = first; leaf < first + n && !err; leaf++)
		err = pool_lends(pool, leaf);
	if (err)
		return err;
	for (leaf = first; leaf < first + n; leaf++)
		pool_borrow(pool, leaf);
	pool->lent += n;
	return 0;
}

void crab_pool_close(struct crab_pool *pool)
{
	spin_lock(&pool->lock);
	WRITE_ONCE(pool->closed, true);
	spin_unlock(&pool->lock);
}

/*
 * A leaf that was freed a while ago and not allocated since, or @leaves. Its lines are still
 * in the caches, and their write-back has ended
 */
static u64 pool_recent(const struct crab_pool *pool)
{
	u32 freed = READ_ONCE(pool->freed);
	u64 leaf = READ_ONCE(pool->recent[freed % CRAB_POOL_RECENT]);

	return freed < CRAB_POOL_RECENT || test_bit(leaf, pool->used) ? pool->leaves : leaf;
}

static u64 pool_next(const struct crab_pool *pool)
{
	u64 leaf = pool_recent(pool), cursor = READ_ONCE(pool->cursor);

	if (leaf < pool->leaves)
		return leaf;
	return pool_search(pool, cursor);
}

u64 crab_pool_next(const struct crab_pool *pool)
{
	/* If the leaf is allocated meanwhile, a prefetch was useless */
	return data_race(pool_next(pool));
}

/* Sets one clear bit: a recent one, or the next one from the cursor on; there is one */
static u64 pool_pick(struct crab_pool *pool)
{
	u64 leaf;

	lockdep_assert_held(&pool->lock);
	leaf = pool_recent(pool);
	if (leaf >= pool->leaves) {
		leaf = pool_search(pool, pool->cursor);
		if (leaf >= pool->leaves)
			leaf = pool_search(pool, 0);
		pool->cursor = leaf + 1;
	}
	pool_take(pool, leaf);
	return leaf;
}

/* A leaf that is free already would be allocated twice: nothing is allocated from then on */
static void pool_put(struct crab_pool *pool, u64 leaf)
{
	lockdep_assert_held(&pool->lock);
	if (unlikely(!pool_give(pool, leaf))) {
		WRITE_ONCE(pool->closed, true);
		return;
	}
	pool->recent[pool->freed % CRAB_POOL_RECENT] = leaf;
	WRITE_ONCE(pool->freed, pool->freed + 1);
}

/* Frees the leaf that has waited longest */
static void pool_settle_one(struct crab_pool *pool)
{
	struct crab_later *later = pool->later;

	pool->later = later->next;
	if (!pool->later)
		pool->later_end = &pool->later;
	pool->waiting--;
	pool->settled++;
	pool_put(pool, later->leaf);
	kfree(later);
}

/*
 * Frees up to @most leaves whose grace period has ended, or that were handed over before @until;
 * true if that were so many
 */
static bool pool_settle(struct crab_pool *pool, u32 most, u64 until)
{
	lockdep_assert_held(&pool->lock);
	for (; most; most--) {
		if (!pool->later || (pool->settled >= until &&
				     !poll_state_synchronize_rcu(pool->later->cookie)))
			return false;
		pool_settle_one(pool);
	}
	return true;
}

/* Are there @n leaves, and @leave more? One that is being prepared will be free soon */
static bool pool_is_enough(const struct crab_pool *pool, u32 n, u32 leave)
{
	return pool->free >= n && pool->free + pool->raw >= (u64)n + leave;
}

static int pool_admit(struct crab_pool *pool, u32 n, u32 leave)
{
	lockdep_assert_held(&pool->lock);
	if (unlikely(pool->closed))
		return -EUCLEAN;
	while (!pool_is_enough(pool, n, leave) && pool_settle(pool, POOL_SETTLES, 0))
		;
	return pool_is_enough(pool, n, leave) ? 0 : -ENOSPC;
}

int crab_pool_alloc(struct crab_pool *pool, struct crab_spare *spares, u32 n, u32 leave)
{
	int err;
	u32 i;

	spin_lock(&pool->lock);
	err = pool_admit(pool, n, leave);
	if (err)
		goto out;
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

/*
 * The highest run of @n clear bits at a multiple of @n, below @end and not all of it below @from;
 * or @leaves. It may read the whole bitmap, and so takes no lock: leaves come and go meanwhile.
 */
static u64 pool_find_run(const struct crab_pool *pool, u32 n, u64 from, u64 end)
{
	u64 first;

	for (end -= end % n; end > from; end = first) {
		first = end - n;
		/* pool_lend_run() tests the run again, under the lock */
		if (data_race(find_next_bit(pool->used, end, first)) >= end)
			return first;
		if ((first & POOL_BREATHE) < n)
			cond_resched();
	}
	return pool->leaves;
}

/* As pool_find_run(), from the last run on first */
static u64 pool_next_run(const struct crab_pool *pool, u32 n, u64 end)
{
	u64 run = min(READ_ONCE(pool->run), end);
	u64 leaf = pool_find_run(pool, n, 0, run);

	return leaf < pool->leaves ? leaf : pool_find_run(pool, n, run, end);
}

/* -EAGAIN: a leaf of the run was allocated since it was found */
static int pool_lend_run(struct crab_pool *pool, u64 first, u32 n, u32 leave)
{
	int err;
	u32 i;

	spin_lock(&pool->lock);
	err = pool_admit(pool, n, leave);
	if (!err && find_next_bit(pool->used, first + n, first) < first + n)
		err = -EAGAIN;
	if (err)
		goto out;
	for (i = 0; i < n; i++)
		pool_take(pool, first + i);
	pool->lent += n;
	WRITE_ONCE(pool->run, first);
out:
	spin_unlock(&pool->lock);
	return err;
}

/* Frees all leaves whose grace period has ended, or that were handed over before @until */
static void pool_look(struct crab_pool *pool, u64 until)
{
	bool more;

	do {
		spin_lock(&pool->lock);
		more = pool_settle(pool, POOL_SETTLES, until);
		spin_unlock(&pool->lock);
	} while (more);
}

static bool pool_has(const struct crab_pool *pool, u64 n)
{
	/* The number may change meanwhile: the caller tries, and tests again if that fails */
	return data_race(pool->free + pool->raw) >= n;
}

static bool pool_waits(const struct crab_pool *pool)
{
	/* A leaf that is handed over meanwhile waits for the next call */
	return data_race(pool->waiting);
}

int crab_pool_alloc_run(struct crab_pool *pool, u32 n, u64 end, u32 leave, u64 *first)
{
	u64 leaf;
	int err;

	/* Leaves that wait for readers may break runs up */
	if (pool_waits(pool))
		pool_look(pool, 0);
	do {
		if (!pool_has(pool, (u64)n + leave))
			return -ENOSPC;
		leaf = pool_next_run(pool, n, end);
		if (leaf == pool->leaves)
			return -ENOSPC;
		err = pool_lend_run(pool, leaf, n, leave);
	} while (err == -EAGAIN);
	if (!err)
		*first = leaf;
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

static bool pool_is_low(const struct crab_pool *pool)
{
	u32 stocked = READ_ONCE(pool->stocked);

	return !READ_ONCE(pool->closed) && stocked < CRAB_POOL_READY / 2 &&
	       READ_ONCE(pool->free) > stocked;
}

bool crab_pool_needs_refill(const struct crab_pool *pool)
{
	/* A worker that is woken too often finds nothing to do */
	return data_race(pool_is_low(pool));
}

bool crab_pool_has(struct crab_pool *pool, u64 n)
{
	if (!pool_has(pool, n) && pool_waits(pool))
		pool_look(pool, 0);
	return pool_has(pool, n);
}

/* Number of leaves that were ever handed over to wait for readers */
static u64 pool_handed(struct crab_pool *pool)
{
	u64 handed;

	spin_lock(&pool->lock);
	handed = pool->settled + pool->waiting;
	spin_unlock(&pool->lock);
	return handed;
}

bool crab_pool_wait(struct crab_pool *pool)
{
	u64 until = pool_handed(pool);

	if (!pool_waits(pool))
		return false;
	/* Polling overlooks the end of a grace period that an expedited one began before */
	synchronize_rcu();
	pool_look(pool, until);
	return true;
}

bool crab_pool_uses(struct crab_pool *pool, u64 leaf)
{
	bool used;

	spin_lock(&pool->lock);
	used = test_bit(leaf, pool->used);
	spin_unlock(&pool->lock);
	return used;
}

u64 crab_pool_unlisted(struct crab_pool *pool)
{
	u64 leaves;

	spin_lock(&pool->lock);
	leaves = pool->free + pool->raw + pool->waiting + pool->spoilt + pool->lent;
	spin_unlock(&pool->lock);
	return leaves;
}

void crab_pool_free(struct crab_pool *pool, u64 leaf)
{
	spin_lock(&pool->lock);
	pool_put(pool, leaf);
	spin_unlock(&pool->lock);
}

void crab_pool_free_run(struct crab_pool *pool, u64 first, u32 n)
{
	u32 i;

	spin_lock(&pool->lock);
	for (i = 0; i < n; i++)
		pool_give(pool, first + i);
	pool->lent -= n;
	WRITE_ONCE(pool->run, max(pool->run, first + n));
	spin_unlock(&pool->lock);
}

u64 crab_pool_lent(struct crab_pool *pool)
{
	u64 lent;

	spin_lock(&pool->lock);
	lent = pool->lent;
	spin_unlock(&pool->lock);
	return lent;
}

void crab_pool_free_later(struct crab_pool *pool, struct crab_later *later)
{
	later->next = NULL;
	spin_lock(&pool->lock);
	later->cookie = start_poll_synchronize_rcu();
	*pool->later_end = later;
	pool->later_end = &later->next;
	pool->waiting++;
	/* Two for one: so all but so many are free soon after their grace period */
	if (pool->waiting > CRAB_POOL_WAITING)
		pool_settle(pool, 2, 0);
	spin_unlock(&pool->lock);
}
