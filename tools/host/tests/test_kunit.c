// SPDX-License-Identifier: GPL-2.0
/*
 * This file runs the KUnit suites of crabtree_mod/tests in user space.
 */
#include <setjmp.h>
#include <stdio.h>

#include <kunit/test.h>
#include <linux/ktime.h>
#include <linux/random.h>

#include "media/persist.h"
#include "tap.h"

static jmp_buf end_of_case;

void crab_kunit_check(bool ok, bool assert, const char *file, int line, const char *fmt, ...)
{
	char text[256];
	va_list args;

	if (ok)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	tap_fail("%s:%d: %s", file, line, text);
	if (assert)
		longjmp(end_of_case, 1);
}

void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp)
{
	void *p = kzalloc(size, gfp);

	if (test->allocations == ARRAY_SIZE(test->allocated))
		BUG();
	test->allocated[test->allocations++] = p;
	return p;
}

static void run_case(const struct kunit_suite *suite, const struct kunit_case *c,
		     const void *param, const char *desc)
{
	struct kunit test = { .param_value = param };

	if (suite->init && suite->init(&test))
		tap_fail("init");
	else if (!setjmp(end_of_case))
		c->run_case(&test);
	if (suite->exit)
		suite->exit(&test);
	while (test.allocations)
		kfree(test.allocated[--test.allocations]);
	tap_ok(true, "%s: %s%s%s", suite->name, c->name, *desc ? " " : "", desc);
}

static void run_suite(const struct kunit_suite *suite)
{
	const struct kunit_case *c;
	const void *param = NULL;
	char desc[KUNIT_PARAM_DESC_SIZE];

	for (c = suite->test_cases; c->run_case; c++) {
		if (!c->generate_params) {
			run_case(suite, c, NULL, "");
			continue;
		}
		while ((param = c->generate_params(param, desc)))
			run_case(suite, c, param, desc);
	}
}

int main(void)
{
	struct kunit_suite * const *suite;

	crab_host_log = NULL;
	crab_host_seed(1);
	crab_host_tick = 1;	/* as on a slow machine */
	for (suite = crab_host_suites; *suite; suite++)
		run_suite(*suite);
	return tap_done();
}
