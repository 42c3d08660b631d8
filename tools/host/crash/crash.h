/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the crash test: a small store whose every operation is cut
 * at every store and every fence, with every image that recovery can tell from
 * others recovered by the real attach and judged.
 */
#ifndef CRAB_HOST_CRASH_H
#define CRAB_HOST_CRASH_H

#include <linux/minmax.h>

#include "shadow/shadow.h"
#include "store/store.h"

#define CRASH_KEYS		1024	/* at most */
#define CRASH_KEYS_DEFAULT	32
#define CRASH_TIDE		1024	/* operations until a store that grew shrinks, at most */
#define CRASH_POINTS		4096	/* in one operation */
#define CRASH_SAID		512
#define CRASH_BATCH_MOST	16	/* operations of a batch */
#define CRASH_TOGETHER		4	/* of so many every image is tried; of more, some */

enum crash_verb {
	CRASH_INSERT,		/* or update */
	CRASH_SPECIAL,		/* insert or update of a value of host_driver.special */
	CRASH_DELETE,
	CRASH_MAINTAIN,
	CRASH_REATTACH,		/* detach and attach */
	CRASH_CUT,		/* lose power for good, at a moment of an operation or an attach */
	CRASH_SURVIVE,		/* stop there, and attach what the caches hold */
	CRASH_FORMAT,
	CRASH_BATCH,		/* some inserts, updates, deletes and searches in one call */
	CRASH_VERBS
};

struct host_driver;

struct crash_op {
	enum crash_verb verb;
	u32 key;		/* index */
	u64 value;		/* of a batch: what it is made of */
};

/* One batch; each operation has a key by index, too */
struct crash_batch {
	u32 n;
	u32 key[CRASH_BATCH_MOST];
	struct crab_batch_op ops[CRASH_BATCH_MOST];
};

struct crash_content {
	bool there[CRASH_KEYS];
	u64 value[CRASH_KEYS];
};

struct crash_counts {
	u64 ops[CRASH_VERBS];
	u64 points;
	u64 images;
	u64 fences[CRAB_POINTS];
	u64 recoveries;		/* attaches of a crash image */
	u64 repairs;		/* slots that they completed */
	u64 nested;		/* points within recoveries, and after them */
	u64 full;		/* operations that met -ENOSPC */
	u64 splits;
	u64 unlinks;
	u64 largest;		/* images at one point */
	u64 sampled;		/* images chosen at random: of batches of too many */
};

/**
 * struct crash_setup - how to configure a store
 * @driver: its engine
 * @layout: of the engine
 * @leaf_bytes: 128: five slots; 256: thirteen
 * @slots: records in a leaf at most; 0: as many as fit
 * @keys: how many there are; 0: CRASH_KEYS_DEFAULT
 * @changes: cut the operations that change the structure, and few others
 * @inserts: on keys all over the store before the first step; they are not cut
 * @deletes: after them, and no work off the write path meanwhile
 * @tuning: how it is attached
 */
struct crash_setup {
	const struct host_driver *driver;
	const char *layout;
	u32 leaf_bytes;
	u32 slots;
	u32 keys;
	bool changes;
	u32 inserts;
	u32 deletes;
	struct crab_tuning tuning;
};

/**
 * struct crash - one run
 * @setup: of what
 * @content: what the store must hold now
 * @every_store: cut at every store too. The images before a fence contain those
 *	of every moment since the last one, so this finds no more and takes longer.
 * @format_every: operations from one FORMAT to the next
 * @often: what is done more often than it would be
 * @often_every: operations from one to the next; 0: it is not
 * @batches: operations of a batch at most; 0: there is none
 * @batch: the last one
 * @step: operations so far
 * @op: the one that runs
 * @points: where the moments of the running code are collected, or NULL
 * @gave_up: there was more to try than may be: what was found is that, and no fault
 * @said: what was found first, in words; empty: nothing
 */
struct crash {
	struct crash_setup setup;
	struct crab_media media;
	struct crab_shadow *shadow;
	struct crab_store *store;
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
	struct crash_points *points;
	bool gave_up;
	char said[CRASH_SAID];
};

/** crash_begin() - a formatted and attached store of @leaves leaves under the shadow */
bool crash_begin(struct crash *crash, const struct crash_setup *setup, u32 leaves, u64 seed);
void crash_end(struct crash *crash);

/** crash_next() - a random operation */
struct crash_op crash_next(struct crash *crash);

/**
 * crash_step() - do one operation and cut it everywhere
 * @crash: the run
 * @op: the operation
 * @depth: cuts in a row: 1 the operation, 2 its recoveries too
 *
 * Return: false if that found anything.
 */
bool crash_step(struct crash *crash, const struct crash_op *op, u32 depth);

/** crash_run() - random operations until @steps; false if one found anything */
bool crash_run(struct crash *crash, u32 steps, u32 depth);

/** crash_grows() - more inserts than deletes; then fewer, and so on */
static inline bool crash_grows(const struct crash *crash)
{
	return crash->step / min_t(u32, crash->setup.keys, CRASH_TIDE) % 2 == 0;
}

/** crash_special() - a value that is special to the leaf of some key, or 0 */
u64 crash_special(struct crash *crash, u64 r);

/** crash_batch_make() - the batch of crash.op: on some neighbours of its key, or on few of all */
void crash_batch_make(struct crash *crash);

/** crash_batch_judge() - what is wrong with operation @i, or NULL; @content: what it leaves */
const char *crash_batch_judge(const struct crash_batch *batch, u32 i,
			      struct crash_content *content);

/** crash_batch_leads() - does it lead each key, by itself, from @before through what is @found? */
bool crash_batch_leads(const struct crash_batch *batch, u32 keys,
		       const struct crash_content *before, const struct crash_content *found);

/** crash_say() - note what was found first, with the step and its operation; returns -1 */
__printf(2, 3)
int crash_say(struct crash *c, const char *fmt, ...);

/* oracle.c */

/** crash_content_read() - scan a store; 0, or -1 where the scan is not as it must be */
int crash_content_read(struct crash *c, struct crab_store *store, struct crash_content *content);

bool crash_content_equal(const struct crash *c, const struct crash_content *a,
			 const struct crash_content *b);

/** crash_store_judge() - do all other reads say what a scan said? 0 or -1 */
int crash_store_judge(struct crash *c, struct crab_store *store,
		      const struct crash_content *content);

/** crash_holds() - the oracle alone: does the store hold what it must? */
bool crash_holds(struct crash *crash);

#endif /* CRAB_HOST_CRASH_H */
