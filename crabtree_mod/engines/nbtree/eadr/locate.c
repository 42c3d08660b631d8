// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements how a key leads to its leaf, in the layout `eadr`.
 */

/**
 * DOC: the way to a leaf of eadr
 *
 * A search uses a shortcut, or else the index. If these do not lead to the leaf, because they are
 * stale or being changed, it goes on along the list on the media: it waits for no task.
 *
 * A leaf counts until it is gone, also if the list already has its fresh leaves: then searches by
 * the index and by the list lead to the same one.
 *
 * Locking: none; RCU keeps the leaf.
 */
#include <linux/compiler.h>
#include <linux/kernel.h>

#include "engines/nbtree/guess.h"
#include "slots.h"

#define FIND_BACK	16ULL	/* factor from one step back in the index to the next */
#define FIND_STEPS	1000U	/* along the list, more than it is long: it may change meanwhile */
#define FIND_BEGINS	100U	/* of a walk. Other tasks can replace a leaf in between each time */

/* From a leaf that is gone to one that is not; NULL: it was unlinked */
static struct nb_leaf *leaf_onward(struct nb_leaf *leaf, u64 key)
{
	/* Pairs with smp_store_release() in smo_gone(): the fresh leaves are whole */
	while (leaf && unlikely(smp_load_acquire(&leaf->gone)))
		leaf = ea_smo(leaf)->fresh[key >= ea_smo(leaf)->split];
	return leaf;
}

/*
 * A leaf of the list that begins at @key or below. A task may be changing the index, and may never
 * go on: then a search can lead to a neighbour of the leaf, each time. A search for a lower key
 * leads elsewhere; in the end it leads to the first leaf, whose entry only changes its child.
 */
static struct nb_leaf *leaf_below(const struct ea_tree *tree, u64 key)
{
	u64 from = key, back = FIND_BACK;
	struct nb_leaf *leaf;

	for (;;) {
		leaf = leaf_onward(crab_index_find(&tree->nb.index, from), key);
		if ((leaf && leaf->low <= key) || !from)
			return leaf;
		from = back && key > back ? key - back : 0;
		back *= FIND_BACK;	/* 0 in the end */
	}
}

/* The number of the next leaf in the list, plus one; 0: none. Two loads of the word are equal */
static u64 leaf_link(const struct ea_tree *tree, const struct nb_leaf *leaf)
{
	const __le64 *at = &nb_leaf_media(&tree->nb, leaf)->head.next;
	u64 next, tries = EA_LINK_TRIES;

	do
		next = crab_load_acquire(tree->nb.base.media, at);
	while (crab_load_acquire(tree->nb.base.media, at) != next && --tries);
	next = next & CRAB_LINK_MASK & ~EA_LINK_MARK;
	return next > tree->nb.base.geo.leaves ? 0 : next;
}

/*
 * By the list, a leaf has the range of an unlinked one before that one is gone. Until then the
 * unlinked leaf counts, because other searches lead to it.
 */
static struct nb_leaf *leaf_unlinking(const struct ea_tree *tree, u64 key)
{
	/* Pairs with smp_store_release() in unlink_once() */
	struct nb_leaf *leaf = smp_load_acquire(&tree->unlinking);
	u64 high;

	if (!leaf || key < leaf->low)
		return NULL;
	/* The link in memory that has failed is not read */
	high = READ_ONCE(leaf->quarantined) ? READ_ONCE(leaf->high) : crab_ea_high(tree, leaf);
	if (key >= high)
		return NULL;
	/* Pairs with smp_store_release() in smo_gone() */
	return smp_load_acquire(&leaf->gone) ? NULL : leaf;
}

/*
 * The list has a fresh leaf before the old one is gone. Until then the old one counts, because
 * searches by the index lead to it: a store to the fresh one would be invisible to them.
 */
static struct nb_leaf *leaf_counts(struct nb_leaf *leaf)
{
	struct nb_leaf *before = leaf ? READ_ONCE(leaf->before) : NULL;

	/* Pairs with smp_store_release() in smo_gone() */
	return before && !smp_load_acquire(&before->gone) ? before : leaf;
}

/* As crab_ea_leaf_of(), by the list: the index may be stale, or a task may be changing it */
static noinline struct nb_leaf *leaf_by_list(struct ea_tree *tree, u64 key)
{
	struct nb_leaf *leaf = NULL, *next;
	u64 steps = FIND_STEPS + 2 * tree->nb.base.geo.leaves, link;
	u32 begins = FIND_BEGINS;

	while (steps-- && (leaf || begins--)) {
		leaf = leaf ?: leaf_below(tree, key);
		/* The link in memory that has failed is not read */
		if (!leaf || key < READ_ONCE(leaf->high) || READ_ONCE(leaf->quarantined))
			return leaf;
		link = leaf_link(tree, leaf);
		next = link ? READ_ONCE(tree->nb.by_number[link - 1]) : NULL;
		if (!link || (next && key < next->low))
			return leaf_unlinking(tree, key) ?: leaf;
		if (next && next->low <= leaf->low) {
			crab_ea_damaged(tree, leaf, "the list leads back");
			return NULL;
		}
		/* Begin again if the next leaf is not in the list any more */
		leaf = leaf_onward(leaf_counts(next), key);
	}
	crab_ea_damaged(tree, NULL, "neither index nor list lead to the leaf of a key");
	return NULL;
}

struct nb_leaf *crab_ea_leaf_of(struct ea_tree *tree, u64 key)
{
	struct nb_leaf *leaf = leaf_onward(nb_guess(&tree->nb, key), key);

	if (likely(leaf && key >= leaf->low && key < READ_ONCE(leaf->high)))
		return leaf;
	return leaf_by_list(tree, key);
}

u64 crab_ea_high(const struct ea_tree *tree, const struct nb_leaf *leaf)
{
	const struct crab_media *media = tree->nb.base.media;
	const struct crab_dhead *head;
	const struct nb_leaf *next;
	u64 link = leaf_link(tree, leaf);

	if (!link)
		return CRAB_KEY_EMPTY;
	/* The memory of the next leaf may have failed */
	next = READ_ONCE(tree->nb.by_number[link - 1]);
	if (next)
		return next->low;
	head = (const struct crab_dhead *)(media->base +
					   crab_leaf_offset(&tree->nb.base.geo, link - 1));
	return crab_load(media, &head->low);
}

u64 crab_ea_failed_high(const struct ea_tree *tree, const struct nb_leaf *leaf, u64 key)
{
	u64 high = READ_ONCE(leaf->high);

	if (key >= high) {
		leaf = crab_index_find(&tree->nb.index, key);
		high = READ_ONCE(leaf->high);
	}
	return high;
}
