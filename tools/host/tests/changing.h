/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the parts of test_changing: a store whose media changes, and the calls of the
 * threads that use it.
 */
#ifndef CRAB_HOST_CHANGING_H
#define CRAB_HOST_CHANGING_H

#include <linux/mutex.h>

#include "model.h"
#include "store/blob_commit.h"

#define KEYS		160U
#define SPACE		1000003ULL	/* between two keys */
#define LONGEST		600U		/* bytes of a value */
#define FAILS		512U		/* bytes of memory that fail at a time */

enum content {
	NUMBERS = STORE_RECORDS,
	COMMITS = STORE_COMMITS,
	BLOBS = STORE_BLOBS | STORE_COMMITS,
	NAMES = STORE_NAMES | STORE_COMMITS,
};

struct kind {
	const char *name;
	const char *engine;
	const char *layout;
	u32 leaf_bytes;
	u32 slots;	/* of a leaf; 0: as many as fit */
	enum content content;
	const void *tuning;	/* options of attach, or NULL */
};

/**
 * struct user - a thread, or a task, that uses the store
 * @seed: of its choices
 * @call: name of its call; NULL: it has ended
 * @commit: memory for a commit
 * @values: memory for a commit of values
 * @value: memory for a value
 */
struct user {
	unsigned long long seed;
	const char *call;
	union {
		struct crab_commit commit;
		struct crab_blob_commit values;
	};
	u8 value[LONGEST];
};

/**
 * struct changing - a store whose media changes
 * @kind: of the store
 * @media: its memory, between pages that cannot be accessed
 * @store: the store
 * @run: its number among those of this kind
 * @writes: of 16 calls so many are writes
 * @began: it was writable after attach
 * @observed: there is an observer: snapshots may be opened
 * @opening: held by a call that opens one
 * @working: held by maintenance, which has one caller at a time
 * @refused: results that report damage
 * @done: calls that succeeded
 */
struct changing {
	const struct kind *kind;
	struct crab_media media;
	struct crab_store *store;
	u32 run;
	u32 writes;
	bool began;
	bool observed;
	struct mutex opening;
	struct mutex working;
	u64 refused;
	u64 done;
};

extern struct changing c;	/* the one of the program */

/* A word of the media that may be in use */
u64 changing_word(unsigned long long *seed);

/* A result that must not be; the first ones are printed */
void changing_fault(const char *what, long long a, long long b);

/* Makes the names */
void changing_begin(void);

/* A write, in a store of any content */
void changing_write(struct user *user);

/* Any call */
void changing_call(struct user *user);

#endif /* CRAB_HOST_CHANGING_H */
