// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements allocation on demand, which Wang et al. 2020, section 5.1, replace by a
 * pool that the tree manages itself. The media has one bit for each leaf, between the head of the
 * list and the pool; every allocation and every free stores one word and waits for it (P12).
 *
 * It exists for comparison. The list is authoritative: attach rewrites the
 * bitmap from the list, so no leaf can leak by it either.
 *
 * Locking: crab_tree.smo_lock.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/sched.h>

#include "smo.h"

#define BITMAP_BITS	64

static __le64 *bitmap_word(const struct crab_tree *tree, u64 leaf)
{
	return (__le64 *)(tree->base.media->base + CRAB_BITMAP_OFFSET) + leaf / BITMAP_BITS;
}

u64 crab_bitmap_bytes(u64 leaves, u32 leaf_bytes)
{
	return DIV_ROUND_UP_ULL(leaves, BITMAP_BITS) * sizeof(__le64);
}

void crab_bitmap_set(struct crab_write *write, u64 leaf, bool used)
{
	const struct crab_tree *tree = write->tree;
	__le64 *word = bitmap_word(tree, leaf);
	u64 bit = 1ULL << (leaf % BITMAP_BITS), bits;

	lockdep_assert_held(&tree->smo_lock);
	bits = crab_load(tree->base.media, word);
	crab_store(write->flow, word, used ? bits | bit : bits & ~bit);
	crab_clean(write->flow, word, sizeof(*word));
	/* P12: the leaf is taken before it is written, and free after it was unlinked */
	crab_fence(write->flow, CRAB_P12_ALLOCATED);
}

void crab_bitmap_rebuild(struct crab_write *write)
{
	const struct crab_tree *tree = write->tree;
	u64 words = DIV_ROUND_UP_ULL(tree->base.geo.leaves, BITMAP_BITS), i;

	for (i = 0; i < words; i++) {
		crab_store(write->flow, bitmap_word(tree, i * BITMAP_BITS),
			   tree->pool.used[i]);
		cond_resched();
	}
	crab_clean(write->flow, bitmap_word(tree, 0), words * sizeof(__le64));
	/* P12: the bitmap is that of this attach; an unfinished store has no superblock to fence */
	crab_fence(write->flow, CRAB_P12_ALLOCATED);
}
