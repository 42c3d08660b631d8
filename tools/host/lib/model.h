/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the model: the content that a store must have, as a plain array, and
 * the comparisons of both.
 *
 * A sorted array, created in advance, has all keys that can occur; each key is present with
 * a value, or absent.
 */
#ifndef CRAB_HOST_MODEL_H
#define CRAB_HOST_MODEL_H

#include "store/store.h"
#include "tests/rng.h"

/* Calls of a store of which only the error counts */
int store_insert(struct crab_store *store, u64 key, u64 value, enum crab_insert_mode mode);
int store_delete(struct crab_store *store, u64 key);
int store_search(struct crab_store *store, u64 key);

/* Inserts or replaces */
int store_put(struct crab_store *store, u64 key, u64 value);

/* The answer of INFO */
struct crab_store_info store_info(struct crab_store *store);

/* CHECK must find no damage; returns its report */
struct crab_check_report store_check_good(struct crab_store *store);
/* Calls of a store of blobs, or of names, of which only the error counts */
int store_blob_put(struct crab_store *store, u64 key, const void *data, u32 bytes);
int store_blob_erase(struct crab_store *store, u64 key);
int store_name_put(struct crab_store *store, const char *name, u32 name_bytes, const void *data, u32 bytes);
int store_name_erase(struct crab_store *store, const char *name, u32 name_bytes);

/* Opens a snapshot; NULL: no memory */
struct crab_snap *store_snap(struct crab_store *store);

/* Detaches a store, or abandons it, and frees its region */
void store_end(struct crab_store *store);
void store_abandon(struct crab_store *store);

/* Work off the write path, until none is left */
void store_maintain(struct crab_store *store);

/* Detaches, or abandons it, and attaches again; as store_attach() */
struct crab_store *store_again(struct crab_store *store);
struct crab_store *store_cut(struct crab_store *store);

/* Attaches without options; an error is an ERR_PTR() */
struct crab_store *store_try(struct crab_media *media, struct crab_attach_report *report);

enum model_keys {
	MODEL_UNIFORM,		/* anywhere in 64 bits, 0 and the highest included */
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

/**
 * model_create() - make a model in which no key is present
 * @n: number of keys
 * @kind: how the keys are distributed
 * @seed: of the keys
 *
 * Return: the model.
 */
struct model *model_create(u32 n, enum model_keys kind, u64 seed);
void model_destroy(struct model *model);
void model_put(struct model *model, u32 at, u64 value);
void model_drop(struct model *model, u32 at);

/**
 * model_at() - find a key
 * @model: the model
 * @key: the key
 *
 * Return: index of the lowest key >= @key, or model.n if there is none.
 */
u32 model_at(const struct model *model, u64 key);

/**
 * model_compare() - compare a store with the model: a scan, each key, the verifier
 * @model: the model
 * @store: the store; tap_fail() reports each difference
 */
void model_compare(const struct model *model, struct crab_store *store);

/**
 * model_scan() - compare one scan
 * @model: the model
 * @store: the store
 * @start: lowest key
 * @end: highest key
 * @cap: records of one read
 * @limit: records of the scan
 */
void model_scan(const struct model *model, struct crab_store *store, u64 start, u64 end,
		u32 cap, u32 limit);

/**
 * model_scan_back() - compare one scan in descending order
 * @model: the model
 * @store: the store
 * @start: lowest key
 * @end: highest key
 * @cap: records of one read
 * @limit: records of the scan
 */
void model_scan_back(const struct model *model, struct crab_store *store, u64 start, u64 end,
		     u32 cap, u32 limit);

/**
 * model_seek() - compare one seek
 * @model: the model
 * @store: the store
 * @key: the key
 * @dir: direction
 */
void model_seek(const struct model *model, struct crab_store *store, u64 key,
		enum crab_seek_dir dir);

/**
 * media_create() - make a zeroed region
 * @size: bytes
 *
 * Return: the region; cleans are counted and not executed.
 */
struct crab_media media_create(u64 size);
void media_destroy(struct crab_media *media);

/**
 * leaf_bytes_of() - size of leaves for a test
 * @engine: name of the engine
 * @layout: name of the layout; "": its default
 *
 * Return: 512, or the size that is nearest to it.
 */
u32 leaf_bytes_of(const char *engine, const char *layout);

/* The kind of a store, for FORMAT */
enum { STORE_RECORDS = 0, STORE_BLOBS = 1, STORE_NAMES = 2, STORE_COMMITS = 4 };

/**
 * store_make() - format a region and attach the store
 * @media: the region
 * @engine: name of the engine
 * @layout: name of the layout
 * @leaf_bytes: size of leaves; 0: the default of the layout
 * @kind: a sum of STORE_...
 *
 * Return: the store; an error ends the program.
 */
struct crab_store *store_make(struct crab_media *media, const char *engine, const char *layout,
			      u32 leaf_bytes, unsigned int kind);

/**
 * store_format_attach() - store_make() for a store of records
 * @media: the region
 * @engine: name of the engine
 * @layout: name of the layout
 * @leaf_bytes: size of leaves; 0: the default of the layout
 *
 * Return: the store; an error ends the program.
 */
struct crab_store *store_format_attach(struct crab_media *media, const char *engine,
				       const char *layout, u32 leaf_bytes);

/**
 * store_attach() - attach a store
 * @media: the region
 *
 * Return: the store; an error ends the program.
 */
struct crab_store *store_attach(struct crab_media *media);

#endif /* CRAB_HOST_MODEL_H */
