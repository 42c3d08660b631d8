// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the engine clfb on media that changes after attach has read it: lines of nodes and
 * leaves that attach would call damaged. No access may leave the region or the memory of the engine,
 * each walk must end, and a write that would build on such a line returns -EUCLEAN; the store is
 * read-only from then on. crabtree_changing makes any changes; these are the narrow ones.
 */
#include <unistd.h>

#include "clfb_node.h"
#include "shadow/shadow.h"
#include "test.h"

#define LEAVES		300U
#define LEAF_BYTES	512U
#define RECORDS		28U	/* of a full leaf */
#define WIDE		(1ULL << 48)	/* between keys: five children of a node at most */
#define NODES		8192U
#define ENDLESS		60U	/* seconds */

static const char * const layouts[] = { "inplace", "twin", "atomic" };

static struct clfb_tree *tree;

static int put(u64 key)
{
	return store_put(store, key, key);
}

/* A store of @n records, whose keys are @step apart */
static void fill(const char *layout, u32 leaf_bytes, u32 n, u64 step)
{
	u32 i;

	store_begin(CRAB_POOL_OFFSET + 64 * 1024 + LEAVES * leaf_bytes, "clfb", layout, leaf_bytes);
	tree = clfb_tree_of(store->engine);
	for (i = 0; i < n; i++)
		tap_check(!put(i * step), "%u", i);
}

static u32 children(u64 number)
{
	return crab_clfb_line_count(node_line(tree, number));
}

/* A write that meets damage: one -EUCLEAN, and read-only from then on */
static void expect_damage(int err, const char *what)
{
	static struct crab_store_info info;

	crab_store_info(store, &info);
	tap_check(err == -EUCLEAN, "%s: %d", what, err);
	tap_check(info.readonly && strstr(info.reason, what), "%s: %s", what, info.reason);
	tap_check(put(1) == -EROFS, "%s", what);
}

/* Deletes all below a key; returns the first error */
static int clear(u64 high)
{
	struct crab_record r[64];
	struct crab_cursor c;
	int n, i, err = 0;

	do {
		crab_cursor_init(&c, 0, high - 1);
		n = crab_cursor_read(store, &c, r, ARRAY_SIZE(r));
		for (i = 0; i < n && !err; i++)
			err = store_delete(store, r[i].key);
	} while (n > 0 && !err);
	return err ?: n;
}

/* The first child of the root is emptied, so that the other one would become the root */
static void test_lower(const char *layout, bool far)
{
	struct clfb_list list;
	u64 key = 0;

	fill(layout, LEAF_BYTES, 0, 0);
	while (tree->levels < 2)
		tap_check(!put(key++ * WIDE), "%llu", key);
	tap_check(children(tree->root) == 2, "%u", children(tree->root));
	crab_clfb_line_decode(node_line(tree, tree->root), &list);
	list.ref[1] = far ? 1ULL << 39 : tree->base.geo.leaves;
	node_rewrite(tree, tree->root, &list);
	expect_damage(clear(list.key[1]), "a reference out of the pool");
	tap_ok(true, "clfb, %s: no node %s out of the pool becomes the root", layout,
	       far ? "far" : "just");
	store_abandon(store);
}

/* A split has no node of a line whose crc is wrong */
static void test_crc(const char *layout)
{
	u64 key = RECORDS * 2 * 1000;
	int err = 0;
	u32 i;

	fill(layout, LEAF_BYTES, RECORDS * 4, 1000);
	node_line(tree, tree->root)->byte[CLFB_CRC] ^= 1;
	for (i = 1; i <= RECORDS && !err; i++)
		err = put(key + i);
	expect_damage(err, "its line has changed");
	tap_ok(true, "clfb, %s: a split has no children of a line with a wrong crc", layout);
	store_abandon(store);
}

/* A root of five children; its keys do not ascend any more, and half of its children are not there */
static void twist(const char *layout, u32 levels, struct clfb_list *list)
{
	u64 key = 0, third;

	fill(layout, LEAF_BYTES, 0, 0);
	while (tree->levels < levels || children(tree->root) < 5)
		tap_check(!put(key++ * WIDE), "%llu", key);
	crab_clfb_line_decode(node_line(tree, tree->root), list);
	third = list->key[2];
	list->key[2] = list->key[3];
	list->key[3] = third;
	list->ref[2] = list->ref[4] = tree->base.geo.leaves;
	node_rewrite(tree, tree->root, list);
}

/* Walks to an end of the store; returns how many ranges were bad */
static u32 walk(u64 from, bool back)
{
	struct crab_record r[64];
	struct crab_cursor c;
	u32 bad = 0;
	int n;

	n = crab_store_seek(store, from, back ? CRAB_SEEK_LE : CRAB_SEEK_GE, r);
	tap_check(!n || n == -ENOENT || n == -EUCLEAN, "%llu: %d", from, n);
	if (back)
		crab_cursor_init_back(&c, 0, from);
	else
		crab_cursor_init(&c, from, CRAB_KEY_EMPTY - 1);
	while (!c.done) {
		n = crab_cursor_read(store, &c, r, ARRAY_SIZE(r));
		if (n < 0)
			crab_cursor_skip(store, &c);
		bad += n == -EUCLEAN;
	}
	return bad;
}

/* Each walk ends, from any key, and meets bad ranges */
static void test_order(const char *layout, u32 levels)
{
	struct clfb_list list;
	u32 i, bad = 0;

	twist(layout, levels, &list);
	for (i = 0; i < 3 * list.count; i++) {
		bad += walk(list.key[i / 3] + i % 3, false);
		bad += walk(list.key[i / 3] + i % 3, true);
	}
	tap_check(bad >= 3 * list.count, "%u", bad);
	tap_ok(true, "clfb, %s, %u levels: a walk ends that meets keys which do not ascend", layout,
	       levels);
	store_abandon(store);
}

/* Each access loads a word twice. Before load @at of the first word of a line its node loses children */
static union clfb_line *losing;
static u32 losing_loads, losing_at, losing_children;

static void losing_loading(struct crab_shadow *shadow, u32 word)
{
	if ((__le64 *)media.base + word != losing->word || ++losing_loads != losing_at)
		return;
	losing->byte[CLFB_COUNT] = (losing->byte[CLFB_COUNT] & CLFB_OF_LEAVES) | losing_children;
}

static struct crab_shadow *losing_begin(u32 at, u32 left)
{
	struct crab_shadow *shadow = crab_shadow_create(&media, NODES);

	losing = node_line(tree, tree->root);
	losing_loads = 0;
	losing_at = at;
	losing_children = left;
	shadow->loading = losing_loading;
	return shadow;
}

static void losing_end(struct crab_shadow *shadow)
{
	tap_check(!shadow->errors, "%s", shadow->error);
	crab_shadow_destroy(shadow);
}

/* The line of the root changes between a descent and the split that it is for */
static void test_splice(const char *layout)
{
	u64 key = RECORDS * 2 * 1000;
	struct crab_shadow *shadow;
	int err = 0;
	u32 i;

	fill(layout, LEAF_BYTES, RECORDS * 4, 1000);
	shadow = losing_begin(5, 1);
	for (i = 1; i <= RECORDS && !err; i++) {
		losing_loads = 0;
		err = put(key + i);
	}
	expect_damage(err, "its line has changed");
	losing_end(shadow);
	tap_ok(true, "clfb, %s: a node that has lost children since the descent is not split", layout);
	store_abandon(store);
}

/* The line of the root is replaced by one that it had earlier, and that has one child less */
static union clfb_line earlier;

static void earlier_loading(struct crab_shadow *shadow, u32 word)
{
	if ((__le64 *)media.base + word == losing->word && ++losing_loads == losing_at)
		*losing = earlier;
}

/* A key of the last child, which that line does not have, needs room */
static void test_earlier(const char *layout)
{
	struct crab_shadow *shadow;
	int err = 0;
	u32 i;

	fill(layout, LEAF_BYTES, RECORDS * 4, 1000);
	earlier = *node_line(tree, tree->root);
	tap_check(!put(RECORDS * 4 * 1000), "put");
	shadow = losing_begin(5, 0);
	shadow->loading = earlier_loading;
	for (i = 1; i <= RECORDS && !err; i++) {
		losing_loads = 0;
		err = put(RECORDS * 4 * 1000 + i);
	}
	expect_damage(err, "it has lost a child");
	losing_end(shadow);
	tap_ok(true, "clfb, %s: the earlier line of a node has no child that came later", layout);
	store_abandon(store);
}

/* The line of the root changes before an unlink: the last record of the third leaf */
static void test_cut(const char *layout)
{
	u64 key = RECORDS * 2 * 1000;
	struct crab_shadow *shadow;
	int err = 0;
	u32 i;

	fill(layout, LEAF_BYTES, RECORDS * 4, 1000);
	shadow = losing_begin(3, 2);
	for (i = 0; i < RECORDS && !err; i++) {
		losing_loads = 0;
		err = store_delete(store, key + i * 1000);
	}
	expect_damage(err, "its line has changed");
	losing_end(shadow);
	tap_ok(true, "clfb, %s: a node that has lost children since the descent loses no other", layout);
	store_abandon(store);
}

/* The bit of slot 0 is lost before the third access to its word, with which a delete clears it */
static __le64 *fading;
static u32 fading_loads;

static void fading_loading(struct crab_shadow *shadow, u32 word)
{
	if ((__le64 *)media.base + word == fading && ++fading_loads == 5)
		*fading &= ~cpu_to_le64(1);
}

static void test_mark(const char *layout)
{
	struct crab_shadow *shadow;
	int err;

	fill(layout, LEAF_BYTES, 5, 1000);
	fading = &clfb_leaf_media(tree, tree->root)->valid[0];
	fading_loads = 0;
	shadow = crab_shadow_create(&media, NODES);
	shadow->loading = fading_loading;
	err = store_delete(store, 0);
	tap_check(!err && fading_loads == 6, "%d after %u loads", err, fading_loads);
	losing_end(shadow);
	err = store_search(store, 0);
	tap_ok(err == -ENOENT, "clfb, %s: a delete sets no bit that was lost meanwhile: %d", layout, err);
	store_abandon(store);
}

/* The line of the root changes between the walk of an attach and its repair */
static void test_settle(const char *layout)
{
	struct crab_attach_report report;
	struct crab_shadow *shadow;

	fill(layout, LEAF_BYTES, RECORDS * 5, 1000);
	shadow = losing_begin(3, 0);
	crab_store_abandon(store);
	store = store_try(&media, &report);
	tap_check(!IS_ERR(store) && report.verdict == CRAB_VERDICT_RO, "%d", report.verdict);
	tap_check(strstr(report.reason, "key 0 have changed"), "%s", report.reason);
	losing_end(shadow);
	tap_ok(true, "clfb, %s: repair cleans nothing that a changed line names", layout);
	store_abandon(store);
}

static int del_all(u64 first, u64 end)
{
	int err = 0;

	for (; first < end && !err; first++)
		err = store_delete(store, first * 1000);
	return err;
}

static bool pool_counts(const struct crab_pool *pool)
{
	u64 leaf, free = 0;

	for (leaf = 0; leaf < pool->leaves; leaf++)
		free += !test_bit(leaf, pool->used);
	return pool->free == free;
}

/* The line of the root reads as it did before the second leaf was unlinked, with its last record */
static void stale(const char *layout)
{
	struct clfb_list list;

	fill(layout, LEAF_BYTES, RECORDS * 4, 1000);
	tap_check(!del_all(RECORDS, RECORDS * 2 - 1), "second leaf");
	crab_clfb_line_decode(node_line(tree, tree->root), &list);
	tap_check(!del_all(RECORDS * 2 - 1, RECORDS * 2), "its last record");
	node_rewrite(tree, tree->root, &list);
}

static void test_stale(const char *layout)
{
	stale(layout);
	expect_damage(del_all(RECORDS * 2 - 1, RECORDS * 2), "have changed");
	tap_check(pool_counts(&tree->pool), "leaves");
	tap_ok(true, "clfb, %s: a leaf that an earlier line names is not freed twice", layout);
	store_abandon(store);
	stale(layout);
	expect_damage(put(RECORDS * 1000), "have changed");
	tap_ok(true, "clfb, %s: no record goes to a free leaf that an earlier line names", layout);
	store_abandon(store);
	stale(layout);
	expect_damage(del_all(RECORDS * 2, RECORDS * 3), "not in the tree");
	tap_ok(true, "clfb, %s: an unlink keeps no child that is not in the tree", layout);
	store_abandon(store);
}

/* The same of the root above nodes: the first one was freed with its last leaf */
static void test_stale_node(const char *layout)
{
	struct clfb_list list;
	u64 key = 0;

	fill(layout, LEAF_BYTES, 0, 0);
	while (tree->levels < 2 || children(tree->root) < 3)
		tap_check(!put(key++ * WIDE), "%llu", key);
	crab_clfb_line_decode(node_line(tree, tree->root), &list);
	tap_check(!clear(list.key[1]) && children(tree->root) == 2, "the first node");
	node_rewrite(tree, tree->root, &list);
	expect_damage(store_delete(store, list.key[1] - WIDE), "have changed");
	tap_check(pool_counts(&tree->nodes) && pool_counts(&tree->pool), "pools");
	tap_ok(true, "clfb, %s: a node that is not in the tree is not freed twice", layout);
	store_abandon(store);
}

/* A leaf gets a key that is not of its range, and then one record more than it holds */
static void test_split(const char *layout)
{
	struct clfb_place place;
	struct clfb_dleaf *leaf;
	u64 key = RECORDS * 2 * 1000;
	__le64 was;
	int err = 0;
	u32 i;

	fill(layout, LEAF_BYTES, RECORDS * 4, 1000);
	crab_clfb_find(tree, key, &place);
	leaf = clfb_leaf_media(tree, place.leaf);
	was = leaf->slot[5].key;
	leaf->slot[5].key = cpu_to_le64(7);
	for (i = 1; i <= RECORDS && !err; i++)
		err = put(key + i);
	expect_damage(err, "a key is out of its range");
	leaf->slot[5].key = was;
	store_check_good(store);
	tap_ok(true, "clfb, %s: a split moves no key out of its range, and loses no leaf", layout);
	store_abandon(store);
}

/* Without its first record the line would need 72 bytes: its last key is not the highest */
static void test_encoded(void)
{
	static const u64 keys[] = { 1000, 1010, 1020, 1300 };
	u8 *line;
	u32 i;

	fill("encoded", CRAB_LINE, 0, 0);
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		tap_check(!put(keys[i]), "%u", i);
	tap_check(!put(1030), "1030");
	line = (u8 *)clfb_leaf_media(tree, tree->root);
	tap_check(line[CLFB_LEAF_COUNT] == 5 && line[CLFB_LEAF_WIDTH] == 2, "%u", line[CLFB_LEAF_COUNT]);
	crab_clfb_line_put(line + CRAB_LINE - 2, 5, 2);
	expect_damage(store_delete(store, 1000), "its line has changed");
	tap_ok(true, "clfb, encoded: no write of records that do not ascend");
	store_abandon(store);
}

int main(void)
{
	u32 i;

	alarm(ENDLESS);
	for (i = 0; i < ARRAY_SIZE(layouts); i++) {
		test_lower(layouts[i], false);
		test_lower(layouts[i], true);
		test_crc(layouts[i]);
		test_order(layouts[i], 1);
		test_order(layouts[i], 2);
		test_splice(layouts[i]);
		test_earlier(layouts[i]);
		test_cut(layouts[i]);
		test_mark(layouts[i]);
		test_settle(layouts[i]);
		test_split(layouts[i]);
		test_stale(layouts[i]);
		test_stale_node(layouts[i]);
	}
	test_encoded();
	return tap_done();
}
