/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares named values: values of up to 64 KiB under byte strings, in their order.
 * FORMAT makes a store of names; it is a store of blobs in which the key of a blob follows from
 * its name.
 *
 * Layer L5: it includes engines/, shared/ and media/; device/ includes it.
 *
 * Locking: inside; the verbs run concurrently.
 */
#ifndef CRABTREE_NAMED_H
#define CRABTREE_NAMED_H

#include "blob.h"

/**
 * struct crab_named_cursor - a position among the names
 * @text: the last name that was returned, or where to begin
 * @bytes: length of @text
 * @after: @text itself was returned, or is not wanted
 * @end: the last name wanted; with @prefix: the prefix of all names wanted
 * @end_bytes: length of @end; 0: there is no end
 * @prefix: see @end
 */
struct crab_named_cursor {
	char text[CRAB_NAME_MAX];
	u32 bytes;
	bool after;
	char end[CRAB_NAME_MAX];
	u32 end_bytes;
	bool prefix;
};

/**
 * struct crab_named_entry - a name and its value's header
 * @text: the name
 * @name_bytes: its length
 * @type: of the value
 * @bytes: length of the value
 * @version: of the value
 * @err: 0, or -EUCLEAN: the value is damaged; then @type, @bytes and @version are 0
 */
struct crab_named_entry {
	char text[CRAB_NAME_MAX];
	u32 name_bytes;
	u8 type;
	u32 bytes;
	u64 version;
	int err;
};

/**
 * crab_named_put() - store a value under a name, durable on return
 * @store: the store
 * @put: the operands; its key is set
 *
 * As crab_blob_put(): a power cut leaves the old value or the new one, whole.
 *
 * Context: may sleep.
 * Return: as crab_blob_put(); -EINVAL for a name of no byte or of more than CRAB_NAME_MAX;
 * -EOPNOTSUPP if it is no store of names.
 */
int crab_named_put(struct crab_store *store, struct crab_blob_write *put);

/**
 * crab_named_erase() - remove a name and its value, durable on return
 * @store: the store
 * @erase: the operands; its key is set
 *
 * It needs no free memory.
 *
 * Context: may sleep.
 * Return: 0, or an error as of crab_named_put().
 */
int crab_named_erase(struct crab_store *store, struct crab_blob_write *erase);

/**
 * crab_named_get() - read the value of a name
 * @store: the store
 * @name: the name
 * @name_bytes: its length
 * @get: the other operands; its key is set
 *
 * Context: may sleep.
 * Return: as crab_blob_get(); -EINVAL and -EOPNOTSUPP as of crab_named_put(); -EUCLEAN also for any
 * name that is not there, if attach could not read some name.
 */
int crab_named_get(struct crab_store *store, const char *name, u32 name_bytes,
		   struct crab_blob_read *get);

/**
 * crab_named_cursor_init() - begin a list of names
 * @cursor: out
 * @start: the first name wanted
 * @start_bytes: its length, at most CRAB_NAME_MAX
 * @end: the last name wanted
 * @end_bytes: its length, likewise; 0: there is no end
 * Context: any.
 */
void crab_named_cursor_init(struct crab_named_cursor *cursor, const char *start, u32 start_bytes,
			    const char *end, u32 end_bytes);

/**
 * crab_named_cursor_prefix() - only list names that begin with the end
 * @cursor: after crab_named_cursor_init()
 * Context: any.
 */
void crab_named_cursor_prefix(struct crab_named_cursor *cursor);

/**
 * crab_named_next() - read the next name of a list
 * @store: the store
 * @cursor: the position; moved
 * @entry: out
 *
 * Names are compared byte by byte, as unsigned numbers. A name that another task stores or removes
 * during a list may be in it or not.
 *
 * Context: may sleep.
 * Return: 1; 0 at the end, or -EUCLEAN there: attach could not read some name, which may be one of
 * those wanted; or -EOPNOTSUPP.
 */
int crab_named_next(struct crab_store *store, struct crab_named_cursor *cursor,
		    struct crab_named_entry *entry);

#endif /* CRABTREE_NAMED_H */
