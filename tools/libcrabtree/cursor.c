// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * This file implements scans: the cursor, which is only two keys, and the
 * iterator, which adds a buffer to it.
 *
 * Invariant: keys ascend (or descend) strictly from one read to the next, even if a backend
 * should break that promise; a scan that does not advance is an error. A
 * quarantined range causes one error; the next read continues after it.
 */
#include "crabtree.h"
#include "backend.h"

#include <errno.h>
#include <stdlib.h>

#define ITER_RECORDS	256

struct crabtree_iter {
	struct crabtree *ct;
	struct crabtree_cursor cursor;
	int count;
	int pos;
	struct crabtree_record records[ITER_RECORDS];
};

void crabtree_cursor_init(struct crabtree_cursor *cursor, uint64_t start, uint64_t end)
{
	*cursor = (struct crabtree_cursor){
		.next = start,
		.end = end,
		.done = start > end,
	};
}

void crabtree_cursor_init_reverse(struct crabtree_cursor *cursor, uint64_t start, uint64_t end)
{
	*cursor = (struct crabtree_cursor){
		.next = end,
		.end = start,
		.done = start > end,
		.reverse = true,
	};
}

/* Whether a scan at @next has advanced */
static bool cursor_moved(const struct crabtree_cursor *cursor, uint64_t next)
{
	return cursor->reverse ? next < cursor->next : next > cursor->next;
}

static int cursor_advance(struct crabtree_cursor *cursor, const struct crabtree_scan *scan)
{
	if (scan->count > scan->capacity)
		return -EPROTO;
	if (!scan->more) {
		cursor->done = true;
		return 0;
	}
	if (!cursor_moved(cursor, scan->next))
		return -EPROTO;
	cursor->next = scan->next;
	return 0;
}

/* Continue after a quarantined range, if the backend reports its end */
static int cursor_skip(struct crabtree_cursor *cursor, const struct crabtree_scan *scan)
{
	if (!scan->more || cursor_moved(cursor, scan->next))
		cursor_advance(cursor, scan);
	return -EUCLEAN;
}

int crabtree_cursor_read(struct crabtree *ct, struct crabtree_cursor *cursor,
			 struct crabtree_record *records, uint32_t capacity)
{
	struct crabtree_scan scan;
	int err;

	if (!capacity || capacity > INT32_MAX)
		return -EINVAL;
	while (!cursor->done) {
		scan = (struct crabtree_scan){
			.size = sizeof(scan),
			.flags = cursor->reverse ? CRABTREE_SCAN_REVERSE : 0,
			.start = cursor->reverse ? cursor->end : cursor->next,
			.end = cursor->reverse ? cursor->next : cursor->end,
			.records = (uintptr_t)records,
			.capacity = capacity,
			.more = true,		/* until the backend reports the end */
			.next = cursor->next,
		};
		err = ct->backend->call(ct, CRABTREE_SCAN, &scan);
		if (!err)
			err = cursor_advance(cursor, &scan);
		else if (err == -EUCLEAN)
			err = cursor_skip(cursor, &scan);
		if (err)
			return err;
		if (scan.count)
			return scan.count;
	}
	return 0;
}

static struct crabtree_iter *iter_alloc(struct crabtree *ct)
{
	struct crabtree_iter *new = malloc(sizeof(*new));

	if (!new)
		return NULL;
	new->ct = ct;
	new->count = 0;
	new->pos = 0;
	return new;
}

int crabtree_iter_new(struct crabtree *ct, uint64_t start, uint64_t end,
		      struct crabtree_iter **iter)
{
	*iter = iter_alloc(ct);
	if (!*iter)
		return -ENOMEM;
	crabtree_cursor_init(&(*iter)->cursor, start, end);
	return 0;
}

int crabtree_iter_new_reverse(struct crabtree *ct, uint64_t start, uint64_t end,
			      struct crabtree_iter **iter)
{
	*iter = iter_alloc(ct);
	if (!*iter)
		return -ENOMEM;
	crabtree_cursor_init_reverse(&(*iter)->cursor, start, end);
	return 0;
}

int crabtree_iter_next(struct crabtree_iter *iter, struct crabtree_record *record)
{
	int n;

	if (iter->pos == iter->count) {
		n = crabtree_cursor_read(iter->ct, &iter->cursor, iter->records, ITER_RECORDS);
		if (n <= 0)
			return n;
		iter->count = n;
		iter->pos = 0;
	}
	*record = iter->records[iter->pos++];
	return 1;
}

uint64_t crabtree_iter_tell(const struct crabtree_iter *iter)
{
	if (iter->pos < iter->count)
		return iter->records[iter->pos].key;
	return iter->cursor.done ? CRABTREE_KEY_RESERVED : iter->cursor.next;
}

void crabtree_iter_free(struct crabtree_iter *iter)
{
	free(iter);
}
