// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the index alone, with its shortcuts: readers that search it while its nodes split,
 * empty, merge into fewer levels and are freed, and so do tables of shortcuts and leaves.
 *
 *   test_index [RUNS [SEED]]
 *
 * AddressSanitizer reports a reader that uses a freed node, table or leaf. Each search must return a
 * leaf, and must return the right one if no change is in progress.
 */
#include <signal.h>
#include <unistd.h>

#include <linux/rcupdate.h>

#include "shared/index.h"
#include "shared/shortcut.h"
#include "lives.h"
#include "tasks.h"
#include "test.h"

#define LEAVES	256
#define READERS	2
#define MANY	8
#define ROUNDS	4

struct leaf {
	u64 low;
	struct rcu_head rcu;
};

static struct crab_index tree;
static struct leaf *leaves[LEAVES];	/* NULL: not there */
static bool running;
static u64 seed, run;

static u64 low_of(u32 i)
{
	return 10ULL * i;
}

static bool is_leaf(const struct leaf *found)
{
	return found->low < low_of(LEAVES);
}

static struct leaf *leaf_alloc(u32 i)
{
	struct leaf *leaf = kmalloc(sizeof(*leaf), GFP_KERNEL);

	if (!leaf)
		tap_fail("run %llu: no memory", run);
	leaf->low = low_of(i);
	return leaf;
}

static void add(u32 i)
{
	if (leaves[i])
		return;
	if (crab_index_reserve(&tree))
		tap_fail("run %llu: no memory", run);
	leaves[i] = leaf_alloc(i);
	crab_index_insert(&tree, low_of(i), leaves[i]);
}

static void replace(u32 i)
{
	struct leaf *before = leaves[i];

	if (!before)
		return;
	leaves[i] = leaf_alloc(i);
	crab_index_replace(&tree, low_of(i), leaves[i]);
	kfree_rcu(before, rcu);
}

static void take(u32 i)
{
	struct leaf *leaf = leaves[i];

	if (!i || !leaf)
		return;
	crab_index_remove(&tree, low_of(i));
	leaves[i] = NULL;
	kfree_rcu(leaf, rcu);
}

/* Fills the index in some order, replaces leaves, then removes all except that of low 0 */
static void change(void *arg)
{
	u64 state = seed;
	u32 round, i, step;

	for (round = 0; round < ROUNDS; round++) {
		step = 2 * (rng(&state) >> 58) + 1;	/* odd: the loop reaches every leaf */
		for (i = 0; i < LEAVES; i++)
			add(i * step % LEAVES);
		for (i = 0; i < LEAVES; i += 3)
			replace(i);
		step = rng(&state) >> 63 ? 1 : LEAVES - 1;
		for (i = 0; i < LEAVES; i++)
			take(i * step % LEAVES);
	}
	WRITE_ONCE(running, false);
}

/* Sometimes a reader is outside of its section, so that grace periods end */
static void look(void *arg)
{
	u64 state = seed + (unsigned long)arg, keys[MANY];
	void *found[MANY];
	u32 i, n;

	while (READ_ONCE(running)) {
		for (i = 0; i < MANY; i++)
			keys[i] = (rng(&state) >> 32) % low_of(LEAVES);
		rcu_read_lock();
		n = 1;
		switch ((rng(&state) >> 32) % 5) {
		case 0:
			crab_index_find_many(&tree, keys, n = MANY, found);
			break;
		case 1:
			n = crab_index_find_run(&tree, keys[0], MANY, found);
			break;
		case 2:
			crab_shortcut_find_many(&tree, keys, n = MANY, found);
			break;
		case 3:
			n = crab_shortcut_find_run(&tree, keys[0], MANY, found);
			break;
		default:
			found[0] = crab_index_find(&tree, keys[0]);
		}
		for (i = 0; i < n; i++)
			if (!is_leaf(found[i]))
				tap_fail("run %llu: a search found %p", run, found[i]);
		rcu_read_unlock();
	}
}

static void compare(void)
{
	u32 i, last = 0;
	void *found;

	for (i = 0; i < LEAVES; i++) {
		last = leaves[i] ? i : last;
		found = crab_shortcut_find(&tree, low_of(i) + 5);
		tap_check(!found || found == leaves[last], "shortcut of key %u", i);
		tap_check(crab_index_find(&tree, low_of(i) + 5) == leaves[last], "key %u", i);
	}
}

static void run_one(void)
{
	struct tasks_plan plan = { .seed = seed, .pace = 1 + run % 40 };
	unsigned long i;

	lives_begin();
	crab_index_init(&tree);
	leaves[0] = leaf_alloc(0);
	if (crab_index_append(&tree, 0, leaves[0]))
		tap_fail("run %llu: no memory", run);
	crab_shortcut_build(&tree);
	running = true;
	for (i = 1; i <= READERS; i++)
		tasks_add(look, (void *)i);
	tasks_add(change, NULL);
	if (tasks_run(&plan) != TASKS_DONE)
		tap_fail("run %llu: the tasks come to no end", run);
	compare();
	crab_index_destroy(&tree);
	kfree(leaves[0]);
	leaves[0] = NULL;
	if (lives_end())
		tap_fail("run %llu: nodes are left", run);
}

/* Prints the place of a failed assertion or a sanitizer report */
static void on_abort(int signal)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "# run %llu\n", run);

	if (write(1, text, n) < 0)
		_exit(3);
}

int main(int argc, char **argv)
{
	u64 runs = argc > 1 ? strtoull(argv[1], NULL, 0) : 60;
	u64 first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

	signal(SIGABRT, on_abort);
	for (run = first; run < first + runs && !tap_faults; run++) {
		seed = run * 0x9e3779b97f4a7c15ULL | 1;
		run_one();
	}
	tap_ok(true, "searches of an index whose nodes come and go, %llu runs", runs);
	return tap_done();
}
