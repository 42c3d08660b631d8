// SPDX-License-Identifier: GPL-2.0
/*
 * This suite tests sorted leaves: the slots of records after a shift, a split, a
 * merge and a redistribution, each of these cut after every single store under
 * model L, attach after a torn shift and after one that no cut leaves, and that the
 * verifier compares the first keys in DRAM with the media.
 */
#include <linux/string.h>

#include "kunit.h"

#define SORTED_LONG		256	/* bytes of a leaf of several lines */
#define SORTED_LONG_SLOTS	13

static const struct crab_tuning sorted_sip = { .strategy = CRAB_STRATEGY_SIP };
static const struct crab_tuning sorted_pair = { .strategy = CRAB_STRATEGY_SIP, .pair = true };
static const struct crab_tuning sorted_cow = { .strategy = CRAB_STRATEGY_COW };
static const struct crab_tuning sorted_demand = {
	.strategy = CRAB_STRATEGY_COW, .on_demand = true,
};

static void sorted_format(struct kunit *test)
{
	struct crab_test *t = test->priv;

	t->tuning = &sorted_sip;
	crab_test_format(test, "crab", "sorted", CRAB_TEST_LEAF);
}

/* Records of the @nth leaf of the list: up to the first reserved key */
static u32 sorted_count(struct kunit *test, u32 nth)
{
	const struct crab_dleaf *leaf = crab_test_listed(test, nth);
	u32 count = 0;

	while (leaf && count < CRAB_TEST_SLOTS &&
	       le64_to_cpu(leaf->slots[count].key) != CRAB_KEY_EMPTY)
		count++;
	return count;
}

static void sorted_slot(struct kunit *test, u32 nth, u32 slot, u64 key, u64 value)
{
	struct crab_dleaf *leaf = crab_test_listed(test, nth);

	KUNIT_ASSERT_NOT_NULL(test, leaf);
	leaf->slots[slot].key = cpu_to_le64(key);
	leaf->slots[slot].value = cpu_to_le64(value);
}

static void sorted_expect_slot(struct kunit *test, u32 nth, u32 slot, u64 key, u64 value)
{
	const struct crab_dleaf *leaf = crab_test_listed(test, nth);

	KUNIT_ASSERT_NOT_NULL(test, leaf);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(leaf->slots[slot].key), key);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(leaf->slots[slot].value), value);
}

static void sorted_records(struct kunit *test)
{
	sorted_format(test);
	crab_test_put(test, 3, 30);
	crab_test_put(test, 1, 10);
	crab_test_put(test, 2, 20);
	sorted_expect_slot(test, 0, 0, 1, 10);
	sorted_expect_slot(test, 0, 1, 2, 20);
	sorted_expect_slot(test, 0, 2, 3, 30);
	KUNIT_EXPECT_EQ(test, sorted_count(test, 0), 3U);
	KUNIT_EXPECT_EQ(test, crab_test_del(test, 1), 0);
	sorted_expect_slot(test, 0, 0, 2, 20);
	sorted_expect_slot(test, 0, 1, 3, 30);
	KUNIT_EXPECT_EQ(test, sorted_count(test, 0), 2U);
	crab_test_expect_check(test, 2);
}

/* Two leaves, 1 2 and 3 4 5 (6), as a split of a full one leaves them */
static void sorted_two(struct kunit *test)
{
	u64 key;

	for (key = 1; key <= 4; key++)
		KUNIT_ASSERT_EQ(test, crab_test_put(test, 10 * key, key), 0);
	KUNIT_ASSERT_EQ(test, crab_test_put(test, 60, 6), 0);
	KUNIT_ASSERT_EQ(test, crab_test_put(test, 50, 5), 0);
}

static void sorted_split(struct kunit *test)
{
	sorted_format(test);
	sorted_two(test);
	KUNIT_EXPECT_EQ(test, sorted_count(test, 0), 2U);
	KUNIT_EXPECT_EQ(test, sorted_count(test, 1), 4U);
	sorted_expect_slot(test, 0, 1, 20, 2);
	sorted_expect_slot(test, 1, 0, 30, 3);
	sorted_expect_slot(test, 1, 3, 60, 6);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).splits, 1ULL);
	crab_test_expect_check(test, 6);
}

/* Less than half full, and the sibling has room: both become one leaf */
static void sorted_merge(struct kunit *test)
{
	sorted_format(test);
	sorted_two(test);
	KUNIT_EXPECT_EQ(test, crab_test_del(test, 10), 0);
	KUNIT_EXPECT_EQ(test, sorted_count(test, 0), 5U);
	KUNIT_EXPECT_EQ(test, sorted_count(test, 1), 0U);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).leaves_used, 1ULL);
	crab_test_expect_check(test, 5);
}

/* If the sibling has no room: a record moves over, from the right and from the left */
static void sorted_redistribute(struct kunit *test)
{
	sorted_format(test);
	sorted_two(test);
	KUNIT_ASSERT_EQ(test, crab_test_put(test, 70, 7), 0);
	KUNIT_EXPECT_EQ(test, crab_test_del(test, 10), 0);
	KUNIT_EXPECT_EQ(test, sorted_count(test, 0), 2U);
	KUNIT_EXPECT_EQ(test, sorted_count(test, 1), 4U);
	sorted_expect_slot(test, 0, 1, 30, 3);
	sorted_expect_slot(test, 1, 0, 40, 4);
	crab_test_expect_check(test, 6);
	crab_test_put(test, 21, 1);
	crab_test_put(test, 22, 1);
	crab_test_put(test, 23, 1);
	KUNIT_EXPECT_EQ(test, sorted_count(test, 0), 5U);
	crab_test_del(test, 40);
	crab_test_del(test, 50);
	crab_test_del(test, 60);
	KUNIT_EXPECT_EQ(test, sorted_count(test, 0), 4U);
	KUNIT_EXPECT_EQ(test, sorted_count(test, 1), 2U);
	sorted_expect_slot(test, 1, 0, 30, 3);
	sorted_expect_slot(test, 1, 1, 70, 7);
	crab_test_expect(test, 30, 0, 3);
	crab_test_expect_check(test, 6);
}

/* The first key of a line changes: its copy in DRAM differs, but still leads to the line */
static void sorted_first_key(struct kunit *test)
{
	struct crab_test *t = test->priv;
	struct crab_check_report report;

	sorted_format(test);
	crab_test_put(test, 10, 1);
	crab_test_put(test, 20, 2);
	crab_test_put(test, 30, 3);
	crab_test_expect_check(test, 3);
	sorted_slot(test, 0, 1, 21, 2);
	crab_test_expect(test, 21, 0, 2);
	KUNIT_EXPECT_EQ(test, crab_store_check(t->store, &report), 0);
	KUNIT_EXPECT_EQ(test, report.damage.count, 1ULL);
	KUNIT_EXPECT_TRUE(test, strstr(report.damage.what, "first key"));
}

/* The left one of two equal keys is void: lookups ignore it, repair removes it */
static void sorted_twin(struct kunit *test)
{
	sorted_format(test);
	crab_test_put(test, 1, 7);
	crab_test_put(test, 2, 7);
	crab_test_put(test, 4, 0);
	crab_test_cut(test);
	sorted_slot(test, 0, 2, 2, 7);		/* 1 2 2 4: an insert of 3 was cut */
	sorted_slot(test, 0, 3, 4, 0);
	sorted_slot(test, 0, 4, CRAB_KEY_EMPTY, 0);
	sorted_slot(test, 0, 1, 2, 99);
	crab_test_attach(test, true);
	crab_test_expect(test, 2, 0, 7);
	crab_test_expect(test, 3, -ENOENT, 0);
	crab_test_expect_check(test, 3);
	crab_test_cut(test);
	sorted_expect_slot(test, 0, 1, 2, 99);
	crab_test_attach(test, false);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).repairs, 1ULL);
	KUNIT_EXPECT_EQ(test, sorted_count(test, 0), 3U);
	crab_test_expect(test, 1, 0, 7);
	crab_test_expect(test, 2, 0, 7);
	crab_test_expect(test, 4, 0, 0);
	crab_test_expect_check(test, 3);
}

/* No cut leaves two: the range is quarantined, nothing is written */
static void sorted_two_twins(struct kunit *test)
{
	struct crab_test *t = test->priv;

	sorted_format(test);
	crab_test_put(test, 1, 10);
	crab_test_put(test, 2, 20);
	crab_test_put(test, 3, 30);
	crab_test_put(test, 4, 40);
	crab_test_cut(test);
	sorted_slot(test, 0, 1, 1, 10);
	sorted_slot(test, 0, 2, 3, 30);
	sorted_slot(test, 0, 3, 3, 30);
	crab_test_attach(test, false);
	KUNIT_EXPECT_EQ(test, t->report.verdict, CRAB_VERDICT_RO);
	KUNIT_EXPECT_TRUE(test, strstr(t->report.reason, "more than one record"));
	crab_test_expect(test, 1, -EUCLEAN, 0);
	KUNIT_EXPECT_EQ(test, crab_test_put(test, 9, 9), -EROFS);
}

/*
 * Shifts to the right and to the left over both lines of a leaf, splits, a merge
 * to either side, redistributions to either side; equal values and zeros
 */
static void sorted_history(struct crab_crash *c)
{
	static const u8 puts[] = { 8, 2, 6, 0, 4, 3, 10, 12, 14, 13, 1, 15 };
	static const u8 dels[] = { 6, 8, 0, 13, 10, 12, 1, 2, 3, 4, 14, 15 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(puts); i++)
		crab_crash_put(c, puts[i], i % 3 ? 0 : 7);
	crab_crash_put(c, 4, 9);
	for (i = 0; i < ARRAY_SIZE(dels); i++)
		crab_crash_del(c, dels[i]);
	crab_crash_put(c, 5, 5);
}

/* Leaves of several lines: a split in the middle, then both halves in one again */
static void sorted_long_history(struct crab_crash *c)
{
	u32 key;

	for (key = 1; key <= SORTED_LONG_SLOTS; key++)
		crab_crash_put(c, key, key % 3);
	crab_crash_put(c, 0, 3);
	crab_crash_del(c, 11);		/* is after the end of the left leaf, too */
	crab_crash_del(c, 3);
	crab_crash_del(c, 4);
	crab_crash_put(c, 3, 1);
}

/* The old content of a pool's leaf has keys and no end */
static void sorted_junk(struct kunit *test)
{
	struct crab_test *t = test->priv;
	__le64 *word = (__le64 *)(t->media.base + CRAB_POOL_OFFSET);
	u64 i;

	for (i = 0; i < (t->media.size - CRAB_POOL_OFFSET) / sizeof(*word); i++)
		word[i] = cpu_to_le64(i % 16);
}

/* How a history is cut: everywhere */
struct sorted_way {
	const struct crab_tuning *tuning;
	u32 leaf_bytes;
	enum crab_shadow_model model;
	void (*history)(struct crab_crash *c);
};

#define SORTED_WAY(_tuning)						\
	{ .tuning = _tuning, .leaf_bytes = CRAB_TEST_LEAF,		\
	  .model = CRAB_SHADOW_MODEL_LINE, .history = sorted_history }

static const struct sorted_way sorted_long_way = {
	.tuning = &sorted_sip, .leaf_bytes = SORTED_LONG,
	.model = CRAB_SHADOW_MODEL_LINE, .history = sorted_long_history,
};

static struct crab_crash *sorted_begin(struct kunit *test, const struct sorted_way *way)
{
	struct crab_test *t = test->priv;
	struct crab_crash *c;

	KUNIT_ASSERT_EQ(test, crab_test_resize(test, way->leaf_bytes), 0);
	t->tuning = way->tuning;
	sorted_junk(test);
	c = crab_crash_begin(test, "crab", "sorted", way->leaf_bytes, way->model);
	/* many stores go to a leaf that is not linked yet */
	c->every_store = way->tuning->strategy == CRAB_STRATEGY_SIP;
	return c;
}

static void sorted_sound(struct kunit *test, const struct sorted_way *way)
{
	struct crab_test *t = test->priv;
	struct crab_crash *c;

	crab_test_long(test);
	c = sorted_begin(test, way);
	way->history(c);
	KUNIT_EXPECT_EQ(test, c->bad, 0U);
	KUNIT_EXPECT_GT(test, c->images, 100U);
	KUNIT_EXPECT_EQ_MSG(test, t->shadow->errors, 0ULL, "%s", t->shadow->error);
	KUNIT_EXPECT_GT(test, crab_test_stats(test).splits, 0ULL);
	KUNIT_EXPECT_EQ(test, crab_test_stats(test).leaves_used, 1ULL);
	kunit_info(test, "%u images, %u torn\n", c->images, c->torn);
	if (way->tuning->strategy == CRAB_STRATEGY_SIP) {
		KUNIT_EXPECT_GT(test, c->torn, 20U);
		KUNIT_EXPECT_GT(test, crab_test_stats(test).unlinks, 0ULL);
		KUNIT_EXPECT_GT(test, t->shadow->counts.fences[CRAB_P9_SHIFTED], 0ULL);
		KUNIT_EXPECT_GT(test, t->shadow->counts.fences[CRAB_P10_ENDED], 0ULL);
		KUNIT_EXPECT_GT(test, t->shadow->counts.fences[CRAB_P11_APPENDED], 0ULL);
	}
}

static void sorted_cut_sip(struct kunit *test)
{
	static const struct sorted_way way = SORTED_WAY(&sorted_sip);

	sorted_sound(test, &way);
}

static void sorted_cut_pair(struct kunit *test)
{
	static const struct sorted_way way = SORTED_WAY(&sorted_pair);

	sorted_sound(test, &way);
}

static void sorted_cut_long(struct kunit *test)
{
	sorted_sound(test, &sorted_long_way);
}

static void sorted_cut_cow(struct kunit *test)
{
	static const struct sorted_way way = SORTED_WAY(&sorted_cow);

	sorted_sound(test, &way);
}

static void sorted_cut_on_demand(struct kunit *test)
{
	static const struct sorted_way way = SORTED_WAY(&sorted_demand);
	struct crab_test *t = test->priv;

	sorted_sound(test, &way);
	KUNIT_EXPECT_GT(test, t->shadow->counts.fences[CRAB_P12_ALLOCATED], 0ULL);
}

/* If a line's stores may persist in any order, a torn shift is ambiguous: hence model L */
static void sorted_needs_line(struct kunit *test)
{
	struct sorted_way way = SORTED_WAY(&sorted_sip);
	struct crab_crash *c;

	way.model = CRAB_SHADOW_MODEL_WORD;
	c = sorted_begin(test, &way);
	way.history(c);
	KUNIT_EXPECT_GT(test, c->bad, 0U);
}

/* A failed fence must be detected, or the fence would not be needed */
static void sorted_fault(struct kunit *test, const struct sorted_way *way, enum crab_point point)
{
	struct crab_crash *c = sorted_begin(test, way);
	struct crab_test *t = test->priv;

	t->shadow->fault = CRAB_SHADOW_FENCE_LOST;
	t->shadow->fault_point = point;
	way->history(c);
	KUNIT_EXPECT_GT(test, t->shadow->fault_hits, 0ULL);
	KUNIT_EXPECT_GT(test, c->bad, 0U);
}

static void sorted_shifted_fence_lost(struct kunit *test)
{
	static const struct sorted_way way = SORTED_WAY(&sorted_sip);

	sorted_fault(test, &way, CRAB_P9_SHIFTED);
}

static void sorted_ended_fence_lost(struct kunit *test)
{
	static const struct sorted_way way = SORTED_WAY(&sorted_sip);

	sorted_fault(test, &way, CRAB_P10_ENDED);
}

/* Detected only if the first of the appended records has a line of its own */
static void sorted_appended_fence_lost(struct kunit *test)
{
	crab_test_long(test);
	sorted_fault(test, &sorted_long_way, CRAB_P11_APPENDED);
}

static struct kunit_case sorted_cases[] = {
	KUNIT_CASE(sorted_records),
	KUNIT_CASE(sorted_split),
	KUNIT_CASE(sorted_merge),
	KUNIT_CASE(sorted_redistribute),
	KUNIT_CASE(sorted_first_key),
	KUNIT_CASE(sorted_twin),
	KUNIT_CASE(sorted_two_twins),
	KUNIT_CASE(sorted_cut_sip),
	KUNIT_CASE(sorted_cut_pair),
	KUNIT_CASE(sorted_cut_long),
	KUNIT_CASE(sorted_cut_cow),
	KUNIT_CASE(sorted_cut_on_demand),
	KUNIT_CASE(sorted_needs_line),
	KUNIT_CASE(sorted_shifted_fence_lost),
	KUNIT_CASE(sorted_ended_fence_lost),
	KUNIT_CASE(sorted_appended_fence_lost),
	{}
};

CRAB_TEST_SUITE(sorted, crab_test_init, crab_test_exit);
