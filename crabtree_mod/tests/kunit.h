/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the fixture of the KUnit suites: a small media of vmalloc
 * memory, with its shadow if wanted, and a store on it. The suites are linked
 * with L0-L5 and run in the kernel and, by tools/host, in user space.
 */
#ifndef CRABTREE_TESTS_KUNIT_H
#define CRABTREE_TESTS_KUNIT_H

#include <kunit/test.h>

#include "engines/crab/format.h"
#include "engines/crab/sorted/tuning.h"
#include "oracle.h"
#include "points.h"
#include "shadow/shadow.h"
#include "store/store.h"

#define CRAB_TEST_LEAF		128	/* five slots */
#define CRAB_TEST_SLOTS		5
#define CRAB_TEST_LEAVES	12
#define CRAB_TEST_BYTES		(CRAB_POOL_OFFSET + CRAB_TEST_LEAVES * CRAB_TEST_LEAF)

/* test->priv of each test; @tuning: of crab_test_attach(), NULL: the default */
struct crab_test {
	struct crab_media media;
	struct crab_shadow *shadow;
	struct crab_store *store;
	struct crab_attach_report report;
	const struct crab_tuning *tuning;
};

/*
 * Begins a long test with the same result on every machine. No parameter of the module leaves
 * it out: its suites run before its parameters are known.
 */
#ifdef CRAB_KUNIT_BRIEF
#define crab_test_long(test)	kunit_skip(test, "CRABTREE_KUNIT=brief")
#else
#define crab_test_long(test)
#endif

/* Suite init and exit: a zeroed media; freed with the store on it */
int crab_test_init(struct kunit *test);
void crab_test_exit(struct kunit *test);

/* Suite init: a slotted store, attached */
int crab_test_init_slotted(struct kunit *test);

/* Suite init: the same number of leaves of another size, on a zeroed media */
int crab_test_resize(struct kunit *test, u32 leaf_bytes);

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
struct crab_counts crab_test_counts(struct kunit *test);

/* Leaves of the media, by number, and by place in the list from the head; NULL: none */
struct crab_dleaf *crab_test_leaf(struct kunit *test, u32 number);
struct crab_dleaf *crab_test_listed(struct kunit *test, u32 nth);

#define CRAB_CRASH_KEYS		16
#define CRAB_CRASH_POINTS	96	/* in one operation */

/**
 * struct crab_crash - a history that is cut everywhere (crash_kunit.c)
 * @test: its test
 * @oracle: knows the keys 0 to CRAB_CRASH_KEYS - 1
 * @keys: these keys
 * @every_store: cut after each store, too; else before each fence
 * @points: crash points of the current operation
 * @images: judged so far
 * @torn: images that a writable attach had to repair
 * @bad: images with a content that is not allowed, or with damage
 * @before: content before the operation
 * @after: content after the operation
 * @found: content of an image
 * @allowed: contents that an image may have
 * @info: of the store that was attached last
 */
struct crab_crash {
	struct kunit *test;
	struct crab_oracle oracle;
	u64 keys[CRAB_CRASH_KEYS];
	bool every_store;
	struct crab_crash_points *points;
	u32 images;
	u32 torn;
	u32 bad;
	struct crab_key_state before[CRAB_CRASH_KEYS];
	struct crab_key_state after[CRAB_CRASH_KEYS];
	struct crab_key_state found[CRAB_CRASH_KEYS];
	struct crab_oracle_allowed allowed;
	struct crab_store_info info;
};

/* A shadowed media of a model, formatted, and nothing in the store */
struct crab_crash *crab_crash_begin(struct kunit *test, const char *engine, const char *layout,
				    u32 leaf_bytes, enum crab_shadow_model model);

/* An operation on key @at, cut at each crash point; does nothing once c->bad is set */
void crab_crash_put(struct crab_crash *c, u32 at, u64 value);
void crab_crash_del(struct crab_crash *c, u32 at);

/* The suite crabtree_NAME, of NAME_cases */
#define CRAB_TEST_SUITE(_name, _init, _exit)			\
	struct kunit_suite crab_##_name##_suite = {		\
		.name = "crabtree_" #_name,			\
		.init = _init, .exit = _exit,			\
		.test_cases = _name##_cases,			\
	}

extern struct kunit_suite crab_format_suite, crab_persist_suite, crab_index_suite, crab_pool_suite,
	crab_table_suite, crab_engine_suite, crab_leaf_suite, crab_smo_suite, crab_attach_suite,
	crab_conformance_suite, crab_crash_suite, crab_strategy_suite, crab_sorted_suite,
	crab_hostile_suite, crab_changing_suite, crab_parked_suite, crab_unfinished_suite,
	crab_restless_suite;

#endif /* CRABTREE_TESTS_KUNIT_H */
