// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the engine clfb where only directed content leads: leaves whose header has a key above
 * all records, a node or a leaf in two places, a key of the next leaf in a leaf that splits, free nodes
 * whose memory has failed, bitmaps that have changed.
 */
#include "clfb_node.h"
#include "engines/clfb/leaf.h"
#include "test.h"

#define LEAVES		300U
#define LEAF_BYTES	512U
#define RECORDS		28U	/* of a full leaf */
#define STEP		1000U	/* between keys */
#define WIDE		(1ULL << 48)	/* the same: five children of a node at most */

static const char * const layouts[] = { "inplace", "twin", "atomic" };

static struct clfb_tree *tree;

static int put(u64 key)
{
	return store_put(store, key, key);
}

static int del(u64 key)
{
	return store_delete(store, key);
}

static int search(u64 key)
{
	return store_search(store, key);
}

/* A store of @n records, whose keys are @step apart */
static void fill(const char *layout, u32 n, u64 step)
{
	u32 i;

	store_begin(CRAB_POOL_OFFSET + 64 * 1024 + LEAVES * LEAF_BYTES, "clfb", layout, LEAF_BYTES);
	tree = clfb_tree_of(store->engine);
	for (i = 0; i < n; i++)
		tap_check(!put(i * step), "%u", i);
}

static void attach_again(struct crab_attach_report *report)
{
	crab_store_abandon(store);
	store = store_try(&media, report);
	tap_check(!IS_ERR(store), "attach");
	tree = clfb_tree_of(store->engine);
}

/*
 * A leaf that lost the ones before it has all of their keys. Its header still has the key with which it
 * began: an insert of the highest key does not end its range below that
 */
static void test_append(const char *layout)
{
	struct crab_attach_report report;
	u64 key;

	fill(layout, RECORDS + 1, STEP);
	for (key = 0; key <= RECORDS; key++)
		tap_check(!del(key * STEP), "%llu", key);
	tap_check(!tree->levels && crab_clfb_leaf_low(tree, tree->root) == RECORDS * STEP, "%u levels",
		  tree->levels);
	for (key = 1; key <= RECORDS + 1; key++)
		tap_check(!put(key), "%llu", key);
	attach_again(&report);
	tap_ok(report.verdict == CRAB_VERDICT_GOOD && !search(RECORDS + 1),
	       "clfb, %s: a leaf that splits has the key of its header: %s", layout, report.reason);
	store_abandon(store);
}

/* Neither of the two places counts, though the first one is right by itself */
static void test_double(const char *layout, u32 levels)
{
	struct crab_attach_report report;
	struct crab_store_info info;
	struct clfb_list list;
	u64 key = 0;

	fill(layout, 0, 0);
	while (tree->levels < levels || crab_clfb_line_count(node_line(tree, tree->root)) < 3)
		tap_check(!put(key++ * WIDE), "%llu", key);
	crab_clfb_line_decode(node_line(tree, tree->root), &list);
	list.ref[2] = list.ref[1];
	node_rewrite(tree, tree->root, &list);
	attach_again(&report);
	crab_store_info(store, &info);
	tap_check(report.verdict == CRAB_VERDICT_RO && strstr(report.reason, "in the tree already"),
		  "%s", report.reason);
	tap_check(search(list.key[1]) == -EUCLEAN && search(list.key[2]) == -EUCLEAN, "it can be read");
	tap_check(info.stats.leaves_bad == 1, "%llu bad leaves", info.stats.leaves_bad);
	tap_ok(!search(0), "clfb, %s: a child of two places, level %u, is in none", layout, levels);
	store_abandon(store);
}

/* A reference far out of the pool, under an attached store: neither memory nor the media is read there */
static void test_far(const char *layout, u32 levels)
{
	struct crab_check_report report;
	struct clfb_list list;
	u64 key = 0;

	fill(layout, 0, 0);
	while (tree->levels < levels)
		tap_check(!put(key++ * WIDE), "%llu", key);
	crab_clfb_line_decode(node_line(tree, tree->root), &list);
	list.ref[1] = 1ULL << 39;
	node_rewrite(tree, tree->root, &list);
	tap_check(!crab_store_check(store, &report) && report.damage.count, "CHECK");
	tap_ok(search(list.key[1]) == -EUCLEAN && !search(0),
	       "clfb, %s: a child far out of the pool, level %u", layout, levels);
	store_abandon(store);
}

/* The check bits of the root word are wrong: its number and level count for nothing */
static void test_root(const char *layout)
{
	struct crab_attach_report report;

	fill(layout, RECORDS * 3, STEP);
	media.base[CRAB_HEAD_OFFSET + 7] ^= 1;
	attach_again(&report);
	tap_check(report.verdict == CRAB_VERDICT_RO && crab_pool_is_closed(&tree->pool), "%s",
		  report.reason);
	tap_ok(search(0) == -EUCLEAN && store_info(store).stats.leaves_bad == 1,
	       "clfb, %s: no key is found by a root word that is damaged", layout);
	store_abandon(store);
}

/* Layout inplace: the log line, from which attach restores a node whose update was cut */

static void log_set(u64 number)
{
	memcpy(media.base + CRAB_AREA_OFFSET, node_line(tree, number), CRAB_LINE);
}

/* Two nodes below the root: the first one is cut, and the log has a line of @logged with @mark */
static void test_log(u32 logged, u8 mark, bool both)
{
	struct crab_attach_report report;
	bool good = !logged && mark == 1 && !both;
	struct clfb_list list;
	u64 key = 0;

	fill("inplace", 0, 0);
	while (tree->levels < 2)
		tap_check(!put(key++ * WIDE), "%llu", key);
	crab_clfb_line_decode(node_line(tree, tree->root), &list);
	log_set(list.ref[logged]);
	media.base[CRAB_AREA_OFFSET + CLFB_MARK] = mark;
	node_line(tree, list.ref[0])->byte[CLFB_MARK] = 0;
	if (both)
		node_line(tree, list.ref[1])->byte[CLFB_MARK] = 0;
	attach_again(&report);
	tap_check((report.verdict == CRAB_VERDICT_GOOD) == good, "%s", report.reason);
	tap_check(good || strstr(report.reason, "the log is not that of this node"), "%s", report.reason);
	tap_check(search(0) == (logged || mark != 1 ? -EUCLEAN : 0), "%d", search(0));
	tap_check(search(list.key[1]) == (both ? -EUCLEAN : 0), "%d", search(list.key[1]));
	tap_ok(!good || (node_line(tree, list.ref[0])->byte[CLFB_MARK] == 1 && !put(1) && !search(1)),
	       "clfb, inplace: the log has node %u, mark %u: %s", logged, mark, report.reason);
	store_abandon(store);
}

/* The log has the node, which counts for nothing: no update was cut, or none writes this mark */
static void test_no_log(u8 mark, bool clean, const char *what)
{
	struct crab_attach_report report;
	union clfb_line *line;

	fill("inplace", RECORDS * 3, STEP);
	log_set(tree->root);
	line = node_line(tree, tree->root);
	if (clean)
		crab_store_detach(store);
	else
		crab_store_abandon(store);
	line->byte[CLFB_MARK] = mark;
	store = store_try(&media, &report);
	tap_check(!IS_ERR(store) && search(0) == -EUCLEAN, "the node is restored");
	tap_ok(report.verdict == CRAB_VERDICT_RO && strstr(report.reason, what), "clfb, inplace: %s: %s",
	       what, report.reason);
	store_abandon(store);
}

/* The slot of a key in a leaf */
static struct clfb_dslot *slot_of(u64 key)
{
	struct clfb_place place;

	crab_clfb_find(tree, key, &place);
	return (struct clfb_dslot *)(clfb_leaf_media(tree, place.leaf) + 1) +
	       crab_clfb_leaf_find(tree, place.leaf, key);
}

/* The record @nth of a full leaf gets another key, and a new record needs room */
static void test_split(const char *layout, u64 nth, u64 to)
{
	u64 first = RECORDS * STEP, key = first + nth * STEP;
	struct crab_store_info info;
	int err;

	fill(layout, RECORDS * 3, STEP);
	slot_of(key)->key = cpu_to_le64(to);
	err = put(first + STEP / 2);
	crab_store_info(store, &info);
	tap_check(info.readonly && strstr(info.reason, to == CRAB_KEY_EMPTY ? "its keys have changed" :
					  "a key is out of its range or order"), "%s", info.reason);
	tap_ok(err == -EUCLEAN, "clfb, %s: a leaf with the key %llu does not split: %d", layout,
	       (unsigned long long)to, err);
	store_abandon(store);
}

static void test_splits(const char *layout)
{
	u64 first = RECORDS * STEP;

	test_split(layout, RECORDS - 1, 2 * first);	/* the lowest key of the next leaf */
	test_split(layout, 0, first - 1);
	test_split(layout, 1, first);			/* twice */
	test_split(layout, 1, CRAB_KEY_EMPTY);
}

/* The new record is the lowest one of a full leaf, or the highest one */
static void test_ends(const char *layout)
{
	u64 first = RECORDS * STEP;

	fill(layout, RECORDS * 3, STEP);
	tap_check(!del(first) && !put(first + 1) && !put(first), "the lowest");
	tap_check(!del(2 * first) && !put(2 * first + 1) && !put(2 * first), "the lowest");
	tap_check(!put(2 * first - 1), "the highest");
	tap_check(store_check_good(store).records == RECORDS * 3 + 3, "records");
	tap_ok(!search(first) && !search(2 * first - 1),
	       "clfb, %s: splits by the lowest and the highest key", layout);
	store_abandon(store);
}

/* Numbers of a line of which one is wrong: none of them leads out of the line */
static void test_numbers(void)
{
	static const struct {
		u8 count, refs, keys;
		bool holds;
	} lines[] = {
		{ 5, 1, 1, true }, { 5, 5, 8, true }, { 1, 5, 8, true }, { 23, 1, 1, true },
		{ 0, 1, 1, false }, { 24, 1, 1, false }, { 6, 5, 8, false }, { 23, 1, 2, false },
		{ 2, 0, 1, false }, { 2, 6, 1, false }, { 3, 1, 0, false }, { 3, 1, 9, false },
		{ 2, 15, 1, false }, { 1, 1, 15, false },
	};
	union clfb_line line = { };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		line.byte[CLFB_COUNT] = lines[i].count;
		line.byte[CLFB_WIDTHS] = lines[i].keys | lines[i].refs << 4;
		tap_check(crab_clfb_line_holds(&line) == lines[i].holds, "%u children, %u and %u bytes",
			  lines[i].count, lines[i].refs, lines[i].keys);
	}
	tap_ok(true, "clfb: lines of nodes that can be decoded, and others");
}

/* The range of a child is within that of its node, though the keys of the node are not */
static void test_range(void)
{
	static const struct {
		u64 key, low, high;	/* of a range that begins at 150 and ends at 280 */
		u32 child;
	} ranges[] = {
		{ 150, 150, 200, 1 }, { 199, 150, 200, 1 }, { 200, 200, 280, 2 }, { 279, 200, 280, 2 },
		{ 99, 150, 100, 0 }, { 300, 300, 280, 3 },
	};
	struct clfb_list list = { .count = 4, .ref = { 1, 2, 3, 4 }, .key = { 0, 100, 200, 300 } };
	union clfb_line line;
	u64 low, high;
	u32 i, child;

	crab_clfb_line_encode(&line, &list);
	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		low = 150;
		high = 280;
		child = crab_clfb_line_range(&line, ranges[i].key, &low, &high);
		tap_check(low == ranges[i].low && high == ranges[i].high, "key %llu: [%llu, %llu)",
			  ranges[i].key, low, high);
		tap_check(child == ranges[i].child && child == crab_clfb_line_find(&line, ranges[i].key),
			  "key %llu: child %u", ranges[i].key, child);
	}
	tap_ok(true, "clfb: ranges of the children of a node");
}

/* Layout encoded */

static void encoded_begin(const struct crab_record *records, u32 n)
{
	struct crab_flow flow = { .media = &media };

	store_begin(CRAB_POOL_OFFSET + 64 * 1024, "clfb", "encoded", CRAB_LINE);
	tree = clfb_tree_of(store->engine);
	crab_clfb_leaf_fresh(&flow, &tree->base.geo, tree->root, records[0].key, records, n);
}

/* The same of a leaf: its count, and the bytes of its keys */
static void test_encoded_numbers(void)
{
	static const struct {
		u8 count, width;
		bool holds;
	} lines[] = {
		{ 0, 1, true }, { 5, 2, true }, { 3, 8, true }, { 4, 5, true }, { 1, 8, true },
		{ 6, 1, false }, { 5, 3, false }, { 4, 6, false }, { 0, 0, false }, { 2, 0, false },
		{ 2, 9, false }, { 255, 1, false },
	};
	static const struct crab_record one = { 1, 1 };
	u8 *line;
	u32 i;

	encoded_begin(&one, 1);
	line = (u8 *)clfb_leaf_media(tree, tree->root);
	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		line[CLFB_LEAF_COUNT] = lines[i].count;
		line[CLFB_LEAF_WIDTH] = lines[i].width;
		tap_check(crab_clfb_leaf_holds(tree, tree->root) == lines[i].holds,
			  "%u records, keys of %u bytes", lines[i].count, lines[i].width);
	}
	tap_ok(true, "clfb, encoded: lines that can be decoded, and others");
	store_abandon(store);
}

/* Reads sort the records of a line that changed; writes refuse them */
static void test_encoded_order(void)
{
	static const struct crab_record turned[] = { { 10, 0 }, { 30, 1 }, { 20, 2 } };
	static const struct crab_record equal[] = { { 10, 0 }, { 20, 1 }, { 20, 2 } };
	struct crab_record r[3];
	struct crab_cursor c;
	int n;

	encoded_begin(turned, ARRAY_SIZE(turned));
	crab_cursor_init(&c, 0, CRAB_KEY_EMPTY - 1);
	n = crab_cursor_read(store, &c, r, ARRAY_SIZE(r));
	tap_check(n == 3 && r[1].key == 20 && r[2].key == 30, "scan: %d", n);
	tap_check(!crab_store_seek(store, 11, CRAB_SEEK_GE, r) && r[0].key == 20, "%llu", r[0].key);
	tap_check(!crab_store_seek(store, 29, CRAB_SEEK_LE, r) && r[0].key == 20, "%llu", r[0].key);
	tap_check(!crab_store_seek(store, 99, CRAB_SEEK_LE, r) && r[0].key == 30, "%llu", r[0].key);
	tap_check(del(10) == -EUCLEAN, "delete");
	store_abandon(store);
	encoded_begin(equal, ARRAY_SIZE(equal));
	n = put(30);
	tap_ok(n == -EUCLEAN && crab_store_is_readonly(store),
	       "clfb, encoded: records of a line in another order: %d", n);
	store_abandon(store);
}

#define CHILDREN	20U
#define EACH		5U	/* records of a child */

/* The first child has a number in the middle: all others are one byte from it, and two from the second */
static u64 wide_number(u32 child)
{
	return child ? 1 + (child - 1) * 13 : 128;
}

static void wide_build(const char *layout)
{
	struct crab_flow flow = { .media = &media };
	struct crab_record r[EACH] = { };
	struct clfb_list list = { .count = CHILDREN, .leaves = true };
	const struct crab_geometry *geo = &tree->base.geo;
	union clfb_line *line = node_line(tree, 0);
	u32 i, at;

	for (i = 0; i < CHILDREN; i++) {
		list.ref[i] = wide_number(i);
		list.key[i] = i * 10;
		for (at = 0; at < EACH; at++)
			r[at] = (struct crab_record){ i * 10 + at, i };
		crab_clfb_leaf_fresh(&flow, geo, list.ref[i], list.key[i], r, EACH);
	}
	tap_check(crab_clfb_line_fits(&list), "%s: the children do not fit", layout);
	crab_clfb_line_encode(line, &list);
	crab_clfb_node_seal(tree, 0, line);
	crab_clfb_root_store(&flow, geo->store_id, 0, 1);
}

/* The line without the first child would be longer than a line: the leaf remains, without records */
static void test_wide(const char *layout)
{
	struct crab_check_report check;
	struct crab_attach_report report;
	u64 leaves;
	u32 i;

	fill(layout, 0, 0);
	wide_build(layout);
	attach_again(&report);
	tap_check(report.verdict == CRAB_VERDICT_GOOD, "%s", report.reason);
	leaves = tree->leaves;
	for (i = 0; i < EACH; i++)
		tap_check(!del(i), "%u", i);
	tap_check(leaves == CHILDREN && tree->leaves == leaves, "%llu leaves", tree->leaves);
	tap_check(search(1) == -ENOENT && !search(10) && !put(1) && !search(1), "search");
	check = store_check_good(store);
	for (i = 1; i < 3; i++)
		tap_check(!del(10 * i), "%u", i);
	tap_ok(check.records == (CHILDREN - 1) * EACH + 1,
	       "clfb, %s: a leaf remains if the line without it would be too long", layout);
	store_abandon(store);
}

/*
 * Bits of a bitmap have changed. CHECK compares sums: it notes nothing if as many slots, with keys that the
 * leaf could have, are gained as are lost. @damage: its report, or NULL
 */
static void test_bits(u64 lost, u64 gained, const char *damage)
{
	struct crab_check_report report;

	fill("inplace", RECORDS, STEP);
	tap_check(!del(3 * STEP), "delete");	/* slot 3 */
	clfb_leaf_media(tree, tree->root)->valid[0] ^= cpu_to_le64(lost | gained);
	tap_check(!crab_store_check(store, &report), "CHECK");
	tap_ok(damage ? report.damage.count && strstr(report.damage.what, damage) : !report.damage.count,
	       "clfb: a bitmap has lost the bits %llx and gained %llx: %s", lost, gained,
	       damage ? report.damage.what : "no damage");
	store_abandon(store);
}

/* Splits count the nodes that they write */
static void test_counts(const char *layout)
{
	struct crab_counts counts;

	fill(layout, RECORDS * 30, WIDE);
	crab_counts_sum(store->engine, &counts);
	tap_ok(counts.own[CLFB_NODE_UPDATES] > 20 && counts.own[CLFB_NODES_WRITTEN] > 5,
	       "clfb, %s: %llu updates of nodes, %llu fresh ones", layout, counts.own[CLFB_NODE_UPDATES],
	       counts.own[CLFB_NODES_WRITTEN]);
	store_abandon(store);
}

int main(void)
{
	u32 i;

	crab_host_log = NULL;
	for (i = 0; i < ARRAY_SIZE(layouts); i++) {
		test_append(layouts[i]);
		test_double(layouts[i], 1);
		test_double(layouts[i], 2);
		test_root(layouts[i]);
		test_far(layouts[i], 1);
		test_far(layouts[i], 2);
		test_splits(layouts[i]);
		test_ends(layouts[i]);
		test_wide(layouts[i]);
		test_counts(layouts[i]);
	}
	test_bits(BIT(0), 0, "records, DRAM counts");
	test_bits(0, BIT(3), "records, DRAM counts");
	test_bits(BIT(0), BIT(3), NULL);
	test_log(0, 1, false);
	test_log(0, 0, false);
	test_log(0, 2, false);
	test_log(1, 1, false);
	test_log(0, 1, true);
	test_no_log(2, false, "its line is neither valid nor invalid");
	test_no_log(0, true, "its line is invalid, and no update was cut");
	test_numbers();
	test_range();
	test_encoded_numbers();
	test_encoded_order();
	return tap_done();
}
