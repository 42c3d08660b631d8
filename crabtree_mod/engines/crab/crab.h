/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file includes the headers of the engine `crab`, for its tests: a B+-tree whose leaves form
 * a linked list on the media and whose internal nodes are in DRAM (Wang et al. 2020, section 4).
 *
 * Locking: access.c documents it.
 */
#ifndef CRABTREE_ENGINES_CRAB_H
#define CRABTREE_ENGINES_CRAB_H

#include "access.h"
#include "layout.h"
#include "leaf.h"
#include "shared/link.h"
#include "run.h"
#include "smo.h"
#include "tree.h"
#include "underfull.h"

#endif /* CRABTREE_ENGINES_CRAB_H */
