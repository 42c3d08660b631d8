// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests, as tasks, snapshots that are closed while their store is detached: each of the two
 * stays at each of its places, and the other one runs. A store of names has the most to do then: notes
 * that own extents, and names that only the snapshots need.
 *
 *   test_detached
 */
#include "store/gate.h"
#include "store/named.h"
#include "store/snap.h"
#include "tasks.h"
#include "test.h"

#define LEAF_BYTES	512U
#define LEAVES		64U
#define NAMES		3U
#define SNAPS		2U
#define SEEDS		200U

static struct crab_gate *gate;
static struct crab_snap *snaps[SNAPS];
static void (*second)(void);
static bool done;	/* the second one ran while the first one stayed */
static u32 met;		/* how often */

static struct crab_blob_write write_of(u32 i)
{
	static const char names[NAMES] = "abc";

	return (struct crab_blob_write){
		.name = &names[i], .name_bytes = 1, .data = &names[i], .bytes = 1,
	};
}

static void write_all(int (*verb)(struct crab_store *store, struct crab_blob_write *write))
{
	struct crab_blob_write write;
	u32 i;

	for (i = 0; i < NAMES; i++) {
		write = write_of(i);
		tap_check(!verb(store, &write), "write of name %u", i);
	}
}

static void begin(struct crab_media *media)
{
	u32 i;

	*media = media_create(CRAB_POOL_OFFSET + LEAVES * LEAF_BYTES);
	store = store_make(media, "crab", "slotted", LEAF_BYTES, STORE_NAMES);
	for (i = 0; i < SNAPS; i++) {
		write_all(crab_named_put);
		snaps[i] = store_snap(store);
	}
	write_all(crab_named_put);
	write_all(crab_named_erase);
	gate = store->gate;
	tap_check(gate->owned == SNAPS * NAMES, "%llu notes own an extent", gate->owned);
}

static void close_all(void)
{
	u32 i;

	for (i = 0; i < SNAPS; i++) {
		tap_check(!crab_snap_state(snaps[i]) || crab_snap_state(snaps[i]) == -ENODEV, "state");
		crab_snap_close(snaps[i]);
	}
}

static void detach(void)
{
	store_end(store);
}

static void first_task(void *arg)
{
	void (*const first)(void) = arg;

	first();
}

/* It would wait for the locks of the gate */
static void second_task(void *arg)
{
	if (gate->lock.held || gate->notes_lock.held)
		return;
	done = true;
	second();
}

static void run(void (*first)(void), void (*other)(void))
{
	struct tasks_plan plan = { .seed = 1, .pace = 1 };
	struct crab_media media;

	met = 0;
	second = other;
	do {
		plan.park++;
		begin(&media);
		done = false;
		tasks_add(first_task, first);
		tasks_add(second_task, NULL);
		tap_check(tasks_run(&plan) == TASKS_DONE, "place %u: the tasks come to no end", plan.park);
		met += done;
		if (!done)
			second();
	} while (tasks_parked());
}

/* Here each waits for the locks of the other one */
static void run_both(void)
{
	struct crab_media media;
	u64 seed;

	for (seed = 1; seed <= SEEDS; seed++) {
		struct tasks_plan plan = { .seed = seed * 7919, .pace = 1 + seed % 20 };

		begin(&media);
		tasks_add(first_task, close_all);
		tasks_add(first_task, detach);
		tap_check(tasks_run(&plan) == TASKS_DONE, "seed %llu: the tasks come to no end", seed);
	}
}

int main(void)
{
	crab_host_cpus = 1;
	run(close_all, detach);
	tap_ok(met > 10, "a store is detached at each of %u places of the end of its snapshots", met);
	run(detach, close_all);
	tap_ok(met > 10, "snapshots are closed at each of %u places of a detach", met);
	run_both();
	tap_ok(true, "both, with %u seeds", SEEDS);
	return tap_done();
}
