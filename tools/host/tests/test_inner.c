// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests writes of the engine nvtree without memory for as many parent nodes as it likes to
 * have: large allocations fail.
 */
#include "engines/nvtree/nvtree.h"
#include "test.h"

#define LEAF_BYTES	512U
#define LEAVES		4000U
#define KEYS		20000U
#define SOME		(64UL << 10)	/* a parent node with one entry takes half a KiB */
#define REFUSED		3000U		/* inserts in turn: after them all parent nodes are full */

static size_t most = SIZE_MAX;
static bool endless;		/* a large allocation would take the last free page */

void *__real_crab_host_alloc(size_t size, size_t align, gfp_t gfp);

void *__wrap_crab_host_alloc(size_t size, size_t align, gfp_t gfp)
{
	if (size <= PAGE_SIZE)
		return __real_crab_host_alloc(size, align, gfp);
	endless |= !(gfp & __GFP_RETRY_MAYFAIL);
	return size > most ? NULL : __real_crab_host_alloc(size, align, gfp);
}

static struct model *model;

static void begin(size_t limit)
{
	store_begin(CRAB_POOL_OFFSET + LEAVES * LEAF_BYTES, "nvtree", "", LEAF_BYTES);
	model = model_create(KEYS, MODEL_UNIFORM, 1);
	most = limit;
}

static void end(void)
{
	most = SIZE_MAX;
	model_compare(model, store);
	store = store_again(store);
	model_compare(model, store);
	crab_store_detach(store);
	model_destroy(model);
	media_destroy(&media);
}

static int put(u32 at, u64 value)
{
	int err = store_put(store, model->keys[at], value);

	if (!err)
		model_put(model, at, value);
	return err;
}

/* Inserts keys in a random order; returns the first error */
static int fill(void)
{
	u64 seed = 7;
	u32 i, at;
	int err = 0;

	for (i = 0; i < KEYS && !err; i++) {
		at = rng_below(&seed, KEYS);
		err = put(at, i);
	}
	return err;
}

static void test_some(void)
{
	struct nv_tree *tree;
	int err;

	begin(SOME);
	err = fill();
	tree = nv_tree_of(store->engine);
	tap_check(err || tree->leaves * LEAF_BYTES > 4 * SOME, "%llu leaves", tree->leaves);
	tap_ok(!err, "nvtree: inserts go on with denser parent nodes: %d, %llu leaves", err,
	       tree->leaves);
	end();
	tap_ok(!endless, "nvtree: an allocation for all parent nodes fails before it takes all memory");
}

/* Until no leaf has room, and no parent node */
static void fill_up(void)
{
	u32 refused = 0, at = 0;

	while (refused < REFUSED) {
		at = (at + 7919) % KEYS;
		refused = put(at, at) ? refused + 1 : 0;
	}
}

static void test_none(void)
{
	u32 i, failed = 0, full = 0;

	begin(0);
	fill_up();
	for (i = 0; i < KEYS; i++) {
		if (model->there[i])
			failed += !!put(i, i + 1);
		else
			full += put(i, i) == -ENOMEM;
	}
	tap_check(full > KEYS / 2, "%u inserts were refused", full);
	tap_ok(!failed, "nvtree: without memory for an entry, %u of %u updates fail", failed,
	       model->count);
	most = SIZE_MAX;
	tap_ok(!fill(), "nvtree: with memory again, inserts succeed");
	end();
}

int main(void)
{
	crab_host_seed(1);
	test_some();
	test_none();
	return tap_done();
}
