/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the random crash test: it cuts each operation on a small store at its crash
 * points. The real attach recovers every crash image that recovery can distinguish from the
 * others, and the oracle judges the result.
 *
 * Locking: one thread.
 */
#ifndef CRAB_HOST_CRASH_H
#define CRAB_HOST_CRASH_H

#include <linux/minmax.h>

#include "engines/crab/sorted/tuning.h"
#include "engines/fastfair/tuning.h"
#include "engines/nvtree/tuning.h"
#include "shadow/shadow.h"
#include "store/store.h"
#include "tests/oracle.h"
#include "tests/points.h"

#define CRASH_KEYS		1024	/* at most */
#define CRASH_KEYS_DEFAULT	32
#define CRASH_TIDE		1024	/* most operations until a growing store shrinks */
#define CRASH_POINTS		4096	/* in one operation */
#define CRASH_SAID		512
#define CRASH_BATCH_MOST	16	/* operations of a batch */
#define CRASH_TOGETHER		4	/* longer batches: only some images are tried */

enum crash_verb {
	CRASH_INSERT,		/* or update */
	CRASH_SPECIAL,		/* insert or update of a value of host_driver.special */
	CRASH_DELETE,
	CRASH_MAINTAIN,
	CRASH_REATTACH,		/* detach and attach */
	CRASH_CUT,		/* lose power at a point of an operation or of an attach, and go on */
	CRASH_SURVIVE,		/* stop at such a point, and attach the content of the caches */
	CRASH_FORMAT,
	CRASH_BATCH,		/* inserts, updates, deletes and searches in one call */
	CRASH_VERBS
};

struct host_driver;

struct crash_op {
	enum crash_verb verb;
	u32 key;		/* number */
	u64 value;		/* of a batch: the seed of its operations */
	enum crab_insert_mode mode;
	u64 expected;
};

/* The last batch; each operation by key number, too */
struct crash_batch {
	u32 n;
	u32 key[CRASH_BATCH_MOST];
	struct crab_batch_op ops[CRASH_BATCH_MOST];
	u32 changed;		/* number of changes */
	struct crab_oracle_change changes[CRASH_BATCH_MOST];
};

struct crash_content {
	struct crab_key_state key[CRASH_KEYS];
};

struct crash_counts {
	u64 ops[CRASH_VERBS];
	u64 points;
	u64 images;
	u64 fences[CRAB_POINTS];
	u64 recoveries;		/* attaches of a crash image */
	u64 repairs;		/* slots that they completed */
	u64 nested;		/* points within recoveries, and after them */
	u64 full;		/* operations that returned -ENOSPC */
	u64 splits;
	u64 unlinks;
	u64 largest;		/* images at one point */
	u64 sampled;		/* images chosen at random, of long batches */
};

/**
 * struct crash_setup - how to configure a store
 * @driver: its engine
 * @layout: of the engine
 * @leaf_bytes: 128: five slots; 256: thirteen
 * @slots: records in a leaf at most; 0: as many as fit
 * @keys: number of keys; 0: CRASH_KEYS_DEFAULT
 * @blobs: of blobs: a value chooses the blob of its key (tests/blob_value.h). Without @modify, and without
 *	batches in the run
 * @names: as @blobs, which is set as well; keys are names
 * @commits: of commits: each batch is a commit. Without @modify
 * @snaps: a snapshot is open after each attach; maintenance closes it, or opens another one
 * @modify: some inserts are compare-and-swaps and adds
 * @changes: cut the operations that change the structure, and few others
 * @inserts: on keys all over the store before the first step; they are not cut
 * @deletes: after the inserts, without any maintenance
 * @tuning: options of each attach, of the engine `crab`
 * @nv: those of the engine `nvtree`
 */
struct crash_setup {
	const struct host_driver *driver;
	const char *layout;
	u32 leaf_bytes;
	u32 slots;
	u32 keys;
	bool blobs;
	bool names;
	bool commits;
	bool snaps;
	bool modify;
	bool changes;
	u32 inserts;
	u32 deletes;
	union {
		struct crab_tuning tuning;
		struct nv_tuning nv;
		struct ff_tuning ff;
	};
};

/**
 * struct crash - one run
 * @setup: its store
 * @media: its region
 * @shadow: of the region
 * @store: attached, or NULL
 * @snap: a snapshot of @store, or of one that was detached; or NULL
 * @oracle: knows @keys; its faults go to @said
 * @content: the content that the store must hold now
 * @keys: the keys, ascending
 * @seed: of all choices
 * @every_store: crash points at each store, too. The images before a fence contain those of every
 *	point since the fence before, so this finds no more faults and takes longer.
 * @format_every: operations from one FORMAT to the next
 * @often: an operation that is chosen more often
 * @often_every: operations from one to the next; 0: it is not
 * @batches: operations of a batch at most; 0: there are no batches
 * @batch: the last batch
 * @step: number of operations so far
 * @op: the current operation
 * @counts: so far
 * @gave_up: the run had more images than the limit: @said is no fault
 * @said: the first fault in words; empty: none
 */
struct crash {
	struct crash_setup setup;
	struct crab_media media;
	struct crab_shadow *shadow;
	struct crab_store *store;
	struct crab_snap *snap;
	struct crab_oracle oracle;
	struct crash_content content;
	u64 keys[CRASH_KEYS];
	u64 seed;
	bool every_store;
	u32 format_every;
	enum crash_verb often;
	u32 often_every;
	u32 batches;
	struct crash_batch batch;
	u32 step;
	struct crash_op op;
	struct crash_counts counts;
	bool gave_up;
	char said[CRASH_SAID];
};

/**
 * crash_begin() - begin a run with a formatted and attached store
 * @crash: the run
 * @setup: its store
 * @leaves: of the pool
 * @seed: of all choices
 *
 * Return: false with @crash->said; crash_end() in either case.
 */
bool crash_begin(struct crash *crash, const struct crash_setup *setup, u32 leaves, u64 seed);

/**
 * crash_end() - end a run, and free its store and region
 * @crash: the run
 */
void crash_end(struct crash *crash);

/**
 * crash_run() - perform random operations
 * @crash: the run
 * @steps: the number of operations at which it ends
 * @depth: power cuts in a row: 1 the operation, 2 its recoveries too
 *
 * Return: false if one found a fault.
 */
bool crash_run(struct crash *crash, u32 steps, u32 depth);

/**
 * crash_holds() - does the store hold its content, in every way in which it can be read?
 * @crash: the run
 *
 * Return: true if it does.
 */
bool crash_holds(struct crash *crash);

#endif /* CRAB_HOST_CRASH_H */
