// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the verbs on blobs: put, erase, get, list, and the check of all blobs.
 *
 * Invariants: a record's value is the word of its blob. The engine commits a put and an erase by
 * its own protocol for one record. An extent is free again only when the engine has returned: no
 * power cut can make a record name it from then on. And only if the blob in it is the one that the
 * old word names: a word that has changed on the media may name the extent of another key. Then no
 * extent is free before the next attach.
 *
 * Readers take no lock. They load the word again after the blob: if it is the same, the blob was
 * not overwritten meanwhile, since no two blobs have the same birth, and a blob that moves never
 * comes back to a place (evacuate.c); otherwise they begin again.
 * Pairs with the order of a writer: the new word is durable before the old extent is written.
 *
 * The stripes are those of the gate, too (gate.h): a write notes the old word for snapshots, and
 * reports to watches, while it holds the stripe.
 *
 * Locking: one of crab_blobs.stripes, by the key, for a put, an erase, and a reader that lost too
 * often; the locks of extents, births, notes and watches inside.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "blob_media.h"
#include "blob_priv.h"
#include "commit_priv.h"
#include "engines/counts.h"
#include "snap.h"
#include "store_priv.h"
#include "watch.h"

#define BLOB_TRIES	4	/* of a reader, before it takes the lock */
#define BLOB_CHUNK	32	/* records of one scan */

static_assert(!(CRAB_BLOB_STRIPES & (CRAB_BLOB_STRIPES - 1)));

bool crab_store_has_blobs(const struct crab_store *store)
{
	return store->blobs;
}

bool crab_store_has_names(const struct crab_store *store)
{
	return store->blobs && store->blobs->named;
}

u32 crab_blob_most(const struct crab_store *store, u32 name_bytes)
{
	const struct crab_blob_write named = { .name_bytes = name_bytes };

	if (!store->blobs)
		return 0;
	return min_t(u32, CRAB_BLOB_BYTES_MAX, store->blobs->extents.slab_lines * CRAB_LINE -
					       crab_blob_size(&named));
}

struct mutex *crab_blob_stripe(struct crab_blobs *blobs, u64 key)
{
	return &blobs->stripes[(key * 0x9e3779b97f4a7c15ULL >> 32) & (CRAB_BLOB_STRIPES - 1)];
}

static int blob_begin(const struct crab_store *store, u64 key)
{
	if (!store->blobs)
		return -EOPNOTSUPP;
	return key == CRAB_KEY_EMPTY ? -EINVAL : 0;
}

static int write_begin(const struct crab_store *store, struct crab_blob_write *write)
{
	write->existed = false;
	return blob_begin(store, write->key);
}

void crab_blobs_drain(struct crab_blobs *blobs)
{
	u32 i;

	for (i = 0; i < CRAB_BLOB_STRIPES; i++) {
		mutex_lock(&blobs->stripes[i]);
		mutex_unlock(&blobs->stripes[i]);
	}
}

/*
 * The births of a key ascend, unless the media has an older number of births again: then a version
 * that programs know could be that of another value
 */
static int birth_ascends(struct crab_store *store, const struct crab_blob_read *was, u64 next)
{
	if (likely(was->version < next))
		return 0;
	return crab_engine_damaged(store->engine, CRAB_BLOBS_OFFSET +
				   offsetof(struct crab_dblobs, births),
				   "key 0x%llx has a birth that is to come",
				   (unsigned long long)was->key);
}

/* Is the blob of an existing key the one that the caller expects? */
static int version_is(struct crab_store *store, u64 word, const struct crab_blob_write *write)
{
	struct crab_blob_read get = { .key = write->key };
	int err = crab_blob_load_head(store->blobs, word, &get);

	return err ?: get.version != write->version ? -ESTALE :
	       birth_ascends(store, &get, READ_ONCE(store->blobs->birth));
}

/*
 * Is the blob under the key of a name that the table has that of another name? If the media loses a
 * record, a new name with the same crc gets its key
 */
static int name_is_own(const struct crab_blobs *blobs, u64 word,
		       const struct crab_blob_write *write)
{
	char name[CRAB_NAME_MAX];
	struct crab_blob_read get = { .key = write->key, .name = name };

	if (!write->listed ||
	    crab_blob_is_named(blobs, word, write->name, write->name_bytes))
		return 0;
	/* A damaged blob may be replaced and erased */
	return crab_blob_load_name(blobs, word, &get) ? 0 : -EUCLEAN;
}

/* The conditions of a write. The stripe is locked, so they hold until it ends */
int crab_blob_permitted(struct crab_store *store, struct crab_blob_write *write)
{
	bool any = write->mode == CRAB_INSERT_EITHER && !write->checked;
	struct crab_blobs *blobs = store->blobs;
	u64 word;
	int err;

	if (any && !write->listed)
		return 0;
	err = blobs->raw->lookup(store->engine, write->key, &word);
	if (any)
		return err ? 0 : name_is_own(blobs, word, write);
	err = crab_store_listed(write->listed, err) ?: name_is_own(blobs, word, write);
	write->existed = !err;
	if (err == -ENOENT)
		return write->checked || write->mode == CRAB_INSERT_REPLACE ? -ENOENT : 0;
	if (!err && write->mode == CRAB_INSERT_CREATE)
		return -EEXIST;
	return err || !write->checked ? err : version_is(store, word, write);
}

/* Once crab_blobs_drain() has returned, the write of a store that became read-only is refused */
static int write_permitted(struct crab_store *store, struct crab_blob_write *write)
{
	return READ_ONCE(store->readonly) ? -EROFS : crab_blob_permitted(store, write);
}

int crab_blob_note(struct crab_store *store, enum crab_verb verb,
		   const struct crab_blob_write *write)
{
	if (likely(!crab_store_is_gated(store)))
		return 0;
	return crab_snap_note(store->gate, &(struct crab_batch_op){
		.verb = verb, .key = write->key, .mode = CRAB_INSERT_EITHER,
	}, write->listed);
}

/* For watches: the values of a change are versions; @was: that of the old blob, or 0 */
static void write_report(struct crab_store *store, enum crab_verb verb,
			 const struct crab_blob_write *write, u64 was)
{
	struct crab_change change = {
		.key = write->key, .verb = verb, .type = write->type,
		.value = verb == CRAB_VERB_INSERT ? write->version : 0, .old = was,
		.name = write->name, .name_bytes = write->name_bytes,
		.flags = write->existed ? CRAB_CHANGE_EXISTED : 0,
	};

	crab_watch_report_one(store->gate, &change);
}

/* A word that has been replaced */
struct replaced {
	const struct crab_blobs *blobs;
	u64 key;
	u64 word;
};

static bool blob_is_old(const void *arg)
{
	const struct replaced *old = arg;
	struct crab_blob_read was = { .key = old->key };

	return !crab_blob_load_head(old->blobs, old->word, &was);
}

void crab_blob_replaced(struct crab_blobs *blobs, u64 key, u64 now, u64 word)
{
	const struct replaced old = { .blobs = blobs, .key = key, .word = word };

	crab_extents_replace(&blobs->extents, now, word & CRAB_PLACE_MASK, blob_is_old, &old);
}

void crab_blob_done(struct crab_store *store, enum crab_verb verb,
		    struct crab_blob_write *write, u64 now, const struct crab_old *old)
{
	struct crab_blob_read was = { .key = write->key };
	bool kept = false, own;

	own = old->existed && !crab_blob_load_head(store->blobs, old->value, &was);
	if (own)
		birth_ascends(store, &was, verb == CRAB_VERB_INSERT ? write->version :
						   READ_ONCE(store->blobs->birth));
	write->existed = old->existed;
	if (unlikely(crab_store_is_gated(store))) {
		write_report(store, verb, write, was.version);
		kept = own && crab_snap_keep(store->gate, write->key, old->value);
	}
	crab_blob_replaced(store->blobs, write->key, now,
			   own && !kept ? old->value : CRAB_NO_EXTENT);
}

/* A blob in a fresh extent, then the word; the stripe is locked */
static int put_locked(struct crab_store *store, struct crab_blob_write *put, struct crab_flow *flow)
{
	struct crab_blobs *blobs = store->blobs;
	struct crab_old old = { .existed = false };
	u64 place, birth;
	int err = write_permitted(store, put);

	if (!err)
		err = crab_commit_extent(store, crab_blob_size(put), &place);
	if (err)
		return err;
	crab_flow_pin();
	birth = crab_blob_birth(blobs, flow);
	crab_blob_store(blobs, flow, place, birth, put);
	/* P15: the blob is whole before a word names it */
	crab_fence(flow, CRAB_P15_BLOB);
	crab_flow_unpin();
	err = crab_blob_note(store, CRAB_VERB_INSERT, put) ?:
	      blobs->raw->insert(store->engine, flow, put->key,
				 crab_blob_word(blobs, place, birth), CRAB_INSERT_EITHER, &old);
	if (err) {
		crab_extents_free(&blobs->extents, place);
		return err;
	}
	put->version = birth;
	crab_blob_done(store, CRAB_VERB_INSERT, put, place, &old);
	return 0;
}

int crab_blob_put(struct crab_store *store, struct crab_blob_write *put)
{
	struct crab_flow flow = { .media = store->media };
	int err = write_begin(store, put);
	struct mutex *stripe;
	bool waited = false;

	if (err)
		return err;
	if (put->bytes > crab_blob_most(store, put->name_bytes))
		return -EMSGSIZE;
	stripe = crab_blob_stripe(store->blobs, put->key);
	do {
		mutex_lock(stripe);
		err = put_locked(store, put, &flow);
		mutex_unlock(stripe);
		if (err == -ENOSPC)
			err = crab_blobs_make_room(store, &flow, &waited);
	} while (err == -EAGAIN);
	crab_store_settle(store, &flow);
	return err;
}

static int erase_locked(struct crab_store *store, struct crab_blob_write *erase,
			struct crab_flow *flow)
{
	struct crab_old old = { .existed = false };
	int err = write_permitted(store, erase);

	err = err ?: crab_blob_note(store, CRAB_VERB_DELETE, erase);
	if (err)
		return err;
	err = store->blobs->raw->remove(store->engine, flow, erase->key, &old);
	err = crab_store_listed(erase->listed, err);
	if (!err)
		crab_blob_done(store, CRAB_VERB_DELETE, erase, CRAB_NO_EXTENT, &old);
	return err;
}

int crab_blob_erase(struct crab_store *store, struct crab_blob_write *erase)
{
	struct crab_flow flow = { .media = store->media };
	int err = write_begin(store, erase);
	struct mutex *stripe;

	if (err)
		return err;
	erase->mode = CRAB_INSERT_EITHER;
	stripe = crab_blob_stripe(store->blobs, erase->key);
	mutex_lock(stripe);
	err = erase_locked(store, erase, &flow);
	mutex_unlock(stripe);
	crab_store_settle(store, &flow);
	return err;
}

/* Loads the blob of a key once; @moved: out: it may have been overwritten meanwhile */
static int get_once(struct crab_store *store, struct crab_blob_read *get, bool *moved)
{
	struct crab_blobs *blobs = store->blobs;
	u64 word, again;
	int err, gone;

	*moved = false;
	err = blobs->raw->lookup(store->engine, get->key, &word);
	if (err)
		return err;
	err = crab_blob_load(blobs, word, get);
	/* The word is loaded after the blob. Pairs with the fence of the engine in a put */
	smp_rmb();
	gone = blobs->raw->lookup(store->engine, get->key, &again);
	*moved = gone || again != word;
	return err;
}

static int blob_get(struct crab_store *store, struct crab_blob_read *get)
{
	struct mutex *stripe;
	bool moved;
	u32 tries;
	int err;

	for (tries = 0; tries < BLOB_TRIES; tries++) {
		err = get_once(store, get, &moved);
		if (!moved)
			return err;
	}
	stripe = crab_blob_stripe(store->blobs, get->key);
	mutex_lock(stripe);
	err = get_once(store, get, &moved);
	mutex_unlock(stripe);
	return err;
}

int crab_blob_get(struct crab_store *store, struct crab_blob_read *get)
{
	int err = blob_begin(store, get->key);

	if (err)
		return err;
	crab_count(store->engine, searches, 1);
	return crab_store_read_end(store, blob_get(store, get));
}

/*
 * The word of a key that a scan has found. In a slotted leaf that has changed on the media this may
 * be the reserved key, which no engine looks up
 */
static int word_found(struct crab_store *store, u64 key, u64 *word)
{
	if (unlikely(key == CRAB_KEY_EMPTY))
		return -EUCLEAN;
	return store->blobs->raw->lookup(store->engine, key, word);
}

/* No put comes in between: the words differ only if the media changes by itself */
static int head_locked(struct crab_store *store, struct crab_blob_read *get)
{
	struct mutex *stripe = crab_blob_stripe(store->blobs, get->key);
	u64 word;
	int err;

	mutex_lock(stripe);
	err = word_found(store, get->key, &word);
	if (!err)
		err = crab_blob_load_head(store->blobs, word, get);
	mutex_unlock(stripe);
	return err;
}

/* Loads the header of the blob that @word named: -ENOENT if its key was erased meanwhile */
static int head_follow(struct crab_store *store, u64 word, struct crab_blob_read *get)
{
	u32 tries;
	u64 again;
	int err, gone;

	for (tries = 0; tries < BLOB_TRIES; tries++) {
		err = crab_blob_load_head(store->blobs, word, get);
		/* As in get_once() */
		smp_rmb();
		gone = word_found(store, get->key, &again);
		if (gone || again == word)
			return gone == -ENOENT ? gone : err;
		word = again;
	}
	return head_locked(store, get);
}

int crab_blob_head(struct crab_store *store, struct crab_blob_read *get)
{
	u64 word;
	int err = store->blobs->raw->lookup(store->engine, get->key, &word);

	return crab_store_read_end(store, err ?: head_follow(store, word, get));
}

/* Lists one record; a key that another one has erased meanwhile is left out */
static bool list_one(struct crab_store *store, const struct crab_record *record,
		     struct crab_blob_entry *entry)
{
	struct crab_blob_read get = { .key = record->key };
	int err = crab_store_read_end(store, head_follow(store, record->value, &get));

	*entry = (struct crab_blob_entry){ .key = record->key, .err = err };
	if (!err) {
		entry->bytes = get.bytes;
		entry->version = get.version;
	}
	return err != -ENOENT;
}

int crab_blob_list(struct crab_store *store, struct crab_cursor *cursor,
		   struct crab_blob_entry *entries, u32 cap)
{
	struct crab_record records[BLOB_CHUNK];
	int i, n, err, listed = 0;

	if (!store->blobs)
		return -EOPNOTSUPP;
	do {
		n = crab_cursor_scan_twice(store->engine, store->blobs->raw, cursor, records,
					   min_t(u32, cap, BLOB_CHUNK));
		crab_store_look(store);
		for (i = 0; i < n; i++)
			listed += list_one(store, &records[i], &entries[listed]);
		if (n <= 0 || listed)
			return n < 0 ? crab_store_read_end(store, n) : listed;
		err = crab_store_pause(store);
	} while (!err);
	return err;
}

/* Is the name in the blob the one of the table? No name is added or removed meanwhile */
static bool name_is(const struct crab_blobs *blobs, const struct crab_blob_read *get)
{
	const struct crab_name *name;

	if (!blobs->named)
		return true;
	name = crab_names_find(&blobs->names, get->name, get->name_bytes);
	return name && name->key == get->key;
}

/* Verifies one blob; the stripe is locked */
static void check_one(struct crab_store *store, u64 key, struct crab_check_report *report)
{
	struct crab_blobs *blobs = store->blobs;
	char name[CRAB_NAME_MAX];
	struct crab_blob_read get = { .key = key, .name = name };
	u64 word, offset;

	if (word_found(store, key, &word))
		return;		/* erased meanwhile, or quarantined, which the engine reports */
	offset = crab_extent_offset(&blobs->extents, word & CRAB_PLACE_MASK);
	if (!crab_extents_holds(&blobs->extents, word & CRAB_PLACE_MASK))
		crab_damage_note(&report->damage, offset, "the extent of key 0x%llx is free",
				 (unsigned long long)key);
	else if (crab_blob_load(blobs, word, &get) == -EUCLEAN)
		crab_damage_note(&report->damage, offset, "the blob of key 0x%llx is damaged",
				 (unsigned long long)key);
	else if (!name_is(blobs, &get))
		crab_damage_note(&report->damage, offset, "the name of key 0x%llx is not its own",
				 (unsigned long long)key);
	else
		crab_blob_check_birth(blobs, &get, &report->damage);
}

static void check_some(struct crab_store *store, const struct crab_record *records, u32 n,
		       struct crab_check_report *report)
{
	struct crab_blobs *blobs = store->blobs;
	u32 i;

	down_read(&blobs->names_lock);
	for (i = 0; i < n; i++) {
		mutex_lock(crab_blob_stripe(blobs, records[i].key));
		check_one(store, records[i].key, report);
		mutex_unlock(crab_blob_stripe(blobs, records[i].key));
	}
	up_read(&blobs->names_lock);
}

/* The engine has reported quarantined ranges. Another range that cannot be read is damage, too */
static void check_skip(struct crab_store *store, struct crab_cursor *cursor,
		       struct crab_check_report *report)
{
	if (!report->damage.count)
		crab_damage_note(&report->damage, store->engine->geo.pool_offset,
				 "the records from key 0x%llx on cannot be read",
				 (unsigned long long)cursor->next);
	crab_cursor_skip(store, cursor);
}

int crab_blobs_check(struct crab_store *store, struct crab_check_report *report)
{
	struct crab_blobs *blobs = store->blobs;
	struct crab_record records[BLOB_CHUNK];
	struct crab_cursor cursor;
	int n;

	crab_blobs_check_head(store, &report->damage);
	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	while ((n = crab_cursor_scan(store->engine, blobs->raw, &cursor, records, BLOB_CHUNK))) {
		if (n < 0 && n != -EUCLEAN)
			return n;
		if (n < 0)
			check_skip(store, &cursor, report);
		check_some(store, records, max(n, 0), report);
		if (crab_engine_is_stopped(store->engine))
			return -EINTR;
	}
	return 0;
}
