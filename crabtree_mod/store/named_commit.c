// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements commits of values under names: the names get their keys, then it is a commit
 * of values under keys (blob_commit.c), then the table of names follows it.
 *
 * Invariants: as of named.c. New names of one commit that have the same crc get different keys, and
 * no key is that of two operations, also if the media has changed.
 *
 * Locking: crab_blobs.names_lock, for writing, during the whole commit: readers of names see all of
 * it or nothing.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "named_priv.h"
#include "store_priv.h"

static bool is_name_of(const struct crab_blob_write *a, const struct crab_blob_write *b)
{
	return a->name_bytes == b->name_bytes && !memcmp(a->name, b->name, a->name_bytes);
}

static int name_valid(const struct crab_blob_commit *commit, u32 n)
{
	const struct crab_blob_write *write = &commit->ops[n].write;

	if (!write->name_bytes || write->name_bytes > CRAB_NAME_MAX)
		return -EINVAL;
	while (n--)
		if (is_name_of(write, &commit->ops[n].write))
			return -EINVAL;
	return 0;
}

static int names_valid(struct crab_blob_commit *commit)
{
	u32 i;
	int err;

	for (i = 0; i < commit->n; i++) {
		commit->ops[i].fresh = false;
		err = name_valid(commit, i);
		commit->failed = i;
		if (err)
			return err;
	}
	return 0;
}

/* A new name's key: after those of the names before it */
static int name_choose(struct crab_store *store, struct crab_blob_commit *commit, u32 n)
{
	struct crab_name *name = commit->ops[n].name;
	u64 low = crab_name_key(name->text, name->bytes);
	int err = crab_name_choose(store, name);

	while (!err && n--) {
		const struct crab_name *other = commit->ops[n].name;

		if (!other || other->key < name->key || other->key >> 32 != low >> 32)
			continue;
		name->key = other->key + 1;
		if (name->key >> 32 != low >> 32 || name->key == CRAB_KEY_EMPTY)
			err = -ENOSPC;
	}
	return err;
}

/* A put of a name that is not in the table */
static int op_create(struct crab_store *store, struct crab_blob_commit *commit, u32 n)
{
	struct crab_blob_op *op = &commit->ops[n];
	int err;

	op->name = crab_name_new(op->write.name, op->write.name_bytes, GFP_NOIO);
	if (!op->name)
		return -ENOMEM;
	op->fresh = true;
	err = name_choose(store, commit, n);
	op->known = true;
	op->write.key = op->name->key;
	return err;
}

static int op_resolve(struct crab_store *store, struct crab_blob_commit *commit, u32 n)
{
	struct crab_blob_op *op = &commit->ops[n];

	op->name = crab_names_find(&store->blobs->names, op->write.name, op->write.name_bytes);
	op->known = op->name;
	op->write.listed = op->name;
	if (op->name) {
		op->write.key = op->name->key;
		return 0;
	}
	/* A name that attach could not read may be this one */
	if (store->blobs->unnamed)
		return -EUCLEAN;
	return op->verb == CRAB_VERB_INSERT ? op_create(store, commit, n) : 0;
}

/* Is the key that of two names? The record of one has gone, because the media has changed */
static bool key_is_taken(const struct crab_blob_commit *commit, u32 n)
{
	const struct crab_blob_op *op = &commit->ops[n];

	while (op->known && n--)
		if (commit->ops[n].known && commit->ops[n].write.key == op->write.key)
			return true;
	return false;
}

static int commit_resolve(struct crab_store *store, struct crab_blob_commit *commit)
{
	u32 i;
	int err;

	for (i = 0; i < commit->n; i++) {
		err = op_resolve(store, commit, i);
		if (!err && key_is_taken(commit, i))
			err = -EUCLEAN;
		commit->failed = i;
		if (err)
			return err;
	}
	return 0;
}

/* The table follows a commit; after an error the new names are freed */
static void commit_named(struct crab_store *store, struct crab_blob_commit *commit, int err)
{
	u32 i;

	for (i = 0; i < commit->n; i++) {
		struct crab_blob_op *op = &commit->ops[i];

		if (op->fresh && err)
			kfree(op->name);
		else if (op->fresh)
			crab_names_add(&store->blobs->names, op->name);
		else if (!err && op->name && op->verb == CRAB_VERB_DELETE)
			crab_name_erased(store, op->name);
	}
}

int crab_named_commit(struct crab_store *store, struct crab_blob_commit *commit)
{
	int err = store->commits && crab_store_has_names(store) ? 0 : -EOPNOTSUPP;

	err = err ?: crab_blob_commit_begin(store, commit) ?: names_valid(commit);
	if (err)
		return err;
	down_write(&store->blobs->names_lock);
	err = commit_resolve(store, commit) ?: crab_blob_commit_keys(store, commit);
	commit_named(store, commit, err);
	up_write(&store->blobs->names_lock);
	return err;
}
