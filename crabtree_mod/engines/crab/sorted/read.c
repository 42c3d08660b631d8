// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements attach of a leaf of the layout `sorted`: it reads the keys, finds the
 * records that a cut left void, and completes torn writes.
 *
 * Invariant: after repair no leaf has a duplicate, and no record is in two leaves.
 *
 * Locking: attach has the region to itself.
 */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "engines/crab/smo.h"
#include "engines/crab/verify.h"
#include "smo.h"

/*
 * Attach: the keys must ascend, except for at most one duplicate. crab_leaf.count includes
 * the records that crab_sorted_overlap() will find void.
 */
void crab_sorted_read(const struct crab_tree *tree, struct crab_leaf *leaf,
		      struct crab_damage *damage)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	u64 key, prev = 0;
	u32 slot;

	for (slot = 0; slot < tree->slots; slot++, prev = key) {
		key = crab_load_settled(tree->base.media, &slots[slot].key);
		if (key == CRAB_KEY_EMPTY)
			break;
		crab_sorted_first_set(tree, leaf, slot, key);
		if (!slot || key > prev)
			continue;
		if (key == prev && leaf->duplicate == CRAB_LEAF_NO_DUPLICATE) {
			leaf->duplicate = slot - 1;
			leaf->torn++;
			continue;
		}
		/* The others are read too: recover_doubt() has to know each key */
		crab_leaf_quarantine(tree, leaf, damage, slot, key < prev ? "keys do not ascend" :
				     "more than one record was being shifted");
	}
	leaf->count = slot - (leaf->duplicate != CRAB_LEAF_NO_DUPLICATE);
}

static u64 slot_key(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 slot)
{
	return crab_load_settled(tree->base.media, &crab_leaf_slot(tree, leaf, slot)->key);
}

void crab_sorted_overlap(struct crab_tree *tree, struct crab_leaf *leaf,
			 const struct crab_leaf *next)
{
	u32 extent = crab_sorted_extent(leaf), keep, slot;
	u64 bound = slot_key(tree, next, 0);

	if (!extent || leaf->quarantined || slot_key(tree, leaf, extent - 1) < bound)
		return;
	for (keep = extent - 1; keep && slot_key(tree, leaf, keep - 1) >= bound; )
		keep--;
	/* The content in quarantine is unknown: those keys return -EUCLEAN, as the whole leaf */
	for (slot = keep; slot < extent && !next->quarantined; slot++) {
		if (crab_sorted_find(tree, next, slot_key(tree, leaf, slot)) < 0) {
			crab_leaf_quarantine(tree, leaf, &tree->base.damage, slot,
					     "key belongs to a later leaf");
			return;
		}
	}
	leaf->torn += extent - keep;
	crab_sorted_firsts_end(tree, leaf, keep);
	if (leaf->duplicate != CRAB_LEAF_NO_DUPLICATE && leaf->duplicate + 1 >= keep)
		leaf->duplicate = CRAB_LEAF_NO_DUPLICATE;
	leaf->count = keep - (leaf->duplicate != CRAB_LEAF_NO_DUPLICATE);
}

/* Closes the gap over a duplicate, ends the leaf before records that overlap */
static void leaf_complete(struct crab_write *write, struct crab_leaf *leaf)
{
	struct crab_tree *tree = write->tree;
	u32 extent = crab_sorted_extent(leaf);

	if (extent < tree->slots && slot_key(tree, leaf, extent) != CRAB_KEY_EMPTY)
		crab_sorted_end(write, leaf, extent);
	if (leaf->duplicate != CRAB_LEAF_NO_DUPLICATE)
		crab_sorted_shift_out(write, leaf, leaf->duplicate);
	leaf->duplicate = CRAB_LEAF_NO_DUPLICATE;
	tree->repairs += leaf->torn;
	leaf->torn = 0;
}

/*
 * From the last leaf to the first, so that a leaf that overlaps is ended before
 * a leaf that it overlaps is changed. An empty leaf is unlinked; no cut
 * leaves one, but an image may have some. No other CPU uses the store yet.
 */
int crab_sorted_repair(struct crab_write *write)
{
	struct crab_leaf *leaf, *prev;
	u64 word;

	for (leaf = write->tree->last; leaf; leaf = prev) {
		prev = leaf->prev;
		if (leaf->torn)
			leaf_complete(write, leaf);
		if (!leaf->count && prev && !crab_smo_verify_unlink(write->tree, leaf, &word))
			crab_smo_bypass(write, leaf, word);
		if (crab_engine_breathe(&write->tree->base))
			return -EINTR;
	}
	return 0;
}
