/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the reference map: what a store must hold, as plain as it
 * can be, and the questions that tests put to both.
 *
 * The keys that may ever occur are a sorted array made in advance; each is there
 * with a value, or is not.
 */
#ifndef CRAB_HOST_MODEL_H
#define CRAB_HOST_MODEL_H

#include "store/store.h"
#include "tests/rng.h"

enum model_keys {
	MODEL_UNIFORM,		/* anywhere in 64 bits, 0 and the greatest included */
	MODEL_DENSE,		/* 0, 1, 2, ... */
	MODEL_CLUSTERED,	/* runs of 50 far apart */
	MODEL_KINDS
};

struct model {
	u32 n;
	u32 count;
	u64 *keys;
	u64 *values;
	bool *there;
};

extern const char * const model_kind_names[MODEL_KINDS];

/** model_create() - a model of @n keys, none there */
struct model *model_create(u32 n, enum model_keys kind, u64 seed);
void model_destroy(struct model *model);
void model_put(struct model *model, u32 at, u64 value);
void model_drop(struct model *model, u32 at);

/** model_at() - index of the least key >= @key; n if there is none */
u32 model_at(const struct model *model, u64 key);

/** model_compare() - whole scan, each key alone, the verifier; tells tap what differs */
void model_compare(const struct model *model, struct crab_store *store);

/** model_scan() - compare a scan of @limit records at most, @cap at a time */
void model_scan(const struct model *model, struct crab_store *store, u64 start, u64 end,
		u32 cap, u32 limit);

/** model_seek() - compare a seek */
void model_seek(const struct model *model, struct crab_store *store, u64 key,
		enum crab_seek_dir dir);

/** media_create() - a zeroed region; cleans are counted, not executed */
struct crab_media media_create(u64 size);
void media_destroy(struct crab_media *media);

/** store_format_attach() - a fresh store; ends the program where that fails */
struct crab_store *store_format_attach(struct crab_media *media, const char *engine,
				       const char *layout, u32 leaf_bytes);
/** store_attach() - attach, expecting success; ends the program where that fails */
struct crab_store *store_attach(struct crab_media *media);

#endif /* CRAB_HOST_MODEL_H */
