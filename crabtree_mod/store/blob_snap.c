// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the reads of blobs and of named values as of a snapshot.
 *
 * Invariants: while a snapshot holds, the word of a key is constant in it, and the extent that the
 * word names is not free (snap.c). So a blob that was read is right if the snapshot still holds
 * afterwards. Every name of the snapshot is in one of the two tables of names, with its key, unless
 * it was erased under several keys; the blobs that the snapshot has show whether it has the name.
 *
 * Locking: crab_blobs.names_lock, for reading, while a name of the tables is used.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "blob_media.h"
#include "blob_snap.h"
#include "engines/counts.h"
#include "named_priv.h"
#include "snap_priv.h"
#include "store_priv.h"

#define LIST_CHUNK	32	/* records of one read */

/* The result of a read, which counts only if the snapshot still holds */
static int snap_result(struct crab_snap *snap, int err)
{
	return crab_snap_state(snap) ?: err;
}

int crab_snap_get(struct crab_store *store, struct crab_snap *snap, struct crab_blob_read *get)
{
	u64 word;
	int err;

	if (!store->blobs)
		return -EOPNOTSUPP;
	if (get->key != CRAB_KEY_EMPTY)
		crab_count(store->engine, searches, 1);
	err = crab_snap_lookup(store, snap, get->key, &word);
	if (!err)
		err = crab_blob_load(store->blobs, word, get);
	return snap_result(snap, err);
}

static void entry_load(const struct crab_blobs *blobs, const struct crab_record *record,
		       struct crab_blob_entry *entry)
{
	struct crab_blob_read get = { .key = record->key };
	int err = crab_blob_load_head(blobs, record->value, &get);

	*entry = (struct crab_blob_entry){
		.key = record->key, .version = get.version, .bytes = get.bytes, .err = err,
	};
}

int crab_snap_list(struct crab_store *store, struct crab_snap *snap, struct crab_cursor *cursor,
		   struct crab_blob_entry *entries, u32 cap)
{
	struct crab_record records[LIST_CHUNK];
	int i, n;

	if (!store->blobs)
		return -EOPNOTSUPP;
	n = crab_snap_read(store, snap, cursor, records, min_t(u32, cap, LIST_CHUNK));
	for (i = 0; i < n; i++)
		entry_load(store->blobs, &records[i], &entries[i]);
	return snap_result(snap, n);
}

/**
 * struct search - a search for the blob that a name had in a snapshot
 * @store: the store
 * @snap: the snapshot
 * @name: the name
 * @name_bytes: its length
 * @get: out: its key, and the header of its blob
 * @word: out: the word that names the blob
 */
struct search {
	struct crab_store *store;
	struct crab_snap *snap;
	const char *name;
	u32 name_bytes;
	struct crab_blob_read *get;
	u64 word;
};

/* 0 if it is the blob of the name, else -ENOENT. -EUCLEAN: it cannot be read, so it may be */
static int name_compare(struct search *search, u64 word)
{
	struct crab_blob_read *get = search->get;
	int err = crab_blob_load_name(search->store->blobs, word, get);

	search->word = word;
	if (err)
		return err;
	return get->name_bytes == search->name_bytes &&
	       !memcmp(get->name, search->name, search->name_bytes) ? 0 : -ENOENT;
}

/* word_find() under one key; CRAB_KEY_EMPTY: none */
static int word_at(struct search *search, u64 key)
{
	u64 word;
	int err;

	if (key == CRAB_KEY_EMPTY)
		return -ENOENT;
	search->get->key = key;
	err = crab_snap_lookup(search->store, search->snap, key, &word);
	return err ?: name_compare(search, word);
}

/* word_find() among all keys that the name can have */
static int word_search(struct search *search)
{
	u64 key = crab_name_key(search->name, search->name_bytes), last = key | U32_MAX;
	struct crab_record record;
	int err = 0, result = -ENOENT;

	while (!err && key != CRAB_KEY_EMPTY) {
		err = crab_snap_find(search->store, search->snap, key, CRAB_SEEK_GE, &record);
		if (err || record.key > last)
			break;
		search->get->key = record.key;
		err = name_compare(search, record.value);
		if (!err)
			return 0;
		if (err != -ENOENT)
			result = err;
		key = record.key + 1;
		err = crab_store_pause(search->store);
	}
	return err && err != -ENOENT ? err : result;
}

/**
 * struct keys - the keys that a name has in the snapshots that are open
 * @now: that of its value, or CRAB_KEY_EMPTY
 * @erased: that under which it was erased, or CRAB_KEY_EMPTY
 * @several: it was erased under several keys
 */
struct keys {
	u64 now;
	u64 erased;
	bool several;
};

static struct keys keys_of(struct crab_blobs *blobs, const char *name, u32 name_bytes)
{
	const struct crab_name *now, *erased;
	struct keys keys;

	down_read(&blobs->names_lock);
	now = crab_names_find(&blobs->names, name, name_bytes);
	erased = crab_names_find(&blobs->erased, name, name_bytes);
	keys.now = now ? now->key : CRAB_KEY_EMPTY;
	keys.erased = erased ? erased->key : CRAB_KEY_EMPTY;
	keys.several = erased && erased->key == CRAB_KEY_EMPTY;
	up_read(&blobs->names_lock);
	return keys;
}

/* The word that a name had */
static int word_find(struct search *search)
{
	struct crab_blobs *blobs = search->store->blobs;
	const struct keys keys = keys_of(blobs, search->name, search->name_bytes);
	int err = word_at(search, keys.now), before;

	/* A name that no write has added since has a record, unless the media has changed */
	if (err == -ENOENT && keys.now != CRAB_KEY_EMPTY &&
	    !crab_snap_is_noted(search->snap, keys.now))
		return -EUCLEAN;
	if (err != -ENOENT && err != -EUCLEAN)
		return err;
	before = keys.several ? word_search(search) : word_at(search, keys.erased);
	if (before != -ENOENT)
		return before;
	return blobs->unnamed ? -EUCLEAN : err;
}

int crab_snap_named_get(struct crab_store *store, struct crab_snap *snap, const char *name,
			u32 name_bytes, struct crab_blob_read *get)
{
	struct search search = {
		.store = store, .snap = snap, .name = name, .name_bytes = name_bytes, .get = get,
	};
	char text[CRAB_NAME_MAX];
	int err;

	if (!crab_store_has_names(store))
		return -EOPNOTSUPP;
	if (!name_bytes || name_bytes > CRAB_NAME_MAX)
		return -EINVAL;
	crab_count(store->engine, searches, 1);
	get->name = text;
	err = word_find(&search);
	if (!err)
		err = crab_blob_load(store->blobs, search.word, get);
	get->name = NULL;
	return snap_result(snap, err);
}

/* The next name that may have been there; it is copied to @entry */
static bool next_candidate(struct crab_blobs *blobs, struct crab_named_cursor *cursor,
			   struct crab_named_entry *entry)
{
	const struct crab_name *name;

	down_read(&blobs->names_lock);
	name = crab_named_step(blobs, true, cursor);
	if (name) {
		*entry = (struct crab_named_entry){ .name_bytes = name->bytes };
		memcpy(entry->text, name->text, name->bytes);
	}
	up_read(&blobs->names_lock);
	return name;
}

int crab_snap_named_next(struct crab_store *store, struct crab_snap *snap,
			 struct crab_named_cursor *cursor, struct crab_named_entry *entry)
{
	char text[CRAB_NAME_MAX];
	struct crab_blob_read get;
	struct search search = {
		.store = store, .snap = snap, .name = entry->text, .get = &get,
	};
	int err;

	if (!crab_store_has_names(store))
		return -EOPNOTSUPP;
	while (next_candidate(store->blobs, cursor, entry)) {
		get = (struct crab_blob_read){ .name = text };
		search.name_bytes = entry->name_bytes;
		err = word_find(&search);
		if (!err || err == -EUCLEAN) {
			crab_named_fill(entry, &get, err);
			return snap_result(snap, 0) ?: 1;
		}
		if (err == -ENOENT) {
			err = crab_store_pause(store);
		} else {
			/* The next call begins with this name */
			cursor->after = false;
		}
		if (err)
			return snap_result(snap, err);
	}
	return snap_result(snap, store->blobs->unnamed ? -EUCLEAN : 0);
}
