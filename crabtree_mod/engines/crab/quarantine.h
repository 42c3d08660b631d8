/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares quarantine at run time (quarantine.c).
 *
 * Locking: inside.
 */
#ifndef CRABTREE_ENGINES_CRAB_QUARANTINE_H
#define CRABTREE_ENGINES_CRAB_QUARANTINE_H

#include "engines/engine.h"

/** crab_tree_quarantine() - crab_engine_ops.quarantine */
u64 crab_tree_quarantine(struct crab_engine *engine, u64 from, u64 to);

#endif /* CRABTREE_ENGINES_CRAB_QUARANTINE_H */
