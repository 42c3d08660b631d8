// SPDX-License-Identifier: GPL-2.0
/*
 * This file fails the allocations of the layers above the engine: stores of names, watches and
 * snapshots (test_alloc.c).
 */
#include "alloc.h"
#include "media/badmem.h"
#include "store/blob_priv.h"
#include "store/named.h"
#include "store/snap.h"
#include "store/watch.h"
#include "test.h"

/* Without memory a put changes no content; the bytes of a free extent may change */
static u32 named_put(struct crab_store *store, u64 key)
{
	static const u8 value[3000];
	char name[8];
	u32 length = sprintf(name, "%llu", key);
	struct crab_blob_write put = { 0, name, length, .data = value, .bytes = key % 3000 };
	struct crab_blob_read get = { };
	int err, failed;

	for (failed = 0;; failed++) {
		fail_begin(failed);
		err = crab_named_put(store, &put);
		if (!fail_end() || !err)
			break;
		tap_check(err == -ENOMEM, "put: %d", err);
		tap_check(crab_named_get(store, name, length, &get) == -ENOENT, "put without memory");
	}
	tap_check(!err, "put: %d", err);
	return failed;
}

static void named_erase(struct crab_store *store, u64 key)
{
	char name[8];

	tap_check(!store_name_erase(store, name, sprintf(name, "%llu", key)), "erase of %s", name);
}

static u64 layer_contents(struct crab_store *store)
{
	return store_info(store).stats.records +
	       (store->blobs ? store->blobs->names.dram << 32 : 0);
}

/* An attach succeeds without memory for the orders of leaves, and finds the same */
static struct crab_store *layer_attach(struct crab_media *media, u32 *failed)
{
	struct crab_attach_report report;
	struct crab_store *store;
	u64 found = 0;
	bool again = false;

	for (;; (*failed)++) {
		fail_begin(*failed);
		store = store_try(media, &report);
		if (!fail_end())
			break;
		if (IS_ERR(store)) {
			tap_check(PTR_ERR(store) == -ENOMEM, "attach: %ld", PTR_ERR(store));
			continue;
		}
		tap_check(!again || layer_contents(store) == found, "attach without orders");
		found = layer_contents(store);
		again = true;
		crab_store_detach(store);
	}
	tap_check(!again || layer_contents(store) == found, "attach without orders");
	return store;
}

static struct crab_store *layer_format(struct crab_media *media, bool names)
{
	struct crab_format_options options = {
		.leaf_bytes = LEAF_BYTES, .engine = "crab", .label = "", .names = names,
		.layout = "", .commits = !names,
	};
	u32 failed = 0;
	char reason[CRAB_REASON_LEN];

	*media = media_create(1 << 20);
	tap_check(!crab_store_format(media, &options, reason), "%s", reason);
	return layer_attach(media, &failed);
}

/* No memory for the names of a watch; none for a note: the put succeeds, and its snapshot ends */
static void names_observed(struct crab_store *store)
{
	const struct crab_watch_options watched = { .prefix = "", .entries = 1 };
	struct crab_snap *snap;
	u32 n;

	tap_check(crab_store_observe(store) >= 0, "observe");
	for (n = 0; n < 2; n++) {
		fail_begin(n);
		tap_check(PTR_ERR(crab_watch_open(store, &watched)) == -ENOMEM && fail_end(), "watch");
	}
	snap = crab_snap_open(store);
	fail_begin(0);
	tap_check(!store_name_put(store, "0", 1, "", 0) && fail_end(), "put without a note");
	tap_check(crab_snap_state(snap) == -ESTALE, "the snapshot holds");
	crab_snap_close(snap);
}

/* Attaches a store of names, in which a slab has a bad line from now on */
static u32 names_spoilt(struct crab_media *media)
{
	static struct crab_badmem bad;
	struct crab_store *store = store_attach(media);
	struct crab_record record;
	u32 failed = 0;

	store->blobs->raw->seek(store->engine, 0, CRAB_SEEK_GE, &record);
	crab_badmem_init(&bad);
	crab_badmem_add(&bad, crab_extent_offset(&store->blobs->extents,
						 record.value & CRAB_PLACE_MASK), CRAB_LINE);
	crab_store_detach(store);
	media->bad = &bad;
	crab_store_detach(layer_attach(media, &failed));
	return failed;
}

void alloc_test_names(void)
{
	struct crab_media media;
	struct crab_store *store = layer_format(&media, true);
	u32 puts = 0, attaches = 0;
	u64 key;

	for (key = 0; key < 300; key++)
		puts += named_put(store, key * 7);
	for (key = 0; key < 300; key++)
		if (key % 4)
			named_erase(store, key * 7);
	names_observed(store);
	fail_begin(0);
	tap_check(!crab_blobs_maintain(store) && fail_end(), "evacuation without memory");
	crab_store_detach(store);
	crab_store_detach(layer_attach(&media, &attaches));
	attaches += names_spoilt(&media);
	tap_ok(puts > 10 && attaches > 10, "names: failed %u puts, %u attaches", puts, attaches);
	media_destroy(&media);
}

/* Without memory no observer begins, and a write succeeds: its snapshot ends instead */
void alloc_test_observers(void)
{
	struct crab_media media;
	struct crab_store *store = layer_format(&media, false);
	const struct crab_watch_options watched = { .end = 9, .entries = 1 };
	struct crab_snap *snap;
	struct crab_old old;

	tap_check(refused(crab_store_observe(store)) && crab_store_observe(store) >= 0, "observe");
	tap_check(refused(PTR_ERR(crab_snap_open(store))), "snapshot");
	tap_check(refused(PTR_ERR(crab_watch_open(store, &watched))), "watch");
	snap = crab_snap_open(store);
	fail_begin(0);
	tap_check(!crab_store_insert(store, 1, 2, CRAB_INSERT_EITHER, &old) && fail_end(), "write");
	tap_ok(crab_snap_search(store, snap, 1, &old.value) == -ESTALE, "observers, refused or ended");
	crab_snap_close(snap);
	store_end(store);
}
