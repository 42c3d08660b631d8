// SPDX-License-Identifier: GPL-2.0
/*
 * This suite is a small crash test in the kernel's own build: each operation of
 * a short history is cut before each of its fences, every image that attach can
 * distinguish is attached and judged. tools/host/tests/test_crash.c is the large
 * one, which also cuts recoveries.
 */
#include <linux/err.h>
#include <linux/overflow.h>
#include <linux/string.h>

#include "kunit.h"

static void crash_report(struct crab_oracle *oracle, const char *fmt, va_list args)
{
	container_of(oracle, struct crab_crash, oracle)->bad++;
}

/* One attach of the image: its content must be allowed, and each read must agree with it */
static void crash_attach(struct crab_crash *c, bool readonly)
{
	struct crab_test *t = c->test->priv;
	struct crab_attach_options options = { .readonly = readonly, .tuning = t->tuning };
	struct crab_store *store = crab_store_attach(&t->media, &options, &t->report);

	if (IS_ERR(store)) {
		c->bad++;
		return;
	}
	c->bad += t->report.verdict != (readonly ? CRAB_VERDICT_RO : CRAB_VERDICT_GOOD);
	if (!crab_oracle_read(&c->oracle, store, c->found)) {
		c->bad += !crab_oracle_allows(&c->oracle, &c->allowed, c->found);
		crab_oracle_judge(&c->oracle, store, c->found);
	}
	crab_store_info(store, &c->info);
	crab_store_abandon(store);
}

/*
 * A read-only attach writes nothing. A writable attach repairs the image and finds the same
 * content; the next one has nothing to repair.
 */
static int crash_judge(struct crab_shadow *shadow, void *arg)
{
	struct crab_key_state read[CRAB_CRASH_KEYS];
	struct crab_crash *c = arg;
	const struct crab_oracle_allowed allowed = c->allowed;
	u64 stores = shadow->counts.stores;

	c->images++;
	crash_attach(c, true);
	c->bad += shadow->counts.stores != stores;
	memcpy(read, c->found, sizeof(read));
	c->allowed = (struct crab_oracle_allowed) { .before = read, .after = read };
	crash_attach(c, false);
	if (!c->bad && c->info.stats.repairs) {
		c->torn++;
		crash_attach(c, false);
		c->bad += c->info.stats.repairs != 0;
	}
	c->allowed = allowed;
	return c->bad ? -EUCLEAN : 0;
}

static void crash_explore(struct crab_crash *c, const struct crab_shadow_image *image)
{
	struct crab_test *t = c->test->priv;
	int err;

	KUNIT_ASSERT_NOT_NULL(c->test, image);
	err = crab_shadow_explore(t->shadow, image, crash_judge, c, 5000);
	KUNIT_EXPECT_EQ(c->test, err, c->bad ? -EUCLEAN : 0);
}

/* At each crash point, where the content before or after may be found; then only the one after */
static void crash_cut(struct crab_crash *c)
{
	struct crab_test *t = c->test->priv;
	struct crab_shadow_image *end = crab_shadow_capture(t->shadow);
	u32 i;

	c->bad += c->points->overflow;
	c->allowed = (struct crab_oracle_allowed) { .before = c->before, .after = c->after };
	for (i = 0; i < c->points->count; i++)
		crash_explore(c, c->points->at[i].image);
	crab_crash_points_clear(c->points);
	memcpy(c->before, c->after, sizeof(c->before));
	crash_explore(c, end);
	crab_shadow_restore(t->shadow, end);
	crab_shadow_release(end);
}

static void crash_op(struct crab_crash *c, u32 at, u64 value, bool delete)
{
	struct crab_test *t = c->test->priv;
	int err;

	if (c->bad)
		return;
	c->points->every_store = c->every_store;
	crab_crash_points_collect(c->points, t->shadow);
	err = delete ? crab_test_del(c->test, at) : crab_test_put(c->test, at, value);
	crab_crash_points_collect(NULL, t->shadow);
	KUNIT_EXPECT_EQ(c->test, err, 0);
	c->after[at] = (struct crab_key_state) { .there = !delete, .value = delete ? 0 : value };
	crash_cut(c);
}

void crab_crash_put(struct crab_crash *c, u32 at, u64 value)
{
	crash_op(c, at, value, false);
}

void crab_crash_del(struct crab_crash *c, u32 at)
{
	crash_op(c, at, 0, true);
}

struct crab_crash *crab_crash_begin(struct kunit *test, const char *engine, const char *layout,
				    u32 leaf_bytes, enum crab_shadow_model model)
{
	struct crab_crash *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct crab_test *t = test->priv;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, c);
	c->test = test;
	for (i = 0; i < CRAB_CRASH_KEYS; i++)
		c->keys[i] = i;
	c->oracle = (struct crab_oracle) {
		.keys = c->keys, .n = CRAB_CRASH_KEYS, .report = crash_report,
	};
	c->points = kunit_kzalloc(test, struct_size(c->points, at, CRAB_CRASH_POINTS), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c->points);
	crab_crash_points_init(c->points, CRAB_CRASH_POINTS, false);
	crab_test_shadow(test);
	t->shadow->model = model;
	crab_test_format(test, engine, layout, leaf_bytes);
	return c;
}

static struct crab_crash *crash_begin(struct kunit *test)
{
	return crab_crash_begin(test, "crab", "slotted", CRAB_TEST_LEAF, CRAB_SHADOW_MODEL_WORD);
}

static u64 crash_void(struct kunit *test)
{
	return le64_to_cpu(crab_test_listed(test, 0)->head.own);
}

static void crash_history(struct crab_crash *c)
{
	u32 i;

	for (i = 0; i < 7; i++)				/* fills a leaf, then splits it */
		crab_crash_put(c, i * 5 % 13, i);
	crab_crash_put(c, 5, 77);			/* update */
	crab_crash_put(c, 0, crash_void(c->test));	/* the leaf is replaced */
	for (i = 0; i < 7; i++)				/* a leaf empties and is unlinked */
		crab_crash_del(c, i * 5 % 13);
}

/* The whole history, cut at each fence: nothing is lost, and leaves are split and unlinked */
static void history_judge(struct kunit *test, struct crab_crash *c)
{
	struct crab_test *t = test->priv;

	crash_history(c);
	KUNIT_EXPECT_EQ(test, c->bad, 0U);
	KUNIT_EXPECT_GT(test, c->images, 60U);
	KUNIT_EXPECT_EQ_MSG(test, t->shadow->errors, 0ULL, "%s", t->shadow->error);
	KUNIT_EXPECT_GT(test, crab_test_stats(test).splits, 0ULL);
	KUNIT_EXPECT_GT(test, crab_test_stats(test).unlinks, 0ULL);
}

static void crash_sound(struct kunit *test)
{
	history_judge(test, crash_begin(test));
}

/* Ends the store, and begins it in a region that has grown: the attach is cut at each fence */
static void crash_grow(struct crab_crash *c)
{
	struct crab_test *t = c->test->priv;

	crab_store_detach(t->store);
	t->media.size = CRAB_TEST_BYTES;
	crab_crash_points_collect(c->points, t->shadow);
	crab_test_attach(c->test, false);
	crab_crash_points_collect(NULL, t->shadow);
	/* P4, P3 with the geometry, P3 with the state */
	KUNIT_EXPECT_GE(c->test, c->points->count, 3U);
	crash_cut(c);
}

static void crash_growth(struct kunit *test)
{
	struct crab_test *t = test->priv;
	struct crab_crash *c = crash_begin(test);
	u32 i;

	crab_test_cut(test);
	t->media.size = CRAB_POOL_OFFSET + (CRAB_TEST_LEAVES - 4) * CRAB_TEST_LEAF;
	crab_test_format(test, "crab", "slotted", CRAB_TEST_LEAF);
	for (i = 0; i < 6; i++)			/* two leaves */
		crab_crash_put(c, i, i);
	crash_grow(c);
	for (; i < 12; i++)
		crab_crash_put(c, i, i);
	KUNIT_EXPECT_EQ(test, c->bad, 0U);
	KUNIT_EXPECT_EQ(test, c->info.super.leaves, (u64)CRAB_TEST_LEAVES);
	KUNIT_EXPECT_EQ_MSG(test, t->shadow->errors, 0ULL, "%s", t->shadow->error);
}

static struct crab_crash *crash_begin_eadr(struct kunit *test)
{
	return crab_crash_begin(test, "nbtree", "eadr", CRAB_TEST_LEAF, CRAB_SHADOW_MODEL_CACHE);
}

/* The same history in leaves that change by compare-and-swap, where caches persist */
static void crash_eadr(struct kunit *test)
{
	struct crab_crash *c = crash_begin_eadr(test);

	history_judge(test, c);
	KUNIT_EXPECT_GT(test, c->torn, 0U);
}

/* The same history on a platform whose fence fails at one point: the test must report it */
static void crash_fault(struct kunit *test, struct crab_crash *c, enum crab_point point)
{
	struct crab_test *t = test->priv;

	t->shadow->fault = CRAB_SHADOW_FENCE_LOST;
	t->shadow->fault_point = point;
	crash_history(c);
	KUNIT_EXPECT_GT(test, t->shadow->fault_hits, 0ULL);
	KUNIT_EXPECT_GT(test, c->bad, 0U);
}

static void crash_record_fence_lost(struct kunit *test)
{
	crash_fault(test, crash_begin(test), CRAB_P6_RECORD);
}

static void crash_fresh_fence_lost(struct kunit *test)
{
	crash_fault(test, crash_begin(test), CRAB_P7_FRESH);
}

static void crash_link_fence_lost(struct kunit *test)
{
	crash_fault(test, crash_begin(test), CRAB_P8_LINKED);
}

static void crash_eadr_fence_lost(struct kunit *test)
{
	crash_fault(test, crash_begin_eadr(test), CRAB_P6_RECORD);
}

static struct kunit_case crash_cases[] = {
	KUNIT_CASE(crash_sound),
	KUNIT_CASE(crash_growth),
	KUNIT_CASE(crash_record_fence_lost),
	KUNIT_CASE(crash_fresh_fence_lost),
	KUNIT_CASE(crash_link_fence_lost),
	KUNIT_CASE(crash_eadr),
	KUNIT_CASE(crash_eadr_fence_lost),
	{}
};

CRAB_TEST_SUITE(crash, crab_test_init, crab_test_exit);
