/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * This file declares the calls of the library on named values: values of up to 64 KiB under names of
 * up to 240 bytes, in stores that were formatted with CRABTREE_FORMAT_NAMES. Errors and threads are
 * as in crabtree.h. Other stores return -EOPNOTSUPP for all of them.
 */
#ifndef CRABTREE_NAMES_H
#define CRABTREE_NAMES_H

#include "crabtree.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct crabtree_named - a value with its name and its type
 * @name: the name: any bytes
 * @name_bytes: its length, 1 to CRABTREE_NAME_MAX
 * @type: enum crabtree_type
 * @value: the value; of a read: room for it
 * @capacity: of a read: bytes of room
 * @bytes: length of the value
 * @version: its version
 */
struct crabtree_named {
	const char *name;
	uint32_t name_bytes;
	uint32_t type;
	void *value;
	uint32_t capacity;
	uint32_t bytes;
	uint64_t version;
};

/**
 * crabtree_put_named() - store a value under a name, durable on return
 * @ct: the handle
 * @named: name, type, value and length. In, with CRABTREE_IF_VERSION: the version that is replaced.
 *	Out: the new one
 * @flags: CRABTREE_PUT_* and CRABTREE_IF_VERSION
 *
 * Return: as crabtree_put(); -EINVAL also for a name without bytes or that is too long, and for a
 * length that is not that of the type.
 */
int crabtree_put_named(struct crabtree *ct, struct crabtree_named *named, unsigned int flags);

/**
 * crabtree_get_named() - read the value of a name
 * @ct: the handle
 * @named: name, room and its capacity. Out: type, length and version, also with -EMSGSIZE
 *
 * Return: as crabtree_get(); -EINVAL as of crabtree_put_named().
 */
int crabtree_get_named(struct crabtree *ct, struct crabtree_named *named);

/**
 * crabtree_erase_named() - remove a name and its value
 * @ct: the handle
 * @name: the name
 * @name_bytes: its length
 * @version: the version that is removed; NULL: any
 *
 * Return: as crabtree_erase(); -EINVAL as of crabtree_put_named().
 */
int crabtree_erase_named(struct crabtree *ct, const char *name, uint32_t name_bytes,
			 const uint64_t *version);

/**
 * crabtree_names_fn - is called for each name of a list
 * @name: the name; gone when the function has returned
 * @arg: of the caller of crabtree_names()
 *
 * It may call the library, also on the same store. Another value than 0 ends the list.
 */
typedef int (*crabtree_names_fn)(const struct crabtree_name *name, void *arg);

/**
 * crabtree_names() - list names in ascending order
 * @ct: the handle
 * @range: flags, start and end; the other fields are not used
 * @each: is called for each name
 * @arg: for @each
 *
 * Return: 0 at the end; the value of @each that ended the list; or a negative errno. -EUCLEAN: it was
 * the end, and @each was called for each name but those that are damaged.
 */
int crabtree_names(struct crabtree *ct, const struct crabtree_names *range, crabtree_names_fn each,
		   void *arg);

/**
 * crabtree_watch_names() - report the changes of the names with a prefix, each once it is durable
 * @ct: the handle
 * @prefix: of the names
 * @prefix_bytes: its length; 0: all names
 * @entries: changes that the kernel keeps for the reader; 0: 1024
 *
 * Return: as crabtree_watch(), for crabtree_watch_names_read(); -EOPNOTSUPP if it is no store of
 * names.
 */
int crabtree_watch_names(struct crabtree *ct, const char *prefix, uint32_t prefix_bytes,
			 uint32_t entries);

/**
 * crabtree_change_fn - is called for each change of a name
 * @change: the change; gone when the function has returned
 * @arg: of the caller of crabtree_watch_names_read()
 */
typedef void (*crabtree_change_fn)(const struct crabtree_name_change *change, void *arg);

/**
 * crabtree_watch_names_read() - take the next changes; wait for one, unless @fd is non-blocking
 * @fd: of crabtree_watch_names()
 * @each: is called for each change
 * @arg: for @each
 *
 * Return: their number, or a negative errno, as crabtree_watch_read().
 */
int crabtree_watch_names_read(int fd, crabtree_change_fn each, void *arg);

#ifdef __cplusplus
}
#endif

#endif /* CRABTREE_NAMES_H */
