// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests puts and commits of values that find no room, with the engines whose leaves wait
 * for readers before they are free: they end, though other writes hand over leaves all the time,
 * and they end early if they are to stop.
 */
#include <linux/rcupdate.h>

#include "shared/pool.h"
#include "store/blob_commit.h"
#include "store/blob_priv.h"
#include "test.h"

#define LEAVES	300U
#define BYTES	3000U
#define FEW	4U	/* leaves that are handed over during a write: two for each try */
#define MANY	100U	/* then the test hands over no more, so that it ends if the write does not */

static const char * const engines[][2] = { { "fastfair", "" }, { "nbtree", "eadr" } };

static struct crab_blob_commit commit;	/* too large for a stack */
static u8 value[BYTES];
static u64 keys;		/* in the store */

/* Another write makes a leaf wait, unless one waits; @given: how many so far, MANY: no more */
static u32 given = MANY;

static void hand_over(struct crab_pool *pool)
{
	struct crab_later *later;
	struct crab_spare spare;

	if (pool->lock.held || pool->waiting || crab_pool_alloc(pool, &spare, 1, 0))
		return;
	given++;
	later = kmalloc(sizeof(*later), GFP_KERNEL);
	later->leaf = spare.leaf;
	crab_pool_free_later(pool, later);
}

/* Called after a try: it frees the memory for a slab that the pool does not have */
void __real_crab_host_free(const void *p);
void __wrap_crab_host_free(const void *p)
{
	__real_crab_host_free(p);
	if (given < MANY)
		hand_over(store->engine->pool);
}

static int put(u64 key)
{
	return store_blob_put(store, key, value, BYTES);
}

static int put_by_commit(u64 key)
{
	commit.n = 1;
	commit.ops[0] = (struct crab_blob_op){
		.verb = CRAB_VERB_INSERT,
		.write = { .key = key, .data = value, .bytes = BYTES },
	};
	return crab_blob_commit(store, &commit);
}

static const struct verb {
	const char *name;
	int (*put)(u64 key);
} verbs[] = { { "put", put }, { "commit", put_by_commit } };

static void make(const char *engine, const char *layout)
{
	store_begin_of(CRAB_POOL_OFFSET + LEAVES * leaf_bytes_of(engine, layout), engine, layout,
		       leaf_bytes_of(engine, layout), STORE_BLOBS | STORE_COMMITS);
}

static void fill(void)
{
	for (keys = 0; !put(keys); keys++)
		;
	tap_check(keys > 5, "%llu keys", keys);
}

/* A full store */
static void begin(const char *engine, const char *layout)
{
	make(engine, layout);
	fill();
}

/* A refused write has done nothing, and one is possible once there is room */
static void end(const struct verb *verb)
{
	struct crab_blob_read get = { .key = keys };

	tap_check(crab_blob_get(store, &get) == -ENOENT, "the key is there");
	tap_check(!store_blob_erase(store, 0) && !verb->put(keys), "%s in place of another",
		  verb->name);
	store_end(store);
}

static void test_waits(const char *const *engine, const struct verb *verb)
{
	int err;

	begin(engine[0], engine[1]);
	given = 0;
	err = verb->put(keys);
	tap_ok(err == -ENOSPC && given && given <= FEW,
	       "%s %s: a %s ends, though a leaf waits after each try: %d, %u leaves", engine[0],
	       engine[1], verb->name, err, given);
	given = MANY;
	end(verb);
}

/* The leaves of a slab wait for readers, and polling overlooks the end of these: the write waits for it */
static void test_found(const char *const *engine, const struct verb *verb)
{
	struct crab_pool *pool;
	struct crab_later *later;
	u64 first, free;
	u32 n, i;
	int err;

	make(engine[0], engine[1]);
	pool = store->engine->pool;
	n = store->blobs->extents.slab_lines * CRAB_LINE / store->engine->geo.leaf_bytes;
	tap_check(!crab_pool_alloc_run(pool, n, LEAVES, 0, &first), "a run");
	fill();
	free = pool->free;
	pool->lent -= n;
	crab_host_poll_late = true;
	for (i = 0; i < n; i++) {
		later = kmalloc(sizeof(*later), GFP_KERNEL);
		later->leaf = first + i;
		crab_pool_free_later(pool, later);
	}
	tap_check(pool->free == free && pool->waiting >= n, "the leaves do not wait");
	err = verb->put(keys);
	crab_host_poll_late = false;
	tap_ok(!err, "%s %s: a %s finds leaves that wait: %d", engine[0], engine[1], verb->name, err);
	store_check_good(store);
	store_end(store);
}

static void test_stop(const char *const *engine, const struct verb *verb)
{
	int err;

	begin(engine[0], engine[1]);
	store->engine->stop.asked = stop_always;
	err = verb->put(keys);
	store->engine->stop.asked = NULL;
	tap_ok(err == -EINTR, "%s %s: a %s stops before it searches for room: %d", engine[0], engine[1],
	       verb->name, err);
	end(verb);
}

int main(void)
{
	u32 i, verb;

	for (i = 0; i < ARRAY_SIZE(engines); i++)
		for (verb = 0; verb < ARRAY_SIZE(verbs); verb++) {
			test_waits(engines[i], &verbs[verb]);
			test_stop(engines[i], &verbs[verb]);
			test_found(engines[i], &verbs[verb]);
		}
	return tap_done();
}
