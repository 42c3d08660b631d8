// SPDX-License-Identifier: GPL-2.0
/*
 * This file is the driver of the engine `crab` for the crash tests.
 *
 * Locking: one thread.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>

#include "crab_driver.h"
#include "engines/crab/crab.h"
#include "store/store_priv.h"

#define SEALED_BIT	(1ULL << 50)	/* of a link: in its check */

/* A value equal to the void of its leaf makes an insert or an update replace the leaf */
static u64 special(struct crab_store *store, u64 key)
{
	const struct crab_tree *tree = crab_tree_of(store->engine);
	const struct crab_leaf *leaf = crab_leaf_find(tree, key);

	return leaf->void_value;
}

static u64 shape(struct crab_store *store)
{
	const struct crab_tree *tree = crab_tree_of(store->engine);

	return tree->birth + tree->unlinks;
}

/* A split takes two leaves and leaves two; each other operation may have freed one since */
static bool is_full(struct crab_store *store, u32 ops)
{
	struct crab_store_info info;

	crab_store_info(store, &info);
	return info.super.leaves - info.stats.leaves_used < 3 + ops;
}

/* Stores that allocate on demand keep a bitmap on the media */
static const char *allocator(struct crab_store *store, bool exact)
{
	const struct crab_tree *tree = crab_tree_of(store->engine);
	const struct crab_media *media = tree->base.media;
	const __le64 *bitmap = (const __le64 *)(media->base + CRAB_BITMAP_OFFSET);
	bool used, listed;
	u64 leaf;

	for (leaf = 0; tree->tuning.on_demand && leaf < tree->base.geo.leaves; leaf++) {
		used = crab_load(media, bitmap + leaf / 64) >> leaf % 64 & 1;
		listed = test_bit(leaf, tree->pool.used);
		if (listed && !used)
			return "the bitmap lacks a leaf of the list";
		if (used && !listed && exact)
			return "the bitmap has a leaf that the list has not";
	}
	return NULL;
}

/* The links of all leaves */
static u32 sealed(struct crab_store *store, __le64 **words, u32 room)
{
	const struct crab_tree *tree = crab_tree_of(store->engine);
	const struct crab_leaf *leaf;
	u32 n = 0;

	for (leaf = tree->first; leaf && n < room; leaf = leaf->next)
		words[n++] = &crab_leaf_media(tree, leaf->number)->head.next;
	return n;
}

const struct crash_setup crab_setups[] = {
	{ CRAB_SLOTTED(128) },
	{ CRAB_SORTED(128, SIP) },
	{ }
};

/* One in three is slotted; sorted stores have each strategy with and without each option */
static struct crash_setup sample(u32 i)
{
	static const enum crab_strategy strategies[] = {
		CRAB_STRATEGY_SIP, CRAB_STRATEGY_AUTO, CRAB_STRATEGY_COW, CRAB_STRATEGY_SIP,
	};
	struct crash_setup setup = crab_setups[i % 3 != 0];
	u32 nth = i - i / 3 - 1;

	if (i % 3 == 0)
		return setup;
	setup.leaf_bytes = nth % 2 ? 256 : 128;
	setup.tuning = crab_tuning_default;
	setup.tuning.strategy = strategies[nth / 2 % ARRAY_SIZE(strategies)];
	setup.tuning.pair = nth % 3 == 0;
	setup.tuning.probe = nth % 4 < 2;
	setup.tuning.on_demand = nth % 5 == 0;
	return setup;
}

const struct host_driver host_driver_crab = {
	.engine = "crab",
	.met = "splits unlinks full repairs",
	.spaces = crab_spaces,
	.loads = crab_loads,
	.workloads = crab_workloads,
	.setups = crab_setups,
	.corruptions = crab_corruptions,
	.read = crab_image_read,
	.write = crab_image_write,
	.special = special,
	.shape = shape,
	.is_full = is_full,
	.allocator = allocator,
	.sealed = sealed,
	.sealed_bit = SEALED_BIT,
	.sample = sample,
};
