// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests scans of one leaf whose order is computed again and again: a scan never uses a
 * slot number that was not written.
 *
 *   test_order [RUNS [SEED]]
 *
 * The shadow of the media reports a load outside of the media. The pool has the smallest size, so
 * that most invalid slot numbers lead outside.
 */
#include <signal.h>
#include <unistd.h>

#include "media/format.h"
#include "lives.h"
#include "shadow/shadow.h"
#include "tasks.h"
#include "test.h"

#define READERS	3
#define NODES	8192
#define ROOM	600	/* more records than a leaf holds */

/* A store whose keys fill most of one leaf */
static const struct scene {
	u32 leaf_bytes;
	u32 keys;
} scenes[] = { { 512, 25 }, { 1024, 55 }, { 4096, 200 }, { 8192, 400 } };

static const struct scene *scene;
static bool running;
static u64 seed, run;

static u64 key_at(u32 i)
{
	return 10ULL * i;
}

static u64 key_random(u64 *state)
{
	return key_at((rng(state) >> 32) % scene->keys);
}

/* Each write discards the order, with more and fewer records in turn; the next scan computes it */
static void churn(void *arg)
{
	u64 state = seed;
	u32 i;

	for (i = 0; i < 40; i++) {
		store_delete(store, key_random(&state));
		if (rng(&state) >> 63)
			store_put(store, key_random(&state), i);
	}
	WRITE_ONCE(running, false);
}

static void scan(void *arg)
{
	u64 state = seed + (unsigned long)arg;
	struct crab_record records[ROOM];
	struct crab_cursor cursor;

	while (READ_ONCE(running)) {
		if (rng(&state) >> 63)
			crab_cursor_init(&cursor, rng(&state) >> 63 ? 0 : key_random(&state),
					 CRAB_KEY_EMPTY - 1);
		else
			crab_cursor_init_back(&cursor, rng(&state) >> 63 ? 0 : key_random(&state),
					      CRAB_KEY_EMPTY - 1);
		crab_cursor_read(store, &cursor, records, ROOM);
	}
}

static void fill(void)
{
	u32 i;

	for (i = 0; i < scene->keys; i++)
		if (store_insert(store, key_at(i), i, CRAB_INSERT_CREATE))
			tap_fail("run %llu: no room for key %u", run, i);
}

static void run_one(void)
{
	struct tasks_plan plan = { .seed = seed, .pace = 1 + run % 40 };
	struct crab_media media = media_create(CRAB_POOL_OFFSET + CRAB_LEAVES_MIN * (u64)scene->leaf_bytes);
	struct crab_shadow *shadow = crab_shadow_create(&media, NODES);
	unsigned long i;

	crab_host_seed(seed);
	lives_begin();
	store = store_format_attach(&media, "crab", "slotted", scene->leaf_bytes);
	fill();
	running = true;
	for (i = 1; i <= READERS; i++)
		tasks_add(scan, (void *)i);
	tasks_add(churn, NULL);
	if (tasks_run(&plan) != TASKS_DONE)
		tap_fail("run %llu: the tasks come to no end", run);
	if (shadow->errors)
		tap_fail("run %llu: %s", run, shadow->error);
	crab_store_detach(store);
	lives_end();
	crab_shadow_destroy(shadow);
	media_destroy(&media);
}

/* Prints the place of a failed assertion or a sanitizer report */
static void on_abort(int signal)
{
	char text[96];
	int n = snprintf(text, sizeof(text), "# leaves of %u bytes, run %llu\n",
			 scene->leaf_bytes, run);

	if (write(1, text, n) < 0)
		_exit(3);
}

int main(int argc, char **argv)
{
	u64 runs = argc > 1 ? strtoull(argv[1], NULL, 0) : 250;
	u64 first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	u32 i;

	signal(SIGABRT, on_abort);
	crab_host_cpus = 1;
	for (i = 0; i < ARRAY_SIZE(scenes); i++) {
		scene = &scenes[i];
		for (run = first; run < first + runs && !tap_faults; run++) {
			seed = run * 0x9e3779b97f4a7c15ULL | 1;
			run_one();
		}
		tap_ok(true, "scans of a leaf of %u bytes whose order changes, %llu runs",
		       scene->leaf_bytes, runs);
	}
	return tap_done();
}
