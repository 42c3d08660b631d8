// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements selection among records without order, puts them in order, verifies it, and
 * copies or counts a part.
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

const char *crab_records_fault(const struct crab_record *records, u32 count, u64 low, u64 high)
{
	u32 i;

	if (count && (records[0].key < low || records[count - 1].key >= high))
		return "a key is out of its range";
	for (i = 1; i < count; i++)
		if (records[i].key == records[i - 1].key)
			return "a key occurs twice";
	return NULL;
}

u32 crab_records_take(const struct crab_record *records, u32 count, u64 from, u64 last,
		      struct crab_record *to, u32 cap)
{
	u32 i = 0, n = 0;

	while (i < count && records[i].key < from)
		i++;
	count = min(count - i, cap);
	for (; n < count && records[i].key <= last; n++)
		to[n] = records[i++];
	return n;
}

u32 crab_records_above(const struct crab_record *records, u32 count, u64 from)
{
	u32 i, n = 0;

	for (i = 0; i < count; i++)
		n += records[i].key >= from;
	return n;
}
