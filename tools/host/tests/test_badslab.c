// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests memory that cannot be read under slabs of blobs.
 */
#include "badmedia.h"
#include "store/blob_priv.h"
#include "test.h"

static u8 blob[10000];

/* A store with one blob, detached; returns the end of the slab, whose last pages are in no extent */
static u64 fill_slab(struct crab_geometry *geo)
{
	struct crab_store *store = store_make(&badmedia, "crab", "slotted", 1024, STORE_BLOBS);
	u64 word, offset;
	u32 slab;

	tap_check(!store_blob_put(store, 1, blob, sizeof(blob)), "put");
	store->blobs->raw->lookup(store->engine, 1, &word);
	offset = crab_extent_offset(&store->blobs->extents, word & CRAB_PLACE_MASK);
	*geo = store->engine->geo;
	slab = crab_extent_slab_bytes(geo);
	tap_check(slab % crab_extent_bytes(word) >= BAD_PAGE, "extents fill the slab");
	crab_store_detach(store);
	return geo->pool_offset + round_down(offset - geo->pool_offset, slab) + slab;
}

/* A bad page of a slab that is in no extent: it is not written once the slab is empty */
static void test_slab(void)
{
	struct crab_blob_write put = { .key = 1 };
	struct crab_geometry geo;
	struct crab_store *store;
	u64 page;

	badmedia_begin();
	page = fill_slab(&geo) - BAD_PAGE;
	badmedia_fail(page, BAD_PAGE);
	store = badmedia_attach(NULL);
	tap_check(!crab_blob_erase(store, &put), "erase");
	if (!crab_pool_uses(store->engine->pool, (page - geo.pool_offset) / geo.leaf_bytes))
		tap_fail("leaves of the bad page are free");
	else
		for (put.data = blob, put.bytes = 40; !crab_blob_put(store, &put); put.key++)
			;
	tap_check(crab_blob_put(store, &put) == -ENOSPC && !badmedia_errors(store), "the store is not full");
	crab_store_detach(store);
	tap_ok(true, "badmem: the rest of a slab, in a bad page, is not used after an erase");
	badmedia_end();
}

/* The number of the first leaf, which the head links */
static u64 first_leaf(void)
{
	return (le64_to_cpu(*(const __le64 *)(badmedia.base + CRAB_HEAD_OFFSET)) & CRAB_LINK_MASK) - 1;
}

/* A record with a word that names the extent at @offset of the pool */
static void put_word(const struct crab_geometry *geo, u64 offset)
{
	struct crab_flow flow = { .media = &badmedia };
	struct crab_store *store = badmedia_attach(NULL);
	const struct crab_engine_ops *raw = store->blobs->raw;
	struct crab_old old = { };
	u64 word;

	raw->lookup(store->engine, 1, &word);
	word = (word & ~CRAB_PLACE_MASK) | (word & ((1 << CRAB_PLACE_CLASS_BITS) - 1)) |
	       offset / CRAB_LINE << CRAB_PLACE_CLASS_BITS;
	tap_check(!raw->insert(store->engine, &flow, 2, word, CRAB_INSERT_EITHER, &old), "insert");
	crab_store_detach(store);
}

/* A crafted word names an extent with a leaf in use, which shares its page with a bad line */
static void test_slab_leaf(void)
{
	struct crab_attach_report report;
	struct crab_geometry geo;
	struct crab_store *store;
	u64 offset, slab;

	badmedia_begin();
	fill_slab(&geo);
	slab = crab_extent_slab_bytes(&geo);
	offset = crab_leaf_offset(&geo, first_leaf());
	put_word(&geo, round_down(offset - geo.pool_offset, slab));
	crab_badmem_add(&badmedia_list, round_up(offset + 1, BAD_PAGE) - CRAB_LINE, CRAB_LINE);
	store = badmedia_attach(&report);
	tap_check(report.verdict == CRAB_VERDICT_RO &&
		  strstr(report.reason, "key 0x2 names no extent of its own"), "%d: %s", report.verdict,
		  report.reason);
	crab_store_detach(store);
	tap_ok(true, "badmem: no leaf in use belongs to a blob, also next to a bad line");
	badmedia_end();
}

/* A page that is one extent is bad: its neighbours on both sides are not */
static void test_neighbours(void)
{
	struct crab_extents *extents;
	struct crab_store *store;
	u64 word, offset;
	u32 class;

	badmedia_begin();
	store = store_make(&badmedia, "crab", "slotted", 1024, STORE_BLOBS);
	tap_check(!store_blob_put(store, 1, blob, BAD_PAGE - CRAB_LINE), "put");
	store->blobs->raw->lookup(store->engine, 1, &word);
	offset = crab_extent_offset(&store->blobs->extents, word & CRAB_PLACE_MASK);
	crab_store_detach(store);
	badmedia_fail(offset + 2 * BAD_PAGE, BAD_PAGE);
	store = badmedia_attach(NULL);
	extents = &store->blobs->extents;
	class = word & ((1 << CRAB_PLACE_CLASS_BITS) - 1);
	tap_check(crab_extent_bytes(word) == BAD_PAGE && !(offset % BAD_PAGE), "%u bytes at %llu",
		  crab_extent_bytes(word), offset);
	tap_ok(extents->total[class] - extents->free[class] == 2,
	       "badmem: one extent in a bad page is not free: %llu of %llu are",
	       (unsigned long long)extents->free[class], (unsigned long long)extents->total[class]);
	crab_store_detach(store);
	badmedia_end();
}

int main(void)
{
	test_slab();
	test_slab_leaf();
	test_neighbours();
	return tap_done();
}
