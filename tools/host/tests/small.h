/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file has a small store of the engine `crab`, which a test fills and attaches again.
 */
#ifndef CRAB_HOST_SMALL_H
#define CRAB_HOST_SMALL_H

#include "engines/crab/crab.h"
#include "test.h"

#define LEAF_BYTES	512U
#define LEAVES		64U
#define STEP		(1ULL << 20)	/* between keys in order */

static struct crab_tree *tree;

static inline void begin(const char *layout, u64 leaves)
{
	store_begin(CRAB_POOL_OFFSET + leaves * LEAF_BYTES, "crab", layout, LEAF_BYTES);
	tree = crab_tree_of(store->engine);
}

static inline void end(void)
{
	store_end(store);
}

static inline int put(u64 key)
{
	return store_insert(store, key, key + 5, CRAB_INSERT_CREATE);
}

static inline void del(u64 key)
{
	int err = store_delete(store, key);

	tap_check(!err, "delete of %llu: %d", key, err);
}

/* Attaches again, read-only if there is damage */
static inline void attach_again(bool readonly)
{
	const struct crab_attach_options options = { .readonly = readonly };
	struct crab_attach_report report;

	crab_store_detach(store);
	store = crab_store_attach(&media, &options, &report);
	if (IS_ERR(store))
		tap_bail("attach: %s", report.reason);
	tree = crab_tree_of(store->engine);
}

#endif /* CRAB_HOST_SMALL_H */
