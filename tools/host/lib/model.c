// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the reference map and its comparison with a store.
 */
#include <stdlib.h>

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "media/persist.h"
#include "model.h"
#include "store/blob.h"
#include "store/named.h"
#include "store/snap.h"
#include "store/store_priv.h"
#include "tap.h"
#include "test.h"

#define SCAN_CAP	512

struct crab_media media;
struct crab_store *store;

const char * const model_kind_names[MODEL_KINDS] = { "uniform", "dense", "clustered" };

static int key_cmp(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static u64 model_key(enum model_keys kind, u32 i, u64 *seed)
{
	switch (kind) {
	case MODEL_DENSE:
		return i;
	case MODEL_CLUSTERED:
		return (u64)(i / 50) * 0x0000fffffffffff1ULL % (CRAB_KEY_EMPTY - 64) + i % 50;
	default:
		return i == 0 ? 0 : i == 1 ? CRAB_KEY_EMPTY - 1 : rng(seed) >> 1;
	}
}

struct model *model_create(u32 n, enum model_keys kind, u64 seed)
{
	struct model *m = calloc(1, sizeof(*m));
	u32 i;

	m->keys = calloc(n, sizeof(u64));
	m->values = calloc(n, sizeof(u64));
	m->there = calloc(n, sizeof(bool));
	for (i = 0; i < n; i++)
		m->keys[i] = model_key(kind, i, &seed);
	sort(m->keys, n, sizeof(u64), key_cmp, NULL);
	for (i = 0; i < n; i++)
		if (!m->n || m->keys[m->n - 1] != m->keys[i])
			m->keys[m->n++] = m->keys[i];
	return m;
}

void model_destroy(struct model *m)
{
	free(m->keys);
	free(m->values);
	free(m->there);
	free(m);
}

void model_put(struct model *m, u32 at, u64 value)
{
	m->count += !m->there[at];
	m->there[at] = true;
	m->values[at] = value;
}

void model_drop(struct model *m, u32 at)
{
	m->count -= m->there[at];
	m->there[at] = false;
}

u32 model_at(const struct model *m, u64 key)
{
	u32 lo = 0, hi = m->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (m->keys[mid] < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool record_expected(const struct model *m, u32 *at, u64 end, const struct crab_record *r)
{
	while (*at < m->n && !m->there[*at])
		++*at;
	if (*at == m->n || m->keys[*at] > end) {
		tap_fail("scan returns key %llu, which is absent", r->key);
		return false;
	}
	if (m->keys[*at] != r->key || m->values[*at] != r->value) {
		tap_fail("scan returns %llu=%llu, not %llu=%llu", r->key, r->value, m->keys[*at],
			 m->values[*at]);
		return false;
	}
	++*at;
	return true;
}

void model_scan(const struct model *m, struct crab_store *store, u64 start, u64 end,
		u32 cap, u32 limit)
{
	struct crab_record records[SCAN_CAP];
	struct crab_cursor cursor;
	u32 at = model_at(m, start);
	int n, i;

	crab_cursor_init(&cursor, start, end);
	for (;;) {
		n = crab_cursor_read(store, &cursor, records, min_t(u32, cap, SCAN_CAP));
		if (n <= 0)
			break;
		for (i = 0; i < n; i++)
			if (!record_expected(m, &at, end, &records[i]))
				return;
		if (limit <= n)
			return;
		limit -= n;
	}
	tap_check(n == 0, "%d", n);
	for (; at < m->n && m->keys[at] <= end; at++)
		tap_check(!m->there[at], "scan ends before key %llu", m->keys[at]);
}

/* Index of the highest key below index @at that is present; -1: there is none */
static s64 model_below(const struct model *m, s64 at)
{
	do
		at--;
	while (at >= 0 && !m->there[at]);
	return at;
}

static bool record_below(const struct model *m, s64 at, const struct crab_record *r)
{
	if (at >= 0 && r->key == m->keys[at] && r->value == m->values[at])
		return true;
	tap_fail("scan down returns %llu=%llu", r->key, r->value);
	return false;
}

void model_scan_back(const struct model *m, struct crab_store *store, u64 start, u64 end,
		     u32 cap, u32 limit)
{
	struct crab_record records[SCAN_CAP];
	s64 at = model_at(m, end);
	struct crab_cursor cursor;
	int n, i;

	at = model_below(m, at + (at < m->n && m->keys[at] == end));
	crab_cursor_init_back(&cursor, start, end);
	do {
		n = crab_cursor_read(store, &cursor, records, min_t(u32, cap, SCAN_CAP));
		for (i = 0; i < n; i++, at = model_below(m, at))
			if (!record_below(m, at, &records[i]))
				return;
		limit -= min_t(u32, max(n, 0), limit);
	} while (n > 0 && limit);
	tap_check(n >= 0, "scan down: %d", n);
	tap_check(!limit || at < 0 || m->keys[at] < start, "scan down ends above key %llu",
		  m->keys[max_t(s64, at, 0)]);
}

void model_seek(const struct model *m, struct crab_store *store, u64 key, enum crab_seek_dir dir)
{
	struct crab_record r = { 0 };
	int err = crab_store_seek(store, key, dir, &r);
	s64 at = model_at(m, key);

	if (dir == CRAB_SEEK_GE) {
		while (at < m->n && !m->there[at])
			at++;
	} else {
		if (at == m->n || m->keys[at] > key)
			at--;
		while (at >= 0 && !m->there[at])
			at--;
	}
	if (at < 0 || at == m->n)
		tap_check(err == -ENOENT, "seek %llu dir %d: %d", key, dir, err);
	else
		tap_check(!err && r.key == m->keys[at] && r.value == m->values[at],
			  "seek %llu dir %d: %d, %llu=%llu", key, dir, err, r.key, r.value);
}

static void model_lookup_all(const struct model *m, struct crab_store *store)
{
	u64 value;
	u32 i;
	int err;

	for (i = 0; i < m->n; i++) {
		value = 0xbad;
		err = crab_store_search(store, m->keys[i], &value);
		if (m->there[i])
			tap_check(!err && value == m->values[i], "key %llu: %d, %llu not %llu",
				  m->keys[i], err, value, m->values[i]);
		else
			tap_check(err == -ENOENT, "key %llu: %d", m->keys[i], err);
	}
}

void model_compare(const struct model *m, struct crab_store *store)
{
	struct crab_check_report report;
	struct crab_store_info info;

	model_scan(m, store, 0, CRAB_KEY_EMPTY, SCAN_CAP, U32_MAX);
	model_scan_back(m, store, 0, CRAB_KEY_EMPTY, SCAN_CAP, U32_MAX);
	model_lookup_all(m, store);
	memset(&report, 0x5a, sizeof(report));
	tap_check(!crab_store_check(store, &report), "check failed");
	tap_check(!report.damage.count, "%llu broken, at %llu: %s", report.damage.count,
		  report.damage.offset, report.damage.what);
	tap_check(report.records == m->count, "check counts %llu, not %u", report.records,
		  m->count);
	crab_store_info(store, &info);
	tap_check(info.stats.records == m->count, "info counts %llu, not %u", info.stats.records,
		  m->count);
}

/* Before main(), as the module does before all else */
__attribute__((constructor))
static void primitives_choose(void)
{
	if (crab_persist_init())
		exit(2);
}

struct crab_media media_create(u64 size)
{
	struct crab_media media = {
		.base = aligned_alloc(4096, ALIGN(size, 4096)),
		.size = size,
		.durability = CRAB_DURABILITY_POP,
		.fence_only = true,
	};

	memset(media.base, 0, size);
	return media;
}

void media_destroy(struct crab_media *media)
{
	free(media->base);
}

int store_insert(struct crab_store *store, u64 key, u64 value, enum crab_insert_mode mode)
{
	struct crab_old old;

	return crab_store_insert(store, key, value, mode, &old);
}

int store_put(struct crab_store *store, u64 key, u64 value)
{
	return store_insert(store, key, value, CRAB_INSERT_EITHER);
}

int store_delete(struct crab_store *store, u64 key)
{
	struct crab_old old;

	return crab_store_delete(store, key, &old);
}

int store_search(struct crab_store *store, u64 key)
{
	u64 value;

	return crab_store_search(store, key, &value);
}

struct crab_store_info store_info(struct crab_store *store)
{
	struct crab_store_info info;

	crab_store_info(store, &info);
	return info;
}

struct crab_check_report store_check_good(struct crab_store *store)
{
	struct crab_check_report report;

	tap_check(!crab_store_check(store, &report), "CHECK fails");
	tap_check(!report.damage.count, "CHECK finds %llu, at %llu: %s", report.damage.count,
		  report.damage.offset, report.damage.what);
	return report;
}

int store_blob_put(struct crab_store *store, u64 key, const void *data, u32 bytes)
{
	struct crab_blob_write put = { .key = key, .data = data, .bytes = bytes };

	return crab_blob_put(store, &put);
}

int store_blob_erase(struct crab_store *store, u64 key)
{
	struct crab_blob_write erase = { .key = key };

	return crab_blob_erase(store, &erase);
}

int store_name_put(struct crab_store *store, const char *name, u32 name_bytes, const void *data, u32 bytes)
{
	struct crab_blob_write put = {
		.name = name, .name_bytes = name_bytes, .data = data, .bytes = bytes,
	};

	return crab_named_put(store, &put);
}

int store_name_erase(struct crab_store *store, const char *name, u32 name_bytes)
{
	struct crab_blob_write erase = { .name = name, .name_bytes = name_bytes };

	return crab_named_erase(store, &erase);
}

struct crab_snap *store_snap(struct crab_store *store)
{
	return crab_store_observe(store) < 0 ? NULL : crab_snap_open(store);
}

void store_end(struct crab_store *store)
{
	struct crab_media *media = store->media;

	crab_store_detach(store);
	media_destroy(media);
}

void store_abandon(struct crab_store *store)
{
	struct crab_media *media = store->media;

	crab_store_abandon(store);
	media_destroy(media);
}

struct crab_store *store_try(struct crab_media *media, struct crab_attach_report *report)
{
	const struct crab_attach_options options = { };

	return crab_store_attach(media, &options, report);
}

struct crab_store *store_attach(struct crab_media *media)
{
	struct crab_attach_report report;
	struct crab_store *store = store_try(media, &report);

	if (IS_ERR(store))
		tap_bail("attach: %ld %s", PTR_ERR(store), report.reason);
	if (report.verdict != CRAB_VERDICT_GOOD || report.reason[0])
		tap_fail("attach: verdict %d, %s", report.verdict, report.reason);
	return store;
}

void store_maintain(struct crab_store *store)
{
	while (crab_store_maintain(store))
		;
}

struct crab_store *store_again(struct crab_store *store)
{
	struct crab_media *media = store->media;

	crab_store_detach(store);
	return store_attach(media);
}

struct crab_store *store_cut(struct crab_store *store)
{
	struct crab_media *media = store->media;

	crab_store_abandon(store);
	return store_attach(media);
}

u32 leaf_bytes_of(const char *engine, const char *layout)
{
	const struct crab_layout *found = crab_layout_by_name(crab_engine_by_name(engine), layout);

	return clamp(512U, found->leaf_min, found->leaf_max);
}

struct crab_store *store_make(struct crab_media *media, const char *engine, const char *layout,
			      u32 leaf_bytes, unsigned int kind)
{
	const struct crab_format_options options = {
		.force = true, .engine = engine, .layout = layout, .label = "test", .leaf_bytes = leaf_bytes,
		.blobs = kind & STORE_BLOBS, .names = kind & STORE_NAMES, .commits = kind & STORE_COMMITS,
	};
	char reason[CRAB_REASON_LEN];
	int err = crab_store_format(media, &options, reason);

	if (err)
		tap_bail("format: %d %s", err, reason);
	return store_attach(media);
}

struct crab_store *store_format_attach(struct crab_media *media, const char *engine,
				       const char *layout, u32 leaf_bytes)
{
	return store_make(media, engine, layout, leaf_bytes, STORE_RECORDS);
}

void wake_none(void *arg)
{
}

bool stop_always(void *arg)
{
	return true;
}

const char * const store_layouts[STORE_LAYOUTS][2] = {
	{ "crab", "slotted" }, { "crab", "sorted" }, { "fastfair", "shift" }, { "nvtree", "append" },
	{ "clfb", "inplace" }, { "clfb", "twin" }, { "clfb", "atomic" }, { "nbtree", "adr" },
	{ "nbtree", "eadr" }, { "clfb", "encoded" },
};

const char * const store_value_layouts[STORE_VALUE_LAYOUTS][2] = {
	{ "crab", "slotted" }, { "crab", "sorted" }, { "nvtree", "" }, { "fastfair", "" },
	{ "clfb", "" }, { "nbtree", "" }, { "nbtree", "eadr" }, { "clfb", "encoded" },
};

void store_begin(u64 size, const char *engine, const char *layout, u32 leaf_bytes)
{
	store_begin_of(size, engine, layout, leaf_bytes, STORE_RECORDS);
}

void store_begin_of(u64 size, const char *engine, const char *layout, u32 leaf_bytes, unsigned int kind)
{
	media = media_create(size);
	store = store_make(&media, engine, layout, leaf_bytes, kind);
}
