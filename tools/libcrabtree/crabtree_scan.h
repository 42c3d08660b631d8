/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * This file declares scans of the library: cursors, which refer to nothing, and iterators, which
 * read ahead. Programs include crabtree.h, which includes this file and has its rules.
 */
#ifndef CRABTREE_SCAN_H
#define CRABTREE_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/crabtree.h>

#ifdef __cplusplus
extern "C" {
#endif

struct crabtree;

/**
 * struct crabtree_cursor - a scan that can stop and go on
 * @next: the lowest key not yet returned; @reverse: the highest one
 * @end: the highest key wanted; @reverse: the lowest one
 * @done: nothing is left
 * @reverse: keys descend
 *
 * It refers to nothing in the store: it may be stored and used days later.
 */
struct crabtree_cursor {
	uint64_t next;
	uint64_t end;
	bool done;
	bool reverse;
};

/**
 * crabtree_cursor_init() - start a scan
 * @cursor: out
 * @start: lowest key of the scan
 * @end: highest key of the scan
 */
void crabtree_cursor_init(struct crabtree_cursor *cursor, uint64_t start, uint64_t end);

/**
 * crabtree_cursor_init_reverse() - start a scan in descending order
 * @cursor: out
 * @start: lowest key of the scan
 * @end: highest key of the scan
 */
void crabtree_cursor_init_reverse(struct crabtree_cursor *cursor, uint64_t start, uint64_t end);

/**
 * crabtree_cursor_read() - the next records in the order of the scan
 * @ct: the handle
 * @cursor: the scan; advanced
 * @records: out
 * @capacity: how many fit, more than 0
 * Return: how many, 0 at the end, or a negative errno; an error leaves @cursor
 * unchanged. Exception: -EUCLEAN moves @cursor past the quarantined range, if the
 * store knows the end of the range. The scan can continue if @cursor was moved.
 */
int crabtree_cursor_read(struct crabtree *ct, struct crabtree_cursor *cursor,
			 struct crabtree_record *records, uint32_t capacity);

struct crabtree_iter;

/**
 * crabtree_iter_new() - create an iterator over the records of [@start, @end]
 * @ct: the handle; must stay open
 * @start: lowest key
 * @end: highest key
 * @iter: out
 * Return: 0 or a negative errno.
 */
int crabtree_iter_new(struct crabtree *ct, uint64_t start, uint64_t end,
		      struct crabtree_iter **iter);

/**
 * crabtree_iter_new_reverse() - create an iterator over [@start, @end] in descending order
 * @ct: the handle; must stay open
 * @start: lowest key
 * @end: highest key
 * @iter: out
 * Return: 0 or a negative errno.
 */
int crabtree_iter_new_reverse(struct crabtree *ct, uint64_t start, uint64_t end,
			      struct crabtree_iter **iter);

/**
 * crabtree_iter_next() - the next record
 * Return: 1 with a record, 0 at the end, or a negative errno; -EUCLEAN as for
 * crabtree_cursor_read().
 */
int crabtree_iter_next(struct crabtree_iter *iter, struct crabtree_record *record);

/**
 * crabtree_iter_tell() - get the position of an iterator
 * Return: the lowest key that it may still return, or the highest one in descending order;
 * CRABTREE_KEY_RESERVED at the end.
 */
uint64_t crabtree_iter_tell(const struct crabtree_iter *iter);

/**
 * crabtree_iter_free() - free an iterator
 * @iter: the iterator, or NULL
 */
void crabtree_iter_free(struct crabtree_iter *iter);

#ifdef __cplusplus
}
#endif

#endif /* CRABTREE_SCAN_H */
