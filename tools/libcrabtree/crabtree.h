/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * This file declares libcrabtree: the ioctls of /dev/crabN as C functions.
 *
 * Every function returns 0 (or a count where documented), or a negative errno;
 * crabtree_strerror() describes it. The structures are those of the kernel,
 * <linux/crabtree.h>; the library fills in their size words. A write that
 * returned 0 is durable to the degree that crabtree_info.durability reports; for
 * an image see crabtree_open().
 *
 * A handle holds no position: threads may share it.
 */
#ifndef CRABTREE_H
#define CRABTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/crabtree.h>

#include "crabtree_scan.h"

#ifdef __cplusplus
extern "C" {
#endif

struct crabtree;

#define CRABTREE_OPEN_READONLY	(1U << 0)	/* writes get -EBADF */

/**
 * crabtree_open() - open a device, or an image of a region in a file
 * @ct: out: the handle
 * @path: /dev/crabN, or file:PATH for an image
 * @flags: CRABTREE_OPEN_*
 *
 * An image needs neither root nor the module. A file of zeros is an image without a store, which
 * crabtree_format() makes one. The shared library loads libcrabtree-image.so.0 for it, which holds
 * the engines and is GPL-2.0; a program that links libcrabtree.a opens devices only.
 *
 * An image is durable after crabtree_close(), or after crabtree_sync() until the next write. Before
 * that, the kernel writes its pages in any order: a power cut while it is open for writing may
 * damage the store, old records included. The end of a program does not. Images are for trials,
 * tools and transport.
 *
 * A child of fork() shares the handle of a device with its parent. An image stays its parent's
 * alone: the calls of the child return -EBUSY, and its crabtree_close() changes nothing.
 *
 * Return: 0; -ENOTTY if @path is not a crabtree device, or not a regular file; -ELIBACC
 * without libcrabtree-image; -EWOULDBLOCK if another program has the image; -EINVAL if it is smaller
 * than a page; -ENOSPC if the disk has no room for its holes, which are filled; an errno of open(2).
 */
int crabtree_open(struct crabtree **ct, const char *path, unsigned int flags);

/**
 * crabtree_close() - close a handle and free it
 * @ct: the handle, or NULL
 * Return: 0; for an image file also a failure to write it back.
 */
int crabtree_close(struct crabtree *ct);

/**
 * crabtree_sync() - write all changes to the file of an image
 * @ct: the handle
 *
 * For a device there is nothing to do: a write that returned is durable. An image is durable then,
 * until the next write.
 * Return: 0 or an errno of msync(2).
 */
int crabtree_sync(struct crabtree *ct);

/**
 * crabtree_reason() - why the store is rejected, read-only or not formattable
 * @ct: the handle
 * @buf: out: NUL-terminated, empty if there is no reason
 * @len: size of @buf, more than 0
 */
void crabtree_reason(struct crabtree *ct, char *buf, size_t len);

/**
 * crabtree_info() - properties and counters of a store
 * @ct: the handle
 * @info: out
 * @size: sizeof(*@info): a module or library of another version fills in the fields that both know
 * Return: 0 or a negative errno.
 */
int crabtree_info(struct crabtree *ct, struct crabtree_info *info, size_t size);

/**
 * crabtree_insert() - store a value under a key
 * @ct: the handle
 * @key: any but CRABTREE_KEY_RESERVED
 * @value: any
 * @flags: CRABTREE_INSERT_CREATE, CRABTREE_INSERT_REPLACE, or 0 for either
 * @existed: out: the key was there; may be NULL
 * @old_value: out: its value if it was there; may be NULL
 * Return: 0, -EEXIST, -ENOENT, -ENOSPC, -EROFS, -EINVAL, -EUCLEAN.
 */
int crabtree_insert(struct crabtree *ct, uint64_t key, uint64_t value, unsigned int flags,
		    bool *existed, uint64_t *old_value);

/**
 * crabtree_swap() - replace the value of a key if it is the expected one
 * @ct: the handle
 * @key: any but CRABTREE_KEY_RESERVED
 * @expected: the value that is replaced
 * @value: the new one
 * @old_value: out: the value before, also with -ESTALE; may be NULL
 * Return: 0, -ESTALE if the value is another one, -ENOENT, or as crabtree_insert().
 */
int crabtree_swap(struct crabtree *ct, uint64_t key, uint64_t expected, uint64_t value,
		  uint64_t *old_value);

/**
 * crabtree_add() - add to the value of a key, modulo 2^64
 * @ct: the handle
 * @key: any but CRABTREE_KEY_RESERVED
 * @addend: added; the value of a key that is not there
 * @flags: CRABTREE_INSERT_REPLACE: -ENOENT if the key is not there; or 0
 * @old_value: out: the value before, 0 if the key was not there; may be NULL
 * Return: 0, -ENOENT, or as crabtree_insert().
 */
int crabtree_add(struct crabtree *ct, uint64_t key, uint64_t addend, unsigned int flags,
		 uint64_t *old_value);

/**
 * crabtree_search() - the value of a key
 * Return: 0, -ENOENT, -EINVAL, -EUCLEAN in a quarantined range.
 */
int crabtree_search(struct crabtree *ct, uint64_t key, uint64_t *value);

/**
 * crabtree_seek() - the nearest record
 * @ct: the handle
 * @key: key to begin at
 * @flags: CRABTREE_SEARCH_GE or CRABTREE_SEARCH_LE
 * @record: out
 * Return: as crabtree_search().
 */
int crabtree_seek(struct crabtree *ct, uint64_t key, unsigned int flags,
		  struct crabtree_record *record);

/**
 * crabtree_delete() - remove a key
 * @ct: the handle
 * @key: the key
 * @old_value: out: the value that it had; may be NULL
 * Return: 0, -ENOENT, -EROFS, -EINVAL, -EUCLEAN.
 */
int crabtree_delete(struct crabtree *ct, uint64_t key, uint64_t *old_value);

/**
 * crabtree_delete_range() - remove all records of a range
 * @ct: the handle
 * @start: lowest key
 * @end: highest key
 * @deleted: out: how many were removed, also with an error; may be NULL
 * @next: out: with an error, the @start that continues; may be NULL
 *
 * Each delete is atomic, the call is not: after a power cut any of the records may be there.
 *
 * Return: 0, -EROFS, -EUCLEAN; a module without it returns -ENOTTY.
 */
int crabtree_delete_range(struct crabtree *ct, uint64_t start, uint64_t end, uint64_t *deleted,
			  uint64_t *next);

/**
 * crabtree_batch() - many operations in one call
 * @ct: the handle
 * @ops: the operations; @status, @value and @old_value are written
 * @count: how many, at most CRABTREE_BATCH_MAX
 * @done: out: how many were tried; may be NULL. Fewer than @count only if the store was detached
 *	meanwhile: the @status of the others is -ECANCELED
 * Return: 0 even if single operations failed: see their @status.
 */
int crabtree_batch(struct crabtree *ct, struct crabtree_batch_op *ops, uint32_t count,
		   uint32_t *done);

/**
 * crabtree_commit() - all operations or none, in a store of commits
 * @ct: the handle
 * @ops: as of CRABTREE_BATCH_ATOMIC; @status, @value and @old_value are written
 * @count: how many, at most CRABTREE_COMMIT_MAX
 * @failed: out: after an error, number of the operation that it is about, or @count; may be NULL
 * Return: 0, and all is durable; or -EEXIST, -ENOENT, -ESTALE by a condition, or another error.
 */
int crabtree_commit(struct crabtree *ct, struct crabtree_batch_op *ops, uint32_t count,
		    uint32_t *failed);

/**
 * crabtree_check() - verify every invariant of a store
 * @ct: the handle
 * @check: out: counts, and the first error found
 * @size: sizeof(*@check)
 * Return: 0, also if errors were found, or a negative errno.
 */
int crabtree_check(struct crabtree *ct, struct crabtree_check *check, size_t size);

/**
 * crabtree_format() - make an empty store
 * @ct: the handle
 * @format: the options; its size word is set to @size
 * @size: sizeof(*@format); -E2BIG if it has an option that the module or library does not know
 * Return: 0; -EEXIST over a live or foreign signature without
 * CRABTREE_FORMAT_FORCE; -EPERM, -EBUSY, -EINVAL, -ENOSPC.
 */
int crabtree_format(struct crabtree *ct, struct crabtree_format *format, size_t size);

/**
 * crabtree_watch() - report the changes of the keys from @start to @end, each once it is durable
 * @ct: the handle of a device
 * @start: the lowest key
 * @end: the highest key
 * @entries: changes that wait for the reader, at most CRABTREE_WATCH_ENTRIES_MAX; 0: 1024
 * Return: a descriptor for poll(2), crabtree_watch_read() and close(2); -EOPNOTSUPP for an image,
 * and for a store of names: crabtree_watch_names().
 */
int crabtree_watch(struct crabtree *ct, uint64_t start, uint64_t end, uint32_t entries);

/**
 * crabtree_watch_read() - take the next changes; wait for one, unless @fd is non-blocking
 * @fd: of crabtree_watch()
 * @changes: out; one with CRABTREE_CHANGE_LOST stands for changes for which there was no room
 * @capacity: how many fit, more than 0
 * Return: how many; -EAGAIN, -EINTR; -ENODEV once the store is detached and all were read.
 */
int crabtree_watch_read(int fd, struct crabtree_change *changes, uint32_t capacity);

/**
 * crabtree_snapshot() - read a store as of one point in time, while writers go on
 * @ct: the handle of a device
 * @snapshot: out: a handle for searches, seeks, scans and INFO; crabtree_close() ends it. Its calls
 *	return -ESTALE once writers changed so much that the memory for old values was used up
 * Return: 0 or a negative errno; -EOPNOTSUPP for an image.
 */
int crabtree_snapshot(struct crabtree *ct, struct crabtree **snapshot);

/*
 * Constant strings, also for unknown values: an error of this library in plain words, of either
 * sign; and the names of enum crabtree_state, crabtree_durability and crabtree_model, one word each
 */
const char *crabtree_strerror(int err);
const char *crabtree_state_name(uint32_t state);
const char *crabtree_durability_name(uint32_t durability);
const char *crabtree_model_name(uint32_t model);

#ifdef __cplusplus
}
#endif

#endif /* CRABTREE_H */
