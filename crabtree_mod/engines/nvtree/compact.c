// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the search for neighbours to merge when the pool is short.
 */

/**
 * DOC: compaction of nvtree
 *
 * An insert that finds too few free leaves merges two neighbours that fit in one leaf. It does not
 * search the list for them: notes lead to them. A note is a bit for each leaf of the pool, and a
 * bit for each word of these bits. There is a note for
 *
 *   a leaf that lost a record since the search took its last note
 *   a leaf that fits with the next one after a structure modification, or when attach read it
 *
 * The search takes one note after the other until a merge succeeds. It finds no neighbours for a
 * note if the leaf was replaced meanwhile, or has filled up again; such a note is dropped. So the
 * search examines at most one leaf for each delete and a few for each modification, in a store of
 * any size, and -ENOSPC costs nothing if nothing was deleted since the last one.
 *
 * NV_NOTED spares the deletes of a leaf that has a note nv_notes.lock. The search clears it under
 * the lock of the leaf, and then reads the number of live records. A delete that did not add a
 * note held the lock before, so its count is visible; a later one adds a note.
 *
 * Invariant: if two neighbours fit in one leaf, one of them has a note, or the search examines it.
 *
 * Locking: compact.h documents it.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/slab.h>

#include "compact.h"
#include "smo.h"

#define COMPACT_TURN	64U	/* notes between two releases of nv_tree.smo_lock */

int crab_nv_notes_init(struct nv_notes *notes, u64 leaves)
{
	spin_lock_init(&notes->lock);
	notes->words = BITS_TO_LONGS(leaves);
	notes->leaf = kvcalloc(notes->words, sizeof(long), NV_GFP_ATTACH);
	notes->word = kvcalloc(BITS_TO_LONGS(notes->words), sizeof(long), NV_GFP_ATTACH);
	return notes->leaf && notes->word ? 0 : -ENOMEM;
}

void crab_nv_notes_destroy(struct nv_notes *notes)
{
	kvfree(notes->leaf);
	kvfree(notes->word);
}

u64 crab_nv_notes_bytes(const struct nv_notes *notes)
{
	return (notes->words + BITS_TO_LONGS(notes->words)) * sizeof(long);
}

void crab_nv_note(struct nv_notes *notes, u64 leaf)
{
	spin_lock(&notes->lock);
	__set_bit(leaf, notes->leaf);
	__set_bit(leaf / BITS_PER_LONG, notes->word);
	spin_unlock(&notes->lock);
}

/* Takes a note, in the order of the leaves' numbers from the last one on; returns the leaf */
static u64 note_take(struct nv_notes *notes)
{
	u64 word, leaf = NV_LEAF_NOWHERE;
	unsigned long *bits;

	spin_lock(&notes->lock);
	word = find_next_bit(notes->word, notes->words, notes->next);
	if (word >= notes->words)
		word = find_first_bit(notes->word, notes->words);
	if (word < notes->words) {
		bits = &notes->leaf[word];
		leaf = word * BITS_PER_LONG + __ffs(*bits);
		*bits &= *bits - 1;
		if (!*bits)
			__clear_bit(word, notes->word);
		notes->next = word;
	}
	spin_unlock(&notes->lock);
	return leaf;
}

/* Does a leaf fit in one together with the next one? */
static bool may_merge(struct nv_tree *tree, const struct nv_place *leaf)
{
	struct nv_place right;

	if (leaf->high == CRAB_KEY_EMPTY || nv_is_quarantined(leaf))
		return false;
	crab_nv_find(tree, leaf->high, &right);
	return !nv_is_quarantined(&right) &&
	       nv_live(leaf->side) + nv_live(right.side) <= tree->room;
}

void crab_nv_note_pair(struct nv_tree *tree, u64 key)
{
	struct nv_place leaf;

	crab_nv_find_range(tree, key, &leaf);
	if (may_merge(tree, &leaf))
		crab_nv_note(&tree->notes, leaf.leaf);
}

/* Merges the leaf that holds @key with the next one; -EAGAIN: they do not fit in one */
static int compact_pair(struct nv_write *write, struct nv_place *leaf, u64 key)
{
	crab_nv_find_range(write->tree, key, leaf);
	return may_merge(write->tree, leaf) ? crab_nv_smo_merge(write, leaf) : -EAGAIN;
}

/* Merges a leaf with a neighbour; -EAGAIN: that cannot be done, or the leaf is not in use */
static int compact_leaf(struct nv_write *write, u64 number)
{
	struct nv_tree *tree = write->tree;
	struct crab_side *side = crab_side(&tree->sides, number);
	struct nv_place leaf;
	int err;

	if (crab_pool_is_closed(&tree->pool))	/* the header may be in memory that failed */
		return -EUCLEAN;
	crab_nv_find(tree, crab_load(tree->base.media, &nv_leaf_media(tree, number)->head.low),
		     &leaf);
	if (leaf.leaf != number)
		return -EAGAIN;
	crab_lock(&side->lock);
	WRITE_ONCE(side->flags, side->flags & ~NV_NOTED);
	crab_unlock(&side->lock);
	err = compact_pair(write, &leaf, leaf.low);
	if (err == -EAGAIN && leaf.low)
		err = compact_pair(write, &leaf, leaf.low - 1);
	return err;
}

/* Lets writers that wait for the structure run */
static void compact_breathe(struct nv_tree *tree)
{
	mutex_unlock(&tree->smo_lock);
	cond_resched();
	mutex_lock(&tree->smo_lock);
}

int crab_nv_compact(struct nv_write *write)
{
	struct nv_tree *tree = write->tree;
	u32 turn = 0;
	u64 leaf;
	int err;

	lockdep_assert_held(&tree->smo_lock);
	while ((leaf = note_take(&tree->notes)) != NV_LEAF_NOWHERE) {
		err = compact_leaf(write, leaf);
		if (err && err != -EAGAIN)	/* they can be merged, but not now */
			crab_nv_note(&tree->notes, leaf);
		if (err != -EAGAIN)
			return err;
		if (++turn % COMPACT_TURN == 0)
			compact_breathe(tree);
	}
	return -ENOSPC;
}
