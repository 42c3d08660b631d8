// SPDX-License-Identifier: GPL-2.0
/*
 * This file changes stores between two turns of CHECK, as writers do. CHECK continues with the tree
 * as it is then, finds no damage, and counts each record once that is there all the time. The stores
 * are so small that levels of the tree come and go, and that a block is soon used again, for another
 * kind of node.
 *
 *   test_pauses [STORES [SEED]]
 */
#include "actor.h"
#include "structure.h"
#include "subject.h"
#include "test.h"

#define CHECKS		10	/* of a store */
#define SWEEPS		4	/* in a pause, at most */

/**
 * struct run - one store
 * @subject: kind of store
 * @store: the store
 * @keys: by number
 * @seed: of all choices
 * @held: CHECK runs: the flag of the lock that it releases between two turns
 * @pauses: between two turns
 * @once: only one pause changes the store
 * @levels: of the tree before CHECK
 * @report: of CHECK
 * @there: which keys have a record
 * @gone: which of them had none at some time during CHECK
 * @seen: which keys had a record at some time during CHECK
 */
static struct run {
	const struct subject *subject;
	struct crab_store *store;
	u64 keys[ACTOR_KEYS];
	u64 seed;
	const u32 *held;
	u64 pauses;
	bool once;
	u32 levels;
	struct crab_check_report report;
	bool there[ACTOR_KEYS];
	bool gone[ACTOR_KEYS];
	bool seen[ACTOR_KEYS];
} run;

static u32 any(u32 below)
{
	return rng_below(&run.seed, below);
}

static void change_one(u32 i, bool grow)
{
	u64 key = run.keys[i];
	int err = grow ? store_put(run.store, key, any(100)) : store_delete(run.store, key);

	tap_check(!err || err == (grow ? -ENOSPC : -ENOENT), "%s key %llu: %d",
		  grow ? "insert" : "delete", key, err);
	if (!err)
		run.there[i] = grow;
	run.gone[i] |= !run.there[i];
	run.seen[i] |= run.there[i];
	/* It may merge leaves that were counted */
	while (!run.once && any(2) && crab_store_maintain(run.store))
		;
}

/* Inserts or deletes a run of keys, upwards or downwards */
static void sweep(void)
{
	u32 from = any(2) ? 0 : any(run.subject->keys), i;
	u32 n = any(2) ? run.subject->keys - from : 1 + any(run.subject->keys - from);
	bool grow = any(2), up = any(2);

	for (i = 0; i < n; i++)
		change_one(from + (up ? i : n - 1 - i), grow);
}

/* Deletes some of the records that CHECK has not counted yet, the lowest ones */
static void delete_next(void)
{
	u64 counted = run.report.records;
	/* In fastfair more deletes may merge leaves that were counted */
	u32 n = run.levels ? 1 : 1 + any(run.subject->keys), i;

	for (i = 0; i < run.subject->keys && n; i++) {
		if (!run.there[i] || (counted && counted--))
			continue;
		change_one(i, false);
		n--;
	}
}

/* Called at every point that may reschedule, also between two turns */
void __wrap_crab_host_may_sleep(void)
{
	const u32 *held = run.held;
	u32 n;

	if (!held || *held)
		return;
	run.pauses++;
	if (run.once && (!run.report.records || any(2)))
		return;
	run.held = NULL;
	if (run.once) {
		delete_next();
		return;
	}
	for (n = any(SWEEPS + 1); n; n--)
		sweep();
	run.held = held;
}

/* The levels of a tree that CHECK reads level by level */
static u32 levels(void)
{
	return strcmp(run.subject->engine, "fastfair") ? 0 : ff_of(run.store->engine)->levels;
}

/* CHECK finds no damage, and has counted the records that were there all the time */
static bool report_is_right(int err)
{
	const struct crab_check_report *report = &run.report;
	u64 least = 0, most = 0, leaves = store_info(run.store).stats.leaves_used;
	bool ok, fits;
	u32 i;

	for (i = 0; i < run.subject->keys; i++) {
		least += run.once ? run.there[i] : !run.gone[i];
		most += run.once ? run.there[i] : run.seen[i];
	}
	ok = !err && !report->damage.count;
	tap_check(ok, "%s, seed %llu: CHECK returns %d, at %llu: %s", run.subject->name, run.seed, err,
		  report->damage.offset, report->damage.what);
	fits = report->records >= least && report->records <= most;
	tap_check(fits, "%s, seed %llu: CHECK counts %llu records, not %llu to %llu",
		  run.subject->name, run.seed, report->records, least, most);
	if (!run.once || run.levels > 2)
		return ok && fits;
	leaves += run.levels - levels();	/* it has counted a root that is gone */
	tap_check(report->leaves == leaves, "%s, seed %llu: CHECK counts %llu leaves, not %llu",
		  run.subject->name, run.seed, report->leaves, leaves);
	return ok && fits && report->leaves == leaves;
}

/* @pauses: others change the store meanwhile; @once: they delete, in one pause, some of the next records */
static bool check(bool pauses, bool once)
{
	bool ok;
	u32 i;
	int err;

	for (i = 0; i < run.subject->keys; i++) {
		run.seen[i] = run.there[i];
		run.gone[i] = !run.there[i];
	}
	run.once = once;
	run.levels = levels();
	run.held = pauses ? structure_held(run.store->engine) : NULL;
	run.report = (struct crab_check_report){ };
	err = crab_store_check(run.store, &run.report);
	run.held = NULL;
	ok = report_is_right(err);
	run.once = false;
	return ok;
}

static bool run_store(u64 seed)
{
	struct crab_media media = subject_media(run.subject);
	struct crab_attach_report report;
	bool ok = true;
	u32 i;

	subject_format(run.subject, &media);
	run.store = subject_attach(run.subject, &media, &report);
	memset(run.there, 0, sizeof(run.there));
	if (IS_ERR(run.store))
		tap_bail("attach: %s", report.reason);
	for (i = 0; i < CHECKS && ok; i++) {
		run.seed = rng_mix(seed * CHECKS + i) | 1;
		sweep();
		ok = check(true, any(2));
	}
	ok = ok && check(false, false);
	store_end(run.store);
	return ok;
}

static void run_subject(const struct subject *subject, u32 stores, u64 seed)
{
	u32 i;

	run.subject = subject;
	run.pauses = 0;
	crab_tiny_slots = subject->slots;
	subject_keys(subject, run.keys);
	for (i = 0; i < stores && run_store(seed + i); i++)
		;
	tap_ok(run.pauses > stores, "%s: %u stores, changed in %llu pauses of CHECK",
	       subject->name, i, run.pauses);
}

int main(int argc, char **argv)
{
	u32 stores = argc > 1 ? atoi(argv[1]) : 100, i;
	u64 seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

	crab_host_seed(1);
	for (i = 0; subjects[i].name; i++)
		if (strcmp(subjects[i].engine, "volatile"))
			run_subject(&subjects[i], stores, seed);
	return tap_done();
}
