/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file finds the lock of an engine under which the structure of a store changes. CHECK holds
 * it for a turn, and releases it between two turns.
 */
#ifndef CRAB_HOST_STRUCTURE_H
#define CRAB_HOST_STRUCTURE_H

#include <linux/string.h>

#include "engines/clfb/clfb.h"
#include "engines/crab/tree.h"
#include "engines/fastfair/fastfair.h"
#include "engines/nbtree/nbtree.h"
#include "engines/nvtree/nvtree.h"

/**
 * structure_held() - find the flag of the lock of the structure
 * @engine: the engine, with leaves
 *
 * Return: the flag: not 0 while the lock is held.
 */
static inline const u32 *structure_held(struct crab_engine *engine)
{
	const char *name = engine->ops->name;

	if (!strcmp(name, "nvtree"))
		return &nv_tree_of(engine)->smo_lock.held;
	if (!strcmp(name, "fastfair"))
		return &ff_of(engine)->structure.held;
	if (!strcmp(name, "nbtree"))
		return &nb_tree_of(engine)->smo_lock.held;
	if (!strcmp(name, "clfb"))
		return &clfb_tree_of(engine)->lock.held;
	return &crab_tree_of(engine)->smo_lock.held;
}

#endif /* CRAB_HOST_STRUCTURE_H */
