/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares cursors: scans by key that can stop and continue.
 *
 * Locking: a cursor belongs to its caller.
 */
#ifndef CRABTREE_CURSOR_H
#define CRABTREE_CURSOR_H

#include "engines/verb.h"

struct crab_store;

/**
 * struct crab_cursor - a scan that can stop and continue
 * @next: the lowest key not yet returned; @back: the highest one
 * @end: the highest key of the scan; @back: the lowest one
 * @done: the scan has ended
 * @back: the keys descend
 */
struct crab_cursor {
	u64 next;
	u64 end;
	bool done;
	bool back;
};

/**
 * crab_cursor_init() - begin a scan
 * @cursor: out: the scan
 * @start: lowest key
 * @end: highest key
 * Context: any.
 */
void crab_cursor_init(struct crab_cursor *cursor, u64 start, u64 end);

/**
 * crab_cursor_init_back() - begin a scan in descending order
 * @cursor: out: the scan
 * @start: lowest key
 * @end: highest key
 * Context: any.
 */
void crab_cursor_init_back(struct crab_cursor *cursor, u64 start, u64 end);

/**
 * crab_cursor_read() - read the next records in the order of the scan
 * @store: the store
 * @cursor: the scan; it refers to nothing in the store, so it may outlive the store
 * @records: out
 * @cap: room for records, at most S32_MAX
 * Context: may sleep.
 * Return: number of records; 0 at the end; -ENOMEM; -EUCLEAN at a quarantined range, at which
 * the cursor stays; -EINTR if crab_attach_options.interrupted returned true and there are none yet.
 */
int crab_cursor_read(struct crab_store *store, struct crab_cursor *cursor,
		     struct crab_record *records, u32 cap);

/**
 * crab_cursor_skip() - continue after a quarantined range
 * @store: the store
 * @cursor: the scan; crab_cursor_read() returned -EUCLEAN
 * Context: may sleep.
 */
void crab_cursor_skip(struct crab_store *store, struct crab_cursor *cursor);

/**
 * crab_cursor_delete() - remove the next records of a scan
 * @store: the store
 * @cursor: the scan; after an error at the first record that was not removed
 * @cap: records at most; at most CRAB_BATCH_CHUNK
 * @deleted: counts the records that were removed
 *
 * The records are one batch: a power cut during the call may have removed any of them. A record
 * that another writer removed first is not counted. If a key has changed on the media to one that
 * cannot be there, no record is removed: it may be that of another record.
 *
 * Context: may sleep.
 * Return: 0; -EROFS, also in a store with a quarantined range; or an error of crab_cursor_read() or
 * crab_store_delete().
 */
int crab_cursor_delete(struct crab_store *store, struct crab_cursor *cursor, u32 cap, u64 *deleted);

#endif /* CRABTREE_CURSOR_H */
