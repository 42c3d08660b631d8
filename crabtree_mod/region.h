/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the region: a piece of memory, claimed and mapped.
 *
 * Each provider (region_*.c) claims its memory exclusively, maps it write-back
 * cached, says honestly what a fenced clean means there, and lets go of all of
 * it in release().
 */
#ifndef CRABTREE_REGION_H
#define CRABTREE_REGION_H

#include "persist.h"

#define CRAB_REGION_NAME_LEN	64

struct crab_region;

struct crab_region_ops {
	const char *provider;	/* "ram", "phys", "of", "dax", "uml" */
	void (*release)(struct crab_region *region);
};

/**
 * struct crab_region - a claimed piece of memory
 * @media: how L1 reaches it
 * @ops: its provider
 * @name: as the provider calls it
 * @phys: physical address, or 0 where there is none to tell
 * @priv: the provider's own
 */
struct crab_region {
	struct crab_media media;
	const struct crab_region_ops *ops;
	char name[CRAB_REGION_NAME_LEN];
	phys_addr_t phys;
	void *priv;
};

/**
 * crab_region_free() - release the memory and free @region
 * @region: the region, or NULL
 */
void crab_region_free(struct crab_region *region);

#endif /* CRABTREE_REGION_H */
