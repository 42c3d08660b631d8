// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements watches: a ring of changes in DRAM for each one.
 *
 * Invariants: a change is reported after the fence of its write and before the write releases the
 * stripe of its key; the numbers of a watch have no gap: a change with CRAB_CHANGE_LOST stands for
 * those that were dropped.
 *
 * Locking: crab_gate.watch_lock for all watches of a store and their rings.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "gate.h"
#include "store_priv.h"
#include "watch.h"

/**
 * struct crab_watch - a watch; crab_gate.watch_lock
 * @list: in crab_gate.watches
 * @gate: constant
 * @start: constant
 * @end: constant
 * @wake: constant
 * @arg: constant
 * @seq: number of the last change in the range
 * @lost: changes dropped since the last one in the ring
 * @ended: the store is detached
 * @entries: size of the ring; constant
 * @first: index of the oldest change in the ring
 * @count: changes in the ring
 * @ring: the changes
 */
struct crab_watch {
	struct list_head list;
	struct crab_gate *gate;
	u64 start;
	u64 end;
	void (*wake)(void *arg);
	void *arg;
	u64 seq;
	u64 lost;
	bool ended;
	u32 entries;
	u32 first;
	u32 count;
	struct crab_change ring[];
};

struct crab_watch *crab_watch_open(struct crab_store *store, u64 start, u64 end, u32 entries,
				   void (*wake)(void *arg), void *arg)
{
	struct crab_gate *gate = store->gate;
	struct crab_watch *watch;

	watch = kvzalloc(struct_size(watch, ring, entries), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!watch)
		return ERR_PTR(-ENOMEM);
	watch->gate = gate;
	watch->start = start;
	watch->end = end;
	watch->entries = entries;
	watch->wake = wake;
	watch->arg = arg;
	spin_lock(&gate->watch_lock);
	list_add_tail(&watch->list, &gate->watches);
	spin_unlock(&gate->watch_lock);
	return watch;
}

void crab_watch_close(struct crab_watch *watch)
{
	struct crab_gate *gate = watch->gate;

	spin_lock(&gate->watch_lock);
	list_del(&watch->list);
	spin_unlock(&gate->watch_lock);
	kvfree(watch);
	crab_gate_drop(gate);
}

/* The next change in the ring, or the one that stands for dropped ones; the ring is not empty */
static struct crab_change watch_take_locked(struct crab_watch *watch)
{
	struct crab_change change = {
		.seq = watch->seq, .value = watch->lost, .flags = CRAB_CHANGE_LOST,
	};

	lockdep_assert_held(&watch->gate->watch_lock);

	if (!watch->count) {
		watch->lost = 0;
		return change;
	}
	change = watch->ring[watch->first];
	watch->first = (watch->first + 1) % watch->entries;
	watch->count--;
	return change;
}

int crab_watch_read(struct crab_watch *watch, struct crab_change *changes, u32 cap)
{
	u32 n = 0;

	spin_lock(&watch->gate->watch_lock);
	while (n < cap && (watch->count || watch->lost))
		changes[n++] = watch_take_locked(watch);
	if (!n && watch->ended)
		n = -ENODEV;
	spin_unlock(&watch->gate->watch_lock);
	return n;
}

int crab_watch_peek(struct crab_watch *watch)
{
	int any;

	spin_lock(&watch->gate->watch_lock);
	any = watch->count || watch->lost ? 1 : watch->ended ? -ENODEV : 0;
	spin_unlock(&watch->gate->watch_lock);
	return any;
}

static void watch_put_locked(struct crab_watch *watch, const struct crab_batch_op *op)
{
	struct crab_change *change;
	bool adds = op->mode & CRAB_INSERT_ADDS;

	lockdep_assert_held(&watch->gate->watch_lock);

	watch->seq++;
	if (watch->lost || watch->count == watch->entries) {
		watch->lost++;
		return;
	}
	change = &watch->ring[(watch->first + watch->count++) % watch->entries];
	*change = (struct crab_change){
		.seq = watch->seq, .key = op->key, .verb = op->verb,
		.old = op->old.existed ? op->old.value : 0,
		.flags = op->old.existed ? CRAB_CHANGE_EXISTED : 0,
	};
	if (op->verb == CRAB_VERB_INSERT)
		change->value = op->value + (adds ? change->old : 0);
}

static void watch_report_locked(struct crab_watch *watch, const struct crab_batch_op *ops, u32 n)
{
	u64 before = watch->seq;
	u32 i;

	for (i = 0; i < n; i++)
		if (!ops[i].status && ops[i].verb != CRAB_VERB_SEARCH &&
		    ops[i].key >= watch->start && ops[i].key <= watch->end)
			watch_put_locked(watch, &ops[i]);
	if (watch->seq != before)
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
