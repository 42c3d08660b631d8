// SPDX-License-Identifier: GPL-2.0
/*
 * This file holds the table of the drivers: one line for each engine, or layout,
 * that the crash tests run; and how a corruption is planted.
 *
 * Locking: one thread; the table is const.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "host_driver.h"
#include "shared/link.h"
#include "shared/pool.h"
#include "store/store_priv.h"

const struct host_driver * const host_drivers[] = {
	&host_driver_crab,
	&host_driver_nvtree,
	&host_driver_fastfair,
	&host_driver_clfb,
	&host_driver_nbtree,
	&host_driver_eadr,
	&host_driver_toy,
	NULL
};

bool corruption_plant(const struct corruption *corruption, struct crab_store *store, u32 n)
{
	void *found;

	if (corruption->plant)
		return corruption->plant(store, n);
	if (corruption->change)
		return corruption->change(corruption, store, n);
	found = corruption->find(store, n);
	return found && corruption_flip(found + corruption->at);
}

/* The header with the link to place @n */
static struct crab_dhead *before(const struct corruption *corruption, struct crab_store *store, u32 n)
{
	return n ? corruption->find(store, n - 1) : crab_list_head(store->engine->media);
}

bool corruption_link(const struct corruption *corruption, struct crab_store *store, u32 n)
{
	struct crab_dhead *head = before(corruption, store, n);

	return head && corruption_flip(&head->next);
}

bool corruption_skip(const struct corruption *corruption, struct crab_store *store, u32 n)
{
	struct crab_dhead *over = corruption->find(store, n);

	if (over)
		before(corruption, store, n)->next = over->next;
	return over;
}

bool corruption_empty(const struct corruption *corruption, struct crab_store *store, u32 n)
{
	__le64 *slot = corruption->find(store, n);

	if (slot)
		slot[0] = cpu_to_le64(CRAB_KEY_EMPTY);
	return slot;
}

bool corruption_twice(const struct corruption *corruption, struct crab_store *store, u32 n)
{
	__le64 *slot = corruption->find(store, n), *next = corruption->find(store, n + 1);

	if (next)
		memcpy(next, slot, 2 * sizeof(*slot));
	return next;
}

bool corruption_exchange(const struct corruption *corruption, struct crab_store *store, u32 n)
{
	__le64 *slot = corruption->find(store, n), *next = corruption->find(store, n + 1);

	if (next)
		swap(*slot, *next);
	return next;
}

bool corruption_leaf_lost(struct crab_store *store, u32 n)
{
	store->engine->pool->free--;
	return !n;
}

enum crab_shadow_model host_driver_model(const struct host_driver *driver, const char *layout)
{
	const struct crab_engine_ops *ops = crab_engine_by_name(driver->engine);

	return crab_shadow_model_of(crab_layout_by_name(ops, layout)->needs);
}
