/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the operands of the verbs: search, insert, delete, seek, scan, batch,
 * check, and how to end a long one early. The store and the engines share them; the user
 * interface has types of its own.
 *
 * No lock: they are the caller's.
 */
#ifndef CRABTREE_VERB_H
#define CRABTREE_VERB_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/types.h>

#include "damage.h"

struct crab_record {
	u64 key;
	u64 value;
};

/* Bits of a mode: an engine tests one of them, once it has found the key or not */
#define CRAB_INSERT_DECIDES	(1U << 0)	/* the old value counts: crab_insert_decide() */
#define CRAB_INSERT_NEEDS	(1U << 1)	/* -ENOENT if the key does not exist */
#define CRAB_INSERT_ADDS	(1U << 2)	/* store the sum of the old value and the value */

enum crab_insert_mode {
	CRAB_INSERT_EITHER	= 0,
	CRAB_INSERT_CREATE	= CRAB_INSERT_DECIDES,	/* -EEXIST if the key exists */
	CRAB_INSERT_REPLACE	= CRAB_INSERT_NEEDS,
	CRAB_INSERT_SWAP	= CRAB_INSERT_DECIDES | CRAB_INSERT_NEEDS, /* compare-and-swap */
	CRAB_INSERT_ADD		= CRAB_INSERT_DECIDES | CRAB_INSERT_ADDS,	/* or create */
	CRAB_INSERT_ADD_REPLACE	= CRAB_INSERT_ADD | CRAB_INSERT_NEEDS,
	CRAB_INSERT_NOTHING	= CRAB_INSERT_NEEDS | 8, /* a delete, by crab_engine_remove() */
};

enum crab_seek_dir {
	CRAB_SEEK_GE,
	CRAB_SEEK_LE,
};

/**
 * crab_seek_is_before() - compare two keys in a direction
 * @dir: the direction
 * @a: a key
 * @b: a key
 * Context: any.
 * Return: true if a walk in @dir meets @a first.
 */
static inline bool crab_seek_is_before(enum crab_seek_dir dir, u64 a, u64 b)
{
	return dir == CRAB_SEEK_GE ? a < b : a > b;
}

/**
 * struct crab_old - the record that a write replaced or removed
 * @existed: the key existed
 * @value: if so, its value
 * @expected: in: CRAB_INSERT_SWAP: the value that is replaced
 */
struct crab_old {
	bool existed;
	u64 value;
	u64 expected;
};

/**
 * crab_insert_decide() - whether an insert replaces the value of an existing key, and by which one
 * @mode: the mode
 * @old: the record, read under the lock that the insert holds until the new value is durable
 * @value: in: the value of the insert; out: the value to store; unchanged on error
 *
 * Another attempt of the same insert begins again with the value of the caller: pass a copy.
 *
 * Context: any; before the first store.
 * Return: 0, -EEXIST, or -ESTALE if the value is not the expected one.
 */
static __always_inline int crab_insert_decide(enum crab_insert_mode mode,
					      const struct crab_old *old, u64 *value)
{
	if (likely(!(mode & CRAB_INSERT_DECIDES)))
		return 0;
	if (mode & CRAB_INSERT_ADDS) {
		*value += old->value;
		return 0;
	}
	if (mode == CRAB_INSERT_CREATE)
		return -EEXIST;
	return old->value == old->expected ? 0 : -ESTALE;
}

enum crab_verb {
	CRAB_VERB_SEARCH,
	CRAB_VERB_INSERT,
	CRAB_VERB_DELETE,
};

/**
 * struct crab_batch_op - one operation of a batch
 * @verb: the verb
 * @mode: mode of an insert
 * @key: the key
 * @value: value of an insert; out: result of a search
 * @old: out: the record before a write
 * @status: in: 0, or the operation is skipped. Out: the result of the verb
 */
struct crab_batch_op {
	enum crab_verb verb;
	enum crab_insert_mode mode;
	u64 key;
	u64 value;
	struct crab_old old;
	int status;
};

/**
 * struct crab_stop - how to end long work early
 * @asked: called between two leaves; true ends attach, seek, check, the search of an insert for
 *	room, and a write without locks that others overtake too often, with -EINTR. Or NULL
 * @arg: argument of @asked
 */
struct crab_stop {
	bool (*asked)(void *arg);
	void *arg;
};

/**
 * struct crab_check_report - result of a check
 * @leaves: leaves that were read
 * @records: live records in them
 * @damage: broken invariants
 */
struct crab_check_report {
	u64 leaves;
	u64 records;
	struct crab_damage damage;
};

#endif /* CRABTREE_VERB_H */
