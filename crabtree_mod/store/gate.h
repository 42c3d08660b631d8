/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the gate of a store: the place that every write passes while a watch or a
 * snapshot exists. It gives the writes of one key an order that the engine's locks do not show,
 * and snapshots a point in time without a write. In a store of blobs a write holds a stripe of the
 * blobs in any case, and these stripes are those of the gate: blob.c.
 *
 * Locking (Documentation/design/locking.rst), in this order: crab_gate.lock; crab_gate.many;
 * crab_gate.stripes; the locks of the engine; crab_gate.notes_lock; crab_gate.watch_lock.
 */
#ifndef CRABTREE_GATE_H
#define CRABTREE_GATE_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>

#include "store.h"
#include "notes.h"

#ifndef CRAB_GATE_STRIPES
#define CRAB_GATE_STRIPES	256U	/* a power of two */
#endif

/**
 * struct crab_gate - the gate of a store
 * @lock: protects @store and @users
 * @store: the store; NULL once it is detached
 * @users: observers
 * @refs: the store, until it is detached, and @users; the last one frees the gate once it has
 *	released @lock
 * @many: held by a task that takes more than one stripe, until it has released them
 * @stripes: a write holds that of its key from before its note until after its report
 * @count: number of stripes
 * @own: @stripes, unless it is a store of blobs
 * @notes_lock: protects @snaps, @notes, @owned, @spare and @snaps_open
 * @snaps: snapshots with a table, oldest first; the first one is open
 * @notes: notes in all tables and in @spare
 * @owned: notes that own the extent of a blob
 * @most: value of @notes that ends the oldest snapshot
 * @seed: of the notes' priorities; constant
 * @spare: notes of ended snapshots, which the next notes replace
 * @snaps_open: snapshots that are not closed, also those that have ended
 * @watch_lock: protects @watches and their queues, and @watching
 * @watches: all watches
 * @watching: how many
 */
struct crab_gate {
	struct mutex lock;
	struct crab_store *store;
	u32 users;
	atomic_t refs;
	struct mutex many;
	struct mutex *stripes;
	u32 count;
	struct mutex own[CRAB_GATE_STRIPES];
	spinlock_t notes_lock;
	struct list_head snaps;
	u64 notes;
	u64 owned;
	u64 most;
	u64 seed;
	struct crab_notes spare;
	u32 snaps_open;
	spinlock_t watch_lock;
	struct list_head watches;
	u32 watching;
};

/**
 * crab_gate_drop() - remove an observer that crab_store_observe() added
 * @gate: the gate; its store may be detached
 * Context: may sleep.
 */
void crab_gate_drop(struct crab_gate *gate);

/**
 * crab_gate_end() - end all observers of a store that is being detached
 * @store: the store
 * Context: may sleep; no call on the store is running or will come.
 */
void crab_gate_end(struct crab_store *store);

/**
 * crab_gate_stop() - keep all writes out
 * @gate: the gate
 * Context: may sleep; waits for the writes that run.
 */
void crab_gate_stop(struct crab_gate *gate);

/**
 * crab_gate_resume() - let writes in again
 * @gate: the gate; crab_gate_stop() was called
 * Context: ends the section that crab_gate_stop() began.
 */
void crab_gate_resume(struct crab_gate *gate);

/**
 * crab_stripes_lock() - take several stripes
 * @many: held until crab_stripes_unlock(): of all tasks that take several, one at a time does so
 * @stripes: the stripes
 * @wanted: a bit for each; they are taken in their order
 * @count: of stripes
 * Context: may sleep; no stripe is held.
 */
void crab_stripes_lock(struct mutex *many, struct mutex *stripes, const unsigned long *wanted,
		       u32 count);

/**
 * crab_stripes_unlock() - release them
 * @many: as of crab_stripes_lock()
 * @stripes: as of crab_stripes_lock()
 * @wanted: as of crab_stripes_lock()
 * @count: as of crab_stripes_lock()
 * Context: any.
 */
void crab_stripes_unlock(struct mutex *many, struct mutex *stripes, const unsigned long *wanted,
			 u32 count);

/**
 * crab_gate_run() - do operations with their notes before, and their reports after them
 * @store: the store; its gate is on
 * @ops: the operations; those whose status is not 0 are skipped
 * @n: number of operations
 * @run: does them
 *
 * Context: may sleep.
 */
void crab_gate_run(struct crab_store *store, struct crab_batch_op *ops, u32 n,
		   void (*run)(struct crab_store *store, struct crab_batch_op *ops, u32 n));

#endif /* CRABTREE_GATE_H */
