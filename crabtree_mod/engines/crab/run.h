/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file recognises keys that arrive in order.
 */

/**
 * DOC: runs
 *
 * If keys arrive in order, a split into halves leaves half-empty leaves, because no other key will
 * fill them. So a full leaf is split next to a new key that continues a *run*: most of the leaf's
 * records are on one side of the key, and the nearest of them is CRAB_RUN times closer than the
 * nearest record, or the end of the range, on the other side. An ascending run then leaves all
 * records below the key in the first leaf, a descending one all above it in the second.
 *
 * Random keys look like a run in fewer than one split in a hundred.
 *
 * No lock.
 */
#ifndef CRABTREE_ENGINES_CRAB_RUN_H
#define CRABTREE_ENGINES_CRAB_RUN_H

#include <linux/types.h>

#define CRAB_RUN	16

/**
 * crab_run_split() - where to split a full leaf next to a new key
 * @key: the key
 * @lower: the highest key below it in the leaf; if there is none, the lowest key of the range
 * @below: number of keys below it
 * @upper: the lowest key above it in the leaf; if there is none, the end of the range
 * @above: number of keys above it
 *
 * Context: any.
 * Return: number of records, @key included, for the first of two leaves; 0: @key continues no run.
 */
static inline u32 crab_run_split(u64 key, u64 lower, u32 below, u64 upper, u32 above)
{
	u64 down = key - lower, up = upper - key;

	if (below > above && down < up / CRAB_RUN)
		return below;
	if (above > below && up < down / CRAB_RUN)
		return below + 1;
	return 0;
}

#endif /* CRABTREE_ENGINES_CRAB_RUN_H */
