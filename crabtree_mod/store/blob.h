/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares blobs: values of up to 64 KiB under the keys of a store. FORMAT makes a store
 * of blobs; such a store has no other values, and refuses the verbs on records.
 *
 * Layer L5: it includes engines/, shared/ and media/; device/ includes it.
 *
 * Locking: inside; the verbs run concurrently.
 */
#ifndef CRABTREE_BLOB_H
#define CRABTREE_BLOB_H

#include "store.h"

/**
 * struct crab_blob_write - the operands of a put or an erase
 * @key: any but the reserved one
 * @name: of a store of names, whose verbs set @key: named.h; else NULL
 * @name_bytes: length of @name, or 0
 * @type: put: of the value, kept for the caller; 0 without a name
 * @bytes: put: length of @data
 * @data: put: the value
 * @mode: put: CRAB_INSERT_EITHER, CRAB_INSERT_CREATE or CRAB_INSERT_REPLACE
 * @checked: write only if @version is the version of the blob; the key must exist
 * @version: in: if @checked, the expected version. Out: put: the version of the new blob
 * @existed: out: the key had a blob
 * @listed: inside: @name is in the table of names, so @key has a record
 */
struct crab_blob_write {
	u64 key;
	const char *name;
	u32 name_bytes;
	u8 type;
	u32 bytes;
	const void *data;
	enum crab_insert_mode mode;
	bool checked;
	u64 version;
	bool existed;
	bool listed;
};

/**
 * struct crab_blob_read - the operands of a get
 * @key: any but the reserved one
 * @buffer: for the value
 * @capacity: room in @buffer; of a longer value only the length is returned
 * @name: room for CRAB_NAME_MAX bytes, for the name of the blob; or NULL
 * @name_bytes: out: length of the name; 0: it has none
 * @type: out: of the value
 * @bytes: out: length of the value
 * @version: out: its version
 */
struct crab_blob_read {
	u64 key;
	void *buffer;
	u32 capacity;
	char *name;
	u32 name_bytes;
	u8 type;
	u32 bytes;
	u64 version;
};

/**
 * struct crab_blob_entry - one blob of a list
 * @key: its key
 * @version: its version
 * @bytes: length of its value
 * @err: 0, or -EUCLEAN: the blob is damaged, and the other two are 0
 */
struct crab_blob_entry {
	u64 key;
	u64 version;
	u32 bytes;
	int err;
};

/**
 * crab_store_has_blobs() - whether the values of a store are blobs, with names or without
 * @store: the store
 * Context: any.
 */
bool crab_store_has_blobs(const struct crab_store *store);

/**
 * crab_store_has_names() - whether the values of a store have names
 * @store: the store
 *
 * The verbs on blobs here are not for such a store: named.h.
 *
 * Context: any.
 */
bool crab_store_has_names(const struct crab_store *store);

/**
 * crab_blob_most() - the longest value that a store holds
 * @store: the store
 * @name_bytes: length of its name; 0: it has none
 * Context: any.
 * Return: bytes; 0 if it is no store of blobs.
 */
u32 crab_blob_most(const struct crab_store *store, u32 name_bytes);

/**
 * crab_blob_put() - store a value under a key, durable on return
 * @store: the store
 * @put: the operands
 *
 * A power cut leaves the old value or the new one, whole. No version is ever used twice, also not
 * after the key was erased, or after a power cut.
 *
 * Context: may sleep.
 * Return: 0; -EOPNOTSUPP if it is no store of blobs; -EINVAL, -EROFS; -EMSGSIZE if the value is
 * longer than crab_blob_most(); -EEXIST, -ENOENT by the mode; -ESTALE for another version; -ENOSPC;
 * -ENOMEM; -EUCLEAN in a quarantined range, or if the version of a damaged blob is asked for;
 * -EINTR if crab_attach_options.interrupted returned true while a full store was searched for
 * room. After an error the old value remains.
 */
int crab_blob_put(struct crab_store *store, struct crab_blob_write *put);

/**
 * crab_blob_erase() - remove a key and its value, durable on return
 * @store: the store
 * @erase: the operands
 *
 * It needs no free memory, neither on the media nor in DRAM, and removes damaged blobs as well.
 *
 * Context: may sleep.
 * Return: 0, or an error as of crab_blob_put().
 */
int crab_blob_erase(struct crab_store *store, struct crab_blob_write *erase);

/**
 * crab_blob_get() - read the value of a key
 * @store: the store
 * @get: the operands
 *
 * The checksum of the blob is verified before anything is returned.
 *
 * Context: may sleep.
 * Return: 0; -ENOENT; -EMSGSIZE if the value is longer than the buffer: @bytes and @version are
 * set; -EUCLEAN if the blob is damaged; -EINVAL, -EOPNOTSUPP.
 */
int crab_blob_get(struct crab_store *store, struct crab_blob_read *get);

/**
 * crab_blob_list() - list blobs in the order of their keys
 * @store: the store
 * @cursor: as of crab_cursor_read()
 * @entries: out
 * @cap: room for entries
 *
 * It reads the headers of blobs, and does not verify their values.
 *
 * Context: may sleep.
 * Return: as crab_cursor_read(); -EOPNOTSUPP.
 */
int crab_blob_list(struct crab_store *store, struct crab_cursor *cursor,
		   struct crab_blob_entry *entries, u32 cap);

#endif /* CRABTREE_BLOB_H */
