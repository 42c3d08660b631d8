/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the parts of the tests of libcrabtree's calls.
 */
#ifndef CRABTREE_TESTS_LIBRARY_H
#define CRABTREE_TESTS_LIBRARY_H

#include "tap.h"

static inline void ok(bool good, const char *name)
{
	tap_ok(good, "%s", name);
}

/* library_values.c */
void test_values(void);

/* library_device.c */
void test_device(void);

/* library_info.c */
void test_info(void);

/* library_fork.c */
void test_fork(void);

#endif /* CRABTREE_TESTS_LIBRARY_H */
