// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests that the results of several threads on the device are linearizable: they execute
 * random operations, and the checker searches an order of all of them that explains every
 * result (tools/linear/). Each round continues with the store of the previous one.
 *
 * CRABTREE_HISTORY=FILE keeps a history that nothing explains.
 */
#include <pthread.h>

#include "device.h"
#include "linear.h"
#include "actor.h"

#define THREADS	4
#define ROUNDS	12
#define STEPS	150	/* operations of a thread, in a round */

struct run {
	int fd;
	struct actor_store calls;
	struct history *history;
	struct actor actor[THREADS + 1];
	u64 keys[ACTOR_KEYS];
	bool grow;
	bool adds;		/* the actors only add 1 */
	pthread_barrier_t gate;
};

struct worker {
	struct run *run;
	int number;
	pthread_t thread;
};

/* The calls */

static u32 write_flags(enum history_verb verb)
{
	return verb == HISTORY_CREATE ? CRABTREE_INSERT_CREATE :
	       verb == HISTORY_REPLACE ? CRABTREE_INSERT_REPLACE :
	       verb == HISTORY_SWAP ? CRABTREE_INSERT_SWAP :
	       verb == HISTORY_ADD ? CRABTREE_INSERT_ADD : 0;
}

static int call_write(void *arg, enum history_verb verb, uint64_t key, uint64_t value,
		      uint64_t *old)
{
	struct crabtree_insert in;
	int rc = verb == HISTORY_SWAP ? dev_swap(*(int *)arg, key, *old, value, &in) :
		 dev_insert(*(int *)arg, key, value, write_flags(verb), &in);

	*old = (!rc || rc == -EEXIST || rc == -ESTALE) && in.existed ? in.old_value : HISTORY_ABSENT;
	return rc;
}

static int call_remove(void *arg, uint64_t key, uint64_t *old)
{
	int rc = dev_delete(*(int *)arg, key, old);

	if (rc)
		*old = HISTORY_ABSENT;
	return rc;
}

static int call_search(void *arg, uint64_t key, uint64_t *value)
{
	return dev_get(*(int *)arg, key, value);
}

static int call_seek(void *arg, uint64_t key, bool up, struct actor_record *record)
{
	struct crabtree_search s;
	int rc = dev_search(*(int *)arg, key, up ? CRABTREE_SEARCH_GE : CRABTREE_SEARCH_LE, &s);

	*record = (struct actor_record) { s.key, s.value };
	return rc;
}

static int call_scan(void *arg, struct actor_scan *scan)
{
	struct crabtree_record records[ACTOR_KEYS + 1];
	struct crabtree_scan s;
	u32 i;
	int rc = (scan->back ? dev_scan_back : dev_scan)(*(int *)arg, scan->start, scan->end, records,
							 scan->room, &s);

	scan->count = rc ? 0 : s.count;
	scan->done = !rc && !s.more;
	for (i = 0; i < scan->count && i < scan->room; i++)
		scan->records[i] = (struct actor_record) { records[i].key, records[i].value };
	return rc;
}

static int call_batch(void *arg, struct actor_op *op, uint32_t count)
{
	struct crabtree_batch_op ops[ACTOR_BATCH];
	struct crabtree_batch b;
	u32 i;
	int rc;

	for (i = 0; i < count; i++) {
		dev_op(&ops[i], op[i].verb == HISTORY_READ ? CRABTREE_BATCH_SEARCH :
				op[i].verb == HISTORY_DELETE ? CRABTREE_BATCH_DELETE :
							       CRABTREE_BATCH_INSERT,
		       op[i].key, op[i].value);
		ops[i].flags = write_flags(op[i].verb);
		ops[i].old_value = op[i].expected;
	}
	rc = dev_batch(*(int *)arg, ops, count, &b);
	for (i = 0; i < count; i++) {
		bool there = op[i].verb == HISTORY_DELETE ? !ops[i].status : ops[i].existed == 1;

		op[i].err = ops[i].status;
		op[i].old = op[i].verb != HISTORY_READ && there ? ops[i].old_value : HISTORY_ABSENT;
		op[i].value = ops[i].value;
	}
	return rc;
}

static int call_erase(void *arg, uint64_t from, uint64_t to, uint64_t *deleted)
{
	struct crabtree_delete_range range;
	int rc = dev_delete_range(*(int *)arg, from, to, &range);

	*deleted = range.deleted;
	return rc;
}

/* Rounds */

static void *run_actor(void *arg)
{
	struct worker *worker = arg;
	struct actor *actor = &worker->run->actor[worker->number];
	int i;

	pthread_barrier_wait(&worker->run->gate);
	for (i = 0; i < STEPS; i++) {
		if (worker->run->adds)
			actor_count_up(actor);
		else
			actor_act(actor, worker->run->grow);
	}
	return NULL;
}

static void round_threads(struct run *run)
{
	struct worker worker[THREADS];
	int i;

	pthread_barrier_init(&run->gate, NULL, THREADS);
	for (i = 0; i < THREADS; i++) {
		worker[i] = (struct worker){ .run = run, .number = i };
		REQUIRE(pthread_create(&worker[i].thread, NULL, run_actor, &worker[i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		REQUIRE(pthread_join(worker[i].thread, NULL), 0);
	pthread_barrier_destroy(&run->gate);
}

/* Records the content at the end for the next round; returns the number of records */
static u32 round_next(struct run *run)
{
	u32 i, count = 0;

	history_next(run->history, THREADS);
	for (i = 0; i < run->history->keys; i++)
		count += run->history->first[i] != HISTORY_ABSENT;
	return count;
}

static void round_keep(const struct run *run)
{
	const char *path = getenv("CRABTREE_HISTORY");
	FILE *to = path ? fopen(path, "w") : NULL;

	if (!to)
		return;
	history_save(run->history, to);
	fclose(to);
}

static void run_begin(struct run *run, int fd, u32 keys, bool adds)
{
	u32 i;

	*run = (struct run) {
		.fd = fd, .adds = adds,
		.calls = {
			.write = call_write, .remove = call_remove, .search = call_search,
			.seek = call_seek, .scan = call_scan, .batch = call_batch,
			.erase = call_erase,
		},
		.history = history_create(THREADS + 1, keys),
	};
	REQUIRE_TRUE(run->history);
	run->calls.arg = &run->fd;
	for (i = 0; i < keys; i++)
		run->keys[i] = 10 * i;
	for (i = 0; i <= THREADS; i++)
		run->actor[i] = (struct actor) {
			.store = &run->calls, .history = run->history, .log = i,
			.keys = run->keys, .seed = 0x9e3779b97f4a7c15 * (i + 1),
			.values = (i + 1ULL) << 40,
		};
}

static void run_rounds(int fd, u32 keys, bool adds)
{
	static struct run run;
	struct linear_counts counts = { 0 };
	int i;

	run_begin(&run, fd, keys, adds);
	for (i = 0; i < ROUNDS; i++) {
		run.grow = i % 4 < 2;
		round_threads(&run);
		actor_read_all(&run.actor[THREADS]);
		if (!linear_check(run.history, &counts, stdout) ||
		    (adds && !linear_sums(run.history, stdout))) {
			round_keep(&run);
			TEST_FAIL("round %d", i);
		}
		expect_sound(fd, round_next(&run));
	}
	printf("# %llu operations, %llu concurrent\n", (unsigned long long)counts.ops,
	       (unsigned long long)counts.beside);
	history_destroy(run.history);
	close(fd);
}

TEST(slotted, "answers to four threads fit together: slotted leaves that split and empty")
{
	run_rounds(fresh_store(512), 200, false);
}

TEST(hot, "the same where all want the same few keys")
{
	run_rounds(fresh_store(512), 6, false);
}

#define ROUNDS_TEST(fn, engine, layout, text)					\
	TEST(fn, text)								\
	{									\
		run_rounds(fresh_store_of(engine, layout, 512), 200, false);	\
	}

ROUNDS_TEST(sorted, "crab", "sorted", "the same of sorted leaves")
ROUNDS_TEST(nvtree, "nvtree", "append", "the same of the engine nvtree")
ROUNDS_TEST(fastfair, "fastfair", "shift", "the same of the engine fastfair")

TEST(clfb, "the same of the engine clfb")
{
	run_rounds(fresh_store_of("clfb", "twin", 512), 200, false);
	run_rounds(fresh_store_of("clfb", "encoded", 64), 200, false);
}

ROUNDS_TEST(nbtree, "nbtree", "adr", "the same of the engine nbtree")
ROUNDS_TEST(eadr, "nbtree", "eadr", "the same of its layout eadr")
ROUNDS_TEST(in_dram, "volatile", "", "the same of the engine in DRAM")

TEST(adds, "adds of four threads to the same few keys: each sum has all of them")
{
	run_rounds(fresh_store(512), 6, true);
}
