// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests snapshots and watches of stores of blobs and of names, with every engine that can
 * hold blobs: several snapshots, opened and closed in any order among random writes, each compared
 * with a copy of the model of that time; a watch that reports each change; too little memory, on
 * the media and in DRAM.
 *
 * Invariants: each byte of a value depends on its key and on its version's number among all puts.
 * When no snapshot is open any more, exactly the extents of the model are in use.
 *
 *   test_blob_snap [ROUNDS [SEED]]
 */
#include "changes.h"
#include "same_crc.h"
#include "store/blob_priv.h"
#include "store/blob_snap.h"
#include "store/gate.h"
#include "test.h"

#define KEYS	40U
#define SNAPS	4U
#define LEAVES	2048U
#define FEW	110U	/* leaves of a store in which values find no memory */
#define LONGEST	3000U
#define PREFIX	2U	/* of the names, that is watched */
#define NAME_ROOM 12U

/* A value, and the name of its key */
struct known {
	bool there;
	u32 bytes;
	u64 stamp;	/* number of the put */
	u64 version;
};

struct open {
	struct crab_snap *snap;
	struct known key[KEYS];
};

struct world {
	struct crab_media media;
	struct crab_store *store;
	bool named;
	struct known key[KEYS];
	struct open open[SNAPS];
	struct crab_watch *watch;
	u64 changes;
	u64 puts;
	u64 reads;
	u64 stale;
	u64 full;
};

static unsigned long long seed = 1;
static u8 value[LONGEST], buffer[LONGEST];
static struct crab_change_name names[2];

static const char * const engines[][2] = {
	{ "crab", "slotted" }, { "crab", "sorted" }, { "nvtree", "" }, { "fastfair", "" },
	{ "clfb", "" }, { "clfb", "encoded" }, { "nbtree", "" },
};

/* In the order of the keys: "k00", "k01", ... */
static u32 name_of(u32 i, char *text)
{
	return sprintf(text, "k%02u", i);
}

static void value_make(u8 *to, u32 i, const struct known *k)
{
	u64 from = (k->stamp << 8 | i) * 0x9E3779B97F4A7C15ULL;
	u32 at;

	for (at = 0; at < k->bytes; at++)
		to[at] = (from + at / 8) >> at % 8 * 7;
}

static void wake(void *arg)
{
	++*(u32 *)arg;
}

/* The one change that waits, if it is in the range of the watch */
static void change_is(struct world *w, u32 i, enum crab_verb verb, const struct known *before,
		      u64 version)
{
	struct crab_change got[2];
	bool wanted = i / 10 == 1;
	int n;

	if (!w->watch)
		return;
	n = take_changes(w->watch, got, w->named ? names : NULL, 2);
	tap_check(n == wanted, "key %u: %d changes", i, n);
	if (n != 1)
		return;
	tap_check(got->seq == ++w->changes && got->verb == verb && got->value == version &&
		  got->old == (before->there ? before->version : 0) &&
		  got->flags == (before->there ? CRAB_CHANGE_EXISTED : 0), "change of key %u", i);
	if (w->named)
		tap_check(got->name_bytes == 3 && got->name[1] == '1' && got->name[2] == '0' + i % 10 &&
			  got->type == (verb == CRAB_VERB_INSERT ? i : 0), "name of key %u", i);
	else
		tap_check(got->key == i && !got->name_bytes, "key %u has a name", i);
}

static void put_bytes(struct world *w, u32 i, u32 bytes)
{
	struct known next = { .there = true, .bytes = bytes, .stamp = ++w->puts };
	struct crab_blob_write put = { .key = i, .data = value, .bytes = bytes };
	char text[NAME_ROOM];
	int err;

	value_make(value, i, &next);
	if (w->named) {
		put.name = text;
		put.name_bytes = name_of(i, text);
		put.type = i;
	}
	err = w->named ? crab_named_put(w->store, &put) : crab_blob_put(w->store, &put);
	if (err == -ENOSPC) {
		w->full++;
		return;
	}
	tap_check(!err, "put of key %u: %d", i, err);
	next.version = put.version;
	change_is(w, i, CRAB_VERB_INSERT, &w->key[i], put.version);
	w->key[i] = next;
}

static void step_put(struct world *w, u32 i)
{
	u32 most = min(LONGEST, crab_blob_most(w->store, NAME_ROOM) + 1);

	put_bytes(w, i, rng_below(&seed, rng_below(&seed, 4) ? 300 : most));
}

static void step_erase(struct world *w, u32 i)
{
	struct crab_blob_write erase = { .key = i, .checked = i & 1, .version = w->key[i].version };
	char text[NAME_ROOM];
	int err;

	if (w->named) {
		erase.name = text;
		erase.name_bytes = name_of(i, text);
	}
	err = w->named ? crab_named_erase(w->store, &erase) : crab_blob_erase(w->store, &erase);
	tap_check(err == (w->key[i].there ? 0 : -ENOENT), "erase of key %u: %d", i, err);
	if (!err)
		change_is(w, i, CRAB_VERB_DELETE, &w->key[i], 0);
	w->key[i].there = false;
}

/* False once the snapshot has ended */
static bool alive(struct world *w, int err)
{
	w->reads++;
	w->stale += err == -ESTALE;
	return err != -ESTALE;
}

static bool check_key(struct world *w, struct open *open, u32 i)
{
	struct crab_blob_read get = { .key = i, .buffer = buffer, .capacity = LONGEST };
	const struct known *k = &open->key[i];
	char text[NAME_ROOM];
	int err;

	if (w->named)
		err = crab_snap_named_get(w->store, open->snap, text, name_of(i, text), &get);
	else
		err = crab_snap_get(w->store, open->snap, &get);
	if (!alive(w, err))
		return false;
	tap_check(err == (k->there ? 0 : -ENOENT), "key %u in a snapshot: %d", i, err);
	if (err)
		return true;
	value_make(value, i, k);
	tap_check(get.version == k->version && get.bytes == k->bytes &&
		  !memcmp(value, buffer, k->bytes), "key %u: version %llu, %u bytes", i,
		  get.version, get.bytes);
	return true;
}

/* The next key from @at on that the snapshot has */
static u32 next_there(const struct open *open, u32 at)
{
	while (at < KEYS && !open->key[at].there)
		at++;
	return at;
}

static bool check_list(struct world *w, struct open *open)
{
	u32 at = rng_below(&seed, KEYS), cap = 1 + rng_below(&seed, KEYS);
	struct crab_blob_entry entry[KEYS];
	struct crab_cursor cursor;
	int n, i;

	crab_cursor_init(&cursor, at, CRAB_KEY_EMPTY);
	do {
		n = crab_snap_list(w->store, open->snap, &cursor, entry, cap);
		if (!alive(w, n))
			return false;
		for (i = 0; i < n; i++) {
			at = next_there(open, at);
			tap_check(at < KEYS && entry[i].key == at && !entry[i].err &&
				  entry[i].version == open->key[at].version &&
				  entry[i].bytes == open->key[at].bytes, "entry %llu", entry[i].key);
			at++;
		}
	} while (n > 0);
	tap_check(!n && next_there(open, at) == KEYS, "the list ends before %u: %d", at, n);
	return true;
}

static bool check_names(struct world *w, struct open *open)
{
	u32 at = rng_below(&seed, KEYS), end = KEYS;
	struct crab_named_cursor cursor;
	struct crab_named_entry entry;
	char text[NAME_ROOM];
	int n;

	crab_named_cursor_init(&cursor, text, name_of(at, text), "k2", 2);
	if (rng_below(&seed, 2)) {
		crab_named_cursor_prefix(&cursor);
		at = at < 20 ? 20 : at;
		end = 30;
	} else {
		end = 20;
	}
	while ((n = crab_snap_named_next(w->store, open->snap, &cursor, &entry)) > 0) {
		at = next_there(open, at);
		name_of(at, text);
		tap_check(at < end && entry.name_bytes == 3 && !memcmp(entry.text, text, 3) &&
			  !entry.err && entry.version == open->key[at].version && entry.type == at &&
			  entry.bytes == open->key[at].bytes, "name %.3s, not %s", entry.text, text);
		at++;
	}
	if (!alive(w, n))
		return false;
	tap_check(!n && next_there(open, at) >= end, "the names end before %u: %d", at, n);
	return true;
}

static bool check_some(struct world *w, struct open *open)
{
	if (rng_below(&seed, 3))
		return check_key(w, open, rng_below(&seed, KEYS));
	return w->named ? check_names(w, open) : check_list(w, open);
}

static bool check_all(struct world *w, struct open *open)
{
	u32 i;

	for (i = 0; i < KEYS; i++)
		if (!check_key(w, open, i))
			return false;
	return w->named ? check_names(w, open) : check_list(w, open);
}

static void snap_open(struct world *w, struct open *open)
{
	tap_check(crab_store_observe(w->store) >= 0, "no memory");
	open->snap = crab_snap_open(w->store);
	memcpy(open->key, w->key, sizeof(open->key));
}

static void snap_close(struct open *open)
{
	crab_snap_close(open->snap);
	open->snap = NULL;
}

static void step(struct world *w)
{
	struct open *open = &w->open[rng_below(&seed, SNAPS)];
	u32 dice = rng_below(&seed, 100), i = rng_below(&seed, KEYS);

	if (dice < 2)
		return open->snap ? snap_close(open) : snap_open(w, open);
	if (dice < 50)
		return rng_below(&seed, 5) < 2 ? step_erase(w, i) : step_put(w, i);
	if (dice < 55)
		crab_store_maintain(w->store);
	else if (open->snap && !check_some(w, open))
		snap_close(open);
}

static void world_format(struct world *w, const char *engine, const char *layout, bool named,
			 u32 leaves)
{
	*w = (struct world){ .named = named };
	w->media = media_create(CRAB_POOL_OFFSET + leaves * 512);
	w->store = store_make(&w->media, engine, layout, leaf_bytes_of(engine, layout),
			      named ? STORE_NAMES : STORE_BLOBS);
}

static void world_watch(struct world *w)
{
	static u32 wakes;

	tap_check(crab_store_observe(w->store) >= 0, "no memory");
	w->watch = crab_watch_open(w->store, &(struct crab_watch_options){
		.start = 10, .end = 19, .prefix = "k1", .prefix_bytes = w->named ? PREFIX : 0,
		.entries = 4, .wake = wake, .arg = &wakes,
	});
}

/* Without snapshots as many lines are in use as attach finds */
static void lines_are_right(struct world *w)
{
	u64 lines = w->store->blobs->extents.lines;

	store_check_good(w->store);
	w->store = store_cut(w->store);
	tap_check(w->store->blobs->extents.lines == lines, "%llu lines, not %llu", lines,
		  w->store->blobs->extents.lines);
}

static void finish(struct world *w)
{
	const struct crab_gate *gate = w->store->gate;
	u32 i;

	for (i = 0; i < SNAPS; i++)
		if (w->open[i].snap) {
			check_all(w, &w->open[i]);
			snap_close(&w->open[i]);
		}
	if (w->watch)
		crab_watch_close(w->watch);
	tap_check(!w->store->aside, "the gate is still on");
	tap_check(!gate || (!gate->notes && !gate->owned), "notes are left");
	tap_check(!w->store->blobs->erased.root, "erased names are left");
	lines_are_right(w);
	store_end(w->store);
}

static void test_random(const char *const *engine, bool named, u32 leaves, u64 bytes, u32 rounds)
{
	struct world w;
	u32 i;

	world_format(&w, engine[0], engine[1], named, leaves);
	w.store->options.snapshot_bytes = bytes;
	world_watch(&w);
	for (i = 0; i < rounds && !tap_faults; i++)
		step(&w);
	tap_check(bytes || leaves == FEW ? w.stale > 5 : !w.stale, "%llu stale", w.stale);
	tap_check(w.changes > rounds / 40, "%llu changes", w.changes);
	tap_check(w.full || leaves != FEW, "never full");
	/* In a full store most snapshots end soon */
	tap_check(w.reads - w.stale > rounds / (leaves == FEW ? 80 : 40), "few reads");
	finish(&w);
	tap_ok(true, "%s %s: snapshots of %s%s%s: %llu reads, %llu stale, %llu full", engine[0],
	       engine[1], named ? "names" : "blobs", bytes ? ", little DRAM" : "",
	       leaves == FEW ? ", few leaves" : "", w.reads, w.stale, w.full);
}

/* A put that finds no memory ends the snapshots that hold it, the oldest first, and succeeds */
static void test_gives(void)
{
	struct world w;
	u32 i, round;

	seed = 1;	/* with some lengths the put needs the extents of both */
	world_format(&w, "crab", "", false, 2 * FEW);
	for (i = 0; i < 10; i++)
		step_put(&w, i);
	snap_open(&w, &w.open[0]);
	for (round = 0; !w.stale && round < 1000; round++) {
		if (round == 5)
			snap_open(&w, &w.open[1]);
		for (i = 0; i < 10; i++)
			step_put(&w, 10 * (round % 4) + i);
		check_key(&w, &w.open[0], 0);
	}
	tap_check(w.stale == 1 && !w.full, "%llu stale, %llu puts failed", w.stale, w.full);
	tap_check(check_all(&w, &w.open[1]), "the younger snapshot");
	finish(&w);
	tap_ok(true, "a full store: the oldest snapshot ends, no put fails, the younger one holds");
}

/* A put that no snapshot can help fails, and ends none */
static void test_too_full(void)
{
	struct world w;
	u32 i;

	world_format(&w, "crab", "", false, FEW);
	for (i = 0; !w.full && i < KEYS; i++)
		put_bytes(&w, i, LONGEST);
	snap_open(&w, &w.open[0]);
	w.full = 0;
	for (i = 0; i < KEYS; i++)
		put_bytes(&w, i, LONGEST);
	tap_check(w.full == KEYS && check_all(&w, &w.open[0]), "%llu of %u puts failed", w.full,
		  KEYS);
	finish(&w);
	tap_ok(true, "a full store that no snapshot makes fuller: puts fail, the snapshot holds");
}

/* Stores and erases a name of 240 bytes; false: the snapshot has ended */
static bool erase_long(struct world *w, char first)
{
	char text[CRAB_NAME_MAX];
	struct crab_blob_write write = {
		.name = text, .name_bytes = sizeof(text), .data = value, .bytes = 1,
	};

	memset(text, first, sizeof(text));
	tap_check(!crab_named_put(w->store, &write) && !crab_named_erase(w->store, &write), "erase");
	return !crab_snap_state(w->open[0].snap);
}

/* Names that are erased under a snapshot take memory up to the limit; then the snapshots end */
static void test_erased(void)
{
	struct world w;
	u32 i;

	world_format(&w, "crab", "", true, LEAVES);
	w.store->options.snapshot_bytes = 16 * CRAB_NOTE_BYTES;
	for (i = 0; i < KEYS; i++)
		step_put(&w, i);
	snap_open(&w, &w.open[0]);
	for (i = 0; i < 16; i++) {
		step_erase(&w, i);
		step_put(&w, i);
	}
	tap_check(check_all(&w, &w.open[0]), "sixteen notes and as many names fit");
	snap_close(&w.open[0]);
	snap_open(&w, &w.open[0]);
	for (i = 0; i < 3; i++)
		tap_check(erase_long(&w, 'x' + i), "three long names fit");
	tap_check(!erase_long(&w, '0'), "the limit");
	snap_open(&w, &w.open[1]);
	erase_long(&w, '1');
	tap_check(!crab_snap_state(w.open[1].snap), "names of a snapshot that has ended count");
	finish(&w);
	tap_ok(true, "erased names: listed by a snapshot, forgotten when it ends");
}

/* A detach ends snapshots that hold extents; they are closed after it */
static void test_detach(void)
{
	struct world w;
	u32 i;

	world_format(&w, "crab", "", true, LEAVES);
	for (i = 0; i < KEYS; i++)
		step_put(&w, i);
	snap_open(&w, &w.open[0]);
	for (i = 0; i < KEYS; i += 2)
		step_put(&w, i);
	for (i = 1; i < KEYS; i += 2)
		step_erase(&w, i);
	crab_store_detach(w.store);
	crab_snap_close(w.open[0].snap);
	w.open[0].snap = NULL;
	w.store = store_attach(&w.media);
	finish(&w);
	tap_ok(true, "a detach ends the snapshots of names; they are closed after it");
}

/* Names that have the same crc; the type of a value is the number of its name */

static void same_put(struct world *w, u32 n, u8 type)
{
	char text[SAME_CRC_BYTES];
	struct crab_blob_write put = {
		.name = text, .name_bytes = sizeof(text), .type = type, .data = value, .bytes = 1,
	};

	same_crc(n, text);
	tap_check(!crab_named_put(w->store, &put), "put of name %u", n);
}

static void same_erase(struct world *w, u32 n)
{
	char text[SAME_CRC_BYTES];
	struct crab_blob_write erase = { .name = text, .name_bytes = sizeof(text) };

	same_crc(n, text);
	tap_check(!crab_named_erase(w->store, &erase), "erase of name %u", n);
}

/* The type of the value in a snapshot, or an error */
static int same_get(struct world *w, const struct open *open, u32 n)
{
	struct crab_blob_read get = { .buffer = buffer, .capacity = 1 };
	char text[SAME_CRC_BYTES];
	int err;

	same_crc(n, text);
	err = crab_snap_named_get(w->store, open->snap, text, sizeof(text), &get);
	return err ?: get.type;
}

/* A list of this one name that is stopped and goes on; returns the type, or an error */
static int same_list(struct world *w, const struct open *open, u32 n)
{
	char text[SAME_CRC_BYTES];
	struct crab_named_cursor cursor;
	struct crab_named_entry entry;
	int got;

	same_crc(n, text);
	crab_named_cursor_init(&cursor, text, sizeof(text), text, sizeof(text));
	w->store->engine->stop.asked = stop_always;
	got = crab_snap_named_next(w->store, open->snap, &cursor, &entry);
	tap_check(got == -EINTR, "a list that is stopped: %d", got);
	tap_check(same_get(w, open, n) == -EINTR, "a read that is stopped");
	w->store->engine->stop.asked = NULL;
	got = crab_snap_named_next(w->store, open->snap, &cursor, &entry);
	return got == 1 ? entry.err ?: entry.type : got;
}

/* Name 2 gets three keys, one after the other; the snapshots have the first and the second */
static void test_same_crc(void)
{
	struct world w;

	world_format(&w, "crab", "", true, LEAVES);
	same_put(&w, 1, 10);
	same_put(&w, 2, 20);
	same_erase(&w, 1);
	snap_open(&w, &w.open[0]);
	same_erase(&w, 2);
	same_put(&w, 1, 11);
	same_put(&w, 3, 30);
	same_put(&w, 2, 21);
	snap_open(&w, &w.open[1]);
	same_erase(&w, 2);
	same_put(&w, 4, 40);
	same_put(&w, 2, 22);
	tap_check(same_list(&w, &w.open[0], 2) == 20 && same_list(&w, &w.open[1], 2) == 21, "lists");
	tap_check(same_get(&w, &w.open[0], 2) == 20 && same_get(&w, &w.open[1], 2) == 21, "name 2");
	tap_check(same_get(&w, &w.open[0], 1) == -ENOENT && same_get(&w, &w.open[1], 1) == 11, "name 1");
	tap_check(same_get(&w, &w.open[0], 3) == -ENOENT && same_get(&w, &w.open[1], 3) == 30, "name 3");
	tap_check(same_get(&w, &w.open[1], 4) == -ENOENT && same_get(&w, &w.open[1], 5) == -ENOENT,
		  "names that came later, or never");
	finish(&w);
	tap_ok(true, "names with the same crc: stored again under other keys; a list stops and goes on");
}

int main(int argc, char **argv)
{
	u32 rounds = argc > 1 ? atoi(argv[1]) : 6000, i;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	for (i = 0; i < ARRAY_SIZE(engines); i++) {
		test_random(engines[i], false, LEAVES, 0, rounds);
		test_random(engines[i], true, LEAVES, 0, rounds);
		test_random(engines[i], true, LEAVES, 10 * CRAB_NOTE_BYTES, rounds);
		test_random(engines[i], i & 1, FEW, 0, rounds);
	}
	test_gives();
	test_too_full();
	test_erased();
	test_detach();
	test_same_crc();
	return tap_done();
}
