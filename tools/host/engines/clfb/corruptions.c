// SPDX-License-Identifier: GPL-2.0
/*
 * This file plants damage in a live store of the engine `clfb`: in content, nodes, free map and
 * counts. Each piece is planted alone, in a store of its own, at every place.
 *
 * Locking: one thread.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>

#include "clfb_driver.h"
#include "engines/clfb/node.h"
#include "store/store_priv.h"

/* Leaf @n in the order of keys */
static bool leaf_at(struct clfb_tree *tree, u32 n, struct clfb_place *leaf)
{
	crab_clfb_find(tree, 0, leaf);
	while (n--) {
		if (leaf->high == CRAB_KEY_EMPTY)
			return false;
		crab_clfb_find(tree, leaf->high, leaf);
	}
	return true;
}

static bool is_valid(struct clfb_dleaf *d, u32 slot)
{
	return le64_to_cpu(d->valid[slot / 64]) >> slot % 64 & 1;
}

/* The @n-th record, in the order of leaves; @slot: out: its slot */
static struct clfb_dleaf *record_at(struct clfb_tree *tree, u32 n, u32 *slot)
{
	struct clfb_place leaf;
	struct clfb_dleaf *d;
	u32 nth;

	for (nth = 0; leaf_at(tree, nth, &leaf); nth++) {
		d = clfb_leaf_media(tree, leaf.leaf);
		for (*slot = 0; *slot < tree->room; ++*slot)
			if (is_valid(d, *slot) && !n--)
				return d;
	}
	return NULL;
}

static bool is_encoded(struct clfb_tree *tree)
{
	return tree->base.geo.layout == CLFB_LAYOUT_ENCODED;
}

/* The same in leaves of a line; @slot: out: which record of the leaf */
static u8 *encoded_at(struct clfb_tree *tree, u32 n, u32 *slot)
{
	struct clfb_place leaf;
	u32 nth;
	u8 *d;

	for (nth = 0; leaf_at(tree, nth, &leaf); nth++) {
		d = (u8 *)clfb_leaf_media(tree, leaf.leaf);
		if (n < d[CLFB_LEAF_COUNT]) {
			*slot = n;
			return d;
		}
		n -= d[CLFB_LEAF_COUNT];
	}
	return NULL;
}

static bool value_changed(struct crab_store *store, u32 n)
{
	struct clfb_tree *tree = clfb_tree_of(store->engine);
	struct clfb_dleaf *d;
	u32 slot;
	u8 *line;

	if (is_encoded(tree)) {
		line = encoded_at(tree, n, &slot);
		return line && corruption_flip((__le64 *)(line + CLFB_LEAF_PAYLOAD) + slot);
	}
	d = record_at(tree, n, &slot);
	return d && corruption_flip(&d->slot[slot].value);
}

static bool key_changed(struct crab_store *store, u32 n)
{
	struct clfb_tree *tree = clfb_tree_of(store->engine);
	struct clfb_dleaf *d;
	u32 slot, at = CLFB_LEAF_KEY;
	u8 *line;

	if (is_encoded(tree)) {
		line = encoded_at(tree, n, &slot);
		if (line && slot)
			at = CLFB_LEAF_PAYLOAD + 8 * line[CLFB_LEAF_COUNT] +
			     (slot - 1) * line[CLFB_LEAF_WIDTH];
		if (line)
			line[at] ^= 1;
		return line;
	}
	d = record_at(tree, n, &slot);
	return d && corruption_flip(&d->slot[slot].key);
}

static bool record_gone(struct crab_store *store, u32 n)
{
	struct clfb_tree *tree = clfb_tree_of(store->engine);
	struct clfb_dleaf *d;
	u32 slot;
	u8 *line;

	if (is_encoded(tree)) {
		line = encoded_at(tree, n, &slot);
		if (line)
			line[CLFB_LEAF_COUNT]--;
		return line;
	}
	d = record_at(tree, n, &slot);
	if (d)
		d->valid[slot / 64] ^= cpu_to_le64(1ULL << slot % 64);
	return d;
}

/* The first path whose node of level @n is the one of the path to key 0 */
static __le64 *node_at(struct clfb_tree *tree, u32 n)
{
	struct clfb_place leaf;
	u64 node;

	crab_clfb_find(tree, 0, &leaf);
	if (n >= tree->levels)
		return NULL;
	node = leaf.step[n + 1].node;
	return (__le64 *)(tree->base.media->base + crab_clfb_node_offset(tree, node)) +
	       (tree->copies > 1 && tree->second[node] ? CLFB_LINE_WORDS : 0);
}

static bool ref_changed(struct crab_store *store, u32 n)
{
	__le64 *line = node_at(clfb_tree_of(store->engine), n);

	if (line)
		line[0] ^= cpu_to_le64(1ULL << 57);
	return line;
}

static bool separator_changed(struct crab_store *store, u32 n)
{
	__le64 *line = node_at(clfb_tree_of(store->engine), n);

	if (line)
		line[1] ^= cpu_to_le64(1ULL << 33);
	return line;
}

static bool root_changed(struct crab_store *store, u32 n)
{
	*clfb_root_media(store->engine->media) ^= cpu_to_le64(1ULL << n);
	return n < 64;
}

static bool low_changed(struct crab_store *store, u32 n)
{
	struct clfb_tree *tree = clfb_tree_of(store->engine);
	struct clfb_place leaf;
	__le64 *words;

	if (!leaf_at(tree, n, &leaf))
		return false;
	words = (__le64 *)clfb_leaf_media(tree, leaf.leaf);
	return corruption_flip(words + (is_encoded(tree) ? CLFB_LEAF_KEY : offsetof(struct clfb_dleaf, head.low)) / 8);
}

static bool leaf_free(struct crab_store *store, u32 n)
{
	struct clfb_tree *tree = clfb_tree_of(store->engine);
	struct clfb_place leaf;

	if (!leaf_at(tree, n, &leaf))
		return false;
	__clear_bit(leaf.leaf, tree->pool.used);
	return true;
}

static bool node_lost(struct crab_store *store, u32 n)
{
	clfb_tree_of(store->engine)->nodes.free--;
	return !n;
}

static bool records_miscounted(struct crab_store *store, u32 n)
{
	clfb_tree_of(store->engine)->records++;
	return !n;
}

const struct corruption clfb_corruptions[] = {
	{ "content: a value has another bit", .plant = value_changed },
	{ "content: a key has another bit", .plant = key_changed },
	{ "content: a record is gone", .plant = record_gone },
	{ "links: the root word has another bit", .plant = root_changed },
	{ "links: a reference has another bit", .plant = ref_changed },
	{ "links: a lowest key in a node has another bit", .plant = separator_changed },
	{ "links: a lowest key has another bit", .plant = low_changed },
	{ "free map: a leaf of the tree counts as free", .plant = leaf_free },
	{ "free map: a free leaf is lost", .plant = corruption_leaf_lost },
	{ "free map: a free node is lost", .plant = node_lost },
	{ "counts: there are more records than there are", .plant = records_miscounted },
	{ }
};
