// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests memory that cannot be read under slabs of blobs: no call reads it, those on values
 * in it return an error, and all other values are there.
 */
#include "badmedia.h"
#include "store/blob_priv.h"
#include "store/blob_snap.h"
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

/* Values of many lengths, under keys or under long names, of which each page fails in turn */

#define VALUES	160U

static struct value {
	char name[CRAB_NAME_MAX];
	u32 name_bytes;
	u32 bytes;
	u64 from;	/* its place on the media */
	u64 to;
} values[VALUES];

static int value_put(u32 i)
{
	const struct value *v = &values[i];

	return v->name_bytes ? store_name_put(store, v->name, v->name_bytes, blob, v->bytes) :
			       store_blob_put(store, i, blob, v->bytes);
}

/* Where the values are */
static void value_places(void)
{
	struct crab_cursor cursor;
	struct crab_record record;
	u64 place;
	u32 i;

	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	while (crab_cursor_scan(store->engine, store->blobs->raw, &cursor, &record, 1) == 1) {
		place = crab_extent_offset(&store->blobs->extents, record.value & CRAB_PLACE_MASK);
		i = record.key;
		if (values[0].name_bytes)
			sscanf((char *)badmedia.base + place + sizeof(struct crab_dblob), "%u", &i);
		values[i].from = place;
		values[i].to = place + sizeof(struct crab_dblob) +
			       round_up(values[i].name_bytes, sizeof(u64)) + values[i].bytes;
	}
}

static void values_make(bool named)
{
	u32 i;

	store = store_make(&badmedia, "crab", "slotted", 1024, named ? STORE_NAMES : STORE_BLOBS);
	for (i = 0; i < VALUES; i++) {
		memset(values[i].name, '.', CRAB_NAME_MAX);
		values[i].name[sprintf(values[i].name, "%u", i)] = '.';
		values[i].name_bytes = named ? CRAB_NAME_MAX - i / 2 : 0;
		values[i].bytes = i % 20 ? i % 7 * 30 : 2000 + 37 * i;
		tap_check(!value_put(i), "put %u", i);
	}
	value_places();
}

static bool is_in(u64 from, u64 to, u64 page)
{
	return from < page + BAD_PAGE && to > page;
}

/* A value can be read, unless it is in @page; returns how many are */
static u32 values_read(struct crab_snap *snap, u64 page)
{
	u32 i, bad = 0;

	for (i = 0; i < VALUES; i++) {
		const struct value *v = &values[i];
		struct crab_blob_read get = { .key = i, .buffer = blob, .capacity = sizeof(blob) };
		bool fails = is_in(v->from, v->to, page);
		int err;

		if (v->name_bytes)
			err = snap ? crab_snap_named_get(store, snap, v->name, v->name_bytes, &get) :
				     crab_named_get(store, v->name, v->name_bytes, &get);
		else
			err = snap ? crab_snap_get(store, snap, &get) : crab_blob_get(store, &get);
		tap_check(err == (fails ? -EUCLEAN : 0) && (err || get.bytes == v->bytes),
			  "page %llu: value %u: %d", page / BAD_PAGE, i, err);
		bad += fails;
	}
	return bad;
}

/* The same of the entries of a list, which needs only the headers */
static void values_list(u64 page)
{
	struct crab_named_cursor next = { };
	struct crab_blob_entry entry[VALUES];
	struct crab_named_entry name;
	struct crab_cursor cursor;
	u32 i, n = 0;

	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	for (; !values[0].name_bytes && n < VALUES && crab_blob_list(store, &cursor, &entry[n], 1) == 1; n++)
		;
	for (; values[0].name_bytes && n < VALUES && crab_named_next(store, &next, &name) == 1; n++) {
		sscanf(name.text, "%u", &i);
		entry[n] = (struct crab_blob_entry){ .key = i, .err = name.err };
	}
	for (i = 0; i < n; i++) {
		const struct value *v = &values[entry[i].key];

		tap_check(entry[i].err == (is_in(v->from, v->from + CRAB_LINE, page) ? -EUCLEAN : 0),
			  "page %llu: entry %llu: %d", page / BAD_PAGE, entry[i].key, entry[i].err);
	}
}

/* No value is needed for it */
static void values_erase(void)
{
	struct crab_blob_write erase = { };
	u32 i;

	for (i = 0; i < VALUES; i++) {
		erase.key = i;
		erase.name = values[i].name;
		erase.name_bytes = values[i].name_bytes;
		tap_check(!(erase.name_bytes ? crab_named_erase : crab_blob_erase)(store, &erase),
			  "erase %u", i);
	}
}

static u32 values_fail(u64 page, bool late)
{
	struct crab_snap *snap;
	u32 bad;

	if (!late)
		crab_store_detach(store);
	badmedia_fail(page, BAD_PAGE);
	if (!late)
		store = badmedia_attach(NULL);
	snap = store_snap(store);
	values_list(page);
	bad = values_read(NULL, page);
	values_read(snap, page);
	tap_check(!bad == !badmedia_errors(store), "page %llu: CHECK", page / BAD_PAGE);
	crab_snap_close(snap);
	if (late)
		values_erase();
	return bad;
}

/* Each page fails before an attach, or @late: after it */
static void test_values(bool named, bool late)
{
	u64 first = BAD_SIZE, page = 0, last = 0;
	u32 i, sum = 0;

	do {
		badmedia_begin();
		values_make(named);
		for (i = 0; i < VALUES; i++) {
			first = min(first, round_down(values[i].from, BAD_PAGE));
			last = max(last, values[i].to);
		}
		page = max(page, first);
		sum += values_fail(page, late);
		crab_store_abandon(store);
		badmedia_end();
		page += BAD_PAGE;
	} while (page < last);
	tap_ok(sum > VALUES, "badmem: %s: %u values fail %s attach", named ? "names" : "keys", sum,
	       late ? "after" : "before");
}

#define MANY	1000U	/* keys, in several pages of leaves */

/* A page of leaves fails: each value is in the list, or cannot be read; and the list says where it ends */
static void test_list(void)
{
	u32 listed = 0, errors = 0, lost = 0, i;
	struct crab_blob_entry entry;
	struct crab_cursor cursor;
	struct crab_geometry geo;
	int n;

	badmedia_begin();
	store = store_make(&badmedia, "crab", "slotted", 1024, STORE_BLOBS);
	for (i = 0; i < MANY; i++)
		tap_check(!store_blob_put(store, i, blob, 1), "put %u", i);
	geo = store->engine->geo;
	crab_store_detach(store);
	badmedia_fail(round_up(crab_leaf_offset(&geo, first_leaf() + 1), BAD_PAGE), BAD_PAGE);
	store = badmedia_attach(NULL);
	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	while ((n = crab_blob_list(store, &cursor, &entry, 1))) {
		if (n < 0)
			crab_cursor_skip(store, &cursor);
		listed += n == 1 && !entry.err;
		errors += n == -EUCLEAN;
	}
	for (i = 0; i < MANY; i++) {
		struct crab_blob_read get = { .key = i, .buffer = blob, .capacity = sizeof(blob) };

		lost += crab_blob_get(store, &get) == -EUCLEAN;
	}
	tap_check(badmedia_errors(store), "CHECK finds no damage");
	crab_store_abandon(store);
	badmedia_end();
	tap_ok(errors && lost && listed && listed + lost == MANY,
	       "badmem: a page of leaves: %u values are listed, %u are lost, %u errors", listed, lost, errors);
}

int main(void)
{
	crab_host_log = NULL;	/* damage is planted, and reported in the log */
	test_slab();
	test_slab_leaf();
	test_neighbours();
	test_values(false, false);
	test_values(false, true);
	test_values(true, false);
	test_values(true, true);
	test_list();
	return tap_done();
}
