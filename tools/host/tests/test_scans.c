// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests scans of slotted leaves, up and down, in which the order of records is sorted first and
 * cached then: of few slots and of many, with keys that are spread, near each other, or both.
 */
#include "engines/crab/crab.h"
#include "store/cursor.h"
#include "test.h"

#define KEYS	1000U
#define SCANS	150U
#define MOST	600U		/* records of one scan: more than a leaf has */

static u64 keys[KEYS], seed;
static struct crab_record records[MOST];

/* Keys in groups of so many that differ in their lowest bits only, in random order */
static void keys_make(u32 group)
{
	u64 base = 0;
	u32 i, at;

	for (i = 0; i < KEYS; i++) {
		if (!(i % group))
			base = rng(&seed) >> 1 & ~0xfffULL;
		keys[i] = base + (u64)(i % group) * 2;
	}
	for (i = KEYS; i > 1; i--) {
		at = rng_below(&seed, i);
		swap(keys[i - 1], keys[at]);
	}
}

static int by_key(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Index of the first key that is not below @key */
static u32 place_of(u64 key)
{
	u32 i = 0;

	while (i < KEYS && keys[i] < key)
		i++;
	return i;
}

/* A key, or one of the two next to it */
static u64 near_key(void)
{
	return keys[rng_below(&seed, KEYS)] + rng_below(&seed, 3) - 1;
}

/* The first or the last @cap records of a range */
static void scan_once(bool down)
{
	u64 a = near_key(), b = near_key(), start = min(a, b), end = max(a, b);
	u32 from = place_of(start), to = place_of(end + 1), cap = 1 + rng_below(&seed, MOST), want, i, at;
	const struct crab_engine_ops *ops = store->engine->own;
	int got;

	want = min(cap, to - from);
	got = (down ? ops->scan_back : ops->scan)(store->engine, start, end, records, cap);
	tap_check(got == (int)want, "%d records of %u", got, want);
	for (i = 0; got == (int)want && i < want; i++) {
		at = down ? to - 1 - i : from + i;
		if (records[i].key != keys[at] || records[i].value != keys[at] + 5) {
			tap_fail("record %u of %u: key 0x%llx", i, want, records[i].key);
			break;
		}
	}
}

/* The order of a leaf is cached, unless there is no memory: then a leaf of many slots is not scanned */
static void scan_first(bool wide)
{
	const struct crab_leaf *leaf = crab_tree_of(store->engine)->first;
	int got;

	crab_host_fail_alloc = 0;
	got = store->engine->own->scan(store->engine, 0, CRAB_KEY_EMPTY - 1, records, MOST);
	crab_host_fail_alloc = -1;
	tap_check(got == (wide ? -ENOMEM : (int)MOST) && !leaf->ordered, "%d without memory", got);
	got = store->engine->own->scan(store->engine, 0, CRAB_KEY_EMPTY - 1, records, MOST);
	tap_check(got == MOST && leaf->ordered == leaf->count, "%d, and %u in order", got, leaf->ordered);
}

static void test_scans(u32 leaf_bytes, u32 group)
{
	u32 i, round;

	seed = leaf_bytes + group;
	store_begin(CRAB_POOL_OFFSET + 256 * leaf_bytes, "crab", "slotted", leaf_bytes);
	keys_make(group);
	for (i = 0; i < KEYS; i++)
		tap_check(!store_insert(store, keys[i], keys[i] + 5, CRAB_INSERT_CREATE), "insert");
	qsort(keys, KEYS, sizeof(keys[0]), by_key);
	scan_first(crab_tree_of(store->engine)->slots > 256);
	for (round = 0; round < SCANS; round++) {
		i = rng_below(&seed, KEYS);
		/* The leaf is sorted again */
		tap_check(round % 3 || (!store_delete(store, keys[i]) &&
					!store_insert(store, keys[i], keys[i] + 5, CRAB_INSERT_CREATE)),
			  "insert again");
		scan_once(round % 2);
	}
	tap_ok(true, "%u: scans of keys in groups of %u", leaf_bytes, group);
	store_end(store);
}

int main(void)
{
	static const u32 groups[] = { 1, 5, 24, 400 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		test_scans(512, groups[i]);
		test_scans(2048, groups[i]);
		test_scans(8192, groups[i]);
	}
	return tap_done();
}
