/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file has the includes of most programs of tests: the C library, the kernel's headers, a store
 * with its inside, the model, random numbers, TAP.
 */
#ifndef CRAB_HOST_TEST_H
#define CRAB_HOST_TEST_H

#include <stdio.h>
#include <stdlib.h>

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "model.h"
#include "store/store_priv.h"
#include "tap.h"
#include "tests/rng.h"

/* The region and the store of a program that has one of each at a time */
extern struct crab_media media;
extern struct crab_store *store;

/* A watch whose reader is not there; a caller that is always asked to stop */
void wake_none(void *arg);
bool stop_always(void *arg);

/* Engine and name of each layout on the media; those of nbtree are between clfb and `encoded` */
enum {
	STORE_FASTFAIR = 2, STORE_NVTREE, STORE_CLFB, STORE_ENCODED = 9, STORE_LAYOUTS
};

extern const char * const store_layouts[STORE_LAYOUTS][2];

/* Those of the tests of values; `encoded` is the last one */
#define STORE_VALUE_LAYOUTS	8

extern const char * const store_value_layouts[STORE_VALUE_LAYOUTS][2];

/**
 * store_begin() - make this region, and this store of records in it
 * @size: of the region
 * @engine: name of the engine
 * @layout: name of the layout
 * @leaf_bytes: size of leaves
 */
void store_begin(u64 size, const char *engine, const char *layout, u32 leaf_bytes);

/* The same with a store of a kind: STORE_BLOBS and so on, as store_make() */
void store_begin_of(u64 size, const char *engine, const char *layout, u32 leaf_bytes, unsigned int kind);

#endif /* CRAB_HOST_TEST_H */
