// SPDX-License-Identifier: GPL-2.0
/*
 * This file runs several threads over the blobs of one store: puts, erases and gets of few keys, so
 * that extents are reused while readers are in them, with one more thread that lists, verifies,
 * maintains, and reads snapshots. Watches and snapshots of a store of names open and close among writes.
 *
 * Invariant: all words of a value are the same, and name the key. A reader that returns a part of
 * another value, or an older version of a key than before, is at fault, and so is a snapshot that
 * does not remain as it is.
 */
#include <pthread.h>
#include <sched.h>

#include "changes.h"
#include "store/blob_snap.h"
#include "store/named_priv.h"
#include "test.h"

#define THREADS		4U
#define KEYS		24U	/* at most */
#define STEPS		20000U	/* of a worker at least */
#define ROUNDS		200U	/* of the keeper at least */
#define EMPTIED		10U	/* slabs that are emptied at least, if there are many keys */
#define LONGEST		2000U	/* bytes of a value */

static u32 keys;
static u32 running;
static u32 rounds;
static u32 faults;
static u64 gets;
static u64 snaps;		/* that held until they were closed */

struct worker {
	pthread_t thread;
	u64 seed;
	u64 seen[KEYS];		/* the newest version of each key */
	u64 value[LONGEST / 8];
};

static void fault(const char *what, u64 key)
{
	if (!__atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED))
		fprintf(stderr, "# key %llu: %s\n", key, what);
}

/* Words with the key in the low bits, and a number that no other put has */
static void worker_put(struct worker *w, u64 key)
{
	u32 words = rng_below(&w->seed, LONGEST / 8), i;
	u64 mark = rng(&w->seed) << 8 | key;
	struct crab_blob_write put = { .key = key, .bytes = words * 8, .data = w->value };
	int err;

	for (i = 0; i < words; i++)
		w->value[i] = mark;
	err = crab_blob_put(store, &put);
	if (err && err != -ENOSPC)
		fault("put fails", key);
}

static void worker_get(struct worker *w, u64 key)
{
	struct crab_blob_read get = { .key = key, .buffer = w->value, .capacity = LONGEST };
	int err = crab_blob_get(store, &get);
	u32 i;

	__atomic_fetch_add(&gets, 1, __ATOMIC_RELAXED);
	if (err == -ENOENT)
		return;
	if (err) {
		fault("get fails", key);
		return;
	}
	if (get.version < w->seen[key])
		fault("get returns an older version", key);
	w->seen[key] = get.version;
	for (i = 0; i < get.bytes / 8; i++)
		if (w->value[i] != w->value[0] || (w->value[i] & 0xff) != key)
			fault("get returns parts of two values", key);
}

static bool is_long_enough(void)
{
	return __atomic_load_n(&rounds, __ATOMIC_RELAXED) >= ROUNDS &&
	       (keys < KEYS || __atomic_load_n(&store->blobs->evac.freed, __ATOMIC_RELAXED) >= EMPTIED);
}

static void *worker_run(void *arg)
{
	struct crab_blob_write erase = { };
	struct worker *w = arg;
	u32 i, verb;
	int err;

	for (i = 0; i < STEPS || !is_long_enough(); i++) {
		erase.key = rng_below(&w->seed, keys);
		verb = rng_below(&w->seed, 10);
		if (verb < 4) {
			worker_put(w, erase.key);
		} else if (verb < 5) {
			err = crab_blob_erase(store, &erase);
			if (err && err != -ENOENT)
				fault("erase fails", erase.key);
		} else {
			worker_get(w, erase.key);
		}
	}
	__atomic_sub_fetch(&running, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Reads each key of a list again; the snapshot may end at any time */
static bool snap_holds(struct crab_snap *snap, const struct crab_blob_entry *entry, int n)
{
	u64 value[LONGEST / 8];
	struct crab_blob_read get;
	int err = 0, i;

	for (i = 0; i < n && !err; i++) {
		get = (struct crab_blob_read){
			.key = entry[i].key, .buffer = value, .capacity = LONGEST,
		};
		err = crab_snap_get(store, snap, &get);
		if (err && err != -ESTALE)
			fault("a snapshot has lost a value", get.key);
		if (!err && (get.version != entry[i].version || get.bytes != entry[i].bytes ||
			     (get.bytes && (value[0] & 0xff) != get.key)))
			fault("a snapshot has another value", get.key);
	}
	return !err;
}

/* All entries of a snapshot, or an error */
static int snap_entries(struct crab_snap *snap, struct crab_blob_entry *entry)
{
	struct crab_cursor cursor;
	int n, all = 0;

	memset(entry, 0, (KEYS + 1) * sizeof(*entry));
	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	while ((n = crab_snap_list(store, snap, &cursor, entry + all, KEYS + 1 - all)) > 0)
		all += n;
	return n < 0 ? n : all;
}

/* Snapshots that come and go while an older one is open: the second one folds the notes of the first */
static void snap_brief(void)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		if (crab_store_observe(store) < 0)
			return;
		crab_snap_close(crab_snap_open(store));
		sched_yield();
	}
}

static void snap_round(void)
{
	struct crab_blob_entry entry[2][KEYS + 1];
	struct crab_snap *snap;
	int n[2], i;

	if (crab_store_observe(store) < 0)
		return;
	snap = crab_snap_open(store);
	for (i = 0; i < 2; i++) {
		n[i] = snap_entries(snap, entry[i]);
		if (n[i] >= 0 && snap_holds(snap, entry[i], n[i]))
			snaps += i;
		if (!i && keys < 8)	/* a store of more keys is full, and ends the snapshots */
			snap_brief();
	}
	if (n[1] >= 0 && (n[0] != n[1] || memcmp(entry[0], entry[1], sizeof(entry[0]))))
		fault("a snapshot has changed", 0);
	crab_snap_close(snap);
}

static void *keeper_run(void *arg)
{
	struct crab_blob_entry entry[KEYS + 1];
	struct crab_check_report report;
	struct crab_cursor cursor;
	int i, n;

	while (__atomic_load_n(&running, __ATOMIC_RELAXED)) {
		if (rounds & 1)
			snap_round();
		store_maintain(store);
		if (crab_store_check(store, &report) || report.damage.count)
			fault(report.damage.what, report.damage.offset);
		crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
		n = crab_blob_list(store, &cursor, entry, KEYS + 1);
		for (i = 0; i < n; i++)
			if (entry[i].err || entry[i].key >= keys)
				fault("the list has a damaged or foreign entry", entry[i].key);
		__atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static struct crab_store *format(struct crab_media *media, const char *engine, bool names)
{
	*media = media_create(2 * CRAB_POOL_OFFSET + 128 * 512);
	return store_make(media, engine, "", 512, names ? STORE_NAMES : STORE_BLOBS);
}

/* From now on there is a gate: the first snapshot does not wait for the other threads */
static void gate_make(void)
{
	if (crab_store_observe(store) >= 0)
		crab_store_unobserve(store);
}

/* With many keys slabs become sparse, and are emptied */
static void test_engine(const char *engine, u32 number)
{
	static struct worker worker[THREADS];
	struct crab_media media;
	pthread_t keeper;
	u64 lines, freed;
	u32 i;

	memset(worker, 0, sizeof(worker));
	faults = 0;
	gets = 0;
	snaps = 0;
	keys = number;
	rounds = 0;
	running = THREADS;
	store = format(&media, engine, false);
	gate_make();
	for (i = 0; i < THREADS; i++) {
		worker[i].seed = i + 1;
		pthread_create(&worker[i].thread, NULL, worker_run, &worker[i]);
	}
	pthread_create(&keeper, NULL, keeper_run, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_join(worker[i].thread, NULL);
	pthread_join(keeper, NULL);
	lines = store->blobs->extents.lines;
	freed = store->blobs->evac.freed;
	store = store_again(store);
	tap_check(store->blobs->extents.lines == lines, "%llu lines in use, not %llu",
		  store->blobs->extents.lines, lines);
	store_check_good(store);
	tap_check(snaps > ROUNDS / 8, "%llu snapshots held", snaps);
	tap_ok(!faults, "%s: %u threads, %llu gets among puts and erases of %u keys, %llu slabs emptied, %llu snapshots: %u faults",
	       engine, THREADS, gets, keys, freed, snaps, faults);
	store_end(store);
}

static void *any_run(void *arg)
{
	while (__atomic_load_n(&running, __ATOMIC_RELAXED)) {
		crab_snap_any(store);
		__atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void any_wait(void)
{
	u32 from = __atomic_load_n(&rounds, __ATOMIC_RELAXED);

	while (__atomic_load_n(&rounds, __ATOMIC_RELAXED) - from < ROUNDS)
		;
}

/* The calls that run while the gate is made; ThreadSanitizer sees a pointer that is read too early */
static void test_first(void)
{
	struct crab_media media = media_create(1 << 20);
	pthread_t thread;
	int first;

	store = format(&media, "crab", false);
	running = 1;
	pthread_create(&thread, NULL, any_run, NULL);
	any_wait();
	first = crab_store_observe(store);
	any_wait();
	__atomic_store_n(&running, 0, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	crab_store_unobserve(store);
	tap_ok(first == 1, "the first observer of a store comes while calls ask for snapshots");
	store_end(store);
}

static void name_do(int (*verb)(struct crab_store *store, struct crab_blob_write *write),
		    const char *name)
{
	struct crab_blob_write write = { .name = name, .name_bytes = strlen(name) };

	if (verb(store, &write))
		fault("a name cannot be put or erased", 0);
}

/*
 * A name that is erased while a snapshot has it moves to a second table. The close of the snapshot
 * empties this table; or the next erase does, if the snapshot has ended before
 */
static void name_round(bool ends)
{
	struct crab_snap *snap;

	name_do(crab_named_put, "first");
	name_do(crab_named_put, "second");
	if (crab_store_observe(store) < 0)
		return;
	snap = crab_snap_open(store);
	name_do(crab_named_erase, "first");
	if (ends)
		crab_snap_end_all(store->gate, -ESTALE);
	name_do(crab_named_erase, "second");
	crab_snap_close(snap);
}

/* INFO adds up the memory of names without their lock; ThreadSanitizer sees a plain store to it */
static void *info_run(void *arg)
{
	struct crab_store_info info;

	while (__atomic_load_n(&running, __ATOMIC_RELAXED))
		crab_store_info(store, &info);
	return NULL;
}

/* The numbers of the changes have no gap, unless some were dropped */
static u64 watch_read(struct crab_watch *watch, u64 seq)
{
	struct crab_change_name name[3];
	struct crab_change change[3];
	int i, n = crab_watch_peek(watch) ? take_changes(watch, change, name, 3) : 0;

	for (i = 0; i < n; i++) {
		seq += change[i].flags & CRAB_CHANGE_LOST ? change[i].value : 1;
		if (change[i].seq != seq)
			fault("a watch reports another change", change[i].seq);
	}
	return seq;
}

static void wake(void *arg)
{
}

/* A read of a name of a snapshot, and one of a list: the snapshot may end at any time */
static void names_read(void)
{
	struct crab_named_cursor cursor = { };
	struct crab_blob_read read = { };
	struct crab_named_entry entry;
	struct crab_snap *snap;
	int err;

	if (crab_store_observe(store) < 0)
		return;
	snap = crab_snap_open(store);
	err = crab_snap_named_get(store, snap, "first", 5, &read);
	if (err && err != -ENOENT && err != -ESTALE)
		fault("a snapshot cannot be read", -err);
	while (crab_snap_named_next(store, snap, &cursor, &entry) == 1)
		;
	crab_snap_close(snap);
}

static void *observe_run(void *arg)
{
	const struct crab_watch_options options = { .prefix = "", .entries = 3, .wake = wake };
	struct crab_watch *watch;
	u64 seq;
	u32 i;

	while (__atomic_load_n(&running, __ATOMIC_RELAXED)) {
		if (crab_store_observe(store) < 0)
			break;
		watch = crab_watch_open(store, &options);
		for (i = 0, seq = 0; i < 50; i++)
			seq = watch_read(watch, seq);
		names_read();
		crab_watch_close(watch);
	}
	return NULL;
}

/* A thread of @run while names come and go */
static void test_names(void *(*run)(void *arg), const char *what)
{
	struct crab_media media = media_create(1 << 20);
	pthread_t thread;

	store = format(&media, "crab", true);
	gate_make();
	faults = 0;
	running = 1;
	pthread_create(&thread, NULL, run, NULL);
	for (rounds = 0; rounds < ROUNDS; rounds++)
		name_round(rounds & 1);
	__atomic_store_n(&running, 0, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	tap_ok(!faults && !crab_names_dram(store), "%s while names come and go", what);
	store_end(store);
}

int main(void)
{
	test_first();
	test_names(info_run, "INFO");
	test_names(observe_run, "watches and snapshots");
	test_engine("crab", 4);
	test_engine("crab", KEYS);
	test_engine("nvtree", 4);
	test_engine("nvtree", KEYS);
	test_engine("fastfair", 4);
	test_engine("clfb", 4);
	test_engine("nbtree", 4);
	return tap_done();
}
