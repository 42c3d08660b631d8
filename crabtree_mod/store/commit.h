/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares commits: up to 64 writes of a store that happen together or not at all, after
 * any power cut and for every reader, if conditions on their keys hold. FORMAT makes a store of
 * commits; its records, and all other verbs, are those of any store.
 *
 * Layer L5: it includes engines/, shared/ and media/.
 *
 * Locking: inside; the verbs run concurrently.
 */
#ifndef CRABTREE_COMMIT_H
#define CRABTREE_COMMIT_H

#include "media/format.h"
#include "store.h"

/* A condition on the record of a key before the commit */
enum crab_commit_when {
	CRAB_WHEN_ANY,
	CRAB_WHEN_EXISTS,	/* or -ENOENT */
	CRAB_WHEN_ABSENT,	/* or -EEXIST */
	CRAB_WHEN_VALUE,	/* or -ENOENT, or -ESTALE: its value is ops[].old.expected */
};

/**
 * struct crab_commit - a commit
 * @n: number of operations
 * @failed: out: number of the operation that an error is about, or @n
 * @err: out: the result
 * @when: condition of each operation
 * @ops: each on another key: CRAB_VERB_INSERT with CRAB_INSERT_EITHER or CRAB_INSERT_ADD,
 *	CRAB_VERB_SEARCH, or CRAB_VERB_DELETE, which needs no record. out: the record before the
 *	commit; after a commit, the sum that an addition has stored
 */
struct crab_commit {
	u32 n;
	u32 failed;
	int err;
	enum crab_commit_when when[CRAB_COMMIT_MAX];
	struct crab_batch_op ops[CRAB_COMMIT_MAX];
};

/**
 * crab_store_commit() - do all writes of a commit, or none
 * @store: the store
 * @commit: the commit
 *
 * The conditions, the searches and the writes are one step for every other call on the store. The
 * writes are durable on return; a power cut before it leaves all of them or none.
 *
 * Context: may sleep; waits for the writes that run, and writes wait for it.
 * Return: 0; -EOPNOTSUPP if it is no store of commits; -EINVAL for a number of operations, a verb,
 * a mode, a condition, a reserved key, or a key that occurs twice; -ENOENT, -EEXIST, -ESTALE by a
 * condition; -ENOSPC if fewer leaves are free than the writes could need; -EROFS for a
 * write; -EUCLEAN in a quarantined range. After an error no write was done.
 */
int crab_store_commit(struct crab_store *store, struct crab_commit *commit);

#endif /* CRABTREE_COMMIT_H */
