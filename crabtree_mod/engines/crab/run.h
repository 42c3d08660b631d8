/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file holds how keys that arrive in order are recognised.
 *
 * DOC: runs
 *
 * A split into halves leaves half empty leaves where keys arrive in order, for no other key comes
 * to them. So a full leaf is split beside a new key that continues a *run*: most of the leaf's
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
 * crab_run_split() - where to split a full leaf beside a new key
 * @key: the key
 * @lower: the greatest key below it in the leaf; where there is none, the least that may be there
 * @below: how many there are
 * @upper: the least key above it in the leaf; where there is none, the least that may not be there
 * @above: how many there are
 * Return: how many records, @key included, go to the first of two leaves; 0: it continues no run.
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
