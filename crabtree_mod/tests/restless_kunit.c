// SPDX-License-Identifier: GPL-2.0
/*
 * This suite changes one word of a leaf of nbtree, eadr, at each load of it: no two loads agree,
 * and no swap of the word succeeds. Each operation must end, although the layout has no lock that
 * would keep other writers out.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "engines/nbtree/eadr/eadr.h"
#include "kunit.h"
#include "store/store_priv.h"

#define ENDLESS		1000000U	/* loads after which the word rests: a failure */

/**
 * struct restless - the word
 * @word: where it is
 * @mask: bits that change
 * @leaf: it changes while this leaf freezes; NULL: always
 * @left: loads until it rests
 * @asked: questions of the store whether its caller was killed
 */
struct restless {
	__le64 *word;
	u64 mask;
	const struct nb_leaf *leaf;
	u32 left;
	u32 asked;
};

static void restless_loading(struct crab_shadow *shadow, u32 word)
{
	struct restless *r = shadow->hook_arg;

	if ((__le64 *)shadow->media->base + word != r->word || !r->left ||
	    (r->leaf && !ea_smo(r->leaf)))
		return;
	*r->word ^= cpu_to_le64(r->mask);
	r->left--;
}

/* A full leaf with the keys 0, 10, 20, ... */
static struct nb_dleaf *restless_leaf(struct kunit *test)
{
	u32 i;

	KUNIT_ASSERT_EQ(test, crab_test_init(test), 0);
	crab_test_format(test, "nbtree", "eadr", CRAB_TEST_LEAF);
	for (i = 0; i < CRAB_TEST_SLOTS; i++)
		KUNIT_EXPECT_EQ(test, crab_test_put(test, 10 * i, i), 0);
	return (struct nb_dleaf *)crab_test_leaf(test, 0);
}

static void restless_begin(struct kunit *test, struct restless *r)
{
	struct crab_test *t = test->priv;

	r->left = ENDLESS;
	crab_test_shadow(test);
	t->shadow->hook_arg = r;
	t->shadow->loading = restless_loading;
}

static void restless_end(struct kunit *test, const struct restless *r)
{
	KUNIT_EXPECT_TRUE_MSG(test, r->left && r->left < ENDLESS, "%u loads are left", r->left);
	crab_test_exit(test);
}

/* The word changes from now on, or while the leaf freezes: an insert that needs room ends */
static int restless_insert(struct kunit *test, struct restless *r, bool freezes)
{
	struct crab_test *t = test->priv;

	if (freezes)
		r->leaf = crab_index_find(&nb_tree_of(t->store->engine)->index, 15);
	restless_begin(test, r);
	return crab_test_put(test, 15, 1);
}

static void expect_reason(struct kunit *test, const char *what)
{
	struct crab_store_info *info = kunit_kzalloc(test, sizeof(*info), GFP_KERNEL);
	struct crab_test *t = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, info);
	crab_store_info(t->store, info);
	KUNIT_EXPECT_TRUE_MSG(test, info->readonly && strstr(info->reason, what), "%s: %s", what,
			      info->reason);
}

/* A slot that is free or in use, in turns */
static void restless_read(struct kunit *test)
{
	struct restless r = {
		.word = &restless_leaf(test)->slot[3].key, .mask = EA_FREE ^ (EA_LIVE | 30),
	};
	struct crab_test *t = test->priv;
	struct crab_check_report report;
	struct crab_record record[8];
	struct crab_cursor c;

	restless_begin(test, &r);
	KUNIT_EXPECT_EQ(test, crab_store_check(t->store, &report), 0);
	KUNIT_EXPECT_TRUE_MSG(test, strstr(report.damage.what, "change without a write"), "%s",
			      report.damage.what);
	KUNIT_EXPECT_EQ(test, crab_store_seek(t->store, 5, CRAB_SEEK_GE, record), -EUCLEAN);
	crab_cursor_init(&c, 0, CRAB_KEY_EMPTY - 1);
	KUNIT_EXPECT_EQ(test, crab_cursor_read(t->store, &c, record, ARRAY_SIZE(record)),
			-EUCLEAN);
	expect_reason(test, "leaf 0: its slots change without a write");
	restless_end(test, &r);
}

static bool restless_asked(void *arg)
{
	struct restless *r = arg;

	return ++r->asked == 3;
}

/* An update loses each race, until its caller is killed; so does a delete */
static void restless_write(struct kunit *test)
{
	struct restless r = { .word = &restless_leaf(test)->slot[3].value, .mask = 1 };
	struct crab_test *t = test->priv;

	t->store->engine->stop = (struct crab_stop){ .asked = restless_asked, .arg = &r };
	restless_begin(test, &r);
	KUNIT_EXPECT_EQ(test, crab_test_put(test, 30, 7), -EINTR);
	KUNIT_EXPECT_EQ(test, r.asked, (u32)3);
	r.asked = 0;
	KUNIT_EXPECT_EQ(test, crab_test_del(test, 30), -EINTR);
	t->store->engine->stop.asked = NULL;
	KUNIT_EXPECT_FALSE(test, crab_store_is_readonly(t->store));
	restless_end(test, &r);
}

/* The freeze swaps the key alone, as updates may change the value before it. After it, none does */
static void restless_value(struct kunit *test)
{
	struct restless r = { .word = &restless_leaf(test)->slot[3].value, .mask = 1 };

	KUNIT_EXPECT_EQ(test, restless_insert(test, &r, true), -EUCLEAN);
	expect_reason(test, "leaf 0: a slot of a frozen leaf reads as free, or changes");
	restless_end(test, &r);
}

static void restless_key(struct kunit *test)
{
	struct restless r = { .word = &restless_leaf(test)->slot[3].key, .mask = 1 };

	KUNIT_EXPECT_EQ(test, restless_insert(test, &r, true), -EUCLEAN);
	expect_reason(test, "leaf 0: it does not freeze");
	restless_end(test, &r);
}

static void restless_link(struct kunit *test)
{
	struct restless r = { .word = &restless_leaf(test)->head.next, .mask = 1 };

	KUNIT_EXPECT_EQ(test, restless_insert(test, &r, true), -EUCLEAN);
	expect_reason(test, "leaf 0: it does not freeze");
	restless_end(test, &r);
}

/* The link is never the right one: for an insert that needs room, and for CHECK */
static void restless_next(struct kunit *test)
{
	struct restless r = { .word = &restless_leaf(test)->head.next, .mask = 1ULL << 62 };
	struct crab_test *t = test->priv;
	struct crab_check_report report;

	*r.word ^= cpu_to_le64(1ULL << 63);
	KUNIT_EXPECT_EQ(test, restless_insert(test, &r, false), -EUCLEAN);
	expect_reason(test, "leaf 0: link does not lead to the next leaf");
	KUNIT_EXPECT_GT(test, r.left, (u32)0);
	r.left = ENDLESS;
	KUNIT_EXPECT_EQ(test, crab_store_check(t->store, &report), 0);
	KUNIT_EXPECT_TRUE_MSG(test, strstr(report.damage.what, "link does not lead"), "%s",
			      report.damage.what);
	restless_end(test, &r);
}

static struct kunit_case restless_cases[] = {
	KUNIT_CASE(restless_read),
	KUNIT_CASE(restless_write),
	KUNIT_CASE(restless_value),
	KUNIT_CASE(restless_key),
	KUNIT_CASE(restless_link),
	KUNIT_CASE(restless_next),
	{}
};

CRAB_TEST_SUITE(restless, NULL, NULL);
