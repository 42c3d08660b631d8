// SPDX-License-Identifier: GPL-2.0
/*
 * This suite tests the boundary between the store and an engine: the conditions that a layout
 * names, and the word that an engine keeps from a clean detach to the next attach.
 */
#include <linux/err.h>
#include <linux/string.h>

#include "store/store_priv.h"
#include "kunit.h"

#define ENGINE_ROOT	0x1234567890abcdefULL

static u64 engine_area(u64 leaves, u32 leaf_bytes)
{
	return leaves * leaf_bytes / 2;
}

static void engine_fits(struct kunit *test)
{
	struct crab_layout layout = { .name = "x", .leaf_min = 256, .leaf_max = 1024 };
	struct crab_super super = { .pool_offset = CRAB_POOL_OFFSET, .leaves = 8 };
	u32 leaf_bytes;

	for (leaf_bytes = CRAB_BLOCK_BYTES_MIN; leaf_bytes <= 4096; leaf_bytes *= 2) {
		super.leaf_bytes = leaf_bytes;
		if (leaf_bytes >= 256 && leaf_bytes <= 1024)
			KUNIT_EXPECT_TRUE(test, !crab_store_fits(&super, &layout));
		else
			KUNIT_EXPECT_STREQ(test, crab_store_fits(&super, &layout), "leaf size");
	}
	super.leaf_bytes = 1024;
	layout.before_pool = engine_area;	/* 4096 bytes are between the head and the pool */
	KUNIT_EXPECT_TRUE(test, !crab_store_fits(&super, &layout));
	super.leaves = 9;
	KUNIT_EXPECT_STREQ(test, crab_store_fits(&super, &layout), "pool offset");
	super.pool_offset += CRAB_POOL_OFFSET;
	KUNIT_EXPECT_TRUE(test, !crab_store_fits(&super, &layout));
}

/* CHECK of the example engine names the word that differs */
static void engine_check_offset(struct kunit *test)
{
	struct crab_test *t = test->priv;
	struct crab_check_report report;
	__le64 *word;
	u32 i;

	crab_test_format(test, "toy", "array", CRAB_TEST_LEAF);
	for (i = 1; i <= 3; i++)	/* the leaf of birth 4 is leaf 0 */
		KUNIT_ASSERT_EQ(test, crab_test_put(test, i, 10 * i), 0);
	word = (__le64 *)(t->media.base + CRAB_POOL_OFFSET + sizeof(struct crab_dhead));
	for (i = 0; i <= 6; i++) {
		word[i] ^= cpu_to_le64(2);
		KUNIT_EXPECT_EQ(test, crab_store_check(t->store, &report), 0);
		KUNIT_EXPECT_EQ(test, report.damage.count, 1ULL);
		KUNIT_EXPECT_EQ(test, report.damage.offset,
				CRAB_POOL_OFFSET + sizeof(struct crab_dhead) + i * 8ULL);
		word[i] ^= cpu_to_le64(2);
	}
	word[-1] ^= cpu_to_le64(2);	/* the crc of the header: the link leads to no leaf */
	KUNIT_EXPECT_EQ(test, crab_store_check(t->store, &report), 0);
	KUNIT_EXPECT_EQ(test, report.damage.count, 1ULL);
	KUNIT_EXPECT_EQ(test, report.damage.offset, (u64)CRAB_HEAD_OFFSET);
}

/* The superblock allows this leaf size, but no layout does */
static void engine_leaf_size(struct kunit *test)
{
	struct crab_test *t = test->priv;
	struct crab_attach_options options = { };
	struct crab_flow flow = { .media = &t->media };
	struct crab_store *store;
	struct crab_super super;

	crab_test_format(test, "crab", "slotted", CRAB_TEST_LEAF);
	crab_test_cut(test);
	KUNIT_ASSERT_EQ(test, crab_super_read(&t->media, &super, t->report.reason),
			CRAB_VERDICT_GOOD);
	super.leaf_bytes = CRAB_BLOCK_BYTES_MIN;
	crab_flow_pin();
	crab_super_write(&flow, &super);
	crab_flow_unpin();
	store = crab_store_attach(&t->media, &options, &t->report);
	KUNIT_EXPECT_EQ(test, PTR_ERR(store), (long)-EUCLEAN);
	KUNIT_EXPECT_EQ(test, t->report.verdict, CRAB_VERDICT_DAMAGED);
	KUNIT_EXPECT_TRUE(test, strstr(t->report.reason, "impossible leaf size"));
}

static void engine_models(struct kunit *test)
{
	struct crab_media media = { .durability = CRAB_DURABILITY_POP };
	enum crab_model model;

	KUNIT_EXPECT_EQ(test, crab_media_keeps(&media, CRAB_MODEL_NONE), CRAB_KEEPS_YES);
	KUNIT_EXPECT_EQ(test, crab_media_keeps(&media, CRAB_MODEL_WORD), CRAB_KEEPS_YES);
	KUNIT_EXPECT_NE(test, crab_media_keeps(&media, CRAB_MODEL_LINE), CRAB_KEEPS_NO);
	KUNIT_EXPECT_NE(test, crab_media_keeps(&media, CRAB_MODEL_WHOLE_LINE), CRAB_KEEPS_NO);
	KUNIT_EXPECT_EQ(test, crab_media_keeps(&media, CRAB_MODEL_CACHE), CRAB_KEEPS_NO);
	media.fence_only = true;
	KUNIT_EXPECT_EQ(test, crab_media_keeps(&media, CRAB_MODEL_CACHE), CRAB_KEEPS_YES);
	media = (struct crab_media){ .durability = CRAB_DURABILITY_NONE };
	for (model = CRAB_MODEL_NONE; model <= CRAB_MODEL_WHOLE_LINE; model++)
		KUNIT_EXPECT_EQ(test, crab_media_keeps(&media, model), CRAB_KEEPS_YES);
}

static void engine_refused(struct kunit *test)
{
	const struct crab_layout layout = { .name = "eadr", .needs = CRAB_MODEL_CACHE };
	struct crab_media media = { .durability = CRAB_DURABILITY_POP };
	char reason[CRAB_REASON_LEN] = "";

	KUNIT_EXPECT_EQ(test, crab_store_keeps(&media, &layout, reason), -EOPNOTSUPP);
	KUNIT_EXPECT_TRUE(test, strstr(reason, "eadr"));
	media.fence_only = true;
	KUNIT_EXPECT_EQ(test, crab_store_keeps(&media, &layout, reason), 0);
}

static int engine_settle(struct crab_engine *engine, struct crab_flow *flow, u64 *root)
{
	*root = ENGINE_ROOT;
	return 0;
}

static int engine_settle_fails(struct crab_engine *engine, struct crab_flow *flow, u64 *root)
{
	*root = ENGINE_ROOT;
	return -ENOMEM;
}

/* Detaches with another settle; returns the root in the superblock */
static u64 engine_root_after(struct kunit *test,
			     int (*settle)(struct crab_engine *engine, struct crab_flow *flow,
					   u64 *root))
{
	struct crab_test *t = test->priv;
	struct crab_engine_ops ops = *t->store->engine->ops;
	struct crab_super super;

	ops.settle = settle;
	t->store->engine->ops = &ops;
	crab_store_detach(t->store);
	t->store = NULL;
	KUNIT_EXPECT_EQ(test, crab_super_read(&t->media, &super, t->report.reason),
			CRAB_VERDICT_GOOD);
	KUNIT_EXPECT_EQ(test, super.state, (u32)CRAB_SUPER_STATE_CLEAN);
	return super.engine_root;
}

static void engine_root(struct kunit *test)
{
	struct crab_test *t = test->priv;
	struct crab_super super;

	crab_test_format(test, "crab", "slotted", CRAB_TEST_LEAF);
	KUNIT_EXPECT_EQ(test, t->store->engine->root, 0ULL);
	KUNIT_EXPECT_EQ(test, engine_root_after(test, NULL), 0ULL);
	crab_test_attach(test, false);
	KUNIT_EXPECT_EQ(test, engine_root_after(test, engine_settle), ENGINE_ROOT);
	crab_test_attach(test, true);
	KUNIT_EXPECT_EQ(test, t->store->engine->root, ENGINE_ROOT);
	crab_test_cut(test);
	crab_test_attach(test, false);
	KUNIT_EXPECT_EQ(test, t->store->engine->root, ENGINE_ROOT);
	KUNIT_EXPECT_EQ(test, crab_super_read(&t->media, &super, t->report.reason),
			CRAB_VERDICT_GOOD);
	KUNIT_EXPECT_EQ(test, super.state, (u32)CRAB_SUPER_STATE_ATTACHED);
	KUNIT_EXPECT_EQ(test, super.engine_root, 0ULL);
	crab_test_cut(test);
	crab_test_attach(test, false);
	KUNIT_EXPECT_EQ(test, t->store->engine->root, 0ULL);
	KUNIT_EXPECT_EQ(test, engine_root_after(test, engine_settle_fails), 0ULL);
}

static struct kunit_case engine_cases[] = {
	KUNIT_CASE(engine_fits),
	KUNIT_CASE(engine_check_offset),
	KUNIT_CASE(engine_leaf_size),
	KUNIT_CASE(engine_models),
	KUNIT_CASE(engine_refused),
	KUNIT_CASE(engine_root),
	{}
};

CRAB_TEST_SUITE(engine, crab_test_init, crab_test_exit);
