/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the parts of BATCH: many operations in one call, or, with
 * CRABTREE_BATCH_ATOMIC, all of them or none. The callers copy the operations.
 *
 * Layer L6, as verbs.h: device/ and tools/libcrabtree include it.
 *
 * No function here touches user memory, and none has a lock.
 */
#ifndef CRABTREE_VERBS_BATCH_H
#define CRABTREE_VERBS_BATCH_H

#include <uapi/linux/crabtree.h>

#include "store/commit.h"
#include "store/store.h"

/**
 * crab_verbs_batch_begin() - BATCH: mark every operation as not tried
 * @ops: the operations, in kernel memory
 * @count: how many
 * @writable: the descriptor is open for writing
 *
 * Context: any.
 * Return: 0, or -EBADF if an operation needs a descriptor open for writing.
 */
int crab_verbs_batch_begin(struct crabtree_batch_op *ops, u32 count, bool writable);

/**
 * crab_verbs_batch_chunk() - BATCH: run the next operations
 * @store: the store
 * @ops: the operations; their answers are filled in
 * @n: how many, at most CRAB_BATCH_CHUNK
 *
 * Context: may sleep.
 */
void crab_verbs_batch_chunk(struct crab_store *store, struct crabtree_batch_op *ops, u32 n);

/**
 * crab_verbs_commit() - BATCH with CRABTREE_BATCH_ATOMIC: run all operations, or none
 * @store: the store
 * @batch: the argument; its answers are filled in
 * @ops: its operations, in kernel memory; their answers are filled in
 * @commit: room; its content does not matter
 *
 * Context: may sleep.
 * Return: 0; -EINVAL for a number of operations, a verb, flags, or a key; or as
 * crab_store_commit(). After an error no write was done.
 */
int crab_verbs_commit(struct crab_store *store, struct crabtree_batch *batch,
		      struct crabtree_batch_op *ops, struct crab_commit *commit);

#endif /* CRABTREE_VERBS_BATCH_H */
