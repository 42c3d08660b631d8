// SPDX-License-Identifier: GPL-2.0
/*
 * This suite tests the pool by itself.
 */
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "media/badmem.h"
#include "shared/pool.h"
#include "kunit.h"
#include "rng.h"

#define POOL_LEAVES	70
#define MANY		(4 * CRAB_POOL_WAITING)

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
	crab_pool_free(&p->pool, 66);
	KUNIT_EXPECT_EQ(test, crab_pool_alloc(&p->pool, p->spares, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, p->spares[0].leaf, 66ULL);
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
	KUNIT_EXPECT_EQ(test, crab_pool_alloc(&p->pool, p->spares, 1, 0), -EUCLEAN);
	KUNIT_EXPECT_FALSE(test, crab_pool_prepare_begin(&p->pool, &spare));
}

/* A leaf that is freed twice is not counted twice: no number out of the pool is allocated */
static void pool_twice(struct kunit *test)
{
	struct pool_test *p = test->priv;

	KUNIT_ASSERT_EQ(test, crab_pool_alloc(&p->pool, p->spares, POOL_LEAVES, 0), 0);
	crab_pool_free(&p->pool, 17);
	crab_pool_free(&p->pool, 17);
	KUNIT_EXPECT_EQ(test, p->pool.free, 1ULL);
	KUNIT_EXPECT_EQ(test, crab_pool_alloc(&p->pool, p->spares, 2, 0), -EUCLEAN);
	KUNIT_EXPECT_TRUE(test, crab_pool_is_closed(&p->pool));
}

/* So is a leaf of a run that was freed by itself */
static void pool_twice_run(struct kunit *test)
{
	struct pool_test *p = test->priv;
	u64 first;

	KUNIT_ASSERT_EQ(test, crab_pool_alloc_run(&p->pool, 5, POOL_LEAVES, 0, &first), 0);
	crab_pool_free(&p->pool, first + 1);
	crab_pool_free_run(&p->pool, first, 5);
	KUNIT_EXPECT_EQ(test, p->pool.free, (u64)POOL_LEAVES);
}

/* Leaves 60 and 66 are in use: runs of five begin at 50 and 45, for they begin at a multiple */
static void pool_run(struct kunit *test)
{
	struct pool_test *p = test->priv;
	u64 first;

	crab_pool_mark(&p->pool, 60);
	crab_pool_mark(&p->pool, 66);
	KUNIT_ASSERT_EQ(test, crab_pool_alloc_run(&p->pool, 5, POOL_LEAVES, 0, &first), 0);
	KUNIT_EXPECT_EQ(test, first, 55ULL);
	KUNIT_ASSERT_EQ(test, crab_pool_alloc_run(&p->pool, 5, POOL_LEAVES, 0, &first), 0);
	KUNIT_EXPECT_EQ(test, first, 50ULL);
	KUNIT_ASSERT_EQ(test, crab_pool_alloc_run(&p->pool, 3, POOL_LEAVES, 0, &first), 0);
	KUNIT_EXPECT_EQ(test, first, 45ULL);
	KUNIT_EXPECT_EQ(test, p->pool.free, 55ULL);
	KUNIT_EXPECT_EQ(test, crab_pool_unlisted(&p->pool), 68ULL);
	KUNIT_EXPECT_EQ(test, crab_pool_alloc_run(&p->pool, 45, POOL_LEAVES, 11, &first), -ENOSPC);
	KUNIT_EXPECT_EQ(test, crab_pool_alloc_run(&p->pool, 56, POOL_LEAVES, 0, &first), -ENOSPC);
	KUNIT_ASSERT_EQ(test, crab_pool_alloc_run(&p->pool, 45, POOL_LEAVES, 10, &first), 0);
	KUNIT_EXPECT_EQ(test, first, 0ULL);
	crab_pool_free_run(&p->pool, 55, 5);
	KUNIT_EXPECT_EQ(test, p->pool.free, 15ULL);
	KUNIT_EXPECT_EQ(test, crab_pool_alloc_run(&p->pool, 6, POOL_LEAVES, 0, &first), -ENOSPC);
	KUNIT_ASSERT_EQ(test, crab_pool_alloc_run(&p->pool, 5, POOL_LEAVES, 0, &first), 0);
	KUNIT_EXPECT_EQ(test, first, 55ULL);
	KUNIT_ASSERT_EQ(test, crab_pool_alloc(&p->pool, p->spares, 10, 0), 0);
	KUNIT_EXPECT_EQ(test, crab_pool_unlisted(&p->pool), 58ULL);
}

/* The leaves 16 to 19, and 24 to 27, are in pages with a bad line; 17 of them is in use */
static void pool_spoil(struct kunit *test)
{
	struct crab_geometry geo = { .leaves = POOL_LEAVES, .leaf_bytes = 1024 };
	struct crab_badmem *bad = kunit_kzalloc(test, sizeof(*bad), GFP_KERNEL);
	struct crab_media media = { .size = POOL_LEAVES * 1024, .bad = bad };
	struct pool_test *p = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, bad);
	crab_badmem_init(bad);
	crab_badmem_add(bad, 18 * 1024, 64);
	crab_badmem_add(bad, 25 * 1024, 64);
	crab_pool_spoil_bad(&p->pool, &media, &geo);
}

/* Attach lends runs again: not twice, and none with a leaf in use, also next to a bad line */
static void pool_lend(struct kunit *test)
{
	struct pool_test *p = test->priv;

	crab_pool_mark(&p->pool, 17);
	pool_spoil(test);
	KUNIT_EXPECT_EQ(test, p->pool.spoilt, 7ULL);
	KUNIT_EXPECT_EQ(test, crab_pool_lend(&p->pool, 8, 8), 0);
	KUNIT_EXPECT_EQ(test, crab_pool_lend(&p->pool, 8, 8), -EUCLEAN);
	KUNIT_EXPECT_EQ(test, crab_pool_lend(&p->pool, 16, 8), -EUCLEAN);
	KUNIT_EXPECT_EQ(test, crab_pool_lend(&p->pool, 24, 8), 0);
	KUNIT_EXPECT_EQ(test, crab_pool_lend(&p->pool, 24, 8), -EUCLEAN);
	KUNIT_EXPECT_EQ(test, p->pool.spoilt, 3ULL);
	KUNIT_EXPECT_EQ(test, p->pool.free, (u64)POOL_LEAVES - 20);
	KUNIT_EXPECT_EQ(test, crab_pool_unlisted(&p->pool), (u64)POOL_LEAVES - 1);
	kvfree(p->pool.bad);
	p->pool.bad = NULL;
	KUNIT_EXPECT_EQ(test, crab_pool_lend(&p->pool, 16, 8), -ENOMEM);
}

/* The highest run that ends at @end or below it, leaf by leaf */
static u64 pool_slow_run(const struct crab_pool *pool, u32 n, u64 end)
{
	u64 first = end - end % n, leaf;

	while (first) {
		first -= n;
		for (leaf = first; leaf < first + n && !test_bit(leaf, pool->used); leaf++)
			;
		if (leaf == first + n)
			return first;
	}
	return pool->leaves;
}

/* Runs of all lengths below different ends, in pools that are full to a different part */
static void pool_runs(struct kunit *test)
{
	struct pool_test *p = test->priv;
	u64 seed = 1, first, want, end;
	u32 round, i, n;

	for (round = 0; round < 200; round++) {
		crab_pool_destroy(&p->pool);
		KUNIT_ASSERT_EQ(test, crab_pool_init(&p->pool, POOL_LEAVES), 0);
		for (i = rng_below(&seed, 40); i; i--)
			crab_pool_mark(&p->pool, rng_below(&seed, POOL_LEAVES));
		for (n = 1; n <= POOL_LEAVES; n += 1 + rng_below(&seed, 4)) {
			end = POOL_LEAVES - round % 8;
			want = pool_slow_run(&p->pool, n, min(p->pool.run, end));
			if (want == POOL_LEAVES)
				want = pool_slow_run(&p->pool, n, end);
			first = POOL_LEAVES;
			KUNIT_EXPECT_EQ(test, crab_pool_alloc_run(&p->pool, n, end, 0, &first),
					want == POOL_LEAVES ? -ENOSPC : 0);
			KUNIT_EXPECT_EQ_MSG(test, first, want, "round %u, %u leaves", round, n);
			if (first < POOL_LEAVES)
				crab_pool_free_run(&p->pool, first, n);
		}
	}
}

static struct crab_later *later_make(struct kunit *test, u64 leaf)
{
	struct crab_later *later = kzalloc(sizeof(*later), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, later);
	later->leaf = leaf;
	return later;
}

static void pool_later(struct kunit *test)
{
	struct crab_later *later = kzalloc(sizeof(*later), GFP_KERNEL);
	struct crab_later *left = kzalloc(sizeof(*left), GFP_KERNEL);
	struct pool_test *p = test->priv;

	KUNIT_ASSERT_TRUE(test, later && left);
	KUNIT_ASSERT_EQ(test, crab_pool_alloc(&p->pool, p->spares, POOL_LEAVES, 0), 0);
	rcu_read_lock();
	later->leaf = 5;
	crab_pool_free_later(&p->pool, later);
	KUNIT_EXPECT_EQ(test, crab_pool_unlisted(&p->pool), 1ULL);
	KUNIT_EXPECT_EQ(test, crab_pool_alloc(&p->pool, p->spares, 1, 0), -ENOSPC);
	rcu_read_unlock();
	synchronize_rcu();
	KUNIT_EXPECT_EQ(test, crab_pool_alloc(&p->pool, p->spares, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, p->spares[0].leaf, 5ULL);
	KUNIT_EXPECT_EQ(test, crab_pool_unlisted(&p->pool), 0ULL);
	left->leaf = 6;		/* the pool frees the memory when it is destroyed */
	crab_pool_free_later(&p->pool, left);
}

/* Only a leaf that waits for readers breaks the one run up; tests for space and waits free it */
static void pool_later_run(struct kunit *test)
{
	struct crab_later *later[] = { later_make(test, 3), later_make(test, 61) };
	struct pool_test *p = test->priv;
	u64 leaf, first;

	KUNIT_ASSERT_EQ(test, crab_pool_alloc(&p->pool, p->spares, POOL_LEAVES, 0), 0);
	for (leaf = 0; leaf < 8; leaf++)
		crab_pool_free(&p->pool, leaf == 3 ? 60 : leaf);
	KUNIT_EXPECT_FALSE(test, crab_pool_wait(&p->pool));
	crab_pool_free_later(&p->pool, later[0]);
	synchronize_rcu();
	KUNIT_ASSERT_EQ(test, crab_pool_alloc_run(&p->pool, 8, POOL_LEAVES, 0, &first), 0);
	KUNIT_EXPECT_EQ(test, first, 0ULL);
	rcu_read_lock();
	crab_pool_free_later(&p->pool, later[1]);
	KUNIT_EXPECT_FALSE(test, crab_pool_has(&p->pool, 2));
	rcu_read_unlock();
	synchronize_rcu();
	KUNIT_EXPECT_TRUE(test, crab_pool_has(&p->pool, 2));
	crab_pool_free_later(&p->pool, later_make(test, 62));
	KUNIT_EXPECT_TRUE(test, crab_pool_wait(&p->pool));
	KUNIT_EXPECT_EQ(test, p->pool.free, 3ULL);
	KUNIT_EXPECT_FALSE(test, crab_pool_wait(&p->pool));
}

/* Few leaves wait if none is allocated, and an allocation frees few of them at once */
static void pool_later_many(struct kunit *test)
{
	struct pool_test *p = test->priv;
	u32 i;

	crab_pool_destroy(&p->pool);
	KUNIT_ASSERT_EQ(test, crab_pool_init(&p->pool, MANY), 0);
	for (i = 0; i < MANY; i++)
		crab_pool_mark(&p->pool, i);
	for (i = 0; i < MANY; i++) {
		crab_pool_free_later(&p->pool, later_make(test, i));
		if (i % (MANY / 4) == MANY / 4 - 1)
			synchronize_rcu();
	}
	KUNIT_EXPECT_GE(test, CRAB_POOL_WAITING + MANY / 4, p->pool.waiting);
	KUNIT_EXPECT_EQ(test, p->pool.free + p->pool.waiting, (u64)MANY);
	while (p->pool.free)
		KUNIT_ASSERT_EQ(test, crab_pool_alloc(&p->pool, p->spares, 1, 0), 0);
	i = p->pool.waiting;
	KUNIT_ASSERT_EQ(test, crab_pool_alloc(&p->pool, p->spares, 2, 0), 0);
	KUNIT_EXPECT_GE(test, p->pool.waiting, (u64)i - 64);
}

static struct kunit_case pool_cases[] = {
	KUNIT_CASE(pool_take),
	KUNIT_CASE(pool_stock),
	KUNIT_CASE(pool_twice),
	KUNIT_CASE(pool_twice_run),
	KUNIT_CASE(pool_run),
	KUNIT_CASE(pool_lend),
	KUNIT_CASE(pool_runs),
	KUNIT_CASE(pool_later),
	KUNIT_CASE(pool_later_run),
	KUNIT_CASE(pool_later_many),
	{}
};

CRAB_TEST_SUITE(pool, pool_init, pool_exit);
