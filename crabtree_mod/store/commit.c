// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements commits.
 *
 * A commit lists its writes on the media (P21). From then on it is in force for readers, and attach
 * would do it. Then the engine does the writes, as one batch; the list is cleared (P22), and the
 * keys may change again.
 *
 * Invariants: the conditions were true when the list became durable, as no other write runs; the
 * engine cannot want a leaf for a write of the list. The list is cleared only when all of its
 * writes are durable, and no other write begins before the clearing is durable: or attach would
 * undo that write.
 *
 * Locking: crab_commits.lock, for writing. One commit at a time is in progress. A put without room
 * takes it for reading, and crab_extents.lock within it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "blob_priv.h"
#include "commit_priv.h"
#include "engines/counts.h"
#include "gate.h"
#include "shared/pool.h"
#include "store_priv.h"

#define COMMIT_TRIES	16U	/* of a write that finds no memory, after the list is durable */
#define COMMIT_TAKES	2	/* leaves of a write: two fresh ones replace a full one */
#define COMMIT_LEAVES	4	/* that remain: the reserves of the engines, and new levels */

/* Valid operands, before the store is touched */

static bool op_is_valid(const struct crab_batch_op *op, enum crab_commit_when when)
{
	return op->key != CRAB_KEY_EMPTY && (u32)when <= CRAB_WHEN_VALUE &&
	       (u32)op->verb <= CRAB_VERB_DELETE &&
	       (op->verb != CRAB_VERB_INSERT || op->mode == CRAB_INSERT_EITHER ||
		op->mode == CRAB_INSERT_ADD);
}

static bool has_key(const struct crab_commit *commit, u32 n, u64 key)
{
	while (n--)
		if (commit->ops[n].key == key)
			return true;
	return false;
}

static int commit_valid(struct crab_commit *commit)
{
	u32 i;

	commit->failed = commit->n;
	if (!commit->n || commit->n > CRAB_COMMIT_MAX)
		return -EINVAL;
	for (i = 0; i < commit->n; i++) {
		commit->failed = i;
		if (!op_is_valid(&commit->ops[i], commit->when[i]) ||
		    has_key(commit, i, commit->ops[i].key))
			return -EINVAL;
	}
	commit->failed = commit->n;
	return 0;
}

static u32 commit_writes(const struct crab_commit *commit)
{
	u32 i, writes = 0;

	for (i = 0; i < commit->n; i++)
		writes += commit->ops[i].verb != CRAB_VERB_SEARCH;
	return writes;
}

/* Conditions, on records that no other write changes */

static int op_condition(const struct crab_old *old, enum crab_commit_when when)
{
	switch (when) {
	case CRAB_WHEN_ANY:
		return 0;
	case CRAB_WHEN_EXISTS:
		return old->existed ? 0 : -ENOENT;
	case CRAB_WHEN_ABSENT:
		return old->existed ? -EEXIST : 0;
	case CRAB_WHEN_VALUE:
		return !old->existed ? -ENOENT : old->value == old->expected ? 0 : -ESTALE;
	}
	return -EINVAL;
}

/* A write without a condition learns the old record from the engine */
static bool op_asks(const struct crab_batch_op *op, enum crab_commit_when when)
{
	return when != CRAB_WHEN_ANY || op->verb == CRAB_VERB_SEARCH ||
	       op->mode == CRAB_INSERT_ADD;
}

/* By the guard: a list that could not be applied is in force */
static int op_permitted(struct crab_engine *engine, struct crab_batch_op *op,
			enum crab_commit_when when)
{
	int err = crab_store_lookup_twice(engine, engine->ops, op->key, &op->old.value);

	if (err && err != -ENOENT)
		return err;
	op->old.existed = !err;
	if (err)
		op->old.value = 0;
	return op_condition(&op->old, when);
}

static int commit_permitted(struct crab_engine *engine, struct crab_commit *commit)
{
	u32 i;
	int err;

	for (i = 0; i < commit->n; i++) {
		if (!op_asks(&commit->ops[i], commit->when[i]))
			continue;
		err = op_permitted(engine, &commit->ops[i], commit->when[i]);
		commit->failed = i;
		if (err)
			return err;
	}
	commit->failed = commit->n;
	return 0;
}

/* Writes */

/* From now on an addition stores its sum: a redo must not add again */
static void commit_sums(struct crab_commit *commit)
{
	u32 i;

	for (i = 0; i < commit->n; i++) {
		struct crab_batch_op *op = &commit->ops[i];

		if (op->verb != CRAB_VERB_INSERT || op->mode != CRAB_INSERT_ADD)
			continue;
		op->value += op->old.value;
		op->mode = CRAB_INSERT_EITHER;
	}
}

/* Fills the list; the caller does not change its keys meanwhile */
static void list_fill(struct crab_commit_list *list, const struct crab_commit *commit)
{
	u64 removes = 0;
	u32 i, n = 0;

	for (i = 0; i < commit->n; i++) {
		const struct crab_batch_op *op = &commit->ops[i];

		if (op->verb == CRAB_VERB_SEARCH)
			continue;
		removes |= (u64)(op->verb == CRAB_VERB_DELETE) << n;
		/* Readers of the last list may still read: they find that the turn has moved */
		WRITE_ONCE(list->record[n].key, op->key);
		WRITE_ONCE(list->record[n].value, op->verb == CRAB_VERB_DELETE ? 0 : op->value);
		n++;
	}
	WRITE_ONCE(list->removes, removes);
	WRITE_ONCE(list->n, n);
}

/* From now on a new slab leaves so many leaves to the writes */
static void leaves_keep(struct crab_store *store, u32 leaves)
{
	if (store->blobs)
		crab_extents_keep(&store->blobs->extents, leaves);
}

/* While this lock is held no commit keeps leaves: one that did has ended, and its rest is free */
static int extent_alone(struct crab_store *store, u32 bytes, u64 *place)
{
	int err;

	down_read(&store->commits->lock);
	err = crab_extents_alloc(&store->blobs->extents, bytes, place);
	up_read(&store->commits->lock);
	return err;
}

int crab_commit_extent(struct crab_store *store, u32 bytes, u64 *place)
{
	int err = crab_extents_alloc(&store->blobs->extents, bytes, place);

	return err == -ENOSPC && store->commits ? extent_alone(store, bytes, place) : err;
}

/* No other write takes leaves meanwhile, none is being prepared, and slabs leave so many */
static bool has_room(struct crab_store *store, u32 writes)
{
	struct crab_engine *engine = store->engine;
	struct crab_pool *pool = engine->pool;
	int takes = engine->own->takes ? engine->own->takes(engine, writes) : 0;
	u32 leaves = max(takes, COMMIT_TAKES) * writes + COMMIT_LEAVES;

	if (takes < 0 || !pool)
		return takes >= 0;
	leaves_keep(store, leaves);
	return crab_pool_has(pool, leaves) || (crab_pool_wait(pool) && crab_pool_has(pool, leaves));
}

static void apply_once(struct crab_engine *engine, struct crab_flow *flow,
		       struct crab_batch_op *ops, u32 n)
{
	u32 i;

	if (engine->own->batch && n > 1) {
		engine->own->batch(engine, flow, ops, n);
		return;
	}
	for (i = 0; i < n; i++) {
		if (ops[i].status)
			continue;
		if (ops[i].verb == CRAB_VERB_DELETE)
			ops[i].status = engine->own->remove(engine, flow, ops[i].key, &ops[i].old);
		else
			ops[i].status = engine->own->insert(engine, flow, ops[i].key, ops[i].value,
							    CRAB_INSERT_EITHER, &ops[i].old);
		crab_count_flow(engine, flow);
	}
}

/* Sorts the results: those that may be repeated get the status 0, the others -ECANCELED */
static int apply_results(struct crab_batch_op *ops, u32 n, u32 *again)
{
	int err = 0;
	u32 i;

	*again = 0;
	for (i = 0; i < n; i++) {
		if (ops[i].status == -ENOMEM) {
			ops[i].status = 0;
			++*again;
			continue;
		}
		if (ops[i].status && ops[i].status != -ENOENT && ops[i].status != -ECANCELED)
			err = err ?: ops[i].status;
		ops[i].status = -ECANCELED;
	}
	return err;
}

int crab_commit_apply(struct crab_engine *engine, struct crab_flow *flow,
		      struct crab_batch_op *ops, u32 n)
{
	u32 tries = 0, again;
	int err;

	do {
		apply_once(engine, flow, ops, n);
		err = apply_results(ops, n, &again);
		if (again)
			cond_resched();
	} while (!err && again && ++tries < COMMIT_TRIES);
	return err ?: again ? -ENOMEM : 0;
}

static void list_store(struct crab_store *store, struct crab_flow *flow)
{
	if (store->engine->own->flags & CRAB_ENGINE_VOLATILE)
		return;
	crab_flow_pin();
	crab_commit_store(flow, store->super.store_id, &store->commits->list);
	crab_flow_unpin();
}

static void list_clear(struct crab_store *store, struct crab_flow *flow)
{
	if (store->engine->own->flags & CRAB_ENGINE_VOLATILE)
		return;
	crab_flow_pin();
	crab_commit_void(flow);
	/* P22: the list never counts again, before its keys may change */
	crab_fence(flow, CRAB_P22_UNLISTED);
	crab_flow_unpin();
}

/* Old records that the engine did not report: those of writes that were not done are still there */
static void commit_learn(struct crab_engine *engine, struct crab_commit *commit)
{
	u32 i;

	for (i = 0; i < commit->n; i++) {
		struct crab_batch_op *op = &commit->ops[i];

		if (!op->status)
			op->old.existed = !engine->own->lookup(engine, op->key, &op->old.value);
	}
}

void crab_commit_stuck(struct crab_store *store, int err)
{
	char reason[CRAB_REASON_LEN];

	snprintf(reason, sizeof(reason), "a commit waits for the next attach: error %d", err);
	crab_store_set_readonly(store, reason);
}

static void commit_write(struct crab_store *store, struct crab_commit *commit,
			 struct crab_flow *flow)
{
	struct crab_commits *commits = store->commits;
	u32 i;
	int err;

	for (i = 0; i < commit->n; i++)
		if (commit->ops[i].verb == CRAB_VERB_SEARCH)
			commit->ops[i].status = -ECANCELED;
	list_store(store, flow);
	crab_count_flow(store->engine, flow);
	crab_commits_turn(commits);
	err = crab_commit_apply(store->engine, flow, commit->ops, commit->n);
	if (err) {
		commit_learn(store->engine, commit);
		crab_commit_stuck(store, err);
		return;
	}
	list_clear(store, flow);
	crab_commits_turn(commits);
}

/* The conditions, then the writes. crab_commits.lock is held for writing */
static int commit_locked(struct crab_store *store, struct crab_commit *commit,
			 struct crab_flow *flow)
{
	int err = commit_permitted(store->engine, commit);
	u32 writes = commit_writes(commit);

	if (err || !writes)
		return err;
	if (crab_commits_in_force(store->commits))
		return -EROFS;
	if (has_room(store, writes)) {
		commit_sums(commit);
		list_fill(&store->commits->list, commit);
		commit_write(store, commit, flow);
	} else {
		err = -ENOSPC;
	}
	leaves_keep(store, 0);
	return err;
}

/* The result of each operation, for the caller and for watches */
static void commit_results(struct crab_commit *commit)
{
	u32 i;

	for (i = 0; i < commit->n; i++) {
		struct crab_batch_op *op = &commit->ops[i];

		op->status = commit->err ? -ECANCELED : 0;
		if (!op->status && op->verb != CRAB_VERB_INSERT && !op->old.existed)
			op->status = -ENOENT;
		if (op->verb == CRAB_VERB_SEARCH)
			op->value = op->old.value;
	}
}

int crab_commit_words(struct crab_store *store, struct crab_commit *commit,
		      struct crab_flow *flow)
{
	int err;

	down_write(&store->commits->lock);
	err = commit_locked(store, commit, flow);
	up_write(&store->commits->lock);
	return err;
}

/* The error of a write whose old record cannot be noted for snapshots */
static int commit_noted(struct crab_commit *commit)
{
	u32 i;

	for (i = 0; i < commit->n; i++) {
		if (!commit->ops[i].status)
			continue;
		commit->failed = i;
		return commit->ops[i].status;
	}
	return 0;
}

static void commit_run(struct crab_store *store, struct crab_batch_op *ops, u32 n)
{
	struct crab_commit *commit = container_of(ops, struct crab_commit, ops[0]);
	struct crab_flow flow = { .media = store->media };

	commit->err = commit_noted(commit) ?: crab_commit_words(store, commit, &flow);
	commit_results(commit);
	crab_store_settle(store, &flow);
}

int crab_store_commit(struct crab_store *store, struct crab_commit *commit)
{
	u32 i;
	int err = store->commits && !store->blobs ? commit_valid(commit) : -EOPNOTSUPP;

	if (!err && READ_ONCE(store->readonly) && commit_writes(commit))
		err = -EROFS;
	if (err)
		return err;
	for (i = 0; i < commit->n; i++)
		commit->ops[i].status = 0;
	crab_count(store->engine, searches, commit->n - commit_writes(commit));
	if (unlikely(crab_store_is_gated(store)))
		crab_gate_run(store, commit->ops, commit->n, commit_run);
	else
		commit_run(store, commit->ops, commit->n);
	return commit->err;
}
