// SPDX-License-Identifier: GPL-2.0
/*
 * This file plants damage in a live store of the engine `nvtree`: in content, links, free map
 * and counts. Each piece is planted alone, in a store of its own, at every place.
 *
 * Locking: one thread.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>

#include "engines/nvtree/inner.h"
#include "nvtree_driver.h"
#include "store/store_priv.h"

/* Leaf @n of the list */
static bool leaf_at(struct nv_tree *tree, u32 n, struct nv_place *leaf)
{
	crab_nv_find_range(tree, 0, leaf);
	while (n--) {
		if (leaf->high == CRAB_KEY_EMPTY)
			return false;
		crab_nv_find_range(tree, leaf->high, leaf);
	}
	return true;
}

static void *head_at(struct crab_store *store, u32 n)
{
	struct nv_tree *tree = nv_tree_of(store->engine);
	struct nv_place leaf;

	return leaf_at(tree, n, &leaf) ? &nv_leaf_media(tree, leaf.leaf)->head : NULL;
}

static struct nv_dline *line_at(struct nv_tree *tree, u64 leaf, u32 i)
{
	return &nv_leaf_media(tree, leaf)->line[i / NV_LINE_SLOTS];
}

/* Whether element @i of a leaf is the last one of its key */
static bool is_last(struct nv_tree *tree, const struct nv_place *leaf, u32 i)
{
	__le64 key = line_at(tree, leaf->leaf, i)->slot[i % NV_LINE_SLOTS].key;

	while (++i < leaf->side->count)
		if (line_at(tree, leaf->leaf, i)->slot[i % NV_LINE_SLOTS].key == key)
			return false;
	return true;
}

/* The @n-th of the elements that count, in the order of leaves; @at: out: its number */
static struct nv_dline *element_at(struct nv_tree *tree, u32 n, u32 *at)
{
	struct nv_place leaf;
	u32 nth;

	for (nth = 0; leaf_at(tree, nth, &leaf); nth++)
		for (*at = 0; *at < leaf.side->count; ++*at)
			if (is_last(tree, &leaf, *at) && !n--)
				return line_at(tree, leaf.leaf, *at);
	return NULL;
}

static bool value_changed(struct crab_store *store, u32 n)
{
	struct nv_tree *tree = nv_tree_of(store->engine);
	struct nv_dline *line;
	u32 at;

	do
		line = element_at(tree, n++, &at);
	while (line && le64_to_cpu(line->sign) >> at % NV_LINE_SLOTS & 1);
	return line && corruption_flip(&line->slot[at % NV_LINE_SLOTS].value);
}

static bool key_changed(struct crab_store *store, u32 n)
{
	u32 at;
	struct nv_dline *line = element_at(nv_tree_of(store->engine), n, &at);

	return line && corruption_flip(&line->slot[at % NV_LINE_SLOTS].key);
}

static bool sign_changed(struct crab_store *store, u32 n)
{
	u32 at;
	struct nv_dline *line = element_at(nv_tree_of(store->engine), n, &at);

	if (line)
		line->sign ^= cpu_to_le64(1ULL << at % NV_LINE_SLOTS);
	return line;
}

static bool count_changed(struct crab_store *store, u32 n)
{
	struct nv_tree *tree = nv_tree_of(store->engine);
	struct nv_place leaf;

	if (!leaf_at(tree, n, &leaf))
		return false;
	nv_leaf_media(tree, leaf.leaf)->count ^= cpu_to_le64(1);
	return true;
}

/* The media holds the only copy of the entry's lowest key */
static bool inner_forgets(struct crab_store *store, u32 n)
{
	struct nv_tree *tree = nv_tree_of(store->engine);
	struct nv_place leaf;

	if (!leaf_at(tree, n + 1, &leaf))
		return false;
	mutex_lock(&tree->smo_lock);
	crab_nv_inner_remove(tree, leaf.low);
	mutex_unlock(&tree->smo_lock);
	return true;
}

static bool leaf_free(struct crab_store *store, u32 n)
{
	struct nv_tree *tree = nv_tree_of(store->engine);
	struct nv_place leaf;

	if (!leaf_at(tree, n, &leaf))
		return false;
	__clear_bit(leaf.leaf, tree->pool.used);
	return true;
}

static bool leaf_miscounted(struct crab_store *store, u32 n)
{
	struct nv_place leaf;

	if (!leaf_at(nv_tree_of(store->engine), n, &leaf))
		return false;
	leaf.side->flags++;
	return true;
}

static bool records_miscounted(struct crab_store *store, u32 n)
{
	struct nv_tree *tree = nv_tree_of(store->engine);

	tree->records++;
	return !n;
}

const struct corruption nvtree_corruptions[] = {
	{ "content: a value has another bit", .plant = value_changed },
	{ "content: a key has another bit", .plant = key_changed },
	{ "content: a sign has changed", .plant = sign_changed },
	{ "content: a count has changed", .plant = count_changed },
	{ "links: a link has another bit", head_at, .change = corruption_link },
	{ "links: a link skips a leaf", head_at, .change = corruption_skip },
	{ "links: a birth has another bit", head_at, .at = offsetof(struct crab_dhead, birth) },
	{ "links: a lowest key has another bit", head_at, .at = offsetof(struct crab_dhead, low) },
	{ "links: a leaf is not in the inner nodes", .plant = inner_forgets },
	{ "free map: a leaf of the list counts as free", .plant = leaf_free },
	{ "free map: a free leaf is lost", .plant = corruption_leaf_lost },
	{ "counts: a leaf has more records than it has", .plant = leaf_miscounted },
	{ "counts: there are more records than there are", .plant = records_miscounted },
	{ }
};
