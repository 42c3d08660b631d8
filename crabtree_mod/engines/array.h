/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file implements arrays of records in memory, for engines whose records are not read from
 * the media.
 *
 * Invariant: keys ascend.
 *
 * No lock: it is the caller's.
 */
#ifndef CRABTREE_ARRAY_H
#define CRABTREE_ARRAY_H

#include <linux/string.h>

#include "verb.h"

/**
 * struct crab_array - records in memory
 * @count: their number
 * @records: the records; the owner has allocated memory for as many as it adds
 */
struct crab_array {
	u32 count;
	struct crab_record records[];
};

/**
 * crab_array_find() - find the place of a key
 * @array: the array
 * @key: the key
 * Context: any.
 * Return: index of the first record with a key of at least @key; the count if there is none.
 */
static inline u32 crab_array_find(const struct crab_array *array, u64 key)
{
	u32 from = 0, to = array->count, mid;

	while (from < to) {
		mid = (from + to) / 2;
		if (array->records[mid].key < key)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/**
 * crab_array_has() - whether the record at the place of a key has this key
 * @array: the array
 * @pos: as crab_array_find() returned it
 * @key: the key
 * Context: any.
 * Return: true if the array has the key.
 */
static inline bool crab_array_has(const struct crab_array *array, u32 pos, u64 key)
{
	return pos < array->count && array->records[pos].key == key;
}

/**
 * crab_array_near() - find the nearest record in a direction
 * @array: the array
 * @key: the key
 * @dir: the direction
 * @record: out
 * Context: any.
 * Return: false if there is none.
 */
static inline bool crab_array_near(const struct crab_array *array, u64 key,
				   enum crab_seek_dir dir, struct crab_record *record)
{
	u32 pos = crab_array_find(array, key);

	if (dir == CRAB_SEEK_LE && !crab_array_has(array, pos, key) && !pos--)
		return false;
	if (pos == array->count)
		return false;
	*record = array->records[pos];
	return true;
}

/**
 * crab_array_insert() - add a record
 * @array: the array
 * @pos: place of @key, as crab_array_find() returned it
 * @key: the key
 * @value: its value
 * Context: any.
 */
static inline void crab_array_insert(struct crab_array *array, u32 pos, u64 key, u64 value)
{
	memmove(&array->records[pos + 1], &array->records[pos],
		(array->count - pos) * sizeof(array->records[0]));
	array->records[pos].key = key;
	array->records[pos].value = value;
	array->count++;
}

/**
 * crab_array_remove() - remove a record
 * @array: the array
 * @pos: index of the record
 * Context: any.
 */
static inline void crab_array_remove(struct crab_array *array, u32 pos)
{
	array->count--;
	memmove(&array->records[pos], &array->records[pos + 1],
		(array->count - pos) * sizeof(array->records[0]));
}

#endif /* CRABTREE_ARRAY_H */
