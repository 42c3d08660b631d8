// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the calls on ranges of records: seek, scan and delete_range, over the keys 0, 10,
 * 20, ..., 990, whose values are one more; and scans of a damaged store.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>

#include "kapi.h"

#define RANGES_KEYS	100
#define RANGES_STEP	10
#define RANGES_LAST	((RANGES_KEYS - 1) * RANGES_STEP)
#define RANGES_PIECE	7	/* records of a call */

static void ranges_fill(struct crabtree *tree)
{
	u64 i;

	for (i = 0; i < RANGES_KEYS; i++)
		EXPECT(crabtree_insert(tree, i * RANGES_STEP, i * RANGES_STEP + 1,
				       CRABTREE_INSERT_CREATE, NULL), 0);
}

/* seek() finds @want, or none if that is KAPI_POISON: the record is then as before */
static void ranges_found(struct crabtree *tree, u64 key, unsigned int flags, u64 want)
{
	struct crabtree_record record = { KAPI_POISON, KAPI_POISON };

	EXPECT(crabtree_seek(tree, key, flags, &record), want == KAPI_POISON ? -ENOENT : 0);
	EXPECT(record.key, want);
	EXPECT(record.value, want == KAPI_POISON ? want : want + 1);
}

static void ranges_seek(struct crabtree *tree)
{
	struct crabtree_record record;

	ranges_found(tree, 50, CRABTREE_SEARCH_GE, 50);
	ranges_found(tree, 51, CRABTREE_SEARCH_GE, 60);
	ranges_found(tree, RANGES_LAST + 1, CRABTREE_SEARCH_GE, KAPI_POISON);
	ranges_found(tree, 50, CRABTREE_SEARCH_LE, 50);
	ranges_found(tree, 59, CRABTREE_SEARCH_LE, 50);
	ranges_found(tree, CRABTREE_KEY_RESERVED - 1, CRABTREE_SEARCH_LE, RANGES_LAST);
	EXPECT(crabtree_seek(tree, 50, 0, &record), -EINVAL);
	EXPECT(crabtree_seek(tree, 50, CRABTREE_SEARCH_GE | CRABTREE_SEARCH_LE, &record), -EINVAL);
	EXPECT(crabtree_seek(tree, CRABTREE_KEY_RESERVED, CRABTREE_SEARCH_LE, &record), -EINVAL);
}

/* The records from @key on are the next ones of a scan, until it ends after @count */
static void ranges_rest(struct crabtree *tree, struct crabtree_cursor cursor, u64 key, int count)
{
	int step = cursor.reverse ? -RANGES_STEP : RANGES_STEP, sum = 0, got, i;
	struct crabtree_record records[RANGES_PIECE];

	while ((got = crabtree_scan(tree, &cursor, records, RANGES_PIECE)) > 0) {
		EXPECT(got, min(count - sum, RANGES_PIECE));
		for (i = 0; i < got; i++, key += step) {
			EXPECT(records[i].key, key);
			EXPECT(records[i].value, key + 1);
		}
		sum += got;
		if (sum > count)	/* it might never end */
			break;
	}
	EXPECT(got, 0);
	EXPECT(sum, count);
	EXPECT(cursor.done, true);
	EXPECT(crabtree_scan(tree, &cursor, records, RANGES_PIECE), 0);
}

static void ranges_scan(struct crabtree *tree)
{
	struct crabtree_cursor all = CRABTREE_CURSOR(0, U64_MAX);
	struct crabtree_cursor part = CRABTREE_CURSOR(15, 100);
	struct crabtree_cursor end = CRABTREE_CURSOR(101, 109);
	struct crabtree_cursor none = CRABTREE_CURSOR(100, 99);

	ranges_rest(tree, all, 0, RANGES_KEYS);
	ranges_rest(tree, part, 20, 9);
	ranges_rest(tree, end, 0, 0);
	EXPECT(crabtree_scan(tree, &none, NULL, 1), 0);
}

static void ranges_scan_back(struct crabtree *tree)
{
	struct crabtree_cursor all = CRABTREE_CURSOR_REVERSE(0, U64_MAX);
	struct crabtree_cursor part = CRABTREE_CURSOR_REVERSE(15, 105);
	struct crabtree_cursor none = CRABTREE_CURSOR_REVERSE(100, 99);

	ranges_rest(tree, all, RANGES_LAST, RANGES_KEYS);
	ranges_rest(tree, part, 100, 9);
	EXPECT(crabtree_scan(tree, &none, NULL, 1), 0);
}

/* A cursor may be copied, and kept while the store changes */
static void ranges_kept(struct crabtree *tree)
{
	struct crabtree_cursor cursor = CRABTREE_CURSOR(0, 500), copy;
	struct crabtree_record records[3];

	EXPECT(crabtree_scan(tree, &cursor, records, 3), 3);
	EXPECT(records[2].key, 20);
	copy = cursor;
	ranges_rest(tree, cursor, 30, 48);
	EXPECT(crabtree_delete(tree, 30, NULL), 0);
	ranges_rest(tree, copy, 40, 47);
	EXPECT(crabtree_insert(tree, 30, 31, 0, NULL), 0);
}

static void ranges_delete(struct crabtree *tree)
{
	struct crabtree_cursor rest = CRABTREE_CURSOR(0, U64_MAX);
	u64 deleted = KAPI_POISON, next = KAPI_POISON;

	EXPECT(crabtree_delete_range(tree, 101, 109, &deleted, &next), 0);
	EXPECT(deleted, 0);
	EXPECT(crabtree_delete_range(tree, 109, 101, &deleted, NULL), 0);
	EXPECT(deleted, 0);
	EXPECT(crabtree_delete_range(tree, 100, 199, &deleted, NULL), 0);
	EXPECT(deleted, 10);
	EXPECT(kapi_value(tree, 90), 91);
	EXPECT(kapi_value(tree, 100), KAPI_POISON);
	EXPECT(kapi_value(tree, 190), KAPI_POISON);
	EXPECT(kapi_value(tree, 200), 201);
	EXPECT(crabtree_delete_range(tree, 0, 190, NULL, NULL), 0);
	ranges_rest(tree, rest, 200, RANGES_KEYS - 20);
	EXPECT(crabtree_delete_range(tree, 0, U64_MAX, &deleted, &next), 0);
	EXPECT(deleted, RANGES_KEYS - 20);
	ranges_rest(tree, rest, 0, 0);
}

void kapi_ranges(struct crabtree *tree)
{
	ranges_fill(tree);
	ranges_seek(tree);
	ranges_scan(tree);
	ranges_scan_back(tree);
	ranges_kept(tree);
	ranges_delete(tree);
}

/* The number of records that a scan returns; @errors: out: how often it met a quarantined range */
static int ranges_around(struct crabtree *tree, struct crabtree_cursor cursor, int *errors)
{
	struct crabtree_record records[RANGES_PIECE];
	int got, sum = 0;

	*errors = 0;
	do {
		got = crabtree_scan(tree, &cursor, records, RANGES_PIECE);
		sum += max(got, 0);
		*errors += got < 0;
	} while (got > 0 || (got == -EUCLEAN && *errors < 9));
	EXPECT(got, 0);
	return sum;
}

void kapi_damaged(struct crabtree *tree)
{
	struct crabtree_cursor all = CRABTREE_CURSOR(0, U64_MAX);
	struct crabtree_cursor back = CRABTREE_CURSOR_REVERSE(0, U64_MAX);
	int errors, sum = ranges_around(tree, all, &errors);

	EXPECT(errors, 1);
	EXPECT(sum > 0 && sum < KAPI_FILLED, true);
	EXPECT(ranges_around(tree, back, &errors), sum);
	EXPECT(errors, 1);
	EXPECT(kapi_value(tree, 0) != KAPI_POISON, true);
	EXPECT(kapi_value(tree, KAPI_FILLED - 1) != KAPI_POISON, true);
}
