// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the engine clfb where only directed content leads: leaves whose header has a key above
 * all records, a node or a leaf in two places, a key of the next leaf in a leaf that splits, free nodes
 * whose memory has failed.
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "engines/clfb/clfb.h"
#include "engines/clfb/leaf.h"
#include "engines/clfb/node.h"
#include "model.h"
#include "store/store_priv.h"
#include "tap.h"

#define LEAVES		300U
#define LEAF_BYTES	512U
#define RECORDS		28U	/* of a full leaf */
#define STEP		1000U	/* between keys */
#define WIDE		(1ULL << 48)	/* the same: five children of a node at most */

static const char * const layouts[] = { "inplace", "twin", "atomic" };

static struct crab_media media;
static struct crab_store *store;
static struct clfb_tree *tree;

static int put(u64 key)
{
	struct crab_old old;

	return crab_store_insert(store, key, key, CRAB_INSERT_EITHER, &old);
}

static int del(u64 key)
{
	struct crab_old old;

	return crab_store_delete(store, key, &old);
}

static int search(u64 key)
{
	u64 value;

	return crab_store_search(store, key, &value);
}

/* A store of @n records, whose keys are @step apart */
static void fill(const char *layout, u32 n, u64 step)
{
	u32 i;

	media = media_create(CRAB_POOL_OFFSET + 64 * 1024 + LEAVES * LEAF_BYTES);
	store = store_format_attach(&media, "clfb", layout, LEAF_BYTES);
	tree = clfb_tree_of(store->engine);
	for (i = 0; i < n; i++)
		tap_check(!put(i * step), "%u", i);
}

static void end(void)
{
	crab_store_abandon(store);
	media_destroy(&media);
}

static void attach_again(struct crab_attach_report *report)
{
	struct crab_attach_options options = { };

	crab_store_abandon(store);
	store = crab_store_attach(&media, &options, report);
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
	end();
}

static union clfb_line *line_of(u64 number)
{
	bool second = tree->copies > 1 && test_bit(number, tree->second);

	return (union clfb_line *)(media.base + crab_clfb_node_offset(tree, number)) + second;
}

/* Child 2 of a node is child 1 as well */
static void double_child(u64 number, struct clfb_list *list)
{
	union clfb_line *line = line_of(number);
	u8 mark = line->byte[CLFB_MARK];

	crab_clfb_line_decode(line, list);
	list->ref[2] = list->ref[1];
	crab_clfb_line_encode(line, list);
	line->byte[CLFB_MARK] = mark;
	crab_clfb_line_put(line->byte + CLFB_CRC,
			   crab_clfb_line_crc(line, tree->base.geo.store_id, number, tree->copies > 1),
			   sizeof(u32));
}

/* Neither of the two places counts, though the first one is right by itself */
static void test_double(const char *layout, u32 levels)
{
	struct crab_attach_report report;
	struct crab_store_info info;
	struct clfb_list list;
	u64 key = 0;

	fill(layout, 0, 0);
	while (tree->levels < levels || crab_clfb_line_count(line_of(tree->root)) < 3)
		tap_check(!put(key++ * WIDE), "%llu", key);
	double_child(tree->root, &list);
	attach_again(&report);
	crab_store_info(store, &info);
	tap_check(report.verdict == CRAB_VERDICT_RO && strstr(report.reason, "in the tree already"),
		  "%s", report.reason);
	tap_check(search(list.key[1]) == -EUCLEAN && search(list.key[2]) == -EUCLEAN, "it can be read");
	tap_check(info.stats.leaves_bad == 1, "%llu bad leaves", info.stats.leaves_bad);
	tap_ok(!search(0), "clfb, %s: a child of two places, level %u, is in none", layout, levels);
	end();
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
	tap_check(info.readonly && strstr(info.reason, "a key is out of its range or order"), "%s",
		  info.reason);
	tap_ok(err == -EUCLEAN, "clfb, %s: a leaf with the key %llu does not split: %d", layout,
	       (unsigned long long)to, err);
	end();
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
	struct crab_check_report report;
	u64 first = RECORDS * STEP;

	fill(layout, RECORDS * 3, STEP);
	tap_check(!del(first) && !put(first + 1) && !put(first), "the lowest");
	tap_check(!del(2 * first) && !put(2 * first + 1) && !put(2 * first), "the lowest");
	tap_check(!put(2 * first - 1), "the highest");
	tap_check(!crab_store_check(store, &report) && report.records == RECORDS * 3 + 3, "%llu",
		  report.records);
	tap_ok(!report.damage.count && !search(first) && !search(2 * first - 1),
	       "clfb, %s: splits by the lowest and the highest key: %s", layout, report.damage.what);
	end();
}

int main(void)
{
	u32 i;

	if (crab_persist_init())
		return 2;
	crab_host_log = NULL;
	for (i = 0; i < ARRAY_SIZE(layouts); i++) {
		test_append(layouts[i]);
		test_double(layouts[i], 1);
		test_double(layouts[i], 2);
		test_splits(layouts[i]);
		test_ends(layouts[i]);
	}
	return tap_done();
}
