// SPDX-License-Identifier: GPL-2.0
/*
 * This file runs pairs of calls on one store, in two threads. The second call begins when the first one
 * has returned, and the threads know this from a relaxed variable only: nothing but the locks of the
 * module orders their accesses. So ThreadSanitizer reports a lock that one of them leaves out
 * in each run, and not only if both meet.
 *
 * A lock that both calls take later, or have taken before, would hide the missing one: each pair is
 * chosen so that they share no other.
 *
 *   test_pairs
 */
#include <pthread.h>
#include <sched.h>

#include "changes.h"
#include "store/blob_commit.h"
#include "store/blob_media.h"
#include "store/blob_snap.h"
#include "store/commit_priv.h"
#include "store/gate.h"
#include "store/named_priv.h"
#include "store/snap_priv.h"
#include "test.h"

#define LEAF_BYTES	512U
#define LEAVES		256U
#define NAMES		4U
#define SHORT		16U	/* bytes of a value */
#define LONG		1000U	/* of one whose class has no slab yet */

static struct crab_watch *watch[2];
static struct crab_snap *snap[2];
static struct crab_blob_commit blob_commit;
static struct crab_commit commit;
static struct crab_super unfinished;
static u64 place, slab;
static int err_first, err_second;
static u32 reports;
static u32 step;	/* 1: the second thread waits; 2: it may begin; 3: it has ended */

static u8 value[LONG];

/* Called by the library of ThreadSanitizer for each report */
void __tsan_on_report(void *report);
void __tsan_on_report(void *report)
{
	__atomic_fetch_add(&reports, 1, __ATOMIC_RELAXED);
}

/* Preparations of the pairs */

static void observe(void)
{
	tap_check(crab_store_observe(store) >= 0, "observe");
}

static int name_do(int (*verb)(struct crab_store *store, struct crab_blob_write *write), u32 number)
{
	char name = 'a' + number;
	struct crab_blob_write write = {
		.name = &name, .name_bytes = 1, .data = value, .bytes = SHORT,
	};

	return verb(store, &write);
}

static void prepare_names(void)
{
	u32 i;

	for (i = 0; i < NAMES; i++)
		tap_check(!name_do(crab_named_put, i), "put");
}

static struct crab_watch *watch_open(void)
{
	const struct crab_watch_options options = {
		.end = CRAB_KEY_EMPTY - 1, .prefix = "", .entries = 8, .wake = wake_none,
	};

	return crab_watch_open(store, &options);
}

static void prepare_idle(void)
{
	prepare_names();
	observe();
	watch[0] = watch_open();
}

/* With a change that waits */
static void prepare_watch(void)
{
	prepare_idle();
	tap_check(!name_do(crab_named_put, 0), "put");
}

static void prepare_watches(void)
{
	prepare_watch();
	observe();
}

static void prepare_snap(void)
{
	prepare_names();
	snap[0] = store_snap(store);
}

static void prepare_snaps(void)
{
	prepare_snap();
	observe();
}

static void prepare_record(void)
{
	tap_check(!store_put(store, 1, 1), "put");
	snap[0] = store_snap(store);
}

static void prepare_records(void)
{
	prepare_record();
	snap[1] = store_snap(store);
}

static void prepare_blob(void)
{
	u64 word;

	tap_check(!store_blob_put(store, 1, value, SHORT), "put");
	tap_check(!store->blobs->raw->lookup(store->engine, 1, &word), "lookup");
	place = word & CRAB_PLACE_MASK;
	slab = (place >> CRAB_PLACE_CLASS_BITS) / store->blobs->extents.slab_lines;
}

static void prepare_blob_snap(void)
{
	prepare_blob();
	snap[0] = store_snap(store);
}

/* Two slabs of one class: the first one, whose number is higher, is full */
static void prepare_slabs(void)
{
	u64 key = 1;

	prepare_blob();
	while (store->blobs->extents.lent == 1)
		tap_check(!store_blob_put(store, ++key, value, SHORT), "put");
}

static void prepare_users(void)
{
	observe();
	observe();
}

static void prepare_none(void)
{
}

static void prepare_unfinished(void)
{
	struct crab_format_options options = {
		.force = true, .leaf_bytes = LEAF_BYTES, .engine = "", .layout = "", .label = "",
		.unfinished = &unfinished,
	};
	struct crab_attach_options attach = { .unfinished = &unfinished };
	struct crab_attach_report report;
	char reason[CRAB_REASON_LEN];

	crab_store_detach(store);
	tap_check(!crab_store_format(&media, &options, reason), "format: %s", reason);
	store = crab_store_attach(&media, &attach, &report);
}

/* The calls */

static void first_name(void)
{
	err_first = name_do(crab_named_put, NAMES);
}

static void first_erase(void)
{
	err_first = name_do(crab_named_erase, 1);
}

static void first_known(void)
{
	err_first = name_do(crab_named_put, 1);
}

static void first_forget(void)
{
	crab_names_forget(store);
}

static void first_watch(void)
{
	watch[1] = watch_open();
}

static void first_take(void)
{
	struct crab_change_name name;
	struct crab_change change;

	err_first = take_changes(watch[0], &change, &name, 1) - 1;
}

static void first_end(void)
{
	crab_watch_end_all(store->gate);
	crab_snap_end_all(store->gate, -ESTALE);
}

static void open_snap(void)
{
	snap[1] = crab_snap_open(store);
}

static void close_snap(void)
{
	crab_snap_close(snap[0]);
	snap[0] = NULL;
}

static void first_record(void)
{
	err_first = store_put(store, 1, 3);
}

static void first_put(void)
{
	err_first = store_blob_put(store, 1, value, SHORT);
}

static void first_long(void)
{
	err_first = store_blob_put(store, 2, value, LONG);
}

static void first_alloc(void)
{
	u64 to;

	err_first = crab_extents_alloc(&store->blobs->extents, SHORT, &to);
}

static void first_observe(void)
{
	err_first = crab_store_observe(store);
}

static void first_readonly(void)
{
	crab_store_set_readonly(store, "a test");
}

/* It keeps leaves, and takes no lock of extents afterwards */
static void first_commit_blobs(void)
{
	blob_commit.n = 1;
	blob_commit.ops[0] = (struct crab_blob_op){
		.verb = CRAB_VERB_DELETE, .write = { .key = 1 },
	};
	err_first = crab_blob_commit(store, &blob_commit);
}

static void first_commit(void)
{
	commit = (struct crab_commit){ .n = 1 };
	commit.ops[0] = (struct crab_batch_op){ .verb = CRAB_VERB_INSERT, .key = 1, .value = 1 };
	err_first = crab_store_commit(store, &commit);
}

static void info(void)
{
	store_info(store);
}

static void second_put_name(void)
{
	err_second = name_do(crab_named_put, NAMES);
}

/* The name that the first call adds, or erases */

static void second_get(void)
{
	struct crab_blob_read get = { .capacity = 0 };

	err_second = crab_named_get(store, "e", 1, &get) + EMSGSIZE;
}

static void second_get_gone(void)
{
	struct crab_blob_read get = { .capacity = 0 };

	err_second = crab_named_get(store, "b", 1, &get) + ENOENT;
}

static void second_list(void)
{
	struct crab_named_cursor cursor = { .text = "d", .bytes = 1, .after = true };
	struct crab_named_entry entry;

	err_second = crab_named_next(store, &cursor, &entry) - 1;
}

static void second_check(void)
{
	struct crab_check_report report;

	err_second = crab_store_check(store, &report) ?: (int)report.damage.count;
}

static void second_erase(void)
{
	err_second = name_do(crab_named_erase, 2);
}

static void second_snap_get(void)
{
	struct crab_blob_read get = { .capacity = 0 };

	err_second = crab_snap_named_get(store, snap[0], "e", 1, &get) + ENOENT;
}

static void second_snap_list(void)
{
	struct crab_named_cursor cursor = { .text = "d", .bytes = 1, .after = true };
	struct crab_named_entry entry;

	err_second = crab_snap_named_next(store, snap[0], &cursor, &entry);
}

static void second_close_watch(void)
{
	crab_watch_close(watch[0]);
	watch[0] = NULL;
}

static void second_read(void)
{
	struct crab_change_name name;
	struct crab_change change;

	err_second = crab_watch_read(watch[0], &change, &name, 1) - 1;
}

static void second_peek(void)
{
	err_second = crab_watch_peek(watch[0]) - 1;
}

static void second_ended(void)
{
	err_second = crab_watch_peek(watch[0]) + ENODEV;
}

static void second_state(void)
{
	err_second = crab_snap_state(snap[0]) + ESTALE;
}

static void second_any(void)
{
	err_second = !crab_snap_any(store);
}

static void second_noted(void)
{
	err_second = !crab_snap_is_noted(snap[0], 1);
}

static void second_record(void)
{
	err_second = store_put(store, 1000, 1);
}

static void second_long(void)
{
	err_second = store_blob_put(store, 2, value, LONG);
}

static void second_birth(void)
{
	struct crab_flow flow = { .media = store->media };

	crab_blob_birth(store->blobs, &flow);
}

static void second_alloc(void)
{
	u64 to;

	err_second = crab_extents_alloc(&store->blobs->extents, SHORT, &to);
}

static void second_sparse(void)
{
	u64 number;

	err_second = crab_extents_sparse(&store->blobs->extents, true, &number);
}

static void second_next(void)
{
	u32 from = 0;
	u64 at;

	err_second = !crab_extents_next(&store->blobs->extents, slab, &from, &at);
}

static void second_below(void)
{
	u64 to;

	err_second = !crab_extents_alloc_below(&store->blobs->extents, place, &to);
}

static void second_leave(void)
{
	err_second = crab_extents_leave(&store->blobs->extents, slab);
}

static void second_retry(void)
{
	crab_extents_retry(&store->blobs->extents);
}

static void second_unobserve(void)
{
	crab_store_unobserve(store);
}

static void second_gated(void)
{
	crab_store_set_gated(store, false);
}

static void second_gain(void)
{
	err_second = crab_commits_gain(store);
}

static void second_finish(void)
{
	err_second = crab_store_finish(store);
}

static const struct pair {
	const char *what;
	unsigned int kind;
	void (*prepare)(void);
	void (*first)(void);
	void (*second)(void);
	u32 users;		/* observers that no close counts out */
} pairs[] = {
	{ "a name is added, and put", STORE_NAMES, prepare_names, first_name, second_put_name, 0 },
	{ "a name is added, and read", STORE_NAMES, prepare_names, first_name, second_get, 0 },
	{ "a name is added, and names are listed", STORE_NAMES, prepare_names, first_name, second_list, 0 },
	{ "a name is added, and CHECK runs", STORE_NAMES, prepare_names, first_name, second_check, 0 },
	{ "a name is added, and looked for in a snapshot", STORE_NAMES, prepare_snap, first_name, second_snap_get, 0 },
	{ "a name is added, and those of a snapshot are listed", STORE_NAMES, prepare_snap, first_name, second_snap_list, 0 },
	{ "a name is erased, and read", STORE_NAMES, prepare_names, first_erase, second_get_gone, 0 },
	{ "erased names are forgotten, and a name is erased", STORE_NAMES, prepare_names, first_forget, second_erase, 0 },
	{ "a watch is opened, and another one is closed", STORE_NAMES, prepare_watches, first_watch, second_close_watch, 0 },
	{ "a watch is opened, and a name is put", STORE_NAMES, prepare_watches, first_watch, second_put_name, 0 },
	{ "changes are taken, and another one is reported", STORE_NAMES, prepare_watch, first_take, second_put_name, 0 },
	{ "a change is reported, and read", STORE_NAMES, prepare_watch, first_known, second_read, 0 },
	{ "a change is reported, and looked for", STORE_NAMES, prepare_watch, first_known, second_peek, 0 },
	{ "watches end, and a change is looked for", STORE_NAMES, prepare_idle, first_end, second_ended, 0 },
	{ "snapshots end, and one asks for its state", STORE_NAMES, prepare_snap, first_end, second_state, 0 },
	{ "a snapshot is opened, and a call asks for any", STORE_NAMES, prepare_snaps, open_snap, second_any, 0 },
	{ "a snapshot is closed, and another one is opened", STORE_NAMES, prepare_snaps, close_snap, open_snap, 0 },
	{ "a record is noted, and looked for", STORE_RECORDS, prepare_record, first_record, second_noted, 0 },
	{ "a snapshot is closed, and a record is noted for another one", STORE_RECORDS, prepare_records, close_snap, second_record, 0 },
	{ "a note gets an extent, and its snapshot is closed", STORE_BLOBS, prepare_blob_snap, first_put, close_snap, 0 },
	{ "a value is put, and another one gets a birth", STORE_BLOBS, prepare_blob, first_put, second_birth, 0 },
	{ "a commit keeps leaves, and a put takes a slab", STORE_BLOBS | STORE_COMMITS, prepare_none, first_commit_blobs, second_long, 0 },
	{ "an extent is allocated, and another one", STORE_BLOBS, prepare_blob, first_alloc, second_alloc, 0 },
	{ "a slab is added, and a sparse one is looked for", STORE_BLOBS, prepare_blob, first_long, second_sparse, 0 },
	{ "an extent is allocated, and those of its slab are listed", STORE_BLOBS, prepare_blob, first_alloc, second_next, 0 },
	{ "an extent is allocated, and another one for a move", STORE_BLOBS, prepare_slabs, first_alloc, second_below, 0 },
	{ "an extent is allocated, and an evacuation leaves its slab", STORE_BLOBS, prepare_blob, first_alloc, second_leave, 0 },
	{ "a slab is added, and slabs are to be emptied again", STORE_BLOBS, prepare_blob, first_long, second_retry, 0 },
	{ "an observer comes, and another one goes", STORE_RECORDS, prepare_users, first_observe, second_unobserve, 2 },
	{ "a store becomes read-only, and INFO reads the reason", STORE_RECORDS, prepare_none, first_readonly, info, 0 },
	{ "a store becomes read-only, and its gate is switched", STORE_RECORDS, prepare_none, first_readonly, second_gated, 0 },
	{ "a commit is done, and its records are counted", STORE_COMMITS, prepare_none, first_commit, second_gain, 0 },
	{ "INFO runs, and an unfinished store becomes a store", STORE_RECORDS, prepare_unfinished, info, second_finish, 0 },
};

/* Threads. Their numbers, and their registrations with RCU, come before the first call and after the second one */

static void step_wait(u32 wanted)
{
	while (__atomic_load_n(&step, __ATOMIC_RELAXED) < wanted)
		sched_yield();
}

static void step_set(u32 reached)
{
	__atomic_store_n(&step, reached, __ATOMIC_RELAXED);
}

static void *run_first(void *arg)
{
	const struct pair *pair = arg;

	crab_host_enter();
	step_wait(1);
	pair->first();
	step_set(2);
	step_wait(3);
	return NULL;
}

static void *run_second(void *arg)
{
	const struct pair *pair = arg;

	crab_host_enter();
	step_set(1);
	step_wait(2);
	pair->second();
	step_set(3);
	return NULL;
}

static void end(u32 users)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(watch); i++) {
		if (watch[i])
			crab_watch_close(watch[i]);
		if (snap[i])
			crab_snap_close(snap[i]);
		watch[i] = NULL;
		snap[i] = NULL;
	}
	while (users--)
		crab_store_unobserve(store);
	store_end(store);
}

static void run(const struct pair *pair)
{
	pthread_t thread[2];
	u32 i;

	step = 0;
	reports = 0;
	err_first = 0;
	err_second = 0;
	store_begin_of(CRAB_POOL_OFFSET + LEAVES * LEAF_BYTES, "crab", "slotted", LEAF_BYTES, pair->kind);
	pair->prepare();
	pthread_create(&thread[0], NULL, run_first, (void *)pair);
	pthread_create(&thread[1], NULL, run_second, (void *)pair);
	for (i = 0; i < ARRAY_SIZE(thread); i++)
		pthread_join(thread[i], NULL);
	tap_check(!err_first && !err_second, "errors: %d, %d", err_first, err_second);
	tap_check(!reports, "%u reports", reports);
	end(pair->users);
	tap_ok(true, "%s", pair->what);
}

int main(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pairs); i++)
		run(&pairs[i]);
	return tap_done();
}
