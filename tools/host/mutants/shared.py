# SPDX-License-Identifier: GPL-2.0
"""The mistakes in code that all engines share: see design.py."""

from design import Design, Edit

INDEX = "shared/index.c"
SHORTCUT = "shared/shortcut.c"

BLOB = "store/blob.c"
BLOB_MEDIA = "store/blob_media.c"
BLOB_ATTACH = "store/blob_attach.c"
EVACUATE = "store/evacuate.c"

BLOB_SNAP = "store/blob_snap.c"
NAMED = "store/named.c"
SNAP = "store/snap.c"
NOTES = "store/notes.c"

COMMIT = "store/commit.c"
BLOB_COMMIT = "store/blob_commit.c"
NAMED_COMMIT = "store/named_commit.c"
COMMIT_MEDIA = "store/commit_media.c"
COMMIT_READ = "store/commit_read.c"
COMMIT_ATTACH = "store/commit_attach.c"

DESIGNS = [
    Design("attach: repairs are not fenced before service",
        Edit("store/attach.c", """err = engine->ops->repair ? engine->ops->repair(engine, &flow) : 0;
	if (err)
		return err;
	crab_store_look(store);
	if (store->readonly)
		return 0;
	store->super.state = CRAB_SUPER_STATE_ATTACHED;
	store->super.engine_root = 0;
	if (!store->unfinished)
		crab_super_write(&flow, &store->super);""",
             """store->super.state = CRAB_SUPER_STATE_ATTACHED;
             store->super.engine_root = 0;
             crab_super_write(&flow, &store->super);
             err = engine->ops->repair ? engine->ops->repair(engine, &flow) : 0;
             if (err) return err""")),
    Design("attach: the state of the superblock is not changed from \"clean\" to \"attached\"",
        Edit("store/attach.c", "store->super.state = CRAB_SUPER_STATE_ATTACHED;", "")),
    Design("restore: attach writes the superblock of an unfinished store",
        Edit("store/attach.c", "if (!store->unfinished)\n\t\tcrab_super_write(&flow, &store->super);",
             "crab_super_write(&flow, &store->super)")),
    Design("restore: detach writes the superblock of an unfinished store",
        Edit("store/attach.c", "store && !store->readonly && !store->unfinished", "store && !store->readonly")),
    Design("restore: FINISH writes superblocks that are \"clean\"",
        Edit("store/finish.c", "crab_flow_pin();",
             "crab_flow_pin(); store->super.state = CRAB_SUPER_STATE_CLEAN")),
    Design("restore: FINISH writes one superblock",
        Edit("store/finish.c", "crab_super_write(&flow, &store->super);\n\tcrab_flow_unpin();",
             "crab_flow_unpin()")),
    Design("superblock: the copy in use is overwritten",
        Edit("shared/super.c", "super->copy = (super->copy + 1) % CRAB_SUPER_COPIES;", "")),
    Design("superblock: the sequence stays as it is",
        Edit("shared/super.c", "super->sequence++;", "")),
    Design("pool: a leaf is handed out without being marked as taken",
        Edit("shared/pool.c", "pool_take(pool, leaf);\n\treturn leaf;",
             "pool->free--; return leaf")),
    Design("blobs: the word is stored before the blob",
        Edit(BLOB, """crab_blob_store(blobs, flow, place, birth, put);
	/* P15: the blob is whole before a word names it */
	crab_fence(flow, CRAB_P15_BLOB);
	crab_flow_unpin();
	err = crab_blob_note(store, CRAB_VERB_INSERT, put) ?:
	      blobs->raw->insert(store->engine, flow, put->key,
				 crab_blob_word(blobs, place, birth), CRAB_INSERT_EITHER, &old);""",
             """crab_flow_unpin();
             err = blobs->raw->insert(store->engine, flow, put->key,
                                      crab_blob_word(blobs, place, birth), CRAB_INSERT_EITHER, &old);
             crab_flow_pin();
             if (!err) crab_blob_store(blobs, flow, place, birth, put);
             crab_fence(flow, CRAB_P15_BLOB);
             crab_flow_unpin()""")),
    Design("blobs: the old extent is free before the engine has replaced its word",
        Edit(BLOB, """crab_commit_extent(store, crab_blob_size(put), &place)""",
             """({ if (!blobs->raw->lookup(store->engine, put->key, &birth))
                     crab_extents_free(&blobs->extents, birth & CRAB_PLACE_MASK);
                 crab_commit_extent(store, crab_blob_size(put), &place); })"""),
        Edit(BLOB, "crab_blob_done(store, CRAB_VERB_INSERT, put, place, &old);",
             "put->existed = old.existed")),
    Design("blobs: attach begins again with births that were used",
        Edit(BLOB_ATTACH, "blobs->birth = births << CRAB_BIRTHS_SHIFT;",
             "blobs->birth = (births - 1) << CRAB_BIRTHS_SHIFT")),
    Design("blobs: births are used before the number on the media is raised",
        Edit(BLOB_MEDIA, "if (blobs->birth == blobs->birth_end)\n\t\tbirths_raise(blobs, flow);",
             "if (blobs->birth > blobs->birth_end) births_raise(blobs, flow)")),
    Design("blobs: attach does not mark the extents that words name",
        Edit(BLOB_ATTACH, "crab_extents_mark(extents, place)", "0")),
    Design("blobs: attach does not borrow the slabs from the pool",
        Edit("shared/pool.c", "pool_borrow(pool, leaf);", "")),
    Design("blobs: the crc is not compared",
        Edit(BLOB_MEDIA, "(u32)~crc != head[HEAD_SEAL] >> 32", "false && crc")),
    Design("blobs: the birth is not compared",
        Edit(BLOB_MEDIA, "word == crab_blob_word(blobs, place, head[HEAD_BIRTH])",
             "true")),
    Design("evacuation: the word is replaced before the copy is stored",
        Edit(EVACUATE, "crab_blob_store(blobs, flow, to, get->version, &put);", ""),
        Edit(EVACUATE, "crab_fence(flow, CRAB_P15_BLOB);", ""),
        Edit(EVACUATE, "crab_blob_replaced(blobs, get->key, to, word);",
             """({ crab_flow_pin();
                crab_blob_store(blobs, flow, to, get->version, &put);
                crab_fence(flow, CRAB_P15_BLOB);
                crab_flow_unpin();
                crab_blob_replaced(blobs, get->key, to, word); })""")),
    Design("names: attach does not read the names",
        Edit(BLOB_ATTACH, "return store->blobs->named ? crab_names_read(store, r) : 0;", "return 0")),
    Design("commits: the list is cleared before its writes are done",
        Edit(COMMIT, "err = crab_commit_apply(store->engine, flow, commit->ops, commit->n);",
             "list_clear(store, flow); err = crab_commit_apply(store->engine, flow, commit->ops, commit->n)")),
    Design("commits: a write is done before the list is durable",
        Edit(COMMIT, "list_store(store, flow);",
             """({ struct crab_old old;
                if (commit->ops[0].verb == CRAB_VERB_INSERT)
                    store->engine->own->insert(store->engine, flow, commit->ops[0].key,
                                               commit->ops[0].value, CRAB_INSERT_EITHER, &old);
                list_store(store, flow); })""")),
    Design("commits: the list is not cleared: attach undoes a later write",
        Edit(COMMIT, "list_clear(store, flow);", "")),
    Design("commits: the clearing is not durable when the next write begins",
        Edit(COMMIT, "crab_fence(flow, CRAB_P22_UNLISTED);", "")),
    Design("commits: the count is cleared instead of the check",
        Edit(COMMIT_MEDIA, "list_at(flow->media) + LIST_CHECK", "list_at(flow->media) + LIST_COUNT")),
    Design("commits: the check is not compared",
        Edit(COMMIT_MEDIA, "check != list_check(store_id, list)", "false")),
    Design("commits: attach clears the list before it has done the writes",
        Edit(COMMIT_ATTACH, "list = &commits->list;",
             "list = &commits->list; crab_commit_void(flow); crab_fence(flow, CRAB_P22_UNLISTED)")),
    Design("commits: attach adds to a value that it finds: a second redo differs",
        Edit(COMMIT_ATTACH, "err = crab_commit_apply(store->engine, flow, &op, 1);",
             """({ u64 value = 0;
                store->engine->own->lookup(store->engine, op.key, &value);
                op.value += value == op.value;
                err = crab_commit_apply(store->engine, flow, &op, 1); })""")),
    Design("commits: attach believes a check of 0 that only the caches hold",
        Edit(COMMIT_ATTACH, """if (crab_commits_in_force(commits))
		crab_commit_clean(flow, commits->list.n);
	else
		crab_commit_void(flow);""",
             """if (crab_commits_in_force(commits)) crab_commit_clean(flow, commits->list.n);
             else if (crab_load(store->media, (const __le64 *)(store->media->base + CRAB_COMMIT_OFFSET)))
                 crab_commit_void(flow)""")),
    Design("commits: attach does only the first write of a list",
        Edit(COMMIT_ATTACH, "i < list->n && !err", "i < 1 && !err")),
    Design("commits: attach stores a value for a key that a list removes",
        Edit(COMMIT_ATTACH, "list->removes >> i & 1 ? CRAB_VERB_DELETE : CRAB_VERB_INSERT", "CRAB_VERB_INSERT")),
    Design("commits: a store that is read-only does not see the list",
        Edit(COMMIT_ATTACH, "found > 0", "found > 0 && !store->readonly")),
    Design("commits: a condition is not tested",
        Edit(COMMIT, "return op_condition(&op->old, when);", "return 0")),
    Design("commits of values: an old extent is free before the list replaces its word",
        Edit(BLOB_COMMIT, "crab_commit_extent(store, crab_blob_size(&op->write), &op->place)",
             """({ u64 word;
                if (!store->blobs->raw->lookup(store->engine, op->write.key, &word))
                    crab_extents_free(&store->blobs->extents, word & CRAB_PLACE_MASK);
                crab_commit_extent(store, crab_blob_size(&op->write), &op->place); })"""),
        Edit(BLOB_COMMIT, """crab_blob_done(store, op->verb, &op->write,
			       op->verb == CRAB_VERB_INSERT ? op->place : CRAB_NO_EXTENT,
			       &word->old);""", "")),
    Design("commits of values: attach marks the extents that the list replaces, and not those of the list",
        Edit(BLOB_ATTACH, "crab_cursor_scan_twice(store->engine, raw, &cursor, records, ATTACH_CHUNK)",
             "crab_cursor_scan(store->engine, store->engine->own, &cursor, records, ATTACH_CHUNK)")),
    Design("commits of values: a condition is not tested",
        Edit(BLOB_COMMIT, "return crab_blob_permitted(store, write) ?: op_listed(store, op);", "return 0")),
    Design("commits of values: an extent of the list is free once it is applied",
        Edit(BLOB_COMMIT, "commit_done(store, commit);",
             "({ commit_done(store, commit); commit_free(store, commit, commit->n); })")),
]

BIRTHS = ("the fence of the blob that follows completes the clean, too; another thread that uses a birth "
          "of the block depends on it: make races")

EVACUATED = "the slab is not emptied, and no content changes; test_blob counts the slabs that return"

LISTED = ("a list that counts is in a store that was not detached: the P4 of the engine fastfair completes "
          "the clean before repair makes a node, and P3 before any other write")

# As in engines/E/designs.py
HARMLESS = [
    ("extent_evacuate", "blob_move(store, flow, word, &get)", "left out", EVACUATED),
    ("evacuate_part", "extent_evacuate(store, flow, place, buffer)", "left out", EVACUATED),
    ("births_raise", "crab_clean(flow, at, sizeof(*at)) / crab_fence(flow, CRAB_P15_BLOB)", "exchanged",
     BIRTHS),
    ("births_raise", "crab_fence(flow, CRAB_P15_BLOB)", "left out", BIRTHS),
    ("births_raise", "crab_fence(flow, CRAB_P15_BLOB)", "a store barrier instead", BIRTHS),
    ("attach_write", "crab_commits_prepare(store, &flow) / crab_super_flush(&flow)", "exchanged", LISTED),
]

SUBJECTS = {
    "index: a node is freed while readers are in it": ("slotted, a high index", 1),
}

RACES = [
    Design("index: a node is freed while readers are in it",
        Edit(INDEX, "kfree_rcu(node, rcu);", "kfree(node)")),
    Design("test_index: an emptied node is retired before the node above it is out of the tree",
        Edit(INDEX, "node_remove_at(node, path.pos[level]);",
             """node_remove_at(node, path.pos[level]);
             if (!node->count && node != index->root) node_retire(index, node)"""),
        Edit(INDEX, "for (emptied = 0; emptied < level; emptied++)\n\t\tnode_retire(index, path.node[emptied]);",
             "")),
    Design("test_index: a shortcut to a leaf stays when the index has it no more",
        Edit(INDEX, "index->entries--;\n\tcrab_shortcut_update(index, low);", "index->entries--")),
    Design("test_index: a shortcut to a leaf stays when another one replaces it",
        Edit(INDEX, "node_put(path.node[0], path.pos[0], path.node[0]->keys[path.pos[0]], leaf);\n"
                    "\tcrab_shortcut_update(index, low);",
             "node_put(path.node[0], path.pos[0], path.node[0]->keys[path.pos[0]], leaf)")),
    Design("test_index: a change is followed in one bucket only",
        Edit(SHORTCUT, "++bucket < end && walk.next != bucket", "false")),
    Design("test_index: a table of shortcuts is freed while readers are in it",
        Edit(SHORTCUT, "poll_state_synchronize_rcu(READ_ONCE(index->cookie))", "true")),
    Design("index: a key is stored before its child",
        Edit(INDEX, "smp_store_release(&node->children[pos], child);",
             "smp_store_release(&node->keys[pos], key); smp_store_release(&node->children[pos], child)")),
    Design("test_blob_snap: the extent of an old blob is free at once",
        Edit(BLOB, "kept = own && crab_snap_keep(store->gate, write->key, old->value);",
             "kept = false")),
    Design("test_blob_snap: an erase notes no old blob",
        Edit(BLOB, "crab_blob_note(store, CRAB_VERB_DELETE, erase)", "0")),
    Design("test_blob_snap: a note is no owner",
        Edit(SNAP, "note->owns = true;", "")),
    Design("test_blob_snap: the extents of notes are never free",
        Edit(SNAP, "if (blobs)\n\t\tcrab_blob_replaced(blobs, note->key, CRAB_NO_EXTENT, note->value);", "")),
    Design("test_blob_snap: a note owns the extent of a later blob",
        Edit(SNAP, "note && !note->absent && note->value == word", "!!note")),
    Design("test_blob_snap: a put without memory ends no snapshot",
        Edit(EVACUATE, "crab_store_is_gated(store) && crab_snap_give(store->gate)", "false"),
        Edit(EVACUATE, "more == -EBUSY", "more == -EBUSY && (more = 0, false)")),
    Design("test_blob_snap: a put without memory ends all snapshots",
        Edit(SNAP, "while (end && !gate->spare.root && gate->owned && !list_empty(&gate->snaps))\n"
                   "\t\tsnap_end_locked(gate, -ESTALE);",
             "while (end && gate->owned && !list_empty(&gate->snaps)) snap_end_locked(gate, -ESTALE)")),
    Design("test_blob_snap: the notes of a closed snapshot are lost to an older one",
        Edit(NOTES, "crab_notes_find(to, one.root->key)", "one.root")),
    Design("test_blob_snap: a note of a closed snapshot hides that of an older one",
        Edit(NOTES, "crab_notes_find(to, one.root->key)", "NULL")),
    Design("test_blob_snap: a name that is erased is in no list of a snapshot",
        Edit(NAMED, "!crab_snap_any(store) || before", "true")),
    Design("test_blob_snap: names that only a snapshot had stay",
        Edit(SNAP, "crab_names_forget(store);", "")),
    Design("test_blob_snap: names that are erased take any memory",
        Edit(NAMED, "erased->dram > store->gate->most * CRAB_NOTE_BYTES", "false")),
    Design("test_blob_snap: a list of a snapshot has the present names",
        Edit(BLOB_SNAP, "crab_named_step(blobs, true, cursor)", "crab_named_step(blobs, false, cursor)")),
    Design("test_blob_snap: a read does not notice that its snapshot has ended",
        Edit(BLOB_SNAP, "crab_snap_state(snap) ?: err", "err")),
    Design("test_commit_tasks: readers do not use the list that is in force",
        Edit(COMMIT_READ, "view->read(engine, view, turn & 1)", "view->read(engine, view, false)")),
    Design("test_commit_tasks: a reader does not notice that a commit came or went",
        Edit(COMMIT_READ, "READ_ONCE(commits->turn) == turn", "true")),
    Design("test_commit_tasks: a list is in force only once its writes are done",
        Edit(COMMIT, "crab_count_flow(store->engine, flow);\n\tcrab_commits_turn(commits);",
             "crab_count_flow(store->engine, flow)"),
        Edit(COMMIT, "list_clear(store, flow);",
             "crab_commits_turn(commits); list_clear(store, flow)")),
    Design("test_commit_tasks: a commit does not exclude other commits",
        Edit(COMMIT, "down_write(&store->commits->lock);", ""),
        Edit(COMMIT, "up_write(&store->commits->lock);", "")),
    Design("test_commit_tasks: a list is in force before it is durable",
        Edit(COMMIT, "list_store(store, flow);\n\tcrab_count_flow(store->engine, flow);\n"
                     "\tcrab_commits_turn(commits);",
             "crab_commits_turn(commits); list_store(store, flow); crab_count_flow(store->engine, flow)")),
    Design("test_value_tasks: births are used before their number on the media is durable",
        Edit(BLOB_MEDIA, "crab_fence(flow, CRAB_P15_BLOB);", "")),
    Design("test_value_tasks: a watch reports a put before it is durable",
        Edit(BLOB, "err = crab_blob_note(store, CRAB_VERB_INSERT, put) ?:\n"
                   "\t      blobs->raw->insert(store->engine, flow, put->key,\n"
                   "\t\t\t\t crab_blob_word(blobs, place, birth), CRAB_INSERT_EITHER, &old);",
             """put->version = birth;
             if (crab_store_is_gated(store)) write_report(store, CRAB_VERB_INSERT, put, 0);
             err = crab_blob_note(store, CRAB_VERB_INSERT, put) ?:
                   blobs->raw->insert(store->engine, flow, put->key,
                                      crab_blob_word(blobs, place, birth), CRAB_INSERT_EITHER, &old)""")),
    Design("test_value_tasks: a name is in the table before it has a value",
        Edit(NAMED, "err = err ?: crab_blob_put(store, put);\n\tif (!err)\n"
                    "\t\tcrab_names_add(&store->blobs->names, name);",
             """if (err) return err;
             crab_names_add(&store->blobs->names, name);
             up_write(&store->blobs->names_lock);
             err = crab_blob_put(store, put);
             down_write(&store->blobs->names_lock);
             if (err) crab_names_remove(&store->blobs->names, name)""")),
    Design("test_value_tasks: a name leaves the table before its record is gone",
        Edit(NAMED, "err = crab_blob_erase(store, erase);",
             """crab_names_remove(&blobs->names, name);
             up_write(&blobs->names_lock);
             err = crab_blob_erase(store, erase);
             down_write(&blobs->names_lock);
             crab_names_add(&blobs->names, name)""")),
    Design("test_value_tasks: a get does not notice that the blob was replaced",
        Edit(BLOB, "*moved = gone || again != word;", "*moved = gone && again != word")),
    Design("test_bank: a commit of values locks no keys",
        Edit(BLOB_COMMIT, "crab_stripes_lock(&blobs->many, blobs->stripes, stripes, CRAB_BLOB_STRIPES);", ""),
        Edit(BLOB_COMMIT, "crab_stripes_unlock(&blobs->many, blobs->stripes, stripes, CRAB_BLOB_STRIPES);", "")),
    Design("test_bank: a commit of values locks the key of its first operation only",
        Edit(BLOB_COMMIT, "crab_blob_stripe(blobs, key) - blobs->stripes",
             "crab_blob_stripe(blobs, commit->ops[0].write.key) - blobs->stripes")),
    Design("test_bank: the conditions of a commit of values are tested before its keys are locked",
        Edit(BLOB_COMMIT, "crab_stripes_lock(&blobs->many, blobs->stripes, stripes, CRAB_BLOB_STRIPES);",
             """err = commit_permitted(store, commit);
		crab_stripes_lock(&blobs->many, blobs->stripes, stripes, CRAB_BLOB_STRIPES)"""),
        Edit(BLOB_COMMIT, "commit_permitted(store, commit)", "err")),
    Design("test_bank: a commit of values notes no old blob",
        Edit(BLOB_COMMIT, "crab_blob_note(store, op->verb, &op->write)", "0")),
    Design("test_bank: a commit of names does not exclude the readers and writers of names",
        Edit(NAMED_COMMIT, "down_write(&store->blobs->names_lock);", ""),
        Edit(NAMED_COMMIT, "up_write(&store->blobs->names_lock);", "")),
    Design("ThreadSanitizer: an entry of the index does not publish its leaf or node",
        Edit(INDEX, "smp_store_release(&node->children[pos], child);",
             "WRITE_ONCE(node->children[pos], child)")),
]
