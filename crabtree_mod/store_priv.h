/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the inside of a store, for store.c and iter.c only.
 */
#ifndef CRABTREE_STORE_PRIV_H
#define CRABTREE_STORE_PRIV_H

#include <linux/atomic.h>
#include <linux/rwsem.h>

#include "store.h"

/**
 * struct crab_store - one attached store
 * @lock: of the engine: shared by readers, exclusive for a writer
 * @media: the region
 * @engine: what serves it
 * @super: its superblock; written by attach and detach only
 * @options: how it was attached
 * @readonly: writes get -EROFS; set under @lock, exclusive, and never cleared
 * @reason: why; written before @readonly
 * @durability: what a returned write relies on
 * @attach_ns: how long attach took
 * @inserts: under @lock, exclusive, as are the two below
 * @updates: ...
 * @deletes: ...
 * @searches: counted by readers side by side
 */
struct crab_store {
	struct rw_semaphore lock;
	struct crab_media *media;
	struct crab_engine *engine;
	struct crab_super super;
	struct crab_attach_options options;
	bool readonly;
	char reason[CRAB_REASON_LEN];
	enum crab_durability durability;
	u64 attach_ns;
	u64 inserts;
	u64 updates;
	u64 deletes;
	atomic64_t searches;
};

#endif /* CRABTREE_STORE_PRIV_H */
