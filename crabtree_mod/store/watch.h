/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares watches: the changes of a range of keys, or of the names with a prefix, in the
 * order of each key, reported once no power cut can take them back.
 *
 * Locking: inside. The functions on one watch may run concurrently, except the last one.
 */
#ifndef CRABTREE_WATCH_H
#define CRABTREE_WATCH_H

#include "engines/verb.h"
#include "media/format.h"

struct crab_gate;
struct crab_store;
struct crab_watch;
struct mem_cgroup;

/* Watches of a store. Each write asks all of them, under one lock */
#define CRAB_WATCHES_MAX	64U

#define CRAB_CHANGE_EXISTED	(1U << 0)	/* the key existed before: @old is its value */
#define CRAB_CHANGE_LOST	(1U << 1)	/* @value changes were dropped, up to number @seq */

/* Room for the name of a change */
struct crab_change_name {
	char text[CRAB_NAME_MAX];
};

/**
 * struct crab_change - one change
 * @seq: number of the change among those of its watch, from 1 on
 * @key: the key
 * @value: the new value of an insert
 * @old: the value before, if it existed
 * @verb: CRAB_VERB_INSERT or CRAB_VERB_DELETE
 * @flags: CRAB_CHANGE_*
 * @name: in a store of names: the name of the key
 * @name_bytes: its length; else 0
 * @type: of the new value, in a store of names
 *
 * In a store of blobs @value and @old are versions; @old is 0 if the blob is damaged.
 */
struct crab_change {
	u64 seq;
	u64 key;
	u64 value;
	u64 old;
	u32 verb;
	u32 flags;
	const char *name;
	u8 name_bytes;
	u8 type;
};

/**
 * struct crab_watch_options - the operands of crab_watch_open()
 * @start: the lowest key
 * @end: the highest key
 * @prefix: in a store of names: of the names, instead of @start and @end; it is copied
 * @prefix_bytes: length of @prefix, at most CRAB_NAME_MAX
 * @entries: changes that wait for the reader, at most; more than 0
 * @charged: the memory cgroup that pays for them; the caller has a reference to it until
 *	crab_watch_close()
 * @wake: called after each report, and when the store is detached; must not sleep
 * @arg: argument of @wake
 */
struct crab_watch_options {
	u64 start;
	u64 end;
	const char *prefix;
	u32 prefix_bytes;
	u32 entries;
	struct mem_cgroup *charged;
	void (*wake)(void *arg);
	void *arg;
};

/**
 * crab_watch_open() - watch a range of keys, or the names with a prefix
 * @store: the store; crab_store_observe() was called for this watch, and no write runs that began
 *	before it
 * @options: the operands
 *
 * Context: may sleep.
 * Return: the watch, or ERR_PTR: -ENOMEM, or -EMFILE if the store has CRAB_WATCHES_MAX.
 */
struct crab_watch *crab_watch_open(struct crab_store *store,
				   const struct crab_watch_options *options);

/**
 * crab_watch_read() - read the next changes, which stay until crab_watch_take()
 * @watch: the watch; its store may be detached
 * @changes: out; each name is in @names
 * @names: room for the name of each change; NULL unless it is a store of names
 * @cap: room
 *
 * Changes that found no room, or no memory, are dropped until the reader has taken all that wait;
 * one change with CRAB_CHANGE_LOST then reports their number.
 *
 * Context: any; one reader at a time.
 * Return: the number of changes, 0 if none waits, -ENODEV if none waits and none will come.
 */
int crab_watch_read(struct crab_watch *watch, struct crab_change *changes,
		    struct crab_change_name *names, u32 cap);

/**
 * crab_watch_take() - take changes that were read
 * @watch: the watch
 * @changes: from the last crab_watch_read()
 * @n: how many of them, from the first on
 * Context: as crab_watch_read().
 */
void crab_watch_take(struct crab_watch *watch, const struct crab_change *changes, u32 n);

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
 * crab_watch_report_one() - report the change of a blob to all watches
 * @gate: the gate; the caller holds the stripe of the key
 * @change: the change, durable, without its number
 * Context: any.
 */
void crab_watch_report_one(struct crab_gate *gate, const struct crab_change *change);

/**
 * crab_watch_end_all() - report that no change will come any more
 * @gate: the gate of a store that is being detached
 * Context: any.
 */
void crab_watch_end_all(struct crab_gate *gate);

#endif /* CRABTREE_WATCH_H */
