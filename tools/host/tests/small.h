/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file has a small store of the engine `crab`, which a test fills and attaches again.
 */
#ifndef CRAB_HOST_SMALL_H
#define CRAB_HOST_SMALL_H

#include <stdio.h>
#include <stdlib.h>

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "engines/crab/crab.h"
#include "model.h"
#include "store/store_priv.h"
#include "tap.h"

#define LEAF_BYTES	512U
#define LEAVES		64U
#define STEP		(1ULL << 20)	/* between keys in order */

static struct crab_media media;
static struct crab_store *store;
static struct crab_tree *tree;

static inline void begin(const char *layout, u64 leaves)
{
	media = media_create(CRAB_POOL_OFFSET + leaves * LEAF_BYTES);
	store = store_format_attach(&media, "crab", layout, LEAF_BYTES);
	tree = crab_tree_of(store->engine);
}

static inline void end(void)
{
	crab_store_detach(store);
	media_destroy(&media);
}

static inline int put(u64 key)
{
	struct crab_old old;

	return crab_store_insert(store, key, key + 5, CRAB_INSERT_CREATE, &old);
}

static inline void del(u64 key)
{
	struct crab_old old;
	int err = crab_store_delete(store, key, &old);

	tap_check(!err, "delete of %llu: %d", key, err);
}

/* Attaches again, read-only if there is damage */
static inline void attach_again(bool readonly)
{
	const struct crab_attach_options options = { .readonly = readonly };
	struct crab_attach_report report;

	crab_store_detach(store);
	store = crab_store_attach(&media, &options, &report);
	if (IS_ERR(store)) {
		printf("Bail out! attach: %s\n", report.reason);
		exit(2);
	}
	tree = crab_tree_of(store->engine);
}

#endif /* CRAB_HOST_SMALL_H */
