// SPDX-License-Identifier: GPL-2.0
/*
 * This file bounds the time for which CHECK keeps writers waiting. It measures no time: it counts
 * slots, leaves, and basic blocks of the module's code. Writes that modify the structure wait for
 * a turn, in which CHECK holds the lock of the structure; other writes wait for one leaf. Between
 * two turns the structure may change completely.
 *
 * Documentation/userspace-api/crabtree.rst derives the time from these numbers.
 */
#include "structure.h"
#include "test.h"

#define SIZE		(24U << 20)
#define KEYS		100000U
#define SCATTER		0x9e3779b97f4a7c15ULL	/* odd: keys do not occur twice */
#define TURN_SLOTS	8192
#define TURN_LEAVES	512
#define TURN_BLOCKS	(500 * 1000)
#define LEAF_BLOCKS	(40 * 1000)

static const struct subject {
	const char *engine;
	const char *layout;
	u32 leaf_bytes;
	bool renewed;		/* one of each engine */
} subjects[] = {
	{ "crab", "slotted", 512, true }, { "crab", "slotted", 1024, false },
	{ "crab", "slotted", 8192, false }, { "crab", "sorted", 512, false },
	{ "crab", "sorted", 1024, false }, { "crab", "sorted", 8192, false },
	{ "nvtree", "append", 512, true }, { "nvtree", "append", 1024, false },
	{ "nvtree", "append", 8192, false }, { "fastfair", "shift", 256, true },
	{ "fastfair", "shift", 512, false }, { "fastfair", "shift", 8192, false },
	{ "nbtree", "adr", 512, true }, { "nbtree", "adr", 1024, false },
	{ "nbtree", "eadr", 512, true }, { "nbtree", "eadr", 1024, false },
	{ "clfb", "inplace", 512, true }, { "clfb", "inplace", 2048, false },
	{ "clfb", "twin", 512, false }, { "clfb", "encoded", 64, false },
};

/* The flag of CHECK's lock while it runs; its current turn, the last look at the scheduler */
static const u32 *watched;
static u64 blocks, turn_begin, turn_longest, leaf_begin, leaf_longest;
static u32 leaves, leaves_most;

/* The next @between pauses between two turns of CHECK empty and fill this store */
static struct crab_store *renewed;
static u32 between;

/* From the end: so the engines without maintenance remove nodes of each level, and the root */
static void renew(struct crab_store *store)
{
	u32 key;

	for (key = KEYS; key--; ) {
		tap_check(!store_delete(store, key), "delete %u", key);
		store_maintain(store);
	}
	for (key = 0; key < KEYS; key++)
		tap_check(!store_insert(store, key, key, CRAB_INSERT_CREATE), "insert %u again",
			  key);
}

/* The compiler inserts a call of this function into each basic block */
void __sanitizer_cov_trace_pc(void)
{
	blocks++;
}

/* Called at every point that may reschedule: before each leaf, and between two turns */
void __wrap_crab_host_may_sleep(void)
{
	if (watched && *watched) {
		leaves_most = max(leaves_most, ++leaves);
		turn_longest = max(turn_longest, blocks - turn_begin);
		leaf_longest = max(leaf_longest, blocks - leaf_begin);
	} else {
		turn_begin = blocks;
		leaves = 0;
		if (watched && between) {
			const u32 *lock = watched;

			between--;
			watched = NULL;
			renew(renewed);
			watched = lock;
		}
	}
	leaf_begin = blocks;
}

/* Slots of a leaf */
static u32 slots_of(struct crab_engine *engine)
{
	if (!strcmp(engine->ops->name, "nvtree"))
		return nv_tree_of(engine)->room;
	if (!strcmp(engine->ops->name, "fastfair"))
		return ff_of(engine)->slots;
	if (!strcmp(engine->ops->name, "nbtree"))
		return nb_tree_of(engine)->room;
	if (!strcmp(engine->ops->name, "clfb"))
		return clfb_tree_of(engine)->room;
	return crab_tree_of(engine)->slots;
}

static void test_turns(const struct subject *s, u64 stride)
{
	struct crab_media media = media_create(SIZE);
	struct crab_store *store = store_format_attach(&media, s->engine, s->layout, s->leaf_bytes);
	struct crab_check_report report = { };
	u32 slots = slots_of(store->engine), key;

	for (key = 0; key < KEYS; key++)
		tap_check(!store_insert(store, key * stride, key, CRAB_INSERT_CREATE), "insert %u",
			  key);
	leaves = 0;
	leaves_most = 0;
	turn_begin = blocks;
	turn_longest = 0;
	leaf_begin = blocks;
	leaf_longest = 0;
	watched = structure_held(store->engine);
	tap_check(!crab_store_check(store, &report) && !report.damage.count, "CHECK: %s",
		  report.damage.what);
	watched = NULL;
	tap_check(leaves_most <= TURN_LEAVES && (u64)leaves_most * slots <= TURN_SLOTS,
		  "a turn of %u leaves of %u slots", leaves_most, slots);
	tap_check(turn_longest <= TURN_BLOCKS, "a turn of %llu blocks", turn_longest);
	tap_check(leaf_longest <= LEAF_BLOCKS, "a leaf of %llu blocks", leaf_longest);
	tap_ok(report.leaves > leaves_most,
	       "%s, %u, keys %s: CHECK reads %u of %llu leaves at a time, %u slots in %llu blocks; a leaf in %llu",
	       s->layout, s->leaf_bytes, stride == 1 ? "in order" : "scattered", leaves_most, report.leaves, leaves_most * slots,
	       turn_longest, leaf_longest);
	store_end(store);
}

/* CHECK goes on at its key, where no node is the one that it was: the pool is soon used again */
static void test_renewed(const struct subject *s)
{
	struct crab_check_report report = { };
	u32 key;
	int err;

	store_begin(SIZE / 4, s->engine, s->layout, s->leaf_bytes);
	for (key = 0; key < KEYS; key++)
		store_insert(store, key, key, CRAB_INSERT_CREATE);
	renewed = store;
	between = 3;
	watched = structure_held(store->engine);
	err = crab_store_check(store, &report);
	watched = NULL;
	tap_ok(!err && !report.damage.count && !between,
	       "%s, %u: CHECK of a store that is emptied and filled meanwhile: %d, %s", s->layout,
	       s->leaf_bytes, err, report.damage.what);
	store_end(store);
}

int main(void)
{
	u32 i;

	crab_host_seed(1);
	for (i = 0; i < ARRAY_SIZE(subjects); i++) {
		test_turns(&subjects[i], 1);
		test_turns(&subjects[i], SCATTER);
		if (subjects[i].renewed)
			test_renewed(&subjects[i]);
	}
	return tap_done();
}
