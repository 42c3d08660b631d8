/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares BATCH with CRABTREE_BATCH_ATOMIC: all operations or none. The callers copy
 * the operations.
 *
 * Layer L6, as verbs.h: device/ and tools/libcrabtree include it.
 *
 * No function here touches user memory, and none has a lock.
 */
#ifndef CRABTREE_VERBS_COMMIT_H
#define CRABTREE_VERBS_COMMIT_H

#include <uapi/linux/crabtree.h>

#include "store/commit.h"
#include "store/store.h"

/**
 * crab_verbs_commit() - run all operations, or none
 * @store: the store
 * @batch: the argument; its answers are filled in
 * @ops: its operations, in kernel memory; their answers are filled in, -ECANCELED if another one
 *	is the cause that none was done
 * @commit: room; its content does not matter
 *
 * Context: may sleep.
 * Return: 0; -EINVAL for a number of operations, a verb, flags, or a key; or as
 * crab_store_commit(). After an error no write was done.
 */
int crab_verbs_commit(struct crab_store *store, struct crabtree_batch *batch,
		      struct crabtree_batch_op *ops, struct crab_commit *commit);

#endif /* CRABTREE_VERBS_COMMIT_H */
