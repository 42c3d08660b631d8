// SPDX-License-Identifier: GPL-2.0
/*
 * This suite tests the table of descriptors by itself.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "engines/crab/leaf.h"
#include "engines/crab/leaf_order.h"
#include "kunit.h"
#include "rng.h"

#define TABLE_LEAVES	3000	/* more than the entries of the first directory, in any build */
#define TABLE_ROUNDS	4
#define TABLE_BYTES	200	/* no multiple of a line */
#define TABLE_ORDER_BYTES 24

struct table_test {
	struct crab_leaf_table table;
	struct crab_leaf_chunk *own;
	struct crab_leaf *leaf[TABLE_LEAVES];
	u32 place[TABLE_LEAVES];
};

static int table_init(struct kunit *test)
{
	struct table_test *t = kvzalloc(sizeof(*t), GFP_KERNEL);

	test->priv = t;
	if (!t)
		return -ENOMEM;
	crab_leaf_table_init(&t->table, TABLE_BYTES, TABLE_ORDER_BYTES);
	return 0;
}

static void table_exit(struct kunit *test)
{
	struct table_test *t = test->priv;

	if (t)
		crab_leaf_table_destroy(&t->table);
	kvfree(t);
}

/* All bytes of a new descriptor are zero; then it gets a pattern and its number */
static void table_alloc_as(struct kunit *test, u32 i, struct crab_leaf_chunk **own, gfp_t gfp)
{
	struct table_test *t = test->priv;
	struct crab_leaf *leaf;

	KUNIT_ASSERT_EQ(test, crab_leaf_table_reserve(&t->table, 1, gfp), 0);
	leaf = crab_leaf_table_alloc(&t->table, own, gfp);
	KUNIT_ASSERT_NOT_NULL(test, leaf);
	KUNIT_EXPECT_TRUE(test, !memchr_inv(leaf, 0, TABLE_BYTES));
	memset(leaf, 0xff, TABLE_BYTES);
	leaf->number = i;
	t->leaf[i] = leaf;
	t->place[i] = crab_leaf_table_place(&t->table, leaf);
}

static void table_alloc(struct kunit *test, u32 i, struct crab_leaf_chunk **own)
{
	table_alloc_as(test, i, own, GFP_KERNEL);
}

static void table_free(struct kunit *test, u32 i)
{
	struct table_test *t = test->priv;

	crab_leaf_table_free_later(&t->table, t->leaf[i]);
	t->leaf[i] = NULL;
}

/* Every descriptor in use is at its place, and has the number that it got */
static void table_compare(struct kunit *test)
{
	struct table_test *t = test->priv;
	u32 i, wrong = 0;

	for (i = 0; i < TABLE_LEAVES; i++)
		if (t->leaf[i])
			wrong += crab_leaf_table_at(&t->table, t->place[i]) != t->leaf[i] ||
				 t->leaf[i]->number != i;
	KUNIT_EXPECT_EQ(test, wrong, 0U);
}

static void table_places(struct kunit *test)
{
	struct table_test *t = test->priv;
	u32 i;

	for (i = 0; i < TABLE_LEAVES; i++)
		table_alloc(test, i, i % 3 ? &t->own : NULL);
	table_compare(test);
	KUNIT_EXPECT_GE(test, crab_leaf_table_need(&t->table, TABLE_LEAVES) + 2,
			(u64)crab_leaf_table_chunks(&t->table));
	crab_leaf_table_give(&t->table, t->own);
}

static void table_reuse(struct kunit *test)
{
	struct table_test *t = test->priv;
	u32 i, round, end;

	for (i = 0; i < TABLE_LEAVES; i++)
		table_alloc(test, i, NULL);
	end = atomic_read(&t->table.end);
	for (round = 0; round < TABLE_ROUNDS; round++) {
		/* Single descriptors of all chunks, and all those of some chunks */
		for (i = 0; i < TABLE_LEAVES; i++)
			if (rng_mix(i ^ round) % 3 == 0 || i / 500 == round)
				table_free(test, i);
		synchronize_rcu();
		crab_leaf_table_settle(&t->table, TABLE_LEAVES);
		table_compare(test);
		/* Later the descriptors of a range are no longer neighbours */
		KUNIT_EXPECT_TRUE(test, round || crab_leaf_table_chunks(&t->table) < end);
		for (i = 0; i < TABLE_LEAVES; i++)
			if (!t->leaf[i])
				table_alloc(test, i, NULL);
	}
	table_compare(test);
	KUNIT_EXPECT_EQ(test, (u32)atomic_read(&t->table.end), end);
}

/* A dead descriptor is not reused before its grace period has ended; then its memory is freed */
static void table_dead(struct kunit *test)
{
	struct table_test *t = test->priv;
	struct crab_leaf *leaf, *third;
	u32 i;

	for (i = 0; i < TABLE_LEAVES; i++)
		table_alloc(test, i, NULL);
	leaf = t->leaf[7];
	third = t->leaf[1];
	rcu_read_lock();
	table_free(test, 7);
	crab_leaf_table_settle(&t->table, TABLE_LEAVES);
	KUNIT_EXPECT_EQ(test, leaf->number, 7ULL);
	KUNIT_EXPECT_PTR_EQ(test, t->table.dead, leaf);
	rcu_read_unlock();
	for (i = 0; i < TABLE_LEAVES; i++)
		if (t->leaf[i])
			table_free(test, i);
	synchronize_rcu();
	crab_leaf_table_settle(&t->table, 2);
	KUNIT_EXPECT_PTR_EQ(test, t->table.dead, third);
	crab_leaf_table_settle(&t->table, TABLE_LEAVES);
	KUNIT_EXPECT_EQ(test, crab_leaf_table_chunks(&t->table), 0U);
	table_alloc(test, 0, NULL);
	table_compare(test);
}

/*
 * A longer directory is made before it is needed: the test may not wait, because it is a reader.
 * Until its section ends, chunks are in the directory that it had, too.
 */
static void table_ahead(struct kunit *test)
{
	struct table_test *t = test->priv;
	struct crab_leaf_entry *entries;
	u32 i = 0, room, wrong = 0;

	table_alloc(test, i++, NULL);
	entries = t->table.entries;
	room = container_of(entries, struct crab_leaf_dir, entries[0])->room;
	while ((u32)atomic_read(&t->table.end) < room / 2)
		table_alloc(test, i++, NULL);
	rcu_read_lock();
	while (crab_leaf_table_chunks(&t->table) < room) {
		table_alloc_as(test, i, NULL, GFP_ATOMIC);
		wrong += !entries[t->place[i++] >> CRAB_LEAF_LINE_SHIFT].chunk;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0U);
	rcu_read_unlock();
	KUNIT_ASSERT_NOT_NULL(test, t->table.before);
	KUNIT_EXPECT_TRUE(test, t->table.before->entries == entries);
	while (crab_leaf_table_chunks(&t->table) <= room)
		table_alloc(test, i++, NULL);
	KUNIT_EXPECT_TRUE(test, !t->table.before);
	table_compare(test);
}

/* Each order has memory of its own, which is zeroed at first, and freed with the chunk */
static void table_orders(struct kunit *test)
{
	struct table_test *t = test->priv;
	u32 i, wrong = 0, kept = 0;
	u64 *order;

	for (i = 0; i < TABLE_LEAVES; i++)
		table_alloc(test, i, NULL);
	for (i = 0; i < TABLE_LEAVES; i++)
		kept += !!crab_leaf_order(&t->table, t->leaf[i]);
	KUNIT_EXPECT_EQ(test, kept, 0U);
	KUNIT_EXPECT_EQ(test, crab_leaf_orders_bytes(&t->table), 0ULL);
	for (i = 0; i < TABLE_LEAVES; i++) {
		order = crab_leaf_order_make(&t->table, t->leaf[i]);
		KUNIT_ASSERT_NOT_NULL(test, order);
		wrong += !!memchr_inv(order, 0, TABLE_ORDER_BYTES);
		memset(order, i, TABLE_ORDER_BYTES);
	}
	for (i = 0; i < TABLE_LEAVES; i++) {
		order = crab_leaf_order(&t->table, t->leaf[i]);
		wrong += order != crab_leaf_order_at(&t->table, t->place[i]) ||
			 !order || memchr_inv(order, (u8)i, TABLE_ORDER_BYTES);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0U);
	KUNIT_EXPECT_GE(test, crab_leaf_orders_bytes(&t->table),
			(u64)TABLE_LEAVES * TABLE_ORDER_BYTES);
	for (i = 0; i < TABLE_LEAVES; i++)
		table_free(test, i);
	synchronize_rcu();
	crab_leaf_table_settle(&t->table, TABLE_LEAVES);
	KUNIT_EXPECT_EQ(test, crab_leaf_orders_bytes(&t->table), 0ULL);
}

/* A chunk has no orders in any directory if it gets the number of one that had orders */
static void table_orders_reuse(struct kunit *test)
{
	struct table_test *t = test->priv;
	u32 i, chunk, room;

	rcu_read_lock();
	for (i = 0; !t->table.before; i++) {
		table_alloc_as(test, i, NULL, GFP_ATOMIC);
		KUNIT_ASSERT_NOT_NULL(test, crab_leaf_order_make(&t->table, t->leaf[i]));
	}
	rcu_read_unlock();
	room = i;
	chunk = t->place[0] >> CRAB_LEAF_LINE_SHIFT;
	KUNIT_EXPECT_TRUE(test, !!t->table.before->entries[chunk].orders);
	for (i = 0; i < room; i++)
		if (t->place[i] >> CRAB_LEAF_LINE_SHIFT == chunk)
			table_free(test, i);
	synchronize_rcu();
	crab_leaf_table_settle(&t->table, room);
	do {
		t->leaf[0] = crab_leaf_table_alloc(&t->table, NULL, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, t->leaf[0]);
		t->leaf[0]->number = 0;
		t->place[0] = crab_leaf_table_place(&t->table, t->leaf[0]);
	} while (t->place[0] >> CRAB_LEAF_LINE_SHIFT != chunk);
	KUNIT_EXPECT_TRUE(test, !crab_leaf_order(&t->table, t->leaf[0]));
	KUNIT_EXPECT_TRUE(test, !crab_leaf_order_at(&t->table, t->place[0]));
	KUNIT_ASSERT_NOT_NULL(test, t->table.before);
	KUNIT_EXPECT_TRUE(test, !t->table.before->entries[chunk].orders);
}

static struct kunit_case table_cases[] = {
	KUNIT_CASE(table_places),
	KUNIT_CASE(table_reuse),
	KUNIT_CASE(table_dead),
	KUNIT_CASE(table_ahead),
	KUNIT_CASE(table_orders),
	KUNIT_CASE(table_orders_reuse),
	{}
};

struct kunit_suite crab_table_suite = {
	.name = "crabtree_leaf_table",
	.init = table_init,
	.exit = table_exit,
	.test_cases = table_cases,
};
