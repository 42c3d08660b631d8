// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the table of sides.
 *
 * Invariant: an entry of crab_sides.chunks changes once, from NULL to a chunk whose sides are
 * initialised.
 *
 * Locking: none. Of two tasks that allocate the same chunk, one frees its own.
 */
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "side.h"

static u64 chunk_count(const struct crab_sides *sides)
{
	return DIV_ROUND_UP(sides->leaves, CRAB_SIDE_CHUNK);
}

int crab_sides_init(struct crab_sides *sides, u64 leaves)
{
	sides->leaves = leaves;
	atomic64_set(&sides->made, 0);
	sides->chunks = kvcalloc(chunk_count(sides), sizeof(*sides->chunks),
				 GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	return sides->chunks ? 0 : -ENOMEM;
}

void crab_sides_destroy(struct crab_sides *sides)
{
	u64 i;

	for (i = 0; sides->chunks && i < chunk_count(sides); i++)
		kfree(sides->chunks[i]);
	kvfree(sides->chunks);
	sides->chunks = NULL;
}

static struct crab_side *chunk_alloc(gfp_t gfp)
{
	struct crab_side *chunk = kcalloc(CRAB_SIDE_CHUNK, sizeof(*chunk), gfp);
	u32 i;

	for (i = 0; chunk && i < CRAB_SIDE_CHUNK; i++) {
		spin_lock_init(&chunk[i].lock);
		seqcount_spinlock_init(&chunk[i].seq, &chunk[i].lock);
	}
	return chunk;
}

struct crab_side *crab_side_make(struct crab_sides *sides, u64 leaf, gfp_t gfp)
{
	struct crab_side *side = crab_side(sides, leaf), *chunk;

	if (side)
		return side;
	chunk = chunk_alloc(gfp);
	if (!chunk)
		return NULL;
	/* Publishes the sides initialised; pairs with the load in crab_side() */
	if (cmpxchg(&sides->chunks[leaf / CRAB_SIDE_CHUNK], NULL, chunk))
		kfree(chunk);
	else
		atomic64_inc(&sides->made);
	return crab_side(sides, leaf);
}

u64 crab_sides_bytes(const struct crab_sides *sides)
{
	return chunk_count(sides) * sizeof(*sides->chunks) +
	       atomic64_read(&sides->made) * CRAB_SIDE_CHUNK * sizeof(struct crab_side);
}
