// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the engine fastfair where only directed content and directed changes of the media
 * lead: leaves that no entry names, and words that change between two readings of an operation.
 *
 * Invariant: the operation ends; it stores nothing outside its nodes, and damage is noted.
 */
#include <stdlib.h>

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "engines/fastfair/tree.h"
#include "model.h"
#include "shadow/shadow.h"
#include "store/store_priv.h"
#include "tap.h"

#define NODE_BYTES	512U
#define CHAIN		40U	/* leaves without entries: more than a scan follows without a lock */
#define LOADS		8U	/* of a word, by an operation, at most */

/* A word that has another value for one load, or from that on */
static struct {
	__le64 *word;
	u64 was;
	u64 then;
	u32 loads;
	u32 when;
	bool stays;
	struct crab_shadow *shadow;
} changing;

static void changing_load(struct crab_shadow *shadow, u32 word)
{
	bool other;

	if ((__le64 *)shadow->media->base + word != changing.word)
		return;
	changing.loads++;
	other = changing.loads == changing.when ||
		(changing.stays && changing.loads > changing.when);
	*changing.word = cpu_to_le64(other ? changing.then : changing.was);
}

static void changing_begin(struct crab_media *media, __le64 *word, u64 then, u32 when, bool stays)
{
	changing.shadow = crab_shadow_create(media, 8192);
	changing.word = word;
	changing.was = le64_to_cpu(*word);
	changing.then = then;
	changing.loads = 0;
	changing.when = when;
	changing.stays = stays;
	changing.shadow->loading = changing_load;
}

static struct crab_store *fresh(struct crab_media *media, u32 blocks, u32 records)
{
	struct crab_store *store;
	struct crab_old old;
	u32 i;

	*media = media_create(CRAB_POOL_OFFSET + (u64)blocks * NODE_BYTES);
	store = store_format_attach(media, "fastfair", "", NODE_BYTES);
	for (i = 0; i < records; i++)
		crab_store_insert(store, i * 10, i, CRAB_INSERT_EITHER, &old);
	return store;
}

static void end(struct crab_media *media, struct crab_store *store)
{
	crab_shadow_destroy(changing.shadow);
	crab_store_detach(store);
	media_destroy(media);
}

/* Leaf @i of the chain, with one record */
static void chain_leaf(struct crab_media *media, const struct crab_geometry *geo, u32 i)
{
	struct ff_dnode *d = (struct ff_dnode *)(media->base + crab_leaf_offset(geo, i));
	struct crab_head head = {
		.self = crab_leaf_offset(geo, i), .birth = i + 1, .low = i * 10,
	};
	struct crab_flow flow = { .media = media };

	head.next = i + 1 < CHAIN ? crab_link_to(geo, i + 1, i + 2) :
				    crab_link_end(geo->store_id, head.self, head.birth);
	memset(d, 0, NODE_BYTES);
	crab_head_store(&flow, geo->store_id, &head);
	d->slot[0].key = cpu_to_le64(i * 10);
	d->slot[0].value = cpu_to_le64(i);
	d->slot[1].key = cpu_to_le64(CRAB_KEY_EMPTY);
}

static void test_chain(void)
{
	struct crab_attach_options options = { .readonly = true };
	struct crab_attach_report report;
	struct crab_record record[4];
	struct crab_cursor cursor;
	struct crab_geometry geo;
	struct crab_media media;
	struct crab_store *store = fresh(&media, CHAIN, 0);
	int got;
	u32 i;

	geo = store->engine->geo;
	crab_store_detach(store);
	for (i = 0; i < CHAIN; i++)
		chain_leaf(&media, &geo, i);
	store = crab_store_attach(&media, &options, &report);
	tap_check(!IS_ERR(store), "attach: %s", report.reason);
	crab_cursor_init(&cursor, (CHAIN - 10) * 10, CRAB_KEY_EMPTY - 1);
	got = crab_cursor_read(store, &cursor, record, ARRAY_SIZE(record));
	tap_ok(got == ARRAY_SIZE(record) && record[0].key == (CHAIN - 10) * 10,
	       "a scan that begins beyond many leaves without entries ends: %d records", got);
	crab_store_detach(store);
	media_destroy(&media);
}

/* The middle key of a full leaf rises after the place of a key above it was found */
static void split_once(u32 when)
{
	struct crab_media media;
	struct crab_store *store = fresh(&media, 8, (NODE_BYTES - CRAB_LINE) / sizeof(struct ff_dslot));
	struct ff *ff = ff_of(store->engine);
	struct ff_dslot *after = ff_slot(ff, 0, ff->slots);
	struct crab_old old;
	int err;

	changing_begin(&media, &ff_slot(ff, 0, ff->slots / 2)->key, 5000, when, false);
	err = crab_store_insert(store, 4000, 1, CRAB_INSERT_EITHER, &old);
	tap_check(le64_to_cpu(after->key) != 4000, "load %u: stored after the last slot, error %d", when,
		  err);
	end(&media, store);
}

static void test_split(void)
{
	u32 when;

	for (when = 1; when <= LOADS; when++)
		split_once(when);
	tap_ok(true, "a middle key that changes during a split: nothing is stored after its last slot");
}

/* The lowest key of a leaf falls between the way to it and the way to its neighbour */
static void merge_once(u32 when)
{
	struct crab_media media;
	struct crab_store *store = fresh(&media, 64, 60);
	struct ff *ff = ff_of(store->engine);
	struct ff_find find;
	struct crab_old old;
	u64 low, i;

	crab_ff_find_exact(ff, 200, 0, &find);
	low = find.node.low;
	for (i = 0; i < 6; i++)
		crab_store_delete(store, low + 10 * i, &old);
	changing_begin(&media, &ff_media(ff, find.node.number)->head.low, low - 5, when, true);
	crab_store_delete(store, low + 60, &old);
	end(&media, store);
}

static void test_merge(void)
{
	u32 when;

	for (when = 1; when <= LOADS; when++)
		merge_once(when);
	tap_ok(true, "a lowest key that changes during a delete: no leaf is its own neighbour");
}

int main(void)
{
	if (crab_persist_init())
		return 2;
	test_chain();
	test_split();
	test_merge();
	return tap_done();
}
