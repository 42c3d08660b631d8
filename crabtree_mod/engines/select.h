/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares selection among records without order, by which a split finds its border, and
 * the order of those of a leaf, for a scan.
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

#endif /* CRABTREE_SELECT_H */
