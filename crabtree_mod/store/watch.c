// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements watches: a queue of changes in DRAM for each one.
 *
 * Invariants: a change is reported after the fence of its write and before the write releases the
 * stripe of its key; the numbers of a watch have no gap: a change with CRAB_CHANGE_LOST stands for
 * those that were dropped. The queue has no number: those of its changes are in a row.
 *
 * Locking: crab_gate.watch_lock for all watches of a store and their queues.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "blob.h"
#include "gate.h"
#include "queue.h"
#include "store_priv.h"
#include "watch.h"

/**
 * struct crab_watch - a watch; crab_gate.watch_lock
 * @list: in crab_gate.watches
 * @gate: constant
 * @start: constant
 * @end: constant
 * @prefix_bytes: constant
 * @prefix: constant
 * @wake: constant
 * @arg: constant
 * @seq: number of the last change in the range
 * @lost: changes dropped since the last one in the queue
 * @ended: the store is detached
 * @named: the changes have names; constant
 * @queue: changes that wait
 */
struct crab_watch {
	struct list_head list;
	struct crab_gate *gate;
	u64 start;
	u64 end;
	u32 prefix_bytes;
	char prefix[CRAB_NAME_MAX];
	void (*wake)(void *arg);
	void *arg;
	u64 seq;
	u64 lost;
	bool ended;
	bool named;
	struct crab_queue queue;
};

static void watch_free(struct crab_watch *watch)
{
	crab_queue_destroy(&watch->queue);
	kfree(watch);
}

static struct crab_watch *watch_alloc(const struct crab_store *store,
				      const struct crab_watch_options *options)
{
	struct crab_watch *watch = kzalloc(sizeof(*watch), GFP_KERNEL_ACCOUNT);

	if (!watch)
		return NULL;
	watch->named = crab_store_has_names(store);
	if (!crab_queue_init(&watch->queue, options->entries, options->charged))
		return watch;
	watch_free(watch);
	return NULL;
}

/* Adds a watch, unless there are as many as there may be */
static bool watch_enter(struct crab_gate *gate, struct crab_watch *watch)
{
	bool room;

	spin_lock(&gate->watch_lock);
	room = gate->watching < CRAB_WATCHES_MAX;
	if (room) {
		gate->watching++;
		list_add_tail(&watch->list, &gate->watches);
	}
	spin_unlock(&gate->watch_lock);
	return room;
}

struct crab_watch *crab_watch_open(struct crab_store *store,
				   const struct crab_watch_options *options)
{
	struct crab_watch *watch = watch_alloc(store, options);
	struct crab_gate *gate = store->gate;

	if (!watch)
		return ERR_PTR(-ENOMEM);
	watch->gate = gate;
	watch->start = options->start;
	watch->end = options->end;
	watch->prefix_bytes = options->prefix_bytes;
	if (options->prefix_bytes)
		memcpy(watch->prefix, options->prefix, options->prefix_bytes);
	watch->wake = options->wake;
	watch->arg = options->arg;
	if (watch_enter(gate, watch))
		return watch;
	watch_free(watch);
	return ERR_PTR(-EMFILE);
}

void crab_watch_close(struct crab_watch *watch)
{
	struct crab_gate *gate = watch->gate;

	spin_lock(&gate->watch_lock);
	list_del(&watch->list);
	gate->watching--;
	spin_unlock(&gate->watch_lock);
	watch_free(watch);
	crab_gate_drop(gate);
}

int crab_watch_read(struct crab_watch *watch, struct crab_change *changes,
		    struct crab_change_name *names, u32 cap)
{
	u32 i, n;

	spin_lock(&watch->gate->watch_lock);
	n = crab_queue_read(&watch->queue, changes, names, cap);
	for (i = 0; i < n; i++)
		changes[i].seq = watch->seq - watch->lost - watch->queue.count + i + 1;
	/* Those that were dropped come after all others */
	if (watch->lost && n < cap && n == watch->queue.count)
		changes[n++] = (struct crab_change){
			.seq = watch->seq, .value = watch->lost, .flags = CRAB_CHANGE_LOST,
		};
	if (!n && watch->ended)
		n = -ENODEV;
	spin_unlock(&watch->gate->watch_lock);
	return n;
}

void crab_watch_take(struct crab_watch *watch, const struct crab_change *changes, u32 n)
{
	u32 i, queued = 0;

	spin_lock(&watch->gate->watch_lock);
	for (i = 0; i < n; i++) {
		if (changes[i].flags & CRAB_CHANGE_LOST)
			watch->lost -= changes[i].value;	/* more may be lost since */
		else
			queued++;
	}
	crab_queue_take(&watch->queue, queued);
	spin_unlock(&watch->gate->watch_lock);
}

int crab_watch_peek(struct crab_watch *watch)
{
	int any;

	spin_lock(&watch->gate->watch_lock);
	any = watch->queue.count || watch->lost ? 1 : watch->ended ? -ENODEV : 0;
	spin_unlock(&watch->gate->watch_lock);
	return any;
}

static bool watch_wants(const struct crab_watch *watch, const struct crab_change *change)
{
	if (watch->named)
		return change->name_bytes >= watch->prefix_bytes &&
		       !memcmp(change->name, watch->prefix, watch->prefix_bytes);
	return change->key >= watch->start && change->key <= watch->end;
}

/* Numbers a change, and adds it to the queue if it can; false: the watch does not want it */
static bool watch_put_locked(struct crab_watch *watch, const struct crab_change *change)
{
	lockdep_assert_held(&watch->gate->watch_lock);

	if (!watch_wants(watch, change))
		return false;
	watch->seq++;
	/* Those after a dropped one are dropped as well, until its loss has been reported */
	if (watch->lost || !crab_queue_put(&watch->queue, change))
		watch->lost++;
	return true;
}

static struct crab_change op_change(const struct crab_batch_op *op)
{
	struct crab_change change = {
		.key = op->key, .verb = op->verb, .old = op->old.existed ? op->old.value : 0,
		.flags = op->old.existed ? CRAB_CHANGE_EXISTED : 0,
	};

	if (op->verb == CRAB_VERB_INSERT)
		change.value = op->value + (op->mode & CRAB_INSERT_ADDS ? change.old : 0);
	return change;
}

static void watch_report_locked(struct crab_watch *watch, const struct crab_batch_op *ops, u32 n)
{
	struct crab_change change;
	bool any = false;
	u32 i;

	for (i = 0; i < n; i++) {
		if (ops[i].status || ops[i].verb == CRAB_VERB_SEARCH)
			continue;
		change = op_change(&ops[i]);
		any |= watch_put_locked(watch, &change);
	}
	if (any)
		watch->wake(watch->arg);
}

void crab_watch_report(struct crab_gate *gate, const struct crab_batch_op *ops, u32 n)
{
	struct crab_watch *watch;

	spin_lock(&gate->watch_lock);
	list_for_each_entry(watch, &gate->watches, list)
		watch_report_locked(watch, ops, n);
	spin_unlock(&gate->watch_lock);
}

void crab_watch_report_one(struct crab_gate *gate, const struct crab_change *change)
{
	struct crab_watch *watch;

	spin_lock(&gate->watch_lock);
	list_for_each_entry(watch, &gate->watches, list)
		if (watch_put_locked(watch, change))
			watch->wake(watch->arg);
	spin_unlock(&gate->watch_lock);
}

void crab_watch_end_all(struct crab_gate *gate)
{
	struct crab_watch *watch;

	spin_lock(&gate->watch_lock);
	list_for_each_entry(watch, &gate->watches, list) {
		watch->ended = true;
		watch->wake(watch->arg);
	}
	spin_unlock(&gate->watch_lock);
}
