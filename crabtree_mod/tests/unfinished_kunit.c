// SPDX-License-Identifier: GPL-2.0
/*
 * This suite cuts the power while a store is unfinished: before each fence of FORMAT, of the
 * writes that fill it, and of FINISH. Every image that attach can distinguish is attached and
 * judged: it has the old store before P1, no store until P3, and then the new one with all that it
 * holds.
 */
#include <linux/err.h>
#include <linux/overflow.h>
#include <linux/string.h>

#include "blob_value.h"
#include "engines/crab/sorted/tuning.h"
#include "kunit.h"
#include "store/blob.h"

#define OLD_KEY		999
#define KEYS		12

/* Bits of the contents that an image has, or may have */
enum { OLD = 1, NONE = 2, NEW = 4, WRONG = 8 };

/**
 * struct unfinished - a store that is filled
 * @test: its test
 * @layout: of the new store; the old one is slotted
 * @engine: of the new store
 * @blobs: it is a store of blobs
 * @formatted_at: of both stores: with another time each superblock has one word more that a cut
 *	leaves open, and two of them with a lost fence have four times as many images
 * @points: crash points of the current step
 * @allowed: contents that an image may have
 * @found: contents that images had
 * @bad: images with a content that is not allowed
 * @info: of the store that was judged last
 */
struct unfinished {
	struct kunit *test;
	const char *engine;
	const char *layout;
	bool blobs;
	u64 formatted_at;
	struct crab_crash_points *points;
	u32 allowed;
	u32 found;
	u32 bad;
	struct crab_store_info info;
};

static bool has_blob(struct crab_store *store, u64 key)
{
	u8 want[BLOB_VALUE_MAX], got[BLOB_VALUE_MAX];
	struct crab_blob_read read = { .key = key, .buffer = got, .capacity = sizeof(got) };
	u32 bytes = blob_value(key, want);

	return !crab_blob_get(store, &read) && read.bytes == bytes && !memcmp(want, got, bytes);
}

static bool has_record(struct crab_store *store, u64 key)
{
	u64 value;

	return !crab_store_search(store, key, &value) && value == 2 * key;
}

static bool has_all(const struct unfinished *u, struct crab_store *store)
{
	u64 key;

	for (key = 0; key < KEYS; key++)
		if (!(u->blobs ? has_blob(store, key) : has_record(store, key)))
			return false;
	return true;
}

static u32 content_of(struct unfinished *u, struct crab_store *store)
{
	u64 *records = &u->info.stats.records;
	struct crab_check_report report;

	if (crab_store_check(store, &report) || report.damage.count)
		return WRONG;
	crab_store_info(store, &u->info);
	if (!strcmp(u->info.super.label, "kunit"))
		return *records == 1 && has_record(store, OLD_KEY) ? OLD : WRONG;
	return *records == KEYS && has_all(u, store) ? NEW : WRONG;
}

static int judge(struct crab_shadow *shadow, void *arg)
{
	struct unfinished *u = arg;
	struct crab_test *t = u->test->priv;
	struct crab_attach_options options = { };
	struct crab_store *store = crab_store_attach(&t->media, &options, &t->report);
	u32 content = NONE;

	if (!IS_ERR(store)) {
		content = content_of(u, store);
		crab_store_abandon(store);
	} else if (t->report.verdict != CRAB_VERDICT_BLANK) {
		content = WRONG;
	}
	u->found |= content;
	u->bad += !(content & u->allowed);
	return u->bad ? -EUCLEAN : 0;
}

/* A step begins: its crash points are collected */
static void step_begin(struct unfinished *u)
{
	struct crab_test *t = u->test->priv;

	u->found = 0;
	crab_crash_points_collect(u->points, t->shadow);
}

static void explore(struct unfinished *u, const struct crab_shadow_image *image)
{
	struct crab_test *t = u->test->priv;
	int err;

	if (u->bad)
		return;
	err = crab_shadow_explore(t->shadow, image, judge, u, 20000);
	KUNIT_EXPECT_EQ(u->test, err, u->bad ? -EUCLEAN : 0);
}

/* It ends: cut at each of its points, where @during may be found, and after it: @after */
static void step_end(struct unfinished *u, u32 during, u32 after)
{
	struct crab_test *t = u->test->priv;
	struct crab_shadow_image *end;
	u32 i;

	crab_crash_points_collect(NULL, t->shadow);
	KUNIT_EXPECT_FALSE(u->test, u->points->overflow);
	end = crab_shadow_capture(t->shadow);
	KUNIT_ASSERT_NOT_NULL(u->test, end);
	u->allowed = during;
	for (i = 0; i < u->points->count; i++)
		explore(u, u->points->at[i].image);
	u->allowed = after;
	explore(u, end);
	crab_crash_points_clear(u->points);
	crab_shadow_restore(t->shadow, end);
	crab_shadow_release(end);
}

static struct unfinished *unfinished_begin(struct kunit *test, const char *engine,
					   const char *layout, bool blobs)
{
	struct unfinished *u = kunit_kzalloc(test, sizeof(*u), GFP_KERNEL);
	struct crab_test *t = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, u);
	*u = (struct unfinished){
		.test = test, .engine = engine, .layout = layout, .blobs = blobs,
	};
	u->points = kunit_kzalloc(test, struct_size(u->points, at, CRAB_CRASH_POINTS), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, u->points);
	crab_crash_points_init(u->points, CRAB_CRASH_POINTS, false);
	KUNIT_ASSERT_EQ(test, crab_test_resize(test, 4096), 0);
	crab_test_shadow(test);
	crab_test_format(test, "crab", "slotted", 512);
	KUNIT_EXPECT_EQ(test, crab_test_put(test, OLD_KEY, 2 * OLD_KEY), 0);
	crab_store_info(t->store, &u->info);
	u->formatted_at = u->info.super.formatted_at;
	crab_store_detach(t->store);
	t->store = NULL;
	return u;
}

/* FORMAT and the attach of the store to fill */
static void unfinished_format(struct unfinished *u)
{
	struct crab_super super;
	const struct crab_format_options format = {
		.force = true, .leaf_bytes = 512, .engine = u->engine, .layout = u->layout,
		.label = "new", .blobs = u->blobs, .unfinished = &super,
	};
	struct crab_test *t = u->test->priv;
	const struct crab_attach_options options = { .unfinished = &super, .tuning = t->tuning };
	char reason[CRAB_REASON_LEN];

	KUNIT_ASSERT_EQ(u->test, crab_store_format(&t->media, &format, reason), 0);
	super.formatted_at = u->formatted_at;
	t->store = crab_store_attach(&t->media, &options, &t->report);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(u->test, t->store);
}

static int unfinished_put(struct unfinished *u, u64 key)
{
	struct crab_test *t = u->test->priv;
	u8 bytes[BLOB_VALUE_MAX];
	struct crab_blob_write write = { .key = key, .data = bytes, .mode = CRAB_INSERT_CREATE };

	if (!u->blobs)
		return crab_test_put(u->test, key, 2 * key);
	write.bytes = blob_value(key, bytes);
	return crab_blob_put(t->store, &write);
}

static void unfinished_fill(struct unfinished *u)
{
	u64 key;

	for (key = 0; key < KEYS; key++) {
		step_begin(u);
		KUNIT_EXPECT_EQ(u->test, unfinished_put(u, key), 0);
		step_end(u, NONE, NONE);
	}
}

static void unfinished_finish(struct unfinished *u)
{
	struct crab_test *t = u->test->priv;

	step_begin(u);
	KUNIT_EXPECT_TRUE(u->test, crab_store_is_unfinished(t->store));
	KUNIT_EXPECT_EQ(u->test, crab_store_finish(t->store), 0);
	KUNIT_EXPECT_FALSE(u->test, crab_store_is_unfinished(t->store));
	step_end(u, NONE | NEW, NEW);
}

static void unfinished_cut(struct kunit *test, const char *engine, const char *layout, bool blobs)
{
	struct unfinished *u = unfinished_begin(test, engine, layout, blobs);
	struct crab_test *t = test->priv;

	step_begin(u);
	unfinished_format(u);
	/* the writes that follow may run on another CPU, whose fences do not cover these cleans */
	KUNIT_EXPECT_EQ(test, crab_shadow_pending(t->shadow), 0U);
	step_end(u, OLD | NONE, NONE);
	KUNIT_EXPECT_EQ(test, u->found, (u32)(OLD | NONE));
	unfinished_fill(u);
	unfinished_finish(u);
	KUNIT_EXPECT_EQ(test, u->found, (u32)(NONE | NEW));
	KUNIT_EXPECT_EQ(test, u->bad, 0U);
}

static void unfinished_slotted(struct kunit *test)
{
	unfinished_cut(test, "crab", "slotted", false);
}

static void unfinished_sorted(struct kunit *test)
{
	static const struct crab_tuning tuning = {
		.strategy = CRAB_STRATEGY_COW, .on_demand = true,
	};
	struct crab_test *t = test->priv;

	t->tuning = &tuning;
	unfinished_cut(test, "crab", "sorted", false);
}

static void unfinished_nbtree(struct kunit *test)
{
	unfinished_cut(test, "nbtree", "adr", false);
}

static void unfinished_blobs(struct kunit *test)
{
	unfinished_cut(test, "crab", "slotted", true);
}

/* A detach leaves no store either, and FINISH is for an unfinished store only */
static void unfinished_detach(struct kunit *test)
{
	struct unfinished *u = unfinished_begin(test, "crab", "slotted", false);
	const struct crab_attach_options options = { };
	struct crab_test *t = test->priv;
	struct crab_store *store;

	unfinished_format(u);
	KUNIT_EXPECT_EQ(test, unfinished_put(u, 1), 0);
	crab_store_detach(t->store);
	t->store = NULL;
	store = crab_store_attach(&t->media, &options, &t->report);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(store), -ENODATA);
	unfinished_format(u);
	KUNIT_EXPECT_EQ(test, unfinished_put(u, 1), 0);
	KUNIT_EXPECT_EQ(test, crab_store_finish(t->store), 0);
	KUNIT_EXPECT_EQ(test, crab_store_finish(t->store), -ENODATA);
	crab_store_detach(t->store);
	crab_test_attach(test, false);
	crab_test_expect(test, 1, 0, 2);
	crab_test_expect_check(test, 1);
}

/* A platform whose fence fails at one point: the test must report it */
static void unfinished_fault(struct kunit *test, enum crab_point point)
{
	struct unfinished *u = unfinished_begin(test, "crab", "slotted", false);
	struct crab_test *t = test->priv;

	t->shadow->fault = CRAB_SHADOW_FENCE_LOST;
	t->shadow->fault_point = point;
	step_begin(u);
	unfinished_format(u);
	step_end(u, OLD | NONE, NONE);
	unfinished_fill(u);
	unfinished_finish(u);
	KUNIT_EXPECT_GT(test, t->shadow->fault_hits, 0ULL);
	KUNIT_EXPECT_GT(test, u->bad, 0U);
}

static void unfinished_super_fence_lost(struct kunit *test)
{
	unfinished_fault(test, CRAB_P3_SUPER);
}

static void unfinished_record_fence_lost(struct kunit *test)
{
	unfinished_fault(test, CRAB_P6_RECORD);
}

static struct kunit_case unfinished_cases[] = {
	KUNIT_CASE(unfinished_slotted),
	KUNIT_CASE(unfinished_sorted),
	KUNIT_CASE(unfinished_nbtree),
	KUNIT_CASE(unfinished_blobs),
	KUNIT_CASE(unfinished_detach),
	KUNIT_CASE(unfinished_super_fence_lost),
	KUNIT_CASE(unfinished_record_fence_lost),
	{}
};

CRAB_TEST_SUITE(unfinished, crab_test_init, crab_test_exit);
