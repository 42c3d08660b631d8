/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares shortcuts: a table by which most searches reach their leaf with one load
 * instead of a descent through the index.
 *
 * The keys from the lowest one of the second leaf to that of one of the last leaves are divided
 * into buckets of equal width, seven of them for four leaves. If the keys are evenly distributed,
 * at most one leaf begins in a bucket, and the bucket's entry is enough to find the leaf of each of
 * its keys. Other keys are looked up in the index. The table needs up to 14 bytes a leaf, so that
 * it stays in the caches of a CPU for longer than descriptors and leaves.
 *
 * Layer L3: it includes index.h only; shared/, engines/ and tests include it.
 *
 * Locking: readers take no lock (RCU). Changes are under the lock of crab_index_set_lock().
 */
#ifndef CRABTREE_SHORTCUT_H
#define CRABTREE_SHORTCUT_H

#include <linux/compiler.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#include "index.h"

#define CRAB_SHORTCUT_MANY	16U	/* keys of crab_shortcut_find_many(), at most */

#ifndef CRAB_SHORTCUT_CHUNK		/* test builds: shadow/test_config.h */
#define CRAB_SHORTCUT_CHUNK	512U	/* entries that are allocated together, a page */
#define CRAB_SHORTCUT_REACH	8U	/* further buckets of a leaf that lead to it */
#define CRAB_SHORTCUT_LEAST	256U	/* leaves from which on there is a table */
#endif

#define CRAB_SHORTCUT_BITS	7U	/* of the part in an entry */
#define CRAB_SHORTCUT_ASK	((1U << CRAB_SHORTCUT_BITS) - 1)

/**
 * struct crab_shortcut - the entry of a bucket
 * @word: a child in the upper bits, and in the lowest CRAB_SHORTCUT_BITS the part of the bucket
 *	from which on keys are in the child
 *
 * A bucket has 128 parts, from 0 on. The child begins in the entry's part: keys of a lower part are
 * in the child of the entry before. So are keys of the same part that are below the begin, for
 * which the entry is wrong. CRAB_SHORTCUT_ASK: the index is asked for all keys of the bucket; the
 * child is that of the highest one, or NULL. The highest bits of a child are lost.
 *
 * The first entry of a chunk has the part 0, and no child begins above it, or CRAB_SHORTCUT_ASK.
 */
struct crab_shortcut {
	void *word;
};

/**
 * struct crab_shortcuts - a table
 * @base: lowest key of the first bucket
 * @span: keys above @base + @span have no bucket
 * @shift: a key's distance from @base is taken without its lowest @shift bits
 * @scale: ... and multiplied by this; the upper 32 bits of the product are the bucket, and the
 *	lower ones the place in it
 * @buckets: number of buckets
 * @leaves: leaves of the index when the table was made
 * @filled: chunks that were filled; those after them are NULL
 * @chunks: entries by CRAB_SHORTCUT_CHUNK; NULL: the index is asked
 */
struct crab_shortcuts {
	u64 base;
	u64 span;
	u64 scale;
	u32 shift;
	u32 buckets;
	u64 leaves;
	u32 filled;
	struct crab_shortcut *chunks[];
};

/**
 * crab_shortcut_scale() - the bucket of a key and its place in it
 * @table: the table
 * @key: a key from @table->base to @table->base + @table->span
 * Context: any.
 * Return: the bucket's number in the upper 32 bits, the place in the lower ones.
 */
static __always_inline u64 crab_shortcut_scale(const struct crab_shortcuts *table, u64 key)
{
	return ((key - table->base) >> table->shift) * table->scale;
}

/**
 * crab_shortcut_part() - the part of a bucket in which a key is
 * @scaled: of crab_shortcut_scale()
 * Context: any.
 * Return: 0 to 127.
 */
static __always_inline u32 crab_shortcut_part(u64 scaled)
{
	return (u32)scaled >> (32 - CRAB_SHORTCUT_BITS);
}

/**
 * crab_shortcut_at() - find the entry of a key
 * @table: rcu_dereference_raw() of the index's, or NULL
 * @key: any but CRAB_INDEX_PAD
 * @part: out: the part of the bucket in which the key is
 * Context: as crab_shortcut_find().
 * Return: the entry, or NULL if there is none.
 */
static __always_inline const struct crab_shortcut *
crab_shortcut_at(const struct crab_shortcuts *table, u64 key, u32 *part)
{
	const struct crab_shortcut *chunk;
	u64 scaled;
	u32 bucket;

	if (unlikely(!table || key - table->base > table->span))
		return NULL;
	scaled = crab_shortcut_scale(table, key);
	*part = crab_shortcut_part(scaled);
	bucket = scaled >> 32;
	chunk = rcu_dereference_raw(table->chunks[bucket / CRAB_SHORTCUT_CHUNK]);
	return likely(chunk) ? &chunk[bucket % CRAB_SHORTCUT_CHUNK] : NULL;
}

/**
 * crab_shortcut_child() - find the child of a key by its entry
 * @at: of crab_shortcut_at()
 * @part: of crab_shortcut_at()
 * Context: as crab_shortcut_find().
 * Return: as crab_shortcut_find().
 */
static __always_inline void *crab_shortcut_child(const struct crab_shortcut *at, u32 part)
{
	u32 from = (unsigned long)READ_ONCE(at->word) & CRAB_SHORTCUT_ASK;

	if (unlikely(from == CRAB_SHORTCUT_ASK))
		return NULL;
	at -= part < from;	/* no branch: either is as likely */
	return (void *)((unsigned long)rcu_dereference_raw(at->word) >> CRAB_SHORTCUT_BITS);
}

/**
 * crab_shortcut_find() - find the child of a key without the index
 * @index: the index
 * @key: any but CRAB_INDEX_PAD
 *
 * Context: as crab_index_find(), also as to a concurrent change.
 * Return: the child; or NULL if crab_index_find() is to be called.
 */
static __always_inline void *crab_shortcut_find(const struct crab_index *index, u64 key)
{
	u32 part;
	const struct crab_shortcut *at = crab_shortcut_at(rcu_dereference_raw(index->shortcuts),
							  key, &part);

	return likely(at) ? crab_shortcut_child(at, part) : NULL;
}

/**
 * crab_shortcut_find_many() - find the children of several keys, by shortcuts or by the index
 * @index: the index
 * @keys: any but CRAB_INDEX_PAD
 * @n: how many, CRAB_SHORTCUT_MANY at most
 * @found: out: one child for each key
 *
 * An operation of a batch that is led to the wrong leaf takes a fence of its own. So the index is
 * asked where an entry can be wrong.
 *
 * Context: as crab_index_find().
 */
void crab_shortcut_find_many(const struct crab_index *index, const u64 *keys, u32 n, void **found);

/**
 * crab_shortcut_find_run() - find the child of a key and children after it without the index
 * @index: the index
 * @key: any but CRAB_INDEX_PAD
 * @n: maximum number of children
 * @found: out: the children, in order of their keys
 *
 * Context: as crab_shortcut_find(). After a concurrent change a child may be missing in between.
 * Return: the number of children, which is less than @n also where a chunk ends, or where the
 * index would be asked for a key; 0: crab_index_find_run() is to be called.
 */
u32 crab_shortcut_find_run(const struct crab_index *index, u64 key, u32 n, void **found);

/**
 * crab_shortcut_build() - make the table of an index that attach has built
 * @index: the index, which has a table from now on while it has enough leaves
 *
 * Without memory the index has none, or less of it.
 *
 * Context: may sleep; attach, with changes excluded.
 */
void crab_shortcut_build(struct crab_index *index);

/**
 * crab_shortcut_step() - do a step of the table's growth
 * @index: the index
 *
 * A table is made when the leaves are a quarter more, or half as many. Its chunks are filled one by
 * one, so that no step takes long.
 *
 * Context: may sleep; changes are excluded.
 * Return: true if a table was made, or a chunk filled or freed.
 */
bool crab_shortcut_step(struct crab_index *index);

/**
 * crab_shortcut_maintain() - do a step off the write path
 * @index: the index
 * @lock: excludes changes of the index
 *
 * Splits do such steps, too, but a table can be new when there are no more.
 *
 * Context: may sleep.
 * Return: as crab_shortcut_step().
 */
bool crab_shortcut_maintain(struct crab_index *index, struct mutex *lock);

/**
 * crab_shortcut_wants() - test whether a step would fill a chunk or free memory
 * @index: the index
 *
 * No timer waits for the readers of the table before: if they outlast the maintenance that follows
 * the last split, it stays until the next split, merge or batch. Until then it is in @table_bytes
 * of @index.
 *
 * Context: any; while changes are not excluded, a hint.
 * Return: true if the table is not whole, or if no reader uses the one before any more.
 */
bool crab_shortcut_wants(const struct crab_index *index);

/**
 * crab_shortcut_update() - follow a change of the index
 * @index: the index
 * @low: key of the entry that was added, replaced or removed
 * Context: changes are excluded.
 */
void crab_shortcut_update(struct crab_index *index, u64 low);

/**
 * crab_shortcut_destroy() - free the table
 * @index: the index
 * Context: may sleep; no reader is left.
 */
void crab_shortcut_destroy(struct crab_index *index);

#endif /* CRABTREE_SHORTCUT_H */
