/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the states of test_value_tasks: the value of each key over time, which its
 * writer numbers, and the tasks that read them.
 *
 * A state with an odd number is a value, one with an even number its absence. State 0 is at the begin.
 *
 * Locking: none; one task runs at a time.
 */
#ifndef CRAB_HOST_VALUE_STATES_H
#define CRAB_HOST_VALUE_STATES_H

#include "same_crc.h"
#include "store/blob_snap.h"

#define WRITERS		2U
#define KEYS		6U
#define STATES		1024U	/* of a key in one run */
#define LONGEST		200U	/* bytes of a value: sixteen in a slab */

enum status { NEVER, PENDING, DONE, TAKEN_BACK };

/* A write that has not returned: of one key, or of several in a commit */
struct flight {
	u32 n;
	u32 key[KEYS];
	u32 state[KEYS];
};

/**
 * struct states - of the keys of one run
 * @run: its number
 * @kind: of the store
 * @working: writers that have not ended
 * @now: the last state of each key whose write returned
 * @top: the highest one that was ever tried
 * @seen: the newest one that was seen
 * @status: of each state
 * @version: of each value whose write returned, or that was read
 * @flight: the write of each writer; key n is that of writer n % WRITERS
 * @reads: in all runs of a store
 */
struct states {
	u64 run;
	u32 kind;
	u32 working;
	u32 now[KEYS];
	u32 top[KEYS];
	u32 seen[KEYS];
	u8 status[KEYS][STATES];
	u64 version[KEYS][STATES];
	struct flight flight[WRITERS];
	u64 reads;
};

extern struct states states;

/**
 * states_named() - whether the keys are names
 *
 * Return: true if so.
 */
bool states_named(void);

/**
 * states_name() - make the name of a key; all names have the same crc
 * @key: its number
 * @text: out: SAME_CRC_BYTES bytes
 */
void states_name(u32 key, char *text);

/**
 * states_raise() - note that a state is durable
 * @key: number of the key
 * @state: its state
 */
void states_raise(u32 key, u32 state);

/**
 * states_version() - judge the version of a value: it is constant, and no other value ever had it
 * @key: number of the key
 * @state: its state
 * @is: the version
 */
void states_version(u32 key, u32 state, u64 is);

/**
 * states_get() - read the value of a key
 * @key: number of the key
 * @snap: the snapshot to read from, or NULL
 * @read: the operands
 *
 * Return: as crab_blob_get().
 */
int states_get(u32 key, struct crab_snap *snap, struct crab_blob_read *read);

/**
 * states_read() - read a key, and judge its state
 * @key: number of the key
 * @snap: as of states_get()
 * @least: no older state may be found
 * @how: for messages
 */
void states_read(u32 key, struct crab_snap *snap, u32 least, const char *how);

/**
 * states_list() - list all keys, and judge each state
 */
void states_list(void);

/**
 * states_reader() - a task that reads until the writers have ended
 * @arg: its number; 0: it opens no snapshots
 */
void states_reader(void *arg);

/**
 * states_watcher() - a task that reads the reports of a watch, as long
 * @arg: NULL
 */
void states_watcher(void *arg);

#endif /* CRAB_HOST_VALUE_STATES_H */
