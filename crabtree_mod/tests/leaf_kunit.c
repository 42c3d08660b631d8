// SPDX-License-Identifier: GPL-2.0
/*
 * This suite examines the media during inserts and deletes in one leaf: the slots
 * used, the content of a free slot, the cost of each write, and attach
 * after every half of them.
 */
#include "kunit.h"

/* Slot that holds @key; -1: none */
static int leaf_slot_of(const struct crab_dleaf *leaf, u64 key)
{
	int i;

	for (i = 0; i < CRAB_TEST_SLOTS; i++)
		if (le64_to_cpu(leaf->slots[i].key) == key)
			return i;
	return -1;
}

static bool slot_is_free(const struct crab_dleaf *leaf, int slot)
{
	return le64_to_cpu(leaf->slots[slot].key) == CRAB_KEY_EMPTY &&
	       leaf->slots[slot].value == leaf->head.own;
}

static void leaf_records(struct kunit *test)
{
	struct crab_dleaf *leaf = crab_test_listed(test, 0);
	int slot;

	KUNIT_ASSERT_EQ(test, crab_test_put(test, 7, 70), 0);
	slot = leaf_slot_of(leaf, 7);
	KUNIT_ASSERT_TRUE(test, slot >= 0);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(leaf->slots[slot].value), 70ULL);
	KUNIT_ASSERT_EQ(test, crab_test_put(test, 7, 71), 0);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(leaf->slots[slot].value), 71ULL);
	KUNIT_ASSERT_EQ(test, crab_test_del(test, 7), 0);
	KUNIT_EXPECT_TRUE(test, slot_is_free(leaf, slot));
	KUNIT_EXPECT_EQ(test, crab_test_del(test, 7), -ENOENT);
	crab_test_expect_check(test, 0);
}

/* One line and one fence each: the physical minimum */
static void leaf_costs(struct kunit *test)
{
	struct crab_test *t = test->priv;
	struct crab_store_info *info = kunit_kzalloc(test, sizeof(*info), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, info);
	crab_test_put(test, 1, 1);
	crab_test_put(test, 1, 2);
	crab_test_del(test, 1);
	crab_test_put(test, 2, 1);
	crab_store_info(t->store, info);
	KUNIT_EXPECT_EQ(test, info->counts.lines, 4ULL);
	KUNIT_EXPECT_EQ(test, info->counts.fences, 4ULL);
	KUNIT_EXPECT_EQ(test, info->counts.inserts, 2ULL);
	KUNIT_EXPECT_EQ(test, info->counts.updates, 1ULL);
	KUNIT_EXPECT_EQ(test, info->counts.deletes, 1ULL);
}

/* A batch: one line each, and one fence for all */
static void leaf_batch_costs(struct kunit *test)
{
	struct crab_test *t = test->priv;
	struct crab_batch_op *ops = kunit_kzalloc(test, 16 * sizeof(*ops), GFP_KERNEL);
	struct crab_counts before, after;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, ops);
	crab_test_cut(test);
	KUNIT_ASSERT_EQ(test, crab_test_resize(test, 512), 0);
	crab_test_format(test, "crab", "slotted", 512);
	for (i = 0; i < 16; i++)
		ops[i] = (struct crab_batch_op) { .verb = CRAB_VERB_INSERT, .key = i, .value = i };
	before = crab_test_counts(test);
	crab_store_batch(t->store, ops, 16);
	after = crab_test_counts(test);
	KUNIT_EXPECT_EQ(test, after.lines - before.lines, 16ULL);
	KUNIT_EXPECT_EQ(test, after.fences - before.fences, 1ULL);
	KUNIT_EXPECT_EQ(test, after.inserts - before.inserts, 16ULL);
	crab_test_expect_check(test, 16);
}

/* A record may have the value of free slots: the leaf then takes another void value */
static void leaf_void(struct kunit *test)
{
	u64 value = le64_to_cpu(crab_test_listed(test, 0)->head.own);
	struct crab_dleaf *leaf;

	KUNIT_ASSERT_EQ(test, crab_test_put(test, 3, value), 0);
	crab_test_expect(test, 3, 0, value);
	leaf = crab_test_listed(test, 0);
	KUNIT_EXPECT_NE(test, le64_to_cpu(leaf->head.own), value);
	value = le64_to_cpu(leaf->head.own);
	KUNIT_ASSERT_EQ(test, crab_test_put(test, 3, value), 0);
	crab_test_expect(test, 3, 0, value);
	crab_test_expect_check(test, 1);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).leaves_used, 1ULL);
}

static void leaf_any_value(struct kunit *test)
{
	static const u64 values[] = { 0, 1, ~0ULL, CRAB_MAGIC, 1ULL << 63 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(values); i++)
		KUNIT_ASSERT_EQ(test, crab_test_put(test, i * 1000, values[i]), 0);
	KUNIT_ASSERT_EQ(test, crab_test_put(test, CRAB_KEY_EMPTY - 1, 5), 0);
	KUNIT_EXPECT_EQ(test, crab_test_put(test, CRAB_KEY_EMPTY, 5), -EINVAL);
	for (i = 0; i < ARRAY_SIZE(values); i++)
		crab_test_expect(test, i * 1000, 0, values[i]);
	crab_test_expect(test, CRAB_KEY_EMPTY - 1, 0, 5);
	crab_test_expect_check(test, ARRAY_SIZE(values) + 1);
}

/* With one of the two sentinels, either one: the record is absent, and attach stores the other */
static void leaf_halves(struct kunit *test)
{
	struct crab_dleaf *leaf = crab_test_listed(test, 0);
	int a, b;

	crab_test_put(test, 1, 10);
	crab_test_put(test, 2, 20);
	crab_test_put(test, 3, 30);
	a = leaf_slot_of(leaf, 1);
	b = leaf_slot_of(leaf, 2);
	KUNIT_ASSERT_TRUE(test, a >= 0 && b >= 0);
	crab_test_cut(test);
	leaf->slots[a].key = cpu_to_le64(CRAB_KEY_EMPTY);
	leaf->slots[b].value = leaf->head.own;
	crab_test_attach(test, false);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).repairs, 2ULL);
	KUNIT_EXPECT_TRUE(test, slot_is_free(leaf, a) && slot_is_free(leaf, b));
	crab_test_expect(test, 1, -ENOENT, 0);
	crab_test_expect(test, 2, -ENOENT, 0);
	crab_test_expect(test, 3, 0, 30);
	crab_test_expect_check(test, 1);
}

static struct kunit_case leaf_cases[] = {
	KUNIT_CASE(leaf_records),
	KUNIT_CASE(leaf_costs),
	KUNIT_CASE(leaf_batch_costs),
	KUNIT_CASE(leaf_void),
	KUNIT_CASE(leaf_any_value),
	KUNIT_CASE(leaf_halves),
	{}
};

CRAB_TEST_SUITE(leaf, crab_test_init_slotted, crab_test_exit);
