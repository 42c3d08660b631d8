// SPDX-License-Identifier: GPL-2.0
/*
 * This file plants damage in a live store of the engine `nbtree`: in content, links, free map and
 * counts. Each piece is planted alone, in a store of its own, at every place.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>

#include "engines/nbtree/eadr/eadr.h"
#include "nbtree_driver.h"
#include "store/store_priv.h"

/* Leaf @n of the list, or NULL */
static struct nb_leaf *leaf_at(struct nb_tree *tree, u32 n)
{
	struct nb_leaf *leaf = crab_index_find(&tree->index, 0);

	for (; n; n--) {
		if (leaf->high == CRAB_KEY_EMPTY)
			return NULL;
		leaf = crab_index_find(&tree->index, leaf->high);
	}
	return leaf;
}

static void *head_at(struct crab_store *store, u32 n)
{
	struct nb_tree *tree = nb_tree_of(store->engine);
	struct nb_leaf *leaf = leaf_at(tree, n);

	return leaf ? &nb_leaf_media(tree, leaf)->head : NULL;
}

static bool is_eadr(const struct nb_tree *tree)
{
	return tree->kind == &crab_ea_kind;
}

/* Has the slot a record, or is it free? */
static bool slot_is(struct nb_tree *tree, struct nb_leaf *leaf, u32 slot, bool live)
{
	u64 word = le64_to_cpu(nb_leaf_media(tree, leaf)->slot[slot].key);

	if (!is_eadr(tree))
		return (leaf->live >> slot & 1) == live;
	return live ? ea_is_record(word) : word == EA_FREE;
}

/* The @n-th slot with a record, or without one, in the order of leaves */
static struct nb_dslot *slot_at(struct nb_tree *tree, u32 n, bool live)
{
	struct nb_leaf *leaf;
	u32 nth, slot;

	for (nth = 0; (leaf = leaf_at(tree, nth)); nth++)
		for (slot = 0; slot < tree->room; slot++)
			if (slot_is(tree, leaf, slot, live) && !n--)
				return &nb_leaf_media(tree, leaf)->slot[slot];
	return NULL;
}

static void *record_at(struct crab_store *store, u32 n)
{
	return slot_at(nb_tree_of(store->engine), n, true);
}

static bool record_gone(struct crab_store *store, u32 n)
{
	struct nb_dslot *d = record_at(store, n);

	if (d)
		d->key = cpu_to_le64(is_eadr(nb_tree_of(store->engine)) ? EA_DEAD : CRAB_KEY_EMPTY);
	return d;
}

static bool record_appears(struct crab_store *store, u32 n)
{
	struct nb_dslot *d = slot_at(nb_tree_of(store->engine), n, false);

	if (d)
		d->key = cpu_to_le64(is_eadr(nb_tree_of(store->engine)) ? EA_LIVE : 0);
	return d;
}

/* The fingerprint of the first record of a leaf, or NULL */
static u8 *fingerprint_at(struct nb_tree *tree, struct nb_leaf *leaf)
{
	u32 slot;

	for (slot = 0; slot < tree->room; slot++)
		if (slot_is(tree, leaf, slot, true))
			return &leaf->fp[slot];
	return NULL;
}

static bool fingerprint_changed(struct crab_store *store, u32 n)
{
	struct nb_tree *tree = nb_tree_of(store->engine);
	struct nb_leaf *leaf = leaf_at(tree, n);

	while (leaf && !fingerprint_at(tree, leaf))
		leaf = leaf_at(tree, ++n);
	if (leaf)
		*fingerprint_at(tree, leaf) ^= 0x80;
	return leaf;
}

static bool leaf_free(struct crab_store *store, u32 n)
{
	struct nb_tree *tree = nb_tree_of(store->engine);
	struct nb_leaf *leaf = leaf_at(tree, n);

	if (leaf)
		__clear_bit(leaf->number, tree->pool.used);
	return leaf;
}

static bool records_miscounted(struct crab_store *store, u32 n)
{
	nb_tree_of(store->engine)->records++;
	return !n;
}

const struct corruption nbtree_corruptions[] = {
	{ "content: a value has another bit", record_at, .at = offsetof(struct nb_dslot, value) },
	{ "content: a key has another bit", record_at, .at = offsetof(struct nb_dslot, key) },
	{ "content: a record is gone", .plant = record_gone },
	{ "content: a free slot has a key", .plant = record_appears },
	{ "content: a fingerprint has another bit", .plant = fingerprint_changed },
	{ "links: a link has another bit", head_at, .change = corruption_link },
	{ "links: a link skips a leaf", head_at, .change = corruption_skip },
	{ "links: a birth has another bit", head_at, .at = offsetof(struct crab_dhead, birth) },
	{ "links: a lowest key has another bit", head_at, .at = offsetof(struct crab_dhead, low) },
	{ "free map: a leaf of the list counts as free", .plant = leaf_free },
	{ "free map: a free leaf is lost", .plant = corruption_leaf_lost },
	{ "counts: there are more records than there are", .plant = records_miscounted },
	{ }
};
