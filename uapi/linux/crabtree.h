/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The user interface of crabtree: an ordered index of 64-bit keys to 64-bit values in persistent
 * memory, one store per /dev/crabN.
 *
 * Rules of every structure here (Documentation/userspace-api/crabtree.rst):
 * - fixed widths, no implicit padding, the same layout for 32-bit programs;
 * - the first word is the size of the structure as the program was compiled, the second its flags;
 *   a larger structure than the kernel knows is accepted if the part that the kernel does not know
 *   is zero (else -E2BIG), a smaller one if it has the fields of the first version (else -EINVAL);
 * - unknown flags and reserved fields that are not zero are refused: -EINVAL;
 * - the changes of a call that returned 0 are durable.
 */
#ifndef _UAPI_LINUX_CRABTREE_H
#define _UAPI_LINUX_CRABTREE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include <linux/crabtree_blob.h>
#include <linux/crabtree_observe.h>

/* The one key that cannot be stored: it marks a free slot on the media. */
#define CRABTREE_KEY_RESERVED	(~(__u64)0)

#define CRABTREE_NAME_LEN	16	/* engine and layout names, NUL-terminated */
#define CRABTREE_LABEL_LEN	32	/* label, NUL-terminated */
#define CRABTREE_UUID_LEN	16

/* State of a device, crabtree_info.state */
enum crabtree_state {
	CRABTREE_STATE_UNFORMATTED	= 0,	/* no signature: FORMAT it */
	CRABTREE_STATE_READY		= 1,	/* served, writable */
	CRABTREE_STATE_READONLY		= 2,	/* served; writes get -EROFS */
	CRABTREE_STATE_REJECTED		= 3,	/* not a store to serve: see reason */
	CRABTREE_STATE_GONE		= 4,	/* the region was taken away */
};

/* Class of durability that a returned write has, crabtree_info.durability */
enum crabtree_durability {
	CRABTREE_DURABILITY_NONE	= 0,	/* volatile memory, or an engine without cleans */
	CRABTREE_DURABILITY_UNPROVEN	= 1,	/* read-only, and not cleanly detached before */
	CRABTREE_DURABILITY_POC		= 2,	/* cleaned to the point of coherency */
	CRABTREE_DURABILITY_POP		= 3,	/* cleaned to the point of persistence */
	CRABTREE_DURABILITY_PODP	= 4,	/* cleaned to the point of deep persistence */
	CRABTREE_DURABILITY_CACHE	= 5,	/* caches are persistent: fences only */
};

/* Media model that the layout needs, crabtree_info.model */
enum crabtree_model {
	CRABTREE_MODEL_NONE	= 0,
	CRABTREE_MODEL_WORD	= 1,	/* W: any subset of words not yet fenced */
	CRABTREE_MODEL_LINE	= 2,	/* L: stores to one line persist in order */
	CRABTREE_MODEL_CACHE	= 3,	/* E: caches persist, all stores of a CPU in order */
	CRABTREE_MODEL_WHOLE_LINE = 4,	/* A: L, and a line stored by one instruction is whole */
};

/* Whether the region leaves only states of the model after a power cut, crabtree_info.keeps */
enum crabtree_keeps {
	CRABTREE_KEEPS_UNKNOWN	= 0,	/* no store, or an older module */
	CRABTREE_KEEPS_YES	= 1,	/* by the architecture, or nothing survives at all */
	CRABTREE_KEEPS_UNPROVEN	= 2,	/* the architecture does not promise it */
};

#define CRABTREE_COUNTERS	8	/* counters of an engine in crabtree_info */
#define CRABTREE_OPTIONS_LEN	192	/* options of an engine as text, NUL-terminated */

/**
 * struct crabtree_counter - a counter that the engine names
 * @name: its name, NUL-terminated; empty: no more counters
 * @value: since attach
 */
struct crabtree_counter {
	char  name[CRABTREE_NAME_LEN];
	__u64 value;
};

/**
 * struct crabtree_info - INFO: state and statistics of a device and its store
 * @size: sizeof(struct crabtree_info)
 * @flags: 0
 * @state: enum crabtree_state
 * @durability: enum crabtree_durability
 * @model: enum crabtree_model
 * @version: version of the media format
 * @uuid: identity of the store
 * @label: its label
 * @engine: name of the engine
 * @layout: name of the leaf layout
 * @region: name of the region as its provider calls it
 * @reason: cause of the state; empty when ready
 * @region_bytes: size of the region
 * @leaf_bytes: size of a leaf
 * @leaves: leaves in the region
 * @leaves_used: leaves that hold records
 * @leaves_bad: quarantined leaves: keys in their range get -EUCLEAN; and free leaves that are
 *	not used because their memory cannot be read
 * @records: live records
 * @capacity: records that the leaves could hold
 * @feature_compat: feature word
 * @feature_ro_compat: feature word
 * @feature_incompat: feature word: CRABTREE_INCOMPAT_*
 * @dram_bytes: memory held for descriptors and index
 * @attach_ns: duration of the last attach, in nanoseconds
 * @lines: cache lines cleaned by operations since attach
 * @fences: fences by operations since attach
 * @prepare_lines: cache lines cleaned off the write path since attach
 * @prepare_fences: fences off the write path since attach
 * @inserts: successful inserts of new keys since attach
 * @updates: successful replacements since attach
 * @deletes: successful deletes since attach
 * @searches: searches since attach
 * @splits: leaves split since attach
 * @unlinks: leaves unlinked since attach: emptied, or merged with a neighbour
 * @repairs: slots that the last attach repaired after a power cut
 * @orders: stores kept in order by operations since attach
 * @lines_bound: cache lines that one operation cleans at most; 0: the engine cleans none
 * @counters: counters of the engine itself
 * @options: options of the engine that the store was attached with, as
 *	"name=value name=value"; empty if the layout has nothing to choose
 * @keeps: enum crabtree_keeps: whether the region keeps @model
 * @reserved: 0
 */
struct crabtree_info {
	__u32 size;
	__u32 flags;
	__u32 state;
	__u32 durability;
	__u32 model;
	__u32 version;
	__u8  uuid[CRABTREE_UUID_LEN];
	char  label[CRABTREE_LABEL_LEN];
	char  engine[CRABTREE_NAME_LEN];
	char  layout[CRABTREE_NAME_LEN];
	char  region[64];
	char  reason[128];
	__u64 region_bytes;
	__u64 leaf_bytes;
	__u64 leaves;
	__u64 leaves_used;
	__u64 leaves_bad;
	__u64 records;
	__u64 capacity;
	__u64 feature_compat;
	__u64 feature_ro_compat;
	__u64 feature_incompat;
	__u64 dram_bytes;
	__u64 attach_ns;
	__u64 lines;
	__u64 fences;
	__u64 prepare_lines;
	__u64 prepare_fences;
	__u64 inserts;
	__u64 updates;
	__u64 deletes;
	__u64 searches;
	__u64 splits;
	__u64 unlinks;
	__u64 repairs;
	__u64 orders;
	__u64 lines_bound;
	struct crabtree_counter counters[CRABTREE_COUNTERS];
	char  options[CRABTREE_OPTIONS_LEN];
	__u32 keeps;
	__u32 reserved;
};

/* INSERT: only create or only replace; with both flags or neither, INSERT may do either */
#define CRABTREE_INSERT_CREATE	(1U << 0)	/* -EEXIST if the key is there */
#define CRABTREE_INSERT_REPLACE	(1U << 1)	/* -ENOENT if the key is not there */
/* Compare-and-swap: -ESTALE if the value is not @old_value; not with CREATE: a replace */
#define CRABTREE_INSERT_SWAP	(1U << 2)
/* Store the sum of the value and @value, modulo 2^64, or @value: not with CREATE alone */
#define CRABTREE_INSERT_ADD	(1U << 3)

/**
 * struct crabtree_insert - INSERT: store a value under a key
 * @size: sizeof(struct crabtree_insert)
 * @flags: CRABTREE_INSERT_*
 * @key: any key but CRABTREE_KEY_RESERVED
 * @value: any value; with CRABTREE_INSERT_ADD the addend
 * @old_value: in, with CRABTREE_INSERT_SWAP: the value that is replaced. Out: the value before, if
 *	@existed; also on -EEXIST and -ESTALE
 * @existed: out: 1 if the key was there
 * @reserved: 0
 */
struct crabtree_insert {
	__u32 size;
	__u32 flags;
	__u64 key;
	__u64 value;
	__u64 old_value;
	__u32 existed;
	__u32 reserved;
};

/* SEARCH: an exact key by default */
#define CRABTREE_SEARCH_GE	(1U << 0)	/* the lowest key >= @key */
#define CRABTREE_SEARCH_LE	(1U << 1)	/* the highest key <= @key */

/**
 * struct crabtree_search - SEARCH: find a record; -ENOENT if there is none
 * @size: sizeof(struct crabtree_search)
 * @flags: CRABTREE_SEARCH_GE or CRABTREE_SEARCH_LE or 0
 * @key: in: the key; out: the key found
 * @value: out: its value
 */
struct crabtree_search {
	__u32 size;
	__u32 flags;
	__u64 key;
	__u64 value;
};

/**
 * struct crabtree_delete - DELETE: remove a record; -ENOENT if there is none
 * @size: sizeof(struct crabtree_delete)
 * @flags: 0
 * @key: the key
 * @old_value: out: the value that it had
 */
struct crabtree_delete {
	__u32 size;
	__u32 flags;
	__u64 key;
	__u64 old_value;
};

/**
 * struct crabtree_delete_range - DELETE_RANGE: remove all records of a range
 * @size: sizeof(struct crabtree_delete_range)
 * @flags: 0
 * @start: the lowest key
 * @end: the highest key
 * @deleted: out: number of records removed, also with an error
 * @next: out: if @more, the @start that continues the call
 * @more: out: 1 if the range was not finished: after an error
 * @reserved: 0
 *
 * Not atomic: each delete is. After a power cut during the call, any of the records may be there.
 * The removal of those that @deleted counts is durable when the call returns. A record that is
 * stored during the call may be removed or not. A fatal signal ends the call with -EINTR.
 */
struct crabtree_delete_range {
	__u32 size;
	__u32 flags;
	__u64 start;
	__u64 end;
	__u64 deleted;
	__u64 next;
	__u32 more;
	__u32 reserved;
};

struct crabtree_record {
	__u64 key;
	__u64 value;
};

/* SCAN: in descending order, from @end to @start */
#define CRABTREE_SCAN_REVERSE	(1U << 0)

/**
 * struct crabtree_scan - SCAN: records in the order of their keys, or in the reverse order
 * @size: sizeof(struct crabtree_scan)
 * @flags: CRABTREE_SCAN_REVERSE or 0
 * @start: the lowest key wanted
 * @end: the highest key wanted
 * @records: address of an array of struct crabtree_record
 * @capacity: number of records that fit
 * @count: out: number of records written
 * @more: out: 1 if there may be more
 * @reserved: 0
 * @next: out: if @more, the @start that continues the scan; with CRABTREE_SCAN_REVERSE the @end
 *
 * -EUCLEAN: @start is in a quarantined range; if @more, @next is the first key
 * after it. Records before such a range are returned first, without an error. With
 * CRABTREE_SCAN_REVERSE, @end is in such a range, and @next is the first key below it.
 *
 * Each record existed at some time during the call; a scan is not a snapshot.
 * Keys ascend strictly, across calls as well; with CRABTREE_SCAN_REVERSE they descend.
 */
struct crabtree_scan {
	__u32 size;
	__u32 flags;
	__u64 start;
	__u64 end;
	__u64 records;
	__u32 capacity;
	__u32 count;
	__u32 more;
	__u32 reserved;
	__u64 next;
};

enum crabtree_batch_verb {
	CRABTREE_BATCH_INSERT	= 1,
	CRABTREE_BATCH_SEARCH	= 2,
	CRABTREE_BATCH_DELETE	= 3,
};

/* Conditions of COMMIT, and of SEARCH and DELETE in an atomic batch; INSERT has its own flags */
#define CRABTREE_IF_ABSENT	CRABTREE_INSERT_CREATE	/* -EEXIST if the key is there */
#define CRABTREE_IF_EXISTS	CRABTREE_INSERT_REPLACE	/* -ENOENT if the key is not there */
#define CRABTREE_IF_VALUE	CRABTREE_INSERT_SWAP	/* -ESTALE if the value is not @old_value */

/**
 * struct crabtree_batch_op - one operation of a batch
 * @verb: enum crabtree_batch_verb
 * @flags: INSERT: its flags; SEARCH and DELETE: 0, or a condition
 * @key: the key
 * @value: INSERT: the value or addend; SEARCH: out: the value
 * @old_value: in and out: as of INSERT and DELETE; in: CRABTREE_IF_VALUE
 * @status: out: 0 or a negative errno; -ECANCELED if it was not tried
 * @existed: out: INSERT: 1 if the key was there
 */
struct crabtree_batch_op {
	__u32 verb;
	__u32 flags;
	__u64 key;
	__u64 value;
	__u64 old_value;
	__s32 status;
	__u32 existed;
};

#define CRABTREE_BATCH_ATOMIC	(1U << 0)	/* all operations or none, in a store of commits */

/**
 * struct crabtree_batch - BATCH: many operations in one call
 * @size: sizeof(struct crabtree_batch)
 * @flags: CRABTREE_BATCH_ATOMIC or 0
 * @ops: address of an array of struct crabtree_batch_op
 * @count: number of operations, at most CRABTREE_BATCH_MAX; atomic: 1 to CRABTREE_COMMIT_MAX
 * @done: out: number of operations tried; after a signal fewer than @count. Atomic, after an
 *	error: number of the operation that it is about, from 0; or @count
 *
 * Without ATOMIC, operations on one key keep their order, and those with status 0 are durable on
 * return. With it, each is on another key: if the call returns 0, all conditions held and all
 * writes are durable; if it returns an error other than -EFAULT, none was done. No power cut leaves
 * a part of it, and no reader sees a part. SEARCH and DELETE of a missing key are no error: the
 * status is -ENOENT, and the rest is done. -ENOSPC unless 2 leaves a write, + 4, are free.
 */
struct crabtree_batch {
	__u32 size;
	__u32 flags;
	__u64 ops;
	__u32 count;
	__u32 done;
};

#define CRABTREE_BATCH_MAX	4096U
#define CRABTREE_COMMIT_MAX	64U	/* operations of an atomic batch, or of a COMMIT */

/**
 * struct crabtree_check - CHECK: verify every invariant of the store
 * @size: sizeof(struct crabtree_check)
 * @flags: 0
 * @leaves: out: leaves read
 * @records: out: live records found
 * @errors: out: broken invariants; 0 means sound
 * @first_offset: out: if @errors, offset in the region of the first
 * @first: out: if @errors, description of the first
 */
struct crabtree_check {
	__u32 size;
	__u32 flags;
	__u64 leaves;
	__u64 records;
	__u64 errors;
	__u64 first_offset;
	char  first[96];
};

#define CRABTREE_FORMAT_FORCE	(1U << 0)	/* over a live or a foreign signature */
#define CRABTREE_FORMAT_BLOBS	(1U << 1)	/* a store of blobs: PUT, GET, ERASE, LIST */
#define CRABTREE_FORMAT_COMMITS	(1U << 2)	/* of commits: CRABTREE_BATCH_ATOMIC, or COMMIT */
#define CRABTREE_FORMAT_NAMES	(1U << 3)	/* a store of names: values with names as keys */
#define CRABTREE_FORMAT_UNFINISHED (1U << 4)	/* it is no store before FORMAT with FINISH */
#define CRABTREE_FORMAT_FINISH	(1U << 5)	/* finish it; nothing else is set */
#define CRABTREE_INCOMPAT_BLOBS	(1U << 0)	/* of crabtree_info: it is a store of blobs */
#define CRABTREE_INCOMPAT_COMMITS (1U << 1)	/* of crabtree_info: it is a store of commits */
#define CRABTREE_INCOMPAT_NAMES	(1U << 2)	/* of crabtree_info, with BLOBS: a store of names */

/**
 * struct crabtree_format - FORMAT: make an empty store; CAP_SYS_ADMIN
 * @size: sizeof(struct crabtree_format)
 * @flags: CRABTREE_FORMAT_*
 * @leaf_bytes: power of two, 64 to 8192, as the layout has it; 0: its default
 * @reserved: 0
 * @engine: name; empty: "crab"
 * @layout: name; empty: the default layout of the engine
 * @label: NUL-terminated
 * @uuid: identity; all zero: a random one
 *
 * -EEXIST if the region holds a store or a foreign signature and
 * CRABTREE_FORMAT_FORCE is not set; -EBUSY while others hold the device open.
 *
 * UNFINISHED: only this descriptor can use the store. It can be filled, and its changes are on the
 * media, but a power cut, or the end of the descriptor, leaves no store: the region is unformatted,
 * and was overwritten. FINISH makes it a store, durable on return; -ENODATA if there is none that
 * is unfinished.
 */
struct crabtree_format {
	__u32 size;
	__u32 flags;
	__u32 leaf_bytes;
	__u32 reserved;
	char  engine[CRABTREE_NAME_LEN];
	char  layout[CRABTREE_NAME_LEN];
	char  label[CRABTREE_LABEL_LEN];
	__u8  uuid[CRABTREE_UUID_LEN];
};

/* The kernel's table (ioctl-number.rst) assigns 00-1F of 0xCB to another driver */
#define CRABTREE_IOC_MAGIC	0xCB

#define CRABTREE_INFO	_IOWR(CRABTREE_IOC_MAGIC, 0x20, struct crabtree_info)
#define CRABTREE_INSERT	_IOWR(CRABTREE_IOC_MAGIC, 0x21, struct crabtree_insert)
#define CRABTREE_SEARCH	_IOWR(CRABTREE_IOC_MAGIC, 0x22, struct crabtree_search)
#define CRABTREE_DELETE	_IOWR(CRABTREE_IOC_MAGIC, 0x23, struct crabtree_delete)
#define CRABTREE_SCAN	_IOWR(CRABTREE_IOC_MAGIC, 0x24, struct crabtree_scan)
#define CRABTREE_BATCH	_IOWR(CRABTREE_IOC_MAGIC, 0x25, struct crabtree_batch)
#define CRABTREE_CHECK	_IOWR(CRABTREE_IOC_MAGIC, 0x26, struct crabtree_check)
#define CRABTREE_FORMAT	_IOWR(CRABTREE_IOC_MAGIC, 0x27, struct crabtree_format)
#define CRABTREE_DELETE_RANGE	_IOWR(CRABTREE_IOC_MAGIC, 0x28, struct crabtree_delete_range)
#define CRABTREE_SNAPSHOT	_IOWR(CRABTREE_IOC_MAGIC, 0x29, struct crabtree_snapshot)
#define CRABTREE_WATCH	_IOWR(CRABTREE_IOC_MAGIC, 0x2a, struct crabtree_watch)
#define CRABTREE_PUT	_IOWR(CRABTREE_IOC_MAGIC, 0x2b, struct crabtree_put)
#define CRABTREE_GET	_IOWR(CRABTREE_IOC_MAGIC, 0x2c, struct crabtree_get)
#define CRABTREE_ERASE	_IOWR(CRABTREE_IOC_MAGIC, 0x2d, struct crabtree_erase)
#define CRABTREE_LIST	_IOWR(CRABTREE_IOC_MAGIC, 0x2e, struct crabtree_list)
#define CRABTREE_NAMES	_IOWR(CRABTREE_IOC_MAGIC, 0x2f, struct crabtree_names)
#define CRABTREE_COMMIT	_IOWR(CRABTREE_IOC_MAGIC, 0x30, struct crabtree_commit)

#endif /* _UAPI_LINUX_CRABTREE_H */
