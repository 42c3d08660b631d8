/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the options of the engine `fastfair`.
 *
 * Locking: crab_ff_tuning_default is written by module parameters; attach copies it.
 */
#ifndef CRABTREE_ENGINES_FASTFAIR_TUNING_H
#define CRABTREE_ENGINES_FASTFAIR_TUNING_H

#include <linux/types.h>

/**
 * struct ff_tuning - options of a store
 * @binary: a node is searched by halves, not slot by slot
 * @leaf_locks: a read locks the leaf, as the publication's variant does for serializable reads
 * @lazy: later writes repair the traces of a power cut (lazy.c); only in test builds
 */
struct ff_tuning {
	u8 binary;
	u8 leaf_locks;
#ifdef CRAB_FF_LAZY
	u8 lazy;
#endif
};

/* Used where a store is attached without options */
extern struct ff_tuning crab_ff_tuning_default;

#endif /* CRABTREE_ENGINES_FASTFAIR_TUNING_H */
