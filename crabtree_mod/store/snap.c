// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements snapshots. Each one has a table of notes: the values that keys had when it
 * was the newest snapshot, written before the first write of the key since then. A reader takes
 * the value from the engine first, then looks for a note in the table of its own snapshot and in
 * those of later ones; the first note that it finds is right, and without one the engine's value.
 *
 * In a store of blobs a note has a word, and the extent that it names must stay. The write that
 * replaces the word of a note makes the note the owner of the extent; the extent is free when the
 * note is. A word that no note has belongs to the engine. No blob moves meanwhile (evacuate.c), so
 * the word of a key is constant in a snapshot.
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
#include "engines/counts.h"
#include "gate.h"
#include "snap_priv.h"
#include "store_priv.h"

#define SNAP_GIVE	64U	/* notes that a write without memory frees at once */

/* The verbs that read the words of blobs, or the values of any other store */
static const struct crab_engine_ops *snap_ops(const struct crab_store *store)
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

/* The note is needed no more. A note that owns an extent is freed before the store is detached */
static void snap_disown(struct crab_gate *gate, struct crab_note *note)
{
	if (!note->owns)
		return;
	crab_extents_free(&gate->store->blobs->extents, note->value & CRAB_PLACE_MASK);
	note->owns = false;
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
		note->owns = true;
		gate->owned++;
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

void crab_snap_note(struct crab_gate *gate, u64 key)
{
	struct crab_store *store = gate->store;
	struct crab_note *note;
	bool wanted;
	u64 value = 0;
	int err;

	spin_lock(&gate->notes_lock);
	wanted = snap_wants_locked(gate, key);
	spin_unlock(&gate->notes_lock);
	if (!wanted)
		return;
	err = snap_ops(store)->lookup(store->engine, key, &value);
	/* A quarantined range: the write fails, too */
	if (err && err != -ENOENT)
		return;
	note = snap_note_get(gate);
	if (!note)
		return;
	*note = (struct crab_note){
		.key = key, .value = value, .absent = err, .priority = snap_priority(gate, key),
	};
	snap_note_put(gate, note);
}

/* Reads */

/* The note that holds for @snap, or NULL: the engine's value does */
static const struct crab_note *snap_find_locked(struct crab_snap *snap, u64 key)
{
	struct crab_gate *gate = snap->gate;
	const struct crab_note *note;

	lockdep_assert_held(&gate->notes_lock);

	for (; &snap->list != &gate->snaps; snap = list_next_entry(snap, list)) {
		note = crab_notes_find(&snap->notes, key);
		if (note)
			return note;
	}
	return NULL;
}

/* The nearest key that has a note which holds for @snap */
static const struct crab_note *snap_near_locked(struct crab_snap *snap, u64 key,
						enum crab_seek_dir dir)
{
	const struct crab_note *note, *best = NULL;
	struct crab_gate *gate = snap->gate;

	lockdep_assert_held(&gate->notes_lock);

	for (; &snap->list != &gate->snaps; snap = list_next_entry(snap, list)) {
		note = crab_notes_near(&snap->notes, key, dir);
		if (!note)
			continue;
		if (!best || (dir == CRAB_SEEK_GE ? note->key < best->key : note->key > best->key))
			best = note;
	}
	return best;
}

/* Copies a note: 1, 0 if there is none, or the error of an ended snapshot */
static int snap_copy(struct crab_snap *snap, u64 key, enum crab_seek_dir dir, bool exact,
		     struct crab_note *copy)
{
	const struct crab_note *note = NULL;
	int ended;

	spin_lock(&snap->gate->notes_lock);
	ended = snap->ended;
	if (!ended)
		note = exact ? snap_find_locked(snap, key) : snap_near_locked(snap, key, dir);
	if (note)
		*copy = *note;
	spin_unlock(&snap->gate->notes_lock);
	return ended ?: !!note;
}

int crab_snap_search(struct crab_store *store, struct crab_snap *snap, u64 key, u64 *value)
{
	struct crab_note note;
	int err, noted;

	if (key == CRAB_KEY_EMPTY)
		return -EINVAL;
	crab_count(store->engine, searches, 1);
	err = snap_ops(store)->lookup(store->engine, key, value);
	noted = snap_copy(snap, key, CRAB_SEEK_GE, true, &note);
	if (noted < 0)
		return noted;
	if (!noted)
		return err;
	*value = note.value;
	return note.absent ? -ENOENT : 0;
}

/* Is the note at least as near as the record of the engine, which exists if @err is 0? */
static bool snap_is_nearer(const struct crab_note *note, enum crab_seek_dir dir, int err,
			   const struct crab_record *found)
{
	return err || (dir == CRAB_SEEK_GE ? note->key <= found->key : note->key >= found->key);
}

int crab_snap_seek(struct crab_store *store, struct crab_snap *snap, u64 key,
		   enum crab_seek_dir dir, struct crab_record *record)
{
	struct crab_note note = { };
	int err, noted;

	if (key == CRAB_KEY_EMPTY)
		return -EINVAL;
	do {
		crab_count(store->engine, searches, 1);
		err = snap_ops(store)->seek(store->engine, key, dir, record);
		if (err && err != -ENOENT)
			return err;
		noted = snap_copy(snap, key, dir, false, &note);
		if (noted < 0)
			return noted;
		if (!noted || !snap_is_nearer(&note, dir, err, record))
			return err;
		*record = (struct crab_record){ note.key, note.value };
		if (!note.absent)
			return 0;
		key = dir == CRAB_SEEK_GE ? note.key + 1 : note.key - 1;
		err = crab_store_pause(store);
		if (err)
			return err;
	} while (note.key != (dir == CRAB_SEEK_GE ? CRAB_KEY_EMPTY - 1 : 0));
	return -ENOENT;
}

/**
 * struct merge - records of the engine and notes, merged in the order of their keys
 * @from: records of the engine
 * @n: how many
 * @next: the lowest key that is not merged yet
 * @last: the highest key that the records cover
 * @to: out
 * @cap: room in @to
 * @count: records in @to
 */
struct merge {
	const struct crab_record *from;
	u32 n;
	u64 next;
	u64 last;
	struct crab_record *to;
	u32 cap;
	u32 count;
};

/* Merges one key, and moves @next past it; an error ends the merge */
static int merge_one(struct crab_snap *snap, struct merge *m)
{
	u64 nearest = m->n ? m->from->key : m->last;
	struct crab_note note = { };
	int noted = snap_copy(snap, m->next, CRAB_SEEK_GE, false, &note);

	if (noted < 0)
		return noted;
	if (noted && note.key <= nearest) {
		nearest = note.key;
		if (!note.absent)
			m->to[m->count++] = (struct crab_record){ note.key, note.value };
	} else if (m->n) {
		m->to[m->count++] = *m->from;
	}
	if (m->n && m->from->key == nearest) {
		m->from++;
		m->n--;
	}
	m->next = nearest + 1;
	return 0;
}

/*
 * Do the keys of a chunk ascend within the scan? If not, the media changed under the store. To
 * merge it would leave out the records after a key that is too high, and a cursor that goes back
 * would never end
 */
static bool chunk_ascends(const struct crab_record *chunk, u32 n, const struct crab_cursor *cursor)
{
	u32 i;

	for (i = 1; i < n; i++)
		if (chunk[i].key <= chunk[i - 1].key)
			return false;
	return !n || (chunk[0].key >= cursor->next && chunk[n - 1].key <= cursor->end);
}

/* Reads a part of the range: afterwards the cursor is past it, or @records are full */
static int snap_read_some(struct crab_store *store, struct crab_snap *snap,
			  struct crab_cursor *cursor, struct crab_record *records, u32 cap)
{
	struct merge m = { .from = snap->chunk, .to = records, .cap = cap, .next = cursor->next };
	int n = snap_ops(store)->scan(store->engine, cursor->next, cursor->end, snap->chunk,
				      min(cap, CRAB_SNAP_CHUNK));
	int err = 0;
	u32 had;

	lockdep_assert_held(&snap->lock);

	if (n < 0)
		return n;
	if (unlikely(!chunk_ascends(snap->chunk, n, cursor)))
		return -EUCLEAN;
	m.n = n;
	m.last = n ? snap->chunk[n - 1].key : cursor->end;
	while (!err && m.count < m.cap && m.next <= m.last) {
		had = m.count;
		err = merge_one(snap, &m);
		if (!err && m.count == had)
			err = crab_store_pause(store);
	}
	if (err)
		return err;
	cursor->done = m.next > cursor->end;
	cursor->next = m.next;
	return m.count;
}

/* In descending order, a seek for each record */
static int snap_read_back(struct crab_store *store, struct crab_snap *snap,
			  struct crab_cursor *cursor, struct crab_record *records, u32 cap)
{
	struct crab_record record;
	u32 n = 0;
	int err;

	while (n < cap && !cursor->done) {
		err = crab_snap_seek(store, snap, cursor->next, CRAB_SEEK_LE, &record);
		if (err && err != -ENOENT)
			return n ?: err;
		cursor->done = err || record.key <= cursor->end;
		if (err || record.key < cursor->end)
			break;
		records[n++] = record;
		cursor->next = record.key - 1;
	}
	return n;
}

int crab_snap_read(struct crab_store *store, struct crab_snap *snap, struct crab_cursor *cursor,
		   struct crab_record *records, u32 cap)
{
	int n = 0;

	if (cursor->back)
		return snap_read_back(store, snap, cursor, records, cap);
	mutex_lock(&snap->lock);
	while (!n && cap && !cursor->done)
		n = snap_read_some(store, snap, cursor, records, cap);
	mutex_unlock(&snap->lock);
	return n;
}
