// SPDX-License-Identifier: GPL-2.0
/*
 * This suite tests the pool by itself.
 */
#include "shared/pool.h"
#include "kunit.h"

#define POOL_LEAVES	70

struct pool_test {
	struct crab_pool pool;
	struct crab_spare spares[POOL_LEAVES];
	bool seen[POOL_LEAVES];
};

static int pool_init(struct kunit *test)
{
	struct pool_test *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	test->priv = p;
	return p ? crab_pool_init(&p->pool, POOL_LEAVES) : -ENOMEM;
}

static void pool_exit(struct kunit *test)
{
	struct pool_test *p = test->priv;

	if (p)
		crab_pool_destroy(&p->pool);
}

static void pool_take(struct kunit *test)
{
	struct pool_test *p = test->priv;
	u64 leaf;
	u32 i;

	KUNIT_EXPECT_TRUE(test, crab_pool_mark(&p->pool, 3));
	KUNIT_EXPECT_FALSE(test, crab_pool_mark(&p->pool, 3));
	KUNIT_EXPECT_EQ(test, crab_pool_alloc(&p->pool, p->spares, 70, 0), -ENOSPC);
	KUNIT_EXPECT_EQ(test, crab_pool_alloc(&p->pool, p->spares, 68, 2), -ENOSPC);
	KUNIT_EXPECT_EQ(test, p->pool.free, 69ULL);
	KUNIT_ASSERT_EQ(test, crab_pool_alloc(&p->pool, p->spares, 69, 0), 0);
	for (i = 0; i < 69; i++) {
		leaf = p->spares[i].leaf;
		KUNIT_ASSERT_TRUE(test, leaf < POOL_LEAVES);
		KUNIT_EXPECT_FALSE(test, leaf == 3 || p->seen[leaf]);
		p->seen[leaf] = true;
	}
	KUNIT_EXPECT_EQ(test, crab_pool_alloc(&p->pool, p->spares, 1, 0), -ENOSPC);
	crab_pool_free(&p->pool, 17);
	KUNIT_EXPECT_EQ(test, crab_pool_alloc(&p->pool, p->spares, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, p->spares[0].leaf, 17ULL);
}

static void pool_stock(struct kunit *test)
{
	struct pool_test *p = test->priv;
	struct crab_spare spare;
	u32 stocked = 0;

	KUNIT_EXPECT_TRUE(test, crab_pool_needs_refill(&p->pool));
	for (; crab_pool_prepare_begin(&p->pool, &spare); stocked++) {
		spare.prepared = true;
		crab_pool_prepare_end(&p->pool, &spare);
	}
	KUNIT_EXPECT_EQ(test, stocked, (u32)CRAB_POOL_READY);
	KUNIT_EXPECT_EQ(test, p->pool.free, (u64)POOL_LEAVES);
	KUNIT_EXPECT_FALSE(test, crab_pool_needs_refill(&p->pool));
	KUNIT_EXPECT_EQ(test, crab_pool_alloc(&p->pool, p->spares, 2, 0), 0);
	KUNIT_EXPECT_TRUE(test, p->spares[0].prepared && p->spares[1].prepared);
	crab_pool_close(&p->pool);
	KUNIT_EXPECT_EQ(test, crab_pool_alloc(&p->pool, p->spares, 1, 0), -ENOSPC);
	KUNIT_EXPECT_FALSE(test, crab_pool_prepare_begin(&p->pool, &spare));
}

static struct kunit_case pool_cases[] = {
	KUNIT_CASE(pool_take),
	KUNIT_CASE(pool_stock),
	{}
};

struct kunit_suite crab_pool_suite = {
	.name = "crabtree_pool",
	.init = pool_init,
	.exit = pool_exit,
	.test_cases = pool_cases,
};
