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
#include <linux/crabtree_store.h>

/* The one key that cannot be stored: it marks a free slot on the media. */
#define CRABTREE_KEY_RESERVED	(~(__u64)0)

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
 * CRABTREE_SCAN_REVERSE, @end is in such a range, and @next is the first key below it. -EUCLEAN,
 * too, if the keys do not ascend, because the memory was changed by others: no record in front of
 * @next, or without @more no further one, is returned.
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
 * @done: out: number of operations tried; fewer than @count only if the store was detached
 *	meanwhile. Atomic, after an error: number of the operation that it is about, from 0; or
 *	@count
 *
 * Without ATOMIC, operations on one key keep their order, and those with status 0 are durable on
 * return. With it, each is on another key: if the call returns 0, all conditions held and all
 * writes are durable; if it returns an error other than -EFAULT, none was done. No power cut leaves
 * a part of it, and no reader sees a part. SEARCH and DELETE of a missing key are no error: the
 * status is -ENOENT, and the rest is done. -ENOSPC unless 2 leaves a write, + 4, are free; fastfair
 * may need more (Documentation/design/protocols-commits.rst).
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
