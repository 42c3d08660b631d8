// SPDX-License-Identifier: GPL-2.0
/*
 * This file plants damage in a live store of the engine `fastfair`: in content, order, links,
 * entries, free map and counts. Each piece is planted alone, in a store of its own, at every place.
 *
 * Locking: one thread.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>

#include "engines/fastfair/fastfair.h"
#include "fastfair_driver.h"
#include "store/store_priv.h"

static struct ff_dnode *target(struct ff *ff, __le64 link)
{
	u64 number = (le64_to_cpu(link) & CRAB_LINK_MASK) - 1;

	return number < ff->base.geo.leaves ? ff_media(ff, number) : NULL;
}

/* Node @n of all, from the root's level down */
static void *node_at(struct crab_store *store, u32 n)
{
	struct ff *ff = ff_of(store->engine);
	struct ff_dnode *first, *d;

	for (first = target(ff, crab_list_head(ff->base.media)->next); first;
	     first = target(ff, first->first))
		for (d = first; d; d = target(ff, d->head.next))
			if (!n--)
				return d;
	return NULL;
}

static struct ff_dnode *leaf_first(struct ff *ff)
{
	struct ff_dnode *d = target(ff, crab_list_head(ff->base.media)->next);

	while (d->head.own)
		d = target(ff, d->first);
	return d;
}

static struct ff_dslot *slot_in(struct ff *ff, struct ff_dnode *d, u32 *n)
{
	u32 i;

	for (i = 0; i < ff->slots && d->slot[i].key != cpu_to_le64(CRAB_KEY_EMPTY); i++)
		if (!(*n)--)
			return &d->slot[i];
	return NULL;
}

/* The slot of the @n-th record */
static void *record_at(struct crab_store *store, u32 n)
{
	struct ff *ff = ff_of(store->engine);
	struct ff_dslot *slot = NULL;
	struct ff_dnode *d;

	for (d = leaf_first(ff); d && !slot; d = target(ff, d->head.next))
		slot = slot_in(ff, d, &n);
	return slot;
}

/* The slot of the @n-th entry above the leaves */
static void *entry_at(struct crab_store *store, u32 n)
{
	struct ff_dslot *slot = NULL;
	struct ff_dnode *d;
	u32 i;

	for (i = 0; !slot && (d = node_at(store, i)) && d->head.own; i++)
		slot = slot_in(ff_of(store->engine), d, &n);
	return slot;
}

static bool link_skips(struct crab_store *store, u32 n)
{
	struct ff *ff = ff_of(store->engine);
	struct ff_dnode *d = leaf_first(ff), *over = target(ff, d->head.next);

	while (over && n--) {
		d = over;
		over = target(ff, d->head.next);
	}
	if (over)
		d->head.next = over->head.next;
	return over;
}

static u64 number_of(struct ff *ff, const struct ff_dnode *d)
{
	return (le64_to_cpu(d->head.self) - ff->base.geo.pool_offset) / ff->base.geo.leaf_bytes;
}

static bool node_free(struct crab_store *store, u32 n)
{
	struct ff *ff = ff_of(store->engine);
	struct ff_dnode *d = node_at(store, n);

	if (d)
		__clear_bit(number_of(ff, d), ff->pool.used);
	return d;
}

static bool node_given_twice(struct crab_store *store, u32 n)
{
	struct ff *ff = ff_of(store->engine);
	struct ff_dnode *d = node_at(store, n);

	if (d)
		crab_pool_free(&ff->pool, number_of(ff, d));
	return d;
}

static bool slots_miscounted(struct crab_store *store, u32 n)
{
	struct ff *ff = ff_of(store->engine);
	struct ff_dnode *d = node_at(store, n);

	if (d)
		crab_side(&ff->sides, number_of(ff, d))->count++;
	return d;
}

static bool records_miscounted(struct crab_store *store, u32 n)
{
	ff_of(store->engine)->records++;
	return !n;
}

const struct corruption fastfair_corruptions[] = {
	{ "content: a value has another bit", record_at, .at = offsetof(struct ff_dslot, value) },
	{ "content: a key has another bit", record_at, .at = offsetof(struct ff_dslot, key) },
	{ "content: a record is gone", record_at, .change = corruption_empty },
	{ "order: a record replaces the next one, too", record_at, .change = corruption_twice },
	{ "order: two neighbouring keys are exchanged", record_at, .change = corruption_exchange },
	{ "links: a link has another bit", node_at, .change = corruption_link },
	{ "links: a link skips a leaf", .plant = link_skips },
	{ "links: a birth has another bit", node_at, .at = offsetof(struct crab_dhead, birth) },
	{ "links: a lowest key has another bit", node_at, .at = offsetof(struct crab_dhead, low) },
	{ "links: a level has another bit", node_at, .at = offsetof(struct crab_dhead, own) },
	{ "links: a first link has another bit", node_at, .at = offsetof(struct ff_dnode, first) },
	{ "links: the key of an entry has another bit", entry_at,
	  .at = offsetof(struct ff_dslot, key) },
	{ "links: the link of an entry has another bit", entry_at,
	  .at = offsetof(struct ff_dslot, value) },
	{ "free map: a node counts as free", .plant = node_free },
	{ "free map: a free block is lost", .plant = corruption_leaf_lost },
	{ "free map: a node is freed", .plant = node_given_twice },
	{ "counts: a node has more slots than it has", .plant = slots_miscounted },
	{ "counts: there are more records than there are", .plant = records_miscounted },
	{ }
};
