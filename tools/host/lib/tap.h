/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the TAP output of tests: the plan and the count come last.
 *
 * A test ends with tap_ok(). Before that, tap_fail() reports each fault, and the next
 * tap_ok() prints `not ok`. A loop of a million checks therefore prints one line.
 */
#ifndef CRAB_HOST_TAP_H
#define CRAB_HOST_TAP_H

#include <stdbool.h>

/* Faults since the previous tap_ok() */
extern unsigned int tap_faults;

/* Faults are expected: count them and do not print them */
extern bool tap_quiet;

/**
 * tap_fail() - report a fault of the current test; only the first few are printed
 * @fmt: format of the message
 */
__attribute__((format(printf, 1, 2)))
void tap_fail(const char *fmt, ...);

/**
 * tap_bail() - end the program: no test can run
 * @fmt: format of the reason
 */
__attribute__((format(printf, 1, 2), noreturn))
void tap_bail(const char *fmt, ...);

/**
 * tap_ok() - end a test: print ok or not ok
 * @ok: the result
 * @fmt: format of the name
 *
 * Return: true if @ok is set and no fault was reported since the previous test.
 */
__attribute__((format(printf, 2, 3)))
bool tap_ok(bool ok, const char *fmt, ...);

/**
 * tap_done() - print the plan and the count
 *
 * Return: the exit status of the program.
 */
int tap_done(void);

/* Inside a test: reports a false condition; the test continues */
#define tap_check(cond, fmt, ...)						\
	do {									\
		if (!(cond))							\
			tap_fail("%s:%d: %s: " fmt, __FILE__, __LINE__, #cond,	\
				 ##__VA_ARGS__);				\
	} while (0)

#endif /* CRAB_HOST_TAP_H */
