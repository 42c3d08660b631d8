/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the parts of PUT, GET and LIST, the verbs of stores of blobs. Their callers
 * copy the values and the entries between these parts; ERASE is one call, in the table of verbs.
 *
 * Layer L6, as verbs.h: device/ and tools/libcrabtree include it.
 *
 * No function here touches user memory, and none has a lock.
 */
#ifndef CRABTREE_VERBS_BLOB_H
#define CRABTREE_VERBS_BLOB_H

#include <uapi/linux/crabtree.h>

#include "store/blob.h"
#include "store/store.h"

#define CRAB_LIST_CHUNK	16U	/* entries of a list in one call on the store */

/**
 * crab_verbs_put() - PUT: store a value
 * @store: the store
 * @put: the argument; its answers are filled in
 * @value: its value, @put->bytes in kernel memory
 *
 * Context: may sleep.
 * Return: the error of the verb.
 */
int crab_verbs_put(struct crab_store *store, struct crabtree_put *put, const void *value);

/**
 * crab_verbs_get() - GET: read a value
 * @store: the store
 * @get: the argument; its answers are filled in
 * @value: out: room for @capacity bytes in kernel memory
 * @capacity: of @value, at most @get->capacity
 *
 * Context: may sleep.
 * Return: the error of the verb.
 */
int crab_verbs_get(struct crab_store *store, struct crabtree_get *get, void *value, u32 capacity);

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
 * @list: the argument; the caller adds the entries that it delivered to @list->count
 * @cursor: the position; after -EUCLEAN for the first entry it is after the quarantined range
 * @entries: out: room for CRAB_LIST_CHUNK entries
 *
 * Context: may sleep.
 * Return: as crab_blob_list().
 */
int crab_verbs_list_chunk(struct crab_store *store, const struct crabtree_list *list,
			  struct crab_cursor *cursor, struct crabtree_entry *entries);

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

#endif /* CRABTREE_VERBS_BLOB_H */
