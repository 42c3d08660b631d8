/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the work that is traced: the same in the machine, through
 * /dev/crab0, and in the host build. Who performs it gives the perform functions below.
 */
#ifndef TRACE_WORKLOAD_H
#define TRACE_WORKLOAD_H

#include <stdint.h>

#define WORKLOAD_KEYS	512	/* that may occur; workload_key() ascends */

enum workload_verb {
	WORKLOAD_LOAD, WORKLOAD_UNLOAD, WORKLOAD_TEAR, WORKLOAD_FORMAT, WORKLOAD_RACE,
	WORKLOAD_INSERT, WORKLOAD_DELETE,
};

enum workload_mode { WORKLOAD_EITHER, WORKLOAD_CREATE, WORKLOAD_REPLACE };

struct workload_store {
	const char *layout;
	uint32_t leaf_bytes;
	uint32_t share;		/* of the operations, in eighths */
};

struct workload_operation {
	enum workload_verb verb;	/* insert or delete */
	enum workload_mode mode;	/* of an insert */
	uint32_t index;			/* of the key */
	uint64_t key;
	uint64_t value;
};

static inline uint64_t workload_key(uint32_t index)
{
	return ((uint64_t)index << 50 | 0x5eed) ^ (index & 1 ? 0xffff0000 : 0);
}

/** workload_run() - all of it; @operations in all stores together; 0 or the first failure */
int workload_run(uint32_t operations);

/** workload_race() - two writers on processors and keys of their own, in one store */
int workload_race(uint32_t operations);

/** workload_race_operation() - operation @number of @length of a @writer, 0 or 1 */
struct workload_operation workload_race_operation(uint32_t writer, uint32_t number,
						  uint32_t length);

/** workload_mix() - a number as good as random */
uint64_t workload_mix(uint64_t x);

/** perform_load() - the module comes and attaches what is there; perform_unload(): it goes */
int perform_load(void);
int perform_unload(void);

/**
 * perform_tear() - what power cuts leave, put into the region of a store not attached
 * @index: keys that are there, each in a leaf of its own
 * @n: how many
 *
 * The detach before was cut: the store counts as attached. A delete of each of the keys
 * was cut behind its first store: they are gone, and there is something to repair.
 */
int perform_tear(const uint32_t *index, uint32_t n);

/** perform_format() - a new store, over whatever is there; its uuid and label are fixed */
int perform_format(const struct workload_store *store);

/** perform() - one operation, @number in all; its result is a matter of the two sides */
int perform(const struct workload_operation *op, uint32_t number);

/** workload_index() - which one a key is, or WORKLOAD_KEYS */
static inline uint32_t workload_index(uint64_t key)
{
	uint32_t index = key >> 50;

	return index < WORKLOAD_KEYS && workload_key(index) == key ? index : WORKLOAD_KEYS;
}

/** perform_race() - @length operations of either writer, at the same time; only of a race */
int perform_race(uint32_t length);

#define WORKLOAD_LABEL	"selftest"
#define WORKLOAD_UUID	"crabtree, traced"	/* 16 bytes */

#endif /* TRACE_WORKLOAD_H */
