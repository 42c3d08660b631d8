// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the verbs of an attached store, its errors and its statistics.
 *
 * Invariants: a verb that returns 0 is durable; a store in which damage was found is
 * read-only and stays read-only.
 *
 * Locking: none for the verbs, which the engine serves concurrently; crab_store.lock for
 * the transition to read-only.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "engines/defaults.h"
#include "media/badmem.h"
#include "named_priv.h"
#include "commit_priv.h"
#include "gate.h"
#include "store_priv.h"

void crab_store_set_readonly(struct crab_store *store, const char *reason)
{
	mutex_lock(&store->lock);
	strscpy(store->reason, reason, sizeof(store->reason));
	WRITE_ONCE(store->readonly, true);
	WRITE_ONCE(store->aside, true);
	mutex_unlock(&store->lock);
	if (store->options.kick)
		store->options.kick(store->options.arg);
}

void crab_store_set_gated(struct crab_store *store, bool gated)
{
	mutex_lock(&store->lock);
	/* Pairs with smp_load_acquire() in crab_store_is_gated(): a gated store has a gate */
	smp_store_release(&store->gated, gated);
	WRITE_ONCE(store->aside, gated || store->readonly);
	mutex_unlock(&store->lock);
}

bool crab_store_is_readonly(const struct crab_store *store)
{
	return READ_ONCE(store->readonly);
}

void crab_store_damaged(struct crab_store *store, const struct crab_damage *damage)
{
	char reason[CRAB_REASON_LEN];

	snprintf(reason, sizeof(reason), "damaged at offset %llu: %s",
		 damage->offset, damage->what);
	/* Operations may find more meanwhile, and count it */
	pr_err_ratelimited("store %08x: %s (%llu in all); read-only from now on\n",
			   store->super.store_id, reason, READ_ONCE(damage->count));
	crab_store_set_readonly(store, reason);
}

void crab_store_look(struct crab_store *store)
{
	if (unlikely(crab_engine_is_damaged(store->engine)) && !READ_ONCE(store->readonly))
		crab_store_damaged(store, &store->engine->found);
}

int crab_store_pause(const struct crab_store *store)
{
	return crab_engine_breathe(store->engine) ? -EINTR : 0;
}

void crab_store_kick(struct crab_store *store)
{
	struct crab_engine *engine = store->engine;

	if (store->options.kick &&
	    ((engine->ops->wants && engine->ops->wants(engine)) || crab_blobs_want(store)))
		store->options.kick(store->options.arg);
}

noinline void crab_store_settle(struct crab_store *store, struct crab_flow *flow)
{
	crab_count_flow(store->engine, flow);
	crab_store_kick(store);
	crab_store_look(store);
}

/* Returns @err, the result of the write */
static int store_write_end(struct crab_store *store, struct crab_flow *flow, int err)
{
	if (unlikely(!flow->settled))
		crab_store_settle(store, flow);
	return err;
}

static int store_key_ok(u64 key)
{
	return key == CRAB_KEY_EMPTY ? -EINVAL : 0;
}

int crab_store_search(struct crab_store *store, u64 key, u64 *value)
{
	int err = store_key_ok(key);

	if (err)
		return err;
	crab_count(store->engine, searches, 1);
	return crab_store_read_end(store, store->engine->ops->lookup(store->engine, key, value));
}

int crab_store_lookup_twice(struct crab_engine *engine, const struct crab_engine_ops *ops, u64 key,
			    u64 *value)
{
	u64 again;
	int err = ops->lookup(engine, key, value);

	if (!err)
		err = ops->lookup(engine, key, &again);
	if (!err && again != *value)
		err = ops->lookup(engine, key, value);
	return err;
}

int crab_store_seek(struct crab_store *store, u64 key, enum crab_seek_dir dir,
		    struct crab_record *record)
{
	int err = store_key_ok(key);

	if (err)
		return err;
	crab_count(store->engine, searches, 1);
	err = store->engine->ops->seek(store->engine, key, dir, record);
	return crab_store_read_end(store, err);
}

static void store_one(struct crab_store *store, struct crab_flow *flow, struct crab_batch_op *op)
{
	const struct crab_engine_ops *ops = store->engine->ops;

	switch (op->verb) {
	case CRAB_VERB_SEARCH:
		op->status = ops->lookup(store->engine, op->key, &op->value);
		break;
	case CRAB_VERB_INSERT:
		op->status = ops->insert(store->engine, flow, op->key, op->value, op->mode,
					 &op->old);
		break;
	case CRAB_VERB_DELETE:
		op->status = ops->remove(store->engine, flow, op->key, &op->old);
		break;
	}
	crab_count_flow(store->engine, flow);
}

/* Does operations by the engine; those whose status is not 0 are skipped */
static void store_run(struct crab_store *store, struct crab_batch_op *ops, u32 n)
{
	struct crab_flow flow = { .media = store->media };
	u32 i;

	if (store->engine->ops->batch && n > 1) {
		store->engine->ops->batch(store->engine, &flow, ops, n);
	} else {
		for (i = 0; i < n; i++)
			if (!ops[i].status)
				store_one(store, &flow, &ops[i]);
	}
	crab_store_settle(store, &flow);
}

/* A write of a store that is read-only, or whose writes pass its gate */
static noinline int store_aside(struct crab_store *store, struct crab_batch_op *op,
				struct crab_old *old)
{
	if (READ_ONCE(store->readonly))
		return -EROFS;
	op->old = *old;
	if (crab_store_is_gated(store))
		crab_gate_run(store, op, 1, store_run);
	else
		store_run(store, op, 1);
	*old = op->old;
	return op->status;
}

/* Begins a write, if the key is allowed */
static int store_write_begin(struct crab_store *store, u64 key, struct crab_flow *flow,
			     struct crab_old *old)
{
	*flow = (struct crab_flow){ .media = store->media };
	old->existed = false;
	return store_key_ok(key);
}

int crab_store_insert(struct crab_store *store, u64 key, u64 value,
		      enum crab_insert_mode mode, struct crab_old *old)
{
	struct crab_flow flow;
	int err = store_write_begin(store, key, &flow, old);

	if (err)
		return err;
	if (unlikely(READ_ONCE(store->aside)))
		return store_aside(store, &(struct crab_batch_op){
			.verb = CRAB_VERB_INSERT, .mode = mode, .key = key, .value = value,
		}, old);
	err = store->engine->ops->insert(store->engine, &flow, key, value, mode, old);
	return store_write_end(store, &flow, err);
}

int crab_store_delete(struct crab_store *store, u64 key, struct crab_old *old)
{
	struct crab_flow flow;
	int err = store_write_begin(store, key, &flow, old);

	if (err)
		return err;
	if (unlikely(READ_ONCE(store->aside)))
		return store_aside(store, &(struct crab_batch_op){
			.verb = CRAB_VERB_DELETE, .key = key,
		}, old);
	err = store->engine->ops->remove(store->engine, &flow, key, old);
	return store_write_end(store, &flow, err);
}

/* Sets the status of operations that cannot be done; returns the number of searches */
static u32 store_batch_begin(struct crab_store *store, struct crab_batch_op *ops, u32 n)
{
	bool readonly = READ_ONCE(store->readonly);
	u32 i, searches = 0;

	for (i = 0; i < n; i++) {
		ops[i].old.existed = false;
		ops[i].status = ops[i].status ?: store_key_ok(ops[i].key);
		if (ops[i].verb == CRAB_VERB_SEARCH)
			searches += !ops[i].status;
		else if (readonly && !ops[i].status)
			ops[i].status = -EROFS;
	}
	return searches;
}

void crab_store_batch(struct crab_store *store, struct crab_batch_op *ops, u32 n)
{
	crab_count(store->engine, searches, store_batch_begin(store, ops, n));
	if (unlikely(crab_store_is_gated(store)))
		crab_gate_run(store, ops, n, store_run);
	else
		store_run(store, ops, n);
}

int crab_store_check(struct crab_store *store, struct crab_check_report *report)
{
	int err;

	memset(report, 0, sizeof(*report));
	err = store->engine->ops->check(store->engine, report);
	if (report->damage.count)
		crab_store_damaged(store, &report->damage);
	crab_commits_check(store, report);
	/* A damaged blob is the damage of one key: the store remains writable */
	if (!err && store->blobs)
		err = crab_blobs_check(store, report);
	crab_store_look(store);
	if (!report->damage.count)
		report->damage = store->engine->damage;
	return err;
}

void crab_store_fail(struct crab_store *store, u64 offset, u64 len)
{
	const struct crab_engine_ops *ops = store->engine->ops;
	unsigned long long at = offset, leaves;
	char reason[CRAB_REASON_LEN];

	snprintf(reason, sizeof(reason), "memory at offset %llu became uncorrectable", at);
	crab_store_set_readonly(store, reason);
	if (store->blobs)
		crab_blobs_drain(store->blobs);
	leaves = ops->quarantine ? ops->quarantine(store->engine, offset, offset + len) : 0;
	pr_err("store %08x: %s, %llu bytes%s: read-only from now on, %llu leaves quarantined\n",
	       store->super.store_id, reason, len,
	       offset < store->super.pool_offset ? " (superblocks or head of the list)" : "",
	       leaves);
}

void crab_store_catch_up(struct crab_store *store)
{
	u32 added = crab_badmem_added(store->media);
	u64 from, to = 0;

	while (crab_badmem_since(store->media, store->bad_added, to, &from, &to))
		crab_store_fail(store, from, to - from);
	store->bad_added = added;
}

void crab_store_info(struct crab_store *store, struct crab_store_info *info)
{
	const struct crab_engine *engine = store->engine;
	const struct crab_layout *layout = crab_layout_by_id(engine->ops, store->super.layout);

	memset(info, 0, sizeof(*info));
	info->engine = engine->ops->name;
	info->layout = layout->name;
	info->needs = layout->needs;
	info->keeps = crab_media_keeps(store->media, layout->needs);
	info->counters = engine->ops->counters;
	crab_options_print(engine, info->options, sizeof(info->options));
	info->durability = store->durability;
	mutex_lock(&store->lock);
	info->super = store->super;
	info->readonly = store->readonly;
	strscpy(info->reason, store->reason, sizeof(info->reason));
	mutex_unlock(&store->lock);
	info->unfinished = crab_store_is_unfinished(store);
	if (info->unfinished && !info->readonly)
		strscpy(info->reason, "a store is filled here: it is none before it is complete",
			sizeof(info->reason));
	engine->ops->stats(store->engine, &info->stats);
	if (info->readonly)	/* a list may be in force, and readers have its records */
		info->stats.records += crab_commits_gain(store);
	if (engine->pool)
		info->stats.leaves_used += crab_pool_lent(engine->pool);
	info->stats.dram_bytes += crab_names_dram(store);
	crab_counts_sum(engine, &info->counts);
	info->attach_ns = store->attach_ns;
	info->prepare_lines = READ_ONCE(engine->prepare_lines);
	info->prepare_fences = READ_ONCE(engine->prepare_fences);
}

bool crab_store_maintain(struct crab_store *store)
{
	const struct crab_engine_ops *ops = store->engine->ops;
	bool more = false;

	if (READ_ONCE(store->readonly))
		return false;
	if (ops->maintain) {
		crab_flow_pin();
		more = ops->maintain(store->engine);
		crab_flow_unpin();
	}
	more |= crab_blobs_maintain(store);
	crab_store_look(store);
	return more;
}
