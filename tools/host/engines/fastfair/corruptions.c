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
static struct ff_dnode *node_at(struct ff *ff, u32 n)
{
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
static struct ff_dslot *record_at(struct ff *ff, u32 n)
{
	struct ff_dslot *slot = NULL;
	struct ff_dnode *d;

	for (d = leaf_first(ff); d && !slot; d = target(ff, d->head.next))
		slot = slot_in(ff, d, &n);
	return slot;
}

/* The slot of the @n-th entry above the leaves */
static struct ff_dslot *entry_at(struct ff *ff, u32 n)
{
	struct ff_dslot *slot = NULL;
	struct ff_dnode *d;
	u32 i;

	for (i = 0; !slot && (d = node_at(ff, i)) && d->head.own; i++)
		slot = slot_in(ff, d, &n);
	return slot;
}

static bool value_changed(struct crab_store *store, u32 n)
{
	struct ff_dslot *d = record_at(ff_of(store->engine), n);

	return d && corruption_flip(&d->value);
}

static bool key_changed(struct crab_store *store, u32 n)
{
	struct ff_dslot *d = record_at(ff_of(store->engine), n);

	return d && corruption_flip(&d->key);
}

static bool record_gone(struct crab_store *store, u32 n)
{
	struct ff_dslot *d = record_at(ff_of(store->engine), n);

	if (d)
		d->key = cpu_to_le64(CRAB_KEY_EMPTY);
	return d;
}

static bool record_twice(struct crab_store *store, u32 n)
{
	struct ff_dslot *d = record_at(ff_of(store->engine), n);
	struct ff_dslot *other = record_at(ff_of(store->engine), n + 1);

	if (other)
		*other = *d;
	return other;
}

static bool records_exchanged(struct crab_store *store, u32 n)
{
	struct ff_dslot *d = record_at(ff_of(store->engine), n);
	struct ff_dslot *other = record_at(ff_of(store->engine), n + 1);

	if (other)
		swap(d->key, other->key);
	return other;
}

static bool link_changed(struct crab_store *store, u32 n)
{
	struct ff *ff = ff_of(store->engine);
	struct ff_dnode *d = n ? node_at(ff, n - 1) : NULL;

	return n ? d && corruption_flip(&d->head.next) : corruption_flip(&crab_list_head(ff->base.media)->next);
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

static bool birth_changed(struct crab_store *store, u32 n)
{
	struct ff_dnode *d = node_at(ff_of(store->engine), n);

	return d && corruption_flip(&d->head.birth);
}

static bool low_changed(struct crab_store *store, u32 n)
{
	struct ff_dnode *d = node_at(ff_of(store->engine), n);

	return d && corruption_flip(&d->head.low);
}

static bool level_changed(struct crab_store *store, u32 n)
{
	struct ff_dnode *d = node_at(ff_of(store->engine), n);

	return d && corruption_flip(&d->head.own);
}

static bool first_changed(struct crab_store *store, u32 n)
{
	struct ff_dnode *d = node_at(ff_of(store->engine), n);

	return d && corruption_flip(&d->first);
}

static bool entry_key_changed(struct crab_store *store, u32 n)
{
	struct ff_dslot *d = entry_at(ff_of(store->engine), n);

	return d && corruption_flip(&d->key);
}

static bool entry_link_changed(struct crab_store *store, u32 n)
{
	struct ff_dslot *d = entry_at(ff_of(store->engine), n);

	return d && corruption_flip(&d->value);
}

static u64 number_of(struct ff *ff, const struct ff_dnode *d)
{
	return (le64_to_cpu(d->head.self) - ff->base.geo.pool_offset) / ff->base.geo.leaf_bytes;
}

static bool node_free(struct crab_store *store, u32 n)
{
	struct ff *ff = ff_of(store->engine);
	struct ff_dnode *d = node_at(ff, n);

	if (d)
		__clear_bit(number_of(ff, d), ff->pool.used);
	return d;
}

static bool block_lost(struct crab_store *store, u32 n)
{
	ff_of(store->engine)->pool.free--;
	return !n;
}

static bool node_given_twice(struct crab_store *store, u32 n)
{
	struct ff *ff = ff_of(store->engine);
	struct ff_dnode *d = node_at(ff, n);

	if (d)
		crab_pool_free(&ff->pool, number_of(ff, d));
	return d;
}

static bool slots_miscounted(struct crab_store *store, u32 n)
{
	struct ff *ff = ff_of(store->engine);
	struct ff_dnode *d = node_at(ff, n);

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
	{ "content: a value has another bit", value_changed },
	{ "content: a key has another bit", key_changed },
	{ "content: a record is gone", record_gone },
	{ "order: a record replaces the next one, too", record_twice },
	{ "order: two neighbouring keys are exchanged", records_exchanged },
	{ "links: a link has another bit", link_changed },
	{ "links: a link skips a leaf", link_skips },
	{ "links: a birth has another bit", birth_changed },
	{ "links: a lowest key has another bit", low_changed },
	{ "links: a level has another bit", level_changed },
	{ "links: a first link has another bit", first_changed },
	{ "links: the key of an entry has another bit", entry_key_changed },
	{ "links: the link of an entry has another bit", entry_link_changed },
	{ "free map: a node counts as free", node_free },
	{ "free map: a free block is lost", block_lost },
	{ "free map: a node is freed", node_given_twice },
	{ "counts: a node has more slots than it has", slots_miscounted },
	{ "counts: there are more records than there are", records_miscounted },
	{ }
};
