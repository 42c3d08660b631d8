// SPDX-License-Identifier: GPL-2.0
/*
 * This file prices the two ways to write a sorted leaf and chooses: Wang et al.
 * 2020, section 4.1, "Crab-tree picks the one with lower cost".
 *
 * Prices are in picoseconds, from counts (lines, fences, ordered stores,
 * records moved) and from the costs in crab_tuning. Nothing here is measured, so equal
 * numbers lead to equal choices.
 *
 * Locking: none.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "smo.h"

static u32 slot_line(u32 slot)
{
	return offsetof(struct crab_dleaf, slots[slot]) / CRAB_LINE;
}

u32 crab_strategy_lines(u32 from, u32 to)
{
	return slot_line(to) - slot_line(from) + 1;
}

/* Moving a record is two stores in order, or one event of 16 bytes, and an order before it */
static u64 price_of_shift(const struct crab_tree *tree)
{
	const struct crab_tuning *tuning = &tree->tuning;
	bool pair = tuning->pair && crab_pair_is_atomic();

	return (u64)tuning->costs.record + tuning->costs.order +
	       (pair ? tuning->costs.pair : tuning->costs.order);
}

u64 crab_strategy_sip(const struct crab_tree *tree, u32 pos, u32 moved)
{
	return (u64)tree->tuning.costs.round * crab_strategy_lines(pos, pos + moved) +
	       price_of_shift(tree) * (moved + 1);
}

u64 crab_strategy_cow(const struct crab_tree *tree, u32 count)
{
	const struct crab_costs *costs = &tree->tuning.costs;
	u32 lines = slot_line(min(count, tree->slots - 1)) + 1;	/* a full leaf has no end */
	u32 rounds = 2;		/* the leaf, then the link, which was fetched meanwhile */

	if (tree->tuning.on_demand)
		rounds += 2;	/* one bit for the leaf that is taken, one for the other */
	return (u64)costs->round * rounds + (u64)costs->line * (lines - 1) +
	       (u64)costs->record * 2 * count;	/* gathered, then stored */
}

bool crab_strategy_is_sip(const struct crab_tree *tree, u64 sip, u64 cow)
{
	switch (tree->tuning.strategy) {
	case CRAB_STRATEGY_SIP:
		return true;
	case CRAB_STRATEGY_COW:
		return false;
	default:
		return sip <= cow;
	}
}
