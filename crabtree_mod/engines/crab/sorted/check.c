// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the verifier of a leaf of the layout `sorted`.
 *
 * Invariant: it changes nothing.
 *
 * Locking: the leaf is locked.
 */
#include <linux/kernel.h>

#include "engines/crab/check.h"
#include "engines/crab/layout.h"
#include "smo.h"

void crab_sorted_check(struct crab_check *c, const struct crab_leaf *leaf, u64 offset)
	__must_hold(&leaf->lock)
{
	struct crab_record r;
	u32 slot, live = 0, piece;
	u64 prev = 0;

	crab_leaf_for_each(c->tree, leaf, slot) {
		r = crab_leaf_record(c->tree, leaf, slot);
		crab_check_that(c, !live || r.key > prev, offset, "leaf %llu, slot %u: keys do not ascend",
				(unsigned long long)leaf->number, slot);
		crab_check_record(c, leaf, slot, &r, offset);
		prev = r.key;
		live++;
	}
	for (piece = 0; piece < c->tree->pieces; piece++)
		crab_check_that(c, crab_sorted_is_known(c->tree, leaf, piece), offset,
				"leaf %llu, piece %u: its first key is not the one in DRAM",
				(unsigned long long)leaf->number, piece);
	crab_check_that(c, leaf->torn || leaf->count == c->tree->slots ||
			crab_leaf_key(c->tree, leaf, leaf->count) == CRAB_KEY_EMPTY, offset,
			"leaf %llu, slot %u: the records do not end here",
			(unsigned long long)leaf->number, leaf->count);
}
