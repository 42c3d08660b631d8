// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the TAP output of tests.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tap.h"

#define TAP_PRINTED	5	/* faults of one test */

unsigned int tap_faults;
bool tap_quiet;

static unsigned int tap_tests, tap_failures;

void tap_fail(const char *fmt, ...)
{
	va_list args;

	if (tap_faults++ >= TAP_PRINTED || tap_quiet)
		return;
	va_start(args, fmt);
	printf("# ");
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
}

void tap_bail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("Bail out! ");
	vprintf(fmt, args);
	printf("\n");
	exit(2);
}

bool tap_ok(bool ok, const char *fmt, ...)
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

int tap_done(void)
{
	printf("1..%u\n# passed %u, failed %u\n", tap_tests, tap_tests - tap_failures,
	       tap_failures);
	return tap_failures ? 1 : 0;
}
