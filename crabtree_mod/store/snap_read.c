// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the reads of a snapshot. A reader takes the value from the engine first,
 * then looks for a note in the table of its own snapshot and in those of later ones; the first note
 * that it finds is right, and without one the engine's value.
 *
 * In a quarantined range only notes are known. Those of keys in front of the range are returned
 * before -EUCLEAN is.
 *
 * Locks: gate.h; crab_snap.lock around a scan in ascending order.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "engines/counts.h"
#include "gate.h"
#include "snap_priv.h"
#include "store_priv.h"

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
		if (!best || crab_seek_is_before(dir, note->key, best->key))
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

bool crab_snap_is_noted(struct crab_snap *snap, u64 key)
{
	struct crab_note note;

	return snap_copy(snap, key, CRAB_SEEK_GE, true, &note);
}

int crab_snap_lookup(struct crab_store *store, struct crab_snap *snap, u64 key, u64 *value)
{
	struct crab_note note;
	int err, noted;

	if (key == CRAB_KEY_EMPTY)
		return -EINVAL;
	err = crab_store_read_end(store, crab_snap_ops(store)->lookup(store->engine, key, value));
	noted = snap_copy(snap, key, CRAB_SEEK_GE, true, &note);
	if (noted < 0)
		return noted;
	if (!noted)
		return err;
	*value = note.value;
	return note.absent ? -ENOENT : 0;
}

int crab_snap_search(struct crab_store *store, struct crab_snap *snap, u64 key, u64 *value)
{
	if (key != CRAB_KEY_EMPTY)
		crab_count(store->engine, searches, 1);
	return crab_snap_lookup(store, snap, key, value);
}

/* Can the engine read the keys from @key up, or down, to @last, and has no record there? */
static bool snap_is_ahead(struct crab_store *store, u64 key, u64 last)
{
	const struct crab_engine_ops *ops = crab_snap_ops(store);
	struct crab_record found;

	return !ops->scan(store->engine, min(key, last), max(key, last), &found, 1);
}

/* Is the note at least as near as the record of the engine, which exists if @err is 0? */
static bool snap_is_nearer(const struct crab_note *note, enum crab_seek_dir dir, int err,
			   const struct crab_record *found)
{
	return err || !crab_seek_is_before(dir, found->key, note->key);
}

/* crab_snap_seek() up to @last: any record after it may be returned, or -ENOENT */
static int snap_seek(struct crab_store *store, struct crab_snap *snap, u64 key, u64 last,
		     enum crab_seek_dir dir, struct crab_record *record)
{
	struct crab_note note = { };
	int err, noted;

	do {
		err = crab_snap_ops(store)->seek(store->engine, key, dir, record);
		crab_store_read_end(store, err);
		noted = snap_copy(snap, key, dir, false, &note);
		if (noted < 0)
			return noted;
		noted = noted && !crab_seek_is_before(dir, last, note.key);
		if (err == -EUCLEAN && snap_is_ahead(store, key, noted ? note.key : last))
			err = -ENOENT;
		if (err && err != -ENOENT)
			return err;
		if (!noted || !snap_is_nearer(&note, dir, err, record))
			return err;
		*record = (struct crab_record){ note.key, note.value };
		if (!note.absent)
			return 0;
		key = dir == CRAB_SEEK_GE ? note.key + 1 : note.key - 1;
		err = crab_store_pause(store);
		if (err)
			return err;
	} while (crab_seek_is_before(dir, note.key, last));
	return -ENOENT;
}

int crab_snap_find(struct crab_store *store, struct crab_snap *snap, u64 key,
		   enum crab_seek_dir dir, struct crab_record *record)
{
	u64 last = dir == CRAB_SEEK_GE ? CRAB_KEY_EMPTY - 1 : 0;

	return key == CRAB_KEY_EMPTY ? -EINVAL : snap_seek(store, snap, key, last, dir, record);
}

int crab_snap_seek(struct crab_store *store, struct crab_snap *snap, u64 key,
		   enum crab_seek_dir dir, struct crab_record *record)
{
	if (key != CRAB_KEY_EMPTY)
		crab_count(store->engine, searches, 1);
	return crab_snap_find(store, snap, key, dir, record);
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

/* The engine met a quarantined range: the next note in front of it, if there is one */
static int snap_read_ahead(struct crab_store *store, struct crab_snap *snap,
			   struct crab_cursor *cursor, struct crab_record *record)
{
	struct crab_note note = { };
	int noted = snap_copy(snap, cursor->next, CRAB_SEEK_GE, false, &note);

	if (noted < 0)
		return noted;
	if (!noted || note.key > cursor->end || !snap_is_ahead(store, cursor->next, note.key))
		return -EUCLEAN;
	cursor->done = note.key == cursor->end;
	cursor->next = note.key + 1;
	if (note.absent)
		return crab_store_pause(store);
	*record = (struct crab_record){ note.key, note.value };
	return 1;
}

/* Reads a part of the range: afterwards the cursor is past it, or @records are full */
static int snap_read_some(struct crab_store *store, struct crab_snap *snap,
			  struct crab_cursor *cursor, struct crab_record *records, u32 cap)
{
	struct merge m = { .from = snap->chunk, .to = records, .cap = cap, .next = cursor->next };
	int n = crab_snap_ops(store)->scan(store->engine, cursor->next, cursor->end, snap->chunk,
					   min(cap, CRAB_SNAP_CHUNK));
	int err = 0;
	u32 had;

	lockdep_assert_held(&snap->lock);

	crab_store_read_end(store, n);
	if (n == -EUCLEAN)
		return snap_read_ahead(store, snap, cursor, records);
	if (n >= 0 && unlikely(!chunk_ascends(snap->chunk, n, cursor)))
		n = -EUCLEAN;
	if (n < 0)
		return crab_snap_state(snap) ?: n;
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
		err = snap_seek(store, snap, cursor->next, cursor->end, CRAB_SEEK_LE, &record);
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
