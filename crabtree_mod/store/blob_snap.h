/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the reads of blobs and of named values as of a snapshot.
 *
 * Layer L5: it includes engines/, shared/ and media/; device/ includes it.
 *
 * Locking: inside; the verbs run concurrently.
 */
#ifndef CRABTREE_BLOB_SNAP_H
#define CRABTREE_BLOB_SNAP_H

#include "named.h"
#include "snap.h"

/**
 * crab_snap_get() - read the value that a key had
 * @store: the store, not detached since crab_snap_open()
 * @snap: the snapshot
 * @get: the operands
 * Context: may sleep.
 * Return: as crab_blob_get(), and as crab_snap_search() once the snapshot has ended.
 */
int crab_snap_get(struct crab_store *store, struct crab_snap *snap, struct crab_blob_read *get);

/**
 * crab_snap_list() - list the blobs of that time, in the order of their keys
 * @store: as of crab_snap_get()
 * @snap: the snapshot
 * @cursor: as of crab_cursor_read()
 * @entries: out
 * @cap: room for entries
 * Context: may sleep.
 * Return: as crab_blob_list() and crab_snap_get().
 */
int crab_snap_list(struct crab_store *store, struct crab_snap *snap, struct crab_cursor *cursor,
		   struct crab_blob_entry *entries, u32 cap);

/**
 * crab_snap_named_get() - read the value that a name had
 * @store: as of crab_snap_get()
 * @snap: the snapshot
 * @name: the name
 * @name_bytes: its length
 * @get: the other operands; its key is set
 * Context: may sleep.
 * Return: as crab_named_get() and crab_snap_get().
 */
int crab_snap_named_get(struct crab_store *store, struct crab_snap *snap, const char *name,
			u32 name_bytes, struct crab_blob_read *get);

/**
 * crab_snap_named_next() - read the next name of a list of that time
 * @store: as of crab_snap_get()
 * @snap: the snapshot
 * @cursor: the position; moved
 * @entry: out
 * Context: may sleep.
 * Return: as crab_named_next() and crab_snap_get().
 */
int crab_snap_named_next(struct crab_store *store, struct crab_snap *snap,
			 struct crab_named_cursor *cursor, struct crab_named_entry *entry);

#endif /* CRABTREE_BLOB_SNAP_H */
