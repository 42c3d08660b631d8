// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements selection among records without order.
 *
 * Invariant: none.
 *
 * No lock: the records are the caller's.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "select.h"

/* Partitions [@from, @to): keys below a pivot, the pivot, the others; returns the pivot's place */
static u32 records_part(struct crab_record *records, u32 from, u32 to)
{
	u32 at = from, i, last = to - 1;
	u64 key;

	swap(records[from + (to - from) / 2], records[last]);
	key = records[last].key;
	for (i = from; i < last; i++) {
		swap(records[i], records[at]);
		at += records[at].key < key;
	}
	swap(records[at], records[last]);
	return at;
}

/* Hoare's selection: keys are unique */
void crab_select(struct crab_record *records, u32 count, u32 nth)
{
	u32 from = 0, to = count, at;

	while (to - from > 1) {
		at = records_part(records, from, to);
		if (at == nth)
			return;
		if (at < nth)
			from = at + 1;
		else
			to = at;
	}
}
