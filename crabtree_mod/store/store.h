/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the store: one formatted region, attached. It owns the lifetime, the errors
 * and the statistics. The layers above it (device, kernel users, tools) call nothing below it.
 *
 * Layer L5: it includes engines/, shared/ and media/; device/ includes it.
 *
 * Locking: inside; the verbs run concurrently. Every function may sleep.
 */
#ifndef CRABTREE_STORE_H
#define CRABTREE_STORE_H

#include "engines/counts.h"
#include "shared/super.h"
#include "cursor.h"
#include "format.h"

#define CRAB_BATCH_CHUNK	16U	/* operations of a batch between two checks for signals */

struct crab_store;

/**
 * struct crab_attach_options - options of an attach
 * @readonly: write nothing to the media
 * @kick: called, in any context, when crab_store_maintain() has work, and when the store
 *	turned read-only; or NULL
 * @interrupted: called between two leaves by attach, crab_store_check(), crab_store_seek(), scans
 *	and writes that search a full store for room, or that others overtake again and again: true
 *	ends them with -EINTR; or NULL
 * @arg: argument of @kick and @interrupted
 * @tuning: the engine's structure of options, copied; NULL: its defaults
 * @snapshot_bytes: memory for snapshots, of all that are open; 0: 64 MiB
 * @unfinished: superblock of the store that crab_store_format() left unfinished in the region;
 *	NULL: the superblock is read
 */
struct crab_attach_options {
	bool readonly;
	void (*kick)(void *arg);
	bool (*interrupted)(void *arg);
	void *arg;
	const void *tuning;
	u64 snapshot_bytes;
	const struct crab_super *unfinished;
};

/**
 * struct crab_attach_report - result of an attach
 * @verdict: verdict of the superblock
 * @reason: why there is no store, or why it is read-only; else empty
 */
struct crab_attach_report {
	enum crab_verdict verdict;
	char reason[CRAB_REASON_LEN];
};

/**
 * struct crab_store_info - identity, state and statistics of a store
 * @super: its superblock
 * @engine: name of its engine
 * @layout: name of its layout
 * @needs: the media model of its layout
 * @keeps: whether the media keeps that model
 * @options: options of the engine in use, as "name=value name=value"; or empty
 * @durability: class of durability that a returned write has
 * @readonly: writes return -EROFS
 * @unfinished: no superblock on the media names it: a power cut or a detach leaves no store
 * @reason: why it is read-only or unfinished, or ""
 * @stats: statistics of the engine
 * @counts: work since attach, by writers and readers
 * @counters: names of @counts.own, ended by NULL; or NULL
 * @attach_ns: duration of the attach
 * @prepare_lines: lines cleaned off the write path
 * @prepare_fences: fences off the write path
 */
struct crab_store_info {
	struct crab_super super;
	const char *engine;
	const char *layout;
	enum crab_model needs;
	enum crab_keeps keeps;
	char options[CRAB_OPTIONS_TEXT];
	enum crab_durability durability;
	bool readonly;
	bool unfinished;
	char reason[CRAB_REASON_LEN];
	struct crab_engine_stats stats;
	struct crab_counts counts;
	const char * const *counters;
	u64 attach_ns;
	u64 prepare_lines;
	u64 prepare_fences;
};

/**
 * crab_store_attach() - attach the store in a region
 * @media: the region; the caller keeps it until detach
 * @options: options
 * @report: out: always filled
 *
 * Return: the store, or ERR_PTR: -ENODATA blank, -EMEDIUMTYPE foreign,
 * -EUCLEAN damaged superblocks, -EPROTONOSUPPORT newer format or unknown
 * feature, engine or layout, -EINVAL geometry that does not fit the region,
 * -EOPNOTSUPP for a writable attach of a layout whose media model the region does not keep,
 * -ENOMEM, -EINTR if @options->interrupted returned true. A store with damage beyond the
 * superblocks is attached read-only.
 */
struct crab_store *crab_store_attach(struct crab_media *media,
				     const struct crab_attach_options *options,
				     struct crab_attach_report *report);

/**
 * crab_store_detach() - mark the store cleanly detached, unless it is unfinished, and free it
 * @store: the store, or NULL
 * Context: may sleep; no call on the store is running or will come.
 */
void crab_store_detach(struct crab_store *store);

/**
 * crab_store_abandon() - free the store without writing to the media
 * @store: the store, or NULL; its region is gone, or a test cuts the power
 *
 * Context: may sleep; no call on the store is running or will come.
 */
void crab_store_abandon(struct crab_store *store);

/**
 * crab_store_search() - find the value of a key
 * @store: the store
 * @key: any
 * @value: out
 * Context: may sleep.
 * Return: 0, -ENOENT, -EINVAL for the reserved key, -EUCLEAN in a quarantined range.
 */
int crab_store_search(struct crab_store *store, u64 key, u64 *value);

/**
 * crab_store_seek() - find the nearest record
 * @store: the store
 * @key: where to begin
 * @dir: lowest >= @key or highest <= @key
 * @record: out
 * Context: may sleep.
 * Return: as crab_store_search(); -EINTR if crab_attach_options.interrupted returned true.
 */
int crab_store_seek(struct crab_store *store, u64 key, enum crab_seek_dir dir,
		    struct crab_record *record);

/**
 * crab_store_insert() - store a value under a key, durable on return
 * @store: the store
 * @key: any but the reserved one
 * @value: any
 * @mode: whether the key may or must exist, and whether @value is added to its value
 * @old: out: the record before, also on -EEXIST and -ESTALE. in, for CRAB_INSERT_SWAP: @expected
 *
 * The value read and the value written are one step for all other writers. A record in @old is
 * durable, also after an error: a power cut does not take it back.
 *
 * Context: may sleep.
 * Return: 0, -EEXIST, -ENOENT, -ESTALE, -ENOSPC, -EROFS, -EINVAL, -EUCLEAN, -ENOMEM; -EINTR if
 * crab_attach_options.interrupted returned true while a full store was searched for room, or
 * while other writes of the key overtook this one.
 */
int crab_store_insert(struct crab_store *store, u64 key, u64 value,
		      enum crab_insert_mode mode, struct crab_old *old);

/**
 * crab_store_delete() - remove a key, durable on return
 * @store: the store
 * @key: any but the reserved one
 * @old: out: the record before
 * Context: may sleep.
 * Return: 0, -ENOENT, -EROFS, -EINVAL, -EUCLEAN; -EINTR as crab_store_insert().
 */
int crab_store_delete(struct crab_store *store, u64 key, struct crab_old *old);

/**
 * crab_store_batch() - do several searches, inserts and deletes
 * @store: the store
 * @ops: the operations; those whose status is not 0 are skipped
 * @n: number of operations
 *
 * Operations on one key are done in their order, those on different keys in any order. Each
 * write is durable on return, but they share fences: a power cut before the return leaves each
 * key in any of the states that its operations lead through.
 *
 * Context: may sleep.
 */
void crab_store_batch(struct crab_store *store, struct crab_batch_op *ops, u32 n);

/**
 * crab_store_observe() - announce a watch or a snapshot
 * @store: the store
 *
 * Writes pass the gate (gate.h) from now on, except those that run: if there was no observer, the
 * caller waits until they have returned, before crab_watch_open() or crab_snap_open().
 *
 * Context: may sleep; one call at a time; the store is not detached meanwhile.
 * Return: 0, 1 if the caller has to wait, or -ENOMEM.
 */
int crab_store_observe(struct crab_store *store);

/**
 * crab_store_unobserve() - take back a crab_store_observe() that no open followed
 * @store: the store
 * Context: may sleep; the store is not detached meanwhile.
 */
void crab_store_unobserve(struct crab_store *store);

/**
 * crab_store_check() - verify every invariant; writes nothing
 * @store: the store
 * @report: out
 * Context: may sleep. Blocks splits and merges while it reads up to 8192 slots at a time, and the
 * writers of each leaf while it reads it. Leaves that change meanwhile count as they were read.
 * Return: 0, also if errors were found; -EINTR if crab_attach_options.interrupted returned true:
 * the report then covers a part.
 */
int crab_store_check(struct crab_store *store, struct crab_check_report *report);

/**
 * crab_store_fail() - handle a part of the region that cannot be read any more
 * @store: the store; it becomes read-only
 * @offset: of the part
 * @len: bytes
 *
 * Writes of values that have begun end before it returns, and the leaves there are quarantined. The
 * log and crab_store_info() report it.
 *
 * Context: may sleep.
 */
void crab_store_fail(struct crab_store *store, u64 offset, u64 len);

/**
 * crab_store_catch_up() - crab_store_fail() for all that failed since attach began to read
 * @store: the store
 *
 * Attach may have read memory before it was added to the list of bad memory, and crab_store_fail()
 * had no store then. The owner calls this function once the store is where a failure finds it.
 *
 * Context: may sleep; one call at a time.
 */
void crab_store_catch_up(struct crab_store *store);

/**
 * crab_store_is_readonly() - whether writes return -EROFS
 * @store: the store
 * Context: any.
 * Return: true if so; it stays true.
 */
bool crab_store_is_readonly(const struct crab_store *store);

/**
 * crab_store_info() - read identity, state and statistics
 * @store: the store
 * @info: out
 * Context: may sleep; takes crab_store.lock.
 */
void crab_store_info(struct crab_store *store, struct crab_store_info *info);

/**
 * crab_store_maintain() - do a bounded piece of work off the write path
 * @store: the store
 * Context: may sleep; one caller at a time; ends before detach.
 * Return: true if more work is due.
 */
bool crab_store_maintain(struct crab_store *store);

#endif /* CRABTREE_STORE_H */
