// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements FORMAT and attach of a store of blobs.
 *
 * Invariants: attach marks each extent that a word names before the engine can allocate a leaf; an
 * extent that no word names is free. Attach writes nothing, so a cut during it changes nothing. Two
 * words that name the same memory, and a word that names none, are damage, and the store is
 * read-only then. Attach reads the records after the engine: another number than the engine's is
 * damage, too.
 *
 * Locking: the caller has the region to itself.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "blob_media.h"
#include "commit_priv.h"
#include "named_priv.h"
#include "store_priv.h"
#include "engines/defaults.h"
#include "media/badmem.h"

#define ATTACH_CHUNK	64	/* records of one scan */
#define ATTACH_GFP	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* Offsets of the words of struct crab_dblobs */
#define BIRTHS_OFFSET	(CRAB_BLOBS_OFFSET + offsetof(struct crab_dblobs, births))
#define SLAB_OFFSET	(CRAB_BLOBS_OFFSET + offsetof(struct crab_dblobs, slab_bytes))

static void number_store(struct crab_flow *flow, u32 store_id, u64 offset, u64 number)
{
	__le64 *at = (__le64 *)(flow->media->base + offset);

	crab_store(flow, at, crab_blob_number(store_id, offset, number));
}

/* A number of the page of the head, or 0 */
static u64 number_load(const struct crab_media *media, u32 store_id, u64 offset)
{
	const __le64 *at = (const __le64 *)(media->base + offset);
	u64 word = crab_load(media, at), number = word & CRAB_LINK_MASK;

	return word == crab_blob_number(store_id, offset, number) ? number : 0;
}

void crab_blobs_format(struct crab_flow *flow, const struct crab_geometry *geo)
{
	number_store(flow, geo->store_id, BIRTHS_OFFSET, 1);
	number_store(flow, geo->store_id, SLAB_OFFSET, crab_extent_slab_bytes(geo));
	crab_clean(flow, flow->media->base + CRAB_BLOBS_OFFSET, sizeof(struct crab_dblobs));
}

int crab_blobs_permitted(const struct crab_engine *engine, char *reason)
{
	const struct crab_geometry *geo = &engine->geo;

	if (!engine->pool) {
		snprintf(reason, CRAB_REASON_LEN, "engine '%.16s' cannot hold blobs",
			 engine->ops->name);
		return -EOPNOTSUPP;
	}
	if (geo->leaves * geo->leaf_bytes < 4ULL * crab_extent_slab_bytes(geo)) {
		snprintf(reason, CRAB_REASON_LEN, "region is too small for blobs: they need %u bytes",
			 4 * crab_extent_slab_bytes(geo));
		return -ENOSPC;
	}
	return 0;
}

/* The verbs on records, of a store whose values are not the user's */

static int guard_lookup(struct crab_engine *engine, u64 key, u64 *value)
{
	return -EOPNOTSUPP;
}

static int guard_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		      struct crab_record *record)
{
	return -EOPNOTSUPP;
}

static int guard_scan(struct crab_engine *engine, u64 start, u64 end,
		      struct crab_record *records, u32 cap)
{
	return -EOPNOTSUPP;
}

static int guard_insert(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
			enum crab_insert_mode mode, struct crab_old *old)
{
	return -EOPNOTSUPP;
}

static int guard_remove(struct crab_engine *engine, struct crab_flow *flow, u64 key,
			struct crab_old *old)
{
	return -EOPNOTSUPP;
}

static void blobs_guard(struct crab_blobs *blobs, struct crab_engine *engine)
{
	blobs->raw = engine->ops;
	blobs->guard = *engine->ops;
	blobs->guard.lookup = guard_lookup;
	blobs->guard.seek = guard_seek;
	blobs->guard.scan = guard_scan;
	blobs->guard.scan_back = guard_scan;
	blobs->guard.insert = guard_insert;
	blobs->guard.remove = guard_remove;
	blobs->guard.batch = NULL;	/* the store calls the others */
	engine->ops = &blobs->guard;
}

static int attach_mark(struct crab_store *store, const struct crab_record *r)
{
	struct crab_extents *extents = &store->blobs->extents;
	struct crab_blob_read get = { .key = r->key };
	u64 place = r->value & CRAB_PLACE_MASK;
	int err = crab_extents_mark(extents, place);

	if (err && err != -EUCLEAN)
		return err;
	if (err) {
		store->blobs->unnamed = true;
		crab_damage_note(&store->engine->damage, crab_extent_offset(extents, place),
				 "the word of key 0x%llx names no extent of its own",
				 (unsigned long long)r->key);
		/* If it does, the word of another key has changed */
		if (crab_blob_load_head(store->blobs, r->value, &get))
			return 0;
	}
	return store->blobs->named ? crab_names_read(store, r) : 0;
}

/* Marks the extents of all records, and counts these. Quarantined ranges are damage already */
static int attach_scan(struct crab_store *store, u64 *marked)
{
	const struct crab_engine_ops *raw = store->blobs->raw;
	struct crab_record records[ATTACH_CHUNK];
	struct crab_cursor cursor;
	int i, n, err;

	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	while ((n = crab_cursor_scan_twice(store->engine, raw, &cursor, records, ATTACH_CHUNK))) {
		if (n < 0 && n != -EUCLEAN)
			return n;
		if (n < 0) {
			crab_cursor_skip(store, &cursor);
			store->blobs->unnamed = true;
		}
		for (i = 0; i < n; i++) {
			err = attach_mark(store, &records[i]);
			if (err)
				return err;
		}
		*marked += max(n, 0);
		if (crab_engine_breathe(store->engine))
			return -EINTR;
	}
	return 0;
}

/*
 * The engine has read all leaves before, and the media may have changed since: the extents of
 * records that this scan did not find would be free
 */
static int attach_records(struct crab_store *store)
{
	struct crab_engine *engine = store->engine;
	struct crab_engine_stats stats = { };
	u64 marked = 0;
	int err = attach_scan(store, &marked);

	if (err)
		return err;
	engine->own->stats(engine, &stats);
	stats.records += crab_commits_gain(store);
	if (marked != stats.records)
		store->blobs->unnamed = true;
	if (store->blobs->unnamed && !engine->damage.count)
		crab_damage_note(&engine->damage, engine->geo.pool_offset,
				 "%llu records in the leaves, and %llu when they were read again",
				 (unsigned long long)stats.records, (unsigned long long)marked);
	return 0;
}

/* The numbers in the page of the head: their damage is noted. An unreadable one is 0 */
static void head_load(const struct crab_store *store, struct crab_damage *damage, u64 *births,
		      u64 *slab)
{
	const struct crab_blobs *blobs = store->blobs;

	*births = 0;
	*slab = 0;
	if (crab_badmem_probe(store->media, CRAB_BLOBS_OFFSET, sizeof(struct crab_dblobs))) {
		*births = number_load(store->media, blobs->store_id, BIRTHS_OFFSET);
		*slab = number_load(store->media, blobs->store_id, SLAB_OFFSET);
	}
	if (!*births || *births > CRAB_LINK_MASK / 2)
		crab_damage_note(damage, BIRTHS_OFFSET, "the births of blobs are damaged");
}

static void slab_damage(struct crab_damage *damage)
{
	crab_damage_note(damage, SLAB_OFFSET, "the size of slabs is damaged");
}

/* Without these numbers no extent is known, and no birth is safe */
static u32 attach_numbers(struct crab_store *store)
{
	struct crab_blobs *blobs = store->blobs;
	u64 births, slab;

	head_load(store, &store->engine->damage, &births, &slab);
	blobs->birth = births << CRAB_BIRTHS_SHIFT;
	blobs->birth_end = blobs->birth;
	return min_t(u64, slab, U32_MAX);
}

void crab_blobs_check_head(struct crab_store *store, struct crab_damage *damage)
{
	struct crab_blobs *blobs = store->blobs;
	const struct crab_extents *extents = &blobs->extents;
	u64 births, slab;

	mutex_lock(&blobs->birth_lock);
	head_load(store, damage, &births, &slab);
	if (births && births << CRAB_BIRTHS_SHIFT != blobs->birth_end)
		crab_damage_note(damage, BIRTHS_OFFSET, "the births of blobs have changed");
	mutex_unlock(&blobs->birth_lock);
	if (!extents->slabs || slab != (u64)extents->slab_lines * CRAB_LINE)
		slab_damage(damage);
}

static int attach_blobs(struct crab_store *store)
{
	struct crab_engine *engine = store->engine;
	struct crab_blobs *blobs = store->blobs;
	u32 slab_bytes = attach_numbers(store);
	int err;

	err = crab_extents_init(&blobs->extents, engine->pool, blobs->media, &engine->geo,
				slab_bytes);
	if (err != -EUCLEAN)
		return err ?: attach_records(store);
	blobs->unnamed = true;
	slab_damage(&engine->damage);
	return 0;
}

int crab_blobs_attach(struct crab_store *store)
{
	struct crab_blobs *blobs;
	u32 i;
	int err;

	blobs = kvzalloc(sizeof(*blobs), ATTACH_GFP);
	if (!blobs)
		return -ENOMEM;
	mutex_init(&blobs->birth_lock);
	mutex_init(&blobs->many);
	mutex_init(&blobs->evac_lock);
	for (i = 0; i < CRAB_BLOB_STRIPES; i++)
		mutex_init(&blobs->stripes[i]);
	init_rwsem(&blobs->names_lock);
	blobs->named = store->super.feature_incompat & CRAB_INCOMPAT_NAMES;
	blobs->media = store->media;
	blobs->store_id = store->super.store_id;
	store->blobs = blobs;
	blobs_guard(blobs, store->engine);
	err = attach_blobs(store);
	if (err)
		crab_blobs_detach(store);
	else if (store->engine->damage.count)
		crab_pool_close(store->engine->pool);
	return err;
}

void crab_blobs_detach(struct crab_store *store)
{
	struct crab_blobs *blobs = store->blobs;

	if (!blobs)
		return;
	store->engine->ops = blobs->raw;
	crab_names_destroy(&blobs->names);
	crab_names_destroy(&blobs->erased);
	crab_extents_destroy(&blobs->extents);
	kvfree(blobs);
	store->blobs = NULL;
}
