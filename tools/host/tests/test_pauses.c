// SPDX-License-Identifier: GPL-2.0
/*
 * This file changes stores between two turns of CHECK, as writers do. CHECK continues with the tree
 * as it is then, and finds no damage. The stores are so small that levels of the tree come and go,
 * and that a block is soon used again, for another kind of node.
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
 */
static struct run {
	const struct subject *subject;
	struct crab_store *store;
	u64 keys[ACTOR_KEYS];
	u64 seed;
	const u32 *held;
	u64 pauses;
} run;

static u32 any(u32 below)
{
	return rng_below(&run.seed, below);
}

static void change_one(u64 key, bool grow)
{
	int err = grow ? store_put(run.store, key, any(100)) : store_delete(run.store, key);

	tap_check(!err || err == (grow ? -ENOSPC : -ENOENT), "%s key %llu: %d",
		  grow ? "insert" : "delete", key, err);
	while (any(2) && crab_store_maintain(run.store))
		;
}

/* Inserts or deletes a run of keys, upwards or downwards */
static void sweep(void)
{
	u32 from = any(2) ? 0 : any(run.subject->keys), i;
	u32 n = any(2) ? run.subject->keys - from : 1 + any(run.subject->keys - from);
	bool grow = any(2), up = any(2);

	for (i = 0; i < n; i++)
		change_one(run.keys[from + (up ? i : n - 1 - i)], grow);
}

/* Called at every point that may reschedule, also between two turns */
void __wrap_crab_host_may_sleep(void);
void __wrap_crab_host_may_sleep(void)
{
	const u32 *held = run.held;
	u32 n;

	if (!held || *held)
		return;
	run.pauses++;
	run.held = NULL;
	for (n = any(SWEEPS + 1); n; n--)
		sweep();
	run.held = held;
}

static bool check(void)
{
	struct crab_check_report report = { };
	int err = crab_store_check(run.store, &report);

	tap_check(!err && !report.damage.count, "%s, seed %llu: CHECK returns %d, at %llu: %s",
		  run.subject->name, run.seed, err, report.damage.offset, report.damage.what);
	return !err && !report.damage.count;
}

static bool run_store(u64 seed)
{
	struct crab_media media = subject_media(run.subject);
	struct crab_attach_report report;
	bool ok = true;
	u32 i;

	subject_format(run.subject, &media);
	run.store = subject_attach(run.subject, &media, &report);
	if (IS_ERR(run.store))
		tap_bail("attach: %s", report.reason);
	for (i = 0; i < CHECKS && ok; i++) {
		run.seed = rng_mix(seed * CHECKS + i) | 1;
		sweep();
		run.held = structure_held(run.store->engine);
		ok = check();
		run.held = NULL;
	}
	ok = ok && check();
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
