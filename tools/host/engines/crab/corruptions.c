// SPDX-License-Identifier: GPL-2.0
/*
 * This file plants damage in a live store of the engine `crab`: in content, order, links, free map
 * and counts. Each piece is planted alone, in a store of its own, at every place.
 *
 * Locking: one thread.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>

#include "crab_driver.h"
#include "engines/crab/crab.h"
#include "store/store_priv.h"

static struct crab_leaf *leaf_at(struct crab_tree *tree, u32 n)
{
	struct crab_leaf *leaf = tree->first;

	while (leaf && n--)
		leaf = leaf->next;
	return leaf;
}

static void *head_at(struct crab_store *store, u32 n)
{
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_leaf *leaf = leaf_at(tree, n);

	return leaf ? &crab_leaf_media(tree, leaf->number)->head : NULL;
}

/* The slot of the @n-th record in the order of leaves */
static void *record_at(struct crab_store *store, u32 n)
{
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_leaf *leaf;
	u32 slot;

	for (leaf = tree->first; leaf; leaf = leaf->next)
		crab_leaf_for_each(tree, leaf, slot)
			if (!n--)
				return crab_leaf_slot(tree, leaf, slot);
	return NULL;
}

static bool leaf_forgotten(struct crab_store *store, u32 n)
{
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_leaf *leaf = leaf_at(tree, n + 1);

	if (!leaf)
		return false;
	leaf->prev->next = leaf->next;
	if (leaf->next)
		leaf->next->prev = leaf->prev;
	return true;
}

static bool index_forgets(struct crab_store *store, u32 n)
{
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_leaf *leaf = leaf_at(tree, n + 1);

	mutex_lock(&tree->smo_lock);
	if (leaf)
		crab_index_remove(&tree->index, leaf->low);
	mutex_unlock(&tree->smo_lock);
	return leaf;
}

static bool leaf_free(struct crab_store *store, u32 n)
{
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_leaf *leaf = leaf_at(tree, n);

	if (leaf)
		__clear_bit(leaf->number, tree->pool.used);
	return leaf;
}

static bool leaf_given_twice(struct crab_store *store, u32 n)
{
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_leaf *leaf = leaf_at(tree, n);

	if (leaf)
		crab_pool_free(&tree->pool, leaf->number);
	return leaf;
}

static bool records_miscounted(struct crab_store *store, u32 n)
{
	struct crab_tree *tree = crab_tree_of(store->engine);

	tree->records++;
	return !n;
}

const struct corruption crab_corruptions[] = {
	{ "content: a value has another bit", record_at, .at = offsetof(struct crab_dslot, value) },
	{ "content: a key has another bit", record_at, .at = offsetof(struct crab_dslot, key) },
	{ "content: a record is gone", record_at, .change = corruption_empty },
	{ "order: a record replaces the next one, too", record_at, .change = corruption_twice },
	{ "order: two neighbouring keys are exchanged", record_at, .change = corruption_exchange },
	{ "links: a link has another bit", head_at, .change = corruption_link },
	{ "links: a link skips a leaf", head_at, .change = corruption_skip },
	{ "links: a birth has another bit", head_at, .at = offsetof(struct crab_dhead, birth) },
	{ "links: a lowest key has another bit", head_at, .at = offsetof(struct crab_dhead, low) },
	{ "links: a leaf is not in DRAM's list", .plant = leaf_forgotten },
	{ "links: a leaf is not in the index", .plant = index_forgets },
	{ "free map: a leaf of the list counts as free", .plant = leaf_free },
	{ "free map: a free leaf is lost", .plant = corruption_leaf_lost },
	{ "free map: a leaf of the list is freed", .plant = leaf_given_twice },
	{ "counts: there are more records than there are", .plant = records_miscounted },
	{ }
};
