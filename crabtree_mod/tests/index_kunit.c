// SPDX-License-Identifier: GPL-2.0
/*
 * This suite tests the index by itself: leaves are numbers, never dereferenced.
 */
#include <linux/slab.h>

#include "shared/index.h"
#include "shared/shortcut.h"
#include "kunit.h"

#define INDEX_LEAVES	1200	/* three levels */
#define INDEX_RUN	2U	/* children of a run */

/* Not NULL, and in as many bits as a shortcut has room for */
static void *index_leaf(u64 low)
{
	return (void *)(unsigned long)((low * 0x9e3779b97f4a7c15ULL >> CRAB_SHORTCUT_BITS) | 1);
}

static void index_build(struct kunit *test, struct crab_index *index, u32 n)
{
	u32 i;

	crab_index_init(index);
	for (i = 0; i < n; i++)
		KUNIT_ASSERT_EQ(test, crab_index_append(index, i * 2, index_leaf(i * 2)), 0);
}

/* Every key leads to the last leaf at or below it */
static void index_compare(struct kunit *test, const struct crab_index *index, const u8 *there,
			  u32 n)
{
	u32 i, last = 0, wrong = 0;

	for (i = 0; i < n; i++) {
		if (there[i])
			last = i;
		wrong += crab_index_find(index, i * 2) != index_leaf(last * 2);
		wrong += crab_index_find(index, i * 2 + 1) != index_leaf(last * 2);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0U);
}

static void index_bulk(struct kunit *test)
{
	u8 *there = kunit_kzalloc(test, INDEX_LEAVES, GFP_KERNEL);
	struct crab_index index;
	u32 n, i;

	KUNIT_ASSERT_NOT_NULL(test, there);
	for (i = 0; i < INDEX_LEAVES; i++)
		there[i] = 1;
	for (n = 1; n <= INDEX_LEAVES; n = n * 5 / 4 + 1) {
		index_build(test, &index, n);
		index_compare(test, &index, there, n);
		crab_index_destroy(&index);
		KUNIT_EXPECT_EQ(test, index.nodes, 0ULL);
	}
}

static void index_change(struct kunit *test)
{
	u8 *there = kunit_kzalloc(test, INDEX_LEAVES, GFP_KERNEL);
	struct crab_index index;
	u32 i, at = 1;

	KUNIT_ASSERT_NOT_NULL(test, there);
	there[0] = 1;
	index_build(test, &index, 1);
	for (i = 0; i < INDEX_LEAVES * 4; i++) {
		at = 1 + (at + 743) % (INDEX_LEAVES - 1);
		KUNIT_ASSERT_EQ(test, crab_index_reserve(&index), 0);
		if (!there[at])
			crab_index_insert(&index, at * 2, index_leaf(at * 2));
		else if (i % 3)
			crab_index_remove(&index, at * 2);
		else
			crab_index_replace(&index, at * 2, index_leaf(at * 2));
		there[at] = !there[at] || i % 3 == 0;
		if (i % 500 == 0)
			index_compare(test, &index, there, INDEX_LEAVES);
	}
	for (at = 1; at < INDEX_LEAVES; at++)
		if (there[at])
			crab_index_remove(&index, at * 2);
	KUNIT_EXPECT_PTR_EQ(test, crab_index_find(&index, CRAB_INDEX_PAD - 1), index_leaf(0));
	crab_index_destroy(&index);
	KUNIT_EXPECT_EQ(test, index.nodes, 0ULL);
}

/* Ways in which keys can be spread; each ascends with @i */
enum index_spread {
	SPREAD_SINGLE, SPREAD_DENSE, SPREAD_EVEN, SPREAD_CLUSTERS, SPREAD_DOUBLES, SPREADS
};

static u64 index_spread_key(enum index_spread spread, u64 i)
{
	switch (spread) {
	case SPREAD_SINGLE:
		return i;
	case SPREAD_DENSE:
		return i * 2;
	case SPREAD_EVEN:
		return i * (~0ULL / INDEX_LEAVES);
	case SPREAD_CLUSTERS:
		return (i / 100 << 58) + i % 100 * 2;
	default:
		return (i + 1) * 2 + (i ? 1ULL << (i / 20) : 0);
	}
}

/* The keys just below those at which leaves begin, for which the entry of one key can be wrong */
static u32 index_compare_below(const struct crab_index *index, u64 *keys)
{
	void *many[CRAB_SHORTCUT_MANY];
	u32 wrong = 0, at;

	for (at = 0; at < CRAB_SHORTCUT_MANY; at++)
		keys[at] -= keys[at] > 0;
	crab_shortcut_find_many(index, keys, CRAB_SHORTCUT_MANY, many);
	for (at = 0; at < CRAB_SHORTCUT_MANY; at++)
		wrong += many[at] != crab_index_find(index, keys[at]);
	return wrong;
}

/* Is a child that of a key, or the next one, which can begin in the same part of a bucket? */
static bool index_is_near(const struct crab_index *index, u64 key, const void *child)
{
	struct crab_index_path path;

	crab_index_walk(index, key, &path);
	if (crab_index_child(&path) == child)
		return true;
	return crab_index_next(index, &path) && crab_index_child(&path) == child;
}

/*
 * Compares a run of children, the first of which may be the next one, with the index; returns
 * their number, or U32_MAX
 */
static u32 index_compare_run(const struct crab_index *index, u64 key)
{
	void *run[INDEX_RUN + 1] = { };
	u32 n = crab_shortcut_find_run(index, key, INDEX_RUN, run), i;
	struct crab_index_path path;

	if (n > INDEX_RUN || run[INDEX_RUN] || (n && !index_is_near(index, key, run[0])))
		return U32_MAX;
	crab_index_walk(index, key, &path);
	if (n && crab_index_child(&path) != run[0])
		crab_index_next(index, &path);
	for (i = 1; i < n; i++)
		if (!crab_index_next(index, &path) || crab_index_child(&path) != run[i])
			return U32_MAX;
	return n;
}

/* Compares the runs of all keys; returns for how many in a hundred there was a whole one */
static u32 index_compare_runs(struct kunit *test, const struct crab_index *index,
			      enum index_spread spread)
{
	u32 i, n, whole = 0, wrong = 0;

	for (i = 0; i < INDEX_LEAVES; i++) {
		n = index_compare_run(index, index_spread_key(spread, i) + (i & 1));
		wrong += n > INDEX_RUN;
		whole += n == INDEX_RUN;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0U);
	return whole * 100 / INDEX_LEAVES;
}

/*
 * Compares the shortcuts with the index while nothing changes: those of several keys must be exact.
 * Returns for how many keys of a hundred there was one.
 */
static u32 index_compare_shortcuts(struct kunit *test, const struct crab_index *index,
				   enum index_spread spread)
{
	void *child, *many[CRAB_SHORTCUT_MANY];
	u32 i, found = 0, wrong = 0, at;
	u64 keys[CRAB_SHORTCUT_MANY];

	for (i = 0; i < INDEX_LEAVES * 2; i++) {
		at = i % CRAB_SHORTCUT_MANY;
		keys[at] = index_spread_key(spread, i / 2) + (i & 1);
		child = crab_shortcut_find(index, keys[at]);
		found += !!child;
		wrong += child && !index_is_near(index, keys[at], child);
		if (at < CRAB_SHORTCUT_MANY - 1)
			continue;
		crab_shortcut_find_many(index, keys, CRAB_SHORTCUT_MANY, many);
		for (at = 0; at < CRAB_SHORTCUT_MANY; at++)
			wrong += many[at] != crab_index_find(index, keys[at]);
		wrong += index_compare_below(index, keys);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0U);
	return found * 50 / INDEX_LEAVES;
}

/* Adds, replaces and removes leaves, so that half of them are there */
static void index_shortcuts_change(struct kunit *test, struct crab_index *index, u8 *there,
				   enum index_spread spread)
{
	u32 at = 1, i;
	u64 low;

	for (i = 0; i < INDEX_LEAVES * 8; i++) {
		at = 1 + (at + 743) % (INDEX_LEAVES - 1);
		low = index_spread_key(spread, at);
		KUNIT_ASSERT_EQ(test, crab_index_reserve(index), 0);
		if (!there[at])
			crab_index_insert(index, low, index_leaf(low));
		else if (i % 3)
			crab_index_remove(index, low);
		else
			crab_index_replace(index, low, index_leaf(low + i));
		there[at] = !there[at] || i % 3 == 0;
		if (i % 97 == 0) {
			index_compare_shortcuts(test, index, spread);
			index_compare_runs(test, index, spread);
		}
	}
}

static void index_shortcuts_with(struct kunit *test, enum index_spread spread, u32 n, u32 wanted)
{
	u8 *there = kunit_kzalloc(test, INDEX_LEAVES, GFP_KERNEL);
	struct crab_index index;
	u64 low;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, there);
	crab_index_init(&index);
	for (i = 0; i < n; i++) {
		low = index_spread_key(spread, i);
		KUNIT_ASSERT_EQ(test, crab_index_append(&index, low, index_leaf(low)), 0);
		there[i] = 1;
	}
	crab_shortcut_build(&index);
	if (n == INDEX_LEAVES) {
		KUNIT_EXPECT_GE(test, index_compare_shortcuts(test, &index, spread), wanted);
		/* A run ends with its chunk, which may be of four buckets */
		KUNIT_EXPECT_GE(test, index_compare_runs(test, &index, spread), wanted / 3);
	}
	index_shortcuts_change(test, &index, there, spread);
	for (i = 1; i < INDEX_LEAVES; i++)
		if (there[i])
			crab_index_remove(&index, index_spread_key(spread, i));
	index_compare_shortcuts(test, &index, spread);
	index_compare_runs(test, &index, spread);
	crab_index_destroy(&index);
	KUNIT_EXPECT_EQ(test, index.table_bytes, 0ULL);
}

static void index_shortcuts(struct kunit *test)
{
	static const u32 wanted[SPREADS] = {
		[SPREAD_SINGLE] = 70, [SPREAD_DENSE] = 70, [SPREAD_EVEN] = 70,
	};
	enum index_spread spread;

	crab_test_long(test);
	for (spread = 0; spread < SPREADS; spread++) {
		index_shortcuts_with(test, spread, 1, wanted[spread]);
		index_shortcuts_with(test, spread, INDEX_LEAVES, wanted[spread]);
	}
}

static struct kunit_case index_cases[] = {
	KUNIT_CASE(index_bulk),
	KUNIT_CASE(index_change),
	KUNIT_CASE(index_shortcuts),
	{}
};

CRAB_TEST_SUITE(index, NULL, NULL);
