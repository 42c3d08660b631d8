// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the gate. A store without observers does not pass it: its writes test one
 * word, as they would without this file.
 *
 * Invariants: a write that passes the gate holds the stripe of its key from before the note until
 * after the report, so both happen in the order of the engine's writes of that key; a task that
 * holds all stripes runs concurrently with no write.
 *
 * Locks: gate.h. A task that takes several stripes holds crab_gate.many; others hold one stripe
 * and wait for no other one, so no cycle is possible.
 */
#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "blob_priv.h"
#include "gate.h"
#include "snap.h"
#include "store_priv.h"
#include "watch.h"

#define GATE_HASH	0x9E3779B97F4A7C15ULL	/* spreads neighbouring keys over the stripes */
#define GATE_NOTES	(64ULL << 20)		/* bytes of notes, unless the attach names them */

static_assert(!(CRAB_GATE_STRIPES & (CRAB_GATE_STRIPES - 1)));

static u32 gate_stripe(u64 key)
{
	return (key * GATE_HASH >> 32) & (CRAB_GATE_STRIPES - 1);
}

static struct crab_gate *gate_alloc(struct crab_store *store)
{
	struct crab_gate *gate = kvzalloc(sizeof(*gate), GFP_KERNEL);
	u32 i;

	if (!gate)
		return NULL;
	mutex_init(&gate->lock);
	mutex_init(&gate->many);
	for (i = 0; i < CRAB_GATE_STRIPES; i++)
		mutex_init(&gate->own[i]);
	gate->stripes = store->blobs ? store->blobs->stripes : gate->own;
	gate->count = store->blobs ? CRAB_BLOB_STRIPES : CRAB_GATE_STRIPES;
	spin_lock_init(&gate->notes_lock);
	spin_lock_init(&gate->watch_lock);
	INIT_LIST_HEAD(&gate->snaps);
	INIT_LIST_HEAD(&gate->watches);
	gate->store = store;
	atomic_set(&gate->refs, 1);
	gate->seed = get_random_u64();
	gate->most = max_t(u64, (store->options.snapshot_bytes ?: GATE_NOTES) / CRAB_NOTE_BYTES, 1);
	return gate;
}

int crab_store_observe(struct crab_store *store)
{
	bool first;

	if (!store->gate)
		store->gate = gate_alloc(store);
	if (!store->gate)
		return -ENOMEM;
	atomic_inc(&store->gate->refs);
	mutex_lock(&store->gate->lock);
	first = !store->gate->users++;
	if (first)
		crab_store_set_gated(store, true);
	mutex_unlock(&store->gate->lock);
	return first;
}

static void gate_put(struct crab_gate *gate)
{
	if (atomic_dec_and_test(&gate->refs))
		kvfree(gate);
}

void crab_gate_drop(struct crab_gate *gate)
{
	mutex_lock(&gate->lock);
	if (!--gate->users && gate->store)
		crab_store_set_gated(gate->store, false);
	mutex_unlock(&gate->lock);
	gate_put(gate);
}

void crab_store_unobserve(struct crab_store *store)
{
	crab_gate_drop(store->gate);
}

void crab_gate_end(struct crab_store *store)
{
	struct crab_gate *gate = store->gate;

	if (!gate)
		return;
	crab_watch_end_all(gate);
	mutex_lock(&gate->lock);
	gate->store = NULL;
	mutex_unlock(&gate->lock);
	crab_snap_end_all(gate, -ENODEV);
	gate_put(gate);
}

void crab_gate_stop(struct crab_gate *gate)
{
	u32 i;

	mutex_lock(&gate->many);
	for (i = 0; i < gate->count; i++)
		mutex_lock_nest_lock(&gate->stripes[i], &gate->many);
}

void crab_gate_resume(struct crab_gate *gate)
{
	u32 i = gate->count;

	while (i--)
		mutex_unlock(&gate->stripes[i]);
	mutex_unlock(&gate->many);
}

static bool op_writes(const struct crab_batch_op *op)
{
	return op->verb != CRAB_VERB_SEARCH && !op->status;
}

void crab_stripes_lock(struct mutex *many, struct mutex *stripes, const unsigned long *wanted,
		       u32 count)
{
	u32 i;

	mutex_lock(many);
	for_each_set_bit(i, wanted, count)
		mutex_lock_nest_lock(&stripes[i], many);
}

void crab_stripes_unlock(struct mutex *many, struct mutex *stripes, const unsigned long *wanted,
			 u32 count)
{
	u32 i;

	for_each_set_bit(i, wanted, count)
		mutex_unlock(&stripes[i]);
	mutex_unlock(many);
}

static void gate_note(struct crab_gate *gate, struct crab_batch_op *ops, u32 n)
{
	u32 i;

	/* A store of values refuses the verbs on records */
	if (gate->store->blobs)
		return;
	for (i = 0; i < n; i++)
		if (op_writes(&ops[i]))
			ops[i].status = crab_snap_note(gate, &ops[i], false);
}

void crab_gate_run(struct crab_store *store, struct crab_batch_op *ops, u32 n,
		   void (*run)(struct crab_store *store, struct crab_batch_op *ops, u32 n))
{
	DECLARE_BITMAP(stripes, CRAB_GATE_STRIPES) = { };
	struct crab_gate *gate = store->gate;
	u32 i;

	for (i = 0; i < n; i++)
		if (op_writes(&ops[i]))
			__set_bit(gate_stripe(ops[i].key), stripes);
	if (n == 1)
		mutex_lock(&gate->stripes[gate_stripe(ops->key)]);
	else
		crab_stripes_lock(&gate->many, gate->stripes, stripes, CRAB_GATE_STRIPES);
	gate_note(gate, ops, n);
	run(store, ops, n);
	crab_watch_report(gate, ops, n);
	if (n == 1)
		mutex_unlock(&gate->stripes[gate_stripe(ops->key)]);
	else
		crab_stripes_unlock(&gate->many, gate->stripes, stripes, CRAB_GATE_STRIPES);
}
