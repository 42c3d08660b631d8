// SPDX-License-Identifier: GPL-2.0
/*
 * This file measures a store of names in memory, with real cleans: the work of the module within a
 * call, without the call.
 */
#include <string.h>

#include <linux/err.h>
#include <linux/kernel.h>

#include "rig.h"
#include "store/blob_snap.h"
#include "ycsb.h"

#define LEAF_BYTES	1024U
#define HEAD		128U	/* bytes of a blob without its value, and half of a class */

struct names {
	struct crab_media media;
	struct crab_store *store;
	struct crab_snap *snap;
	bool kicked;
};

static void kick(void *arg)
{
	((struct names *)arg)->kicked = true;
}

static void *names_open(const char *place, uint64_t records, uint32_t bytes)
{
	static struct names names;
	const struct crab_format_options format = {
		.force = true, .leaf_bytes = LEAF_BYTES, .engine = "", .layout = "", .label = "ycsb",
		.names = true,
	};
	const struct crab_attach_options options = {
		.kick = kick, .arg = &names, .snapshot_bytes = 1ULL << 30,
	};

	names = (struct names){ .media = rig_region(3 * records * (bytes + HEAD)) };
	rig_format_as(&names.media, &format);
	names.store = rig_attach(&names.media, &options);
	return &names;
}

/* Maintenance is work of the store, too */
static void maintain(struct names *names)
{
	if (!names->kicked)
		return;
	names->kicked = false;
	while (crab_store_maintain(names->store))
		;
}

static void names_put(void *store, const char *key, const void *value, uint32_t bytes, bool fresh)
{
	struct names *names = store;
	struct crab_blob_write put = {
		.name = key, .name_bytes = YCSB_KEY, .data = value, .bytes = bytes,
	};
	int err = crab_named_put(names->store, &put);

	if (err)
		ycsb_fail("crabtree", "put", strerror(-err));
	maintain(names);
}

static uint32_t names_get(void *store, const char *key, void *value, uint32_t room)
{
	struct names *names = store;
	struct crab_blob_read get = { .buffer = value, .capacity = room };
	int err = crab_named_get(names->store, key, YCSB_KEY, &get);

	if (err)
		ycsb_fail("crabtree", "get", strerror(-err));
	return get.bytes;
}

static uint32_t names_scan(void *store, const char *key, uint32_t n, void *value, uint32_t room)
{
	struct names *names = store;
	struct crab_named_cursor cursor;
	struct crab_named_entry entry;
	uint32_t got;

	crab_named_cursor_init(&cursor, key, YCSB_KEY, NULL, 0);
	for (got = 0; got < n && crab_named_next(names->store, &cursor, &entry) > 0; got++)
		names_get(names, entry.text, value, room);
	return got;
}

static void names_hold(void *store, bool begin)
{
	struct names *names = store;

	if (!begin) {
		if (crab_snap_state(names->snap))
			ycsb_fail("crabtree", "snapshot", "it has ended");
		crab_snap_close(names->snap);
		maintain(names);
		return;
	}
	if (crab_store_observe(names->store) < 0)
		ycsb_fail("crabtree", "snapshot", "no memory");
	names->snap = crab_snap_open(names->store);
	if (IS_ERR(names->snap))
		ycsb_fail("crabtree", "snapshot", "no memory");
}

static void names_close(void *store)
{
	struct names *names = store;

	crab_store_detach(names->store);
	rig_region_free(&names->media);
}

const struct ycsb_store ycsb_crab = {
	.name = "crabtree", .open = names_open, .put = names_put, .get = names_get, .scan = names_scan,
	.hold = names_hold, .close = names_close,
};
