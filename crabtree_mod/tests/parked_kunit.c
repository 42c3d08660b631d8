// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the parked entries of the engine `nvtree`: attach believes those that a clean
 * detach left, and no others.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>

#include "engines/nvtree/nvtree.h"
#include "kunit.h"
#include "seal.h"
#include "store/store_priv.h"

#define PARKED_KEYS	16

static const struct nv_tuning instant = { .instant = true };

static int parked_init(struct kunit *test)
{
	struct crab_test *t;
	int err = crab_test_init(test);

	if (err)
		return err;
	t = test->priv;
	t->tuning = (const void *)&instant;
	crab_test_format(test, "nvtree", "append", CRAB_TEST_LEAF);
	return 0;
}

static void parked_fill(struct kunit *test)
{
	u64 key;

	for (key = 0; key < PARKED_KEYS; key++)
		KUNIT_ASSERT_EQ(test, crab_test_put(test, key, key + 100), 0);
}

static void parked_detach(struct kunit *test)
{
	struct crab_test *t = test->priv;

	crab_store_detach(t->store);
	t->store = NULL;
}

static bool parked_is_believed(struct kunit *test)
{
	struct crab_test *t = test->priv;

	return nv_tree_of(t->store->engine)->first.elements;
}

/* All records are there, in a store whose attach believed the entries, or did not */
static void parked_expect(struct kunit *test, bool believed)
{
	struct crab_test *t = test->priv;
	struct crab_engine_stats stats;
	u64 key;

	KUNIT_EXPECT_EQ(test, t->report.verdict,
			t->store->options.readonly ? CRAB_VERDICT_RO : CRAB_VERDICT_GOOD);
	KUNIT_EXPECT_EQ(test, parked_is_believed(test), believed);
	t->store->engine->ops->stats(t->store->engine, &stats);
	KUNIT_EXPECT_EQ(test, stats.records, (u64)PARKED_KEYS);
	for (key = 0; key < PARKED_KEYS; key++)
		crab_test_expect(test, key, 0, key + 100);
	crab_test_expect_check(test, PARKED_KEYS);
}

/* The superblock that the next attach chooses */
static struct crab_dsuper *parked_super(struct kunit *test, bool newest)
{
	struct crab_test *t = test->priv;
	struct crab_dsuper *d[] = {
		(void *)t->media.base, (void *)(t->media.base + CRAB_SUPER_STRIDE),
	};

	return d[(le64_to_cpu(d[1]->sequence) > le64_to_cpu(d[0]->sequence)) == newest];
}

static struct nv_dparked *parked_block(struct kunit *test, __le64 link)
{
	return (struct nv_dparked *)crab_test_leaf(test, (le64_to_cpu(link) & CRAB_LINK_MASK) - 1);
}

static void parked_again(struct kunit *test)
{
	u64 key;

	parked_fill(test);
	parked_detach(test);
	KUNIT_EXPECT_NE(test, le64_to_cpu(parked_super(test, true)->engine_root), 0ULL);
	crab_test_attach(test, false);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(parked_super(test, true)->engine_root), 0ULL);
	parked_expect(test, true);
	for (key = 0; key < PARKED_KEYS; key += 2)
		KUNIT_EXPECT_EQ(test, crab_test_del(test, key), 0);
	for (key = 0; key < PARKED_KEYS; key += 2)
		KUNIT_EXPECT_EQ(test, crab_test_put(test, key, key + 100), 0);
	parked_detach(test);
	crab_test_attach(test, true);
	parked_expect(test, true);
	crab_test_cut(test);
	crab_test_attach(test, false);
	parked_expect(test, true);
	crab_test_cut(test);
	crab_test_attach(test, false);
	parked_expect(test, false);
}

/* A second detach before any leaf was read */
static void parked_unread(struct kunit *test)
{
	parked_fill(test);
	parked_detach(test);
	crab_test_attach(test, false);
	parked_detach(test);
	crab_test_attach(test, false);
	parked_expect(test, true);
}

/* Without the option nothing is parked, and nothing believed */
static void parked_default(struct kunit *test)
{
	struct crab_test *t = test->priv;

	parked_fill(test);
	parked_detach(test);
	t->tuning = NULL;
	crab_test_attach(test, false);
	parked_expect(test, false);
	parked_detach(test);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(parked_super(test, true)->engine_root), 0ULL);
	t->tuning = (const void *)&instant;
	crab_test_attach(test, false);
	parked_expect(test, false);
}

/* Too few free leaves: the detach is clean, without a root */
static void parked_full(struct kunit *test)
{
	u64 key;

	for (key = 0; !crab_test_put(test, key, key); key++)
		;
	parked_detach(test);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(parked_super(test, true)->engine_root), 0ULL);
	crab_test_attach(test, false);
	KUNIT_EXPECT_FALSE(test, parked_is_believed(test));
	crab_test_expect_check(test, key);
}

/* Each bit of a word in turn: the leaves are read instead, and nothing is lost */
static void parked_flip(struct kunit *test, __le64 *word)
{
	u32 bit;

	for (bit = 0; bit < 64; bit++) {
		*word ^= cpu_to_le64(1ULL << bit);
		crab_test_attach(test, true);
		parked_expect(test, false);
		crab_test_cut(test);
		*word ^= cpu_to_le64(1ULL << bit);
	}
}

static void parked_damaged(struct kunit *test)
{
	struct nv_dparked *block;
	u32 blocks = 0, word;
	__le64 link;

	crab_test_long(test);
	parked_fill(test);
	parked_detach(test);
	for (link = parked_super(test, true)->engine_root; le64_to_cpu(link) & CRAB_LINK_MASK;
	     link = block->head.next, blocks++) {
		block = parked_block(test, link);
		for (word = 0; word < 8 + 2 * (u32)le64_to_cpu(block->head.own); word++)
			parked_flip(test, (__le64 *)block + word);
	}
	KUNIT_EXPECT_GT(test, blocks, 1U);
	crab_test_attach(test, true);
	parked_expect(test, true);
}

/* Another root, with a valid crc of the superblock */
static void parked_root(struct kunit *test)
{
	struct crab_dsuper *super;
	u32 bit;

	parked_fill(test);
	parked_detach(test);
	super = parked_super(test, true);
	for (bit = 0; bit < 64; bit++) {
		super->engine_root ^= cpu_to_le64(1ULL << bit);
		crab_seal_super(super);
		crab_test_attach(test, true);
		parked_expect(test, false);
		crab_test_cut(test);
		super->engine_root ^= cpu_to_le64(1ULL << bit);
	}
}

/* The superblock after the one with the root is damaged: the store has changed since */
static void parked_alone(struct kunit *test)
{
	u64 key;

	parked_fill(test);
	parked_detach(test);
	crab_test_attach(test, false);
	for (key = PARKED_KEYS / 2; key < PARKED_KEYS; key++)
		KUNIT_EXPECT_EQ(test, crab_test_del(test, key), 0);
	crab_test_cut(test);
	parked_super(test, true)->crc ^= cpu_to_le32(1);
	KUNIT_EXPECT_NE(test, le64_to_cpu(parked_super(test, false)->engine_root), 0ULL);
	crab_test_attach(test, true);
	KUNIT_EXPECT_FALSE(test, parked_is_believed(test));
	crab_test_expect_check(test, PARKED_KEYS / 2);
}

/* A damaged leaf is found when it is read, and by each attach after the next detach */
static void parked_leaf(struct kunit *test, __le64 *word)
{
	struct crab_test *t = test->priv;
	u64 key = le64_to_cpu(crab_test_listed(test, 1)->head.low);
	struct crab_check_report report;

	*word ^= cpu_to_le64(1ULL << 50);
	crab_test_attach(test, false);
	KUNIT_EXPECT_EQ(test, t->report.verdict, CRAB_VERDICT_GOOD);
	KUNIT_EXPECT_TRUE(test, parked_is_believed(test));
	crab_test_expect(test, 0, 0, 100);
	crab_test_expect(test, key, -EUCLEAN, 0);
	crab_test_expect(test, PARKED_KEYS - 1, 0, PARKED_KEYS + 99);
	KUNIT_EXPECT_EQ(test, crab_store_check(t->store, &report), 0);
	KUNIT_EXPECT_TRUE(test, report.damage.count && !strncmp(report.damage.what, "leaf", 4));
	parked_detach(test);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(parked_super(test, true)->engine_root), 0ULL);
	crab_test_attach(test, false);
	KUNIT_EXPECT_EQ(test, t->report.verdict, CRAB_VERDICT_RO);
	parked_detach(test);
	*word ^= cpu_to_le64(1ULL << 50);
}

static void parked_leaves(struct kunit *test)
{
	__le64 *leaf;
	u32 word;

	parked_fill(test);
	for (word = 0; word < 7; word++) {
		parked_detach(test);
		leaf = (__le64 *)crab_test_listed(test, 1);
		parked_leaf(test, leaf + word);
		crab_test_attach(test, false);
	}
}

static struct kunit_case parked_cases[] = {
	KUNIT_CASE(parked_again),
	KUNIT_CASE(parked_unread),
	KUNIT_CASE(parked_default),
	KUNIT_CASE(parked_full),
	KUNIT_CASE(parked_damaged),
	KUNIT_CASE(parked_root),
	KUNIT_CASE(parked_alone),
	KUNIT_CASE(parked_leaves),
	{}
};

CRAB_TEST_SUITE(parked, parked_init, crab_test_exit);
