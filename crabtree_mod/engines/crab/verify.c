// SPDX-License-Identifier: GPL-2.0
/*
 * This file verifies the media words that a structure modification uses, before its first store.
 */

/**
 * DOC: media that changes
 *
 * The media may change under an attached store at any time: a dead bus and many memory
 * controllers read all ones. A key that is read there becomes the lowest key of a fresh leaf, and
 * so an entry of the index and the end of a range. A link is copied to the predecessor. Both are
 * compared with DRAM before they are used, and the verified value is the value that is used. If it
 * does not fit, the operation returns -EUCLEAN with nothing stored, and the store turns read-only.
 *
 * Failing memory may also return a word otherwise once. Each word that will be stored in another
 * place is therefore loaded twice; if the two loads differ, a third decides. So is each key of a
 * seek, that of the record that a write finds, and each by which a slotted leaf is ordered. A scan
 * can return a value that reads otherwise, and a key: in a sorted leaf, or as its last one, one
 * between its neighbours, in a slotted leaf any. A search of a slotted leaf trusts one load of a
 * key with the right fingerprint.
 *
 * Memory that is known to have failed must not be accessed at all. From then on no change begins.
 *
 * A shift within a sorted leaf reads once more, for it has no room for the records. Before its
 * first store it compares the order of all keys that it will move, and of the new one. Then it
 * moves them, most likely from the CPU's cache.
 *
 * Invariant: a function here that returns an error has noted damage, or the store is read-only
 * already; and nothing was stored.
 *
 * Locking: crab_tree.smo_lock and the leaf, or attach; so one CPU at a time notes damage.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>

#include "layout.h"
#include "shared/link.h"
#include "verify.h"

int crab_smo_verify_memory(const struct crab_tree *tree)
{
	lockdep_assert_held(&tree->smo_lock);
	return unlikely(crab_pool_is_closed(&tree->pool)) ? -EUCLEAN : 0;
}

noinline int crab_smo_verify_failed(struct crab_tree *tree, const struct crab_leaf *leaf,
				    const char *what)
{
	return crab_engine_damaged(&tree->base, crab_leaf_offset(&tree->base.geo, leaf->number),
				   "leaf %llu: %s", (unsigned long long)leaf->number, what);
}

int crab_smo_verify_low(struct crab_tree *tree, const struct crab_leaf *leaf, u64 high, u64 low)
	__must_hold(&leaf->lock)
{
	lockdep_assert_held(&tree->smo_lock);
	if (likely(low > leaf->low && low < high))
		return 0;
	return crab_smo_verify_failed(tree, leaf, "a key that splits it is outside its range");
}

int crab_smo_verify_records(struct crab_tree *tree, const struct crab_leaf *leaf, u64 high,
			    const struct crab_record *records, u32 count, u32 most)
	__must_hold(&leaf->lock)
{
	lockdep_assert_held(&tree->smo_lock);
	if (count > most)
		return crab_smo_verify_failed(tree, leaf, "a key that it held is not there");
	return crab_layout_verify(tree, leaf, high, records, count);
}

int crab_smo_verify_next(struct crab_tree *tree, const struct crab_leaf *leaf, u64 *word)
{
	lockdep_assert_held(&tree->smo_lock);
	*word = crab_load_settled(tree->base.media,
				  &crab_leaf_media(tree, leaf->number)->head.next);
	if (likely((*word & CRAB_LINK_MASK) == leaf->next->number + 1))
		return 0;
	return crab_smo_verify_failed(tree, leaf, "link does not lead to the next leaf");
}

int crab_smo_verify_unlink(struct crab_tree *tree, const struct crab_leaf *leaf, u64 *word)
{
	const struct crab_geometry *geo = &tree->base.geo;
	const struct crab_leaf *pred = leaf->prev;
	struct crab_head head;
	int err = crab_smo_verify_memory(tree);

	if (err)
		return err;
	if (leaf->next)
		return crab_smo_verify_next(tree, leaf, word);
	if (!crab_head_load(tree->base.media, crab_leaf_offset(geo, pred->number), geo->store_id,
			    &head))
		return crab_smo_verify_failed(tree, pred, "header damaged");
	*word = crab_link_end(geo->store_id, head.self, head.birth);
	return 0;
}
