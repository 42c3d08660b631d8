// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements named values. Each is a blob that has its name; the table of names, in DRAM,
 * leads from a name to the key of its blob, and attach makes it from the blobs. Put and erase are
 * those of one blob, and so are their crash tables.
 *
 * Invariants: a name is in the table exactly if its blob is in the engine. The upper half of a key
 * is the crc32c of the name: a name that a changed word of the media makes is noticed, without a
 * reading of the value. Two names with the same crc have keys that differ in the lower half.
 *
 * A name that was erased while a snapshot is open moves to a second table, for the lists of the
 * snapshot.
 *
 * Locking: crab_blobs.names_lock, for reading, while a name is used, so that it stays; for writing,
 * while a name is added or removed. Within it the locks of blobs.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "blob_media.h"
#include "engines/counts.h"
#include "gate.h"
#include "media/crc.h"
#include "named_priv.h"
#include "snap.h"
#include "store_priv.h"

#define ATTACH_GFP	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

u64 crab_name_key(const char *name, u32 bytes)
{
	return (u64)~crab_crc32c(~0U, name, bytes) << 32;
}

static int named_begin(const struct crab_store *store, u32 name_bytes)
{
	if (!crab_store_has_names(store))
		return -EOPNOTSUPP;
	return name_bytes && name_bytes <= CRAB_NAME_MAX ? 0 : -EINVAL;
}

static int named_write_begin(const struct crab_store *store, struct crab_blob_write *write)
{
	int err = named_begin(store, write->name_bytes);

	write->existed = false;
	if (!err && READ_ONCE(store->readonly))
		err = -EROFS;
	return err;
}

/* The highest key of the names that have the same crc as @low */
static u64 key_last(u64 low)
{
	return min(low | U32_MAX, CRAB_KEY_EMPTY - 1);
}

int crab_name_choose(struct crab_store *store, struct crab_name *name)
{
	u64 low = crab_name_key(name->text, name->bytes), last = key_last(low);
	struct crab_record record;
	int err;

	err = crab_store_read_end(store, store->blobs->raw->seek(store->engine, last, CRAB_SEEK_LE,
								 &record));
	if (err && err != -ENOENT)
		return err;
	name->key = low;
	if (err || record.key < low)
		return 0;
	if (record.key >= last)
		return -ENOSPC;
	name->key = record.key + 1;
	return 0;
}

/* The value of a name that is in the table, which does not change */
static int put_known(struct crab_store *store, const struct crab_name *name,
		     struct crab_blob_write *put)
{
	put->key = name->key;
	put->listed = true;
	return crab_blob_put(store, put);
}

/* The first value of @name, which is in the table if 0 is returned */
static int put_first(struct crab_store *store, struct crab_name *name, struct crab_blob_write *put)
{
	int err = crab_name_choose(store, name);

	put->key = name->key;
	put->listed = false;
	err = err ?: crab_blob_put(store, put);
	if (!err)
		crab_names_add(&store->blobs->names, name);
	return err;
}

static int put_new(struct crab_store *store, struct crab_blob_write *put)
{
	struct crab_blobs *blobs = store->blobs;
	struct crab_name *name, *known;
	int err;

	if (put->mode == CRAB_INSERT_REPLACE || put->checked)
		return -ENOENT;
	name = crab_name_new(put->name, put->name_bytes, GFP_KERNEL);
	if (!name)
		return -ENOMEM;
	down_write(&blobs->names_lock);
	/* Another task may have added it */
	known = crab_names_find(&blobs->names, put->name, put->name_bytes);
	err = known ? put_known(store, known, put) : put_first(store, name, put);
	up_write(&blobs->names_lock);
	if (known || err)
		kfree(name);
	return err;
}

int crab_named_put(struct crab_store *store, struct crab_blob_write *put)
{
	int err = named_write_begin(store, put);
	struct crab_blobs *blobs = store->blobs;
	const struct crab_name *name;

	if (err)
		return err;
	down_read(&blobs->names_lock);
	name = crab_names_find(&blobs->names, put->name, put->name_bytes);
	if (name)
		err = put_known(store, name, put);
	up_read(&blobs->names_lock);
	return name ? err : put_new(store, put);
}

void crab_name_erased(struct crab_store *store, struct crab_name *name)
{
	struct crab_names *erased = &store->blobs->erased;
	struct crab_name *before;

	crab_names_remove(&store->blobs->names, name);
	before = crab_names_find(erased, name->text, name->bytes);
	if (before && before->key != name->key)
		before->key = CRAB_KEY_EMPTY;
	if (!crab_snap_any(store) || before) {
		kfree(name);
	} else {
		crab_names_add(erased, name);
		if (erased->dram > store->gate->most * CRAB_NOTE_BYTES)
			crab_snap_end_all(store->gate, -ESTALE);
	}
	/* A snapshot that is opened meanwhile is younger than all of these */
	if (!crab_snap_any(store))
		crab_names_destroy(erased);
}

int crab_named_erase(struct crab_store *store, struct crab_blob_write *erase)
{
	int err = named_write_begin(store, erase);
	struct crab_blobs *blobs = store->blobs;
	struct crab_name *name;

	if (err)
		return err;
	down_write(&blobs->names_lock);
	name = crab_names_find(&blobs->names, erase->name, erase->name_bytes);
	err = -ENOENT;
	if (name) {
		erase->key = name->key;
		erase->listed = true;
		err = crab_blob_erase(store, erase);
	}
	if (!err)
		crab_name_erased(store, name);
	up_write(&blobs->names_lock);
	return err;
}

void crab_names_forget(struct crab_store *store)
{
	struct crab_blobs *blobs = store->blobs;
	struct crab_names erased = { };

	if (!crab_store_has_names(store))
		return;
	down_write(&blobs->names_lock);
	if (!crab_snap_any(store)) {
		erased = blobs->erased;
		crab_names_clear(&blobs->erased);
	}
	up_write(&blobs->names_lock);
	crab_names_destroy(&erased);
}

/* The blob of a key has another name: the media has changed */
static bool name_differs(const struct crab_name *name, const struct crab_blob_read *get)
{
	return get->name_bytes != name->bytes || memcmp(get->name, name->text, name->bytes);
}

int crab_named_get(struct crab_store *store, const char *name, u32 name_bytes,
		   struct crab_blob_read *get)
{
	int err = named_begin(store, name_bytes);
	struct crab_blobs *blobs = store->blobs;
	const struct crab_name *known;
	char text[CRAB_NAME_MAX];

	if (err)
		return err;
	get->name = text;
	down_read(&blobs->names_lock);
	known = crab_names_find(&blobs->names, name, name_bytes);
	if (known) {
		get->key = known->key;
		err = crab_store_listed(true, crab_blob_get(store, get));
		if ((!err || err == -EMSGSIZE) && name_differs(known, get))
			err = -EUCLEAN;
	} else {
		crab_count(store->engine, searches, 1);
		/* A name that attach could not read may be this one */
		err = blobs->unnamed ? -EUCLEAN : -ENOENT;
	}
	up_read(&blobs->names_lock);
	get->name = NULL;
	return err;
}

void crab_named_cursor_init(struct crab_named_cursor *cursor, const char *start, u32 start_bytes,
			    const char *end, u32 end_bytes)
{
	*cursor = (struct crab_named_cursor){ .bytes = start_bytes, .end_bytes = end_bytes };
	memcpy(cursor->text, start, start_bytes);
	memcpy(cursor->end, end, end_bytes);
}

void crab_named_cursor_prefix(struct crab_named_cursor *cursor)
{
	u32 bytes = min(cursor->bytes, cursor->end_bytes);
	int order = memcmp(cursor->text, cursor->end, bytes);

	cursor->prefix = true;
	if (order > 0 || (!order && cursor->bytes >= cursor->end_bytes))
		return;
	/* No name before the prefix begins with it */
	memcpy(cursor->text, cursor->end, cursor->end_bytes);
	cursor->bytes = cursor->end_bytes;
	cursor->after = false;
}

/* Is a name within the end of a list? */
static bool name_is_wanted(const struct crab_named_cursor *cursor, const struct crab_name *name)
{
	u32 bytes = min_t(u32, cursor->end_bytes, name->bytes);
	int order = memcmp(name->text, cursor->end, bytes);

	if (cursor->prefix)
		return !order;	/* the list begins at the prefix: no name is shorter */
	return !cursor->end_bytes || order < 0 || (!order && name->bytes <= cursor->end_bytes);
}

static void entry_fill(struct crab_store *store, const struct crab_name *name,
		       struct crab_named_entry *entry)
{
	struct crab_blob_read get = { .key = name->key };

	*entry = (struct crab_named_entry){ .name_bytes = name->bytes };
	memcpy(entry->text, name->text, name->bytes);
	crab_named_fill(entry, &get, crab_store_listed(true, crab_blob_head(store, &get)));
}

const struct crab_name *crab_named_step(const struct crab_blobs *blobs, bool erased,
					struct crab_named_cursor *cursor)
{
	const struct crab_name *name, *gone = NULL;

	name = crab_names_next(&blobs->names, cursor->text, cursor->bytes, cursor->after);
	if (erased)
		gone = crab_names_next(&blobs->erased, cursor->text, cursor->bytes, cursor->after);
	if (gone && (!name || crab_name_compare(name, gone->text, gone->bytes) < 0))
		name = gone;
	if (!name || !name_is_wanted(cursor, name))
		return NULL;
	memcpy(cursor->text, name->text, name->bytes);
	cursor->bytes = name->bytes;
	cursor->after = true;
	return name;
}

int crab_named_next(struct crab_store *store, struct crab_named_cursor *cursor,
		    struct crab_named_entry *entry)
{
	struct crab_blobs *blobs = store->blobs;
	const struct crab_name *name;

	if (!crab_store_has_names(store))
		return -EOPNOTSUPP;
	down_read(&blobs->names_lock);
	name = crab_named_step(blobs, false, cursor);
	if (name)
		entry_fill(store, name, entry);
	up_read(&blobs->names_lock);
	return name ? 1 : blobs->unnamed ? -EUCLEAN : 0;
}

u64 crab_names_dram(struct crab_store *store)
{
	const struct crab_blobs *blobs = store->blobs;

	if (!crab_store_has_names(store))
		return 0;
	/* Without names_lock: a writer may hold it for long, and callers may hold locks */
	return READ_ONCE(blobs->names.dram) + READ_ONCE(blobs->erased.dram);
}

/* Notes the damage of a record: some name is unknown from now on */
static void name_damaged(struct crab_store *store, const struct crab_record *record,
			 const char *what)
{
	struct crab_blobs *blobs = store->blobs;

	blobs->unnamed = true;
	crab_damage_note(&store->engine->damage,
			 crab_extent_offset(&blobs->extents, record->value & CRAB_PLACE_MASK),
			 "the name of key 0x%llx %s", (unsigned long long)record->key, what);
}

int crab_names_read(struct crab_store *store, const struct crab_record *record)
{
	struct crab_names *names = &store->blobs->names;
	char text[CRAB_NAME_MAX];
	struct crab_blob_read get = { .key = record->key, .name = text };
	struct crab_name *name;

	/*
	 * The media has changed since the engine read the leaf if this is the reserved key. Failing
	 * memory may return a word of the blob otherwise once
	 */
	if (record->key == CRAB_KEY_EMPTY ||
	    (crab_blob_load_name(store->blobs, record->value, &get) &&
	     crab_blob_load_name(store->blobs, record->value, &get))) {
		name_damaged(store, record, "is damaged");
		return 0;
	}
	if (crab_names_find(names, text, get.name_bytes)) {
		name_damaged(store, record, "is that of another key");
		return 0;
	}
	crab_blob_check_birth(store->blobs, &get, &store->engine->damage);
	name = crab_name_new(text, get.name_bytes, ATTACH_GFP);
	if (!name)
		return -ENOMEM;
	name->key = record->key;
	crab_names_add(names, name);
	return 0;
}
