// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests stores of commits, with every engine, that are full: a commit is refused before its
 * list is written, or all of it is done.
 */
#include "engines/clfb/clfb.h"
#include "engines/crab/crab.h"
#include "engines/fastfair/tree.h"
#include "store/commit_priv.h"
#include "test.h"

#define DEEP		3U	/* highest level of the deep tree */
#define PATHS		7U	/* full paths in it: so many splits leave a root that is half full */
#define DEEP_STEP	(1ULL << 44)
#define FEW		16U	/* writes of a commit into an empty store */

static const char * const engines[][2] = {
	{ "crab", "slotted" }, { "crab", "sorted" }, { "nvtree", "" }, { "fastfair", "" },
	{ "clfb", "" }, { "clfb", "twin" }, { "clfb", "encoded" }, { "nbtree", "" },
	{ "nbtree", "eadr" },
};

static struct crab_commit commit;	/* too large for a stack */

static struct crab_store *make(struct crab_media *media, const char *engine, const char *layout,
			       u32 leaf_bytes, u64 bytes)
{
	*media = media_create(bytes);
	return store_make(media, engine, layout, leaf_bytes, STORE_COMMITS);
}

static void add(u64 key, u64 value)
{
	commit.when[commit.n] = CRAB_WHEN_ANY;
	commit.ops[commit.n++] = (struct crab_batch_op){
		.verb = CRAB_VERB_INSERT, .key = key, .value = value,
	};
}

/* A full store: refused before the list is written; deletes make room again */
static void test_full(const char *engine, const char *layout)
{
	u32 leaf_bytes = leaf_bytes_of(engine, layout), i;
	struct crab_store *store;
	struct crab_media media;
	u64 key;
	int err;

	store = make(&media, engine, layout, leaf_bytes, 40 * 2048);
	for (key = 0; key < 100000; key++)
		if (store_put(store, key, 1))
			break;
	commit.n = 0;
	for (i = 0; i < CRAB_COMMIT_MAX; i++)
		add(key + i, 2);
	err = crab_store_commit(store, &commit);
	tap_check(err == -ENOSPC, "full: %d", err);
	for (i = 0; i < CRAB_COMMIT_MAX; i++)
		tap_check(store_search(store, key + i) == -ENOENT, "key %u is there", i);
	tap_check(!crab_store_is_readonly(store), "read-only");
	while (key)
		store_delete(store, --key);
	store_maintain(store);
	commit.n = 8;
	err = crab_store_commit(store, &commit);
	tap_ok(!err, "%s %s: full, and then not", engine, layout);
	store_end(store);
}

/* A list that finds too few leaves stays in force, until the store has grown */

static u64 new_key(u32 i)
{
	return 1000ULL * (i + 1) + 500;
}

static void list_leave(struct crab_store *store, struct crab_media *media)
{
	struct crab_commit_list list = { .n = CRAB_COMMIT_MAX };
	struct crab_flow flow = { .media = media };
	u32 i;

	for (i = 0; i < list.n; i++)
		list.record[i] = (struct crab_record){ new_key(i), i };
	crab_commit_store(&flow, store->super.store_id, &list);
	crab_store_abandon(store);
}

static void expect_list(struct crab_store *store, const char *when)
{
	u64 value;
	u32 i;

	for (i = 0; i < CRAB_COMMIT_MAX; i++)
		tap_check(!crab_store_search(store, new_key(i), &value) && value == i,
			  "%s: key %u", when, i);
}

static void test_left(const char *engine, const char *layout)
{
	u32 leaf_bytes = leaf_bytes_of(engine, layout), turn;
	struct crab_store *store;
	struct crab_media media;
	u64 key;

	store = make(&media, engine, layout, leaf_bytes, 40 * 2048);
	for (key = 0; !store_put(store, key * 1000, 1); key++)
		;
	/* The leaves of the keys of the list are full, too */
	for (key = 1001; key < 66000; key += key % 1000 < 40 ? 1 : 960)
		store_put(store, key, 1);
	list_leave(store, &media);
	for (turn = 0; turn < 2; turn++) {
		struct crab_attach_report report;

		store = store_try(&media, &report);
		tap_check(report.verdict == CRAB_VERDICT_RO, "not read-only");
		expect_list(store, "too few leaves");
		crab_store_detach(store);
	}
	tap_ok(true, "%s %s: a list that finds too few leaves stays in force", engine, layout);
	media_destroy(&media);
}

/* fastfair: splits of several levels in one commit */

static void deep_node(struct ff *ff, u64 key, u32 level, struct ff_find *find, u64 *high)
{
	struct ff_node right;

	mutex_lock(&ff->structure);
	if (crab_ff_find_exact(ff, key, level, find))
		find->node.side = NULL;		/* the root is below the level */
	else
		*high = crab_ff_next(ff, &find->node, &right) ? CRAB_KEY_EMPTY : right.low;
	mutex_unlock(&ff->structure);
}

static bool deep_is_full(struct ff *ff, u64 key, u32 level, struct ff_find *find, u64 *high)
{
	deep_node(ff, key, level, find, high);
	return find->node.side && find->node.side->count == ff->slots;
}

static void deep_insert(struct crab_store *store, u64 key)
{
	int err = store_put(store, key, 1);

	tap_check(!err, "deep: insert %d", err);
}

/* Fills the node of a level that covers @at; a key of its range that is new */
static u64 deep_fill(struct crab_store *store, u64 *seed, u64 at, u32 level)
{
	struct ff *ff = ff_of(store->engine);
	struct ff_find find;
	u64 high, wide = (u64)rng_below(seed, 1U << 31) << 31;

	while (!deep_is_full(ff, at, level, &find, &high)) {
		at = find.node.low;
		deep_insert(store, at + 1 + wide % (high - at - 1));
		wide = (u64)rng_below(seed, 1U << 31) << 31 | rng_below(seed, 1U << 31);
	}
	return find.node.low + 1 + wide % (high - find.node.low - 1);
}

/* A tree with a full root, and PATHS keys whose nodes below it are full, on all levels */
static void deep_build(struct crab_store *store, u64 *keys)
{
	struct ff *ff = ff_of(store->engine);
	u64 i, high, seed = 3;
	struct ff_find find;
	u32 path, level;

	for (i = 1; !deep_is_full(ff, 0, DEEP, &find, &high); i++)
		deep_insert(store, i * DEEP_STEP);
	for (path = 0; path < PATHS; path++) {
		keys[path] = i * (2 * path + 1) / (2 * PATHS) * DEEP_STEP;
		for (level = DEEP; level--;)
			keys[path] = deep_fill(store, &seed, keys[path], level);
	}
}

/* Refused, or done */
static int deep_commit(u64 bytes, u64 *used)
{
	u64 keys[PATHS];
	struct crab_store *store;
	struct crab_media media;
	u32 i;
	int err;

	store = make(&media, "fastfair", "", 256, bytes);
	deep_build(store, keys);
	*used = store->engine->pool->leaves - store->engine->pool->free;
	commit.n = 0;
	for (i = 0; i < PATHS; i++)
		add(keys[i], 5);
	err = crab_store_commit(store, &commit);
	tap_check(!crab_store_is_readonly(store), "deep: read-only");
	store = store_cut(store);
	for (i = 0; i < PATHS; i++)
		tap_check(store_search(store, keys[i]) == (err ? -ENOENT : 0), "deep: key %u", i);
	store_end(store);
	return err;
}

static void test_deep(void)
{
	u64 used, again, more;
	u32 refused = 0;

	tap_check(!deep_commit(CRAB_POOL_OFFSET + 4096 * 256, &used), "deep: refused");
	for (more = 2 * PATHS; more < 5 * PATHS; more++)
		refused += deep_commit(CRAB_POOL_OFFSET + (used + more) * 256, &again) == -ENOSPC;
	tap_ok(refused && refused < 3 * PATHS && used == again,
	       "fastfair: a commit that splits %u paths is done or refused", PATHS);
}

/* clfb: leaves are free, and no nodes: deletes have left one leaf in 25, each with nodes of its own */
static void test_nodes(const char *layout)
{
	u32 leaf_bytes = leaf_bytes_of("clfb", layout), round;
	struct crab_store *store;
	struct clfb_tree *tree;
	struct crab_media media;
	u64 key = 1, from;
	int err = 0;

	store = make(&media, "clfb", layout, leaf_bytes, CRAB_POOL_OFFSET + 300 * (leaf_bytes + 128));
	tree = clfb_tree_of(store->engine);
	for (round = 0; round < 400 && !err; round++) {
		for (from = key; !err && tree->pool.free > 20; key++)
			err = store_put(store, key, key);
		for (; from < key && !err; from++)
			if (from % (leaf_bytes / 16 * 25))
				store_delete(store, from);
	}
	tap_check(err == -ENOSPC && tree->pool.free > 6, "no free leaves: %d", err);
	store_check_good(store);
	commit.n = 0;
	add(key - 1, 5);
	err = crab_store_commit(store, &commit);
	tap_ok(err == -ENOSPC && !crab_store_is_readonly(store), "clfb %s: no free node: %d, %u rounds",
	       layout, err, round);
	store_end(store);
}

/* clfb: a store with few nodes, of which a commit takes one for each leaf that splits */
static void test_few(const char *layout)
{
	u32 leaf_bytes = leaf_bytes_of("clfb", layout), i;
	struct crab_store *store;
	struct crab_media media;
	u64 value, nodes;
	int err;

	store = make(&media, "clfb", layout, leaf_bytes, CRAB_POOL_OFFSET + 60 * (leaf_bytes + 128));
	nodes = clfb_tree_of(store->engine)->nodes.free;
	commit.n = 0;
	for (i = 0; i < FEW; i++)
		add(i, i);
	err = crab_store_commit(store, &commit);
	for (i = 0; i < FEW; i++)
		tap_check(!crab_store_search(store, i, &value) && value == i, "key %u", i);
	tap_ok(!err, "clfb %s: a commit into an empty store with %llu nodes: %d", layout, nodes, err);
	store_end(store);
}

/* crab: leaves are free, and no births, as an image can have it: nothing can be split */
static void test_births(const char *layout)
{
	struct crab_store *store;
	struct crab_media media;
	u64 key = 0;
	int err;

	store = make(&media, "crab", layout, 512, 40 * 2048);
	crab_tree_of(store->engine)->birth = CRAB_BIRTH_MAX;
	while (!store_put(store, key, key))
		key++;
	commit.n = 0;
	add(key, 5);
	err = crab_store_commit(store, &commit);
	tap_check(store_search(store, key) == -ENOENT, "key %llu is there", key);
	tap_ok(err == -ENOSPC && !crab_store_is_readonly(store), "crab %s: no birth is left: %d", layout,
	       err);
	store_end(store);
}

int main(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(engines); i++) {
		test_full(engines[i][0], engines[i][1]);
		test_left(engines[i][0], engines[i][1]);
	}
	test_full("volatile", "");
	test_deep();
	test_births("slotted");
	test_births("sorted");
	for (i = 0; i < ARRAY_SIZE(engines); i++)
		if (!strcmp(engines[i][0], "clfb")) {
			test_nodes(engines[i][1]);
			test_few(engines[i][1]);
		}
	return tap_done();
}
