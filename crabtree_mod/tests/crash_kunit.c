// SPDX-License-Identifier: GPL-2.0
/*
 * This suite is a small crash test in the kernel's own build: each operation of
 * a short history is cut before each of its fences, every image that attach can
 * tell from others is attached and judged. tools/host/tests/test_crash.c is the large
 * one, which also cuts recoveries.
 */
#include <linux/err.h>
#include <linux/string.h>

#include "kunit.h"

static void crash_hook(struct crab_shadow *shadow, enum crab_shadow_event event,
		       enum crab_point point)
{
	struct crab_crash *c = shadow->hook_arg;

	if (event != CRAB_SHADOW_FENCING && !c->every_store)
		return;
	c->bad += c->points == CRAB_CRASH_POINTS;
	if (c->points < CRAB_CRASH_POINTS)
		c->point[c->points++] = crab_shadow_capture(shadow);
}

/* Does the store hold what it held at @when? */
static bool crash_content(const struct crab_crash *c, struct crab_store *store, u32 when)
{
	u64 value;
	u32 at;
	int err;

	for (at = 0; at < CRAB_CRASH_KEYS; at++) {
		value = 0;
		err = crab_store_search(store, at, &value);
		if (err != (c->there[when][at] ? 0 : -ENOENT) ||
		    (!err && value != c->value[when][at]))
			return false;
	}
	return true;
}

/* One attach of the image; which moments have this content is in and out */
static void crash_attach(struct crab_crash *c, bool readonly, bool when[2])
{
	struct crab_test *t = c->test->priv;
	struct crab_attach_options options = { .readonly = readonly, .tuning = t->tuning };
	struct crab_store *store = crab_store_attach(&t->media, &options, &t->report);
	struct crab_check_report report;

	if (IS_ERR(store)) {
		c->bad++;
		return;
	}
	c->bad += t->report.verdict != (readonly ? CRAB_VERDICT_RO : CRAB_VERDICT_GOOD);
	when[0] = when[0] && crash_content(c, store, 0);
	when[1] = when[1] && crash_content(c, store, 1);
	c->bad += !when[0] && !when[1];
	crab_store_check(store, &report);
	c->bad += report.damage.count != 0;
	crab_store_info(store, &c->info);
	crab_store_abandon(store);
}

/*
 * Served as it is by a read-only attach, which writes nothing; then repaired, and
 * with the same content; then there is nothing left to repair
 */
static int crash_judge(struct crab_shadow *shadow, void *arg)
{
	struct crab_crash *c = arg;
	u64 stores = shadow->counts.stores;
	bool when[2] = { true, true };

	c->images++;
	crash_attach(c, true, when);
	c->bad += shadow->counts.stores != stores;
	crash_attach(c, false, when);
	if (!c->bad && c->info.stats.repairs) {
		c->torn++;
		crash_attach(c, false, when);
		c->bad += c->info.stats.repairs != 0;
	}
	return c->bad ? -EUCLEAN : 0;
}

/* Cuts at @image; only what @when says may be found where it is 1 */
static void crash_explore(struct crab_crash *c, struct crab_shadow_image *image, u32 when)
{
	struct crab_test *t = c->test->priv;
	int err;

	KUNIT_ASSERT_NOT_NULL(c->test, image);
	if (when) {
		memcpy(c->there[0], c->there[1], sizeof(c->there[0]));
		memcpy(c->value[0], c->value[1], sizeof(c->value[0]));
	}
	err = crab_shadow_explore(t->shadow, image, crash_judge, c, 5000);
	KUNIT_EXPECT_EQ(c->test, err, c->bad ? -EUCLEAN : 0);
	crab_shadow_release(image);
}

static void crash_op(struct crab_crash *c, u32 at, u64 value, bool delete)
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
	KUNIT_EXPECT_EQ(c->test, err, 0);
	c->there[1][at] = !delete;
	c->value[1][at] = value;
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

void crab_crash_put(struct crab_crash *c, u32 at, u64 value)
{
	crash_op(c, at, value, false);
}

void crab_crash_del(struct crab_crash *c, u32 at)
{
	crash_op(c, at, 0, true);
}

struct crab_crash *crab_crash_begin(struct kunit *test, const char *layout, u32 leaf_bytes,
				    enum crab_shadow_model model)
{
	struct crab_crash *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct crab_test *t = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, c);
	c->test = test;
	crab_test_shadow(test);
	t->shadow->model = model;
	crab_test_format(test, "crab", layout, leaf_bytes);
	return c;
}

static struct crab_crash *crash_begin(struct kunit *test)
{
	return crab_crash_begin(test, "slotted", CRAB_TEST_LEAF, CRAB_SHADOW_MODEL_WORD);
}

static u64 crash_void(struct kunit *test)
{
	return le64_to_cpu(crab_test_listed(test, 0)->head.void_value);
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

static void crash_sound(struct kunit *test)
{
	struct crab_test *t = test->priv;
	struct crab_crash *c = crash_begin(test);

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
	struct crab_crash *c = crash_begin(test);

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
