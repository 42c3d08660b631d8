// SPDX-License-Identifier: GPL-2.0
/*
 * This file breaks the platform under the crash test, fault by fault: a fence of
 * each persist point that completes nothing, a clean before it that does not
 * count. Each must be seen, or be shown to do no harm: a test that cannot fail
 * would prove nothing.
 */
#include <stdio.h>

#include <linux/kernel.h>
#include <linux/string.h>

#include "crash.h"
#include "tap.h"

#define STEPS		200
#define FAULT_SEEDS	4

static u32 faults, faults_seen;

/* Faults that do no harm, and why */
static const char *fault_justified(enum crab_point point, enum crab_shadow_fault fault, u32 nth)
{
	if (point == CRAB_P4_FOUND && fault == CRAB_SHADOW_FENCE_LOST)
		return "P3 of the same attach follows before the first operation";
	if (point == CRAB_P5_PREPARED && fault == CRAB_SHADOW_CLEAN_LOST && nth == 0)
		return "the first line of a prepared leaf is cleaned again at P7";
	return NULL;
}

/* Runs until the fault is seen; 1 seen, 0 not, -1 it never struck */
static int run_fault(enum crab_point point, enum crab_shadow_fault fault, u32 nth, char *said)
{
	u32 seed, seeds = fault_justified(point, fault, nth) ? 1 : FAULT_SEEDS;
	struct crash c;
	u64 hits = 0;
	bool ok;

	for (seed = 1; seed <= seeds; seed++) {
		ok = crash_begin(&c, &crash_slotted, 10, seed);
		c.format_every = point <= CRAB_P3_SUPER ? 24 : 128;
		c.shadow->fault_point = point;
		c.shadow->fault = fault;
		c.shadow->fault_nth = nth;
		ok = ok && crash_run(&c, STEPS, point == CRAB_P4_FOUND ? 2 : 1);
		hits += c.shadow->fault_hits;
		strscpy(said, c.said, CRASH_SAID);
		crash_end(&c);
		if (!ok)
			return 1;
		if (!hits)
			return -1;
	}
	return 0;
}

/* False where there is nothing that the fault could strike */
static bool run_mutant(enum crab_point point, enum crab_shadow_fault fault, u32 nth)
{
	static const char * const names[] = {
		"", "fence lost", "cleans lost", "clean lost",
	};
	char said[CRASH_SAID];
	const char *why = fault_justified(point, fault, nth);
	int seen = run_fault(point, fault, nth, said);

	if (seen < 0)
		return false;
	faults++;
	faults_seen += seen;
	if (why)
		tap_ok(!seen, "%s, %s, line %u: does no harm: %s", crab_shadow_point_name(point),
		       names[fault], nth, why);
	else
		tap_ok(seen, "%s, %s, line %u: seen (%.60s)", crab_shadow_point_name(point),
		       names[fault], nth, said);
	return true;
}

int main(void)
{
	u32 point, nth;

	if (crab_persist_init())
		return 2;
	for (point = 1; point < CRAB_POINTS; point++) {
		run_mutant(point, CRAB_SHADOW_FENCE_LOST, 0);
		run_mutant(point, CRAB_SHADOW_CLEANS_LOST, 0);
		for (nth = 0; run_mutant(point, CRAB_SHADOW_CLEAN_LOST, nth); nth++)
			;
	}
	printf("# mutants %u, killed %u, justified %u\n", faults, faults_seen, faults - faults_seen);
	return tap_done();
}
