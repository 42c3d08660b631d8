/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the inside of a snapshot, for snap.c, snap_read.c, snap_fold.c and
 * blob_snap.c.
 *
 * Locking: crab_gate.notes_lock, for the fields that name it.
 */
#ifndef CRABTREE_SNAP_PRIV_H
#define CRABTREE_SNAP_PRIV_H

#include <linux/list.h>
#include <linux/mutex.h>

#include "notes.h"
#include "snap.h"

#define CRAB_SNAP_CHUNK	128U	/* records that a scan reads from the engine at once */

/**
 * struct crab_snap - a snapshot
 * @list: in crab_gate.snaps, until it has ended; crab_gate.notes_lock
 * @gate: constant
 * @notes: values that keys had; crab_gate.notes_lock
 * @closed: it has no reader, but older snapshots need @notes; crab_gate.notes_lock
 * @ended: 0, or the error of its reads: it is in no list; crab_gate.notes_lock
 * @lock: protects @chunk
 * @chunk: records of the engine
 */
struct crab_snap {
	struct list_head list;
	struct crab_gate *gate;
	struct crab_notes notes;
	bool closed;
	int ended;
	struct mutex lock;
	struct crab_record chunk[CRAB_SNAP_CHUNK];
};

/**
 * crab_snap_ops() - the verbs whose values snapshots have
 * @store: any store
 * Context: any.
 * Return: those that read the words of blobs, or the values of any other store.
 */
const struct crab_engine_ops *crab_snap_ops(const struct crab_store *store);

/**
 * crab_snap_is_noted() - whether a key was written since a snapshot was opened
 * @snap: the snapshot
 * @key: any
 * Context: any.
 * Return: true if so, or if the snapshot has ended.
 */
bool crab_snap_is_noted(struct crab_snap *snap, u64 key);

/* crab_snap_search() as a part of another read, which is counted */
int crab_snap_lookup(struct crab_store *store, struct crab_snap *snap, u64 key, u64 *value);

/* crab_snap_seek() as such a part */
int crab_snap_find(struct crab_store *store, struct crab_snap *snap, u64 key,
		   enum crab_seek_dir dir, struct crab_record *record);

/**
 * crab_snap_fold() - merge the tables of closed snapshots with those of older ones
 * @gate: the gate
 *
 * Context: may sleep; takes crab_gate.notes_lock. Afterwards the newest table only can be that of a
 * closed snapshot.
 */
void crab_snap_fold(struct crab_gate *gate);

#endif /* CRABTREE_SNAP_PRIV_H */
