// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the parts of BATCH: structures in, store call, structures out.
 *
 * Invariant: as of verbs.c.
 *
 * No lock: arguments belong to the caller.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "verbs.h"
#include "verbs_batch.h"

static_assert(CRABTREE_COMMIT_MAX == CRAB_COMMIT_MAX);

int crab_verbs_batch_begin(struct crabtree_batch_op *ops, u32 count, bool writable)
{
	u32 i;

	for (i = 0; i < count; i++) {
		if (!writable && ops[i].verb != CRABTREE_BATCH_SEARCH)
			return -EBADF;
		ops[i].status = -ECANCELED;
	}
	return 0;
}

static int batch_ask_insert(const struct crabtree_batch_op *from, struct crab_batch_op *op)
{
	int mode = crab_verbs_insert_mode(from->flags);

	op->verb = CRAB_VERB_INSERT;
	op->mode = max(mode, 0);
	op->old.expected = from->old_value;
	return min(mode, 0);
}

static void batch_ask(const struct crabtree_batch_op *from, struct crab_batch_op *op)
{
	*op = (struct crab_batch_op){ .key = from->key, .value = from->value };
	switch (from->verb) {
	case CRABTREE_BATCH_INSERT:
		op->status = batch_ask_insert(from, op);
		return;
	case CRABTREE_BATCH_SEARCH:
		op->verb = CRAB_VERB_SEARCH;
		break;
	case CRABTREE_BATCH_DELETE:
		op->verb = CRAB_VERB_DELETE;
		break;
	default:
		op->status = -EINVAL;
	}
	if (from->flags)
		op->status = -EINVAL;
}

static void batch_answer(const struct crab_batch_op *op, struct crabtree_batch_op *to)
{
	to->status = op->status;
	to->existed = op->verb == CRAB_VERB_INSERT && op->old.existed;
	to->old_value = op->old.existed ? op->old.value : 0;
	if (op->verb == CRAB_VERB_SEARCH && !op->status)
		to->value = op->value;
}

void crab_verbs_batch_chunk(struct crab_store *store, struct crabtree_batch_op *ops, u32 n)
{
	struct crab_batch_op chunk[CRAB_BATCH_CHUNK];
	u32 i;

	for (i = 0; i < n; i++)
		batch_ask(&ops[i], &chunk[i]);
	crab_store_batch(store, chunk, n);
	for (i = 0; i < n; i++)
		batch_answer(&chunk[i], &ops[i]);
}

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

/* In a commit, every verb has the conditions of INSERT */
static int commit_ask(const struct crabtree_batch_op *from, struct crab_batch_op *op,
		      enum crab_commit_when *when)
{
	int mode = crab_verbs_insert_mode(from->flags);
	struct crabtree_batch_op plain = *from;

	if (mode < 0 || (mode & CRAB_INSERT_ADDS && from->verb != CRABTREE_BATCH_INSERT))
		return -EINVAL;
	plain.flags = 0;
	batch_ask(&plain, op);
	op->old.expected = from->old_value;
	op->mode = mode & CRAB_INSERT_ADDS ? CRAB_INSERT_ADD : CRAB_INSERT_EITHER;
	*when = commit_when(mode);
	return op->status;
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
	err = commit_ask_all(batch, ops, commit) ?: crab_store_commit(store, commit);
	batch->done = commit->failed;
	if (err) {
		if (commit->failed < commit->n) {
			batch_answer(&commit->ops[commit->failed], &ops[commit->failed]);
			ops[commit->failed].status = err;
		}
		return err;
	}
	for (i = 0; i < commit->n; i++)
		batch_answer(&commit->ops[i], &ops[i]);
	return 0;
}
