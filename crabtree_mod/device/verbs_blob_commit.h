/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares COMMIT, the atomic verb of stores of blobs and of names.
 *
 * Layer L6, as verbs.h: device/ and tools/libcrabtree include it.
 *
 * No function here touches user memory, and none has a lock.
 */
#ifndef CRABTREE_VERBS_BLOB_COMMIT_H
#define CRABTREE_VERBS_BLOB_COMMIT_H

#include <uapi/linux/crabtree.h>

#include "store/blob_commit.h"

/**
 * crab_verbs_commit_values() - COMMIT: all operations, or none
 * @store: the store
 * @arg: the argument; @failed is filled in
 * @ops: its operations; names and values are at these addresses, in memory of the caller. Their
 *	answers are filled in
 * @writable: the caller may write, and not only test
 * @commit: room; its content does not matter
 *
 * Context: may sleep.
 * Return: 0; -EBADF for a write of a caller that may not; -EINVAL for a number of operations, a
 * verb, flags, a name or a type; or as crab_blob_commit(). After an error no write was done.
 */
int crab_verbs_commit_values(struct crab_store *store, struct crabtree_commit *arg,
			     struct crabtree_commit_op *ops, bool writable,
			     struct crab_blob_commit *commit);

#endif /* CRABTREE_VERBS_BLOB_COMMIT_H */
