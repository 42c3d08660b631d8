// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements BATCH with CRABTREE_BATCH_ATOMIC: structures in, store call, structures out.
 *
 * Invariant: as of verbs.c.
 *
 * No lock: arguments belong to the caller.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "verbs.h"
#include "verbs_commit.h"

static_assert(CRABTREE_COMMIT_MAX == CRAB_COMMIT_MAX);

/* A flag that INSERT has outside of commits as well */
static enum crab_commit_when commit_when(int mode)
{
	switch (mode) {
	case CRAB_INSERT_CREATE:
		return CRAB_WHEN_ABSENT;
	case CRAB_INSERT_REPLACE:
	case CRAB_INSERT_ADD_REPLACE:
		return CRAB_WHEN_EXISTS;
	case CRAB_INSERT_SWAP:
		return CRAB_WHEN_VALUE;
	default:
		return CRAB_WHEN_ANY;
	}
}

static int commit_verb(u32 verb)
{
	switch (verb) {
	case CRABTREE_BATCH_INSERT:
		return CRAB_VERB_INSERT;
	case CRABTREE_BATCH_SEARCH:
		return CRAB_VERB_SEARCH;
	case CRABTREE_BATCH_DELETE:
		return CRAB_VERB_DELETE;
	default:
		return -EINVAL;
	}
}

/* In a commit, every verb has the conditions of INSERT */
static int commit_ask(const struct crabtree_batch_op *from, struct crab_batch_op *op,
		      enum crab_commit_when *when)
{
	int mode = crab_verbs_insert_mode(from->flags), verb = commit_verb(from->verb);
	bool adds = mode >= 0 && mode & CRAB_INSERT_ADDS;

	if (mode < 0 || verb < 0 || (adds && verb != CRAB_VERB_INSERT))
		return -EINVAL;
	*op = (struct crab_batch_op){
		.verb = verb, .mode = adds ? CRAB_INSERT_ADD : CRAB_INSERT_EITHER,
		.key = from->key, .value = from->value, .old.expected = from->old_value,
	};
	*when = commit_when(mode);
	return 0;
}

static int commit_ask_all(const struct crabtree_batch *batch, const struct crabtree_batch_op *ops,
			  struct crab_commit *commit)
{
	u32 i;
	int err;

	memset(commit, 0, sizeof(*commit));
	commit->n = batch->count;
	for (i = 0; i < commit->n; i++) {
		err = commit_ask(&ops[i], &commit->ops[i], &commit->when[i]);
		commit->failed = i;
		if (err)
			return err;
	}
	commit->failed = commit->n;
	return 0;
}

int crab_verbs_commit(struct crab_store *store, struct crabtree_batch *batch,
		      struct crabtree_batch_op *ops, struct crab_commit *commit)
{
	u32 i;
	int err;

	if (!batch->count || batch->count > CRAB_COMMIT_MAX)
		return -EINVAL;
	crab_verbs_batch_begin(ops, batch->count, true);
	err = commit_ask_all(batch, ops, commit) ?: crab_store_commit(store, commit);
	batch->done = commit->failed;
	if (err) {
		if (commit->failed < commit->n) {
			crab_verbs_batch_answer(&commit->ops[commit->failed],
						&ops[commit->failed]);
			ops[commit->failed].status = err;
		}
		return err;
	}
	for (i = 0; i < commit->n; i++)
		crab_verbs_batch_answer(&commit->ops[i], &ops[i]);
	return 0;
}
