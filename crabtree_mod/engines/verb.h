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

#include <linux/types.h>

#include "damage.h"

struct crab_record {
	u64 key;
	u64 value;
};

enum crab_insert_mode {
	CRAB_INSERT_EITHER,
	CRAB_INSERT_CREATE,	/* -EEXIST if the key exists */
	CRAB_INSERT_REPLACE,	/* -ENOENT if the key does not exist */
	CRAB_INSERT_NOTHING,	/* a delete, only from crab_engine_remove() */
};

enum crab_seek_dir {
	CRAB_SEEK_GE,
	CRAB_SEEK_LE,
};

/**
 * struct crab_old - the record that a write replaced or removed
 * @existed: the key existed
 * @value: if so, its value
 */
struct crab_old {
	bool existed;
	u64 value;
};

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
 * @asked: called between two leaves; true ends attach, seek and check with -EINTR. Or NULL
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
