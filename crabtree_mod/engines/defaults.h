/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares operations that an engine may name in its table instead of its own, and
 * helpers for attach, check and long walks. A small engine needs few operations beyond these.
 *
 * No lock: a default calls other operations of the engine, which take theirs.
 */
#ifndef CRABTREE_DEFAULTS_H
#define CRABTREE_DEFAULTS_H

#include <linux/minmax.h>
#include <linux/sched.h>

#include "engine.h"

/* Slots and leaves that CHECK reads before structure modifications may run: some milliseconds */
#ifndef CRAB_CHECK_SLOTS		/* test builds: shadow/test_config.h */
#define CRAB_CHECK_SLOTS	8192U
#endif
#define CRAB_CHECK_LEAVES	512U

/**
 * crab_check_turn() - the leaves that a check reads before it admits structure modifications
 * @slots: slots of a leaf
 * Context: any.
 * Return: their number.
 */
static inline u32 crab_check_turn(u32 slots)
{
	return clamp(CRAB_CHECK_SLOTS / slots, 1U, CRAB_CHECK_LEAVES);
}

/**
 * crab_engine_breathe() - let other tasks run, between two leaves of a long walk
 * @engine: the engine
 * Context: may sleep; no leaf is locked.
 * Return: true if the walk is to end with -EINTR.
 */
static inline bool crab_engine_breathe(const struct crab_engine *engine)
{
	cond_resched();
	return crab_engine_is_stopped(engine);
}

/**
 * crab_engine_alloc() - memory for an engine that is being attached, with its head
 * @bytes: size of the engine's own structure, which begins with its struct crab_engine
 * @ops: as of crab_engine_init()
 * @media: as of crab_engine_init()
 * @geo: as of crab_engine_init()
 * @how: as of crab_engine_init()
 * Context: may sleep.
 * Return: the head, the rest is zero; or NULL. crab_engine_free() frees it.
 */
struct crab_engine *crab_engine_alloc(size_t bytes, const struct crab_engine_ops *ops,
				      struct crab_media *media, const struct crab_geometry *geo,
				      const struct crab_attach_how *how);

/**
 * crab_engine_free() - default of detach: free the memory of crab_engine_alloc()
 * @engine: the engine
 * Context: may sleep; no other call is running or will come.
 */
void crab_engine_free(struct crab_engine *engine);

/**
 * crab_engine_lookup() - default of lookup: a seek
 * @engine: the engine
 * @key: the key
 * @value: out: its value
 * Context: as the engine's seek.
 * Return: 0, -ENOENT, or the error of the seek.
 */
int crab_engine_lookup(struct crab_engine *engine, u64 key, u64 *value);

/**
 * crab_engine_scan() - default of scan: a seek for each record
 * @engine: the engine
 * @start: lowest key
 * @end: highest key
 * @records: out
 * @cap: room in @records
 * Context: as the engine's seek. Other writes may come between two of its seeks.
 * Return: number of records, or the error of the first seek.
 */
int crab_engine_scan(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records,
		     u32 cap);

/**
 * crab_engine_scan_back() - default of scan_back: a seek for each record
 * @engine: the engine
 * @start: lowest key
 * @end: highest key
 * @records: out
 * @cap: room in @records
 * Context: as crab_engine_scan().
 * Return: as crab_engine_scan().
 */
int crab_engine_scan_back(struct crab_engine *engine, u64 start, u64 end,
			  struct crab_record *records, u32 cap);

/**
 * crab_engine_remove() - default of remove: an insert with the mode CRAB_INSERT_NOTHING
 * @engine: the engine
 * @flow: flow of the write
 * @key: the key
 * @old: out: the record
 * Context: as the engine's insert.
 * Return: as the engine's insert.
 */
int crab_engine_remove(struct crab_engine *engine, struct crab_flow *flow, u64 key,
		       struct crab_old *old);

/**
 * crab_engine_beyond() - default of beyond: damage that attach found quarantines all keys
 * @engine: the engine; it quarantines no leaf by itself
 * @key: the key
 * @dir: any
 * Context: any.
 * Return: the reserved key if attach found damage; else @key.
 */
u64 crab_engine_beyond(struct crab_engine *engine, u64 key, enum crab_seek_dir dir);

/* The defaults of the operations that seek and insert can serve, for crab_engine_alloc() */
#define CRAB_ENGINE_DEFAULTS							\
	.detach = crab_engine_free,						\
	.lookup = crab_engine_lookup,						\
	.scan = crab_engine_scan,						\
	.beyond = crab_engine_beyond,						\
	.remove = crab_engine_remove

/**
 * crab_engine_records() - for a layout: records in a leaf that has only a header and records
 * @leaf_bytes: size of the leaf
 * Context: any.
 * Return: their number.
 */
u32 crab_engine_records(u32 leaf_bytes);

/**
 * crab_engine_admit() - for insert: whether its mode and the room allow it; counts it if so
 * @engine: the engine
 * @mode: the mode; CRAB_INSERT_NOTHING if the engine has crab_engine_remove()
 * @old: the record of the key, read with its lock held
 * @full: there is no room for a new key
 * @value: in: the value of the insert; out: the value to store
 * Context: any; before the first store.
 * Return: 0, -EEXIST, -ENOENT, -ESTALE or -ENOSPC.
 */
int crab_engine_admit(struct crab_engine *engine, enum crab_insert_mode mode,
		      const struct crab_old *old, bool full, u64 *value);

/**
 * crab_check_that() - for check: note damage unless a condition holds
 * @c: the structure of a check, whose @report is its &struct crab_check_report
 * @cond: the condition
 * @offset: where on the media
 * @fmt: description
 * Context: any.
 */
#define crab_check_that(c, cond, offset, fmt, ...)					\
	do {										\
		if (!(cond))								\
			crab_damage_note(&(c)->report->damage, offset, fmt, ##__VA_ARGS__);	\
	} while (0)

/**
 * crab_engine_expect() - for check: words of the media must have these values
 * @engine: the engine
 * @report: notes the place of each word that has another one
 * @at: the first word
 * @values: the values, of 8 bytes each in the CPU's byte order
 * @n: their number
 * Context: any.
 */
void crab_engine_expect(const struct crab_engine *engine, struct crab_check_report *report,
			const __le64 *at, const void *values, u32 n);

/**
 * crab_engine_check_pool() - for check: each leaf is in the tree or in the pool
 * @engine: the engine; it has a pool
 * @report: notes that leaves are lost
 * @leaves: leaves in the tree
 * Context: no structure change runs.
 */
void crab_engine_check_pool(const struct crab_engine *engine, struct crab_check_report *report,
			    u64 leaves);

/**
 * crab_engine_check_known() - for check: notes the damage that is known
 * @engine: the engine
 * @report: notes the first damage that attach or, without any, an operation has found
 * Context: any.
 * Return: false if neither has found any.
 */
bool crab_engine_check_known(const struct crab_engine *engine, struct crab_check_report *report);

/**
 * crab_engine_check_bad() - for check: notes why a leaf is quarantined
 * @engine: the engine
 * @report: as of crab_engine_check_known(); or else the leaf, whose memory failed since
 * @leaf: number of the leaf
 * Context: any.
 */
void crab_engine_check_bad(const struct crab_engine *engine, struct crab_check_report *report,
			   u64 leaf);

/**
 * crab_engine_check_counts() - for check: the sums over all leaves are those of the counts
 * @engine: the engine
 * @report: its numbers of leaves and records; notes that they differ
 * @before: counts before the first leaf was read
 * @leaves: leaves in the tree
 * @records: records that attach found
 *
 * If records came or went since @before, each leaf was correct, but the sum mixes several states:
 * then it is not compared.
 *
 * Context: no structure change has run since the first leaf was read.
 */
void crab_engine_check_counts(const struct crab_engine *engine, struct crab_check_report *report,
			      const struct crab_counts *before, u64 leaves, u64 records);

#endif /* CRABTREE_DEFAULTS_H */
