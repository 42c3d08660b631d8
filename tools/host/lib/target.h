/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the target of tests that damage media: a good image of a store with
 * many leaves, and the copy that each case damages and attaches.
 *
 * Locking: one thread.
 */
#ifndef CRAB_HOST_TARGET_H
#define CRAB_HOST_TARGET_H

#include "engines/crab/crab.h"
#include "model.h"

#define TARGET_LEAF_BYTES	512
#define TARGET_LEAVES		64	/* of the pool: whole words of tables with a bit a leaf */
#define TARGET_KEYS		400
#define TARGET_BYTES		(CRAB_POOL_OFFSET + TARGET_LEAVES * TARGET_LEAF_BYTES)

/**
 * struct target - the image and the copy
 * @image: the good image
 * @media: the copy
 * @model: the content of the good image
 * @order: leaf numbers in the order of the list
 * @leaves: number of leaves in the list
 * @geo: geometry of the store
 * @sorted: the leaves are sorted, else slotted
 * @log_lines: lines that the store logged in this case
 * @log_last: the last of them
 */
struct target {
	struct crab_media image;
	struct crab_media media;
	struct model *model;
	u32 order[TARGET_LEAVES];
	u32 leaves;
	struct crab_geometry geo;
	bool sorted;
	u32 log_lines;
	char log_last[512];
};

extern struct target target;

/**
 * target_make() - make the good image: a list of many leaves, out of order in the pool
 * @sorted: of sorted leaves, else of slotted ones
 * @seed: of keys and void values
 */
void target_make(bool sorted, u64 seed);

/**
 * target_destroy() - free the memory of target_make()
 */
void target_destroy(void);

/**
 * target_begin() - begin a case: copy the good image
 */
void target_begin(void);

/**
 * target_expect_good() - attach the copy and expect all records
 * @name: of the case
 * @writable: expect a writable store, else a read-only one that serves all records
 */
void target_expect_good(const char *name, bool writable);

/**
 * target_super() - a superblock of the copy
 * @copy: which of the two
 *
 * Return: its address.
 */
struct crab_dsuper *target_super(u32 copy);

/**
 * target_leaf() - a leaf of the copy
 * @nth: its position in the list
 *
 * Return: its address.
 */
struct crab_dleaf *target_leaf(u32 nth);

/**
 * target_offset() - offset of a leaf
 * @nth: its position in the list
 *
 * Return: its offset in the region.
 */
u64 target_offset(u32 nth);

/**
 * target_seal() - make the crc of a header valid
 * @nth: the leaf's position in the list
 */
void target_seal(u32 nth);

/**
 * target_low() - the lowest key that a leaf may hold
 * @nth: its position in the list
 *
 * Return: the key; the first key of a sorted leaf is its lowest one.
 */
u64 target_low(u32 nth);

/**
 * target_link() - the word that links to a leaf
 * @nth: its position in the list
 *
 * Return: the word, with a valid check.
 */
u64 target_link(u32 nth);

#endif /* CRAB_HOST_TARGET_H */
