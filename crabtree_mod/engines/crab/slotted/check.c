// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the verifier of a leaf of the layout `slotted`.
 *
 * Invariant: it changes nothing.
 *
 * Locking: the leaf is locked.
 */
#include <linux/kernel.h>

#include "engines/crab/check.h"
#include "shared/link.h"
#include "smo.h"

/* The range and the void of a slotted leaf are in its header */
static void check_header(const struct crab_check *c, const struct crab_leaf *leaf, u64 offset)
{
	struct crab_head head;

	if (!crab_head_load(c->tree->base.media, offset, c->tree->base.geo.store_id, &head))
		return;		/* check.c notes it */
	crab_check_that(c, head.low == leaf->low, offset,
			"leaf %llu: lowest key is not the one in DRAM",
			(unsigned long long)leaf->number);
	crab_check_that(c, head.own == leaf->void_value, offset,
			"leaf %llu: void is not the one in DRAM", (unsigned long long)leaf->number);
}

void crab_slotted_check(struct crab_check *c, const struct crab_leaf *leaf, u64 offset)
	__must_hold(&leaf->lock)
{
	struct crab_record r;
	u32 slot, live = 0;
	bool is_live;

	check_header(c, leaf, offset);
	for (slot = 0; slot < c->tree->slots; slot++) {
		r = crab_leaf_record(c->tree, leaf, slot);
		is_live = r.key != CRAB_KEY_EMPTY && r.value != leaf->void_value;
		live += is_live;
		crab_check_that(c, is_live == crab_slotted_is_live(leaf, slot), offset,
				"leaf %llu, slot %u: live on the media or in DRAM, not in both",
				(unsigned long long)leaf->number, slot);
		if (is_live)
			crab_check_record(c, leaf, slot, &r, offset);
		else
			crab_check_that(c, leaf->torn || (r.key == CRAB_KEY_EMPTY &&
							  r.value == leaf->void_value), offset,
					"leaf %llu, slot %u: half a sentinel",
					(unsigned long long)leaf->number, slot);
	}
	crab_check_that(c, live == leaf->count, offset, "leaf %llu: %u records, DRAM counts %u",
			(unsigned long long)leaf->number, live, leaf->count);
}
