// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the verifier: it reads the media again and compares it with the state in
 * DRAM and with every invariant.
 *
 * It notes errors and changes nothing.
 *
 * Locking: takes clfb_tree.lock as a writer, because it uses memory of writers, for some leaves at
 * a time. Between two turns the tree may change; each turn is consistent in itself, and continues
 * at the key where the previous one ended. If the leaf there has taken over a range that was read,
 * only its records from that key on count.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/kernel.h>
#include <linux/sched.h>

#include "engines/defaults.h"
#include "engines/select.h"
#include "media/badmem.h"
#include "leaf.h"
#include "node.h"

/* A leaf with its nodes takes as long as so many slots, or longer */
#define CHECK_SLOTS_MIN	32U

/**
 * struct clfb_check - a check under way
 * @tree: the tree
 * @report: its result
 * @nodes: nodes that were read
 */
struct clfb_check {
	struct clfb_tree *tree;
	struct crab_check_report *report;
	u64 nodes;
};

static void check_root(const struct clfb_check *c)
{
	const struct clfb_tree *tree = c->tree;
	const struct crab_media *media = tree->base.media;
	u64 word = crab_clfb_root_word(tree->base.geo.store_id, tree->root, tree->levels);

	if (!crab_badmem_probe(media, CRAB_HEAD_OFFSET, sizeof(word)))
		crab_damage_note(&c->report->damage, CRAB_HEAD_OFFSET,
				 "the root word: uncorrectable memory");
	else
		crab_check_that(c, tree->lost || crab_load(media, clfb_root_media(media)) == word,
				CRAB_HEAD_OFFSET, "the root word has changed");
}

/* A node of the path, when its first child is entered */
static void check_node(struct clfb_check *c, u64 number, u32 level, const struct clfb_place *place)
{
	struct clfb_tree *tree = c->tree;
	u64 offset = crab_clfb_node_offset(tree, number);
	unsigned long long n = number;
	union clfb_line line;
	const char *fault = NULL;

	c->nodes++;
	if (!crab_clfb_node_read(tree, number, &line))
		fault = "it cannot be decoded";
	else if (!crab_clfb_node_whole(tree, number, &line))
		fault = "its crc is wrong";
	else
		fault = crab_clfb_node_fault(tree, &line, level, place);
	crab_check_that(c, !fault, offset, "node %llu: %s", n, fault);
	crab_check_that(c, crab_pool_uses(&tree->nodes, n), offset,
			"node %llu: in the tree and free", n);
}

/* The records of a leaf from @key on; writers, which are excluded, use the memory */
static u32 records_above(const struct clfb_tree *tree, u64 leaf, u64 key)
{
	int count = crab_clfb_leaf_sorted(tree, leaf, tree->scratch);

	return crab_records_above(tree->scratch, max(count, 0), key);
}

/* Those below @key were counted */
static void check_leaf(const struct clfb_check *c, const struct clfb_place *place, u64 key)
{
	struct clfb_tree *tree = c->tree;
	u64 offset = crab_leaf_offset(&tree->base.geo, place->leaf);
	unsigned long long n = place->leaf;
	const char *fault;
	u32 count;

	fault = crab_clfb_leaf_fault(tree, place, &count);
	crab_check_that(c, !fault, offset, "leaf %llu: %s", n, fault);
	crab_check_that(c, crab_pool_uses(&tree->pool, n), offset,
			"leaf %llu: in the tree and free", n);
	if (place->low < key)
		count = records_above(tree, n, key);
	c->report->records += count;
	c->report->leaves += place->low == key;
}

/*
 * Notes the damage that is known; or else a node or leaf whose memory failed since, or that is not
 * in the tree
 */
static void check_bad(const struct clfb_check *c, const struct clfb_place *place, u64 number,
		      u32 level)
{
	const struct clfb_tree *tree = c->tree;

	if (!crab_engine_check_known(&tree->base, c->report))
		crab_damage_note(&c->report->damage, level ? crab_clfb_node_offset(tree, number) :
				 crab_leaf_offset(&tree->base.geo, number),
				 "keys from %llu: %s", (unsigned long long)place->low,
				 tree->quarantined ? "uncorrectable memory" :
						     "it is not in the tree");
}

/* The path to a key: the nodes of which it is the first key, and the leaf; returns the next key */
static u64 check_path(struct clfb_check *c, u64 key)
{
	struct clfb_tree *tree = c->tree;
	struct clfb_place place = { .high = CRAB_KEY_EMPTY };
	u64 number = tree->root;
	union clfb_line line;
	u32 level;

	for (level = tree->levels; level && !tree->lost; level--) {
		if (number >= tree->base.geo.leaves || !test_bit(number, tree->node_live))
			break;
		if (place.low == key)
			check_node(c, number, level, &place);
		if (!crab_clfb_node_read(tree, number, &line))
			break;
		number = clfb_enter(&place, level, number, &line, key);
	}
	place.leaf = number;
	if (level || tree->lost || number >= tree->base.geo.leaves ||
	    !test_bit(number, tree->leaf_live))
		check_bad(c, &place, number, level);
	else
		check_leaf(c, &place, key);
	return place.high;
}

/* No leaf and no node is lost: each is in the tree or free */
static void check_pools(const struct clfb_check *c)
{
	struct clfb_tree *tree = c->tree;
	u64 nodes = crab_pool_unlisted(&tree->nodes);

	crab_engine_check_pool(&tree->base, c->report, tree->leaves);
	crab_check_that(c, c->nodes + nodes == tree->base.geo.leaves, CRAB_AREA_OFFSET,
			"%llu nodes in the tree and %llu free ones are not all",
			(unsigned long long)c->nodes, (unsigned long long)nodes);
}

/* Lets readers and writers in */
static void check_pause(struct clfb_tree *tree)
{
	up_write(&tree->lock);
	cond_resched();
	down_write(&tree->lock);
}

static int check_leaves(struct clfb_check *c)
{
	u32 turn = crab_check_turn(max(c->tree->room, CHECK_SLOTS_MIN)), done = 0;
	u64 key = 0;

	check_root(c);
	while (key != CRAB_KEY_EMPTY) {
		if (crab_engine_breathe(&c->tree->base))
			return -EINTR;
		key = check_path(c, key);
		if (++done % turn == 0)
			check_pause(c->tree);
	}
	return 0;
}

int crab_clfb_check(struct crab_engine *engine, struct crab_check_report *report)
{
	struct clfb_tree *tree = clfb_tree_of(engine);
	struct clfb_check c = {
		.tree = tree, .report = report,
	};
	struct crab_counts before;
	u64 changes;
	int err;

	down_write(&tree->lock);
	changes = tree->splits + tree->unlinks;
	crab_counts_sum(engine, &before);
	err = check_leaves(&c);
	if (!err && !tree->quarantined && tree->splits + tree->unlinks == changes) {
		check_pools(&c);
		crab_engine_check_counts(engine, report, &before, tree->leaves, tree->records);
	}
	up_write(&tree->lock);
	return err;
}
