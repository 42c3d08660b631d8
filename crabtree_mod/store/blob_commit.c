// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements commits of values under keys.
 *
 * A commit writes all of its blobs to extents that no word names (P15). Then it is a commit of
 * their words: commit.c. The old extents are free afterwards.
 *
 * Invariants: the list of the words is durable only when all blobs are (P15, then P21). The
 * stripes of all keys are held from before the conditions until the list has been cleared (P22), so
 * no put, no evacuation and no snapshot comes in between, and the extents of the list are not freed
 * while it could be redone. While the list is in force no slab takes the leaves that its writes
 * could need: crab_extents_keep(), in commit.c.
 *
 * Attach reads the records as the list leaves them, and so marks the extents of the list and not
 * those of the words that it replaces.
 *
 * Crash table: Documentation/design/protocols-commits.rst.
 *
 * Locking: crab_blobs.many, then the stripes of all keys in their order, then crab_commits.lock. A
 * task that holds one stripe waits for no other one, and crab_gate_stop() takes them in the same
 * order.
 */
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "blob_commit.h"
#include "blob_media.h"
#include "commit_priv.h"
#include "gate.h"
#include "named_priv.h"
#include "store_priv.h"

static bool op_writes(const struct crab_blob_op *op)
{
	return op->known && op->verb != CRAB_VERB_SEARCH;
}

/* Valid operands, before the store is touched */

static int op_valid(const struct crab_store *store, const struct crab_blob_op *op)
{
	if ((u32)op->verb > CRAB_VERB_DELETE)
		return -EINVAL;
	if (op->verb != CRAB_VERB_SEARCH && READ_ONCE(store->readonly))
		return -EROFS;
	return op->verb == CRAB_VERB_INSERT &&
	       op->write.bytes > crab_blob_most(store, op->write.name_bytes) ? -EMSGSIZE : 0;
}

int crab_blob_commit_begin(const struct crab_store *store, struct crab_blob_commit *commit)
{
	u32 i;
	int err;

	commit->failed = commit->n;
	if (!commit->n || commit->n > CRAB_COMMIT_MAX)
		return -EINVAL;
	for (i = 0; i < commit->n; i++) {
		commit->ops[i].write.existed = false;
		err = op_valid(store, &commit->ops[i]);
		commit->failed = i;
		if (err)
			return err;
	}
	return 0;
}

static bool has_key(const struct crab_blob_commit *commit, u32 n, u64 key)
{
	while (n--)
		if (commit->ops[n].write.key == key)
			return true;
	return false;
}

static int keys_valid(struct crab_blob_commit *commit)
{
	u32 i;

	for (i = 0; i < commit->n; i++) {
		commit->ops[i].known = true;
		commit->failed = i;
		if (commit->ops[i].write.key == CRAB_KEY_EMPTY ||
		    has_key(commit, i, commit->ops[i].write.key))
			return -EINVAL;
	}
	return 0;
}

/* The stripes of all keys, each once */
static void stripes_of(struct crab_blobs *blobs, const struct crab_blob_commit *commit,
		       unsigned long *stripes)
{
	u32 i;

	for (i = 0; i < commit->n; i++) {
		u64 key = commit->ops[i].write.key;

		if (commit->ops[i].known)
			__set_bit(crab_blob_stripe(blobs, key) - blobs->stripes, stripes);
	}
}

/* The steps of a commit, with its stripes locked */

/* The erase of a name that is in the table: its record may have gone, if the media has changed */
static int op_listed(struct crab_store *store, const struct crab_blob_op *op)
{
	u64 word;

	if (op->verb != CRAB_VERB_DELETE || !op->write.listed)
		return 0;
	return crab_store_listed(true, store->blobs->raw->lookup(store->engine, op->write.key,
								 &word));
}

static int op_permitted(struct crab_store *store, struct crab_blob_op *op)
{
	struct crab_blob_write *write = &op->write;

	if (op->verb != CRAB_VERB_SEARCH && READ_ONCE(store->readonly))
		return -EROFS;	/* since op_valid() */
	if (!op->known)
		return write->checked || write->mode == CRAB_INSERT_REPLACE ? -ENOENT : 0;
	return crab_blob_permitted(store, write) ?: op_listed(store, op);
}

static int commit_permitted(struct crab_store *store, struct crab_blob_commit *commit)
{
	u32 i;
	int err;

	for (i = 0; i < commit->n; i++) {
		err = op_permitted(store, &commit->ops[i]);
		commit->failed = i;
		if (err)
			return err;
	}
	commit->failed = commit->n;
	return 0;
}

/* Frees the extents of the first puts */
static void commit_free(struct crab_store *store, const struct crab_blob_commit *commit, u32 n)
{
	while (n--)
		if (commit->ops[n].verb == CRAB_VERB_INSERT)
			crab_extents_free(&store->blobs->extents, commit->ops[n].place);
}

/* Extents for all puts */
static int commit_alloc(struct crab_store *store, struct crab_blob_commit *commit)
{
	u32 i;
	int err;

	for (i = 0; i < commit->n; i++) {
		struct crab_blob_op *op = &commit->ops[i];

		if (op->verb != CRAB_VERB_INSERT)
			continue;
		err = crab_commit_extent(store, crab_blob_size(&op->write), &op->place);
		if (err) {
			commit_free(store, commit, i);
			return err;
		}
	}
	return 0;
}

static void commit_store(struct crab_store *store, struct crab_blob_commit *commit,
			 struct crab_flow *flow)
{
	u32 i, puts = 0;

	crab_flow_pin();
	for (i = 0; i < commit->n; i++) {
		struct crab_blob_op *op = &commit->ops[i];

		if (op->verb != CRAB_VERB_INSERT)
			continue;
		puts++;
		op->birth = crab_blob_birth(store->blobs, flow);
		crab_blob_store(store->blobs, flow, op->place, op->birth, &op->write);
	}
	if (puts) {
		/* P15: all blobs are whole before the list names them */
		crab_fence(flow, CRAB_P15_BLOB);
	}
	crab_flow_unpin();
}

/* The commit of the words */
static int words_fill(struct crab_store *store, struct crab_blob_commit *commit)
{
	struct crab_commit *words = &commit->words;
	int err = 0;
	u32 i;

	words->n = 0;
	for (i = 0; i < commit->n && !err; i++) {
		const struct crab_blob_op *op = &commit->ops[i];

		if (!op_writes(op))
			continue;
		words->when[words->n] = CRAB_WHEN_ANY;
		words->ops[words->n++] = (struct crab_batch_op){
			.verb = op->verb, .key = op->write.key, .mode = CRAB_INSERT_EITHER,
			.value = op->verb != CRAB_VERB_INSERT ? 0 :
				 crab_blob_word(store->blobs, op->place, op->birth),
		};
		err = crab_blob_note(store, op->verb, &op->write);
	}
	return err;
}

static void commit_done(struct crab_store *store, struct crab_blob_commit *commit)
{
	u32 i, n = 0;

	for (i = 0; i < commit->n; i++) {
		struct crab_blob_op *op = &commit->ops[i];
		const struct crab_batch_op *word = &commit->words.ops[n];

		if (!op_writes(op))
			continue;
		n++;
		if (op->verb == CRAB_VERB_INSERT)
			op->write.version = op->birth;
		if (op->verb == CRAB_VERB_DELETE && !word->old.existed)
			continue;
		crab_blob_done(store, op->verb, &op->write,
			       op->verb == CRAB_VERB_INSERT ? op->place : CRAB_NO_EXTENT,
			       &word->old);
	}
}

static int commit_write(struct crab_store *store, struct crab_blob_commit *commit,
			struct crab_flow *flow)
{
	int err = commit_alloc(store, commit);

	if (err)
		return err;
	commit_store(store, commit, flow);
	err = words_fill(store, commit);
	if (!err && commit->words.n)
		err = crab_commit_words(store, &commit->words, flow);
	if (err)
		commit_free(store, commit, commit->n);
	else
		commit_done(store, commit);
	return err;
}

int crab_blob_commit_keys(struct crab_store *store, struct crab_blob_commit *commit)
{
	DECLARE_BITMAP(stripes, CRAB_BLOB_STRIPES) = { };
	struct crab_flow flow = { .media = store->media };
	struct crab_blobs *blobs = store->blobs;
	bool waited = false;
	int err;

	stripes_of(blobs, commit, stripes);
	do {
		crab_stripes_lock(&blobs->many, blobs->stripes, stripes, CRAB_BLOB_STRIPES);
		err = commit_permitted(store, commit) ?: commit_write(store, commit, &flow);
		crab_stripes_unlock(&blobs->many, blobs->stripes, stripes, CRAB_BLOB_STRIPES);
		if (err == -ENOSPC)
			err = crab_blobs_make_room(store, &flow, &waited);
	} while (err == -EAGAIN);
	crab_store_settle(store, &flow);
	return err;
}

int crab_blob_commit(struct crab_store *store, struct crab_blob_commit *commit)
{
	int err = store->blobs && store->commits && !store->blobs->named ? 0 : -EOPNOTSUPP;

	return err ?: crab_blob_commit_begin(store, commit) ?: keys_valid(commit) ?:
	       crab_blob_commit_keys(store, commit);
}
