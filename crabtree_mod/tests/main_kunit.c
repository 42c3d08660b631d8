// SPDX-License-Identifier: GPL-2.0
/*
 * This file lists the suites and implements their shared parts.
 */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "kunit.h"

int crab_test_init(struct kunit *test)
{
	struct crab_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	int err = crab_persist_init();

	if (!t || err)
		return err ?: -ENOMEM;
	t->media.size = CRAB_TEST_BYTES;
	t->media.durability = CRAB_DURABILITY_POP;
	t->media.base = vzalloc(t->media.size);
	test->priv = t;
	return t->media.base ? 0 : -ENOMEM;
}

int crab_test_resize(struct kunit *test, u32 leaf_bytes)
{
	struct crab_test *t = test->priv;

	vfree(t->media.base);
	t->media.size = CRAB_POOL_OFFSET + CRAB_TEST_LEAVES * leaf_bytes;
	t->media.base = vzalloc(t->media.size);
	return t->media.base ? 0 : -ENOMEM;
}

void crab_test_exit(struct kunit *test)
{
	struct crab_test *t = test->priv;

	if (!t)
		return;
	crab_store_abandon(t->store);
	crab_shadow_destroy(t->shadow);
	vfree(t->media.base);
}

void crab_test_shadow(struct kunit *test)
{
	struct crab_test *t = test->priv;

	t->shadow = crab_shadow_create(&t->media, 256);
	KUNIT_ASSERT_NOT_NULL(test, t->shadow);
}

void crab_test_attach(struct kunit *test, bool readonly)
{
	struct crab_test *t = test->priv;
	struct crab_attach_options options = { .readonly = readonly, .tuning = t->tuning };
	struct crab_store *store = crab_store_attach(&t->media, &options, &t->report);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, store);
	t->store = store;
}

void crab_test_cut(struct kunit *test)
{
	struct crab_test *t = test->priv;

	crab_store_abandon(t->store);
	t->store = NULL;
}

void crab_test_format(struct kunit *test, const char *engine, const char *layout, u32 leaf_bytes)
{
	struct crab_format_options options = {
		.force = true, .leaf_bytes = leaf_bytes, .engine = engine, .layout = layout,
		.label = "kunit",
	};
	struct crab_test *t = test->priv;
	char reason[CRAB_REASON_LEN];

	t->media.fence_only = crab_layout_by_name(crab_engine_by_name(engine), layout)->needs ==
			      CRAB_MODEL_CACHE;
	KUNIT_ASSERT_EQ(test, crab_store_format(&t->media, &options, reason), 0);
	crab_test_attach(test, false);
}

int crab_test_init_slotted(struct kunit *test)
{
	int err = crab_test_init(test);

	if (!err)
		crab_test_format(test, "crab", "slotted", CRAB_TEST_LEAF);
	return err;
}

int crab_test_put(struct kunit *test, u64 key, u64 value)
{
	struct crab_test *t = test->priv;
	struct crab_old old;

	return crab_store_insert(t->store, key, value, CRAB_INSERT_EITHER, &old);
}

int crab_test_del(struct kunit *test, u64 key)
{
	struct crab_test *t = test->priv;
	struct crab_old old;

	return crab_store_delete(t->store, key, &old);
}

void crab_test_expect(struct kunit *test, u64 key, int err, u64 value)
{
	struct crab_test *t = test->priv;
	u64 found = value;

	KUNIT_EXPECT_EQ_MSG(test, crab_store_search(t->store, key, &found), err,
			    "key %llu", (unsigned long long)key);
	KUNIT_EXPECT_EQ_MSG(test, found, value, "key %llu", (unsigned long long)key);
}

void crab_test_expect_check(struct kunit *test, u64 records)
{
	struct crab_test *t = test->priv;
	struct crab_check_report report;

	KUNIT_EXPECT_EQ(test, crab_store_check(t->store, &report), 0);
	KUNIT_EXPECT_EQ_MSG(test, report.damage.count, (u64)0, "%s", report.damage.what);
	KUNIT_EXPECT_EQ(test, report.records, records);
}

/* INFO, all zero if memory for it cannot be allocated */
static struct crab_store_info *test_info(struct kunit *test)
{
	struct crab_test *t = test->priv;
	struct crab_store_info *info = kunit_kzalloc(test, sizeof(*info), GFP_KERNEL);

	KUNIT_EXPECT_TRUE(test, info);
	if (info)
		crab_store_info(t->store, info);
	return info;
}

struct crab_counts crab_test_counts(struct kunit *test)
{
	struct crab_store_info *info = test_info(test);

	return info ? info->counts : (struct crab_counts){ };
}

struct crab_engine_stats crab_test_stats(struct kunit *test)
{
	struct crab_store_info *info = test_info(test);

	return info ? info->stats : (struct crab_engine_stats){ };
}

struct crab_dleaf *crab_test_leaf(struct kunit *test, u32 number)
{
	struct crab_test *t = test->priv;

	return (struct crab_dleaf *)(t->media.base + CRAB_POOL_OFFSET + number * CRAB_TEST_LEAF);
}

struct crab_dleaf *crab_test_listed(struct kunit *test, u32 nth)
{
	struct crab_test *t = test->priv;
	struct crab_dleaf *leaf = (struct crab_dleaf *)(t->media.base + CRAB_HEAD_OFFSET);
	u64 link;

	do {
		link = le64_to_cpu(leaf->head.next) & CRAB_LINK_MASK;
		if (!link || link > CRAB_TEST_LEAVES)
			return NULL;
		leaf = crab_test_leaf(test, link - 1);
	} while (nth--);
	return leaf;
}

kunit_test_suites(&crab_format_suite, &crab_persist_suite, &crab_index_suite, &crab_pool_suite,
		  &crab_engine_suite, &crab_leaf_suite, &crab_smo_suite, &crab_attach_suite,
		  &crab_conformance_suite, &crab_crash_suite, &crab_strategy_suite,
		  &crab_sorted_suite, &crab_hostile_suite, &crab_changing_suite,
		  &crab_parked_suite, &crab_table_suite, &crab_unfinished_suite,
		  &crab_restless_suite);

MODULE_DESCRIPTION("crabtree KUnit suites");
MODULE_LICENSE("GPL");
