// SPDX-License-Identifier: GPL-2.0
/*
 * This file holds the table of the drivers: one line for each engine, or layout,
 * that the crash tests run; and how a corruption is planted.
 *
 * Locking: one thread; the table is const.
 */
#include "host_driver.h"
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

	if (!corruption->find)
		return corruption->plant(store, n);
	found = corruption->find(store, n);
	return found && corruption_flip(found + corruption->at);
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
