// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the plan of a structure modification of the layout `eadr`: how many fresh
 * leaves replace a full one, and where the second one begins.
 *
 * Invariant: the media may have changed under the store. A plan compares its words with memory, so
 * the list never gets a leaf that begins outside the range of the old one. Records may change
 * meanwhile, and later: any key of the range is a valid border, and a full leaf gets no record.
 *
 * Locking: none; RCU keeps the leaf.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "engines/select.h"
#include "moves.h"
#include "slots.h"

/* The leaf to which a link leads, or NULL */
static const struct nb_leaf *leaf_by_link(const struct ea_tree *tree, u64 word)
{
	u64 number = (word & CRAB_LINK_MASK) - 1;
	const struct nb_leaf *next;

	next = number < tree->nb.base.geo.leaves ? READ_ONCE(tree->nb.by_number[number]) : NULL;
	return next && word == crab_ea_smo_link(tree, next) ? next : NULL;
}

static bool link_ends(const struct ea_tree *tree, const struct nb_leaf *leaf, u64 word)
{
	const struct crab_geometry *geo = &tree->nb.base.geo;

	return word == crab_link_end(geo->store_id, crab_leaf_offset(geo, leaf->number),
				     leaf->birth);
}

/* The end of the range of a leaf with the link @word; 0: that leads to no leaf */
static u64 high_by_link(const struct ea_tree *tree, const struct nb_leaf *leaf, u64 word)
{
	const struct nb_leaf *next;

	if (link_ends(tree, leaf, word))
		return CRAB_KEY_EMPTY;
	next = leaf_by_link(tree, word);
	return next ? next->low : 0;
}

/* As crab_ea_high(), but 0 if the link leads to no leaf: it is damaged, or @leaf moves */
static u64 leaf_high(const struct ea_tree *tree, const struct nb_leaf *leaf)
{
	__le64 *at = ea_link_at(tree, leaf);
	u32 tries = EA_LINK_TRIES;
	u64 word, high;

	do {	/* Again if the leaf after it was replaced in between */
		word = crab_load_acquire(tree->nb.base.media, at);
		high = high_by_link(tree, leaf, word & ~EA_LINK_MARK);
		/* Pairs with the swap in smo_bypass(), which comes before leaf_retire() */
		smp_rmb();
	} while (!high && crab_load_acquire(tree->nb.base.media, at) != word && --tries);
	return high;
}

bool crab_ea_link_passes(const struct ea_tree *tree, const struct nb_leaf *before,
			 const __le64 *at, u64 old)
{
	u32 tries = EA_LINK_TRIES;
	u64 word;
	bool leads;

	do {	/* Again if the leaf after it was replaced in between */
		word = crab_load_acquire(tree->nb.base.media, at) & ~EA_LINK_MARK;
		leads = leaf_by_link(tree, word) || (before && link_ends(tree, before, word));
		/* Pairs with the swap in smo_bypass(), which comes before leaf_retire() */
		smp_rmb();
	} while (!leads && (crab_load_acquire(tree->nb.base.media, at) & ~EA_LINK_MARK) != word &&
		 --tries);
	return leads && word != old;
}

/* Does a leaf whose range ends at @high end a quarter? */
static bool high_ends_quarter(u64 high)
{
	return high == CRAB_KEY_EMPTY || !(high & EA_KEY_BITS);
}

/* Ascending keys fill their leaves */
static bool is_above(u64 key, const struct crab_record *keys, u32 count)
{
	u64 most = 0;
	u32 i;

	for (i = 0; i < count; i++)
		most = max(most, keys[i].key);
	return key > most;
}

static u64 keys_middle(struct crab_record *keys, u32 count)
{
	crab_select(keys, count, count / 2);
	return keys[count / 2].key;
}

int crab_ea_plan(struct ea_tree *tree, const struct nb_leaf *leaf, u64 key, struct ea_plan *plan)
{
	struct crab_record keys[NB_SLOTS_MAX];
	u64 high = leaf_high(tree, leaf);
	const char *fault;
	u32 count;

	*plan = (struct ea_plan) { .birth = leaf->birth, .leaves = 1, .split = CRAB_KEY_EMPTY };
	fault = high ? crab_ea_fault(tree, leaf, keys, &count) :
		       "link does not lead to the next leaf";
	if (fault)
		return ea_smo(leaf) ? 0 : crab_ea_damaged(tree, leaf, fault);
	if (2 * count <= tree->nb.room)
		return 0;
	plan->leaves = 2;
	plan->split = high_ends_quarter(high) && is_above(key, keys, count) ?
		      key : keys_middle(keys, count);
	if (plan->split <= leaf->low || plan->split >= high)
		return crab_ea_damaged(tree, leaf, "a key that splits it is out of its range");
	return 0;
}
