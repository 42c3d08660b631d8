// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests batches over several slotted leaves: results, and how many epochs they take. Each
 * epoch has one fence.
 */
#include "small.h"

#define PER	8U	/* records of a leaf: there is room in each */

enum { SEARCH = CRAB_VERB_SEARCH, INSERT = CRAB_VERB_INSERT, DELETE = CRAB_VERB_DELETE };

/* One operation, and its result; a value of 0 is that of put() */
struct step {
	u32 verb;
	u64 key;
	u64 value;
	int status;
	bool existed;
};

/* The @nth key of a leaf, counted from 0; with PER as @nth the first one that is not there */
static u64 key_of(u64 leaf, u64 nth)
{
	return leaf * STEP + nth;
}

/* Leaf n has the keys n * STEP and those after it: splits leave room in each */
static void begin_leaves(u64 n)
{
	struct crab_leaf *leaf;
	u64 i, nth;

	begin("slotted", LEAVES);
	for (i = 0; i < n; i++)
		for (nth = 0; nth < tree->slots; nth++)
			put(key_of(i, nth));
	for (i = 0; i < n; i++)
		for (nth = PER; nth < tree->slots; nth++)
			del(key_of(i, nth));
	tap_check(tree->leaves == n, "%llu leaves", tree->leaves);
	for (leaf = tree->first; leaf; leaf = leaf->next)
		tap_check(leaf->count == PER, "%u records", leaf->count);
}

static u64 fences(void)
{
	struct crab_counts counts;

	crab_counts_sum(store->engine, &counts);
	return counts.fences;
}

static bool step_is(const struct step *step, const struct crab_batch_op *op)
{
	u64 value = step->value ?: step->key + 5;

	if (op->status != step->status)
		return false;
	if (step->verb == SEARCH)
		return op->status || op->value == value;
	return op->old.existed == step->existed && (!step->existed || op->old.value == step->key + 5);
}

/* Executes the steps as one batch, with so many fences */
static void run(const char *what, const struct step *steps, u32 n, u64 want)
{
	struct crab_batch_op ops[16] = { };
	u64 before = fences();
	u32 i, wrong = 0;

	for (i = 0; i < n; i++)
		ops[i] = (struct crab_batch_op){
			.verb = steps[i].verb, .key = steps[i].key,
			.value = steps[i].verb == SEARCH ? ~1ULL : steps[i].value,
		};
	crab_store_batch(store, ops, n);
	before = fences() - before;
	for (i = 0; i < n; i++) {
		wrong += !step_is(&steps[i], &ops[i]);
		tap_check(step_is(&steps[i], &ops[i]), "step %u: %d, %d, %llu", i, ops[i].status,
			  ops[i].old.existed, ops[i].value);
	}
	tree->last->quarantined = false;
	tap_ok(!wrong && before == want, "%s: %llu fences", what, before);
	store_check_good(store);
	end();
}

/* Reads of leaves that the epoch has locked, and of others */
static void test_reads(void)
{
	const struct step steps[] = {
		{ SEARCH, .key = key_of(1, 0) },
		{ INSERT, .key = key_of(0, PER), .value = 7 },
		{ SEARCH, .key = key_of(0, PER), .value = 7 },
		{ SEARCH, .key = key_of(0, PER + 1), .status = -ENOENT },
		{ SEARCH, .key = key_of(2, 3) },
		{ SEARCH, .key = key_of(2, PER), .status = -ENOENT },
		{ INSERT, .key = key_of(1, 1), .value = 7, .existed = true },
		{ SEARCH, .key = key_of(3, 0), .status = -EUCLEAN },
	};

	begin_leaves(4);
	tap_check(tree->last->low == key_of(3, 0), "another leaf");
	tree->last->quarantined = true;
	run("reads of leaves with and without a lock, and in quarantine", steps, ARRAY_SIZE(steps), 1);
}

/* Several writes to each of three leaves, of which one loses all its records: it is the first leaf */
static void test_writes(void)
{
	const struct step steps[] = {
		{ INSERT, .key = key_of(2, 1), .value = 7, .existed = true },
		{ DELETE, .key = key_of(1, 2), .existed = true },
		{ INSERT, .key = key_of(3, PER), .value = 7 },
		{ DELETE, .key = key_of(0, 0), .existed = true },
		{ INSERT, .key = key_of(2, PER), .value = 7 },
		{ DELETE, .key = key_of(1, 3), .existed = true },
		{ DELETE, .key = key_of(1, PER), .status = -ENOENT },
		{ INSERT, .key = key_of(3, 5), .value = 7, .existed = true },
	};
	u64 nth;

	begin_leaves(4);
	for (nth = 1; nth < PER; nth++)
		del(key_of(0, nth));
	run("writes to four leaves are one epoch", steps, ARRAY_SIZE(steps), 1);
}

/* An insert may get the slot that the epoch has freed: one more fence, and one only */
static void test_lost(void)
{
	const struct step steps[] = {
		{ DELETE, .key = key_of(1, 2), .existed = true },
		{ INSERT, .key = key_of(2, PER), .value = 7 },
		{ INSERT, .key = key_of(1, PER), .value = 7 },
		{ INSERT, .key = key_of(1, PER + 1), .value = 7 },
		{ INSERT, .key = key_of(2, PER + 1), .value = 7 },
	};

	begin_leaves(4);
	run("an insert into a leaf that lost a record", steps, ARRAY_SIZE(steps), 2);
}

/* The last record of a leaf: the leaf is unlinked, alone, after an epoch and before one */
static void test_unlink(void)
{
	const struct step steps[] = {
		{ INSERT, .key = key_of(1, 1), .value = 7, .existed = true },
		{ DELETE, .key = key_of(2, 0), .existed = true },
		{ INSERT, .key = key_of(3, 1), .value = 7, .existed = true },
	};
	u64 nth;

	begin_leaves(4);
	for (nth = 1; nth < PER; nth++)
		del(key_of(2, nth));
	tap_check(tree->leaves == 4, "%llu leaves before", tree->leaves);
	run("a leaf that loses its last record is unlinked", steps, ARRAY_SIZE(steps), 3);
}

int main(void)
{
	test_reads();
	test_writes();
	test_lost();
	test_unlink();
	return tap_done();
}
