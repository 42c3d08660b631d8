// SPDX-License-Identifier: GPL-2.0
/*
 * This suite is a small crash test in the kernel's own build: each operation of
 * a short history is cut before each of its fences, every image that attach can
 * tell from others is attached and judged. tools/host/test_crash.c is the large
 * one, which also cuts recoveries.
 */
#include <linux/err.h>
#include <linux/string.h>

#include "kunit.h"

#define CRASH_KEYS	16
#define CRASH_POINTS	8

struct crash {
	struct kunit *test;
	struct crab_shadow_image *point[CRASH_POINTS];
	u32 points;
	u32 images;
	u32 bad;
	bool there[2][CRASH_KEYS];	/* before the operation, and after it */
	u64 value[2][CRASH_KEYS];
};

static void crash_hook(struct crab_shadow *shadow, enum crab_shadow_event event,
		       enum crab_point point)
{
	struct crash *c = shadow->hook_arg;

	if (event == CRAB_SHADOW_FENCING && c->points < CRASH_POINTS)
		c->point[c->points++] = crab_shadow_capture(shadow);
}

/* Does the store hold what it held at @when? */
static bool crash_content(const struct crash *c, struct crab_store *store, u32 when)
{
	u64 value;
	u32 at;
	int err;

	for (at = 0; at < CRASH_KEYS; at++) {
		value = 0;
		err = crab_store_search(store, at, &value);
		if (err != (c->there[when][at] ? 0 : -ENOENT) ||
		    (!err && value != c->value[when][at]))
			return false;
	}
	return true;
}

static int crash_judge(struct crab_shadow *shadow, void *arg)
{
	struct crab_attach_options options = { };
	struct crash *c = arg;
	struct crab_test *t = c->test->priv;
	struct crab_store *store = crab_store_attach(&t->media, &options, &t->report);
	struct crab_check_report report;

	c->images++;
	if (IS_ERR(store)) {
		c->bad++;
		return -EUCLEAN;
	}
	c->bad += t->report.verdict != CRAB_VERDICT_GOOD;
	c->bad += !crash_content(c, store, 0) && !crash_content(c, store, 1);
	crab_store_check(store, &report);
	c->bad += report.damage.count != 0;
	crab_store_abandon(store);
	return c->bad ? -EUCLEAN : 0;
}

/* Cuts at @image; only what @when says may be found where it is 1 */
static void crash_explore(struct crash *c, struct crab_shadow_image *image, u32 when)
{
	struct crab_test *t = c->test->priv;
	int err;

	KUNIT_ASSERT_NOT_NULL(c->test, image);
	if (when)
		memcpy(c->there[0], c->there[1], sizeof(c->there[0]));
	if (when)
		memcpy(c->value[0], c->value[1], sizeof(c->value[0]));
	err = crab_shadow_explore(t->shadow, image, crash_judge, c, 5000);
	KUNIT_EXPECT_EQ(c->test, err, c->bad ? -EUCLEAN : 0);
	crab_shadow_release(image);
}

static void crash_op(struct crash *c, u32 at, u64 value, bool delete)
{
	struct crab_test *t = c->test->priv;
	struct crab_shadow_image *end;
	u32 i;
	int err;

	if (c->bad)
		return;
	t->shadow->hook = crash_hook;
	t->shadow->hook_arg = c;
	err = delete ? crab_test_del(c->test, at) : crab_test_put(c->test, at, value);
	t->shadow->hook = NULL;
	if (!err) {
		c->there[1][at] = !delete;
		c->value[1][at] = value;
	}
	end = crab_shadow_capture(t->shadow);
	for (i = 0; i < c->points; i++)
		crash_explore(c, c->point[i], 0);
	c->points = 0;
	KUNIT_ASSERT_NOT_NULL(c->test, end);
	crab_shadow_restore(t->shadow, end);
	crash_explore(c, crab_shadow_capture(t->shadow), 1);
	crab_shadow_restore(t->shadow, end);
	crab_shadow_release(end);
}

static struct crash *crash_begin(struct kunit *test)
{
	struct crash *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	c->test = test;
	crab_test_shadow(test);
	crab_test_format(test, "crab", "slotted", CRAB_TEST_LEAF);
	return c;
}

static u64 crash_void(struct kunit *test)
{
	return le64_to_cpu(crab_test_listed(test, 0)->head.void_value);
}

static void crash_history(struct crash *c)
{
	u32 i;

	for (i = 0; i < 7; i++)				/* fills a leaf, then splits it */
		crash_op(c, i * 5 % 13, i, false);
	crash_op(c, 5, 77, false);			/* update */
	crash_op(c, 0, crash_void(c->test), false);	/* the leaf is replaced */
	for (i = 0; i < 7; i++)				/* a leaf empties and is unlinked */
		crash_op(c, i * 5 % 13, 0, true);
}

static void crash_sound(struct kunit *test)
{
	struct crab_test *t = test->priv;
	struct crash *c = crash_begin(test);

	crash_history(c);
	KUNIT_EXPECT_EQ(test, c->bad, 0U);
	KUNIT_EXPECT_GT(test, c->images, 60U);
	KUNIT_EXPECT_EQ_MSG(test, t->shadow->errors, 0ULL, "%s", t->shadow->error);
	KUNIT_EXPECT_GT(test, crab_test_stats(test).splits, 0ULL);
	KUNIT_EXPECT_GT(test, crab_test_stats(test).unlinks, 0ULL);
}

/* The same history on a platform whose fence fails at one point: it must be seen */
static void crash_fault(struct kunit *test, enum crab_point point)
{
	struct crab_test *t = test->priv;
	struct crash *c = crash_begin(test);

	t->shadow->fault = CRAB_SHADOW_FENCE_LOST;
	t->shadow->fault_point = point;
	crash_history(c);
	KUNIT_EXPECT_GT(test, t->shadow->fault_hits, 0ULL);
	KUNIT_EXPECT_GT(test, c->bad, 0U);
}

static void crash_record_fence_lost(struct kunit *test)
{
	crash_fault(test, CRAB_P6_RECORD);
}

static void crash_fresh_fence_lost(struct kunit *test)
{
	crash_fault(test, CRAB_P7_FRESH);
}

static void crash_link_fence_lost(struct kunit *test)
{
	crash_fault(test, CRAB_P8_LINKED);
}

static struct kunit_case crash_cases[] = {
	KUNIT_CASE(crash_sound),
	KUNIT_CASE(crash_record_fence_lost),
	KUNIT_CASE(crash_fresh_fence_lost),
	KUNIT_CASE(crash_link_fence_lost),
	{}
};

struct kunit_suite crab_crash_suite = {
	.name = "crabtree_crash",
	.init = crab_test_init,
	.exit = crab_test_exit,
	.test_cases = crash_cases,
};
