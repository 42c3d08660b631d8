// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements evacuation: the blobs of a sparse slab move to other slabs of its class,
 * and the slab returns to the pool, for leaves or for extents of another size.
 *
 * Invariants: a blob is copied whole, with its birth, and durable (P15), before the engine replaces
 * its word by its own protocol for one record; the old extent is free only afterwards. So a power
 * cut leaves one of two words, both of which name the same blob.
 *
 * A blob moves to a slab with a lower number only, so no word comes back: a reader that loads the
 * same word before and after has read one blob (blob.c), though the birth has not changed.
 *
 * No blob moves while a snapshot is open: a word that a snapshot has would name a free extent.
 *
 * Locking: crab_blobs.evac_lock; within it the stripe of the key, then the locks of extents.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "blob_media.h"
#include "blob_priv.h"
#include "engines/counts.h"
#include "snap.h"
#include "store_priv.h"

#define EVAC_GFP	(GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN)	/* a put may wait for it */
#define EVAC_PART	16U	/* extents of one call off the write path */

/* A verified blob in a new place, if there is one; the stripe is locked */
static void blob_move(struct crab_store *store, struct crab_flow *flow, u64 word,
		      const struct crab_blob_read *get)
{
	struct crab_blobs *blobs = store->blobs;
	const struct crab_blob_write put = {
		.key = get->key, .name = get->name, .name_bytes = get->name_bytes,
		.type = get->type, .data = get->buffer, .bytes = get->bytes,
	};
	struct crab_old old;
	u64 to;
	int err;

	if (!crab_extents_alloc_below(&blobs->extents, word & CRAB_PLACE_MASK, &to))
		return;
	crab_flow_pin();
	crab_blob_store(blobs, flow, to, get->version, &put);
	/* P15: the blob is whole before a word names it */
	crab_fence(flow, CRAB_P15_BLOB);
	crab_flow_unpin();
	err = blobs->raw->insert(store->engine, flow, get->key,
				 crab_blob_word(blobs, to, get->version), CRAB_INSERT_EITHER, &old);
	if (err)
		crab_extents_free(&blobs->extents, to);
	else
		crab_blob_replaced(blobs, get->key, to, word);
}

/*
 * Moves the blob of an extent, if a word names it. A writer may have allocated the extent, and not
 * have named it yet: then its key has another word, and its content may be anything. A snapshot
 * ends the evacuation: once it is closed, another slab may be the one to be emptied.
 */
static void extent_evacuate(struct crab_store *store, struct crab_flow *flow, u64 place,
			    void *buffer)
{
	struct crab_blobs *blobs = store->blobs;
	char name[CRAB_NAME_MAX];
	struct crab_blob_read get = {
		.key = crab_blob_key(blobs, place), .name = name, .buffer = buffer,
		.capacity = CRAB_BLOB_BYTES_MAX,
	};
	struct mutex *stripe = crab_blob_stripe(blobs, get.key);
	u64 word;

	if (get.key == CRAB_KEY_EMPTY)
		return;
	mutex_lock(stripe);
	if (crab_snap_any(store))
		blobs->evac.running = false;
	else if (!READ_ONCE(store->readonly) &&
		 !blobs->raw->lookup(store->engine, get.key, &word) &&
		 (word & CRAB_PLACE_MASK) == place && !crab_blob_load(blobs, word, &get))
		blob_move(store, flow, word, &get);
	mutex_unlock(stripe);
}

/* Goes on with the evacuation of a slab, or begins one; false: there is none to be emptied */
static bool evacuate_begin(struct crab_store *store, bool urgent)
{
	struct crab_blobs *blobs = store->blobs;
	struct crab_evac *evac = &blobs->evac;

	lockdep_assert_held(&blobs->evac_lock);

	/* An open snapshot would be ended for this slab: does it have to be emptied still? */
	if (evac->running && !crab_snap_any(store))
		return true;
	evac->next = 0;
	evac->running = crab_extents_sparse(&blobs->extents, urgent, &evac->slab);
	return evac->running;
}

/* A part of the slab, or its rest. As evacuate() */
static int evacuate_part(struct crab_store *store, struct crab_flow *flow, u32 most, void *buffer)
{
	struct crab_blobs *blobs = store->blobs;
	struct crab_evac *evac = &blobs->evac;
	u64 place;

	lockdep_assert_held(&blobs->evac_lock);

	for (; most && evac->running; most--) {
		if (!crab_extents_next(&blobs->extents, evac->slab, &evac->next, &place))
			break;
		extent_evacuate(store, flow, place, buffer);
	}
	if (!evac->running)
		return -EBUSY;
	if (most) {
		evac->running = false;
		if (crab_extents_leave(&blobs->extents, evac->slab))
			WRITE_ONCE(evac->freed, evac->freed + 1);
	}
	return 1;
}

static int evacuate_locked(struct crab_store *store, struct crab_flow *flow, bool urgent, u32 most)
{
	void *buffer;
	int more;

	if (!evacuate_begin(store, urgent))
		return 0;
	buffer = kvmalloc(CRAB_BLOB_BYTES_MAX, EVAC_GFP);
	if (!buffer)
		return -ENOMEM;
	more = evacuate_part(store, flow, most, buffer);
	kvfree(buffer);
	return more;
}

/*
 * Moves up to so many blobs of a sparse slab. 1: more work may be due; 0: there is none; -EBUSY: a
 * snapshot is open; -ENOMEM
 */
static int evacuate(struct crab_store *store, struct crab_flow *flow, bool urgent, u32 most)
{
	struct crab_blobs *blobs = store->blobs;
	int more;

	mutex_lock(&blobs->evac_lock);
	more = evacuate_locked(store, flow, urgent, most);
	mutex_unlock(&blobs->evac_lock);
	return more;
}

bool crab_blobs_want(const struct crab_store *store)
{
	return store->blobs && READ_ONCE(store->blobs->extents.sparse) && !crab_snap_any(store);
}

bool crab_blobs_maintain(struct crab_store *store)
{
	struct crab_flow flow = { .media = store->media };
	int more;

	if (!crab_blobs_want(store))
		return false;
	more = evacuate(store, &flow, false, EVAC_PART);
	crab_count_prepare(store->engine, &flow);
	return more > 0;
}

/* Not again: other writes may hand over leaves all the time, and none of them helps this one */
static bool wait_once(struct crab_pool *pool, bool *waited)
{
	if (*waited)
		return false;
	*waited = crab_pool_wait(pool);
	return *waited;
}

int crab_blobs_make_room(struct crab_store *store, struct crab_flow *flow, bool *waited)
{
	struct crab_blobs *blobs = store->blobs;
	u64 freed = READ_ONCE(blobs->evac.freed);
	int more;

	if (crab_engine_is_stopped(store->engine))
		return -EINTR;
	if (wait_once(store->engine->pool, waited) ||
	    (crab_store_is_gated(store) && crab_snap_give(store->gate)))
		return -EAGAIN;
	crab_extents_retry(&blobs->extents);
	while (READ_ONCE(blobs->evac.freed) == freed) {
		more = evacuate(store, flow, true, U32_MAX);
		if (more == -EBUSY)
			crab_snap_end_all(store->gate, -ESTALE);
		else if (more <= 0)
			return more ?: -ENOSPC;
		if (crab_engine_is_stopped(store->engine))
			return -EINTR;
	}
	return -EAGAIN;
}
