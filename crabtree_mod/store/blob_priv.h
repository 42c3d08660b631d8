/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the inside of a store of blobs, for the files of this folder and for tests.
 */
#ifndef CRABTREE_BLOB_PRIV_H
#define CRABTREE_BLOB_PRIV_H

#include <linux/mutex.h>
#include <linux/rwsem.h>

#include "named.h"
#include "names.h"
#include "shared/extent.h"

#ifndef CRAB_BLOB_STRIPES
#define CRAB_BLOB_STRIPES	256U	/* a power of two */
#endif

/**
 * struct crab_evac - the evacuation of a slab
 * @running: @slab is valid
 * @slab: its number
 * @next: index of the next extent
 * @freed: slabs that have gone, in all; read without the lock
 */
struct crab_evac {
	bool running;
	u64 slab;
	u32 next;
	u64 freed;
};

/**
 * struct crab_blobs - the blobs of a store
 * @raw: the verbs of the engine, on words
 * @guard: the same table, but each verb on records returns -EOPNOTSUPP: crab_engine.ops
 * @media: the region
 * @store_id: of the store
 * @extents: the memory of the blobs
 * @birth_lock: protects @birth and @birth_end
 * @birth: of the next blob
 * @birth_end: births from here on are not covered by the word on the media
 * @stripes: by a hash of the key: serialise its writers, and keep them out while a snapshot opens
 * @many: held by a commit while it takes and holds its stripes
 * @evac_lock: protects @evac, before a stripe
 * @evac: the slab that is emptied now
 * @named: it is a store of names; constant
 * @names_lock: protects @names; before a stripe
 * @names: the names of all blobs
 * @erased: names that were erased, and that a snapshot may have; the key of one that was erased
 *	under several is CRAB_KEY_EMPTY; @names_lock
 * @unnamed: some blob has no readable name, or is quarantined; constant: the store is read-only
 */
struct crab_blobs {
	const struct crab_engine_ops *raw;
	struct crab_engine_ops guard;
	struct crab_media *media;
	u32 store_id;
	struct crab_extents extents;
	struct mutex birth_lock;
	u64 birth;
	u64 birth_end;
	struct mutex stripes[CRAB_BLOB_STRIPES];
	struct mutex many;
	struct mutex evac_lock;
	struct crab_evac evac;
	bool named;
	struct rw_semaphore names_lock;
	struct crab_names names;
	struct crab_names erased;
	bool unnamed;
};

/* blob_attach.c */

/**
 * crab_blobs_format() - FORMAT: make a store of blobs without blobs
 * @flow: the caller's flow
 * @geo: where the leaves are
 * Context: pinned, before crab_engine_ops.format, whose fence (P2) makes it durable.
 */
void crab_blobs_format(struct crab_flow *flow, const struct crab_geometry *geo);

/**
 * crab_blobs_permitted() - whether an engine and a region can hold blobs
 * @engine: attached; for FORMAT, to the empty store that it will make
 * @reason: out, on error: CRAB_REASON_LEN bytes
 * Context: any.
 * Return: 0, -EOPNOTSUPP or -ENOSPC.
 */
int crab_blobs_permitted(const struct crab_engine *engine, char *reason);

/**
 * crab_blobs_attach() - attach the blobs of a store
 * @store: of blobs; its engine is attached, and has allocated nothing yet
 *
 * Writes nothing to the media. Damage is noted in the engine.
 *
 * Context: may sleep.
 * Return: 0, -ENOMEM, -EINTR.
 */
int crab_blobs_attach(struct crab_store *store);

/**
 * crab_blobs_detach() - free the memory of a store's blobs
 * @store: the store; its engine is still attached
 * Context: may sleep; no call on the store is running or will come.
 */
void crab_blobs_detach(struct crab_store *store);

/**
 * crab_blobs_check_head() - verify the numbers in the page of the head
 * @store: a store of blobs
 * @damage: what is wrong is noted here, as attach would note it
 * Context: any.
 */
void crab_blobs_check_head(struct crab_store *store, struct crab_damage *damage);

/* evacuate.c */

/**
 * crab_blobs_want() - whether a slab could perhaps be emptied
 * @store: any store
 * Context: any.
 */
bool crab_blobs_want(const struct crab_store *store);

/**
 * crab_blobs_maintain() - move some blobs of a sparse slab, off the write path
 * @store: any store that may be written
 * Context: may sleep; not pinned.
 * Return: true if more work is due.
 */
bool crab_blobs_maintain(struct crab_store *store);

/**
 * crab_blobs_make_room() - find memory for a put that had none
 * @store: a store of blobs
 * @flow: the caller's flow
 * @waited: of the caller; false before the first call for its put
 *
 * Waits once for the readers of leaves that are to be free, if any; else ends snapshots, the oldest
 * one before all; then a sparse slab is emptied.
 *
 * Context: may sleep; no stripe is held.
 * Return: -EAGAIN if an extent, a slab or a leaf is free now; -ENOSPC, -ENOMEM, -EINTR.
 */
int crab_blobs_make_room(struct crab_store *store, struct crab_flow *flow, bool *waited);

/* blob.c */

/**
 * crab_blob_stripe() - the lock of a key's writers
 * @blobs: the blobs
 * @key: any
 * Context: any.
 * Return: one of crab_blobs.stripes.
 */
struct mutex *crab_blob_stripe(struct crab_blobs *blobs, u64 key);

/**
 * crab_blobs_drain() - wait for the writes that found the store writable
 * @blobs: of a store that is read-only by now
 * Context: may sleep; no stripe is held. Afterwards no store reaches a value.
 */
void crab_blobs_drain(struct crab_blobs *blobs);

/**
 * crab_blob_permitted() - the conditions of a write
 * @store: a store of blobs
 * @write: the write; @existed is set if it has conditions
 * Context: may sleep; the stripe is locked, so they hold until it is released.
 * Return: 0; -EEXIST, -ENOENT, -ESTALE by a condition; -EUCLEAN.
 */
int crab_blob_permitted(struct crab_store *store, struct crab_blob_write *write);

/**
 * crab_blob_note() - before the engine replaces the word of a key: for snapshots
 * @store: a store of blobs
 * @verb: CRAB_VERB_INSERT or CRAB_VERB_DELETE
 * @write: the write
 * Context, Return: as crab_snap_note(); the stripe is locked.
 */
int crab_blob_note(struct crab_store *store, enum crab_verb verb,
		   const struct crab_blob_write *write);

/**
 * crab_blob_replaced() - the word of a key is another one: as crab_extents_replace()
 * @blobs: the blobs
 * @key: the key
 * @now: place of the extent that the caller has allocated for the new word, or CRAB_NO_EXTENT
 * @word: the old word, or CRAB_NO_EXTENT
 * Context: may sleep; no power cut can bring the old word back.
 */
void crab_blob_replaced(struct crab_blobs *blobs, u64 key, u64 now, u64 word);

/**
 * crab_blob_done() - the engine has returned: no power cut can bring the old word back
 * @store: a store of blobs
 * @verb: CRAB_VERB_INSERT or CRAB_VERB_DELETE
 * @write: the write
 * @now: as of crab_blob_replaced()
 * @old: the old word; a snapshot may have its extent
 * Context: may sleep; the stripe is still locked.
 */
void crab_blob_done(struct crab_store *store, enum crab_verb verb,
		    struct crab_blob_write *write, u64 now, const struct crab_old *old);

/**
 * crab_blob_head() - read the header of the blob of a key
 * @store: a store of blobs
 * @get: the key; out: length, type and version
 * Context: may sleep.
 * Return: 0; -ENOENT; -EUCLEAN if the header is damaged, or the key in a quarantined range.
 */
int crab_blob_head(struct crab_store *store, struct crab_blob_read *get);

/**
 * crab_blobs_check() - verify all blobs
 * @store: the store
 * @report: damage is added
 * Context: may sleep; locks out the writers of a key while it reads the blob.
 * Return: 0, or -EINTR.
 */
int crab_blobs_check(struct crab_store *store, struct crab_check_report *report);

#endif /* CRABTREE_BLOB_PRIV_H */
