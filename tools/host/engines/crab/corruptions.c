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

static struct crab_dhead *head_at(struct crab_tree *tree, u32 n)
{
	struct crab_leaf *leaf = leaf_at(tree, n);

	return leaf ? &crab_leaf_media(tree, leaf->number)->head : NULL;
}

/* The slot of the @n-th record in the order of leaves */
static struct crab_dslot *record_at(struct crab_tree *tree, u32 n)
{
	struct crab_leaf *leaf;
	u32 slot;

	for (leaf = tree->first; leaf; leaf = leaf->next)
		crab_leaf_for_each(tree, leaf, slot)
			if (!n--)
				return crab_leaf_slot(tree, leaf, slot);
	return NULL;
}

static bool value_changed(struct crab_store *store, u32 n)
{
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_dslot *d = record_at(tree, n);

	return d && corruption_flip(&d->value);
}

static bool key_changed(struct crab_store *store, u32 n)
{
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_dslot *d = record_at(tree, n);

	return d && corruption_flip(&d->key);
}

static bool record_gone(struct crab_store *store, u32 n)
{
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_dslot *d = record_at(tree, n);

	if (d)
		d->key = cpu_to_le64(CRAB_KEY_EMPTY);
	return d;
}

static bool record_twice(struct crab_store *store, u32 n)
{
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_dslot *d = record_at(tree, n), *other = record_at(tree, n + 1);

	if (other)
		*other = *d;
	return other;
}

static bool records_exchanged(struct crab_store *store, u32 n)
{
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_dslot *d = record_at(tree, n), *other = record_at(tree, n + 1);

	if (other)
		swap(d->key, other->key);
	return other;
}

static bool link_changed(struct crab_store *store, u32 n)
{
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_dhead *head = n ? head_at(tree, n - 1) : crab_list_head(tree->base.media);

	return head && corruption_flip(&head->next);
}

static bool link_skips(struct crab_store *store, u32 n)
{
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_dhead *head = n ? head_at(tree, n - 1) : crab_list_head(tree->base.media);
	struct crab_dhead *over = head_at(tree, n);

	if (over)
		head->next = over->next;
	return over;
}

static bool birth_changed(struct crab_store *store, u32 n)
{
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_dhead *head = head_at(tree, n);

	return head && corruption_flip(&head->birth);
}

static bool low_changed(struct crab_store *store, u32 n)
{
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_dhead *head = head_at(tree, n);

	return head && corruption_flip(&head->low);
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

static bool leaf_lost(struct crab_store *store, u32 n)
{
	struct crab_tree *tree = crab_tree_of(store->engine);

	tree->pool.free--;
	return !n;
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
	{ "content: a value has another bit", value_changed },
	{ "content: a key has another bit", key_changed },
	{ "content: a record is gone", record_gone },
	{ "order: a record replaces the next one, too", record_twice },
	{ "order: two neighbouring keys are exchanged", records_exchanged },
	{ "links: a link has another bit", link_changed },
	{ "links: a link skips a leaf", link_skips },
	{ "links: a birth has another bit", birth_changed },
	{ "links: a lowest key has another bit", low_changed },
	{ "links: a leaf is not in DRAM's list", leaf_forgotten },
	{ "links: a leaf is not in the index", index_forgets },
	{ "free map: a leaf of the list counts as free", leaf_free },
	{ "free map: a free leaf is lost", leaf_lost },
	{ "free map: a leaf of the list is freed", leaf_given_twice },
	{ "counts: there are more records than there are", records_miscounted },
	{ }
};
