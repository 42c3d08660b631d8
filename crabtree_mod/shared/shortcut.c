// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the shortcuts. They are not in the paper (Wang et al. 2020). As in a learned
 * index, the place of an entry is computed from the key.
 *
 * A search does not depend on them: the range of the leaf decides, and if the key is not in it, the
 * index is asked. So a wrong entry costs time, but not the result.
 *
 * Invariants, while changes are excluded: an entry of a filled chunk is as in shortcut.h. A child
 * that the index has no more is in no entry.
 *
 * A change of the index is followed at once, in the bucket of the changed entry and in those after
 * it in which no leaf begins, CRAB_SHORTCUT_REACH at most. A leaf with more buckets is not in the
 * others. So one change costs a bounded number of stores, however the keys are spread.
 *
 * Locking: see shortcut.h. A reader may see an entry that is old and one that is new; both lead
 * to a child that the index had when the reader began, or later.
 */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "shortcut.h"

#define SHORTCUT_GFP	(GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN)
#define SHORTCUT_CHUNK_BYTES	(CRAB_SHORTCUT_CHUNK * sizeof(struct crab_shortcut))
#define SHORTCUT_MAX	(1U << 30)	/* buckets */
#define SHORTCUT_FREED	4U		/* chunks of the table before that a step frees */
#define SHORTCUT_NONE	(~0U)		/* no bucket */
#define SHORTCUT_APART	3U		/* last leaves that may begin far from the others ... */
#define SHORTCUT_MANY	64U		/* ... if there are so many leaves for each of them */

/* A walk over the leaves of the index, from one bucket to the next */
struct shortcut_walk {
	const struct crab_shortcuts *table;
	const struct crab_index *index;
	void *child;			/* the leaf that was taken last */
	u32 bucket;			/* in which it begins */
	u32 next;			/* in which the leaf after it begins, or SHORTCUT_NONE */
	struct crab_index_path path;	/* of that leaf, if there is one */
};

/* The lowest key of a bucket; after the last one, the first key beyond the span */
static u64 shortcut_start(const struct crab_shortcuts *table, u32 bucket)
{
	u64 scaled = (u64)bucket << 32;

	if (bucket == table->buckets)
		return table->base + table->span + 1;
	/* DIV_ROUND_UP_ULL() has divisors of 32 bits; @scale is 2^32 at most */
	return table->base + (div64_u64(scaled + table->scale - 1, table->scale) << table->shift);
}

static u32 shortcut_chunks(const struct crab_shortcuts *table)
{
	return DIV_ROUND_UP(table->buckets, CRAB_SHORTCUT_CHUNK);
}

static bool shortcut_is_whole(const struct crab_shortcuts *table)
{
	return table->filled == shortcut_chunks(table);
}

/* Is the index asked for all keys of a bucket? */
static bool shortcut_asks(const struct crab_shortcut *entry)
{
	return ((unsigned long)entry->word & CRAB_SHORTCUT_ASK) == CRAB_SHORTCUT_ASK;
}

static size_t shortcut_bytes(const struct crab_shortcuts *table)
{
	return struct_size(table, chunks, shortcut_chunks(table));
}

/* INFO reads the sum without a lock */
static void shortcut_account(struct crab_index *index, long bytes)
{
	WRITE_ONCE(index->table_bytes, index->table_bytes + bytes);
}

/* A leaf that begins below the first bucket counts for that one */
static u32 shortcut_bucket(const struct crab_shortcuts *table, u64 low)
{
	return low < table->base ? 0 : crab_shortcut_scale(table, low) >> 32;
}

/* Takes the next leaf, which there is */
static void walk_take(struct shortcut_walk *walk)
{
	const struct crab_shortcuts *table = walk->table;

	walk->child = crab_index_child(&walk->path);
	walk->bucket = walk->next;
	walk->next = SHORTCUT_NONE;
	/* Leaves may have been added beyond the span */
	if (crab_index_next(walk->index, &walk->path) &&
	    crab_index_low(&walk->path) - table->base <= table->span)
		walk->next = crab_shortcut_scale(table, crab_index_low(&walk->path)) >> 32;
}

/* Takes the last leaf that begins before a bucket */
static void walk_before(struct shortcut_walk *walk, u32 bucket)
{
	crab_index_walk(walk->index, shortcut_start(walk->table, bucket) - 1, &walk->path);
	walk->next = shortcut_bucket(walk->table, crab_index_low(&walk->path));
	walk_take(walk);
}

/* Takes the leaves that begin in a bucket, of which there is one at least; returns the part */
static u32 walk_through(struct shortcut_walk *walk, u32 bucket)
{
	u64 low = crab_index_low(&walk->path);

	walk_take(walk);
	if (walk->next == bucket) {
		walk_before(walk, bucket + 1);
		return CRAB_SHORTCUT_ASK;
	}
	/* The last part of a bucket is CRAB_SHORTCUT_ASK */
	return bucket % CRAB_SHORTCUT_CHUNK ?
	       crab_shortcut_part(crab_shortcut_scale(walk->table, low)) : CRAB_SHORTCUT_ASK;
}

/* The entry of a bucket, all before which were passed */
static void *walk_entry(struct shortcut_walk *walk, u32 bucket)
{
	u32 part = 0;

	if (walk->next == bucket)
		part = walk_through(walk, bucket);
	else if (bucket - walk->bucket > CRAB_SHORTCUT_REACH)
		return (void *)(unsigned long)CRAB_SHORTCUT_ASK;
	return (void *)((unsigned long)walk->child << CRAB_SHORTCUT_BITS | part);
}

/* As crab_shortcut_child(), but NULL also where the entry can be wrong */
static void *shortcut_child_exact(const struct crab_shortcut *at, u32 part)
{
	u32 from = (unsigned long)READ_ONCE(at->word) & CRAB_SHORTCUT_ASK;

	return from == part ? NULL : crab_shortcut_child(at, part);
}

/* All entries are asked for before the first is read */
void crab_shortcut_find_many(const struct crab_index *index, const u64 *keys, u32 n, void **found)
{
	const struct crab_shortcuts *table = rcu_dereference_raw(index->shortcuts);
	const struct crab_shortcut *at[CRAB_SHORTCUT_MANY];
	u32 parts[CRAB_SHORTCUT_MANY], i, count = 0;
	void *children[CRAB_SHORTCUT_MANY];
	u64 others[CRAB_SHORTCUT_MANY];

	for (i = 0; i < n; i++) {
		at[i] = crab_shortcut_at(table, keys[i], &parts[i]);
		prefetch(at[i]);
	}
	for (i = 0; i < n; i++) {
		found[i] = at[i] ? shortcut_child_exact(at[i], parts[i]) : NULL;
		if (!found[i])
			others[count++] = keys[i];
	}
	if (!count)
		return;
	crab_index_find_many(index, others, count, children);
	while (n--)
		if (!found[n])
			found[n] = children[--count];
}

/* The entries of a chunk from one of them on */
static u32 shortcut_left(const struct crab_shortcuts *table, u32 bucket)
{
	return min(CRAB_SHORTCUT_CHUNK - bucket % CRAB_SHORTCUT_CHUNK, table->buckets - bucket);
}

u32 crab_shortcut_find_run(const struct crab_index *index, u64 key, u32 n, void **found)
{
	const struct crab_shortcuts *table = rcu_dereference_raw(index->shortcuts);
	u32 part, count = 1, i, left;
	const struct crab_shortcut *at = crab_shortcut_at(table, key, &part);
	unsigned long word;

	found[0] = at ? crab_shortcut_child(at, part) : NULL;
	if (!found[0])
		return 0;
	left = shortcut_left(table, crab_shortcut_scale(table, key) >> 32);
	/* The child of an entry is that of the entry before, or the next one */
	for (i = 0; i < left && count < n; i++) {
		word = (unsigned long)rcu_dereference_raw(at[i].word);
		if ((word & CRAB_SHORTCUT_ASK) == CRAB_SHORTCUT_ASK)
			break;
		found[count] = (void *)(word >> CRAB_SHORTCUT_BITS);
		count += found[count] != found[count - 1];
	}
	return count;
}

void crab_shortcut_update(struct crab_index *index, u64 low)
{
	const struct crab_shortcuts *table = index->shortcuts;
	struct shortcut_walk walk = { .table = table, .index = index };
	struct crab_shortcut *chunk;
	u32 bucket, end;
	void *entry;

	if (!table || (low > table->base && low - table->base > table->span))
		return;
	bucket = shortcut_bucket(table, low);
	end = min(bucket + CRAB_SHORTCUT_REACH + 1, table->buckets);
	walk_before(&walk, bucket);
	do {
		entry = walk_entry(&walk, bucket);
		chunk = table->chunks[bucket / CRAB_SHORTCUT_CHUNK];
		if (!chunk)
			continue;
		/* Pairs with crab_shortcut_child(): the child's content is visible */
		smp_store_release(&chunk[bucket % CRAB_SHORTCUT_CHUNK].word, entry);
	} while (++bucket < end && walk.next != bucket);
}

/* The next chunk; NULL without memory, or if most of its keys would be looked up in the index */
static struct crab_shortcut *shortcut_chunk(const struct crab_index *index,
					    const struct crab_shortcuts *table)
{
	struct crab_shortcut *chunk = kmalloc_array(CRAB_SHORTCUT_CHUNK, sizeof(*chunk),
						    SHORTCUT_GFP);
	u32 bucket = table->filled * CRAB_SHORTCUT_CHUNK, useless = 0, i;
	u32 n = min(table->buckets - bucket, CRAB_SHORTCUT_CHUNK);
	struct shortcut_walk walk = { .table = table, .index = index };

	if (!chunk)
		return NULL;
	walk_before(&walk, bucket);
	for (i = 0; i < n; i++) {
		chunk[i].word = walk_entry(&walk, bucket + i);
		useless += shortcut_asks(&chunk[i]);
	}
	if (useless <= n / 2)
		return chunk;
	kfree(chunk);
	return NULL;
}

static void shortcut_fill(struct crab_index *index, struct crab_shortcuts *table)
{
	struct crab_shortcut *chunk = shortcut_chunk(index, table);

	if (chunk)
		shortcut_account(index, SHORTCUT_CHUNK_BYTES);
	/* Pairs with crab_shortcut_at() */
	smp_store_release(&table->chunks[table->filled], chunk);
	table->filled++;
	WRITE_ONCE(index->unfilled, shortcut_chunks(table) - table->filled);
}

/*
 * The lowest key of the last leaf that has buckets. The highest leaves of some engines have no
 * records, and with them in the span most leaves could begin in one bucket
 */
static u64 shortcut_last(const struct crab_index *index)
{
	u32 apart = min_t(u64, index->entries / SHORTCUT_MANY, SHORTCUT_APART);
	struct crab_index_path path;

	crab_index_walk(index, CRAB_INDEX_PAD - 1, &path);
	while (apart--)
		crab_index_walk(index, crab_index_low(&path) - 1, &path);
	return crab_index_low(&path);
}

/* Seven buckets for four leaves, but none without a key; NULL: no memory, or one leaf only */
static struct crab_shortcuts *shortcut_alloc(const struct crab_index *index)
{
	struct crab_shortcuts *table, plan = { .leaves = index->entries };
	struct crab_index_path first;
	u64 most;

	crab_index_walk(index, 0, &first);
	if (!crab_index_next(index, &first))
		return NULL;
	plan.base = crab_index_low(&first);
	plan.span = shortcut_last(index) - plan.base;
	plan.shift = plan.span >> 32 ? ilog2(plan.span >> 32) + 1 : 0;
	most = (plan.span >> plan.shift) + 1;
	plan.buckets = min_t(u64, min(2 * plan.leaves - plan.leaves / 4, most), SHORTCUT_MAX);
	plan.scale = ((u64)plan.buckets << 32) / most;
	plan.buckets = (crab_shortcut_scale(&plan, plan.base + plan.span) >> 32) + 1;
	table = kvzalloc(shortcut_bytes(&plan), SHORTCUT_GFP);
	if (table)
		*table = plan;
	return table;
}

static bool shortcut_is_due(const struct crab_index *index)
{
	const struct crab_shortcuts *table = index->shortcuts;

	if (!index->shortens || index->before || index->entries < CRAB_SHORTCUT_LEAST)
		return false;
	return !table || index->entries > table->leaves + table->leaves / 4 ||
	       index->entries < table->leaves / 2;
}

/* Replaces the table; the one before is freed once no reader uses it. False: there is no memory */
static bool shortcut_renew(struct crab_index *index)
{
	struct crab_shortcuts *table = shortcut_alloc(index), *before;

	if (!table)
		return false;
	shortcut_account(index, shortcut_bytes(table));
	before = index->shortcuts;
	WRITE_ONCE(index->unfilled, shortcut_chunks(table));
	/* Pairs with crab_shortcut_at() */
	smp_store_release(&index->shortcuts, table);
	if (!before)
		return true;
	WRITE_ONCE(index->cookie, start_poll_synchronize_rcu());
	/* Pairs with shortcut_frees(): the cookie is that of this table */
	smp_store_release(&index->before, before);
	return true;
}

/* Frees some chunks of a table that has no readers, and then the table; true: it is gone */
static bool shortcut_free(struct crab_index *index, struct crab_shortcuts *table)
{
	struct crab_shortcut *chunk;
	u32 i;

	for (i = 0; i < SHORTCUT_FREED && table->filled; i++) {
		chunk = table->chunks[--table->filled];
		if (chunk)
			shortcut_account(index, -(long)SHORTCUT_CHUNK_BYTES);
		kfree(chunk);
	}
	if (table->filled)
		return false;
	shortcut_account(index, -(long)shortcut_bytes(table));
	kvfree(table);
	return true;
}

/* Has the table before no readers any more? */
static bool shortcut_frees(const struct crab_index *index)
{
	/* Pairs with shortcut_renew() */
	return smp_load_acquire(&index->before) &&
	       poll_state_synchronize_rcu(READ_ONCE(index->cookie));
}

bool crab_shortcut_wants(const struct crab_index *index)
{
	return READ_ONCE(index->unfilled) || shortcut_frees(index);
}

bool crab_shortcut_step(struct crab_index *index)
{
	struct crab_shortcuts *table = index->shortcuts;
	bool frees = shortcut_frees(index);

	if (frees && shortcut_free(index, index->before))
		WRITE_ONCE(index->before, NULL);
	if (shortcut_is_due(index))
		return shortcut_renew(index);
	if (!table || shortcut_is_whole(table))
		return frees;
	shortcut_fill(index, table);
	return true;
}

bool crab_shortcut_maintain(struct crab_index *index, struct mutex *lock)
{
	bool more;

	mutex_lock(lock);
	more = crab_shortcut_step(index);
	mutex_unlock(lock);
	return more;
}

void crab_shortcut_build(struct crab_index *index)
{
	index->shortens = true;
	crab_shortcut_step(index);
	while (index->shortcuts && !shortcut_is_whole(index->shortcuts)) {
		shortcut_fill(index, index->shortcuts);
		cond_resched();
	}
}

static void shortcut_free_all(struct crab_index *index, struct crab_shortcuts *table)
{
	while (table && !shortcut_free(index, table))
		cond_resched();
}

void crab_shortcut_destroy(struct crab_index *index)
{
	shortcut_free_all(index, index->before);
	shortcut_free_all(index, index->shortcuts);
}
