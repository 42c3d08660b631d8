// SPDX-License-Identifier: GPL-2.0
/*
 * This suite tests the structure changes of the engine crab: split, append,
 * unlink, merge on and off the write path, and operations with an empty pool.
 */
#include "kunit.h"

static u32 smo_put_range(struct kunit *test, u64 from, u64 to, s64 step)
{
	u32 n = 0;
	u64 key;

	for (key = from; key != to + step; key += step, n++)
		if (crab_test_put(test, key, key + 1))
			break;
	return n;
}

static void smo_expect_range(struct kunit *test, u64 from, u64 to)
{
	for (; from <= to; from++)
		crab_test_expect(test, from, 0, from + 1);
}

static void smo_split(struct kunit *test)
{
	struct crab_dleaf *right;

	KUNIT_ASSERT_EQ(test, smo_put_range(test, 6, 1, -1), 6U);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).splits, 1ULL);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).leaves_used, 2ULL);
	right = crab_test_listed(test, 1);
	KUNIT_ASSERT_NOT_NULL(test, right);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(right->head.low), 4ULL);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(crab_test_listed(test, 0)->head.low), 0ULL);
	smo_expect_range(test, 1, 6);
	crab_test_expect_check(test, 6);
}

/* Keys in order leave full leaves */
static void smo_append(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, smo_put_range(test, 1, 30, 1), 30U);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).leaves_used, 6ULL);
	smo_expect_range(test, 1, 30);
	crab_test_expect_check(test, 30);
}

static void smo_unlink(struct kunit *test)
{
	u64 key;

	smo_put_range(test, 1, 20, 1);
	for (key = 6; key <= 10; key++)		/* the second leaf */
		KUNIT_EXPECT_EQ(test, crab_test_del(test, key), 0);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).unlinks, 1ULL);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).leaves_used, 3ULL);
	for (key = 16; key <= 20; key++)	/* the last one, which stays after a full one */
		KUNIT_EXPECT_EQ(test, crab_test_del(test, key), 0);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).leaves_used, 3ULL);
	crab_test_expect_check(test, 10);
	KUNIT_EXPECT_EQ(test, crab_test_put(test, 16, 16), 0);
	KUNIT_EXPECT_EQ(test, crab_test_del(test, 11), 0);
	KUNIT_EXPECT_EQ(test, crab_test_del(test, 16), 0);	/* and goes after any other */
	KUNIT_EXPECT_EQ(test, crab_test_put(test, 11, 12), 0);
	for (key = 1; key <= 5; key++)		/* the first, which stays */
		KUNIT_EXPECT_EQ(test, crab_test_del(test, key), 0);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).leaves_used, 2ULL);
	smo_expect_range(test, 11, 15);
	crab_test_expect_check(test, 5);
	KUNIT_EXPECT_EQ(test, crab_test_put(test, 7, 7), 0);
	crab_test_expect(test, 7, 0, 7);
	crab_test_expect_check(test, 6);
}

/* A full store: inserts fail and change nothing; updates and deletes work */
static void smo_full(struct kunit *test)
{
	u32 n = smo_put_range(test, 1, 1000, 1);
	u64 value, key;

	KUNIT_EXPECT_GE(test, n, (u32)(CRAB_TEST_SLOTS * (CRAB_TEST_LEAVES - 3)));
	KUNIT_EXPECT_EQ(test, crab_test_put(test, 2000, 1), -ENOSPC);
	crab_test_expect(test, 2000, -ENOENT, 0);
	crab_test_expect_check(test, n);
	for (key = 1; key <= n; key++) {
		value = le64_to_cpu(crab_test_listed(test, key % 3)->head.own);
		KUNIT_EXPECT_EQ(test, crab_test_put(test, key, value), 0);
		crab_test_expect(test, key, 0, value);
	}
	crab_test_expect_check(test, n);
	for (key = 1; key <= n; key++)
		KUNIT_EXPECT_EQ(test, crab_test_del(test, key), 0);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).leaves_used, 1ULL);
	KUNIT_EXPECT_EQ(test, smo_put_range(test, 1, 1000, 1), n);
}

/* Sparse neighbours are merged when the pool is empty */
static void smo_merge(struct kunit *test)
{
	u32 n = smo_put_range(test, 10, 10000, 10) * 10;
	u32 left = 0, i;
	u64 key;

	for (key = 10; key <= n; key += 10) {
		if (key / 10 % CRAB_TEST_SLOTS == 1)
			left++;
		else
			KUNIT_EXPECT_EQ(test, crab_test_del(test, key), 0);
	}
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).unlinks, 0ULL);
	for (i = 0; i < 3 * CRAB_TEST_SLOTS; i++)
		KUNIT_EXPECT_EQ(test, crab_test_put(test, 20000 + i, i), 0);
	for (key = 10; key <= n; key += 50)
		crab_test_expect(test, key, 0, key + 1);
	crab_test_expect_check(test, left + 3 * CRAB_TEST_SLOTS);
}

/* All but the first record of each leaf that in-order keys filled, from leaf @from on */
static void smo_thin(struct kunit *test, u64 from, u64 leaves)
{
	u64 key;

	for (key = from * CRAB_TEST_SLOTS + 1; key <= (from + leaves) * CRAB_TEST_SLOTS; key++)
		if (key % CRAB_TEST_SLOTS != 1)
			KUNIT_EXPECT_EQ(test, crab_test_del(test, key), 0);
}

static void smo_maintain(struct kunit *test)
{
	struct crab_test *t = test->priv;

	while (crab_store_maintain(t->store))
		;
}

/* Underfull neighbours are merged off the write path, for any free space in the pool */
static void smo_sparse(struct kunit *test)
{
	u64 key;

	smo_put_range(test, 1, 6 * CRAB_TEST_SLOTS, 1);
	smo_thin(test, 0, 6);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).leaves_used, 6ULL);
	smo_maintain(test);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).leaves_used, 2ULL);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).unlinks, 4ULL);
	for (key = 1; key <= 6 * CRAB_TEST_SLOTS; key++)
		crab_test_expect(test, key, key % CRAB_TEST_SLOTS == 1 ? 0 : -ENOENT, key + 1);
	crab_test_expect_check(test, 6);
	crab_test_cut(test);
	crab_test_attach(test, false);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).leaves_used, 2ULL);
	crab_test_expect_check(test, 6);
}

/* A sparse leaf between two that are not is left alone, and so is one that was filled again */
static void smo_not_sparse(struct kunit *test)
{
	smo_put_range(test, 1, 5 * CRAB_TEST_SLOTS, 1);
	smo_thin(test, 1, 1);
	smo_thin(test, 3, 2);
	smo_put_range(test, 4 * CRAB_TEST_SLOTS + 2, 4 * CRAB_TEST_SLOTS + 3, 1);
	smo_maintain(test);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).leaves_used, 5ULL);
	crab_test_expect_check(test, 2 * CRAB_TEST_SLOTS + 5);
}

/* Prepared leaves cost a split fewer lines, and hold records as others do */
static void smo_prepared(struct kunit *test)
{
	struct crab_test *t = test->priv;
	u32 prepared = 0;

	while (crab_store_maintain(t->store))
		prepared++;
	KUNIT_EXPECT_GT(test, prepared, 2U);
	smo_put_range(test, 20, 1, -1);
	smo_expect_range(test, 1, 20);
	crab_test_expect_check(test, 20);
	crab_test_cut(test);
	crab_test_attach(test, false);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).repairs, 0ULL);
	smo_expect_range(test, 1, 20);
	crab_test_expect_check(test, 20);
}

static struct kunit_case smo_cases[] = {
	KUNIT_CASE(smo_split),
	KUNIT_CASE(smo_append),
	KUNIT_CASE(smo_unlink),
	KUNIT_CASE(smo_full),
	KUNIT_CASE(smo_merge),
	KUNIT_CASE(smo_sparse),
	KUNIT_CASE(smo_not_sparse),
	KUNIT_CASE(smo_prepared),
	{}
};

struct kunit_suite crab_smo_suite = {
	.name = "crabtree_structure",
	.init = crab_test_init_slotted,
	.exit = crab_test_exit,
	.test_cases = smo_cases,
};
