/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares selection among records without order, by which a split finds its border, and
 * the order of those of a leaf, which a scan verifies and copies in part. CHECK counts a part.
 *
 * No lock: the records are the caller's.
 */
#ifndef CRABTREE_SELECT_H
#define CRABTREE_SELECT_H

#include "verb.h"

/**
 * crab_select() - move the records with the lowest keys to the front
 * @records: the records; each has another key
 * @count: number of records
 * @nth: how many go to the front, fewer than @count; the next key is at this index
 *
 * Context: any.
 */
void crab_select(struct crab_record *records, u32 count, u32 nth);

/**
 * crab_sort() - put the records of a leaf in ascending order
 * @records: the records
 * @count: number of records
 *
 * Context: any.
 */
void crab_sort(struct crab_record *records, u32 count);

/**
 * crab_records_fault() - verify the keys of a leaf
 * @records: its records, of which no key is below the one before it
 * @count: number of records
 * @low: lowest key of its range
 * @high: one past the highest
 *
 * Context: any.
 * Return: NULL, or a description of the damage.
 */
const char *crab_records_fault(const struct crab_record *records, u32 count, u64 low, u64 high);

/**
 * crab_records_take() - copy the records that a scan wants
 * @records: ascending
 * @count: number of records
 * @from: lowest key
 * @last: highest key
 * @to: out
 * @cap: room there
 *
 * Context: any.
 * Return: number of records copied.
 */
u32 crab_records_take(const struct crab_record *records, u32 count, u64 from, u64 last,
		      struct crab_record *to, u32 cap);

/**
 * crab_records_above() - count the records from a key on
 * @records: in any order
 * @count: number of records
 * @from: lowest key
 *
 * Context: any.
 * Return: number of records with this key or a higher one.
 */
u32 crab_records_above(const struct crab_record *records, u32 count, u64 from);

#endif /* CRABTREE_SELECT_H */
