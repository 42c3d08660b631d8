/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the work that is traced: the same in the machine, through
 * /dev/crab0, and in the host build. Each side implements the perform functions below.
 */
#ifndef TRACE_WORKLOAD_H
#define TRACE_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#define WORKLOAD_KEYS		512	/* that may occur; workload_key() ascends */
#define WORKLOAD_TOGETHER	40	/* operations of a batch, at most: more than an engine does at once */

enum workload_verb {
	WORKLOAD_LOAD, WORKLOAD_UNLOAD, WORKLOAD_TEAR, WORKLOAD_FORMAT, WORKLOAD_RACE,
	WORKLOAD_INSERT, WORKLOAD_DELETE, WORKLOAD_SEARCH, WORKLOAD_BATCH, WORKLOAD_PUT,
	WORKLOAD_ERASE, WORKLOAD_COMMIT,
};

/* Their names */
extern const char * const workload_verbs[];

enum workload_mode { WORKLOAD_EITHER, WORKLOAD_CREATE, WORKLOAD_REPLACE };

struct workload_store {
	const char *engine;	/* "": the default one */
	const char *layout;
	uint32_t leaf_bytes;
	uint32_t share;		/* of the operations */
	bool hurried;		/* the module's worker seldom gets the processor */
	bool blobs;		/* of blobs: all calls are puts and erases */
	bool commits;		/* of commits: batches are commits */
};

struct workload_operation {
	enum workload_verb verb;	/* insert, delete, put or erase; in a batch or commit search too */
	enum workload_mode mode;	/* of an insert or a put */
	uint32_t index;			/* of the key */
	uint64_t key;
	uint64_t value;			/* of a put: chooses the blob (tests/blob_value.h) */
};

/**
 * struct workload_call - operations that are asked for at once
 * @verb: that of the only one, or a batch or commit
 * @number: of the first
 * @n: how many
 * @dice: random state of the batch
 * @ops: they
 */
struct workload_call {
	enum workload_verb verb;
	uint32_t number;
	uint32_t n;
	uint64_t dice;
	struct workload_operation ops[WORKLOAD_TOGETHER];
};

static inline uint64_t workload_key(uint32_t index)
{
	return ((uint64_t)index << 50 | 0x5eed) ^ (index & 1 ? 0xffff0000 : 0);
}

/**
 * workload_run() - execute the whole workload
 * @operations: number of operations, over all stores
 *
 * Return: 0 or the first failure.
 */
int workload_run(uint32_t operations);

/**
 * workload_caches() - the same in a region whose caches persist, with a store that needs that
 * @operations: number of operations
 *
 * Return: 0 or the first failure.
 */
int workload_caches(uint32_t operations);

/**
 * workload_race() - execute the workload of two concurrent writers with private keys in one store
 * @operations: number of operations
 *
 * Return: 0 or the first failure.
 */
int workload_race(uint32_t operations);

/**
 * workload_race_call() - make a call of one writer
 * @call: out
 * @writer: 0 or 1
 * @number: number of the first operation
 * @length: number of operations
 */
void workload_race_call(struct workload_call *call, uint32_t writer, uint32_t number,
			uint32_t length);

/**
 * workload_begin() - the call whose first operation is @number: a batch of how many?
 * @call: out: all but its operations, which are to be made as if each were a call
 * @number: operations are numbered, not calls
 * @most: operations that are left
 * @writer: of a race
 */
void workload_begin(struct workload_call *call, uint32_t number, uint32_t most, uint32_t writer);

/**
 * workload_end() - complete the operations of a call
 * @call: the call
 * @stride: distance of the keys of one writer
 */
void workload_end(struct workload_call *call, uint32_t stride);

/**
 * perform_load() - load the module, which attaches the store; perform_unload() unloads it
 *
 * Return: 0 or the first failure.
 */
int perform_load(void);
int perform_unload(void);

/**
 * perform_tear() - write a state after power cuts into the region of a detached store
 * @index: keys that are present, each in a leaf of its own
 * @n: how many
 *
 * The detach before was cut: the store counts as attached. A delete of each of the keys
 * was cut after its first store; in the layout eadr that is the last one, and then a move of the leaf
 * was cut: the keys are absent, and attach has to repair their slots or their leaves.
 */
int perform_tear(const uint32_t *index, uint32_t n);

/**
 * perform_format() - make a new store over any content, with a fixed uuid and label
 * @store: its parameters
 *
 * Return: 0 or the first failure.
 */
int perform_format(const struct workload_store *store);

/**
 * perform() - execute a call; each side handles the results of the operations
 * @call: the call
 *
 * Return: 0 or the first failure.
 */
int perform(const struct workload_call *call);

/**
 * perform_race() - execute operations of both writers concurrently; used by workload_race() only
 * @length: operations of each writer
 *
 * Return: 0 or the first failure.
 */
int perform_race(uint32_t length);

#define WORKLOAD_LABEL	"selftest"
#define WORKLOAD_UUID	"crabtree, traced"	/* 16 bytes */

#endif /* TRACE_WORKLOAD_H */
