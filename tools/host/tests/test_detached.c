// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests, as tasks, snapshots that are closed while their store is detached: each of the two
 * stays at each of its places, and the other one runs. A store of names has the most to do then: notes
 * that own extents, and names that only the snapshots need. The same with a snapshot that ends while it
 * is read, whose values are overwritten then, and with CHECK while births are raised.
 *
 *   test_detached
 */
#include "store/blob_priv.h"
#include "store/blob_snap.h"
#include "store/gate.h"
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
static void (*last)(void);	/* or NULL: one of the two detaches the store */
static bool done;	/* the second one ran while the first one stayed */
static u32 met;		/* how often */
static bool keys;	/* in place of names */

static const char names[NAMES] = "abc";

static struct crab_blob_write write_of(u32 i)
{
	return (struct crab_blob_write){
		.key = i, .name = &names[i], .name_bytes = !keys, .data = &names[i], .bytes = 1,
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
	store = store_make(media, "crab", "slotted", LEAF_BYTES, keys ? STORE_BLOBS : STORE_NAMES);
	for (i = 0; i < SNAPS; i++) {
		write_all(keys ? crab_blob_put : crab_named_put);
		snaps[i] = store_snap(store);
	}
	write_all(keys ? crab_blob_put : crab_named_put);
	write_all(keys ? crab_blob_erase : crab_named_erase);
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

/* It would wait for the locks of the gate, of names, or of births */
static void second_task(void *arg)
{
	if (gate->lock.held || gate->notes_lock.held ||
	    (last && (store->blobs->names_lock.held || store->blobs->birth_lock.held)))
		return;
	done = true;
	second();
}

static void run(void (*first)(void), void (*other)(void), void (*end)(void))
{
	struct tasks_plan plan = { .seed = 1, .pace = 1 };
	struct crab_media media;

	met = 0;
	second = other;
	last = end;
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
		if (last)
			last();
	} while (tasks_parked());
}

static void read_one(u32 i)
{
	char value;
	struct crab_blob_read get = { .key = i, .buffer = &value, .capacity = 1 };
	int err = keys ? crab_snap_get(store, snaps[0], &get) :
			 crab_snap_named_get(store, snaps[0], &names[i], 1, &get);

	tap_check(err == -ESTALE || (!err && value == names[i]), "value %u: %d", i, err);
}

static void list_keys(void)
{
	struct crab_blob_entry entries[NAMES];
	struct crab_cursor cursor;
	int n, i;

	crab_cursor_init(&cursor, 0, NAMES);
	n = crab_snap_list(store, snaps[0], &cursor, entries, NAMES);
	tap_check(n == -ESTALE || n == NAMES, "%d keys", n);
	for (i = 0; i < n; i++)
		tap_check(!entries[i].err, "entry %d: %d", i, entries[i].err);
}

static void list_names(void)
{
	struct crab_named_cursor cursor = { };
	struct crab_named_entry entry;
	u32 i;
	int n;

	for (i = 0; (n = crab_snap_named_next(store, snaps[0], &cursor, &entry)) == 1; i++)
		tap_check(!entry.err && *entry.text == names[i], "name %u: %d", i, entry.err);
	tap_check(n == -ESTALE || i == NAMES, "%u names: %d", i, n);
}

/* The snapshot has all values, until it ends */
static void read_all(void)
{
	u32 i;

	for (i = 0; i < NAMES; i++)
		read_one(i);
	if (keys)
		list_keys();
	else
		list_names();
}

/* The extents of the snapshots get other values */
static void overwrite(void)
{
	crab_snap_end_all(gate, -ESTALE);
	write_all(keys ? crab_blob_put : crab_named_put);
	write_all(keys ? crab_blob_put : crab_named_put);
	write_all(keys ? crab_blob_erase : crab_named_erase);
}

static void check_births(void)
{
	struct crab_damage damage = { };

	crab_blobs_check_head(store, &damage);
	tap_check(!damage.count, "%s", damage.what);
}

static void raise_births(void)
{
	store->blobs->birth = store->blobs->birth_end;
	write_all(crab_blob_put);
}

static void close_last(void)
{
	crab_snap_close(snaps[0]);
	crab_snap_close(snaps[1]);
	detach();
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
	run(close_all, detach, NULL);
	tap_ok(met > 10, "a store is detached at each of %u places of the end of its snapshots", met);
	run(detach, close_all, NULL);
	tap_ok(met > 10, "snapshots are closed at each of %u places of a detach", met);
	run_both();
	tap_ok(true, "both, with %u seeds", SEEDS);
	run(read_all, overwrite, close_last);
	tap_ok(met > 10, "a snapshot of names ends at each of %u places of reads", met);
	keys = true;
	run(read_all, overwrite, close_last);
	tap_ok(met > 10, "a snapshot of keys ends at each of %u places of reads", met);
	run(check_births, raise_births, close_last);
	tap_ok(met, "births are raised at each of %u places of a check of their number", met);
	return tap_done();
}
