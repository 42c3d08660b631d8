/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the pool of leaves.
 *
 * Free is what the list does not reach: the pool keeps nothing on the media and
 * so can leak nothing. In DRAM it knows each leaf by one bit, and holds a few
 * prepared leaves, whose content is durable before they are allocated.
 */
#ifndef CRABTREE_POOL_H
#define CRABTREE_POOL_H

#include <linux/spinlock.h>
#include <linux/types.h>

#define CRAB_POOL_RESERVE	2	/* leaves that inserts leave for updates and merges */
#define CRAB_POOL_RECENT	16	/* leaves that came back, remembered to be taken again */
#define CRAB_POOL_READY		32	/* prepared leaves that the pool keeps in stock */

/* A leaf taken from the pool */
struct crab_spare {
	u64 leaf;		/* number */
	u64 tag;		/* if @prepared: a word of the engine's about the content */
	bool prepared;		/* the engine wrote its content; it is durable (P5) */
};

/**
 * struct crab_pool - the free leaves of a store
 * @lock: of everything below
 * @leaves: how many there are in all
 * @used: one bit a leaf; set: in the list, in stock or taken
 * @free: leaves that can still be taken, those in stock included
 * @cursor: where the search for a free leaf goes on
 * @recent: the leaves that came back last, as a ring: hints, @used decides
 * @given: how many came back
 * @stock: prepared leaves
 * @stocked: how many
 * @raw: leaves that are being prepared: one or none
 * @spoilt: free leaves whose memory cannot be read: marked in @used, never taken
 * @closed: nothing may be taken: the list was not read to its end
 */
struct crab_pool {
	spinlock_t lock;
	u64 leaves;
	unsigned long *used;
	u64 free;
	u64 cursor;
	u64 recent[CRAB_POOL_RECENT];
	u32 given;
	struct crab_spare stock[CRAB_POOL_READY];
	u32 stocked;
	u32 raw;
	u64 spoilt;
	bool closed;
};

/**
 * crab_pool_init() - a pool in which every leaf is free
 * @pool: the pool
 * @leaves: how many
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int crab_pool_init(struct crab_pool *pool, u64 leaves);

/** crab_pool_destroy() - free the pool's DRAM */
void crab_pool_destroy(struct crab_pool *pool);

/** crab_pool_mark() - attach found @leaf in the list; false if it was marked before */
bool crab_pool_mark(struct crab_pool *pool, u64 leaf);

/** crab_pool_spoil() - attach: a leaf cannot be read; it is never given out */
void crab_pool_spoil(struct crab_pool *pool, u64 leaf);

/** crab_pool_close() - hand out nothing from now on */
void crab_pool_close(struct crab_pool *pool);

/**
 * crab_pool_next() - the leaf that crab_pool_alloc() may give next
 * @pool: the pool
 * Context: any, without the lock: no more than a hint.
 * Return: a number, or the number of leaves.
 */
u64 crab_pool_next(const struct crab_pool *pool);

/**
 * crab_pool_alloc() - take leaves, prepared ones first
 * @pool: the pool
 * @spares: out
 * @n: how many, all or none
 * @leave: how many must remain, a leaf that is being prepared included
 * Return: 0, or -ENOSPC with nothing taken.
 */
int crab_pool_alloc(struct crab_pool *pool, struct crab_spare *spares, u32 n, u32 leave);

/**
 * crab_pool_prepare_begin() - take one unprepared leaf to prepare it
 * @pool: the pool
 * @spare: out
 * Return: false when the stock is full, nothing is free, or another leaf is being prepared.
 */
bool crab_pool_prepare_begin(struct crab_pool *pool, struct crab_spare *spare);

/** crab_pool_prepare_end() - put a prepared leaf into the stock */
void crab_pool_prepare_end(struct crab_pool *pool, const struct crab_spare *spare);

/** crab_pool_needs_refill() - is the stock low enough to be worth a kick? */
bool crab_pool_needs_refill(const struct crab_pool *pool);

/** crab_pool_has() - would crab_pool_alloc() find @n leaves, none to remain? no lock: a hint */
bool crab_pool_has(const struct crab_pool *pool, u64 n);

/** crab_pool_unlisted() - leaves that the pool has: together with the list, all of them */
u64 crab_pool_unlisted(struct crab_pool *pool);

/**
 * crab_pool_free() - give a leaf back
 * @pool: the pool
 * @leaf: its number; its unlinking is durable
 */
void crab_pool_free(struct crab_pool *pool, u64 leaf);

#endif /* CRABTREE_POOL_H */
