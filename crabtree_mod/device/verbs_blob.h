/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the parts of PUT, GET, ERASE, LIST and NAMES, the verbs of stores of blobs and
 * of names. The caller copies names, values and entries between these parts.
 *
 * Layer L6, as verbs.h: device/ and tools/libcrabtree include it.
 *
 * No function here touches user memory, and none has a lock.
 */
#ifndef CRABTREE_VERBS_BLOB_H
#define CRABTREE_VERBS_BLOB_H

#include <uapi/linux/crabtree.h>

#include "store/blob_snap.h"
#include "store/store.h"

struct crab_change;

#define CRAB_LIST_CHUNK		16U	/* entries of a list in one call on the store */
#define CRAB_NAMES_CHUNK	4096U	/* bytes of entries of names, likewise */

/**
 * crab_verbs_put_mode() - the mode of a put
 * @flags: CRABTREE_PUT_*: without CREATE or REPLACE, or with both of them, it may do either
 *
 * Context: any.
 * Return: the mode.
 */
enum crab_insert_mode crab_verbs_put_mode(u32 flags);

/**
 * crab_verbs_kind_check() - does a store of names get a name, and another one a key?
 * @store: the store
 * @name_bytes: length of the name, or 0
 *
 * Context: any.
 * Return: 0 or -EOPNOTSUPP.
 */
int crab_verbs_kind_check(const struct crab_store *store, u32 name_bytes);

/**
 * crab_verbs_value_check() - does a value have a name and a type that its store accepts?
 * @store: the store
 * @name_bytes: length of the name, or 0
 * @type: enum crabtree_type, or any number
 * @bytes: length of the value
 * @value: the value; room for one byte if that is 0
 *
 * Context: any.
 * Return: 0, -EOPNOTSUPP as crab_verbs_kind_check(), or -EINVAL.
 */
int crab_verbs_value_check(const struct crab_store *store, u32 name_bytes, u32 type, u32 bytes,
			   const u8 *value);

/**
 * crab_verbs_put() - PUT: store a value
 * @store: the store
 * @put: the argument; its answers are filled in
 * @name: its name, @put->name_bytes in kernel memory; any pointer if that is 0
 * @value: its value, @put->bytes in kernel memory; room for one byte if that is 0
 *
 * Context: may sleep.
 * Return: the error of the verb.
 */
int crab_verbs_put(struct crab_store *store, struct crabtree_put *put, const char *name,
		   const void *value);

/**
 * crab_verbs_get() - GET: read a value
 * @store: the store
 * @snap: a snapshot of it, which is read; or NULL
 * @get: the argument; its answers are filled in
 * @name: as of crab_verbs_put()
 * @value: out: room for @capacity bytes in kernel memory
 * @capacity: of @value, at most @get->capacity
 *
 * Context: may sleep.
 * Return: the error of the verb.
 */
int crab_verbs_get(struct crab_store *store, struct crab_snap *snap, struct crabtree_get *get,
		   const char *name, void *value, u32 capacity);

/**
 * crab_verbs_erase() - ERASE: remove a value
 * @store: the store
 * @erase: the argument
 * @name: as of crab_verbs_put()
 *
 * Context: may sleep.
 * Return: the error of the verb.
 */
int crab_verbs_erase(struct crab_store *store, const struct crabtree_erase *erase,
		     const char *name);

/**
 * crab_verbs_list_begin() - LIST: start at the first key
 * @list: the argument; its answers are cleared
 * @cursor: out
 *
 * Call crab_verbs_list_chunk() as crab_verbs_scan_chunk() for SCAN; then crab_verbs_list_end().
 *
 * Context: any.
 */
void crab_verbs_list_begin(struct crabtree_list *list, struct crab_cursor *cursor);

/**
 * crab_verbs_list_chunk() - LIST: read the next entries
 * @store: the store
 * @snap: as of crab_verbs_get()
 * @list: the argument; the caller adds the entries that it delivered to @list->count
 * @cursor: the position; after -EUCLEAN for the first entry it is after the quarantined range
 * @entries: out: room for CRAB_LIST_CHUNK entries
 *
 * Context: may sleep.
 * Return: as crab_blob_list(), or crab_snap_list().
 */
int crab_verbs_list_chunk(struct crab_store *store, struct crab_snap *snap,
			  const struct crabtree_list *list, struct crab_cursor *cursor,
			  struct crabtree_entry *entries);

/**
 * crab_verbs_list_end() - LIST: fill in where the next list continues
 * @list: the argument
 * @cursor: the position
 * @err: how the last chunk ended
 *
 * Context: any.
 * Return: the error of the verb.
 */
int crab_verbs_list_end(struct crabtree_list *list, const struct crab_cursor *cursor, int err);

/**
 * crab_verbs_names_begin() - NAMES: start at the first name
 * @names: the argument; its answers are cleared
 * @start: its first name, in kernel memory; the length is at most CRABTREE_NAME_MAX
 * @end: its last name, likewise
 * @cursor: out
 *
 * Call crab_verbs_names_chunk() until it returns 0 or an error.
 *
 * Context: any.
 * Return: 0, or -EMSGSIZE: an entry may not fit.
 */
int crab_verbs_names_begin(struct crabtree_names *names, const char *start, const char *end,
			   struct crab_named_cursor *cursor);

/**
 * crab_verbs_names_chunk() - NAMES: read the next entries
 * @store: the store
 * @snap: as of crab_verbs_get()
 * @names: the argument; the caller adds the bytes that it delivered to @names->used
 * @cursor: the position
 * @entries: out
 * @capacity: bytes of room
 *
 * Context: may sleep.
 * Return: bytes of the entries; if there is none 0 at the end or if the argument's room is used up,
 * or an error of crab_named_next() or crab_snap_named_next().
 */
int crab_verbs_names_chunk(struct crab_store *store, struct crab_snap *snap,
			   struct crabtree_names *names, struct crab_named_cursor *cursor,
			   void *entries, u32 capacity);

/**
 * crab_verbs_name_changes() - WATCH: translate changes of names for the reader
 * @from: the changes
 * @to: out: room for CRABTREE_NAME_CHANGE_MAX bytes for each one
 * @n: how many
 *
 * Context: any.
 * Return: bytes of the translation.
 */
u32 crab_verbs_name_changes(const struct crab_change *from, void *to, u32 n);

#endif /* CRABTREE_VERBS_BLOB_H */
