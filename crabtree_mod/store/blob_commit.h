/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares commits of values: up to 64 puts and erases of a store of blobs, or of names,
 * that happen together or not at all, after any power cut and for every reader, if conditions on
 * their keys hold. FORMAT makes such a store, of blobs or names and of commits; all other verbs are
 * those of blobs and names.
 *
 * Layer L5: it includes engines/, shared/ and media/; device/ includes it.
 *
 * Locking: inside; the verbs run concurrently.
 */
#ifndef CRABTREE_BLOB_COMMIT_H
#define CRABTREE_BLOB_COMMIT_H

#include "commit.h"
#include "named.h"

/**
 * struct crab_blob_op - an operation of a commit of values
 * @verb: CRAB_VERB_INSERT: a put; CRAB_VERB_DELETE: an erase, which needs no value;
 *	CRAB_VERB_SEARCH: only the conditions
 * @write: the operands. The conditions of each verb are those of a put: @mode and @checked.
 *	out: @existed; put: @version
 * @place: inside: of the extent of a put, and so is @birth
 * @birth: see @place
 * @name: inside: the name in the table, or one that the commit adds
 * @fresh: inside: it adds it
 * @known: inside: the operands have a key; a name that is not there has none
 */
struct crab_blob_op {
	enum crab_verb verb;
	struct crab_blob_write write;
	u64 place;
	u64 birth;
	struct crab_name *name;
	bool fresh;
	bool known;
};

/**
 * struct crab_blob_commit - a commit of values
 * @n: number of operations
 * @failed: out: number of the operation that an error is about, or @n
 * @ops: each on another key, or on another name
 * @words: inside: the commit of their words
 */
struct crab_blob_commit {
	u32 n;
	u32 failed;
	struct crab_blob_op ops[CRAB_COMMIT_MAX];
	struct crab_commit words;
};

/**
 * crab_blob_commit() - do all puts and erases of a commit, or none
 * @store: of blobs and of commits
 * @commit: the commit
 *
 * The conditions and the writes are one step for every other call on the store. The writes are
 * durable on return; a power cut before it leaves all of them or none. An erase of a missing key is
 * no error: @existed is false.
 *
 * Context: may sleep; waits for the writes that run, and writes wait for it.
 * Return: 0; -EOPNOTSUPP if it is no such store; -EINVAL for a number of operations, a verb, the
 * reserved key, or a key that occurs twice; -EEXIST, -ENOENT, -ESTALE by a condition; -EMSGSIZE for
 * a value that is longer than crab_blob_most(); -ENOSPC for want of memory for the values, or if
 * fewer leaves are free then than the writes could need; -EINTR as crab_blob_put(); -ENOMEM; -EROFS
 * for a write; -EUCLEAN. After an error no write was done.
 */
int crab_blob_commit(struct crab_store *store, struct crab_blob_commit *commit);

/**
 * crab_named_commit() - the same in a store of names and of commits
 * @store: the store
 * @commit: the commit; the keys of its operands are set
 *
 * Context: as crab_blob_commit().
 * Return: as crab_blob_commit(), for names; -EINVAL for a name of no byte or of more than
 * CRAB_NAME_MAX; -EUCLEAN also for the erase of a name whose record has gone.
 */
int crab_named_commit(struct crab_store *store, struct crab_blob_commit *commit);

#endif /* CRABTREE_BLOB_COMMIT_H */
