/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file is the tests' voice: TAP on stdout, the plan and the count last.
 *
 * A test calls tap_ok() for each claim; what failed within is told by tap_fail(),
 * which the next tap_ok() turns into `not ok`. So a loop of a million checks is
 * one line.
 */
#ifndef CRAB_HOST_TAP_H
#define CRAB_HOST_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static unsigned int tap_tests, tap_failures, tap_faults;

/* Something is wrong in what runs now; the first few are told */
__attribute__((format(printf, 1, 2), unused))
static void tap_fail(const char *fmt, ...)
{
	va_list args;

	if (tap_faults++ >= 5)
		return;
	va_start(args, fmt);
	printf("# ");
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
}

/* Ends a claim: it holds if @ok and nothing failed since the last one */
__attribute__((format(printf, 2, 3), unused))
static bool tap_ok(bool ok, const char *fmt, ...)
{
	va_list args;

	ok = ok && !tap_faults;
	tap_faults = 0;
	tap_failures += !ok;
	va_start(args, fmt);
	printf("%sok %u - ", ok ? "" : "not ", ++tap_tests);
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
	fflush(stdout);
	return ok;
}

__attribute__((unused))
static int tap_done(void)
{
	printf("1..%u\n# passed %u, failed %u\n", tap_tests, tap_tests - tap_failures, tap_failures);
	return tap_failures ? 1 : 0;
}

/* Inside a test: tells what does not hold, and goes on */
#define tap_check(cond, fmt, ...)							\
	do {										\
		if (!(cond))								\
			tap_fail("%s:%d: %s: " fmt, __FILE__, __LINE__, #cond, ##__VA_ARGS__);	\
	} while (0)

#endif /* CRAB_HOST_TAP_H */
