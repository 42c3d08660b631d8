// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements selection among records without order, and puts them in order.
 *
 * Invariant: none.
 *
 * No lock: the records are the caller's.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "select.h"

#define SORT_FEW	20U	/* records for which insertion is best */

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

/* By insertion */
static void sort_few(struct crab_record *records, u32 count)
{
	struct crab_record record;
	u32 i, at;

	for (i = 1; i < count; i++) {
		record = records[i];
		for (at = i; at && records[at - 1].key > record.key; at--)
			records[at] = records[at - 1];
		records[at] = record;
	}
}

/* Quicksort; it calls itself for the smaller part only, so not often */
void crab_sort(struct crab_record *records, u32 count)
{
	u32 at;

	while (count > SORT_FEW) {
		at = records_part(records, 0, count);
		if (at < count / 2) {
			crab_sort(records, at);
			records += at + 1;
			count -= at + 1;
		} else {
			crab_sort(records + at + 1, count - at - 1);
			count = at;
		}
	}
	sort_few(records, count);
}
