// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests snapshots of stores of blobs and of names while writes fail: such a write has noted
 * the word of its key for the snapshots, and has replaced nothing.
 *
 * Invariants: each snapshot has the values of its time, also if others are opened and closed. An extent
 * is in use as long as a record or a snapshot has it, and no longer.
 *
 *   test_snap_failed [ROUNDS [SEED]]
 */
#include "store/blob_priv.h"
#include "store/blob_snap.h"
#include "store/gate.h"
#include "test.h"

#define KEYS	6U
#define SNAPS	5U
#define LEAVES	2048U

/* By key: number of the put that stored its value; 0: it has none */
struct known {
	u64 put[KEYS];
};

static struct open {
	struct crab_snap *snap;
	struct known known;
} open[SNAPS];

static struct crab_engine_ops ops;
static const struct crab_engine_ops *raw;
static struct known now;
static bool named, fails;
static u64 numbers, failed;
static unsigned long long seed;

static int insert(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
		  enum crab_insert_mode mode, struct crab_old *old)
{
	return fails ? -EINTR : raw->insert(engine, flow, key, value, mode, old);
}

static int remove_key(struct crab_engine *engine, struct crab_flow *flow, u64 key,
		      struct crab_old *old)
{
	return fails ? -EINTR : raw->remove(engine, flow, key, old);
}

static void begin(bool names)
{
	media = media_create(CRAB_POOL_OFFSET + LEAVES * 512);
	store = store_make(&media, "crab", "slotted", 512, names ? STORE_NAMES : STORE_BLOBS);
	raw = store->blobs->raw;
	ops = *raw;
	ops.insert = insert;
	ops.remove = remove_key;
	store->blobs->raw = &ops;
	named = names;
	memset(&now, 0, sizeof(now));
}

static void end(void)
{
	store->blobs->raw = raw;
	store_end(store);
}

static const char * const name[KEYS] = { "a", "b", "c", "d", "e", "f" };

static struct crab_blob_write write_of(u32 i)
{
	struct crab_blob_write write = { .key = i };

	if (named) {
		write.name = name[i];
		write.name_bytes = 1;
	}
	return write;
}

static void put(u32 i)
{
	struct crab_blob_write write = write_of(i);
	u64 number = ++numbers;
	int err;

	write.data = &number;
	write.bytes = sizeof(number);
	err = named ? crab_named_put(store, &write) : crab_blob_put(store, &write);
	tap_check(err == (fails ? -EINTR : 0), "put of key %u: %d", i, err);
	if (!err)
		now.put[i] = number;
}

static void erase(u32 i)
{
	struct crab_blob_write write = write_of(i);
	int err = named ? crab_named_erase(store, &write) : crab_blob_erase(store, &write);

	if (now.put[i])
		tap_check(err == (fails ? -EINTR : 0), "erase of key %u: %d", i, err);
	if (!err)
		now.put[i] = 0;
}

/* The verbs on records are refused, and need no note */
static void refused(u32 i)
{
	u64 notes = store->gate ? store->gate->notes : 0;

	tap_check(store_put(store, i, 1) == -EOPNOTSUPP &&
		  store_delete(store, i) == -EOPNOTSUPP, "a record in a store of values");
	tap_check(!store->gate || store->gate->notes == notes, "a note of a record");
}

static void snap_open(struct open *o)
{
	tap_check(crab_store_observe(store) >= 0, "observe");
	o->snap = crab_snap_open(store);
	o->known = now;
}

static void snap_close(struct open *o)
{
	crab_snap_close(o->snap);
	o->snap = NULL;
}

static void compare_key(const struct open *o, u32 i)
{
	u64 number = 0, want = o->known.put[i];
	struct crab_blob_read get = { .key = i, .buffer = &number, .capacity = sizeof(number) };
	int err = named ? crab_snap_named_get(store, o->snap, name[i], 1, &get) :
			  crab_snap_get(store, o->snap, &get);

	tap_check(err == (want ? 0 : -ENOENT) && (err || number == want),
		  "key %u of a snapshot: %d, %llu, not %llu", i, err, number, want);
}

static void compare(void)
{
	u32 s, i;

	for (s = 0; s < SNAPS; s++)
		for (i = 0; open[s].snap && i < KEYS; i++)
			compare_key(&open[s], i);
}

/* All snapshots are closed: as many lines are in use as there are values */
static void finish(void)
{
	u64 lines = 0;
	u32 i;

	for (i = 0; i < SNAPS; i++)
		if (open[i].snap)
			snap_close(&open[i]);
	for (i = 0; i < KEYS; i++)
		lines += now.put[i] > 0;
	tap_check(!store->gate->notes && !store->gate->owned, "%llu notes, %llu of them own an extent",
		  store->gate->notes, store->gate->owned);
	tap_check(store->blobs->extents.lines == lines, "%llu lines in use, not %llu",
		  store->blobs->extents.lines, lines);
}

/* A put that fails, one that does not, and the newer snapshot is closed; another value needs room */
static void test_put(void)
{
	begin(false);
	put(0);
	snap_open(&open[0]);
	fails = true;
	put(0);
	fails = false;
	snap_open(&open[1]);
	put(0);
	snap_open(&open[2]);
	snap_close(&open[1]);
	put(1);
	compare();
	finish();
	tap_ok(true, "a put that fails does not free the value that a snapshot has");
	end();
}

static void test_refused(void)
{
	begin(false);
	put(0);
	snap_open(&open[0]);
	refused(0);
	snap_open(&open[1]);
	erase(0);
	snap_open(&open[2]);
	snap_close(&open[1]);
	put(1);
	compare();
	finish();
	tap_ok(true, "nor does a record that the store refuses");
	end();
}

static int record(u64 key, u64 value, enum crab_insert_mode mode, u64 expected)
{
	struct crab_old old = { .expected = expected };

	return crab_store_insert(store, key, value, mode, &old);
}

static void notes_are(u64 want, const char *what)
{
	tap_check(store->gate->notes == want, "%s: %llu notes, not %llu", what, store->gate->notes, want);
}

static void record_is(struct crab_snap *snap, u64 key, u64 want)
{
	u64 value = 0;
	int err = crab_snap_search(store, snap, key, &value);

	tap_check(err == (want ? 0 : -ENOENT) && value == want, "key %llu of the snapshot: %d, %llu", key,
		  err, value);
}

/* Key 1 has the value 10, and key 2 has none; the operations on key 2 and 3 follow one another */
static void test_conditions(void)
{
	struct crab_batch_op ops[] = {
		{ .verb = CRAB_VERB_DELETE, .key = 2 },
		{ .verb = CRAB_VERB_INSERT, .key = 2, .mode = CRAB_INSERT_CREATE, .value = 20 },
		{ .verb = CRAB_VERB_INSERT, .key = 2, .mode = CRAB_INSERT_SWAP, .value = 21,
		  .old.expected = 20 },
		{ .verb = CRAB_VERB_INSERT, .key = 1, .mode = CRAB_INSERT_CREATE, .value = 11 },
		{ .verb = CRAB_VERB_DELETE, .key = 1 },
		{ .verb = CRAB_VERB_INSERT, .key = 3, .mode = CRAB_INSERT_REPLACE, .value = 31 },
	};
	struct crab_old old;

	store_begin(CRAB_POOL_OFFSET + LEAVES * 512, "crab", "slotted", 512);
	tap_check(!record(1, 10, CRAB_INSERT_EITHER, 0) && !record(4, 40, CRAB_INSERT_EITHER, 0), "insert");
	snap_open(&open[0]);
	tap_check(record(1, 1, CRAB_INSERT_CREATE, 0) == -EEXIST &&
		  record(1, 1, CRAB_INSERT_SWAP, 11) == -ESTALE &&
		  record(2, 1, CRAB_INSERT_REPLACE, 0) == -ENOENT &&
		  record(2, 1, CRAB_INSERT_SWAP, 0) == -ENOENT &&
		  record(2, 1, CRAB_INSERT_ADD_REPLACE, 0) == -ENOENT &&
		  crab_store_delete(store, 2, &old) == -ENOENT, "conditions");
	notes_are(0, "refused");
	tap_check(!record(4, 1, CRAB_INSERT_SWAP, 40), "swap");
	notes_are(1, "a swap");
	crab_store_batch(store, ops, ARRAY_SIZE(ops));
	tap_check(ops[0].status == -ENOENT && !ops[1].status && !ops[2].status && ops[3].status == -EEXIST &&
		  !ops[4].status && ops[5].status == -ENOENT, "batch");
	notes_are(3, "a batch");
	record_is(open[0].snap, 1, 10);
	record_is(open[0].snap, 2, 0);
	record_is(open[0].snap, 3, 0);
	record_is(open[0].snap, 4, 40);
	tap_check(!record(4, 1, CRAB_INSERT_ADD, 0) && !record(5, 1, CRAB_INSERT_ADD, 0) &&
		  !record(6, 1, CRAB_INSERT_CREATE, 0) && !record(6, 1, CRAB_INSERT_REPLACE, 0) &&
		  !crab_store_delete(store, 5, &old), "insert");
	notes_are(5, "additions");
	record_is(open[0].snap, 5, 0);
	record_is(open[0].snap, 6, 0);
	snap_close(&open[0]);
	tap_ok(true, "a record that a condition refuses makes no note");
	crab_store_detach(store);
	media_destroy(&media);
}

static void word_swap(u32 i, u64 to, u64 *from)
{
	struct crab_flow flow = { .media = &media };
	struct crab_old old;

	tap_check(!raw->insert(store->engine, &flow, i, to, CRAB_INSERT_EITHER, &old), "insert");
	*from = old.value;
}

/*
 * The media changes: a word that was replaced under a snapshot is the word of its key again, and is
 * replaced again under the next one. Its extent is freed once: then it is that of another key
 */
static void test_again(void)
{
	u64 first, second;
	u32 i;

	begin(false);
	put(0);
	tap_check(!raw->lookup(store->engine, 0, &first), "lookup");
	snap_open(&open[0]);
	put(0);
	word_swap(0, first, &second);
	snap_open(&open[1]);
	put(0);
	snap_close(&open[0]);
	for (i = 1; i < KEYS; i++)
		put(i);
	snap_close(&open[1]);
	snap_open(&open[0]);
	for (i = 1; i < KEYS; i++)
		tap_check(!raw->lookup(store->engine, i, &first) &&
			  crab_extents_holds(&store->blobs->extents, first & CRAB_PLACE_MASK),
			  "the extent of key %u is free", i);
	compare();
	snap_close(&open[0]);
	tap_check(!store->gate->notes && !store->gate->owned, "%llu notes, %llu of them own an extent",
		  store->gate->notes, store->gate->owned);
	/* No word names the second value: it remains until the next attach */
	crab_extents_free(&store->blobs->extents, second & CRAB_PLACE_MASK);
	finish();
	tap_ok(true, "a word that comes back frees no extent of another key");
	end();
}

/* The extents of a snapshot that is ended are free at once, and not only when it is closed */
static void test_end_all(void)
{
	begin(false);
	put(0);
	snap_open(&open[0]);
	put(0);
	tap_check(store->blobs->extents.lines == 2 && store->gate->owned == 1, "the snapshot has no value");
	crab_snap_end_all(store->gate, -ESTALE);
	tap_check(store->blobs->extents.lines == 1 && !store->gate->owned && !store->gate->notes,
		  "%llu lines in use, %llu notes", store->blobs->extents.lines, store->gate->notes);
	snap_close(&open[0]);
	finish();
	tap_ok(true, "a snapshot that is ended has no extents");
	end();
}

/* While a write allocates its note, another task ends all snapshots; then there may be no memory */

static enum { ENDS_NOT, ENDS, ENDS_AND_FAILS } ends;

void *__real_crab_host_alloc(size_t size, size_t align, gfp_t gfp);
void *__wrap_crab_host_alloc(size_t size, size_t align, gfp_t gfp);
void *__wrap_crab_host_alloc(size_t size, size_t align, gfp_t gfp)
{
	bool failed = ends == ENDS_AND_FAILS;

	if (ends == ENDS_NOT || size != sizeof(struct crab_note))
		return __real_crab_host_alloc(size, align, gfp);
	ends = ENDS_NOT;
	crab_snap_end_all(store->gate, -ESTALE);
	return failed ? NULL : __real_crab_host_alloc(size, align, gfp);
}

static void put_meanwhile(bool fails_too)
{
	put(0);
	snap_open(&open[0]);
	ends = fails_too ? ENDS_AND_FAILS : ENDS;
	put(0);
	tap_check(ends == ENDS_NOT && crab_snap_state(open[0].snap) == -ESTALE, "it has not ended");
	notes_are(0, "no snapshot");
	snap_close(&open[0]);
}

static void test_meanwhile(void)
{
	begin(false);
	put_meanwhile(false);
	put_meanwhile(true);
	finish();
	tap_ok(true, "snapshots end while a write allocates its note");
	end();
}

/* An erase of a value that is not there */
static void test_missing(void)
{
	begin(false);
	put(0);
	snap_open(&open[0]);
	erase(1);
	notes_are(0, "an erase of nothing");
	erase(0);
	notes_are(1, "an erase");
	compare();
	finish();
	tap_ok(true, "nor does an erase of a value that is not there");
	end();
}

/* Reads of values in a snapshot of records, and reads of names in one of blobs */
static void test_kinds(void)
{
	struct crab_named_cursor names = { .bytes = 0 };
	struct crab_named_entry named_entry;
	struct crab_blob_read get = { };
	struct crab_blob_entry entry;
	struct crab_cursor cursor;
	int err[2];

	store_begin(CRAB_POOL_OFFSET + LEAVES * 512, "crab", "slotted", 512);
	snap_open(&open[0]);
	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	err[0] = crab_snap_get(store, open[0].snap, &get);
	err[1] = crab_snap_list(store, open[0].snap, &cursor, &entry, 1);
	tap_check(err[0] == -EOPNOTSUPP && err[1] == -EOPNOTSUPP, "values: %d and %d", err[0], err[1]);
	snap_close(&open[0]);
	store_end(store);
	begin(false);
	snap_open(&open[0]);
	err[0] = crab_snap_named_get(store, open[0].snap, "a", 1, &get);
	err[1] = crab_snap_named_next(store, open[0].snap, &names, &named_entry);
	tap_ok(err[0] == -EOPNOTSUPP && err[1] == -EOPNOTSUPP,
	       "reads of a snapshot of another kind of store: %d and %d", err[0], err[1]);
	finish();
	end();
}

static void step(void)
{
	struct open *o = &open[rng_below(&seed, SNAPS)];
	u32 i = rng_below(&seed, KEYS);

	switch (rng_below(&seed, 8)) {
	case 0:
		return o->snap ? snap_close(o) : snap_open(o);
	case 1:
	case 2:
		return erase(i);
	case 3:
		return named ? compare() : refused(i);
	default:
		return put(i);
	}
}

static void test_random(bool names, u32 rounds)
{
	u64 before = failed;
	u32 i;

	begin(names);
	for (i = 0; i < rounds && !tap_faults; i++) {
		fails = !rng_below(&seed, 3);
		failed += fails;
		step();
		if (i % 8 == 0)
			compare();
	}
	fails = false;
	compare();
	finish();
	tap_ok(true, "%s: %u steps with snapshots, in %llu of which writes fail",
	       names ? "names" : "blobs", rounds, failed - before);
	end();
}

int main(int argc, char **argv)
{
	u32 rounds = argc > 1 ? atoi(argv[1]) : 20000;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	test_put();
	test_refused();
	test_conditions();
	test_missing();
	test_again();
	test_end_all();
	test_meanwhile();
	test_kinds();
	test_random(false, rounds);
	test_random(true, rounds);
	return tap_done();
}
