// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests snapshots, with every engine: several at once, opened and closed in any order
 * among random writes, each compared with a copy of the model of that time; the memory cap, and
 * allocations that fail.
 *
 *   test_snap [ROUNDS [SEED]]
 */
#include "store/blob_snap.h"
#include "store/gate.h"
#include "store/named.h"
#include "store/snap.h"
#include "test.h"

#define KEYS	120U
#define SNAPS	4U
#define STRIDE	3U	/* between two keys: seeks also begin between them */

static const struct kind {
	const char *engine;
	const char *layout;
} kinds[] = {
	{ "crab", "slotted" }, { "crab", "sorted" }, { "nvtree", "append" }, { "fastfair", "shift" },
	{ "volatile", "" }, { "clfb", "twin" }, { "clfb", "encoded" }, { "nbtree", "adr" },
	{ "nbtree", "eadr" },
};

struct open {
	struct crab_snap *snap;
	u64 value[KEYS];	/* 0: absent */
};

struct world {
	struct crab_store *store;
	u64 value[KEYS];
	struct open open[SNAPS];
	u64 reads;
	u64 stale;
};

static unsigned long long seed = 1;

/* The lowest present key with a number >= @i, or the highest <= @i; KEYS: none */
static u32 nearest(const u64 *value, u32 i, bool up)
{
	while (i < KEYS && !value[i])
		i += up ? 1 : -1;	/* below 0 is above KEYS */
	return i < KEYS ? i : KEYS;
}

/* False once the snapshot has ended */
static bool alive(struct world *world, int err)
{
	world->reads++;
	world->stale += err == -ESTALE;
	return err != -ESTALE;
}

static bool check_key(struct world *world, struct open *open, u32 i)
{
	u64 value = 0;
	int err = crab_snap_search(world->store, open->snap, i * STRIDE, &value);

	if (!alive(world, err))
		return false;
	tap_check(err == (open->value[i] ? 0 : -ENOENT), "key %u: error %d", i, err);
	tap_check(err || value == open->value[i], "key %u: %llu, not %llu", i, value, open->value[i]);
	return true;
}

static bool check_seek(struct world *world, struct open *open, u64 key, bool up)
{
	u32 want = nearest(open->value, up ? (key + STRIDE - 1) / STRIDE : key / STRIDE, up);
	struct crab_record found = { 0 };
	int err = crab_snap_seek(world->store, open->snap, key, up ? CRAB_SEEK_GE : CRAB_SEEK_LE,
				 &found);

	if (!alive(world, err))
		return false;
	tap_check(err == (want < KEYS ? 0 : -ENOENT), "seek %d from %llu: error %d", up, key, err);
	tap_check(err || (found.key == want * STRIDE && found.value == open->value[want]),
		  "seek %d from %llu: %llu, not %u", up, key, found.key, want * STRIDE);
	return true;
}

static bool check_scan(struct world *world, struct open *open, u64 from, u64 to, u32 cap, bool back)
{
	u32 want = back ? nearest(open->value, min_t(u64, to / STRIDE, KEYS - 1), false) :
			  nearest(open->value, (from + STRIDE - 1) / STRIDE, true);
	struct crab_record record[KEYS];
	struct crab_cursor cursor;
	int n, i;

	(back ? crab_cursor_init_back : crab_cursor_init)(&cursor, from, to);
	while (!cursor.done) {
		n = crab_snap_read(world->store, open->snap, &cursor, record, cap);
		if (!alive(world, n))
			return false;
		tap_check(n >= 0 && n <= (int)cap && (n || cursor.done), "scan, back %d: %d", back, n);
		for (i = 0; i < n; i++) {
			tap_check(want < KEYS && record[i].key == want * STRIDE &&
				  record[i].value == open->value[want], "scan, back %d: %llu, not %u",
				  back, record[i].key, want * STRIDE);
			want = nearest(open->value, want + (back ? -1 : 1), !back);
		}
	}
	tap_check(want == KEYS || (back ? want * STRIDE < from : want * STRIDE > to),
		  "the scan, back %d, ends before %u", back, want * STRIDE);
	return true;
}

static bool check_some(struct world *world, struct open *open)
{
	u64 from = rng_below(&seed, KEYS * STRIDE);
	u32 which = rng_below(&seed, 5);

	switch (which) {
	case 0:
		return check_key(world, open, rng_below(&seed, KEYS));
	case 1:
		return check_seek(world, open, from, true);
	case 2:
		return check_seek(world, open, from, false);
	default:
		return check_scan(world, open, from, from + rng_below(&seed, KEYS * STRIDE),
				  1 + rng_below(&seed, KEYS), which == 3);
	}
}

static bool check_all(struct world *world, struct open *open)
{
	u32 i;

	for (i = 0; i < KEYS; i++)
		if (!check_key(world, open, i))
			return false;
	return check_scan(world, open, 0, ~0ULL, 1 + rng_below(&seed, KEYS), false);
}

static void snap_open(struct world *world, struct open *open)
{
	tap_check(crab_store_observe(world->store) >= 0, "no memory");
	open->snap = crab_snap_open(world->store);
	memcpy(open->value, world->value, sizeof(open->value));
}

static void snap_close(struct open *open)
{
	crab_snap_close(open->snap);
	open->snap = NULL;
}

static void write_one(struct world *world)
{
	u32 i = rng_below(&seed, KEYS);

	if (rng_below(&seed, 5) < 2) {
		store_delete(world->store, i * STRIDE);
		world->value[i] = 0;
	} else {
		world->value[i] = 1 + rng_below(&seed, 1000000);
		store_put(world->store, i * STRIDE, world->value[i]);
	}
}

static void write_batch(struct world *world)
{
	struct crab_batch_op op[8];
	u32 i, key, n = 2 + rng_below(&seed, 7);

	for (i = 0; i < n; i++) {
		key = rng_below(&seed, KEYS);
		world->value[key] = rng_below(&seed, 3) ? 1 + rng_below(&seed, 1000000) : 0;
		op[i] = (struct crab_batch_op){
			.verb = world->value[key] ? CRAB_VERB_INSERT : CRAB_VERB_DELETE,
			.key = key * STRIDE, .value = world->value[key],
		};
	}
	crab_store_batch(world->store, op, n);
}

static void step(struct world *world)
{
	struct open *open = &world->open[rng_below(&seed, SNAPS)];
	u32 dice = rng_below(&seed, 100);

	if (dice < 2)
		return open->snap ? snap_close(open) : snap_open(world, open);
	if (dice < 50)
		return rng_below(&seed, 4) ? write_one(world) : write_batch(world);
	if (open->snap && !check_some(world, open))
		snap_close(open);
}

static void finish(struct world *world)
{
	u32 i;

	for (i = 0; i < SNAPS; i++)
		if (world->open[i].snap) {
			check_all(world, &world->open[i]);
			snap_close(&world->open[i]);
		}
	tap_check(!world->store->aside, "the gate is still on");
	tap_check(!world->store->gate || !world->store->gate->notes, "%llu notes are left",
		  world->store->gate->notes);
}

static void test_random(const struct kind *kind, u64 bytes, u32 rounds)
{
	struct crab_media media = media_create(1 << 18);
	u32 leaf_bytes = leaf_bytes_of(kind->engine, kind->layout), i;
	struct world world = {
		.store = store_format_attach(&media, kind->engine, kind->layout, leaf_bytes),
	};

	world.store->options.snapshot_bytes = bytes;
	for (i = 0; i < rounds; i++)
		step(&world);
	finish(&world);
	tap_check(bytes ? world.stale : !world.stale, "%llu stale", world.stale);
	tap_check(world.reads - world.stale > rounds / 20, "few reads");
	store_end(world.store);
	tap_ok(true, "%s %s: snapshots with %s: %llu reads, %llu stale", kind->engine, kind->layout,
	       bytes ? "little memory" : "memory", world.reads, world.stale);
}

/* An allocation for a note that fails ends the oldest snapshot; the write goes on */
static void test_no_memory(void)
{
	struct crab_media media = media_create(1 << 18);
	struct world world = { .store = store_format_attach(&media, "crab", "", 512) };
	u32 i;

	for (i = 0; i < 200; i++)
		write_one(&world);
	snap_open(&world, &world.open[0]);
	for (i = 0; i < 40; i++)
		write_one(&world);
	snap_open(&world, &world.open[1]);
	check_all(&world, &world.open[0]);
	for (i = 0; i < 40 && !world.stale; i++) {
		crab_host_fail_alloc = 0;
		write_one(&world);
		crab_host_fail_alloc = -1;
		check_key(&world, &world.open[0], 0);
	}
	tap_check(i == 1, "%u writes until the oldest ends", i);
	tap_check(check_all(&world, &world.open[1]), "the other one goes on");
	finish(&world);
	store_end(world.store);
	tap_ok(true, "no memory for a note: the oldest snapshot ends and gives its own to the next");
}

static void test_end(void)
{
	struct crab_media media = media_create(1 << 18);
	struct world world = { .store = store_format_attach(&media, "crab", "", 512) };
	struct crab_store_info info;
	u64 value, searches;

	write_one(&world);
	snap_open(&world, &world.open[0]);
	snap_open(&world, &world.open[1]);
	write_one(&world);
	crab_snap_end_all(world.store->gate, -ENODEV);
	tap_check(crab_snap_search(world.store, world.open[0].snap, 0, &value) == -ENODEV, "search");
	snap_open(&world, &world.open[2]);
	crab_store_info(world.store, &info);
	searches = info.counts.searches;
	crab_snap_search(world.store, world.open[2].snap, 0, &value);
	crab_store_info(world.store, &info);
	tap_check(info.counts.searches == searches + 1, "the search is counted");
	crab_store_detach(world.store);
	tap_check(crab_snap_state(world.open[2].snap) == -ENODEV, "a snapshot that was open");
	crab_snap_close(world.open[2].snap);
	crab_snap_close(world.open[1].snap);
	crab_snap_close(world.open[0].snap);
	tap_ok(true, "a detach ends the snapshots; they are closed after it");
	media_destroy(&media);
}

static u32 tables(const struct crab_gate *gate)
{
	struct list_head *at;
	u32 n = 0;

	for (at = gate->snaps.next; at != &gate->snaps; at = at->next)
		n++;
	return n;
}

/* Snapshots that come and go while one stays open: their notes move to its table, which is one of two */
static void test_folded(void)
{
	struct crab_media media = media_create(1 << 18);
	struct world world = { .store = store_format_attach(&media, "crab", "", 512) };
	u32 i, writes, most = 0;

	for (i = 0; i < 200; i++)
		write_one(&world);
	snap_open(&world, &world.open[0]);
	for (i = 0; i < 500; i++) {
		snap_open(&world, &world.open[1]);
		for (writes = i % 40; writes; writes--)
			write_one(&world);
		if (i % 100 == 99)
			check_all(&world, &world.open[1]);
		snap_close(&world.open[1]);
		most = max(most, tables(world.store->gate));
	}
	tap_check(most <= 2, "%u tables", most);
	tap_check(world.store->gate->notes <= KEYS * 2, "%llu notes", world.store->gate->notes);
	finish(&world);
	store_end(world.store);
	tap_ok(true, "snapshots that are closed leave no table to one that stays open");
}

/* As many as there may be, then one more; one that has ended counts until it is closed */
static void test_many(void)
{
	struct crab_media media = media_create(1 << 18);
	struct world world = { .store = store_format_attach(&media, "crab", "", 512) };
	struct crab_snap *snap[CRAB_SNAPS_MAX];
	u32 i;

	for (i = 0; i < CRAB_SNAPS_MAX; i++) {
		write_one(&world);
		tap_check(crab_store_observe(world.store) >= 0, "no memory");
		snap[i] = crab_snap_open(world.store);
		tap_check(!IS_ERR(snap[i]), "snapshot %u: %ld", i, PTR_ERR(snap[i]));
	}
	crab_snap_end_all(world.store->gate, -ESTALE);
	tap_check(!crab_store_observe(world.store), "observe");
	tap_check(PTR_ERR(crab_snap_open(world.store)) == -EMFILE, "one more");
	crab_snap_close(snap[7]);
	snap[7] = crab_snap_open(world.store);
	tap_check(!IS_ERR(snap[7]), "in place of another: %ld", PTR_ERR(snap[7]));
	for (i = 0; i < CRAB_SNAPS_MAX; i++)
		crab_snap_close(snap[i]);
	finish(&world);
	store_end(world.store);
	tap_ok(true, "%u snapshots, and no more", CRAB_SNAPS_MAX);
}

static bool asked(void *arg)
{
	return !--*(u32 *)arg;
}

/* Keys that were stored and removed since: no read of the snapshot passes all of their notes unasked */
static void test_absent(void)
{
	struct crab_media media = media_create(1 << 18);
	struct crab_store *store = store_format_attach(&media, "crab", "", 512);
	struct world world = { .store = store };
	struct crab_record found[4];
	struct crab_cursor cursor;
	u32 questions = 100, back;
	u64 key;

	snap_open(&world, &world.open[0]);
	for (key = 0; key < 1000; key++)
		tap_check(!store_put(store, key, 1), "insert");
	for (key = 0; key < 1000; key += key % 2 + 1)
		store_delete(store, key);
	store->engine->stop = (struct crab_stop){ .asked = asked, .arg = &questions };
	for (back = 0; back < 2; back++, questions = 100) {
		(back ? crab_cursor_init_back : crab_cursor_init)(&cursor, 0, ~0ULL);
		tap_check(crab_snap_read(store, world.open[0].snap, &cursor, found, 4) == -EINTR,
			  "a read that passes all of them");
	}
	store->engine->stop.asked = NULL;
	check_all(&world, &world.open[0]);
	finish(&world);
	store_end(store);
	tap_ok(true, "a read asks, among notes of absent keys, whether it is to end");
}

/* The word of a key on the media, which its value follows */
static u64 *word_of(const struct crab_media *media, u64 key, u64 value)
{
	u64 *word = (u64 *)media->base, *end = word + media->size / sizeof(*word) - 1;

	for (; word < end; word++)
		if (word[0] == key && word[1] == value)
			return word;
	tap_fail("key %llu is not on the media", key);
	return NULL;
}

/* Reads all records of a snapshot, @cap at once; returns how many, or the first error */
static int count_all(struct world *world, u32 cap)
{
	struct crab_record record[KEYS];
	struct crab_cursor cursor;
	u64 before = 0;
	int n, sum = 0;

	crab_cursor_init(&cursor, 0, ~0ULL);
	while (!cursor.done) {
		n = crab_snap_read(world->store, world->open[0].snap, &cursor, record, cap);
		if (n < 0)
			return n;
		tap_check(cursor.done || cursor.next > before, "the cursor is at %llu after %llu",
			  cursor.next, before);
		if (!cursor.done && cursor.next <= before)
			return 0;
		before = cursor.next;
		sum += n;
	}
	return sum;
}

/*
 * A key in the middle of a leaf becomes @changed. No later record is missing without an error, and
 * the notes of a few keys before it, which leave less room than the records need, change nothing
 */
static void test_changed(u64 changed, u32 cap)
{
	struct crab_media media = media_create(1 << 18);
	struct world world = { .store = store_format_attach(&media, "crab", "slotted", 512) };
	int n;
	u32 i;

	for (i = 0; i < KEYS; i++)
		store_put(world.store, 1000 + i, 7000 + i);
	snap_open(&world, &world.open[0]);
	for (i = 0; i < 4; i++)
		store_delete(world.store, 1000 + i);
	tap_check(count_all(&world, KEYS) == KEYS, "a scan before");
	*word_of(&media, 1005, 7005) = changed;
	n = count_all(&world, cap);
	tap_check(n == -EUCLEAN || n == KEYS, "the scan returned %d", n);
	snap_close(&world.open[0]);
	store_end(world.store);
	tap_ok(true, "a key that became %llu does not end a scan of %u at once", changed, cap);
}

/* Reads of values are searches, also of a value that is not there; lists and writes are none */

static const struct crab_blob_write a_blob = { .key = 1, .data = "value", .bytes = 5 };
static const struct crab_blob_write a_name = {
	.name = "n1", .name_bytes = 2, .data = "value", .bytes = 5,
};

static int value_get(struct crab_snap *snap, u64 key, const char *name)
{
	struct crab_blob_read get = { .key = key };
	bool named = crab_store_has_names(store);

	if (snap)
		return named ? crab_snap_named_get(store, snap, name, 2, &get) :
			       crab_snap_get(store, snap, &get);
	return named ? crab_named_get(store, name, 2, &get) : crab_blob_get(store, &get);
}

static int value_write(bool named)
{
	struct crab_blob_write put = named ? a_name : a_blob, again = put, erase = put;

	if (named)
		return crab_named_put(store, &put) ?: crab_named_put(store, &again) ?:
		       crab_named_erase(store, &erase) ?: crab_named_put(store, &put);
	return crab_blob_put(store, &put) ?: crab_blob_put(store, &again) ?:
	       crab_blob_erase(store, &erase) ?: crab_blob_put(store, &put);
}

/* Lists all of a snapshot, and of now */
static int value_list(struct crab_snap *snap)
{
	struct crab_named_cursor names = { .bytes = 0 };
	struct crab_blob_entry entry[2];
	struct crab_named_entry name;
	struct crab_cursor cursor;

	if (crab_store_has_names(store))
		return crab_snap_named_next(store, snap, &names, &name);
	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	return crab_snap_list(store, snap, &cursor, entry, 2);
}

static void test_counted(bool named)
{
	struct crab_snap *snap;

	store_begin_of(1 << 18, "crab", "", 512, named ? STORE_NAMES : STORE_BLOBS);
	tap_check(!value_write(named), "a write");
	crab_store_observe(store);
	snap = crab_snap_open(store);
	tap_check(!value_write(named) && value_list(snap) == 1, "a list of the snapshot");
	tap_check(!store_info(store).counts.searches, "lists and writes are %llu searches",
		  store_info(store).counts.searches);
	tap_check(value_get(NULL, 1, "n1") == -EMSGSIZE && value_get(NULL, 2, "n2") == -ENOENT, "reads");
	tap_check(store_info(store).counts.searches == 2, "two reads are %llu searches",
		  store_info(store).counts.searches);
	tap_check(value_get(snap, 1, "n1") == -EMSGSIZE && value_get(snap, 2, "n2") == -ENOENT,
		  "reads of a snapshot");
	tap_check(store_info(store).counts.searches == 4, "four reads are %llu searches",
		  store_info(store).counts.searches);
	crab_snap_close(snap);
	store_end(store);
	tap_ok(true, "each read of a %s is a search", named ? "name" : "blob");
}

int main(int argc, char **argv)
{
	u32 rounds = argc > 1 ? atoi(argv[1]) : 20000, i;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		test_random(&kinds[i], 0, rounds);
		test_random(&kinds[i], 20 * CRAB_NOTE_BYTES, rounds);
	}
	test_no_memory();
	test_end();
	test_folded();
	test_many();
	test_absent();
	test_changed(CRAB_KEY_EMPTY - 1, KEYS);
	test_changed(1, 6);
	test_counted(false);
	test_counted(true);
	return tap_done();
}
