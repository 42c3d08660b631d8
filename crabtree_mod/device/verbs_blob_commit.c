// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements COMMIT: structures in, store call, structures out.
 *
 * Invariant: as of verbs.c.
 *
 * No lock: arguments belong to the caller.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "verbs_blob.h"
#include "verbs_blob_commit.h"

#define COMMIT_FLAGS	(CRABTREE_IF_ABSENT | CRABTREE_IF_EXISTS | CRABTREE_IF_VERSION)

static int commit_verb(u32 verb)
{
	switch (verb) {
	case CRABTREE_COMMIT_PUT:
		return CRAB_VERB_INSERT;
	case CRABTREE_COMMIT_TEST:
		return CRAB_VERB_SEARCH;
	case CRABTREE_COMMIT_ERASE:
		return CRAB_VERB_DELETE;
	default:
		return -EINVAL;
	}
}

static int op_check(const struct crab_store *store, const struct crabtree_commit_op *op)
{
	const u8 *value = (const u8 *)(uintptr_t)op->value;

	if (op->flags & ~COMMIT_FLAGS || op->reserved || commit_verb(op->verb) < 0)
		return -EINVAL;
	if (op->verb == CRABTREE_COMMIT_PUT)
		return crab_verbs_value_check(store, op->name_bytes, op->type, op->bytes, value);
	/* A program that has a value for TEST or ERASE expects more of them than they do */
	if (op->value || op->bytes || op->type)
		return -EINVAL;
	return crab_verbs_kind_check(store, op->name_bytes);
}

static int op_ask(const struct crab_store *store, const struct crabtree_commit_op *from,
		  struct crab_blob_op *op)
{
	int err = op_check(store, from);

	if (err)
		return err;
	op->verb = commit_verb(from->verb);
	op->write = (struct crab_blob_write){
		.key = from->key, .name = (const char *)(uintptr_t)from->key,
		.name_bytes = from->name_bytes, .version = from->version,
		.mode = crab_verbs_put_mode(from->flags),
		.checked = from->flags & CRABTREE_IF_VERSION,
	};
	if (from->verb != CRABTREE_COMMIT_PUT)
		return 0;
	op->write.type = from->type;
	op->write.bytes = from->bytes;
	op->write.data = (const void *)(uintptr_t)from->value;
	return 0;
}

static int commit_ask(const struct crab_store *store, struct crabtree_commit *arg,
		      const struct crabtree_commit_op *ops, struct crab_blob_commit *commit)
{
	u32 i;
	int err;

	commit->n = arg->count;
	commit->failed = arg->count;
	for (i = 0; i < arg->count; i++) {
		err = op_ask(store, &ops[i], &commit->ops[i]);
		arg->failed = i;
		if (err)
			return err;
	}
	arg->failed = arg->count;
	return 0;
}

static void op_answer(const struct crab_blob_op *op, struct crabtree_commit_op *to)
{
	to->status = op->verb == CRAB_VERB_DELETE && !op->write.existed ? -ENOENT : 0;
	to->existed = op->verb == CRAB_VERB_INSERT && op->write.existed;
	if (op->verb == CRAB_VERB_INSERT)
		to->version = op->write.version;
}

static int commit_run(struct crab_store *store, struct crabtree_commit *arg,
		      struct crabtree_commit_op *ops, struct crab_blob_commit *commit)
{
	int err = commit_ask(store, arg, ops, commit);
	u32 i;

	if (err)
		return err;
	err = crab_store_has_names(store) ? crab_named_commit(store, commit) :
					    crab_blob_commit(store, commit);
	arg->failed = commit->failed;
	for (i = 0; !err && i < commit->n; i++)
		op_answer(&commit->ops[i], &ops[i]);
	return err;
}

int crab_verbs_commit_values(struct crab_store *store, struct crabtree_commit *arg,
			     struct crabtree_commit_op *ops, bool writable,
			     struct crab_blob_commit *commit)
{
	u32 i;
	int err;

	arg->failed = arg->count;
	if (!arg->count || arg->count > CRAB_COMMIT_MAX)
		return -EINVAL;
	for (i = 0; i < arg->count; i++) {
		if (!writable && ops[i].verb != CRABTREE_COMMIT_TEST)
			return -EBADF;
		ops[i].status = -ECANCELED;
	}
	err = commit_run(store, arg, ops, commit);
	if (err && arg->failed < arg->count)
		ops[arg->failed].status = err;
	return err;
}
