/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares watches: the changes of a range of keys, in the order of each key, reported
 * once no power cut can take them back.
 *
 * Locking: inside. The functions on one watch may run concurrently, except the last one.
 */
#ifndef CRABTREE_WATCH_H
#define CRABTREE_WATCH_H

#include "engines/verb.h"

struct crab_gate;
struct crab_store;
struct crab_watch;

#define CRAB_CHANGE_EXISTED	(1U << 0)	/* the key existed before: @old is its value */
#define CRAB_CHANGE_LOST	(1U << 1)	/* @value changes were dropped, up to number @seq */

/**
 * struct crab_change - one change
 * @seq: number of the change among those of its watch, from 1 on
 * @key: the key
 * @value: the new value of an insert
 * @old: the value before, if it existed
 * @verb: CRAB_VERB_INSERT or CRAB_VERB_DELETE
 * @flags: CRAB_CHANGE_*
 */
struct crab_change {
	u64 seq;
	u64 key;
	u64 value;
	u64 old;
	u32 verb;
	u32 flags;
};

/**
 * crab_watch_open() - watch a range of keys
 * @store: the store; crab_store_observe() was called for this watch, and no write runs that began
 *	before it
 * @start: the lowest key
 * @end: the highest key
 * @entries: changes that wait for the reader, at most; more than 0
 * @wake: called after each report, and when the store is detached; must not sleep
 * @arg: argument of @wake
 *
 * Context: may sleep.
 * Return: the watch, or ERR_PTR(-ENOMEM).
 */
struct crab_watch *crab_watch_open(struct crab_store *store, u64 start, u64 end, u32 entries,
				   void (*wake)(void *arg), void *arg);

/**
 * crab_watch_read() - take the next changes
 * @watch: the watch; its store may be detached
 * @changes: out
 * @cap: room
 *
 * Changes that found the ring full are dropped until the reader has taken all that it holds; one
 * change with CRAB_CHANGE_LOST then reports their number.
 *
 * Context: any.
 * Return: the number of changes, 0 if none waits, -ENODEV if none waits and none will come.
 */
int crab_watch_read(struct crab_watch *watch, struct crab_change *changes, u32 cap);

/**
 * crab_watch_peek() - whether crab_watch_read() would return 0
 * @watch: the watch
 * Context: any.
 * Return: 1 if changes wait, 0 if none does, -ENODEV if none will come.
 */
int crab_watch_peek(struct crab_watch *watch);

/**
 * crab_watch_close() - end a watch and free it
 * @watch: the watch; its store may be detached
 * Context: may sleep.
 */
void crab_watch_close(struct crab_watch *watch);

/**
 * crab_watch_report() - report operations to all watches
 * @gate: the gate; the caller holds the stripes of the operations
 * @ops: the operations, durable
 * @n: number of operations
 * Context: any.
 */
void crab_watch_report(struct crab_gate *gate, const struct crab_batch_op *ops, u32 n);

/**
 * crab_watch_end_all() - report that no change will come any more
 * @gate: the gate of a store that is being detached
 * Context: any.
 */
void crab_watch_end_all(struct crab_gate *gate);

#endif /* CRABTREE_WATCH_H */
