// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests rare states of the engine `crab`: the last births, a leaf without records next to
 * a damaged one, the costs of a batch.
 */
#include "small.h"

/* The last birth is used, and no other one after it. A split needs two, an append one */
static void test_births(void)
{
	u64 n, high = 1ULL << 40;

	begin("slotted", LEAVES);
	for (n = 0; tree->leaves < 3; n++)
		put(n * STEP);
	for (n = 1; tree->first->count < tree->slots; n++)
		put(n);
	tree->birth = CRAB_BIRTH_MAX - 1;
	tap_check(put(n) == -ENOSPC, "a split with one birth");
	tree->birth = CRAB_BIRTH_MAX - 2;
	tap_check(!put(n) && tree->birth == CRAB_BIRTH_MAX, "a split with two births");
	while (tree->last->count < tree->slots)
		put(++high);
	tap_check(put(high + 1) == -ENOSPC, "an append without a birth");
	tree->birth = CRAB_BIRTH_MAX - 1;
	tap_check(!put(high + 1) && tree->birth == CRAB_BIRTH_MAX, "an append with one birth");
	tap_check(!store->engine->ops->takes(store->engine, 0) &&
		  store->engine->ops->takes(store->engine, 1) == -ENOSPC, "a commit without births");
	tree->birth = CRAB_BIRTH_MAX - 6;
	tap_check(!store->engine->ops->takes(store->engine, 3) &&
		  store->engine->ops->takes(store->engine, 4) == -ENOSPC, "a commit of three");
	tap_ok(true, "births: the last one is used");
	end();
}

/* The birth of a leaf of the list */
static u64 birth_of(const struct crab_leaf *leaf)
{
	struct crab_head head = { };

	tap_check(crab_head_load(&media, crab_leaf_offset(&tree->base.geo, leaf->number),
				 tree->base.geo.store_id, &head), "leaf %llu", leaf->number);
	return head.birth;
}

/* Leaves that are added after an attach have other births than those before it */
static void test_once(void)
{
	const struct crab_leaf *leaf, *other;
	u64 n = 0, leaves, twice = 0;

	begin("slotted", LEAVES);
	for (leaves = 2; leaves < 20; leaves += 6) {
		while (tree->leaves < leaves)
			put(n++ * STEP);
		attach_again(false);
	}
	for (leaf = tree->first; leaf; leaf = leaf->next)
		for (other = leaf->next; other; other = other->next)
			twice += birth_of(leaf) == birth_of(other);
	tap_ok(!twice && tree->leaves > 10, "births: none is used twice");
	end();
}

/* The first leaf has no record, and the second one no header: the keys of both are in doubt */
static void test_gap(void)
{
	u64 key, high, beyond, value;

	begin("slotted", LEAVES);
	for (key = 0; tree->leaves < 4; key++)
		put(key * STEP);
	high = tree->first->high;
	beyond = tree->first->next->high;
	for (key = 0; key < high; key += STEP)
		del(key);
	tap_check(!tree->first->count && tree->leaves == 4, "the first leaf is not empty");
	crab_leaf_media(tree, tree->first->next->number)->head.crc ^= cpu_to_le32(1);
	attach_again(false);
	for (key = 0; key < beyond; key += STEP)
		tap_check(crab_store_search(store, key, &value) == -EUCLEAN, "key %llu", key / STEP);
	tap_ok(!crab_store_search(store, beyond, &value) && value == beyond + 5,
	       "attach: an empty leaf does not hide the damage of the next one");
	end();
}

#define BATCH	16U

/* Lines and fences since attach */
static u64 cost(void)
{
	struct crab_counts counts;

	crab_counts_sum(store->engine, &counts);
	return counts.lines * 1000 + counts.fences;
}

/* The same inserts one by one, or in a batch; returns their cost */
static u64 insert_cost(const char *layout, bool batch)
{
	struct crab_batch_op ops[BATCH];
	u32 round, i;
	u64 before;

	begin(layout, LEAVES);
	before = cost();
	for (round = 0; round < 4; round++) {
		for (i = 0; i < BATCH; i++)
			ops[i] = (struct crab_batch_op){
				.verb = CRAB_VERB_INSERT, .key = (i * 7 % BATCH + round) * STEP,
				.value = 5,
			};
		if (batch)
			crab_store_batch(store, ops, BATCH);
		for (i = 0; !batch && i < BATCH; i++)
			ops[i].status = crab_store_insert(store, ops[i].key, 5, CRAB_INSERT_EITHER,
							  &ops[i].old);
		for (i = 0; i < BATCH; i++)
			tap_check(!ops[i].status, "insert: %d", ops[i].status);
	}
	before = cost() - before;
	end();
	return before;
}

/* In a sorted leaf each write of a batch has its own fences, and is counted by itself */
static void test_batch(void)
{
	u64 single = insert_cost("sorted", false), batch = insert_cost("sorted", true);

	tap_ok(single && batch == single, "a batch of a sorted store costs %llu lines and %llu fences, its inserts %llu and %llu",
	       batch / 1000, batch % 1000, single / 1000, single % 1000);
}

int main(void)
{
	if (crab_persist_init())
		return 2;
	crab_host_log = NULL;	/* damage is planted, and reported in the log */
	test_births();
	test_once();
	test_gap();
	test_batch();
	return tap_done();
}
