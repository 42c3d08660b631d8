// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the evacuation of sparse slabs: with a damaged value, with an engine that refuses the
 * new word, and for a put that finds no room while a snapshot is open, or no memory; and slabs of large
 * leaves.
 */
#include "store/blob_priv.h"
#include "store/snap.h"
#include "test.h"

#define LEAVES	512U
#define MANY	1500U	/* values in several slabs */
#define BYTES	64U
#define LARGE	4000U	/* bytes of a value that needs a slab of another size */

static u8 value[LARGE];
static u64 lowest, last;	/* keys of the values in the first and the last extent */

static int put(u64 key, u32 bytes)
{
	return store_blob_put(store, key, value, bytes);
}

static int get(u64 key)
{
	u8 buffer[BYTES];
	struct crab_blob_read read = { .key = key, .buffer = buffer, .capacity = BYTES };

	return crab_blob_get(store, &read);
}

static u64 word_of(u64 key)
{
	u64 word = 0;

	tap_check(!store->blobs->raw->lookup(store->engine, key, &word), "key %llu", key);
	return word;
}

static u64 place_of(u64 key)
{
	return word_of(key) & CRAB_PLACE_MASK;
}

static void begin_empty(void)
{
	store_begin_of(CRAB_POOL_OFFSET + LEAVES * 512, "crab", "slotted", 512, STORE_BLOBS);
}

/* Every eighth value remains, and two more; the store is full of values before, if @full */
static u64 begin(bool full)
{
	u64 key, end;

	begin_empty();
	lowest = last = 1;
	for (key = 1; (full || key <= MANY) && !put(key, BYTES); key++) {
		if (place_of(key) > place_of(last))
			last = key;
		if (place_of(key) < place_of(lowest))
			lowest = key;
	}
	end = key;
	for (key = 1; key < end; key++)
		if (key % 8 && key != lowest && key != last)
			tap_check(!store_blob_erase(store, key), "erase %llu", key);
	return end;
}

/* A new crc would hide the damage */
static void test_damaged(void)
{
	struct crab_store_info before, after;
	u64 word, rounds = 0;

	begin(false);
	crab_store_info(store, &before);
	word = word_of(last);
	media.base[crab_extent_offset(&store->blobs->extents, place_of(last)) + 80] ^= 1;
	tap_check(crab_blobs_want(store) && get(last) == -EUCLEAN, "get: %d", get(last));
	while (crab_blobs_maintain(store))
		rounds++;
	tap_check(!crab_blobs_want(store), "maintenance has no end");
	crab_store_info(store, &after);
	tap_check(after.prepare_lines > before.prepare_lines &&
		  after.prepare_fences > before.prepare_fences, "its work is not counted");
	tap_ok(rounds && word_of(last) == word && get(last) == -EUCLEAN,
	       "a damaged value stays in its slab: %llu rounds", rounds);
	store_end(store);
}

static int insert_nothing(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 word,
			  enum crab_insert_mode mode, struct crab_old *old)
{
	return -ENOSPC;
}

/* Maintains the store until no work is due, with other calls of the engine; returns its own */
static const struct crab_engine_ops *maintain_with(const struct crab_engine_ops *ops)
{
	const struct crab_engine_ops *raw = store->blobs->raw;

	store->blobs->raw = ops;
	while (crab_blobs_maintain(store))
		;
	return raw;
}

static void test_refused(void)
{
	struct crab_engine_ops ops;
	u64 key, lines, n, lent, got = 0;

	n = begin(false);
	ops = *store->blobs->raw;
	ops.insert = insert_nothing;
	lines = store->blobs->extents.lines;
	store->blobs->raw = maintain_with(&ops);
	tap_check(store->blobs->extents.lines == lines, "%llu lines, not %llu",
		  store->blobs->extents.lines, lines);
	for (key = 1; key < n; key++)
		got += !get(key) && crab_extents_holds(&store->blobs->extents, place_of(key));
	tap_check(got && got * CRAB_LINE * 2 == lines * CRAB_LINE, "%llu values of %llu lines", got, lines);
	/* Each of these slabs is chosen again once an extent of it is free */
	lent = store->blobs->extents.lent;
	tap_check(!crab_blobs_maintain(store) && !store_blob_erase(store, last), "erase");
	while (crab_blobs_maintain(store))
		;
	tap_ok(store->blobs->extents.lent < lent, "%llu values that cannot move stay, then %llu slabs go",
	       got, lent - store->blobs->extents.lent);
	store_end(store);
}

static bool reserved;	/* the reserved key was looked up */

static int lookup_watched(struct crab_engine *engine, u64 key, u64 *word)
{
	reserved |= key == CRAB_KEY_EMPTY;
	return engine->own->lookup(engine, key, word);
}

/* The header of a value has the reserved key, which no engine looks up */
static void test_reserved(void)
{
	struct crab_engine_ops ops;
	u64 word;

	begin(false);
	word = word_of(last);
	*(__le64 *)(media.base + crab_extent_offset(&store->blobs->extents, place_of(last)) + 16) =
		cpu_to_le64(CRAB_KEY_EMPTY);
	ops = *store->blobs->raw;
	ops.lookup = lookup_watched;
	store->blobs->raw = maintain_with(&ops);
	tap_ok(!reserved && word_of(last) == word && get(last) == -EUCLEAN,
	       "a value whose header has the reserved key stays in its slab");
	store_end(store);
}

/* The engine has no memory for the new words: once it has, a put that needs the room gets it */
static void test_starved(void)
{
	const struct crab_engine_ops *raw;
	struct crab_engine_ops ops;
	int err, later;

	begin(true);
	ops = *store->blobs->raw;
	ops.insert = insert_nothing;
	raw = maintain_with(&ops);
	err = put(1ULL << 40, LARGE);
	store->blobs->raw = raw;
	later = put(1ULL << 40, LARGE);
	tap_ok(err == -ENOSPC && !later, "values that cannot move for want of memory move later: %d, then %d",
	       err, later);
	store_end(store);
}

/* No snapshot has an extent to give, and no value moves while one is open */
static void test_no_room(void)
{
	struct crab_snap *snap;
	int err;

	begin(true);
	snap = store_snap(store);
	err = put(1ULL << 40, LARGE);
	tap_ok(!err && crab_snap_state(snap) == -ESTALE, "a put without room ends a snapshot: %d, %d",
	       err, crab_snap_state(snap));
	crab_snap_close(snap);
	store_end(store);
}

#define SLABS	4U
#define IN_SLAB	64U	/* values; the first ones are in the highest slab */
#define VALUES	(SLABS * IN_SLAB)

static u64 slab_of(u64 key)
{
	return (place_of(key) >> CRAB_PLACE_CLASS_BITS) / store->blobs->extents.slab_lines;
}

/* All of the lowest slab; of the next one more than an evacuation moves at once */
static bool remains(u64 key)
{
	u32 slab = key / IN_SLAB;

	return slab == SLABS - 1 || !(key % (slab == SLABS - 2 ? 3 : 8));
}

/* The free extents are in higher slabs, which are not chosen; the lower slab is full */
static void test_full_below(void)
{
	u64 key, places[VALUES], rounds = 0;

	begin_empty();
	for (key = 0; key < VALUES; key++) {
		tap_check(!put(key, BYTES), "put %llu", key);
		places[key] = place_of(key);
		tap_check(slab_of(key) == slab_of(0) - key / IN_SLAB, "key %llu: slab %llu", key,
			  slab_of(key));
	}
	for (key = 0; key < VALUES; key++)
		tap_check(remains(key) || !store_blob_erase(store, key), "erase %llu", key);
	for (key = 0; key < SLABS - 2; key++)
		tap_check(!crab_extents_leave(&store->blobs->extents, slab_of(key * IN_SLAB)), "leave");
	while (rounds < VALUES && crab_blobs_maintain(store))
		rounds++;
	for (key = 0; key < VALUES; key++)
		if (remains(key))
			tap_check(!get(key) && place_of(key) == places[key], "key %llu: %d", key, get(key));
	tap_ok(rounds == 2 && store->blobs->extents.lent == SLABS,
	       "values for which no lower slab has room stay: %llu rounds", rounds);
	store_end(store);
}

/* A slab can be emptied, but there is no memory for the copy of a value */
static void test_no_memory(void)
{
	long n;
	int err;

	begin(true);
	for (n = 0, err = -ENOMEM; err == -ENOMEM; n++) {
		crab_host_fail_alloc = n;
		err = put(1ULL << 40, LARGE);
		crab_host_fail_alloc = -1;
	}
	tap_ok(!err && n > 2, "a put without room, and without memory: %d after %ld tries", err, n);
	store_end(store);
}

/* A 32nd of the pool is less than a leaf */
static void test_large_leaves(void)
{
	store_begin_of(CRAB_POOL_OFFSET + 16 * 8192, "crab", "slotted", 8192, STORE_BLOBS);
	tap_ok(!put(1, BYTES) && !get(1) && store->blobs->extents.slab_lines * CRAB_LINE == 8192,
	       "a slab has one leaf at least: %u lines", store->blobs->extents.slab_lines);
	store_end(store);
}

int main(void)
{
	crab_host_log = NULL;	/* damage is planted, and reported in the log */
	test_damaged();
	test_refused();
	test_reserved();
	test_starved();
	test_no_room();
	test_no_memory();
	test_full_below();
	test_large_leaves();
	return tap_done();
}
