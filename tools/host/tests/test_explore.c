// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the explorer: it closes the smallest spaces, detects a platform whose
 * fence fails, and repeats the failure from its reproducer alone.
 */
#include "explore.h"
#include "test.h"

static u64 test_closed(const struct space *space, bool plain)
{
	struct explore x;
	bool ok = explore_begin(&x, space);
	u64 digest;

	x.plain = plain;
	ok = ok && explore_run(&x);
	if (!ok)
		tap_fail("%s", x.said);
	tap_ok(ok && x.closed, "%s is closed with %u keys%s: %llu states, %llu points, %llu images",
	       space->name, space->keys, plain ? ", without shortcuts" : "", x.counts.states,
	       x.counts.points, x.counts.images);
	digest = explore_digest(&x);
	explore_end(&x);
	return digest;
}

/* Results of explore.c without its shortcuts for crash points and known states must be the same */
static void test_shortcuts(const struct space *whole, u32 keys)
{
	struct space space = *whole;
	u64 digest;

	space.keys = min(space.keys, keys);
	digest = test_closed(&space, false);
	tap_ok(test_closed(&space, true) == digest, "%s: the same states with and without shortcuts",
	       space.name);
}

/* Plants a fault: the fences of @point are lost; for P4 the cleans, as a later fence suffices */
static void plant(struct explore *x, const struct space *space, enum crab_point point)
{
	enum crab_shadow_fault fault = point == CRAB_P4_FOUND ? CRAB_SHADOW_CLEANS_LOST :
								CRAB_SHADOW_FENCE_LOST;

	if (!explore_begin(x, space))
		tap_fail("%s", x->said);
	x->shadow->fault_point = point;
	x->shadow->fault = point ? fault : CRAB_SHADOW_SOUND;
}

/* A reproducer of a fault fails with the fault, and passes without it */
static void test_replay(const struct space *space, const char *said, enum crab_point point)
{
	struct explore x;

	plant(&x, space, point);
	tap_check(!explore_replay(&x, said), "not seen again: %s", said);
	explore_end(&x);
	plant(&x, space, 0);
	tap_check(explore_replay(&x, said), "seen without the fault: %s", x.said);
	explore_end(&x);
}

static void test_fault(const char *name, enum crab_point point)
{
	const struct space *space = space_by_name(name);
	char said[EXPLORE_SAID];
	struct explore x;
	bool seen;

	plant(&x, space, point);
	seen = !explore_run(&x);
	strscpy(said, x.said, sizeof(said));
	explore_end(&x);
	if (seen)
		test_replay(space, said, point);
	tap_ok(seen, "%s without the fence %s: %s", name, crab_shadow_point_name(point), said);
}

/*
 * Reproducers that were found when fences were left out: the head links to a fresh leaf that is
 * not durable; a batch returned, and one of its records is missing.
 */
static void test_kept(void)
{
	test_replay(space_by_name("slotted-2x5x3"),
		    "slotted-2x5x3 0000000220202020 put-special,0,0 10 cut cut,1024:1", CRAB_P7_FRESH);
	test_replay(space_by_name("slotted-batch"),
		    "slotted-batch 0000000220202020 put,0,0+put,1,0 6 cut cut", CRAB_P6_RECORD);
	tap_ok(true, "reproducers are repeated");
}

/* A layout loses records under a weaker model than the one it needs: the explorer must find that */
static void test_weaker(const char *name, enum crab_shadow_model model)
{
	struct explore x;
	bool seen = explore_begin(&x, space_by_name(name));

	tap_check(seen, "%s", x.said);
	x.shadow->model = model;
	seen = seen && !explore_run(&x);
	tap_ok(seen, "%s under model %c: %s", name, model == CRAB_SHADOW_MODEL_WORD ? 'W' : 'L',
	       x.said);
	explore_end(&x);
}

/* Caches that persist keep each layout: no clean counts there, and fences still do */
static void test_cache(const char *name, enum crab_shadow_fault fault)
{
	struct explore x;
	bool seen = explore_begin(&x, space_by_name(name)), lost = fault == CRAB_SHADOW_FENCE_LOST;

	tap_check(seen, "%s", x.said);
	x.shadow->model = CRAB_SHADOW_MODEL_CACHE;
	x.shadow->fault = fault;
	x.shadow->fault_point = CRAB_P6_RECORD;
	seen = seen && explore_run(&x);
	tap_ok(seen != lost, "%s under model E%s: %s", name, lost ? ", without fences" : "", x.said);
	explore_end(&x);
}

/* Whether it is the first tiny one of its layout */
static bool is_first(const struct space *space)
{
	const struct space *other;

	for_each_space(other)
		if (other->tier == SPACE_TINY && other->driver == space->driver &&
		    !strcmp(other->layout, space->layout))
			return other == space;
	return false;
}

/* With an argument: so many keys instead of two */
int main(int argc, char **argv)
{
	u32 keys = argc > 1 ? atoi(argv[1]) : 2;
	const struct space *space;

	/* One space of each layout: the shortcuts do not depend on the content */
	for_each_space(space)
		if (is_first(space))
			test_shortcuts(space, keys);
	test_fault("sorted-sip-5x3x3", CRAB_P3_SUPER);
	test_fault("slotted-2x5x3", CRAB_P6_RECORD);
	test_fault("slotted-2x5x3", CRAB_P7_FRESH);
	test_fault("slotted-2x5x3", CRAB_P8_LINKED);
	test_fault("sorted-sip-5x3x3", CRAB_P9_SHIFTED);
	test_fault("slotted-survive", CRAB_P4_FOUND);
	test_fault("sorted-sip-survive", CRAB_P4_FOUND);
	test_weaker("sorted-sip-5x3x3", CRAB_SHADOW_MODEL_WORD);
	test_weaker("fastfair-2x3x3", CRAB_SHADOW_MODEL_WORD);
	test_weaker("clfb-atomic", CRAB_SHADOW_MODEL_WORD);
	test_weaker("clfb-encoded", CRAB_SHADOW_MODEL_WORD);
	test_weaker("nbtree-2x3x3", CRAB_SHADOW_MODEL_WORD);
	test_weaker("eadr-2x7x3", CRAB_SHADOW_MODEL_WORD);
	test_weaker("eadr-2x7x3", CRAB_SHADOW_MODEL_LINE);
	test_cache("slotted-2x5x3", CRAB_SHADOW_CLEANS_LOST);
	test_cache("slotted-2x5x3", CRAB_SHADOW_FENCE_LOST);
	test_cache("sorted-sip-5x3x3", CRAB_SHADOW_CLEANS_LOST);
	test_cache("nvtree-2x4x3", CRAB_SHADOW_CLEANS_LOST);
	test_cache("fastfair-2x3x3", CRAB_SHADOW_CLEANS_LOST);
	test_cache("clfb-2x4x3", CRAB_SHADOW_CLEANS_LOST);
	test_cache("nbtree-2x3x3", CRAB_SHADOW_CLEANS_LOST);
	test_cache("eadr-2x7x3", CRAB_SHADOW_CLEANS_LOST);
	test_cache("eadr-2x7x3", CRAB_SHADOW_FENCE_LOST);
	test_kept();
	return tap_done();
}
