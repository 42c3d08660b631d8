// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements snapshots. Each one has a table of notes: the values that keys had when it
 * was the newest snapshot, written before the first write of the key since then. Readers:
 * snap_read.c.
 *
 * In a store of blobs a note has a word, and the extent that it names must stay. The write that
 * replaces the word of a note makes the note the owner of the extent; the extent is free when the
 * note is, on the same condition as in blob.c. A word that no note has belongs to the engine. No
 * blob moves meanwhile (evacuate.c), so the word of a key is constant in a snapshot.
 *
 * Invariants: a write that began after the opening of a snapshot is preceded by a note in its table
 * or a later one, or the snapshot has ended; the first snapshot in the list is open. The table of a
 * closed one is folded into the table before it (snap_fold.c), unless it is the newest.
 *
 * Locks: gate.h. The opening of a snapshot is a section in which its opener holds all stripes.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "named_priv.h"
#include "gate.h"
#include "snap_priv.h"
#include "store_priv.h"

#define SNAP_GIVE	64U	/* notes that a write without memory frees at once */

const struct crab_engine_ops *crab_snap_ops(const struct crab_store *store)
{
	return store->blobs ? store->blobs->raw : store->engine->ops;
}

/* Adds a snapshot, unless as many are open as there may be */
static bool snap_enter(struct crab_gate *gate, struct crab_snap *snap)
{
	bool room;

	crab_gate_stop(gate);
	spin_lock(&gate->notes_lock);
	room = gate->snaps_open < CRAB_SNAPS_MAX;
	if (room) {
		gate->snaps_open++;
		list_add_tail(&snap->list, &gate->snaps);
	}
	spin_unlock(&gate->notes_lock);
	crab_gate_resume(gate);
	return room;
}

struct crab_snap *crab_snap_open(struct crab_store *store)
{
	struct crab_snap *snap = kzalloc(sizeof(*snap), GFP_KERNEL_ACCOUNT);
	struct crab_gate *gate = store->gate;

	if (!snap)
		return ERR_PTR(-ENOMEM);
	mutex_init(&snap->lock);
	snap->gate = gate;
	if (snap_enter(gate, snap)) {
		crab_snap_fold(gate);
		return snap;
	}
	kfree(snap);
	return ERR_PTR(-EMFILE);
}

/* Takes closed snapshots off the front: no older one needs their notes */
static void snap_trim_locked(struct crab_gate *gate)
{
	struct crab_snap *snap;

	lockdep_assert_held(&gate->notes_lock);

	while (!list_empty(&gate->snaps)) {
		snap = list_first_entry(&gate->snaps, struct crab_snap, list);
		if (!snap->closed)
			return;
		list_del(&snap->list);
		crab_notes_join(&gate->spare, &snap->notes);
		kfree(snap);
	}
}

/* Ends the oldest snapshot; its notes become spare */
static void snap_end_locked(struct crab_gate *gate, int error)
{
	struct crab_snap *snap = list_first_entry(&gate->snaps, struct crab_snap, list);

	lockdep_assert_held(&gate->notes_lock);

	list_del(&snap->list);
	snap->ended = error;
	crab_notes_join(&gate->spare, &snap->notes);
	snap_trim_locked(gate);
}

/*
 * The note is needed no more. Its extent is free if it still has the blob of the note: a word that
 * came back on the media may have made two notes the owners of one extent, which is that of another
 * key by now. Once the store is detached, there are no extents
 */
static void snap_disown(struct crab_gate *gate, const struct crab_note *note)
{
	struct crab_blobs *blobs;

	if (!note->owns)
		return;
	blobs = gate->store ? gate->store->blobs : NULL;
	if (blobs)
		crab_blob_replaced(blobs, note->key, CRAB_NO_EXTENT, note->value);
	spin_lock(&gate->notes_lock);
	gate->owned--;
	spin_unlock(&gate->notes_lock);
}

/* Frees the spare notes: those of blobs hold extents, the others only memory for the next notes */
static void snap_free_spare(struct crab_gate *gate)
{
	struct crab_notes spare = { };
	struct crab_note *note;
	u64 n;

	spin_lock(&gate->notes_lock);
	if (list_empty(&gate->snaps) || gate->stripes != gate->own)
		crab_notes_join(&spare, &gate->spare);
	spin_unlock(&gate->notes_lock);
	for (n = 0; (note = crab_notes_take(&spare)); n++) {
		snap_disown(gate, note);
		kfree(note);
		cond_resched();
	}
	spin_lock(&gate->notes_lock);
	gate->notes -= n;
	spin_unlock(&gate->notes_lock);
}

/* The last snapshot has gone: blobs may move again, and names that were erased are not needed */
static void snap_left(struct crab_store *store)
{
	if (!store->blobs || crab_snap_any(store))
		return;
	crab_names_forget(store);
	crab_store_kick(store);
}

void crab_snap_close(struct crab_snap *snap)
{
	struct crab_gate *gate = snap->gate;

	spin_lock(&gate->notes_lock);
	gate->snaps_open--;
	if (snap->ended)
		kfree(snap);
	else
		snap->closed = true;
	snap_trim_locked(gate);
	spin_unlock(&gate->notes_lock);
	crab_snap_fold(gate);
	mutex_lock(&gate->lock);
	snap_free_spare(gate);
	if (gate->store)
		snap_left(gate->store);
	mutex_unlock(&gate->lock);
	crab_gate_drop(gate);
}

void crab_snap_end_all(struct crab_gate *gate, int error)
{
	spin_lock(&gate->notes_lock);
	while (!list_empty(&gate->snaps))
		snap_end_locked(gate, error);
	spin_unlock(&gate->notes_lock);
	snap_free_spare(gate);
}

int crab_snap_state(struct crab_snap *snap)
{
	int ended;

	spin_lock(&snap->gate->notes_lock);
	ended = snap->ended;
	spin_unlock(&snap->gate->notes_lock);
	return ended;
}

bool crab_snap_any(const struct crab_store *store)
{
	struct crab_gate *gate;
	bool any;

	if (!crab_store_is_gated(store))
		return false;
	gate = store->gate;	/* before, there may be none yet */
	spin_lock(&gate->notes_lock);
	any = !list_empty(&gate->snaps);
	spin_unlock(&gate->notes_lock);
	return any;
}

/* Notes */

/* Is a snapshot open in whose table, the newest one, @key is not noted yet? */
static bool snap_wants_locked(struct crab_gate *gate, u64 key)
{
	lockdep_assert_held(&gate->notes_lock);

	return !list_empty(&gate->snaps) &&
	       !crab_notes_find(&list_last_entry(&gate->snaps, struct crab_snap, list)->notes, key);
}

bool crab_snap_keep(struct crab_gate *gate, u64 key, u64 word)
{
	struct crab_note *note = NULL;
	struct crab_snap *newest;
	bool kept;

	spin_lock(&gate->notes_lock);
	if (!list_empty(&gate->snaps)) {
		newest = list_last_entry(&gate->snaps, struct crab_snap, list);
		note = crab_notes_find(&newest->notes, key);
	}
	kept = note && !note->absent && note->value == word;
	if (kept) {
		gate->owned += !note->owns;
		note->owns = true;
	}
	spin_unlock(&gate->notes_lock);
	return kept;
}

/* A spare note; if there is none, and @end, the oldest snapshot gives its own */
static struct crab_note *snap_give_one(struct crab_gate *gate, bool end)
{
	struct crab_note *note;

	spin_lock(&gate->notes_lock);
	while (end && !gate->spare.root && gate->owned && !list_empty(&gate->snaps))
		snap_end_locked(gate, -ESTALE);
	note = crab_notes_take(&gate->spare);
	gate->notes -= !!note;
	spin_unlock(&gate->notes_lock);
	return note;
}

bool crab_snap_give(struct crab_gate *gate)
{
	struct crab_note *note;
	u32 given = 0;

	while (given < SNAP_GIVE && (note = snap_give_one(gate, !given))) {
		given += note->owns;
		snap_disown(gate, note);
		kfree(note);
		cond_resched();
	}
	return given;
}

/* A spare note, or NULL: there is room for one more, and @more is true; or no snapshot is open */
static struct crab_note *snap_room_locked(struct crab_gate *gate, bool *more)
{
	struct crab_note *note = NULL;

	lockdep_assert_held(&gate->notes_lock);

	*more = false;
	while (!list_empty(&gate->snaps) && !note) {
		note = crab_notes_take(&gate->spare);
		*more = !note && gate->notes < gate->most;
		if (*more)
			break;
		if (!note)
			snap_end_locked(gate, -ESTALE);
	}
	gate->notes += *more;
	return note;
}

/* Memory for a note: a failed allocation makes the oldest snapshot give up its notes */
static struct crab_note *snap_note_get(struct crab_gate *gate)
{
	struct crab_note *note;
	bool more;

	do {
		spin_lock(&gate->notes_lock);
		note = snap_room_locked(gate, &more);
		spin_unlock(&gate->notes_lock);
		if (note)
			snap_disown(gate, note);
		if (!more)
			return note;
		note = kmalloc(sizeof(*note), GFP_NOIO | __GFP_NOWARN | __GFP_NORETRY);
		if (note)
			return note;
		spin_lock(&gate->notes_lock);
		gate->notes--;
		if (!list_empty(&gate->snaps))
			snap_end_locked(gate, -ESTALE);
		spin_unlock(&gate->notes_lock);
	} while (true);
}

static u32 snap_priority(const struct crab_gate *gate, u64 key)
{
	u64 mixed = (key ^ gate->seed) * 0xD6E8FEB86659FD93ULL;

	mixed ^= mixed >> 32;
	return mixed * 0xD6E8FEB86659FD93ULL >> 32;
}

/* Adds @note to the newest table, if one is still needed */
static void snap_note_put(struct crab_gate *gate, struct crab_note *note)
{
	struct crab_snap *newest;

	spin_lock(&gate->notes_lock);
	if (list_empty(&gate->snaps)) {
		gate->notes--;
	} else {
		newest = list_last_entry(&gate->snaps, struct crab_snap, list);
		crab_notes_add(&newest->notes, note);
		note = NULL;
	}
	spin_unlock(&gate->notes_lock);
	kfree(note);
}

/* Does the engine refuse a write of a key that has this value, or none? */
static bool snap_is_refused(const struct crab_batch_op *op, bool absent, u64 value)
{
	const struct crab_old old = { .value = value, .expected = op->old.expected };
	u64 stored = op->value;

	if (op->verb == CRAB_VERB_DELETE)
		return absent;
	if (absent)
		return op->mode & CRAB_INSERT_NEEDS;
	return crab_insert_decide(op->mode, &old, &stored);
}

int crab_snap_note(struct crab_gate *gate, const struct crab_batch_op *op, bool listed)
{
	struct crab_store *store = gate->store;
	struct crab_note *note;
	u64 key = op->key;
	bool wanted;
	u64 value = 0;
	int err;

	spin_lock(&gate->notes_lock);
	wanted = snap_wants_locked(gate, key);
	spin_unlock(&gate->notes_lock);
	if (!wanted)
		return 0;
	err = crab_store_lookup_twice(store->engine, crab_snap_ops(store), key, &value);
	err = crab_store_listed(listed, err);
	if (err && err != -ENOENT)
		return err;
	if (snap_is_refused(op, err, value))
		return 0;
	note = snap_note_get(gate);
	if (!note)
		return 0;
	*note = (struct crab_note){
		.key = key, .value = value, .absent = err, .priority = snap_priority(gate, key),
	};
	snap_note_put(gate, note);
	return 0;
}
