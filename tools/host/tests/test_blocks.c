// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests inserts of the engine fastfair into full leaves while hardly any block is free, as
 * tasks: an insert returns -ENOSPC only if no block is free and its leaf has no room.
 */
#include "engines/fastfair/tree.h"
#include "tasks.h"
#include "test.h"

#define NODE_BYTES	256U
#define BLOCKS		40U
#define STEP		10U	/* between two keys */
#define SEEDS		400U
#define LINGER		2000U	/* places that a reader passes after the insert has begun */

static struct ff *ff;
static u64 end;			/* the key after the highest one */

static int put(u64 key)
{
	return store_insert(store, key, key, CRAB_INSERT_CREATE);
}

static void begin(void)
{
	store_begin(CRAB_POOL_OFFSET + BLOCKS * NODE_BYTES, "fastfair", "", NODE_BYTES);
	ff = ff_of(store->engine);
	end = 0;
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
	store_end(store);
	return !errs[0] && !errs[1];
}

static void test_rivals(void)
{
	u64 seed;

	for (seed = 1; seed <= SEEDS; seed++)
		tap_check(rivals_succeed(seed), "seed %llu: %d and %d", seed, errs[0], errs[1]);
	tap_ok(true, "two inserts into a full leaf and one free block: both succeed, %u times", SEEDS);
}

/* An insert while the free blocks wait for a reader */

static bool reading, inserting, left;

static void reader(void *arg)
{
	u32 i;

	crab_rcu_enter();
	reading = true;
	while (!READ_ONCE(inserting))
		;
	for (i = 0; i < LINGER; i++)
		crab_task_point();
	left = true;
	crab_rcu_leave();
}

static void writer(void *arg)
{
	u64 key;

	while (!READ_ONCE(reading))
		;
	for (key = 0; key < end / 2; key += STEP)
		tap_check(!store_delete(store, key), "delete of %llu", key);
	tap_check(ff->pool.waiting > 2 && !left, "%llu blocks wait", ff->pool.waiting);
	WRITE_ONCE(inserting, true);
	errs[0] = put(end);
	tap_check(left, "the insert has not waited");
}

static int insert_waits(u64 seed)
{
	reading = inserting = left = false;
	begin();
	while (!put(end))
		end += STEP;
	tasks_add(writer, NULL);
	tasks_add(reader, NULL);
	run(seed);
	store_end(store);
	return errs[0];
}

static void test_waits(void)
{
	u64 seed;

	for (seed = 1; seed <= SEEDS; seed++)
		tap_check(!insert_waits(seed), "seed %llu: %d", seed, errs[0]);
	tap_ok(true, "an insert waits for the reader of removed leaves, and succeeds, %u times", SEEDS);
}

int main(void)
{
	crab_host_cpus = 1;
	test_rivals();
	test_waits();
	return tap_done();
}
