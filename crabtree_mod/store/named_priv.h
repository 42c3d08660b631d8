/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the inside of a store of names, for the files of this folder and for tests.
 */
#ifndef CRABTREE_NAMED_PRIV_H
#define CRABTREE_NAMED_PRIV_H

#include "blob_commit.h"
#include "blob_priv.h"

/**
 * crab_name_key() - the lowest key that a name can have
 * @name: the name
 * @bytes: its length
 * Context: any.
 * Return: the key; its lower half is 0.
 */
u64 crab_name_key(const char *name, u32 bytes);

/**
 * crab_name_choose() - choose a key for a new name
 * @store: the store of names
 * @name: the name; its key is set: after those of all names that have the same crc
 * Context: may sleep; crab_blobs.names_lock is held for writing.
 * Return: 0, -ENOSPC if there is none, -EUCLEAN.
 */
int crab_name_choose(struct crab_store *store, struct crab_name *name);

/**
 * crab_name_erased() - take a name out of the table
 * @store: the store of names
 * @name: its value is erased. A snapshot that was open before still lists it
 * Context: may sleep; crab_blobs.names_lock is held for writing.
 */
void crab_name_erased(struct crab_store *store, struct crab_name *name);

/**
 * crab_named_step() - move a cursor to the next name wanted
 * @blobs: the blobs
 * @erased: names that were erased, and that a snapshot may have, are wanted, too
 * @cursor: the position; moved
 * Context: crab_blobs.names_lock is held.
 * Return: the name, or NULL: there is none.
 */
const struct crab_name *crab_named_step(const struct crab_blobs *blobs, bool erased,
					struct crab_named_cursor *cursor);

/**
 * crab_named_fill() - the header of a value, in the entry of its name
 * @entry: in: without it
 * @get: the header
 * @err: the error of its read: then there is none
 * Context: any.
 */
static inline void crab_named_fill(struct crab_named_entry *entry, const struct crab_blob_read *get,
				   int err)
{
	entry->err = err;
	if (err)
		return;
	entry->type = get->type;
	entry->bytes = get->bytes;
	entry->version = get->version;
}

/**
 * crab_names_forget() - free the names that only snapshots needed
 * @store: any store
 * Context: may sleep; takes crab_blobs.names_lock. If a snapshot is open nothing is done.
 */
void crab_names_forget(struct crab_store *store);

/**
 * crab_names_dram() - the memory of the table of names
 * @store: any store
 * Context: any.
 * Return: bytes; 0 if it is no store of names.
 */
u64 crab_names_dram(struct crab_store *store);

/**
 * crab_names_read() - attach: add the name of a record to the table
 * @store: the store of names
 * @record: its record
 * Context: may sleep; no verb runs.
 * Return: 0, also if damage was noted; or -ENOMEM.
 */
int crab_names_read(struct crab_store *store, const struct crab_record *record);

/* blob_commit.c */

/**
 * crab_blob_commit_begin() - verify the operands of a commit of values, but for keys and names
 * @store: of blobs and of commits
 * @commit: the commit
 * Context: any.
 * Return: as crab_blob_commit().
 */
int crab_blob_commit_begin(const struct crab_store *store, struct crab_blob_commit *commit);

/**
 * crab_blob_commit_keys() - do a commit of values whose operands are valid
 * @store: of blobs and of commits
 * @commit: the commit
 * Context: may sleep; in a store of names, crab_blobs.names_lock is held for writing.
 * Return: as crab_blob_commit().
 */
int crab_blob_commit_keys(struct crab_store *store, struct crab_blob_commit *commit);

#endif /* CRABTREE_NAMED_PRIV_H */
