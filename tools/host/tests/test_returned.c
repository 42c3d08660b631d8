// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests, as tasks, a media on which the old word of a key returns, while its extent is
 * allocated to a write of another key. The other write stays at each of its places in turn; meanwhile
 * the key is written, its snapshot is closed, or its slab is emptied, and then other values need room.
 *
 * Invariant: no other key loses its value, and the extents of no two keys are the same.
 *
 *   test_returned
 */
#include "store/blob_commit.h"
#include "store/blob_media.h"
#include "store/blob_priv.h"
#include "store/commit_priv.h"
#include "store/snap.h"
#include "tasks.h"
#include "test.h"

#define LEAF_BYTES	512U
#define LEAVES		64U
#define BYTES		16U	/* of a value: an extent of one line */
#define BACK		1ULL	/* the key whose word returns */
#define OTHER		2ULL	/* the key that is written meanwhile */
#define FIRST		100ULL	/* of the keys that have the other extents of the slabs */
#define LATE_KEYS	48U	/* more than there are free extents */
#define LATE		200ULL	/* of those that come last */

static struct crab_snap *snap;
static struct crab_blob_commit commits[2];
static struct crab_engine_ops ops;
static const struct crab_engine_ops *raw;
static bool within;	/* the other write is within the engine */
static bool late;	/* the last values are there */
static u32 seen;	/* places at which the other write stayed */
static u32 moved;	/* of these the key moved */
static u64 place;	/* of the extent */
static int err_other;

static struct crab_blob_write write_of(u64 key)
{
	static u8 values[2 * LATE][BYTES];

	memset(values[key], key, BYTES);
	return (struct crab_blob_write){ .key = key, .data = values[key], .bytes = BYTES };
}

static int put(u64 key)
{
	struct crab_blob_write write = write_of(key);

	return crab_blob_put(store, &write);
}

static int erase(u64 key)
{
	struct crab_blob_write write = { .key = key };

	return crab_blob_erase(store, &write);
}

static int commit(struct crab_blob_commit *commit, u64 key)
{
	commit->n = 1;
	commit->ops[0] = (struct crab_blob_op){
		.verb = CRAB_VERB_INSERT, .write = write_of(key),
	};
	return crab_blob_commit(store, commit);
}

static int get(u64 key)
{
	u8 value[BYTES];
	struct crab_blob_read read = { .key = key, .buffer = value, .capacity = BYTES };
	int err = crab_blob_get(store, &read);

	return err ?: memcmp(value, write_of(key).data, BYTES) ? -EILSEQ : 0;
}

static u64 word_of(u64 key)
{
	u64 word = CRAB_NO_EXTENT;

	raw->lookup(store->engine, key, &word);
	return word;
}

static u64 place_of(u64 key)
{
	return word_of(key) & CRAB_PLACE_MASK;
}

/* The value of a key that has its extent to itself */
static int get_own(u64 key)
{
	if (!crab_extents_holds(&store->blobs->extents, place_of(key)))
		return -EBADF;
	return get(key);
}

static u32 slab_extents(void)
{
	return store->blobs->extents.slab_lines;
}

/* The next key that the other write does not lock out */
static u64 next_key(u64 key)
{
	struct crab_blobs *blobs = store->blobs;

	do
		key++;
	while (crab_blob_stripe(blobs, key) == crab_blob_stripe(blobs, OTHER));
	return key;
}

/* Puts of so many keys after @key, or erases, or gets */
static void each(u64 key, u32 n, int (*verb)(u64 key), u32 at)
{
	int err;

	while (n--) {
		key = next_key(key);
		err = verb(key);
		tap_check(!err, "place %u: key %llu: %d", at, key, err);
	}
}

static void fill(u64 from, u32 n)
{
	each(from, n, put, 0);
}

/* Others would wait for the locks of the engine */
static int insert(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
		  enum crab_insert_mode mode, struct crab_old *old)
{
	within |= key == OTHER;
	return raw->insert(engine, flow, key, value, mode, old);
}

/* Scenes: how the extents lie, the write that stays, and the writes meanwhile */

/* A new slab has a lower number than those before it, and blobs gather in the lowest */

static void prepare(void)
{
	fill(FIRST, slab_extents());
	tap_check(!put(BACK), "put");
}

/* The extent of the key is to be that of a blob from a slab which is to be emptied */
static void prepare_below(void)
{
	tap_check(!put(OTHER), "put");
	fill(FIRST, slab_extents() - 1);
	tap_check(!put(BACK), "put");
	each(FIRST, slab_extents() - 1, erase, 0);
}

/* The slab of the key is to be emptied; its extent will be the only one that is free */
static void prepare_above(void)
{
	tap_check(!put(BACK), "put");
	fill(FIRST, 3 * slab_extents() - 2);
}

static void other_put(void)
{
	err_other = put(OTHER);
}

static void other_commit(void)
{
	err_other = commit(&commits[0], OTHER);
}

static void maintain(void)
{
	while (crab_blobs_maintain(store))
		;
}

static void back_put(void)
{
	tap_check(!put(BACK), "put");
}

static void back_erase(void)
{
	tap_check(!erase(BACK), "erase");
}

static void back_commit(void)
{
	tap_check(!commit(&commits[1], BACK), "commit");
}

static void back_close(void)
{
	crab_snap_close(snap);
	snap = NULL;
}

static void back_move(void)
{
	u64 key = FIRST;
	u32 i;

	/* One remains in each other slab */
	for (i = 1; i <= 3 * slab_extents() - 2; i++) {
		key = next_key(key);
		tap_check(i % slab_extents() == 1 || !erase(key), "erase");
	}
	maintain();
	moved += place_of(BACK) != place;
}

static const struct scene {
	const char *other;
	const char *back;
	void (*prepare)(void);
	void (*write)(void);	/* that stays */
	void (*meanwhile)(void);
	bool noted;
} scenes[] = {
	{ "a put", "replaced", prepare, other_put, back_put, false },
	{ "a put", "erased", prepare, other_put, back_erase, false },
	{ "a put", "replaced by a commit", prepare, other_put, back_commit, false },
	{ "a put", "forgotten by a snapshot", prepare, other_put, back_close, true },
	{ "a put", "moved", prepare_above, other_put, back_move, false },
	{ "a commit", "replaced", prepare, other_commit, back_put, false },
	{ "a commit", "erased", prepare, other_commit, back_erase, false },
	{ "an evacuation", "replaced", prepare_below, maintain, back_put, false },
	{ "an evacuation", "erased", prepare_below, maintain, back_erase, false },
};

static const struct scene *scene;

/* The media changes: the key has its first word again */
static void word_return(u64 word)
{
	struct crab_flow flow = { .media = &media };
	struct crab_old old;

	tap_check(!raw->insert(store->engine, &flow, BACK, word, CRAB_INSERT_EITHER, &old), "insert");
}

static void begin(void)
{
	struct crab_snap *older;
	u64 word;

	media = media_create(CRAB_POOL_OFFSET + LEAVES * LEAF_BYTES);
	store = store_make(&media, "crab", "slotted", LEAF_BYTES, STORE_BLOBS | STORE_COMMITS);
	raw = store->blobs->raw;
	ops = *raw;
	ops.insert = insert;
	scene->prepare();
	older = scene->noted ? store_snap(store) : NULL;
	word = word_of(BACK);
	place = word & CRAB_PLACE_MASK;
	tap_check(!put(BACK), "put");
	word_return(word);
	if (!older)
		return;
	/* A note of each snapshot owns the extent, and the first one that is closed frees it */
	snap = store_snap(store);
	tap_check(!put(BACK), "put");
	crab_snap_close(older);
}

static void task_other(void *arg)
{
	scene->write();
}

/* A move takes the lock of the writers of the key that the extent has */
static bool others_wait(void)
{
	struct crab_blobs *blobs = store->blobs;

	return within || blobs->extents.lock.held || blobs->birth_lock.held ||
	       store->engine->pool->lock.held || store->commits->lock.held ||
	       (scene->meanwhile == back_move && crab_blob_key(blobs, place) == OTHER);
}

static void task_back(void *arg)
{
	if (others_wait())
		return;
	seen++;
	late = true;
	scene->meanwhile();
	fill(LATE, LATE_KEYS);
}

static void end(u32 at)
{
	store->blobs->raw = raw;
	tap_check(!err_other && !get(OTHER), "place %u: write %d, get %d", at, err_other, get(OTHER));
	if (late)
		each(LATE, LATE_KEYS, get_own, at);
	else
		tap_check(place_of(OTHER) == place, "place %u: another extent", at);
	if (snap)
		back_close();
	store_abandon(store);
}

static void run_scene(void)
{
	u32 at = 0;

	seen = 0;
	moved = 0;
	do {
		struct tasks_plan plan = { .seed = 1, .pace = 1, .park = ++at };

		within = false;
		late = false;
		begin();
		store->blobs->raw = &ops;
		tasks_add(task_other, NULL);
		tasks_add(task_back, NULL);
		tap_check(tasks_run(&plan) == TASKS_DONE, "place %u: the tasks come to no end", at);
		end(at);
	} while (tasks_parked());
	tap_check(moved || scene->meanwhile != back_move, "the key never moves");
	tap_ok(seen > 8, "an old word returns, whose extent %s has: the key is %s at each of %u places",
	       scene->other, scene->back, seen);
}

int main(void)
{
	u32 i;

	crab_host_cpus = 1;
	for (i = 0; i < ARRAY_SIZE(scenes); i++) {
		scene = &scenes[i];
		run_scene();
	}
	return tap_done();
}
