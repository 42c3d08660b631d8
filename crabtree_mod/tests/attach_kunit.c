// SPDX-License-Identifier: GPL-2.0
/*
 * This suite tests attach: the recovered records, read-only attach, and
 * damage. tools/host/tests/test_hostile.c tests many more kinds of damage.
 */
#include <linux/err.h>
#include <linux/string.h>

#include "kunit.h"

#define ATTACH_KEYS	30

static int attach_init(struct kunit *test)
{
	int err = crab_test_init_slotted(test);
	u64 key;

	if (err)
		return err;
	for (key = 1; key <= ATTACH_KEYS; key++)
		if (crab_test_put(test, key, key + 1))
			return -ENOSPC;
	return 0;
}

static u8 *attach_copy(struct kunit *test)
{
	struct crab_test *t = test->priv;
	u8 *copy = kunit_kzalloc(test, t->media.size, GFP_KERNEL);

	if (copy)
		memcpy(copy, t->media.base, t->media.size);
	return copy;
}

static void attach_expect_all(struct kunit *test)
{
	u64 key;

	for (key = 1; key <= ATTACH_KEYS; key++)
		crab_test_expect(test, key, 0, key + 1);
}

static void attach_again(struct kunit *test)
{
	struct crab_test *t = test->priv;

	crab_store_detach(t->store);
	t->store = NULL;
	crab_test_attach(test, false);
	KUNIT_EXPECT_EQ(test, t->report.verdict, CRAB_VERDICT_GOOD);
	attach_expect_all(test);
	crab_test_cut(test);
	crab_test_attach(test, false);
	KUNIT_EXPECT_EQ(test, t->report.verdict, CRAB_VERDICT_GOOD);
	attach_expect_all(test);
	crab_test_expect_check(test, ATTACH_KEYS);
}

static void attach_elsewhere(struct kunit *test)
{
	struct crab_test *t = test->priv;
	u8 *old = t->media.base, *base;

	crab_test_cut(test);
	base = kunit_kzalloc(test, t->media.size + CRAB_LINE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, base);
	t->media.base = PTR_ALIGN(base, CRAB_LINE);
	memcpy(t->media.base, old, t->media.size);
	crab_test_attach(test, false);
	attach_expect_all(test);
	crab_test_expect_check(test, ATTACH_KEYS);
	crab_test_cut(test);
	t->media.base = old;
}

static void attach_readonly(struct kunit *test)
{
	struct crab_test *t = test->priv;
	u8 *before;

	crab_test_cut(test);
	crab_test_listed(test, 0)->slots[0].key = cpu_to_le64(CRAB_KEY_EMPTY);	/* a half */
	before = attach_copy(test);
	KUNIT_ASSERT_NOT_NULL(test, before);
	crab_test_attach(test, true);
	KUNIT_EXPECT_EQ(test, crab_test_put(test, 5, 5), -EROFS);
	KUNIT_EXPECT_EQ(test, crab_test_del(test, 5), -EROFS);
	KUNIT_EXPECT_FALSE(test, crab_store_maintain(t->store));
	crab_test_expect(test, ATTACH_KEYS, 0, ATTACH_KEYS + 1);
	crab_store_detach(t->store);
	t->store = NULL;
	KUNIT_EXPECT_EQ(test, memcmp(before, t->media.base, t->media.size), 0);
}

/* Read-only attach leaves the torn slots of an insert or a delete, and no reader sees them */
static void attach_readonly_half(struct kunit *test)
{
	struct crab_dleaf *leaf = crab_test_listed(test, 1);
	struct crab_batch_op op = { .verb = CRAB_VERB_SEARCH };
	struct crab_test *t = test->priv;

	crab_test_cut(test);
	op.key = le64_to_cpu(leaf->slots[2].key);
	leaf->slots[2].value = leaf->head.own;
	crab_test_attach(test, true);
	crab_test_expect(test, op.key, -ENOENT, 0);
	crab_store_batch(t->store, &op, 1);
	KUNIT_EXPECT_EQ(test, op.status, -ENOENT);
}

/* A damaged leaf is quarantined, the others are served, nothing is written */
static void attach_damaged(struct kunit *test)
{
	struct crab_test *t = test->priv;
	u8 *before;
	u64 key;

	crab_test_cut(test);
	crab_test_listed(test, 2)->head.low ^= cpu_to_le64(1 << 20);
	before = attach_copy(test);
	KUNIT_ASSERT_NOT_NULL(test, before);
	crab_test_attach(test, false);
	KUNIT_EXPECT_EQ(test, t->report.verdict, CRAB_VERDICT_RO);
	KUNIT_EXPECT_TRUE(test, strstr(t->report.reason, "offset"));
	for (key = 1; key <= 10; key++)
		crab_test_expect(test, key, 0, key + 1);
	for (key = 11; key <= 15; key++)
		crab_test_expect(test, key, -EUCLEAN, 0);
	for (key = 16; key <= ATTACH_KEYS; key++)
		crab_test_expect(test, key, 0, key + 1);
	KUNIT_EXPECT_EQ(test, crab_test_put(test, 1, 1), -EROFS);
	crab_store_detach(t->store);
	t->store = NULL;
	KUNIT_EXPECT_EQ(test, memcmp(before, t->media.base, t->media.size), 0);
}

/* Puts keys until the pool is full; how many there are then */
static u64 attach_fill(struct kunit *test, u64 key)
{
	while (key < 1000 && !crab_test_put(test, key, key))
		key++;
	return key;
}

/* A region that has grown: attach gives its memory to the store, and both superblocks know */
static void attach_grows(struct kunit *test)
{
	struct crab_test *t = test->priv;
	u64 small, all;
	u32 copy;

	crab_test_cut(test);
	memset(t->media.base, 0xa5, t->media.size);
	t->media.size = CRAB_POOL_OFFSET + CRAB_LEAVES_MIN * CRAB_TEST_LEAF;
	crab_test_format(test, "crab", "slotted", CRAB_TEST_LEAF);
	small = attach_fill(test, 0);
	crab_store_detach(t->store);
	t->media.size = CRAB_TEST_BYTES;
	crab_test_attach(test, true);
	crab_test_expect_check(test, small);
	crab_test_cut(test);
	crab_test_attach(test, false);
	all = attach_fill(test, small);
	KUNIT_EXPECT_GE(test, all, small + CRAB_TEST_LEAVES - CRAB_LEAVES_MIN);
	for (copy = 0; copy < CRAB_SUPER_COPIES; copy++) {
		crab_test_cut(test);
		t->media.base[copy * CRAB_SUPER_STRIDE + 20] ^= 1;
		crab_test_attach(test, false);
		KUNIT_EXPECT_EQ(test, t->report.verdict, CRAB_VERDICT_GOOD);
		crab_test_expect_check(test, all);
	}
	crab_test_expect(test, all - 1, 0, all - 1);
}

static void attach_refused(struct kunit *test)
{
	struct crab_attach_options options = { };
	struct crab_test *t = test->priv;
	struct crab_store *store;

	crab_test_cut(test);
	t->media.base[20] ^= 1;
	t->media.base[CRAB_SUPER_STRIDE + 20] ^= 1;
	store = crab_store_attach(&t->media, &options, &t->report);
	KUNIT_EXPECT_EQ(test, PTR_ERR(store), (long)-EUCLEAN);
	KUNIT_EXPECT_EQ(test, t->report.verdict, CRAB_VERDICT_DAMAGED);
	memset(t->media.base, 0, t->media.size);
	store = crab_store_attach(&t->media, &options, &t->report);
	KUNIT_EXPECT_EQ(test, PTR_ERR(store), (long)-ENODATA);
	memset(t->media.base, 0x42, t->media.size);
	store = crab_store_attach(&t->media, &options, &t->report);
	KUNIT_EXPECT_EQ(test, PTR_ERR(store), (long)-EMEDIUMTYPE);
}

static struct kunit_case attach_cases[] = {
	KUNIT_CASE(attach_again),
	KUNIT_CASE(attach_elsewhere),
	KUNIT_CASE(attach_readonly),
	KUNIT_CASE(attach_readonly_half),
	KUNIT_CASE(attach_damaged),
	KUNIT_CASE(attach_grows),
	KUNIT_CASE(attach_refused),
	{}
};

CRAB_TEST_SUITE(attach, attach_init, crab_test_exit);
