// SPDX-License-Identifier: GPL-2.0
/*
 * This file counts the cache lines that one write of the engines clfb and nbtree cleans, and compares
 * them with the bound that INFO has. No write of a random history exceeds it, and directed writes
 * reach it: a split and an unlink of nbtree, and splits of clfb up to a new root, in trees of one leaf
 * and in trees with one full node, whose children then need as many nodes as any children can.
 */
#include "engines/clfb/clfb.h"
#include "engines/clfb/leaf.h"
#include "engines/nbtree/nbtree.h"
#include "test.h"

#define WRITES	60000U
#define FAR	(1ULL << 60)	/* a key that needs all bytes */
#define MANY	(1U << 16)	/* leaves whose numbers need three bytes */

static const char * const layouts[][2] = {
	{ "clfb", "inplace" }, { "clfb", "twin" }, { "clfb", "atomic" }, { "clfb", "encoded" },
	{ "nbtree", "adr" },
};

static u64 bound;		/* before the last write */

static void begin(const char *engine, const char *layout, u32 leaf_bytes, u64 leaves)
{
	media = media_create(2 * CRAB_POOL_OFFSET + leaves * (leaf_bytes + 2 * CRAB_LINE));
	store = store_format_attach(&media, engine, layout, leaf_bytes);
}

/* The lines of one write */
static u64 lines_of(u64 key, bool put, int *err)
{
	struct crab_store_info before, after;

	crab_store_info(store, &before);
	*err = put ? store_insert(store, key, key, CRAB_INSERT_EITHER) :
		     store_delete(store, key);
	crab_store_info(store, &after);
	bound = before.stats.lines_bound;
	tap_check(after.counts.lines - before.counts.lines <= bound, "%llu lines, at most %llu",
		  after.counts.lines - before.counts.lines, bound);
	return after.counts.lines - before.counts.lines;
}

static u64 put(u64 key)
{
	u64 lines;
	int err;

	lines = lines_of(key, true, &err);
	tap_check(!err, "insert of %llu: %d", key, err);
	return lines;
}

static u64 del(u64 key)
{
	u64 lines;
	int err;

	lines = lines_of(key, false, &err);
	tap_check(!err, "delete of %llu: %d", key, err);
	return lines;
}

/* A store that grows and shrinks */
static void test_random(const char *const *layout, enum model_keys kind)
{
	u32 leaf_bytes = leaf_bytes_of(layout[0], layout[1]), i;
	struct model *m = model_create(6000, kind, 5);
	u64 seed = 9, dearest = 0, least = ~0ULL;
	int err;

	begin(layout[0], layout[1], leaf_bytes, 400);
	for (i = 0; i < WRITES; i++) {
		dearest = max(dearest, lines_of(m->keys[rng_below(&seed, m->n)],
						rng_below(&seed, 100) < (i / 4000 % 2 ? 25 : 80), &err));
		tap_check(!err || err == -ENOENT || err == -ENOSPC, "%d", err);
		least = min(least, bound);
	}
	tap_ok(dearest > leaf_bytes / CRAB_LINE, "%s %s, %s keys: %llu lines of one write at most, bound %llu to %llu",
	       layout[0], layout[1], model_kind_names[kind], dearest, least, bound);
	model_destroy(m);
	store_end(store);
}

/* nbtree */

static struct nb_leaf *nb_leaf(u64 key)
{
	return crab_index_find(&nb_tree_of(store->engine)->index, key);
}

/* Deletes all records of a leaf; returns the lines of the last delete, which unlinks it */
static u64 leaf_empty(const struct nb_leaf *leaf)
{
	u64 key = leaf->low, low = leaf->low, lines = 0, value;

	for (; nb_leaf(low) == leaf; key++)
		if (!crab_store_search(store, key, &value))
			lines = del(key);
	return lines;
}

/* A split at the end and one in the middle; then the unlink of a leaf after one with stale keys */
static void test_nbtree(u32 leaf_bytes)
{
	u64 key, last, end_lines = 0, split = 0, unlink;
	struct nb_leaf *leaf;

	begin("nbtree", "adr", leaf_bytes, 64);
	last = 4 * nb_tree_of(store->engine)->room;
	for (key = 2; key <= last; key += 2)
		end_lines = max(end_lines, put(key));
	tap_check(end_lines == bound, "at the end: %llu lines, bound %llu", end_lines, bound);
	leaf = nb_leaf(last);
	for (key = leaf->low + 1; nb_leaf(last) == leaf; key += 2)
		split = put(key);
	tap_check(leaf->stale, "no stale keys");
	unlink = leaf_empty(nb_leaf(last));
	tap_ok(split == bound && unlink == bound,
	       "nbtree adr, %u: a split cleans %llu lines, an unlink %llu, bound %llu", leaf_bytes, split,
	       unlink, bound);
	store_end(store);
}

/* clfb */

static struct clfb_tree *clfb(void)
{
	return clfb_tree_of(store->engine);
}

static struct clfb_place place_of(u64 key)
{
	struct clfb_place place;

	crab_clfb_find(clfb(), key, &place);
	return place;
}

/* The records of the only leaf are full; the new key is not the highest, so that two leaves replace it */
static void test_root(const char *layout, u32 leaf_bytes)
{
	u64 key, lines = 0;

	begin("clfb", layout, leaf_bytes, 64);
	put(FAR);
	for (key = 1; !clfb()->levels; key++)
		lines = put(key);
	tap_ok(lines == bound, "clfb %s, %u: the first split cleans %llu lines, bound %llu", layout, leaf_bytes,
	       lines, bound);
	store_end(store);
}

/*
 * One node with so many children that one more needs four nodes: their lowest keys differ by one byte.
 * Descending keys halve each leaf
 */
static void node_fill(u32 children)
{
	u64 key = 1000;

	while (clfb()->leaves < children)
		put(key--);
	tap_check(clfb()->levels == 1, "%u levels", clfb()->levels);
}

/* The last leaf has one near key, and so many far ones that it is full */
static void last_fill(u64 *far)
{
	struct clfb_place place = place_of(FAR);
	u64 key, value, splits = clfb()->splits;

	for (key = place.low + 1; key <= 1000; key++)
		if (!crab_store_search(store, key, &value))
			del(key);
	for (*far = FAR; clfb()->splits == splits; *far += 1000) {
		if (crab_clfb_leaf_count(clfb(), place.leaf) == clfb()->room)
			break;
		put(*far);
	}
}

/* The new lowest key of the last child, and the number of its leaf, need all bytes */
static void test_node(const char *layout, u32 leaf_bytes)
{
	u64 far, lines;

	begin("clfb", layout, leaf_bytes, 200);
	node_fill(18);
	last_fill(&far);
	tap_check(clfb()->levels == 1 && clfb()->leaves == 18, "%u levels", clfb()->levels);
	lines = put(far - 1001);
	tap_ok(lines == bound && clfb()->levels == 2,
	       "clfb %s, %u: a split of a leaf, a node and the root cleans %llu lines, bound %llu", layout,
	       leaf_bytes, lines, bound);
	store_end(store);
}

/* The same with leaves of one line, of which ascending keys fill each; @leaves: free ones that are taken before */
static void test_encoded(u64 leaves)
{
	struct crab_spare spare;
	u64 key, lines;

	begin("clfb", "encoded", CRAB_LINE, leaves + 200);
	for (key = 1; clfb()->leaves < CLFB_CHILDREN_MAX; key++)
		put(key);
	put(FAR);
	put(FAR + 1000);
	tap_check(clfb()->levels == 1 && clfb()->leaves == CLFB_CHILDREN_MAX, "%llu leaves", clfb()->leaves);
	while (leaves--)
		crab_pool_alloc(&clfb()->pool, &spare, 1, 0);
	lines = put(FAR + 500);
	tap_ok(lines == bound && clfb()->levels == 2,
	       "clfb encoded, %llu leaves: a split of a leaf, a node and the root cleans %llu lines, bound %llu",
	       clfb()->base.geo.leaves, lines, bound);
	store_end(store);
}

int main(void)
{
	u32 i, kind;

	crab_host_log = NULL;
	for (i = 0; i < ARRAY_SIZE(layouts); i++)
		for (kind = 0; kind < MODEL_KINDS; kind++)
			test_random(layouts[i], kind);
	test_nbtree(512);
	test_nbtree(1024);
	for (i = 0; i < 3; i++) {
		test_root(layouts[i][1], 512);
		test_root(layouts[i][1], 1024);
		test_root(layouts[i][1], 2048);
		test_node(layouts[i][1], 512);
	}
	test_root("encoded", CRAB_LINE);
	test_encoded(0);
	test_encoded(MANY);
	return tap_done();
}
