/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the output of tests: TAP on stdout, the plan and the count last.
 *
 * A test calls tap_ok() for each claim; a failure within is reported by tap_fail(),
 * which the next tap_ok() turns into `not ok`. So a loop of a million checks is
 * one line.
 */
#ifndef CRAB_HOST_TAP_H
#define CRAB_HOST_TAP_H

#include <stdbool.h>

/* Faults since the last claim */
extern unsigned int tap_faults;

/* Expected failures are counted and not printed */
extern bool tap_quiet;

/** tap_fail() - report a failure of the current test; only the first few are printed */
__attribute__((format(printf, 1, 2)))
void tap_fail(const char *fmt, ...);

/** tap_ok() - end a claim: it holds if @ok and nothing failed since the last one */
__attribute__((format(printf, 2, 3)))
bool tap_ok(bool ok, const char *fmt, ...);

/** tap_done() - print plan and count; returns the exit status */
int tap_done(void);

/* Inside a test: report a false condition, and continue */
#define tap_check(cond, fmt, ...)						\
	do {									\
		if (!(cond))							\
			tap_fail("%s:%d: %s: " fmt, __FILE__, __LINE__, #cond,	\
				 ##__VA_ARGS__);				\
	} while (0)

#endif /* CRAB_HOST_TAP_H */
