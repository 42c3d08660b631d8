/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the life of a tree, and how long walks through all of it let others run.
 *
 * Locking: FORMAT, attach, repair and detach have the region to themselves.
 */
#ifndef CRABTREE_ENGINES_CRAB_TREE_H
#define CRABTREE_ENGINES_CRAB_TREE_H

#include <linux/sched.h>

#include "crab.h"

/**
 * crab_tree_breathe() - let others run, between two leaves of a long walk
 * @tree: the tree
 * Context: may sleep.
 * Return: true if the walk is to end, with -EINTR.
 */
static inline bool crab_tree_breathe(const struct crab_tree *tree)
{
	cond_resched();
	return crab_engine_is_stopped(&tree->base);
}

/* recover.c */
int crab_tree_format(struct crab_flow *flow, const struct crab_geometry *geo);
struct crab_engine *crab_tree_attach(struct crab_media *media, const struct crab_geometry *geo,
				     const struct crab_attach_how *how);
int crab_tree_repair(struct crab_engine *engine, struct crab_flow *flow);
void crab_tree_detach(struct crab_engine *engine);

/* check.c */
int crab_tree_check(struct crab_engine *engine, struct crab_check_report *report);

#endif /* CRABTREE_ENGINES_CRAB_TREE_H */
