// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests inserts of the engine fastfair into full leaves while hardly any block is free, as
 * tasks: an insert returns -ENOSPC only if no block is free and its leaf has no room.
 */
#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/kernel.h>

#include "engines/fastfair/tree.h"
#include "model.h"
#include "store/store_priv.h"
#include "tap.h"
#include "tasks.h"

#define NODE_BYTES	256U
#define BLOCKS		40U
#define STEP		10U	/* between two keys */
#define SEEDS		400U

static struct crab_media media;
static struct crab_store *store;
static struct ff *ff;
static u64 end;			/* the key after the highest one */

static int put(u64 key)
{
	struct crab_old old;

	return crab_store_insert(store, key, key, CRAB_INSERT_CREATE, &old);
}

static void begin(void)
{
	media = media_create(CRAB_POOL_OFFSET + BLOCKS * NODE_BYTES);
	store = store_format_attach(&media, "fastfair", "", NODE_BYTES);
	ff = ff_of(store->engine);
	end = 0;
}

static void finish(void)
{
	crab_store_detach(store);
	media_destroy(&media);
}

static void run(u64 seed)
{
	struct tasks_plan plan = { .seed = seed * 7919, .pace = 1 + seed % 60 };

	tap_check(tasks_run(&plan) == TASKS_DONE, "seed %llu: the tasks come to no end", seed);
}

/* Two inserts into one full leaf, and one free block */

static int errs[2];

static void rival(void *arg)
{
	u64 n = (unsigned long)arg;

	errs[n] = put(end - STEP - 1 - n);
}

static bool last_is_full(void)
{
	struct ff_find find;

	return end && !crab_ff_find_exact(ff, end, 0, &find) && find.node.low &&
	       find.node.side->count == ff->slots;
}

static bool rivals_succeed(u64 seed)
{
	struct crab_spare spare;

	begin();
	for (; !last_is_full(); end += STEP)
		tap_check(!put(end), "insert of %llu", end);
	while (!crab_pool_alloc(&ff->pool, &spare, 1, 1))
		;
	tasks_add(rival, (void *)0);
	tasks_add(rival, (void *)1);
	run(seed);
	finish();
	return !errs[0] && !errs[1];
}

static void test_rivals(void)
{
	u64 seed;

	for (seed = 1; seed <= SEEDS; seed++)
		tap_check(rivals_succeed(seed), "seed %llu: %d and %d", seed, errs[0], errs[1]);
	tap_ok(true, "two inserts into a full leaf and one free block: both succeed, %u times", SEEDS);
}

int main(void)
{
	if (crab_persist_init())
		return 2;
	crab_host_cpus = 1;
	test_rivals();
	return tap_done();
}
