// SPDX-License-Identifier: GPL-2.0
/*
 * This file bounds the work on stores whose inner nodes are as far from their usual state as a media,
 * or deletes, can make them: the repair of fastfair adds entries to levels that have none, fastfair
 * reads leaves that have none, and nvtree searches among parent nodes that deletes have emptied, and
 * over deleted keys. The index of the layout eadr of nbtree catches up with leaves that were replaced
 * while another task had its lock; its searches along the list end if that has changed. An attach of
 * clfb with bad memory under its nodes lets other tasks run. The first scan of a slotted leaf sorts
 * keys of which all are in a small part of its range. It measures no time: it counts the basic blocks
 * of the module's code that run.
 *
 *   test_crafted [NODES]
 */
#include "engines/clfb/clfb.h"
#include "engines/fastfair/fastfair.h"
#include "engines/nbtree/eadr/eadr.h"
#include "engines/nvtree/inner.h"
#include "media/badmem.h"
#include "test.h"

#define LIMIT		2.6	/* times the blocks for twice the nodes */
#define NODE_BYTES	256U
#define LEAF_BYTES	512U
#define STEP		10U	/* between two keys */
#define TIMES		8U	/* as many leaves in the larger store of nvtree */
#define RECORDS		400U	/* of one leaf */
#define TURN_BLOCKS	20000	/* between two points that may reschedule */

/* Work: the compiler inserts a call of this function into each basic block */

static u64 blocks, turn_begin, turn_longest;

void __sanitizer_cov_trace_pc(void)
{
	blocks++;
}

/* Called at every point that may reschedule */
void __wrap_crab_host_may_sleep(void)
{
	turn_longest = max(turn_longest, blocks - turn_begin);
	turn_begin = blocks;
}

/* fastfair: nodes written by hand */

static struct crab_geometry geo;

/* A list of nodes of one level, in blocks that follow each other */
struct list {
	u64 level;
	u64 block;		/* of the first node */
	u64 nodes;
	u64 step;		/* between the lowest keys of two nodes */
	u64 below;		/* block of the first node of the level below */
	u64 every;		/* a node there for each of so many has a node here */
	bool empty;		/* leaves without records */
};

static u64 link_of(u64 block)
{
	return crab_link_to(&geo, block, block + 1);
}

static void node_write(const struct list *list, u64 nth)
{
	u64 block = list->block + nth;
	struct ff_dnode *d = (struct ff_dnode *)(media.base + crab_leaf_offset(&geo, block));
	struct crab_head head = {
		.self = crab_leaf_offset(&geo, block), .birth = block + 1,
		.low = nth * list->step, .own = list->level,
	};
	struct crab_flow flow = { .media = &media };

	head.next = nth + 1 < list->nodes ? link_of(block + 1) :
					    crab_link_end(geo.store_id, head.self, head.birth);
	memset(d, 0xff, NODE_BYTES);
	crab_head_store(&flow, geo.store_id, &head);
	d->first = list->level ? cpu_to_le64(link_of(list->below + nth * list->every)) : 0;
	d->zero = 0;
	if (list->level || list->empty)
		return;
	d->slot[0].key = cpu_to_le64(head.low);
	d->slot[0].value = cpu_to_le64(nth);
}

static void list_write(const struct list *list)
{
	u64 i;

	for (i = 0; i < list->nodes; i++)
		node_write(list, i);
}

static void root_write(u64 block)
{
	struct crab_head head = { .self = CRAB_HEAD_OFFSET, .next = link_of(block) };
	struct crab_flow flow = { .media = &media };

	crab_head_store(&flow, geo.store_id, &head);
}

/*
 * A store of @n blocks at least. Only every other leaf is named by the level above it, whose nodes
 * no level names but the first. @full: no block is free; else a third of them, for a root and more
 */
static u64 tree_write(u64 n, bool full)
{
	struct list leaves, above;

	store_begin(CRAB_POOL_OFFSET * 2 + n * NODE_BYTES, "fastfair", "", NODE_BYTES);
	geo = store->engine->geo;
	crab_store_detach(store);
	above = (struct list){ .level = 1, .nodes = geo.leaves / (full ? 3 : 6), .step = 2 * STEP,
			       .every = 2 };
	leaves = (struct list){ .nodes = full ? geo.leaves - above.nodes : 2 * above.nodes,
				.step = STEP };
	above.block = leaves.nodes;
	list_write(&leaves);
	list_write(&above);
	root_write(above.block);
	if (!full) {
		struct list root = { .level = 2, .block = above.block + above.nodes, .nodes = 1,
				     .below = above.block, .every = 1 };

		list_write(&root);
		root_write(root.block);
	}
	return leaves.nodes;
}

/* Blocks for an attach with its repair */
static u64 repair_cost(u64 n, bool full)
{
	struct crab_attach_options options = { };
	struct crab_attach_report report;
	u64 leaves = tree_write(n, full), cost, value, i;
	struct crab_store *store;

	blocks = 0;
	store = crab_store_attach(&media, &options, &report);
	cost = blocks;
	tap_check(!IS_ERR(store) && !report.reason[0], "attach: %s", report.reason);
	tap_check(full || ff_of(store->engine)->repairs >= leaves / 2, "%llu repairs",
		  ff_of(store->engine)->repairs);
	tap_check(store_check_good(store).records == leaves, "not %llu records", leaves);
	for (i = 0; i < leaves; i += leaves / 16)
		tap_check(!crab_store_search(store, i * STEP, &value) && value == i, "%llu", i);
	store_end(store);
	return cost;
}

static void test_repair(u64 n, bool full)
{
	u64 one = repair_cost(n, full), two = repair_cost(2 * n, full);

	tap_ok(two <= LIMIT * one,
	       "fastfair, %s: attach and repair run %llu blocks for a node without entries, %llu in twice the nodes",
	       full ? "full" : "room", one / n, two / 2 / n);
}

/* fastfair: leaves of which no entry names any but the first */

static void attach(bool readonly)
{
	struct crab_attach_options options = { .readonly = readonly };
	struct crab_attach_report report;

	store = crab_store_attach(&media, &options, &report);
	tap_check(!IS_ERR(store) && store->readonly == readonly, "attach: %s", report.reason);
}

/* @blobs: a store of blobs, which has none */
static void bare_write(u64 n, bool blobs)
{
	struct crab_format_options options = {
		.leaf_bytes = NODE_BYTES, .engine = "fastfair", .layout = "", .label = "",
		.blobs = blobs,
	};
	struct list leaves = { .nodes = n, .step = STEP, .empty = blobs };
	struct list above = { .level = 1, .block = n, .nodes = 1, .step = STEP, .every = 1 };
	char reason[CRAB_REASON_LEN];

	media = media_create(CRAB_POOL_OFFSET * 2 + 2 * n * NODE_BYTES);
	tap_check(!crab_store_format(&media, &options, reason), "%s", reason);
	attach(false);
	geo = store->engine->geo;
	crab_store_detach(store);
	list_write(&leaves);
	list_write(&above);
	root_write(above.block);
}

static u64 end(u64 before)
{
	u64 cost = blocks - before;

	store_end(store);
	return cost;
}

/* Blocks for searches of all keys */
static u64 searches(u64 leaves)
{
	u64 before = blocks, value, i;

	for (i = 0; i < leaves; i++)
		tap_check(!crab_store_search(store, i * STEP, &value) && value == i, "%llu", i);
	return end(before);
}

static u64 bare_search(u64 n)
{
	bare_write(n, false);
	attach(true);
	return searches(n);
}

/* The same if repair found no block for an entry */
static u64 full_search(u64 n)
{
	u64 leaves = tree_write(n, true);

	attach(false);
	return searches(leaves);
}

static u64 bare_read(u64 n)
{
	struct crab_record records[64];
	struct crab_cursor cursor;
	u64 before, read = 0;
	int got;

	bare_write(n, false);
	attach(true);
	before = blocks;
	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY - 1);
	while ((got = crab_cursor_read(store, &cursor, records, ARRAY_SIZE(records))) > 0)
		read += got;
	tap_check(!got && read == n, "%d, %llu records", got, read);
	return end(before);
}

static u64 bare_blobs(u64 n)
{
	u64 before;

	bare_write(n, true);
	before = blocks;
	attach(false);
	return end(before);
}

static void test_bare(u64 n, const char *what, u64 (*cost)(u64 n))
{
	u64 one = cost(n), two = cost(2 * n);

	tap_ok(two <= LIMIT * one,
	       "fastfair, no entries: %s run %llu blocks for a leaf, %llu in twice the leaves", what,
	       one / n, two / 2 / n);
}

/* nvtree */

static u64 emptied(const struct nv_tree *tree)
{
	const struct nv_inner *inner = rcu_dereference_raw(tree->inner);
	u64 n, count = 0;

	for (n = 0; n < inner->nodes[0]; n++)
		count += !nv_parent(inner, n)->count;
	return count;
}

/* Blocks for searches of keys whose parent nodes are empty; @at_least: of these nodes */
static u64 search_cost(u64 leaves, u64 at_least)
{
	u64 keys = leaves * 20, i, value, before;
	struct crab_record record;

	store_begin(CRAB_POOL_OFFSET * 2 + leaves * 4 * LEAF_BYTES, "nvtree", "", LEAF_BYTES);
	for (i = 0; i < keys; i++)
		tap_check(!store_insert(store, i * STEP, i, CRAB_INSERT_CREATE), "insert");
	store = store_again(store);
	for (i = keys / 16; i < keys / 16 * 15; i++)
		tap_check(!store_delete(store, i * STEP), "delete");
	tap_check(emptied(nv_tree_of(store->engine)) >= at_least, "%llu empty parent nodes",
		  emptied(nv_tree_of(store->engine)));
	before = blocks;
	tap_check(crab_store_search(store, keys / 2 * STEP, &value) == -ENOENT, "search");
	tap_check(!crab_store_seek(store, keys / 2 * STEP, CRAB_SEEK_GE, &record), "seek up");
	tap_check(record.value >= keys / 16 * 15, "seek up: %llu", record.value);
	tap_check(!crab_store_seek(store, keys / 2 * STEP, CRAB_SEEK_LE, &record), "seek down");
	tap_check(record.value == keys / 16 - 1, "seek down: %llu", record.value);
	before = blocks - before;
	store_end(store);
	return before;
}

static void test_search(u64 leaves)
{
	u64 few = search_cost(leaves, 20), many = search_cost(TIMES * leaves, TIMES * 20);

	tap_ok(many <= few * 1.5, "nvtree: searches among emptied parent nodes run %llu blocks, %llu in %u times the leaves",
	       few, many, TIMES);
}

/* Blocks for seeks, up and down, over a leaf of @n keys that were inserted and then deleted */
static u64 deleted_cost(u64 n)
{
	u64 bytes = roundup_pow_of_two(n * 64), before, i;
	struct crab_record record;
	struct nv_tree *tree;

	store_begin(CRAB_POOL_OFFSET * 2 + 16 * bytes, "nvtree", "", bytes);
	tree = nv_tree_of(store->engine);
	for (i = 0; i <= n; i++)
		tap_check(!store_insert(store, i * STEP, i, CRAB_INSERT_CREATE), "insert");
	for (i = 0; i < n; i++)
		tap_check(!store_delete(store, i * STEP), "delete");
	tap_check(tree->leaves == 1 && !tree->appends, "%llu leaves", tree->leaves);
	before = blocks;
	tap_check(!crab_store_seek(store, 0, CRAB_SEEK_GE, &record) && record.value == n, "up");
	tap_check(crab_store_seek(store, n * STEP - 1, CRAB_SEEK_LE, &record) == -ENOENT, "down");
	before = blocks - before;
	store_end(store);
	return before;
}

static void test_deleted(u64 n)
{
	u64 one = deleted_cost(n), two = deleted_cost(2 * n);

	tap_ok(two <= LIMIT * one,
	       "nvtree: seeks over a leaf of deleted keys run %llu blocks for a key, %llu for twice as many",
	       one / n, two / 2 / n);
}

/* nbtree, eadr */

/* The order of the leaves that split while the lock is held */
enum order {
	ORDER_DOWN,
	ORDER_UP,
	ORDER_END,	/* the last one, and then always the new last one */
	ORDERS,
};

static const char * const order_names[ORDERS] = { "downwards", "upwards", "at the end" };

static void put(struct crab_store *store, u64 key)
{
	tap_check(!store_insert(store, key, key, CRAB_INSERT_CREATE), "insert %llu", key);
}

/* Splits @n leaves. Ascending keys have filled as many */
static void split(struct crab_store *store, u64 n, enum order order)
{
	u64 room = nb_tree_of(store->engine)->room, i;

	for (i = 0; order != ORDER_END && i < n; i++)
		put(store, (order == ORDER_UP ? i : n - 1 - i) * room * STEP + 1);
	for (i = n * room; order == ORDER_END && i < 2 * n * room; i++)
		put(store, i * STEP);
}

/* Blocks in which the index follows @n splits */
static u64 follow_cost(u64 n, enum order order)
{
	struct ea_tree *tree;
	u64 cost, i;

	store_begin(CRAB_POOL_OFFSET * 2 + 4 * n * LEAF_BYTES, "nbtree", "eadr", LEAF_BYTES);
	tree = ea_tree_of(store->engine);
	for (i = 0; i < n * tree->nb.room; i++)
		put(store, i * STEP);
	mutex_lock(&tree->nb.smo_lock);
	split(store, n, order);
	tap_check(tree->nb.leaves == n + EA_QUARTERS - 1, "%llu leaves", tree->nb.leaves);
	mutex_unlock(&tree->nb.smo_lock);
	turn_longest = 0;
	turn_begin = blocks;
	cost = blocks;
	crab_ea_upkeep(tree);
	cost = blocks - cost;
	tap_check(tree->nb.leaves == 2 * n + EA_QUARTERS - 1, "%llu leaves", tree->nb.leaves);
	tap_check(turn_longest <= TURN_BLOCKS && blocks - turn_begin <= TURN_BLOCKS,
		  "%llu blocks without a chance to reschedule", max(turn_longest, blocks - turn_begin));
	store_end(store);
	return cost;
}

static void test_follow(u64 n, enum order order)
{
	u64 one = follow_cost(n, order), two = follow_cost(2 * n, order);

	tap_ok(two <= LIMIT * one,
	       "nbtree, eadr: the index follows a split %s in %llu blocks, in %llu if there are twice as many",
	       order_names[order], one / n, two / 2 / n);
}

/*
 * Blocks of a search by the list whose link has changed: the range of a leaf has grown, which the index
 * does not know. @back: the link leads to the leaf before; else to a free one
 */
static u64 lost_cost(u64 n, bool back)
{
	struct nb_leaf *leaf, *before;
	struct ea_tree *tree;
	u64 cost, i, high, value;
	__le64 *link;

	store_begin(CRAB_POOL_OFFSET * 2 + 4 * n * LEAF_BYTES, "nbtree", "eadr", LEAF_BYTES);
	tree = ea_tree_of(store->engine);
	for (i = 0; i < n * tree->nb.room; i++)
		put(store, i * STEP);
	leaf = crab_index_find(&tree->nb.index, n / 2 * tree->nb.room * STEP);
	before = crab_index_find(&tree->nb.index, leaf->low - 1);
	link = &nb_leaf_media(&tree->nb, leaf)->head.next;
	*link = cpu_to_le64(back ? crab_link_to(&tree->nb.base.geo, before->number, before->birth) :
				   crab_link_to(&tree->nb.base.geo, tree->nb.base.geo.leaves - 1, 1));
	high = leaf->high;
	leaf->high = leaf->low + STEP;
	cost = blocks;
	i = crab_store_search(store, leaf->low + STEP, &value);
	cost = blocks - cost;
	tap_check(i == (u64)-EUCLEAN, "search: %lld", (long long)i);
	leaf->high = high;
	store_abandon(store);
	return cost;
}

static void test_lost(u64 n, bool back)
{
	u64 few = lost_cost(n, back), many = lost_cost(TIMES * n, back);

	tap_ok(many <= few * 1.5, "nbtree, eadr: a search whose list leads %s runs %llu blocks, %llu among %u times the leaves",
	       back ? "back" : "to a free leaf", few, many, TIMES);
}

/* All nodes of clfb but some are in memory that cannot be read */
static void test_spoilt(u64 n)
{
	static struct crab_badmem bad;
	struct clfb_tree *tree;
	u64 from = 2 * CRAB_POOL_OFFSET;

	store_begin(CRAB_POOL_OFFSET * 2 + 4 * n * CRAB_LINE, "clfb", "encoded", CRAB_LINE);
	tree = clfb_tree_of(store->engine);
	crab_badmem_init(&bad);
	crab_badmem_add(&bad, from, tree->base.geo.pool_offset - 4096 - from);
	crab_store_detach(store);
	media.bad = &bad;
	turn_longest = 0;
	turn_begin = blocks;
	store = store_attach(&media);
	turn_longest = max(turn_longest, blocks - turn_begin);
	tree = clfb_tree_of(store->engine);
	tap_ok(tree->nodes.spoilt > n && turn_longest <= TURN_BLOCKS,
	       "clfb: attach sets %llu bad nodes aside, %llu blocks without a chance to reschedule",
	       tree->nodes.spoilt, turn_longest);
	store_end(store);
}

/* The first scan of a slotted leaf whose keys have the distance @step */
static u64 sort_cost(u64 step)
{
	static struct crab_record records[RECORDS];
	u64 i, cost;

	store_begin(1U << 20, "crab", "slotted", CRAB_LEAF_BYTES_MAX);
	for (i = 0; i < RECORDS; i++)
		tap_check(!store_put(store, i * step, i), "insert");
	cost = blocks;
	tap_check(store->engine->ops->scan(store->engine, 0, ~1ULL, records, RECORDS) == RECORDS, "scan");
	cost = blocks - cost;
	store_end(store);
	return cost;
}

static void test_sort(void)
{
	u64 spread = sort_cost(~0ULL / RECORDS), near = sort_cost(1);

	tap_ok(spread <= 12 * RECORDS && near <= 60 * RECORDS,
	       "slotted: a scan sorts %u spread keys in %llu blocks, as many near each other in %llu",
	       RECORDS, spread, near);
}

int main(int argc, char **argv)
{
	u64 n = argc > 1 ? strtoull(argv[1], NULL, 0) : 4096;
	enum order order;

	crab_host_seed(1);
	test_repair(n, false);
	test_repair(n, true);
	test_bare(n, "searches, read-only,", bare_search);
	test_bare(n, "searches after a repair without free blocks", full_search);
	test_bare(n, "reads of all records, read-only,", bare_read);
	test_bare(n, "an attach of a store of blobs and its end", bare_blobs);
	test_search(n / 8);
	test_deleted(n / 64);
	for (order = 0; order < ORDERS; order++)
		test_follow(n / 4, order);
	test_lost(n / 8, false);
	test_lost(n / 8, true);
	test_spoilt(4 * n);
	test_sort();
	return tap_done();
}
