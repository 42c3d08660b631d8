// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the parts of structure modifications that depend on slotted leaves.
 *
 * Invariant: as in engines/crab/smo.c.
 *
 * Locking: crab_tree.smo_lock, and the leaf.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "engines/crab/access.h"
#include "engines/crab/layout.h"
#include "engines/crab/smo.h"
#include "engines/crab/verify.h"
#include "smo.h"

bool crab_slotted_is_append(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key,
			    u64 *last) __must_hold(&leaf->lock)
{
	const struct crab_dslot *slots = crab_leaf_slot(tree, leaf, 0);
	u64 other;
	u32 slot;

	*last = 0;
	for (slot = 0; slot < tree->slots; slot++) {	/* all are live */
		other = crab_load_settled(tree->base.media, &slots[slot].key);
		if (other > key)
			return false;
		*last = max(*last, other);
	}
	return true;
}

bool crab_slotted_has_empty(const struct crab_record *records, u32 count)
{
	while (count && records[count - 1].key != CRAB_KEY_EMPTY)
		count--;
	return count;
}

int crab_slotted_verify(struct crab_tree *tree, const struct crab_leaf *leaf, u64 high,
			const struct crab_record *records, u32 count) __must_hold(&leaf->lock)
{
	u64 seen = 0;
	u32 i;

	for (i = 0; i < count; i++)
		seen |= records[i].key;
	if (likely(crab_slotted_may_have(leaf, high, seen, records, count)))
		return 0;
	return crab_smo_verify_failed(tree, leaf, "key outside its range");
}

/* Reads the records of @leaf into scratch, with one more or one changed; returns their number */
static u32 collect_with(struct crab_tree *tree, const struct crab_leaf *leaf, u64 key, u64 value)
{
	u32 count = crab_layout_collect(tree, leaf, tree->scratch), i = 0;

	while (i < count && tree->scratch[i].key != key)
		i++;
	tree->scratch[i].key = key;
	tree->scratch[i].value = value;
	return max(count, i + 1);
}

int crab_slotted_rewrite(struct crab_write *write, struct crab_leaf *leaf, u64 key, u64 value)
	__must_hold(&leaf->lock)
{
	struct crab_tree *tree = write->tree;
	struct crab_smo smo;
	u32 count;
	int err = crab_smo_begin(write, &smo, leaf, 1, 0);

	if (err)
		return err;
	count = collect_with(tree, leaf, key, value);
	err = crab_smo_verify_records(tree, leaf, leaf->high, tree->scratch, count, tree->slots);
	if (err)
		return crab_smo_abort(write, &smo, err);
	crab_smo_replace(write, &smo, leaf, leaf, count, count);
	return 0;
}
