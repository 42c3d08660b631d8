// SPDX-License-Identifier: GPL-2.0
/*
 * This file verifies what a structure change takes from the media, before its first store.
 *
 * DOC: media that changes
 *
 * The media may change under an attached store at any moment: a dead bus and many memory
 * controllers read all ones. A key that is read there becomes the least key of a fresh leaf, and
 * so a place in the index and the end of a range; a link is copied to the predecessor. Neither is
 * used before it was held against what DRAM knows, and each is read once: the value that was
 * verified is the value that is used. Where it does not fit, the operation returns -EUCLEAN with
 * nothing stored, and the store turns read-only.
 *
 * Invariant: a function here that returns an error has noted damage, for which the store turns
 * read-only, and nothing was stored.
 *
 * Locking: crab_tree.structure and the leaf, or attach; so one CPU at a time notes damage.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "smo.h"

static noinline int verify_failed(struct crab_tree *tree, const struct crab_leaf *leaf,
				  const char *what)
{
	return crab_engine_damaged(&tree->base, crab_leaf_offset(&tree->base.geo, leaf->number),
				   "leaf %llu: %s", (unsigned long long)leaf->number, what);
}

int crab_smo_verify_low(struct crab_tree *tree, const struct crab_leaf *leaf, u64 high, u64 low)
{
	if (likely(low > leaf->low && low < high))
		return 0;
	return verify_failed(tree, leaf, "a key that splits it is outside its range");
}

/* Keys that ascend are in the range if the first and the last are */
static int verify_sorted(struct crab_tree *tree, const struct crab_leaf *leaf, u64 high,
			 const struct crab_record *records, u32 count)
{
	u32 i;

	for (i = 1; i < count; i++)
		if (unlikely(records[i].key <= records[i - 1].key))
			return verify_failed(tree, leaf, "keys do not ascend");
	if (count && (records[0].key < leaf->low || records[count - 1].key >= high))
		return verify_failed(tree, leaf, "key outside its range");
	return 0;
}

int crab_smo_verify_records(struct crab_tree *tree, const struct crab_leaf *leaf, u64 high,
			    const struct crab_record *records, u32 count, u32 most)
{
	u64 seen = 0;
	u32 i;

	if (count > most)
		return verify_failed(tree, leaf, "a key that it held is not there");
	if (tree->sorted)
		return verify_sorted(tree, leaf, high, records, count);
	for (i = 0; i < count; i++)
		seen |= records[i].key;
	if (likely(crab_leaf_may_have(leaf, high, seen)))
		return 0;
	return verify_failed(tree, leaf, "key outside its range");
}

int crab_smo_verify_next(struct crab_tree *tree, const struct crab_leaf *leaf, u64 *word)
{
	*word = crab_load(tree->base.media, &crab_leaf_media(tree, leaf->number)->head.next);
	if (likely((*word & CRAB_LINK_MASK) == leaf->next->number + 1))
		return 0;
	return verify_failed(tree, leaf, "link does not lead to the next leaf");
}

int crab_smo_verify_unlink(struct crab_tree *tree, const struct crab_leaf *leaf, u64 *word)
{
	const struct crab_geometry *geo = &tree->base.geo;
	const struct crab_leaf *pred = leaf->prev;
	struct crab_head head;

	if (leaf->next)
		return crab_smo_verify_next(tree, leaf, word);
	if (!crab_head_load(tree->base.media, crab_leaf_offset(geo, pred->number), geo->store_id,
			    &head))
		return verify_failed(tree, pred, "header damaged");
	*word = crab_link_end(geo->store_id, head.self, head.birth);
	return 0;
}
