/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares what INFO says of a store in the words of the user interface:
 * the same for a device and for an image in user space.
 */
#ifndef CRABTREE_INFO_H
#define CRABTREE_INFO_H

#include <uapi/linux/crabtree.h>

#include "store/store.h"

/** crab_info_durability() - a class of durability, as the user interface numbers it */
u32 crab_info_durability(enum crab_durability durability);

/**
 * crab_info_store() - fill in what a store knows of itself
 * @info: zeroed; state, durability, reason and region are left to the caller
 * @store: what it says
 */
void crab_info_store(struct crabtree_info *info, const struct crab_store_info *store);

#endif /* CRABTREE_INFO_H */
