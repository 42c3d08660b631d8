/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the options of the engine `nvtree`.
 *
 * Locking: crab_nv_tuning_default is written by module parameters; attach copies it.
 */
#ifndef CRABTREE_ENGINES_NVTREE_TUNING_H
#define CRABTREE_ENGINES_NVTREE_TUNING_H

#include <linux/types.h>

/**
 * struct nv_tuning - options of a store
 * @pack: leaves that a rebuild puts below each parent node, 1 as published; 0: a quarter of a
 *	full node if most splits since the last rebuild were at the end of the tree, else 1
 * @pairs: an update appends the negative of the old record, too, as published
 * @instant: a clean detach parks the entries of the parent nodes, and attach believes them
 *	(park.c); only in test builds
 */
struct nv_tuning {
	u32 pack;
	u8 pairs;
#ifdef CRAB_NV_INSTANT
	u8 instant;
#endif
};

/* Used where a store is attached without options */
extern struct nv_tuning crab_nv_tuning_default;

#endif /* CRABTREE_ENGINES_NVTREE_TUNING_H */
