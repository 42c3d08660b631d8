/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares what the KUnit suites share: a small media of vmalloc
 * memory, with its shadow if wanted, and a store on it. The suites are linked
 * with L0-L5 and run in the kernel and, by tools/host, in user space.
 */
#ifndef CRABTREE_TESTS_KUNIT_H
#define CRABTREE_TESTS_KUNIT_H

#include <kunit/test.h>

#include "../persist_shadow.h"
#include "../store.h"

#define CRAB_TEST_LEAF		128	/* five slots */
#define CRAB_TEST_SLOTS		5
#define CRAB_TEST_LEAVES	12
#define CRAB_TEST_BYTES		(CRAB_POOL_OFFSET + CRAB_TEST_LEAVES * CRAB_TEST_LEAF)

/* What each test has in test->priv */
struct crab_test {
	struct crab_media media;
	struct crab_shadow *shadow;
	struct crab_store *store;
	struct crab_attach_report report;
};

/* Suite init and exit: a zeroed media; freed with all that stands on it */
int crab_test_init(struct kunit *test);
void crab_test_exit(struct kunit *test);

/* A store on the media; a failure ends the test */
void crab_test_format(struct kunit *test, const char *engine, const char *layout, u32 leaf_bytes);
void crab_test_attach(struct kunit *test, bool readonly);
void crab_test_cut(struct kunit *test);		/* abandon: the machine is gone */
void crab_test_shadow(struct kunit *test);	/* begin to shadow the media */

int crab_test_put(struct kunit *test, u64 key, u64 value);
int crab_test_del(struct kunit *test, u64 key);
void crab_test_expect(struct kunit *test, u64 key, int err, u64 value);
void crab_test_expect_check(struct kunit *test, u64 records);
struct crab_engine_stats crab_test_stats(struct kunit *test);

/* Leaves of the media, by number, and by place in the list from the head; NULL: none */
struct crab_dleaf *crab_test_leaf(struct kunit *test, u32 number);
struct crab_dleaf *crab_test_listed(struct kunit *test, u32 nth);

extern struct kunit_suite crab_format_suite;
extern struct kunit_suite crab_persist_suite;
extern struct kunit_suite crab_index_suite;
extern struct kunit_suite crab_pool_suite;
extern struct kunit_suite crab_leaf_suite;
extern struct kunit_suite crab_smo_suite;
extern struct kunit_suite crab_attach_suite;
extern struct kunit_suite crab_conformance_suite;
extern struct kunit_suite crab_crash_suite;

#endif /* CRABTREE_TESTS_KUNIT_H */
