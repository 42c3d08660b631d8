// SPDX-License-Identifier: GPL-2.0
/*
 * This file fails the memory of all leaves while another task writes, and of all values while others
 * write and empty slabs. Once the quarantine has returned, no store reaches a leaf or a value: failed
 * memory could not hold an acknowledged write.
 *
 *   test_failing [RUNS [SEED]]
 */
#include "shadow/shadow.h"
#include "store/blob_commit.h"
#include "store/blob_priv.h"
#include "tasks.h"
#include "test.h"

#define NODES	2048
#define LEAVES	16U
#define KEYS	12U
#define VALUES	300U	/* in several slabs */

static const char * const engines[][2] = {
	{ "crab", "slotted" }, { "crab", "sorted" }, { "nvtree", "append" }, { "fastfair", "shift" },
	{ "clfb", "inplace" }, { "nbtree", "adr" }, { "nbtree", "eadr" },
};

static struct crab_shadow *shadow;
static u8 *then;		/* the region when the quarantine had returned */
static u32 done, refused;
static u64 seed;

static void writer(void *arg)
{
	u64 key = rng_below(&seed, KEYS);
	bool removes = rng_below(&seed, 3) == 0;
	int err;

	err = removes ? store_delete(store, key) : store_put(store, key, seed);
	if (!err)
		done++;
	else if (err == -EROFS || err == -EUCLEAN)
		refused++;
	else
		tap_check(removes && err == -ENOENT, "key %llu: error %d", key, err);
}

static void value_writer(void *arg)
{
	static struct crab_blob_commit commit;
	u64 key = 1 + rng_below(&seed, VALUES), how = rng_below(&seed, 3);
	struct crab_blob_write write = { .key = key, .data = &key, .bytes = sizeof(key) };
	int err;

	commit.n = 1;
	commit.ops[0] = (struct crab_blob_op){ .verb = CRAB_VERB_INSERT, .write = write };
	err = how == 0 ? crab_blob_put(store, &write) : how == 1 ? crab_blob_erase(store, &write) :
	      crab_blob_commit(store, &commit);
	if (!err)
		done++;
	else if (err == -EROFS || err == -EUCLEAN)
		refused++;
	else
		tap_check(how == 1 && err == -ENOENT, "value %llu: error %d", key, err);
}

static void keeper(void *arg)
{
	while (!READ_ONCE(store->readonly) && crab_blobs_maintain(store))
		;
}

static void maintainer(void *arg)
{
	while (!READ_ONCE(store->readonly) && crab_store_maintain(store))
		;
}

static void failer(void *arg)
{
	crab_store_fail(store, CRAB_POOL_OFFSET, media.size - CRAB_POOL_OFFSET);
	memcpy(then, media.base, media.size);
}

static void on_turn(void *arg, u32 task)
{
	shadow->cpu = task;
}

static void begin(const char *engine, const char *layout, u32 leaf_bytes)
{
	u64 key;

	media = media_create(CRAB_POOL_OFFSET + (u64)LEAVES * 1024);
	shadow = crab_shadow_create(&media, NODES);
	store = store_format_attach(&media, engine, layout, leaf_bytes);
	for (key = 0; key < KEYS; key += 2)
		store_insert(store, key, key, CRAB_INSERT_CREATE);
	tasks_add(writer, NULL);
	tasks_add(maintainer, NULL);
}

static void begin_values(const char *engine, const char *layout, u32 leaf_bytes)
{
	u64 key;

	media = media_create(CRAB_POOL_OFFSET + 4ULL * VALUES * CRAB_LINE);
	shadow = crab_shadow_create(&media, 4 * NODES);
	store = store_make(&media, engine, layout, leaf_bytes, STORE_BLOBS | STORE_COMMITS);
	for (key = 1; key <= VALUES; key++)
		tap_check(!store_blob_put(store, key, &key, sizeof(key)), "put");
	for (key = 1; key <= VALUES; key++)
		tap_check(!(key % 8) || !store_blob_erase(store, key), "erase");
	tasks_add(value_writer, NULL);
	tasks_add(keeper, NULL);
}

static void run_one(const char *engine, const char *layout, u32 leaf_bytes, bool values)
{
	struct tasks_plan plan = { .pace = 1 + rng_below(&seed, 60), .turn = on_turn };

	(values ? begin_values : begin)(engine, layout, leaf_bytes);
	then = malloc(media.size);
	plan.seed = rng(&seed) | 1;
	tasks_add(failer, NULL);
	tap_check(tasks_run(&plan) == TASKS_DONE, "the tasks come to no end");
	tap_check(!memcmp(then + CRAB_POOL_OFFSET, media.base + CRAB_POOL_OFFSET, media.size - CRAB_POOL_OFFSET),
		  "%s %s: seed %llu: a store into memory that has failed", engine, layout, plan.seed);
	free(then);
	crab_store_detach(store);
	crab_shadow_destroy(shadow);
	media_destroy(&media);
}

static void run_many(const char *engine, const char *layout, u32 leaf_bytes, bool values, u64 runs,
		     u64 first)
{
	u64 run;

	done = refused = 0;
	seed = first * 0x9e3779b97f4a7c15ULL | 1;
	for (run = 0; run < runs && !tap_faults; run++)
		run_one(engine, layout, leaf_bytes, values);
	tap_ok(done > runs / 10 && refused > runs / 10,
	       "%s %s, leaves of %u bytes%s: %u writes done, %u refused", engine, layout, leaf_bytes,
	       values ? ", values" : "", done, refused);
}

int main(int argc, char **argv)
{
	u64 runs = argc > 1 ? strtoull(argv[1], NULL, 0) : 3000;
	u64 first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	u32 i;

	crab_host_cpus = 1;
	crab_host_log = NULL;
	for (i = 0; i < ARRAY_SIZE(engines); i++)
		run_many(engines[i][0], engines[i][1], leaf_bytes_of(engines[i][0], engines[i][1]),
			 false, runs, first);
	/* Leaves that are full: their writes move them */
	run_many("nbtree", "eadr", 128, false, runs, first);
	run_many("crab", "slotted", 512, true, runs / 10, first);
	return tap_done();
}
