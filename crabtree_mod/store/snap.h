/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares snapshots: reads of a store as of one point in time, while writers go on. In a
 * store of blobs the values here are the words of the blobs, each of which keeps its extent as long
 * as the snapshot; blob_snap.h has the verbs on blobs.
 *
 * Locking: inside. The functions on one snapshot may run concurrently, except the last one.
 */
#ifndef CRABTREE_SNAP_H
#define CRABTREE_SNAP_H

#include "cursor.h"

struct crab_gate;
struct crab_snap;

/* Snapshots of a store. Reads of the oldest one may search the notes of all of them */
#define CRAB_SNAPS_MAX	64U

/**
 * crab_snap_open() - open a snapshot
 * @store: the store; crab_store_observe() was called for this snapshot, and no write runs that
 *	began before it
 *
 * The snapshot has every write that returned before this call, none that begins after it, and of
 * concurrent writes those that precede one point in time of the call.
 *
 * Context: may sleep; waits for the writes that run.
 * Return: the snapshot, or ERR_PTR: -ENOMEM, or -EMFILE if CRAB_SNAPS_MAX are not closed.
 */
struct crab_snap *crab_snap_open(struct crab_store *store);

/**
 * crab_snap_search() - find the value that a key had
 * @store: the store, not detached since crab_snap_open()
 * @snap: the snapshot
 * @key: any
 * @value: out
 * Context: may sleep.
 * Return: 0, -ENOENT, -EINVAL, -EUCLEAN; -ESTALE if the notes of the snapshot took too much memory
 * and it has ended; -ENODEV if the store was detached; -EINTR as a seek of the engine.
 */
int crab_snap_search(struct crab_store *store, struct crab_snap *snap, u64 key, u64 *value);

/**
 * crab_snap_seek() - find the record that was nearest
 * @store: as of crab_snap_search()
 * @snap: the snapshot
 * @key: where to begin
 * @dir: lowest >= @key or highest <= @key
 * @record: out
 * Context: may sleep.
 * Return: as crab_snap_search().
 */
int crab_snap_seek(struct crab_store *store, struct crab_snap *snap, u64 key,
		   enum crab_seek_dir dir, struct crab_record *record);

/**
 * crab_snap_read() - read the next records of a scan
 * @store: as of crab_snap_search()
 * @snap: the snapshot
 * @cursor: the scan
 * @records: out
 * @cap: room
 * Context: may sleep.
 * Return: as crab_cursor_read() and crab_snap_search(); -EUCLEAN, too, if the keys that the engine
 * returned do not ascend, because the media changed under the store: crab_cursor_skip() then goes
 * on after the next quarantined range, or ends the scan. Records in front of a quarantined range
 * come first, also those that were removed since; crab_snap_search() finds such ones in it, too.
 */
int crab_snap_read(struct crab_store *store, struct crab_snap *snap, struct crab_cursor *cursor,
		   struct crab_record *records, u32 cap);

/**
 * crab_snap_state() - whether a snapshot still holds
 * @snap: the snapshot
 * Context: any.
 * Return: 0, or the error that its reads return from now on.
 */
int crab_snap_state(struct crab_snap *snap);

/**
 * crab_snap_any() - whether a snapshot of a store is open
 * @store: the store
 *
 * Under a stripe of the gate, a false answer holds until the stripe is released.
 *
 * Context: any.
 * Return: true if so.
 */
bool crab_snap_any(const struct crab_store *store);

/**
 * crab_snap_keep() - keep the extent of a word that was replaced, for the snapshots that see it
 * @gate: of a store of blobs; the caller holds the stripe of @key, and called crab_snap_note()
 *	before it replaced the word
 * @key: the key
 * @word: its word before
 * Context: any.
 * Return: true: the extent is free once no snapshot sees it. False: no snapshot does.
 */
bool crab_snap_keep(struct crab_gate *gate, u64 key, u64 word);

/**
 * crab_snap_give() - free extents that only snapshots need, for a write that found no memory
 * @gate: of a store of blobs
 *
 * Ends the oldest snapshots until one of them has given an extent; none if they have no extents.
 *
 * Context: may sleep; a call on the store.
 * Return: true if an extent is free now.
 */
bool crab_snap_give(struct crab_gate *gate);

/**
 * crab_snap_close() - end a snapshot and free it
 * @snap: the snapshot; its store may be detached
 * Context: may sleep.
 */
void crab_snap_close(struct crab_snap *snap);

/**
 * crab_snap_note() - note a key for the snapshots that are open
 * @gate: the gate; the caller holds the stripe of the key and has not written yet
 * @op: the write, its key and its conditions
 * @listed: the key has a record, unless the media has changed: then -EUCLEAN
 *
 * A write that the engine will refuse, because of the record, makes no note. Ends the oldest
 * snapshots if there is no memory for the note.
 *
 * Context: may sleep.
 * Return: 0; or the error of the engine, -EUCLEAN in a quarantined range: the snapshots would see
 * the write. A commit could do it, and wait for the next attach.
 */
int crab_snap_note(struct crab_gate *gate, const struct crab_batch_op *op, bool listed);

/**
 * crab_snap_end_all() - end all snapshots
 * @gate: the gate
 * @error: the error that their reads return
 * Context: may sleep.
 */
void crab_snap_end_all(struct crab_gate *gate, int error);

#endif /* CRABTREE_SNAP_H */
