/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The part of the user interface of crabtree for values of any length, under 64-bit keys or under
 * names. Programs include <linux/crabtree.h>, which includes this file and has its rules.
 */
#ifndef _UAPI_LINUX_CRABTREE_BLOB_H
#define _UAPI_LINUX_CRABTREE_BLOB_H

#include <linux/types.h>

#define CRABTREE_BLOB_MAX	65536U	/* bytes of a value; less in a small region: -EMSGSIZE */
#define CRABTREE_NAME_MAX	240U	/* bytes of a name: any bytes */

/*
 * Type of a value with a name. A PUT whose length is not that of the type returns -EINVAL. Numbers
 * are little-endian. TEXT is UTF-8 by convention: the kernel does not look at it.
 */
enum crabtree_type {
	CRABTREE_TYPE_BYTES	= 0,	/* any length */
	CRABTREE_TYPE_TEXT	= 1,	/* any length, without a NUL at the end */
	CRABTREE_TYPE_BOOL	= 2,	/* one byte, 0 or 1 */
	CRABTREE_TYPE_U8	= 3,
	CRABTREE_TYPE_U16	= 4,
	CRABTREE_TYPE_U32	= 5,
	CRABTREE_TYPE_U64	= 6,
	CRABTREE_TYPE_I64	= 7,
	CRABTREE_TYPE_F64	= 8,	/* IEEE 754 */
};

/* PUT: only create or only replace, as of INSERT */
#define CRABTREE_PUT_CREATE	(1U << 0)	/* -EEXIST if the key is there */
#define CRABTREE_PUT_REPLACE	(1U << 1)	/* -ENOENT if the key is not there */
/* PUT, ERASE, COMMIT: -ESTALE if the version is not @version, -ENOENT if the key is not there */
#define CRABTREE_IF_VERSION	(1U << 2)

/**
 * struct crabtree_put - PUT: store a value of any length under a key or a name
 * @size: sizeof(struct crabtree_put)
 * @flags: CRABTREE_PUT_*, CRABTREE_IF_VERSION
 * @key: store of blobs: any key but CRABTREE_KEY_RESERVED; store of names: address of the name
 * @value: address of the value
 * @bytes: its length
 * @existed: out: 1 if the key was there
 * @version: in, with CRABTREE_IF_VERSION: the version that is replaced. Out: the new version; no
 *	other value of the store has it, now or later
 * @name_bytes: store of names: length of the name, 1 to CRABTREE_NAME_MAX; else 0
 * @type: store of names: enum crabtree_type; else 0
 *
 * A replacement needs as much free memory as a new value: -ENOSPC.
 */
struct crabtree_put {
	__u32 size;
	__u32 flags;
	__u64 key;
	__u64 value;
	__u32 bytes;
	__u32 existed;
	__u64 version;
	__u32 name_bytes;
	__u32 type;
};

/**
 * struct crabtree_get - GET: read the value of a key or a name
 * @size: sizeof(struct crabtree_get)
 * @flags: 0
 * @key: the key; store of names: address of the name
 * @value: address of room for the value
 * @capacity: bytes of room
 * @bytes: out: length of the value
 * @version: out: its version
 * @name_bytes: store of names: length of the name; else 0
 * @type: out: enum crabtree_type
 *
 * -EMSGSIZE if the value is longer than the room: the answers are set, and nothing is
 * copied. -EUCLEAN if its checksum is wrong.
 */
struct crabtree_get {
	__u32 size;
	__u32 flags;
	__u64 key;
	__u64 value;
	__u32 capacity;
	__u32 bytes;
	__u64 version;
	__u32 name_bytes;
	__u32 type;
};

/**
 * struct crabtree_erase - ERASE: remove a key or a name, and its value
 * @size: sizeof(struct crabtree_erase)
 * @flags: CRABTREE_IF_VERSION or 0
 * @key: the key; store of names: address of the name
 * @version: with CRABTREE_IF_VERSION: the version that is removed
 * @name_bytes: store of names: length of the name; else 0
 * @reserved: 0
 */
struct crabtree_erase {
	__u32 size;
	__u32 flags;
	__u64 key;
	__u64 version;
	__u32 name_bytes;
	__u32 reserved;
};

/**
 * struct crabtree_entry - one key of a list
 * @key: the key
 * @version: version of its value
 * @bytes: length of its value
 * @status: 0, or -EUCLEAN: the value is damaged, @version and @bytes are 0
 */
struct crabtree_entry {
	__u64 key;
	__u64 version;
	__u32 bytes;
	__s32 status;
};

/**
 * struct crabtree_list - LIST: the keys of a store of blobs in ascending order
 * @size: sizeof(struct crabtree_list)
 * @flags: 0
 * @start: the lowest key wanted
 * @end: the highest key wanted
 * @entries: address of an array of struct crabtree_entry
 * @capacity: number of entries that fit
 * @count: out: number of entries written
 * @more: out: 1 if there may be more
 * @reserved: 0
 * @next: out: if @more, the @start that continues the list
 *
 * Errors, order and concurrent changes are as of SCAN.
 */
struct crabtree_list {
	__u32 size;
	__u32 flags;
	__u64 start;
	__u64 end;
	__u64 entries;
	__u32 capacity;
	__u32 count;
	__u32 more;
	__u32 reserved;
	__u64 next;
};

/* NAMES: where the list begins, and where it ends */
#define CRABTREE_NAMES_AFTER	(1U << 0)	/* the name @start itself is left out */
#define CRABTREE_NAMES_PREFIX	(1U << 1)	/* only names that begin with @end */

/**
 * struct crabtree_name - one name of a list
 * @version: version of its value
 * @bytes: length of its value
 * @status: 0, or -EUCLEAN: the value is damaged, @version, @bytes and @type are 0
 * @entry_bytes: of this entry: the next one begins after so many bytes, a multiple of 8
 * @name_bytes: length of the name
 * @type: enum crabtree_type
 * @name: the name, and at least one NUL
 */
struct crabtree_name {
	__u64 version;
	__u32 bytes;
	__s32 status;
	__u16 entry_bytes;
	__u8  name_bytes;
	__u8  type;
	char  name[4];
};

#define CRABTREE_NAME_ENTRY_MAX	264U	/* bytes of the longest entry */

/**
 * struct crabtree_names - NAMES: the names of a store of names, in ascending order
 * @size: sizeof(struct crabtree_names)
 * @flags: CRABTREE_NAMES_*
 * @start: address of the first name wanted
 * @end: address of the last name wanted; with CRABTREE_NAMES_PREFIX: of the prefix
 * @start_bytes: length of @start, at most CRABTREE_NAME_MAX; 0: from the first name on
 * @end_bytes: length of @end; 0: to the last name
 * @buffer: address of room for entries, struct crabtree_name
 * @capacity: bytes of room, CRABTREE_NAME_ENTRY_MAX or more
 * @used: out: bytes written
 * @count: out: number of entries written
 * @more: out: 1 if there may be more: the last name, with CRABTREE_NAMES_AFTER, continues the list
 *
 * Names are compared byte by byte, as unsigned numbers; a name comes before those that it is a
 * prefix of. Each name existed at some time during the call; names ascend strictly, across calls
 * as well. If attach could not read some name, the end of each list is -EUCLEAN in place of 0, with
 * the entries and @more = 0: the list may lack that name.
 */
struct crabtree_names {
	__u32 size;
	__u32 flags;
	__u64 start;
	__u64 end;
	__u32 start_bytes;
	__u32 end_bytes;
	__u64 buffer;
	__u32 capacity;
	__u32 used;
	__u32 count;
	__u32 more;
};

enum crabtree_commit_verb {
	CRABTREE_COMMIT_PUT	= 1,
	CRABTREE_COMMIT_TEST	= 2,	/* only the conditions */
	CRABTREE_COMMIT_ERASE	= 3,
};

/**
 * struct crabtree_commit_op - one operation of a commit
 * @verb: enum crabtree_commit_verb
 * @flags: conditions, for each verb: CRABTREE_IF_ABSENT, CRABTREE_IF_EXISTS, CRABTREE_IF_VERSION
 * @key: as of PUT: the key; store of names: address of the name
 * @value: PUT: address of the value; else 0
 * @bytes: PUT: its length; else 0
 * @name_bytes: store of names: length of the name; else 0
 * @version: in, with CRABTREE_IF_VERSION: the version that the value must have. Out: PUT: the new
 *	one
 * @type: PUT: as of PUT; else 0
 * @existed: out: PUT: 1 if the key was there
 * @status: out: 0 or a negative errno; -ECANCELED if it was not done
 * @reserved: 0
 */
struct crabtree_commit_op {
	__u32 verb;
	__u32 flags;
	__u64 key;
	__u64 value;
	__u32 bytes;
	__u32 name_bytes;
	__u64 version;
	__u32 type;
	__u32 existed;
	__s32 status;
	__u32 reserved;
};

/**
 * struct crabtree_commit - COMMIT: several puts and erases, all of them or none
 * @size: sizeof(struct crabtree_commit)
 * @flags: 0
 * @ops: address of an array of struct crabtree_commit_op, each on another key or name
 * @count: number of operations, 1 to CRABTREE_COMMIT_MAX
 * @failed: out: after an error, number of the operation that it is about, from 0; or @count
 *
 * For a store of blobs or names that is one of commits, too; for records there is BATCH with
 * CRABTREE_BATCH_ATOMIC. If the call returns 0, all conditions held and all writes are durable; if
 * it returns an error other than -EFAULT, none was done. No power cut leaves a part of it, and no
 * reader sees a part. ERASE of a missing key is no error: the status is -ENOENT, and the rest is
 * done. -ENOSPC unless the values fit, and 2 leaves a write, + 4, are free then; fastfair may need
 * more.
 */
struct crabtree_commit {
	__u32 size;
	__u32 flags;
	__u64 ops;
	__u32 count;
	__u32 failed;
};

#endif /* _UAPI_LINUX_CRABTREE_BLOB_H */
