// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests reads of snapshots at all keys, over an engine that is an array with ranges that are
 * quarantined after the snapshots were opened; and the notes that closed snapshots leave.
 *
 * Invariant: a read of keys that the engine can read, or that have notes before any quarantined range,
 * never fails; no read returns another record than the snapshot had.
 */
#include <linux/list.h>

#include "same_crc.h"
#include "store/blob_priv.h"
#include "store/blob_snap.h"
#include "store/cursor.h"
#include "store/gate.h"
#include "store/named_priv.h"
#include "store/snap.h"
#include "store/snap_priv.h"
#include "test.h"

#define HALF	8U
#define KEYS	(2 * HALF)	/* the lowest keys, and the highest ones */
#define ROUNDS	600U
#define SNAPS	3U
#define NONE	CRAB_KEY_EMPTY

static u64 seed = 17;

/* The engine; 0: no record */
static u64 now[KEYS];
static bool lost[KEYS];

/* The snapshots */
static struct {
	struct crab_snap *snap;
	u64 value[KEYS];
	bool noted[KEYS];
} snaps[SNAPS];

static u64 key_of(u32 i)
{
	return i < HALF ? i : NONE - KEYS + i;
}

static u32 index_of(u64 key)
{
	return key < HALF ? key : key - (NONE - KEYS);
}

/* The first key from @key to @last that is lost or has a value; KEYS: none */
static u32 array_next(u64 key, u64 last, bool back)
{
	u32 i, at;

	for (i = 0; i < KEYS; i++) {
		at = back ? KEYS - 1 - i : i;
		if (back ? key_of(at) > key || key_of(at) < last : key_of(at) < key || key_of(at) > last)
			continue;
		if (lost[at] || now[at])
			return at;
	}
	return KEYS;
}

static int array_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		      struct crab_record *record)
{
	bool back = dir == CRAB_SEEK_LE;
	u32 at = array_next(key, back ? 0 : NONE, back);

	if (at == KEYS || lost[at])
		return at == KEYS ? -ENOENT : -EUCLEAN;
	*record = (struct crab_record){ key_of(at), now[at] };
	return 0;
}

static int array_lookup(struct crab_engine *engine, u64 key, u64 *value)
{
	u32 at = index_of(key);

	*value = now[at];
	return lost[at] ? -EUCLEAN : now[at] ? 0 : -ENOENT;
}

static int array_scan(struct crab_engine *engine, u64 start, u64 last, struct crab_record *records,
		      u32 cap)
{
	u32 n = 0, at = 0;

	while (n < cap && (at = array_next(start, last, false)) < KEYS && !lost[at]) {
		records[n++] = (struct crab_record){ key_of(at), now[at] };
		if (key_of(at) == last)
			break;
		start = key_of(at) + 1;
	}
	return !n && at < KEYS && lost[at] ? -EUCLEAN : (int)n;
}

static int array_insert(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
			enum crab_insert_mode mode, struct crab_old *old)
{
	now[index_of(key)] = value;
	return 0;
}

static int array_remove(struct crab_engine *engine, struct crab_flow *flow, u64 key,
			struct crab_old *old)
{
	now[index_of(key)] = 0;
	return 0;
}

static void make(unsigned int kind)
{
	store_begin_of(CRAB_POOL_OFFSET + 256 * 512, "crab", "slotted", 512, kind);
}

/* A value of the snapshot, 0 if there is none; @unknown: out */
static u64 had(u32 s, u32 at, bool *unknown)
{
	*unknown = lost[at] && !snaps[s].noted[at];
	return snaps[s].value[at];
}

/* A read of one key */
static void compare_search(u32 s, u32 at)
{
	bool unknown;
	u64 value = 0, want = had(s, at, &unknown);
	int err = crab_snap_search(store, snaps[s].snap, key_of(at), &value);

	tap_check(err == (unknown ? -EUCLEAN : want ? 0 : -ENOENT) && (err || value == want),
		  "snapshot %u, key %u: %d, %llu", s, at, err, value);
}

static int step_of(bool back)
{
	return back ? -1 : 1;
}

static void compare_seek(u32 s, int from, bool back)
{
	struct crab_record record;
	bool unknown = false, near_lost = false;
	u64 want = 0;
	int at, err = crab_snap_seek(store, snaps[s].snap, key_of(from), back ? CRAB_SEEK_LE : CRAB_SEEK_GE,
				     &record);

	for (at = from; at >= 0 && at < (int)KEYS; at += step_of(back)) {
		near_lost |= lost[at];
		want = had(s, at, &unknown);
		if (unknown || want)
			break;
	}
	if (err == -EUCLEAN)
		tap_check(near_lost, "snapshot %u: a seek from %d fails", s, from);
	else if (!err)
		tap_check(!unknown && want && record.key == key_of(at) && record.value == want,
			  "snapshot %u: a seek from %d: %llu", s, from, record.key);
	else
		tap_check(err == -ENOENT && !unknown && !want, "snapshot %u: a seek from %d: %d", s, from,
			  err);
}

/* All records from @from to @to, up to the first range that is lost, and then an error */
static void compare_read(u32 s, int from, int to, bool back, u32 cap)
{
	struct crab_record found[KEYS + 1] = { };
	struct crab_cursor cursor;
	bool met = false, unknown = false;
	u32 n = 0, want = 0;
	int got, at;

	if (back)
		crab_cursor_init_back(&cursor, key_of(to), key_of(from));
	else
		crab_cursor_init(&cursor, key_of(from), key_of(to));
	while ((got = crab_snap_read(store, snaps[s].snap, &cursor, &found[n], min(cap, KEYS - n))) > 0)
		n += got;
	for (at = from; at != to + step_of(back); at += step_of(back)) {
		u64 value = had(s, at, &unknown);

		met |= lost[at];
		if (unknown || (met && want == n))
			break;
		if (!value)
			continue;
		tap_check(want < n && found[want].key == key_of(at) && found[want].value == value,
			  "snapshot %u: a read from %d to %d by %u: key %d", s, from, to, cap, at);
		want++;
	}
	tap_check(n == want && (got == -EUCLEAN ? met : !got && (!met || !unknown)),
		  "snapshot %u: a read from %d to %d by %u: %u, not %u, then %d", s, from, to, cap, n, want,
		  got);
}

static void compare_all(u32 s)
{
	u32 i, other;

	for (i = 0; i < KEYS; i++) {
		other = rng_below(&seed, KEYS);
		compare_search(s, i);
		compare_seek(s, i, false);
		compare_seek(s, i, true);
		compare_read(s, min(i, other), max(i, other), false, 1 + i % 4);
		compare_read(s, max(i, other), min(i, other), true, 1 + i % 4);
	}
}

/* A delete of a key that has no value makes no note */
static void write_some(u32 opened)
{
	u32 i, at;
	bool puts;

	for (i = rng_below(&seed, KEYS); i; i--) {
		at = rng_below(&seed, KEYS);
		puts = rng_below(&seed, 2);
		if (opened && (puts || now[at]))
			snaps[opened - 1].noted[at] = true;
		if (puts)
			store_put(store, key_of(at), 1000 + rng_below(&seed, 1000));
		else
			store_delete(store, key_of(at));
	}
}

/* A note of a newer snapshot holds for the older ones, too */
static void share_notes(void)
{
	u32 s, at;

	for (s = SNAPS - 1; s--; )
		for (at = 0; at < KEYS; at++)
			snaps[s].noted[at] |= snaps[s + 1].noted[at];
}

static void round_of(u32 dense, u32 unknown)
{
	u32 i, s;

	for (i = 0; i < KEYS; i++) {
		now[i] = rng_below(&seed, 8) < dense ? 1 + i : 0;
		lost[i] = false;
	}
	memset(snaps, 0, sizeof(snaps));
	for (s = 0; s < SNAPS; s++) {
		snaps[s].snap = store_snap(store);
		memcpy(snaps[s].value, now, sizeof(now));
		write_some(s + 1);
	}
	share_notes();
	for (i = 0; i < KEYS; i++)
		lost[i] = unknown && !rng_below(&seed, 5);
	for (s = 0; s < SNAPS; s++)
		compare_all(s);
	for (s = 0; s < SNAPS; s++)
		crab_snap_close(snaps[s].snap);
}

static void test_reads(void)
{
	const struct crab_engine_ops *own;
	struct crab_engine_ops ops;
	u32 i;

	make(STORE_RECORDS);
	own = store->engine->ops;
	ops = *own;
	ops.lookup = array_lookup;
	ops.seek = array_seek;
	ops.scan = array_scan;
	ops.insert = array_insert;
	ops.remove = array_remove;
	store->engine->ops = store->engine->own = &ops;
	for (i = 0; i < ROUNDS; i++)
		round_of(rng_below(&seed, 9), rng_below(&seed, 2));
	tap_check(!store->gate->notes && !store->gate->spare.root, "%llu notes remain", store->gate->notes);
	tap_ok(true, "all reads of %u snapshots, at both ends of the keys and next to lost ranges",
	       ROUNDS * SNAPS);
	store->engine->ops = store->engine->own = own;
	store_abandon(store);
}

static struct crab_record strange[2];

static int scan_strange(struct crab_engine *engine, u64 start, u64 last, struct crab_record *records,
			u32 cap)
{
	memcpy(records, strange, sizeof(strange));
	return 2;
}

/* Keys that do not ascend, or are out of the range: the media has changed */
static void test_strange(u64 first, u64 second)
{
	struct crab_record records[4];
	const struct crab_engine_ops *own;
	struct crab_engine_ops ops;
	struct crab_cursor cursor;
	struct crab_snap *snap;
	int n;

	make(STORE_RECORDS);
	own = store->engine->ops;
	ops = *own;
	ops.scan = scan_strange;
	strange[0].key = first;
	strange[1].key = second;
	snap = store_snap(store);
	store->engine->ops = &ops;
	crab_cursor_init(&cursor, 2, 9);
	n = crab_snap_read(store, snap, &cursor, records, 4);
	store->engine->ops = own;
	tap_ok(n == -EUCLEAN, "a scan from 2 to 9 of the engine has the keys %llu and %llu: %d", first, second,
	       n);
	crab_snap_close(snap);
	store_abandon(store);
}

/* Its error, and not that of a range that is lost; and no snapshot has the reserved key */
static void test_ended(void)
{
	struct crab_engine_ops ops;
	const struct crab_engine_ops *own;
	struct crab_cursor cursor;
	struct crab_record record;
	struct crab_snap *snap;
	u64 value;
	int n;

	make(STORE_RECORDS);
	own = store->engine->ops;
	ops = *own;
	ops.scan = array_scan;
	snap = store_snap(store);
	tap_check(crab_snap_search(store, snap, NONE, &value) == -EINVAL &&
		  crab_snap_seek(store, snap, NONE, CRAB_SEEK_LE, &record) == -EINVAL, "the reserved key");
	crab_snap_end_all(store->gate, -ESTALE);
	store->engine->ops = &ops;
	memset(now, 0, sizeof(now));
	lost[0] = true;
	crab_cursor_init(&cursor, 0, 9);
	n = crab_snap_read(store, snap, &cursor, &record, 1);
	lost[0] = false;
	store->engine->ops = own;
	tap_ok(n == -ESTALE, "a snapshot that has ended returns its error: %d", n);
	crab_snap_close(snap);
	store_abandon(store);
}

static u32 tables(void)
{
	struct crab_snap *snap;
	u32 n = 0;

	list_for_each_entry(snap, &store->gate->snaps, list)
		n++;
	return n;
}

static struct crab_snap *open_one(void)
{
	return store_snap(store);
}

/* The notes of a snapshot that is closed go to the next older one: at once, or if another one is opened */
static void test_tables(void)
{
	struct crab_snap *a, *b, *c;
	u64 value = 0;

	make(STORE_RECORDS);
	store_put(store, 5, 50);
	a = open_one();
	b = open_one();
	store_put(store, 5, 51);
	crab_snap_close(b);
	tap_check(tables() == 2, "%u tables", tables());
	b = open_one();
	tap_check(tables() == 2, "%u tables after another one was opened", tables());
	store_put(store, 6, 60);
	c = open_one();
	crab_snap_close(b);
	tap_check(tables() == 2, "%u tables after one in between was closed", tables());
	tap_check(!crab_snap_search(store, a, 5, &value) && value == 50, "key 5: %llu", value);
	tap_check(crab_snap_search(store, a, 6, &value) == -ENOENT, "key 6");
	tap_check(!crab_snap_search(store, c, 6, &value) && value == 60, "key 6: %llu", value);
	crab_snap_close(a);
	crab_snap_close(c);
	tap_ok(!tables() && !store->gate->notes, "tables of closed snapshots: %llu notes",
	       store->gate->notes);
	store_abandon(store);
}

static u32 kicks;

static void kick(void *arg)
{
	kicks++;
}

/* The old value of a snapshot is freed with it, though a newer snapshot is open */
static void test_extents(void)
{
	struct crab_snap *a, *b;
	u64 lines;

	make(STORE_BLOBS);
	store_blob_put(store, 1, "1234567", 7);
	lines = store->blobs->extents.lines;
	a = open_one();
	tap_check(store->gate->count == CRAB_BLOB_STRIPES && store->gate->stripes == store->blobs->stripes,
		  "a snapshot waits for %u stripes", store->gate->count);
	store_blob_put(store, 1, "1234567", 7);
	b = open_one();
	tap_check(store->blobs->extents.lines == 2 * lines, "%llu lines", store->blobs->extents.lines);
	crab_snap_close(a);
	tap_check(store->blobs->extents.lines == lines, "%llu lines", store->blobs->extents.lines);
	WRITE_ONCE(store->blobs->extents.sparse, true);
	store->options.kick = kick;
	crab_snap_close(b);
	tap_ok(kicks == 1, "values may move when the last snapshot is closed: %u kicks", kicks);
	store_abandon(store);
}

static char longest[CRAB_NAME_MAX];

static int put_name(const char *name, u32 bytes)
{
	return store_name_put(store, name, bytes, name, 1);
}

static int snap_get(struct crab_snap *snap, const char *name, u32 bytes)
{
	u8 value[8];
	struct crab_blob_read get = { .buffer = value, .capacity = sizeof(value) };

	return crab_snap_named_get(store, snap, name, bytes, &get);
}

static u64 key_of_name(const char *name, u32 bytes)
{
	return crab_names_find(&store->blobs->names, name, bytes)->key;
}

/* Names of all lengths, and one whose blob is damaged: it is not missing */
static void test_names(void)
{
	struct crab_snap *snap;
	u64 word;
	int err;

	make(STORE_NAMES);
	tap_check(!put_name(longest, CRAB_NAME_MAX) && !put_name("x", 1), "put");
	snap = open_one();
	tap_check(!snap_get(snap, longest, CRAB_NAME_MAX) && !snap_get(snap, "x", 1), "get");
	tap_check(snap_get(snap, longest, CRAB_NAME_MAX + 1) == -EINVAL &&
		  snap_get(snap, "x", 0) == -EINVAL, "lengths of no name");
	store->blobs->raw->lookup(store->engine, key_of_name("x", 1), &word);
	media.base[crab_extent_offset(&store->blobs->extents, word & CRAB_PLACE_MASK) +
		   sizeof(struct crab_dblob)] ^= 1;
	err = snap_get(snap, "x", 1);
	tap_ok(err == -EUCLEAN, "a damaged value of a snapshot is not a missing name: %d", err);
	crab_snap_close(snap);
	store_abandon(store);
}

/* More values than a list reads at once; and a list of names that are not all known */
static void test_lists(void)
{
	struct crab_named_entry entry;
	struct crab_named_cursor names;
	struct crab_blob_entry entries[100];
	struct crab_cursor cursor;
	struct crab_snap *snap;
	int n, sum = 0, err;

	make(STORE_BLOBS);
	for (n = 0; n < 80; n++)
		store_blob_put(store, n, "1", 1);
	snap = open_one();
	crab_cursor_init(&cursor, 0, NONE);
	while ((n = crab_snap_list(store, snap, &cursor, entries, 100)) > 0)
		sum += n;
	tap_check(!n && sum == 80, "%d values, then %d", sum, n);
	crab_snap_close(snap);
	store_abandon(store);
	make(STORE_NAMES);
	tap_check(!put_name("x", 1), "put");
	snap = open_one();
	store->blobs->unnamed = true;
	crab_named_cursor_init(&names, "", 0, "", 0);
	n = crab_snap_named_next(store, snap, &names, &entry);
	err = crab_snap_named_next(store, snap, &names, &entry);
	tap_ok(n == 1 && err == -EUCLEAN, "lists of a snapshot: %d, then %d", n, err);
	crab_snap_close(snap);
	store_abandon(store);
}

/* The same crc, and far from each other: the name was erased under two keys */
static void test_far_keys(void)
{
	char name[2][SAME_CRC_BYTES];
	struct crab_flow flow = { .media = &media };
	struct crab_snap *snap;
	struct crab_old old;
	u64 key;
	int err;

	same_crc(1, name[0]);
	same_crc(2, name[1]);
	make(STORE_NAMES);
	key = crab_name_key(name[0], SAME_CRC_BYTES) + (1ULL << 31);
	store->blobs->raw->insert(store->engine, &flow, key, 31, CRAB_INSERT_EITHER, &old);
	tap_check(!put_name(name[0], SAME_CRC_BYTES), "put");
	snap = open_one();
	tap_check(!store_name_erase(store, name[0], SAME_CRC_BYTES) &&
		  !put_name(name[1], SAME_CRC_BYTES) && !put_name(name[0], SAME_CRC_BYTES) &&
		  !store_name_erase(store, name[0], SAME_CRC_BYTES), "another key");
	err = snap_get(snap, name[0], SAME_CRC_BYTES);
	tap_ok(!err, "a snapshot has a name that was erased under several keys: %d", err);
	crab_snap_close(snap);
	store_abandon(store);
}

/* Its values have no length, and no names */
static void test_records(void)
{
	struct crab_blob_read get = { .key = 1 };
	struct crab_named_cursor names = { };
	struct crab_named_entry entry;
	struct crab_blob_entry value;
	struct crab_cursor cursor;
	struct crab_snap *snap;

	store_begin_of(1 << 18, "crab", "slotted", 512, STORE_RECORDS);
	snap = store_snap(store);
	crab_cursor_init(&cursor, 0, NONE);
	tap_check(crab_snap_get(store, snap, &get) == -EOPNOTSUPP, "get");
	tap_check(crab_snap_list(store, snap, &cursor, &value, 1) == -EOPNOTSUPP, "list");
	tap_check(crab_snap_named_get(store, snap, "a", 1, &get) == -EOPNOTSUPP, "get of a name");
	tap_ok(crab_snap_named_next(store, snap, &names, &entry) == -EOPNOTSUPP,
	       "a snapshot of records has no values of other lengths");
	crab_snap_close(snap);
	store_end(store);
}

int main(void)
{
	crab_host_log = NULL;	/* damage is planted, and reported in the log */
	test_reads();
	test_strange(3, 3);
	test_strange(1, 3);
	test_strange(3, 10);
	test_ended();
	test_tables();
	test_extents();
	test_names();
	test_far_keys();
	test_lists();
	test_records();
	return tap_done();
}
