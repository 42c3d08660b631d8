/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The subset of KUnit that the suites use, so that they also run in user space with
 * the sanitizers (tools/host/tests/test_kunit.c).
 */
#ifndef CRAB_SHIM_KUNIT_TEST_H
#define CRAB_SHIM_KUNIT_TEST_H

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

struct kunit {
	void *priv;
	const void *param_value;
	void *allocated[256];
	unsigned int allocations;
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
	const void *(*generate_params)(const void *prev, char *desc);
};

struct kunit_suite {
	const char name[256];
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
};

#define KUNIT_PARAM_DESC_SIZE	128
#define KUNIT_CASE(f)		{ .run_case = f, .name = #f }
#define KUNIT_CASE_PARAM(f, g)	{ .run_case = f, .name = #f, .generate_params = g }

extern struct kunit_suite * const crab_host_suites[];

#define kunit_test_suites(...) \
	struct kunit_suite * const crab_host_suites[] = { __VA_ARGS__, NULL }

void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp);

__printf(5, 6)
void crab_kunit_check(bool ok, bool assert, const char *file, int line, const char *fmt, ...);

#define kunit_info(test, fmt, ...)	pr_info(fmt, ##__VA_ARGS__)

#define crab_kunit_binary(assert, a, op, b, fmt, ...)					\
	do {										\
		__typeof__(a) _left = (a);						\
		__typeof__(b) _right = (b);						\
		crab_kunit_check(_left op _right, assert, __FILE__, __LINE__,		\
				 "%s " #op " %s (%lld, %lld) " fmt, #a, #b,		\
				 (long long)_left, (long long)_right, ##__VA_ARGS__);	\
	} while (0)
#define crab_kunit_true(assert, c, fmt, ...) \
	crab_kunit_check(c, assert, __FILE__, __LINE__, "%s " fmt, #c, ##__VA_ARGS__)

#define KUNIT_EXPECT_EQ(t, a, b)		crab_kunit_binary(false, a, ==, b, "")
#define KUNIT_EXPECT_NE(t, a, b)		crab_kunit_binary(false, a, !=, b, "")
#define KUNIT_EXPECT_GE(t, a, b)		crab_kunit_binary(false, a, >=, b, "")
#define KUNIT_EXPECT_GT(t, a, b)		crab_kunit_binary(false, a, >, b, "")
#define KUNIT_EXPECT_EQ_MSG(t, a, b, fmt, ...) \
	crab_kunit_binary(false, a, ==, b, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_TRUE(t, c)			crab_kunit_true(false, c, "")
#define KUNIT_EXPECT_FALSE(t, c)		crab_kunit_true(false, !(c), "")
#define KUNIT_EXPECT_TRUE_MSG(t, c, fmt, ...)	crab_kunit_true(false, c, fmt, ##__VA_ARGS__)
#define KUNIT_EXPECT_PTR_EQ(t, a, b)		crab_kunit_true(false, (a) == (b), "")
#define KUNIT_EXPECT_STREQ(t, a, b)		crab_kunit_true(false, !strcmp(a, b), "")
#define KUNIT_ASSERT_EQ(t, a, b)		crab_kunit_binary(true, a, ==, b, "")
#define KUNIT_ASSERT_TRUE(t, c)			crab_kunit_true(true, c, "")
#define KUNIT_ASSERT_NOT_NULL(t, p)		crab_kunit_true(true, (p) != NULL, "")
#define KUNIT_ASSERT_NOT_ERR_OR_NULL(t, p)	crab_kunit_true(true, !IS_ERR_OR_NULL(p), "")

#endif /* CRAB_SHIM_KUNIT_TEST_H */
