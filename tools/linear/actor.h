/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares actors: threads that do random operations on a few keys of a store
 * and record the results in a history. A table of functions accesses the store, so that a store in
 * user space and one on a device are tested alike.
 *
 * Values are unique: each identifies the write that a reader saw.
 */
#ifndef LINEAR_ACTOR_H
#define LINEAR_ACTOR_H

#include "history.h"

#define ACTOR_KEYS	256	/* at most */
#define ACTOR_BATCH	8	/* operations of one batch, at most */

struct actor_record {
	uint64_t key;
	uint64_t value;
};

/**
 * struct actor_scan - one call of a scan
 * @start: the lowest key wanted
 * @end: the highest key wanted
 * @records: out
 * @room: how many fit
 * @count: out: how many there are
 * @done: out: nothing is left up to @end, or down to @start
 * @back: in descending order, from @end on
 */
struct actor_scan {
	uint64_t start;
	uint64_t end;
	struct actor_record *records;
	uint32_t room;
	uint32_t count;
	bool done;
	bool back;
};

/*
 * One operation of a batch; @verb is enum history_verb, @value in and out, @expected as in
 * history_op
 */
struct actor_op {
	uint32_t verb;
	int err;
	uint64_t key;
	uint64_t value;
	uint64_t old;
	uint64_t expected;
};

/**
 * struct actor_snap_calls - a snapshot, as actors call it
 * @open: opens one; NULL: it cannot be opened now
 * @search: as of actor_store, in the snapshot; -ESTALE: it has ended
 * @seek: the same
 * @scan: the same
 * @close: closes it
 */
struct actor_snap_calls {
	void *(*open)(void *arg);
	int (*search)(void *arg, void *snap, uint64_t key, uint64_t *value);
	int (*seek)(void *arg, void *snap, uint64_t key, bool up, struct actor_record *record);
	int (*scan)(void *arg, void *snap, struct actor_scan *scan);
	void (*close)(void *arg, void *snap);
};

/**
 * struct actor_store - the store, as actors call it
 * @write: insert, create, replace, swap, add; @old: in, for a swap: the expected value; out: the
 *	old value or HISTORY_ABSENT
 * @remove: delete; @old: as of write
 * @search: value of a key
 * @seek: the lowest record >= @key, or the highest <= @key
 * @scan: some records in order
 * @batch: several operations at once; or NULL
 * @erase: delete of all keys from @from to @to; @deleted: out: how many were there; or NULL
 * @full: may a call that runs now report -ENOSPC? NULL: any may
 * @shape: a number that changes whenever the range of a leaf does; 0: one may be changing now;
 *	or NULL: not known
 * @leaf: while @shape stays the same: the leaf that has a key
 * @snap: calls on a snapshot of the store; or NULL
 * @arg: for all of them
 *
 * All calls return 0 or a negative errno.
 */
struct actor_store {
	int (*write)(void *arg, enum history_verb verb, uint64_t key, uint64_t value,
		     uint64_t *old);
	int (*remove)(void *arg, uint64_t key, uint64_t *old);
	int (*search)(void *arg, uint64_t key, uint64_t *value);
	int (*seek)(void *arg, uint64_t key, bool up, struct actor_record *record);
	int (*scan)(void *arg, struct actor_scan *scan);
	int (*batch)(void *arg, struct actor_op *op, uint32_t count);
	int (*erase)(void *arg, uint64_t from, uint64_t to, uint64_t *deleted);
	bool (*full)(void *arg, uint32_t log);
	uint64_t (*shape)(void *arg);
	uint64_t (*leaf)(void *arg, uint64_t key);
	const struct actor_snap_calls *snap;
	void *arg;
};

/**
 * struct actor - one of the threads
 * @store: the store under test
 * @history: its history
 * @log: its own log there
 * @keys: all keys, ascending: history.keys of them
 * @seed: of its choices; not 0
 * @values: the next value that it writes; unique to this actor
 * @record: the operations in progress; read by the code that cuts actors off
 * @count: operations of @record; 0: none runs
 * @seen: by key: the last value that it read or wrote, which a swap expects
 * @moments: of its reads so far
 * @snaps: snapshots that it read, or began to read
 * @stale: those of them that ended early
 */
struct actor {
	const struct actor_store *store;
	struct history *history;
	uint32_t log;
	const uint64_t *keys;
	unsigned long long seed;
	uint64_t values;
	struct history_op record[ACTOR_BATCH];
	uint32_t count;
	uint64_t seen[ACTOR_KEYS];
	uint32_t moments;
	uint32_t snaps;
	uint32_t stale;
};

/**
 * actor_snap() - open a snapshot, read it in several ways, and close it
 * @actor: the actor, which does nothing else
 *
 * All its reads are recorded with the times of the call that opened it, and as reads of one state.
 */
void actor_snap(struct actor *actor);

/* Number of the lowest key >= @key */
uint32_t actor_key_from(const struct actor *actor, uint64_t key);

/**
 * actor_act() - do one random operation and record it
 * @actor: the actor
 * @grow: insert more often than delete
 */
void actor_act(struct actor *actor, bool grow);

/**
 * actor_write() - do one write and record it
 * @actor: the actor
 * @verb: HISTORY_INSERT to HISTORY_ADD
 * @key: number of the key
 */
void actor_write(struct actor *actor, enum history_verb verb, uint32_t key);

/**
 * actor_search() - search one key and record it
 * @actor: the actor
 * @key: its number
 * @call: HISTORY_SINGLE or HISTORY_FINAL
 */
void actor_search(struct actor *actor, uint32_t key, enum history_call call);

/**
 * actor_count_up() - add 1 to one of the keys and record it
 * @actor: the actor
 */
void actor_count_up(struct actor *actor);

/**
 * actor_read_all() - search each key and scan all of them; no other actor runs
 * @actor: the actor
 */
void actor_read_all(struct actor *actor);

/**
 * actor_cut() - record the operations that a cut interrupted
 * @actor: the actor
 */
void actor_cut(struct actor *actor);

#endif /* LINEAR_ACTOR_H */
