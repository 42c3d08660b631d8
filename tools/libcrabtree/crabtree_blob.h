/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * This file declares the calls of the library on blobs: values of up to 64 KiB, in stores that were
 * formatted with CRABTREE_FORMAT_BLOBS. Errors and threads are as in crabtree.h. Other stores return
 * -EOPNOTSUPP here, and stores of blobs return it for the calls on records.
 */
#ifndef CRABTREE_BLOB_H
#define CRABTREE_BLOB_H

#include "crabtree.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * crabtree_put() - store a value, durable on return
 * @ct: the handle
 * @key: any key but CRABTREE_KEY_RESERVED
 * @value: the value
 * @bytes: its length
 * @flags: CRABTREE_PUT_* and CRABTREE_IF_VERSION
 * @version: in, with CRABTREE_IF_VERSION: the version that is replaced. Out: the new one. May be
 *	NULL without CRABTREE_IF_VERSION
 *
 * Return: 0, -EEXIST, -ENOENT, -ESTALE for another version, -EMSGSIZE for a value that is too long,
 * -ENOSPC, -EROFS, -EINVAL.
 */
int crabtree_put(struct crabtree *ct, uint64_t key, const void *value, uint32_t bytes,
		 unsigned int flags, uint64_t *version);

/**
 * crabtree_get() - read a value
 * @ct: the handle
 * @key: the key
 * @value: out
 * @capacity: bytes of room
 * @bytes: out: its length, also with -EMSGSIZE
 * @version: out: its version; or NULL
 *
 * Return: 0, -ENOENT, -EMSGSIZE if there is not enough room, -EUCLEAN if the value is damaged.
 */
int crabtree_get(struct crabtree *ct, uint64_t key, void *value, uint32_t capacity,
		 uint32_t *bytes, uint64_t *version);

/**
 * crabtree_erase() - remove a key and its value
 * @ct: the handle
 * @key: the key
 * @version: the version that is removed; NULL: any
 *
 * Return: 0, -ENOENT, -ESTALE.
 */
int crabtree_erase(struct crabtree *ct, uint64_t key, const uint64_t *version);

/**
 * crabtree_commit_values() - all puts and erases, or none, in a store of commits
 * @ct: the handle of a store of blobs or of names
 * @ops: the operations; @status, @version and @existed are written
 * @count: how many, at most CRABTREE_COMMIT_MAX
 * @failed: out: after an error, number of the operation that it is about, or @count; may be NULL
 *
 * Return: 0, and all is durable; -EEXIST, -ENOENT, -ESTALE by a condition; or another error, as of
 * crabtree_put(): then nothing was done.
 */
int crabtree_commit_values(struct crabtree *ct, struct crabtree_commit_op *ops, uint32_t count,
			   uint32_t *failed);

/**
 * crabtree_list() - list keys in ascending order
 * @ct: the handle
 * @cursor: of crabtree_cursor_init(); advanced
 * @entries: out
 * @capacity: how many fit, more than 0
 *
 * Return: how many, 0 at the end, or a negative errno, as crabtree_cursor_read().
 */
int crabtree_list(struct crabtree *ct, struct crabtree_cursor *cursor,
		  struct crabtree_entry *entries, uint32_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* CRABTREE_BLOB_H */
