// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests memory that fails under the first or the last line of a leaf, or under all of it:
 * each time this leaf is quarantined, once, and none next to it.
 */
#include "badmedia.h"
#include "engines/clfb/node.h"
#include "shared/pool.h"
#include "test.h"

#define RECORDS	1200U
#define KEYS	(2 * RECORDS)
#define LEAVES	128U	/* among which those in use fail, one after the other */
#define NODES	32U	/* the same */
#define USED	12U	/* of them are enough */

static bool there[KEYS];

static u32 lost_keys(struct crab_store *store)
{
	u32 key, lost = 0;

	for (key = 0; key < KEYS; key++)
		lost += store_search(store, key) == -EUCLEAN;
	return lost;
}

static char logged[256];	/* the last line of the log */

static void log_keep(char level, const char *line)
{
	snprintf(logged, sizeof(logged), "%s", line);
}

/* Does the log name the number of leaves? Those of its lines that damage follows are not kept */
static bool log_names(u64 leaves)
{
	char text[64];

	snprintf(text, sizeof(text), ", %llu leaves quarantined", (unsigned long long)leaves);
	return strstr(logged, text);
}

/* Returns the number of keys that are lost with a part of the memory; @leaves: out: of leaves */
static u32 part_fails(u64 offset, u64 bytes, u64 *leaves)
{
	struct crab_store *store = badmedia_attach(NULL);
	char reason[CRAB_REASON_LEN];
	u32 lost;

	tap_check(!badmedia_leaves(store, reason), "attach quarantines a leaf");
	crab_store_fail(store, offset, bytes);
	*leaves = badmedia_leaves(store, reason);
	tap_check(log_names(*leaves), "log: %s, not %llu", logged, *leaves);
	crab_store_fail(store, offset, bytes);
	tap_check(log_names(0) && badmedia_leaves(store, reason) == *leaves, "the second time: %llu leaves, not %llu",
		  badmedia_leaves(store, reason), *leaves);
	tap_check(crab_store_is_readonly(store) && crab_pool_is_closed(store->engine->pool), "writable");
	tap_check(!!badmedia_errors(store) == !!*leaves, "CHECK: %llu", badmedia_errors(store));
	lost = lost_keys(store);
	crab_store_detach(store);
	return lost;
}

/* Returns whether a leaf is in use */
static bool leaf_fails(const struct crab_geometry *geo, u64 leaf)
{
	u64 offset = crab_leaf_offset(geo, leaf), first, last, all;
	u32 lost = part_fails(offset, geo->leaf_bytes, &all);

	/* An empty store of `eadr` has four leaves, three of them for higher keys */
	tap_check(all == !!lost || (all == 1 && leaf < 4), "leaf %llu: %llu, %u keys", leaf, all, lost);
	if (!all)
		return false;
	tap_check(part_fails(offset, CRAB_LINE, &first) == lost && first == all,
		  "first line of leaf %llu: %llu, not %llu", leaf, first, all);
	offset += geo->leaf_bytes - CRAB_LINE;
	tap_check(part_fails(offset, CRAB_LINE, &last) == lost && last == all,
		  "last line of leaf %llu: %llu, not %llu", leaf, last, all);
	return true;
}

static void test_parts(const char *const *subject)
{
	struct crab_geometry geo;
	u32 used = 0;
	u64 leaf;

	badmedia_begin();
	geo = badmedia_ragged(subject, RECORDS, 256, there);
	for (leaf = 0; leaf < LEAVES && used < USED; leaf++)
		used += leaf_fails(&geo, leaf);
	tap_ok(used > USED / 2, "badmem: %s: the parts of %u leaves", subject[1], used);
	badmedia_end();
}

/* The first leaf, with memory in front of the pool; and the last one, in a full store */
static void test_ends(const char *const *subject)
{
	struct crab_store *store;
	struct crab_geometry geo;
	u64 leaves, first, key = KEYS;

	badmedia_begin();
	geo = badmedia_ragged(subject, 8, 256, there);
	part_fails(geo.pool_offset - CRAB_LINE, 2 * CRAB_LINE, &first);
	store = badmedia_attach(NULL);
	while (!store_insert(store, key, BAD_VALUE(key), CRAB_INSERT_CREATE))
		key++;
	crab_store_detach(store);
	part_fails(crab_leaf_offset(&geo, geo.leaves) - CRAB_LINE, 2 * CRAB_LINE, &leaves);
	tap_ok(first == 1 && leaves == 1, "badmem: %s: the first leaf of all, and the last one: %llu, %llu",
	       subject[1], (unsigned long long)first, (unsigned long long)leaves);
	badmedia_end();
}

/* A node of `twin` has two lines: with either of them the same keys are lost */
static void test_nodes(void)
{
	const char * const twin[] = { "clfb", "twin" };
	struct crab_store *store;
	u64 leaves, second, node;
	u32 n, lost, used = 0;

	badmedia_begin();
	store = badmedia_fill_ragged(twin, RECORDS, 256, there);
	node = crab_clfb_node_offset(clfb_tree_of(store->engine), 0);
	crab_store_detach(store);
	for (n = 0; n < NODES; n++, node += 2 * CRAB_LINE) {
		lost = part_fails(node, CRAB_LINE, &leaves);
		tap_check(part_fails(node + CRAB_LINE, CRAB_LINE, &second) == lost &&
			  second == leaves && leaves == !!lost, "node %u: %llu, %llu", n, leaves,
			  second);
		used += leaves;
	}
	tap_ok(used > 3, "badmem: clfb: nodes of two lines: %u", used);
	badmedia_end();
}

int main(void)
{
	u32 i;

	crab_host_log = log_keep;
	for (i = 0; i < STORE_LAYOUTS; i++)
		test_parts(store_layouts[i]);
	/* Those whose first leaf is at the start of the pool, and that use the last one, too */
	for (i = STORE_NVTREE; i < STORE_ENCODED; i++)
		test_ends(store_layouts[i]);
	test_nodes();
	return tap_done();
}
