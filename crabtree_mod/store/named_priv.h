/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the inside of a store of names, for the files of this folder and for tests.
 */
#ifndef CRABTREE_NAMED_PRIV_H
#define CRABTREE_NAMED_PRIV_H

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
 * crab_names_forget() - free the names that only snapshots needed
 * @store: any store
 * Context: may sleep; takes crab_blobs.names_lock. If a snapshot is open nothing is done.
 */
void crab_names_forget(struct crab_store *store);

/**
 * crab_names_dram() - the memory of the table of names
 * @store: any store
 * Context: may sleep.
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

#endif /* CRABTREE_NAMED_PRIV_H */
