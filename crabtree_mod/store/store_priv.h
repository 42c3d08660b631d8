/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the inside of a store, for store.c and iter.c only.
 */
#ifndef CRABTREE_STORE_PRIV_H
#define CRABTREE_STORE_PRIV_H

#include <linux/mutex.h>

#include "store.h"

/**
 * struct crab_store - one attached store
 * @media: the region
 * @engine: what serves it
 * @super: its superblock; written by attach and detach only
 * @options: how it was attached
 * @lock: of @reason, and of the moment in which @readonly is set
 * @readonly: writes get -EROFS; never cleared; a write that runs may still end
 * @reason: why; written before @readonly
 * @durability: what a returned write relies on
 * @attach_ns: how long attach took
 */
struct crab_store {
	struct crab_media *media;
	struct crab_engine *engine;
	struct crab_super super;
	struct crab_attach_options options;
	struct mutex lock;
	bool readonly;
	char reason[CRAB_REASON_LEN];
	enum crab_durability durability;
	u64 attach_ns;
};

#endif /* CRABTREE_STORE_PRIV_H */
