// SPDX-License-Identifier: GPL-2.0
/*
 * This suite tests the index by itself: leaves are numbers, never dereferenced.
 */
#include <linux/slab.h>

#include "shared/index.h"
#include "kunit.h"

#define INDEX_LEAVES	1200	/* three levels */

static void *index_leaf(u64 low)
{
	return (void *)(unsigned long)(low + 1);
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

static struct kunit_case index_cases[] = {
	KUNIT_CASE(index_bulk),
	KUNIT_CASE(index_change),
	{}
};

struct kunit_suite crab_index_suite = {
	.name = "crabtree_index",
	.test_cases = index_cases,
};
