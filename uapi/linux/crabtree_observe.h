/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The part of the user interface of crabtree for snapshots and watches. Programs include
 * <linux/crabtree.h>, which includes this file and has its rules.
 */
#ifndef _UAPI_LINUX_CRABTREE_OBSERVE_H
#define _UAPI_LINUX_CRABTREE_OBSERVE_H

#include <linux/types.h>

#define CRABTREE_SNAPSHOTS_MAX	64U	/* open snapshots of a device */

/**
 * struct crabtree_snapshot - SNAPSHOT: read the store as of one point in time, while writers go on
 * @size: sizeof(struct crabtree_snapshot)
 * @flags: 0
 * @fd: out: a descriptor, closed on exec, for INFO, SEARCH and SCAN, or GET and LIST of a store of
 *	blobs, or GET and NAMES of a store of names; a close ends the snapshot
 * @reserved: 0
 *
 * The snapshot has every write that had returned, and none that begins later. The kernel keeps the
 * old values of keys that are written meanwhile, up to the parameter snapshot_bytes of the module
 * for all snapshots of a store; then the oldest snapshot ends: its calls return -ESTALE. Writers
 * never wait for a reader. INFO describes the store as it is now.
 *
 * Old values of any length (crabtree_blob.h) stay in the region: a PUT that finds no memory ends
 * the oldest snapshots. Names that were erased meanwhile take as much memory as snapshot_bytes, at
 * most. -EMFILE: the device has CRABTREE_SNAPSHOTS_MAX, or the program has too many descriptors.
 */
struct crabtree_snapshot {
	__u32 size;
	__u32 flags;
	__s32 fd;
	__u32 reserved;
};

#define CRABTREE_WATCH_ENTRIES_MAX	65536U
#define CRABTREE_WATCHES_MAX		64U	/* open watches of a device */

/**
 * struct crabtree_watch - WATCH: report the changes of a range of keys, or of names
 * @size: sizeof(struct crabtree_watch)
 * @flags: 0
 * @start: the lowest key; unused in a store of names
 * @end: the highest key; likewise
 * @entries: changes that wait for the reader, at most CRABTREE_WATCH_ENTRIES_MAX; 0: 1024
 * @fd: out: a descriptor, closed on exec, for read() and poll(); a close ends the watch
 * @prefix: store of names: address of a prefix; only names that begin with it are watched
 * @prefix_bytes: its length, at most CRABTREE_NAME_MAX; 0: all names
 * @reserved: 0
 *
 * read() returns whole struct crabtree_change, in a store of names struct crabtree_name_change, in
 * the order of the changes of each key; without one it waits, or returns -EAGAIN with O_NONBLOCK.
 * A reported change is durable: a power cut does not take it back. Once the store is detached, and
 * all changes were read, read() returns -ENODEV, and poll() reports POLLHUP. WATCH returns -EMFILE
 * if the device has CRABTREE_WATCHES_MAX, or the program too many descriptors.
 */
struct crabtree_watch {
	__u32 size;
	__u32 flags;
	__u64 start;
	__u64 end;
	__u32 entries;
	__s32 fd;
	__u64 prefix;
	__u32 prefix_bytes;
	__u32 reserved;
};

#define CRABTREE_CHANGE_EXISTED	(1U << 0)	/* the key existed before: @old is its value */
#define CRABTREE_CHANGE_LOST	(1U << 1)	/* no change: @value changes were dropped */

/**
 * struct crabtree_change - a change that a watch reports
 * @seq: its number among the changes of the watch, 1, 2, ...
 * @key: the key
 * @value: CRABTREE_BATCH_INSERT: the new value
 * @old: the value before, if the key existed
 * @verb: CRABTREE_BATCH_INSERT or CRABTREE_BATCH_DELETE
 * @flags: CRABTREE_CHANGE_*
 *
 * In a store of blobs @value and @old are versions; @old is 0 if the value before was damaged.
 *
 * With CRABTREE_CHANGE_LOST the reader was too slow: @value changes up to number @seq are missing,
 * and the other fields are 0. A reader that needs them all scans the range after it.
 */
struct crabtree_change {
	__u64 seq;
	__u64 key;
	__u64 value;
	__u64 old;
	__u32 verb;
	__u32 flags;
};

#define CRABTREE_NAME_CHANGE_MAX	280U	/* bytes of the longest change of a name */

/**
 * struct crabtree_name_change - a change that a watch of a store of names reports
 * @seq: as of struct crabtree_change
 * @value: CRABTREE_BATCH_INSERT: the new version
 * @old: the version before, if the name existed; 0 if the value before was damaged
 * @verb: as of struct crabtree_change
 * @flags: CRABTREE_CHANGE_*, with the same fields
 * @entry_bytes: of this change: the next one begins after so many bytes, a multiple of 8
 * @name_bytes: length of the name
 * @type: of the new value: enum crabtree_type
 * @name: the name, and at least one NUL
 *
 * A read() with room for fewer than CRABTREE_NAME_CHANGE_MAX bytes returns -EINVAL.
 */
struct crabtree_name_change {
	__u64 seq;
	__u64 value;
	__u64 old;
	__u32 verb;
	__u32 flags;
	__u16 entry_bytes;
	__u8  name_bytes;
	__u8  type;
	char  name[4];
};

#endif /* _UAPI_LINUX_CRABTREE_OBSERVE_H */
