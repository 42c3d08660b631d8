/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the store: one formatted region, attached. It owns the
 * lifetime, the lock, the errors and the statistics; what is above it (device,
 * in-kernel users, tools on an image) calls nothing below it.
 *
 * Locking: inside; the verbs run beside each other. Every function may sleep.
 */
#ifndef CRABTREE_STORE_H
#define CRABTREE_STORE_H

#include "engines/counts.h"
#include "shared/super.h"

#define CRAB_BATCH_CHUNK	16U	/* operations of a batch between two looks at signals */

struct crab_store;

/**
 * struct crab_attach_options - how to attach
 * @readonly: write nothing to the media
 * @kick: called, in any context, when crab_store_maintain() has work, and when the store
 *	turned read-only; or NULL
 * @interrupted: asked again and again, between two leaves, by attach, crab_store_check() and
 *	crab_store_seek(): true ends them with -EINTR; or NULL
 * @arg: for @kick and @interrupted
 * @tuning: copied; NULL: crab_tuning_default
 */
struct crab_attach_options {
	bool readonly;
	void (*kick)(void *arg);
	bool (*interrupted)(void *arg);
	void *arg;
	const struct crab_tuning *tuning;
};

/**
 * struct crab_attach_report - what attach found
 * @verdict: of the superblock
 * @reason: why there is no store, or why it is read-only; else empty
 */
struct crab_attach_report {
	enum crab_verdict verdict;
	char reason[CRAB_REASON_LEN];
};

/**
 * struct crab_format_options - what to format
 * @force: over a live store or a foreign signature
 * @leaf_bytes: 0: default
 * @engine: name; "": default
 * @layout: name; "": the engine's default
 * @label: NUL-terminated, at most CRAB_LABEL_LEN - 1 bytes; no '/', no control characters
 * @uuid: all zero: random
 */
struct crab_format_options {
	bool force;
	u32 leaf_bytes;
	const char *engine;
	const char *layout;
	const char *label;
	u8 uuid[CRAB_UUID_LEN];
};

/**
 * struct crab_store_info - what a store is and has done
 * @super: its superblock
 * @engine: name of its engine
 * @layout: name of its layout
 * @needs: the media model of its layout
 * @keeps: whether the media keeps that model
 * @tuning: how it was attached
 * @durability: what a returned write relies on
 * @readonly: writes get -EROFS
 * @reason: why, or ""
 * @stats: of the engine
 * @counts: what was done since attach, on the write path and by readers
 * @attach_ns: how long attach took
 * @prepare_lines: lines cleaned off the write path
 * @prepare_fences: fences off the write path
 */
struct crab_store_info {
	struct crab_super super;
	const char *engine;
	const char *layout;
	enum crab_model needs;
	enum crab_keeps keeps;
	struct crab_tuning tuning;
	enum crab_durability durability;
	bool readonly;
	char reason[CRAB_REASON_LEN];
	struct crab_engine_stats stats;
	struct crab_counts counts;
	u64 attach_ns;
	u64 prepare_lines;
	u64 prepare_fences;
};

/**
 * crab_store_attach() - serve the store in a region
 * @media: the region; stays the caller's, who keeps it until detach
 * @options: how
 * @report: out: always filled
 *
 * Return: the store, or ERR_PTR: -ENODATA blank, -EMEDIUMTYPE foreign,
 * -EUCLEAN damaged superblocks, -EPROTONOSUPPORT newer format or unknown
 * feature, engine or layout, -EINVAL geometry that does not fit the region,
 * -EOPNOTSUPP for a writable attach of a layout whose media model the region does not keep,
 * -ENOMEM, -EINTR if @options->interrupted said so. A store with damage beyond the
 * superblocks is attached read-only.
 */
struct crab_store *crab_store_attach(struct crab_media *media,
				     const struct crab_attach_options *options,
				     struct crab_attach_report *report);

/**
 * crab_store_detach() - mark the store cleanly detached and free it
 * @store: the store, or NULL; no call on it is running or will come
 */
void crab_store_detach(struct crab_store *store);

/**
 * crab_store_abandon() - free the store without touching the media
 * @store: the store, or NULL
 *
 * For a region that is gone, and for tests that cut the power.
 */
void crab_store_abandon(struct crab_store *store);

/**
 * crab_store_format_check() - would FORMAT be refused? Writes nothing
 * @media: the region; may be attached
 * @options: what
 * @reason: out: as of crab_store_format()
 *
 * Return: 0, or the error that crab_store_format() would give.
 */
int crab_store_format_check(const struct crab_media *media,
			    const struct crab_format_options *options, char *reason);

/**
 * crab_store_format() - make an empty store in a region that is not attached
 * @media: the region
 * @options: what
 * @reason: out: CRAB_REASON_LEN bytes: why not, or ""
 *
 * Return: 0; -EEXIST for a live or foreign signature without force; -EINVAL for
 * an unknown engine or layout or a leaf size; -EOPNOTSUPP for a layout whose media model the
 * region does not keep; -ENOSPC for a region that is too
 * small; -EIO for uncorrectable memory where FORMAT writes; -ENOMEM if there is no memory to
 * attach the new store, before the first store to the media.
 */
int crab_store_format(struct crab_media *media, const struct crab_format_options *options,
		      char *reason);

/**
 * crab_store_search() - value of a key
 * @store: the store
 * @key: any
 * @value: out
 * Return: 0, -ENOENT, -EINVAL for the reserved key, -EUCLEAN in a quarantined range.
 */
int crab_store_search(struct crab_store *store, u64 key, u64 *value);

/**
 * crab_store_seek() - the nearest record
 * @store: the store
 * @key: where to begin
 * @dir: least >= @key or greatest <= @key
 * @record: out
 * Return: as crab_store_search(); -EINTR if crab_attach_options.interrupted said so.
 */
int crab_store_seek(struct crab_store *store, u64 key, enum crab_seek_dir dir,
		    struct crab_record *record);

/**
 * crab_store_insert() - store a value under a key, durable on return
 * @store: the store
 * @key: any but the reserved one
 * @value: any
 * @mode: what is allowed
 * @old: out: what was there, also on -EEXIST
 * Return: 0, -EEXIST, -ENOENT, -ENOSPC, -EROFS, -EINVAL, -EUCLEAN, -ENOMEM.
 */
int crab_store_insert(struct crab_store *store, u64 key, u64 value,
		      enum crab_insert_mode mode, struct crab_old *old);

/**
 * crab_store_delete() - remove a key, durable on return
 * @store: the store
 * @key: any but the reserved one
 * @old: out: what was there
 * Return: 0, -ENOENT, -EROFS, -EINVAL, -EUCLEAN.
 */
int crab_store_delete(struct crab_store *store, u64 key, struct crab_old *old);

/**
 * crab_store_batch() - several searches, inserts and deletes
 * @store: the store
 * @ops: what; one whose status is not 0 is left alone
 * @n: how many
 *
 * Those of one key are done in their order, those of different keys in any. Each write is
 * durable on return, but they share fences: a power cut before that finds each key in
 * any of the states that its operations here lead through.
 */
void crab_store_batch(struct crab_store *store, struct crab_batch_op *ops, u32 n);

/**
 * crab_store_check() - verify every invariant; writes nothing
 * @store: the store
 * @report: out
 * Context: holds splits and merges off while it reads some leaves, 8192 slots or less at a
 * time, and each leaf's writers while it reads that leaf. Where leaves are split or merged
 * meanwhile, the report counts them as they were read.
 * Return: 0, also where errors were found; -EINTR if crab_attach_options.interrupted
 * said so: the report is then of a part.
 */
int crab_store_check(struct crab_store *store, struct crab_check_report *report);

/**
 * crab_store_fail() - a part of the region cannot be read any more
 * @store: the store, which becomes read-only
 * @offset: of the part
 * @len: bytes
 *
 * The leaves there are quarantined. The log and crab_store_info() report it.
 */
void crab_store_fail(struct crab_store *store, u64 offset, u64 len);

/** crab_store_is_readonly() - do writes get -EROFS? Once true, always true */
bool crab_store_is_readonly(const struct crab_store *store);

/** crab_store_info() - fill @info */
void crab_store_info(struct crab_store *store, struct crab_store_info *info);

/**
 * crab_store_maintain() - a bounded piece of work off the write path
 * @store: the store
 * Context: one caller at a time; ended before detach.
 * Return: true if more waits.
 */
bool crab_store_maintain(struct crab_store *store);

/**
 * struct crab_cursor - a scan that can stop and go on (iter.c)
 * @next: the least key not yet given
 * @end: the greatest key wanted
 * @done: nothing is left
 */
struct crab_cursor {
	u64 next;
	u64 end;
	bool done;
};

/** crab_cursor_init() - begin a scan of [@start, @end] */
void crab_cursor_init(struct crab_cursor *cursor, u64 start, u64 end);

/**
 * crab_cursor_read() - the next records in the order of their keys
 * @store: the store
 * @cursor: the scan; holds nothing of the store, so it may outlive it
 * @records: out
 * @cap: how many fit, at most S32_MAX
 * Return: how many, 0 at the end, or -ENOMEM, or -EUCLEAN at a quarantined range,
 * where the cursor then stays.
 */
int crab_cursor_read(struct crab_store *store, struct crab_cursor *cursor,
		     struct crab_record *records, u32 cap);

/** crab_cursor_skip() - after -EUCLEAN: behind the quarantined range */
void crab_cursor_skip(struct crab_store *store, struct crab_cursor *cursor);

#endif /* CRABTREE_STORE_H */
