# SPDX-License-Identifier: GPL-2.0
"""Locks of store/ and of extents, each left out: see design.py.

A function that calls one with lockdep_assert_held() is not here: without the lock, any test that
reaches it ends.
"""

from design import Design, Edit

BLOB = "store/blob.c"
BLOB_MEDIA = "store/blob_media.c"
BLOB_SNAP = "store/blob_snap.c"
COMMIT_ATTACH = "store/commit_attach.c"
COMMIT_READ = "store/commit_read.c"
EXTENT = "shared/extent.c"
GATE = "store/gate.c"
NAMED = "store/named.c"
SNAP = "store/snap.c"
STORE = "store/store.c"
WATCH = "store/watch.c"

GATE_LOCK = """if (n == 1)
		mutex_lock(&gate->stripes[gate_stripe(ops->key)]);
	else
		crab_stripes_lock(&gate->many, gate->stripes, stripes, CRAB_GATE_STRIPES);"""
GATE_UNLOCK = """if (n == 1)
		mutex_unlock(&gate->stripes[gate_stripe(ops->key)]);
	else
		crab_stripes_unlock(&gate->many, gate->stripes, stripes, CRAB_GATE_STRIPES);"""


def unlocked(what, path, lock, old):
    """Left out: the first line of @old, which takes @lock, and the last one, which releases it."""
    taken, *within, released = old.strip().split("\n")
    assert lock in taken and lock in released, what
    return Design(what, Edit(path, old.strip(), "\n".join(within).strip().rstrip(";")))


def unlocked_apart(what, path, taken, released):
    """The same if much is between: the line that takes it, with the next ones; and that which releases it."""
    first, second = taken.strip().split("\n", 1), released.strip().split("\n")
    kept = [line for line in second if "unlock(" not in line and "up_" not in line]
    return Design(what, Edit(path, taken.strip(), first[1].strip().rstrip(";")),
                  Edit(path, released.strip(), "\n".join(kept).strip().rstrip(";")))


RACES = [
    unlocked_apart("test_pairs: a watch that is opened does not lock the list", WATCH,
                   """spin_lock(&gate->watch_lock);
	room = gate->watching < CRAB_WATCHES_MAX;""",
                   """spin_unlock(&gate->watch_lock);
	return room;"""),
    unlocked("test_pairs: a watch that is closed does not lock the list", WATCH, "watch_lock",
             """spin_lock(&gate->watch_lock);
	list_del(&watch->list);
	gate->watching--;
	spin_unlock(&gate->watch_lock);"""),
    unlocked_apart("test_pairs: a reader of changes does not lock their queue", WATCH,
                   """spin_lock(&watch->gate->watch_lock);
	n = crab_queue_read(&watch->queue, changes, names, cap);""",
                   """if (!n && watch->ended)
		n = -ENODEV;
	spin_unlock(&watch->gate->watch_lock);"""),
    unlocked("test_locks: a reader that takes changes does not lock their queue", WATCH, "watch_lock",
             """spin_lock(&watch->gate->watch_lock);
	for (i = 0; i < n; i++) {
		if (changes[i].flags & CRAB_CHANGE_LOST)
			watch->lost -= changes[i].value;	/* more may be lost since */
		else
			queued++;
	}
	crab_queue_take(&watch->queue, queued);
	spin_unlock(&watch->gate->watch_lock);"""),
    unlocked("test_pairs: a reader that waits for changes does not lock their queue", WATCH, "watch_lock",
             """spin_lock(&watch->gate->watch_lock);
	any = watch->queue.count || watch->lost ? 1 : watch->ended ? -ENODEV : 0;
	spin_unlock(&watch->gate->watch_lock);"""),
    unlocked("test_pairs: watches end without their lock", WATCH, "watch_lock",
             """spin_lock(&gate->watch_lock);
	list_for_each_entry(watch, &gate->watches, list) {
		watch->ended = true;
		watch->wake(watch->arg);
	}
	spin_unlock(&gate->watch_lock);"""),
    unlocked_apart("test_pairs: a snapshot that is opened does not lock the list", SNAP,
                   """spin_lock(&gate->notes_lock);
	room = gate->snaps_open < CRAB_SNAPS_MAX;""",
                   """spin_unlock(&gate->notes_lock);
	crab_gate_resume(gate);"""),
    unlocked("test_pairs: the state of a snapshot is read without a lock", SNAP, "notes_lock",
             """spin_lock(&snap->gate->notes_lock);
	ended = snap->ended;
	spin_unlock(&snap->gate->notes_lock);"""),
    unlocked("test_pairs: a call that asks for any snapshot does not lock their list", SNAP, "notes_lock",
             """spin_lock(&gate->notes_lock);
	any = !list_empty(&gate->snaps);
	spin_unlock(&gate->notes_lock);"""),
    unlocked("test_pairs: a note gets its extent without a lock", SNAP, "notes_lock",
             """spin_lock(&gate->notes_lock);
	if (!list_empty(&gate->snaps)) {
		newest = list_last_entry(&gate->snaps, struct crab_snap, list);
		note = crab_notes_find(&newest->notes, key);
	}
	kept = note && !note->absent && note->value == word;
	if (kept) {
		gate->owned += !note->owns;
		note->owns = true;
	}
	spin_unlock(&gate->notes_lock);"""),
    unlocked("test_pairs: a note is added without a lock", SNAP, "notes_lock",
             """spin_lock(&gate->notes_lock);
	if (list_empty(&gate->snaps)) {
		gate->notes--;
	} else {
		newest = list_last_entry(&gate->snaps, struct crab_snap, list);
		crab_notes_add(&newest->notes, note);
		note = NULL;
	}
	spin_unlock(&gate->notes_lock);"""),
    unlocked("test_pairs: notes that are freed are counted without a lock", SNAP, "notes_lock",
             """spin_lock(&gate->notes_lock);
	gate->notes -= n;
	spin_unlock(&gate->notes_lock);"""),
    unlocked_apart("test_pairs: a get does not lock the names", NAMED,
                   """down_read(&blobs->names_lock);
	known = crab_names_find(&blobs->names, name, name_bytes);""",
                   """up_read(&blobs->names_lock);
	get->name = NULL;"""),
    unlocked_apart("test_locks: a put does not lock the names", NAMED,
                   """down_read(&blobs->names_lock);
	name = crab_names_find(&blobs->names, put->name, put->name_bytes);""",
                   """up_read(&blobs->names_lock);
	return name ? err : put_new(store, put);"""),
    unlocked_apart("test_locks: a put of a new name does not lock the names", NAMED,
                   """down_write(&blobs->names_lock);
	/* Another task may have added it */
	known = crab_names_find(&blobs->names, put->name, put->name_bytes);""",
                   """up_write(&blobs->names_lock);
	if (known || err)
		kfree(name);"""),
    unlocked_apart("test_pairs: an erase does not lock the names", NAMED,
                   """down_write(&blobs->names_lock);
	name = crab_names_find(&blobs->names, erase->name, erase->name_bytes);""",
                   """if (!err)
		crab_name_erased(store, name);
	up_write(&blobs->names_lock);"""),
    unlocked_apart("test_pairs: a list does not lock the names", NAMED,
                   """down_read(&blobs->names_lock);
	name = crab_named_step(blobs, false, cursor);""",
                   """if (name)
		entry_fill(store, name, entry);
	up_read(&blobs->names_lock);"""),
    unlocked("test_pairs: names are forgotten without their lock", NAMED, "names_lock",
             """down_write(&blobs->names_lock);
	if (!crab_snap_any(store)) {
		erased = blobs->erased;
		crab_names_clear(&blobs->erased);
	}
	up_write(&blobs->names_lock);"""),
    unlocked("test_pairs: CHECK does not lock the names", BLOB, "names_lock",
             """down_read(&blobs->names_lock);
	for (i = 0; i < n; i++) {
		mutex_lock(crab_blob_stripe(blobs, records[i].key));
		check_one(store, records[i].key, report);
		mutex_unlock(crab_blob_stripe(blobs, records[i].key));
	}
	up_read(&blobs->names_lock);"""),
    unlocked_apart("test_pairs: a get of a snapshot does not lock the names", BLOB_SNAP,
                   """down_read(&blobs->names_lock);
	now = crab_names_find(&blobs->names, name, name_bytes);""",
                   """up_read(&blobs->names_lock);
	return keys;"""),
    unlocked("test_pairs: a list of a snapshot does not lock the names", BLOB_SNAP, "names_lock",
             """down_read(&blobs->names_lock);
	name = crab_named_step(blobs, true, cursor);
	if (name) {
		*entry = (struct crab_named_entry){ .name_bytes = name->bytes };
		memcpy(entry->text, name->text, name->bytes);
	}
	up_read(&blobs->names_lock);"""),
    unlocked_apart("test_pairs: births are given without their lock", BLOB_MEDIA,
                   """mutex_lock(&blobs->birth_lock);
	if (blobs->birth == blobs->birth_end)
		births_raise(blobs, flow);""",
                   """WRITE_ONCE(blobs->birth, birth + 1);
	mutex_unlock(&blobs->birth_lock);"""),
    unlocked("test_locks: a put does not lock its key", BLOB, "stripe",
             """mutex_lock(stripe);
		err = put_locked(store, put, &flow);
		mutex_unlock(stripe);"""),
    unlocked("test_locks: an erase does not lock its key", BLOB, "stripe",
             """mutex_lock(stripe);
	err = erase_locked(store, erase, &flow);
	mutex_unlock(stripe);"""),
    unlocked("test_overtaken: a get that others overtake does not lock its key", BLOB, "stripe",
             """mutex_lock(stripe);
	err = get_once(store, get, &moved);
	mutex_unlock(stripe);"""),
    unlocked("test_overtaken: a list that others overtake does not lock the key", BLOB, "stripe",
             """mutex_lock(stripe);
	err = word_found(store, get->key, &word);
	if (!err)
		err = crab_blob_load_head(store->blobs, word, get);
	mutex_unlock(stripe);"""),
    unlocked("test_overtaken: CHECK does not lock the key of a value", BLOB, "stripe",
             """mutex_lock(crab_blob_stripe(blobs, records[i].key));
		check_one(store, records[i].key, report);
		mutex_unlock(crab_blob_stripe(blobs, records[i].key));"""),
    unlocked_apart("test_pairs: an extent is allocated without the lock", EXTENT,
                   """mutex_lock(&extents->lock);
	err = slab_with_room(extents, class, &slab);""",
                   """if (!err)
		*place = slab_alloc_extent(extents, slab);
	mutex_unlock(&extents->lock);"""),
    unlocked("test_locks: a commit keeps leaves without the lock of extents", EXTENT, "lock",
             """mutex_lock(&extents->lock);
	extents->kept = EXTENT_KEPT + leaves;
	mutex_unlock(&extents->lock);"""),
    unlocked_apart("test_pairs: a sparse slab is looked for without the lock", EXTENT,
                   """mutex_lock(&extents->lock);
	for (class = 0; class < CRAB_EXTENT_CLASSES && !last; class++)
		if (class_is_sparse(extents, class, urgent))
			last = room_last(extents, class);""",
                   """mutex_unlock(&extents->lock);
	return last;"""),
    unlocked_apart("test_pairs: the extents of a slab are listed without the lock", EXTENT,
                   """mutex_lock(&extents->lock);
	at = extents->slabs[slab];
	if (at)
		index = find_next_bit(at->map, at->total, *from);""",
                   """if (found) {
		*place = slab_place(extents, at, index);
		*from = index + 1;
	}
	mutex_unlock(&extents->lock);"""),
    unlocked_apart("test_pairs: a move gets its extent without the lock", EXTENT,
                   """mutex_lock(&extents->lock);
	below = room_first(extents, place_class(from));""",
                   """if (found)
		*place = slab_alloc_extent(extents, below);
	mutex_unlock(&extents->lock);"""),
    unlocked("test_pairs: an evacuation leaves a slab without the lock", EXTENT, "lock",
             """mutex_lock(&extents->lock);
	at = extents->slabs[slab];
	if (at) {
		at->stuck = true;
		at->awaited = bitmap_intersects(at->map, slab_fresh(at), at->total);
	}
	mutex_unlock(&extents->lock);"""),
    unlocked("test_pairs: slabs are to be emptied again without the lock", EXTENT, "lock",
             """mutex_lock(&extents->lock);
	for (class = 0; class < CRAB_EXTENT_CLASSES; class++)
		if (class_is_sparse(extents, class, true))
			class_retry(extents, class);
	mutex_unlock(&extents->lock);"""),
    Design("gate: a write of one key does not lock its stripe",
        Edit(GATE, GATE_LOCK, "if (n > 1) crab_stripes_lock(&gate->many, gate->stripes, stripes, CRAB_GATE_STRIPES)"),
        Edit(GATE, GATE_UNLOCK,
             "if (n > 1) crab_stripes_unlock(&gate->many, gate->stripes, stripes, CRAB_GATE_STRIPES)")),
    Design("gate: a batch does not lock its stripes",
        Edit(GATE, GATE_LOCK, "if (n == 1) mutex_lock(&gate->stripes[gate_stripe(ops->key)])"),
        Edit(GATE, GATE_UNLOCK, "if (n == 1) mutex_unlock(&gate->stripes[gate_stripe(ops->key)])")),
    Design("gate: a snapshot is opened while writes run",
        Edit(GATE, """mutex_lock(&gate->many);
	for (i = 0; i < gate->count; i++)
		mutex_lock_nest_lock(&gate->stripes[i], &gate->many);""", ""),
        Edit(GATE, """while (i--)
		mutex_unlock(&gate->stripes[i]);
	mutex_unlock(&gate->many);""", "")),
    unlocked_apart("test_pairs: an observer is counted without the lock", GATE,
                   """mutex_lock(&store->gate->lock);
	first = !store->gate->users++;""",
                   """mutex_unlock(&store->gate->lock);
	return first;"""),
    unlocked("test_pairs: an observer that goes does not lock the gate", GATE, "lock",
             """mutex_lock(&gate->lock);
	if (!--gate->users && gate->store)
		crab_store_set_gated(gate->store, false);
	mutex_unlock(&gate->lock);"""),
    unlocked_apart("test_locks: a store becomes read-only without its lock", STORE,
                   """mutex_lock(&store->lock);
	strscpy(store->reason, reason, sizeof(store->reason));""",
                   """WRITE_ONCE(store->aside, true);
	mutex_unlock(&store->lock);"""),
    unlocked_apart("test_locks: the gate is switched without the lock of the store", STORE,
                   """mutex_lock(&store->lock);
	/* Pairs with smp_load_acquire() in crab_store_is_gated(): a gated store has a gate */
	smp_store_release(&store->gated, gated);""",
                   """WRITE_ONCE(store->aside, gated || store->readonly);
	mutex_unlock(&store->lock);"""),
    unlocked("test_pairs: INFO reads the reason without a lock", STORE, "lock",
             """mutex_lock(&store->lock);
	info->super = store->super;
	info->readonly = store->readonly;
	strscpy(info->reason, store->reason, sizeof(info->reason));
	mutex_unlock(&store->lock);"""),
    unlocked("test_pairs: INFO reads the list of a commit without a lock", COMMIT_ATTACH, "lock",
             """down_read(&commits->lock);
	if (crab_commits_in_force(commits))
		gain = list_gain(store->engine, &commits->list);
	up_read(&commits->lock);"""),
    Design("test_locks: an insert does not exclude commits",
        Edit(COMMIT_READ, """if (write_begin(commits))
		err = engine->own->insert(engine, flow, key, value, mode, old);
	write_end(commits);""",
             """if (!crab_commits_in_force(commits))
             err = engine->own->insert(engine, flow, key, value, mode, old)""")),
    Design("test_locks: a delete does not exclude commits",
        Edit(COMMIT_READ, """if (write_begin(commits))
		err = engine->own->remove(engine, flow, key, old);
	write_end(commits);""",
             """if (!crab_commits_in_force(commits))
             err = engine->own->remove(engine, flow, key, old)""")),
    Design("test_locks: a batch does not exclude commits",
        Edit(COMMIT_READ, """if (write_begin(commits))
		engine->own->batch(engine, flow, ops, n);
	else
		batch_view(engine, ops, n);
	write_end(commits);""",
             """if (!crab_commits_in_force(commits)) engine->own->batch(engine, flow, ops, n);
             else batch_view(engine, ops, n)""")),
]
