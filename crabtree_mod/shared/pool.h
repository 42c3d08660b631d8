/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the pool of leaves.
 *
 * Layer L3: it includes media/ and numset.h; engines/, store/ and tests include it.
 *
 * A leaf is free unless the engine, or a layer above it, reaches it from the media. The pool
 * stores nothing there, so it cannot leak. The content of the leaves in stock is durable.
 */
#ifndef CRABTREE_POOL_H
#define CRABTREE_POOL_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include "geometry.h"
#include "media/media.h"
#include "numset.h"

#define CRAB_POOL_RECENT	16	/* leaves freed last, remembered to be allocated first */
#define CRAB_POOL_READY		32	/* prepared leaves that the stock holds */
#define CRAB_POOL_WAITING	256	/* leaves that wait although their grace period has ended */

/**
 * struct crab_spare - an allocated leaf
 * @leaf: its number
 * @tag: if @prepared: a word of the engine about the content
 * @prepared: the engine has written the content, and it is durable (P5)
 */
struct crab_spare {
	u64 leaf;
	u64 tag;
	bool prepared;
};

/**
 * struct crab_later - a leaf that waits for readers before it is free
 * @leaf: its number; set by the caller of crab_pool_free_later()
 * @cookie: state of RCU when it was handed over
 * @next: handed over later
 */
struct crab_later {
	u64 leaf;
	unsigned long cookie;
	struct crab_later *next;
};

/**
 * struct crab_pool - the free leaves of a store
 * @lock: protects all other fields
 * @leaves: number of leaves, free or not
 * @used: one bit for each leaf; set: reached from the media, in stock, waiting, or allocated
 * @room: numbers of the words of @used that have a clear bit
 * @free: leaves that can be allocated, including those in stock
 * @cursor: leaf at which the search for a free leaf continues
 * @recent: leaves freed last, as a ring. They are hints: @used decides
 * @freed: leaves freed so far; wraps around
 * @stock: prepared leaves
 * @stocked: number of entries in @stock
 * @raw: leaves that are being prepared: one or none
 * @spoilt: free leaves whose memory cannot be read: set in @used, never allocated
 * @bad: one bit for each leaf; set: it is one of @spoilt. NULL if none is, or without memory
 * @lent: leaves of runs, which belong to a layer above the engine: set in @used
 * @run: leaf below which the search for a run begins
 * @later: leaves that wait for readers, in the order in which they were handed over
 * @waiting: number of leaves in @later
 * @settled: number of leaves that have left @later, and are free
 * @later_end: the NULL pointer that ends @later
 * @closed: nothing can be allocated: the engine does not know all leaves in use
 */
struct crab_pool {
	spinlock_t lock;
	u64 leaves;
	unsigned long *used;
	struct crab_numset room;
	u64 free;
	u64 cursor;
	u64 recent[CRAB_POOL_RECENT];
	u32 freed;
	struct crab_spare stock[CRAB_POOL_READY];
	u32 stocked;
	u32 raw;
	u64 spoilt;
	unsigned long *bad;
	u64 lent;
	u64 run;
	struct crab_later *later;
	struct crab_later **later_end;
	u64 waiting;
	u64 settled;
	bool closed;
};

/**
 * crab_pool_init() - make a pool in which every leaf is free
 * @pool: the pool
 * @leaves: number of leaves
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int crab_pool_init(struct crab_pool *pool, u64 leaves);

/**
 * crab_pool_destroy() - free the pool's DRAM
 * @pool: the pool; zeroed memory is allowed, too
 * Context: may sleep; no other call is running or will come.
 */
void crab_pool_destroy(struct crab_pool *pool);

/**
 * crab_pool_mark() - attach: a leaf is in use
 * @pool: the pool
 * @leaf: its number
 * Context: attach, before any other CPU knows the pool; takes no lock.
 * Return: false if it was marked before.
 */
bool crab_pool_mark(struct crab_pool *pool, u64 leaf);

/**
 * crab_pool_spoil() - attach: a leaf cannot be read; if it is free it is never allocated
 * @pool: the pool
 * @leaf: its number
 * Context: as crab_pool_mark(), after all leaves in use were marked.
 */
void crab_pool_spoil(struct crab_pool *pool, u64 leaf);

/**
 * crab_pool_spoil_bad() - attach: crab_pool_spoil() of all leaves of bad pages
 * @pool: the pool
 * @media: the region
 * @geo: where the leaves are
 * Context: as crab_pool_spoil(); may sleep.
 */
void crab_pool_spoil_bad(struct crab_pool *pool, const struct crab_media *media,
			 const struct crab_geometry *geo);

/**
 * crab_pool_lend() - attach: a run of leaves belongs to a layer above the engine
 * @pool: the pool
 * @first: the lowest number of the run
 * @n: how many
 *
 * Leaves that crab_pool_spoil_bad() spoilt may be in the run.
 *
 * Context: as crab_pool_spoil(), after crab_pool_spoil_bad(), before any allocation.
 * Return: 0; or with nothing done -EUCLEAN: the engine uses one of them, or one was lent before;
 * or -ENOMEM: crab_pool_spoil_bad() had no memory to tell that.
 */
int crab_pool_lend(struct crab_pool *pool, u64 first, u32 n);

/**
 * crab_pool_close() - allocate nothing from now on
 * @pool: the pool
 * Context: attach; or under the engine's lock of structure modifications. Takes crab_pool.lock.
 */
void crab_pool_close(struct crab_pool *pool);

/**
 * crab_pool_is_closed() - whether crab_pool_close() was called
 * @pool: the pool
 * Context: under the engine's lock that crab_pool_close() is called under.
 * Return: true if so.
 */
static inline bool crab_pool_is_closed(const struct crab_pool *pool)
{
	return pool->closed;
}

/**
 * crab_pool_next() - the leaf that crab_pool_alloc() may return next
 * @pool: the pool
 * Context: any; takes no lock: the result is a hint.
 * Return: a number, or the number of leaves.
 */
u64 crab_pool_next(const struct crab_pool *pool);

/**
 * crab_pool_alloc() - allocate leaves, prepared ones first
 * @pool: the pool
 * @spares: out
 * @n: how many, all or none
 * @leave: how many must remain, including one that is being prepared: the engine's reserve
 * Context: any but interrupts; takes crab_pool.lock.
 * Return: 0; or with nothing allocated -ENOSPC, or -EUCLEAN if the pool is closed.
 */
int crab_pool_alloc(struct crab_pool *pool, struct crab_spare *spares, u32 n, u32 leave);

/**
 * crab_pool_alloc_run() - lend neighbouring leaves
 * @pool: the pool
 * @n: how many, at least one
 * @end: all of them are below this number, at most the number of leaves
 * @leave: as of crab_pool_alloc()
 * @first: out: the lowest number of the run, a multiple of @n
 *
 * Runs come from the top, single leaves from the bottom. The search begins where the last one ended
 * and reads the bitmap once, without the lock; again if a leaf of its run is allocated meanwhile.
 * Context: may sleep; takes crab_pool.lock.
 * Return: as crab_pool_alloc().
 */
int crab_pool_alloc_run(struct crab_pool *pool, u32 n, u64 end, u32 leave, u64 *first);

/**
 * crab_pool_prepare_begin() - allocate one leaf to prepare it
 * @pool: the pool
 * @spare: out
 * Context: any but interrupts; takes crab_pool.lock.
 * Return: false if the stock is full, no leaf is free, or another one is being prepared.
 */
bool crab_pool_prepare_begin(struct crab_pool *pool, struct crab_spare *spare);

/**
 * crab_pool_prepare_end() - put a prepared leaf into the stock
 * @pool: the pool
 * @spare: a leaf of crab_pool_prepare_begin()
 * Context: any but interrupts; takes crab_pool.lock.
 */
void crab_pool_prepare_end(struct crab_pool *pool, const struct crab_spare *spare);

/**
 * crab_pool_needs_refill() - whether the stock is low
 * @pool: the pool
 * Context: any; takes no lock: the result is a hint.
 * Return: true if it is time for crab_pool_prepare_begin().
 */
bool crab_pool_needs_refill(const struct crab_pool *pool);

/**
 * crab_pool_has() - whether crab_pool_alloc() would find enough leaves
 * @pool: the pool
 * @n: how many, with no reserve
 *
 * As an allocation, it looks for ended grace periods before it answers that there are too few.
 * Context: any but interrupts; may take crab_pool.lock. A hint, unless no other task allocates.
 * Return: true if so.
 */
bool crab_pool_has(struct crab_pool *pool, u64 n);

/**
 * crab_pool_wait() - wait until the leaves that wait for readers are free
 * @pool: the pool
 * Context: may sleep, outside of RCU read-side sections; takes crab_pool.lock.
 * Return: false, at once, if no leaf waits.
 */
bool crab_pool_wait(struct crab_pool *pool);

/**
 * crab_pool_uses() - whether a leaf is not free
 * @pool: the pool
 * @leaf: its number
 * Context: any but interrupts; takes crab_pool.lock: a run may be borrowed meanwhile.
 * Return: true if so.
 */
bool crab_pool_uses(struct crab_pool *pool, u64 leaf);

/**
 * crab_pool_unlisted() - leaves that no structure of the engine on the media reaches
 * @pool: the pool
 * Context: any but interrupts; takes crab_pool.lock.
 * Return: their number. With the leaves in use it is the number of all leaves.
 */
u64 crab_pool_unlisted(struct crab_pool *pool);

/**
 * crab_pool_free() - free a leaf
 * @pool: the pool
 * @leaf: its number; no power cut can make the media reach it again. If it is free, the pool closes
 * Context: as crab_pool_alloc(). If readers cannot detect a stale leaf: crab_pool_free_later().
 */
void crab_pool_free(struct crab_pool *pool, u64 leaf);

/**
 * crab_pool_free_run() - take back a run that was lent
 * @pool: the pool
 * @first: the lowest number of the run
 * @n: how many
 * Context: as crab_pool_free().
 */
void crab_pool_free_run(struct crab_pool *pool, u64 first, u32 n);

/**
 * crab_pool_lent() - count the leaves of runs that are lent
 * @pool: the pool
 * Context: as crab_pool_free().
 * Return: their number.
 */
u64 crab_pool_lent(struct crab_pool *pool);

/**
 * crab_pool_free_later() - free a leaf once the current readers are gone
 * @pool: the pool
 * @later: memory from kmalloc() with @leaf set; the pool's from now on
 *
 * The leaf is free after a grace period of RCU. No callback runs: an allocation or a test that
 * finds too few leaves looks for ended ones, and so does this function if many leaves wait.
 * Context: any but interrupts; takes crab_pool.lock.
 */
void crab_pool_free_later(struct crab_pool *pool, struct crab_later *later);

#endif /* CRABTREE_POOL_H */
