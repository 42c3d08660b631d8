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

/**
 * store_begin() - make this region, and this store of records in it
 * @size: of the region
 * @engine: name of the engine
 * @layout: name of the layout
 * @leaf_bytes: size of leaves
 */
void store_begin(u64 size, const char *engine, const char *layout, u32 leaf_bytes);

#endif /* CRAB_HOST_TEST_H */
