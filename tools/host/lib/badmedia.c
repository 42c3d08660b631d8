// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements a media with memory that cannot be read.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>

#include <linux/errno.h>
#include <linux/random.h>

#include "badmedia.h"
#include "model.h"
#include "tap.h"

struct crab_badmem badmedia_list;
struct crab_media badmedia;

void badmedia_begin(void)
{
	crab_badmem_init(&badmedia_list);
	badmedia = (struct crab_media){
		.size = BAD_SIZE, .durability = CRAB_DURABILITY_POP, .fence_only = true, .bad = &badmedia_list,
	};
	badmedia.base = mmap(NULL, BAD_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void badmedia_end(void)
{
	munmap(badmedia.base, BAD_SIZE);
}

void badmedia_fail_listed(u64 offset, u64 len, u64 listed)
{
	u64 page;

	for (page = 0; page < len; page += BAD_PAGE)
		crab_badmem_add(&badmedia_list, offset + page, listed);
	mprotect(badmedia.base + offset, len, listed < BAD_PAGE ? PROT_READ : PROT_NONE);
}

void badmedia_fail(u64 offset, u64 len)
{
	badmedia_fail_listed(offset, len, BAD_PAGE);
}

void badmedia_heal(void)
{
	mprotect(badmedia.base, BAD_SIZE, PROT_READ | PROT_WRITE);
	crab_badmem_init(&badmedia_list);
}

struct crab_store *badmedia_fill_ragged(const char *const *subject, u32 records, u32 run,
					bool *there)
{
	struct crab_store *store = store_format_attach(&badmedia, subject[0], subject[1],
						       leaf_bytes_of(subject[0], subject[1]));
	unsigned long long seed = 1;
	struct crab_old old;
	u32 i, key;

	memset(there, 0, 2 * records * sizeof(*there));
	for (i = 0; i < records; i++) {
		key = i * 7919 % records * 2 + 1;
		there[key] = !crab_store_insert(store, key, BAD_VALUE(key), CRAB_INSERT_CREATE, &old);
	}
	for (key = 1; key < 2 * records; key += 2)
		if (key / run % 2 && rng_below(&seed, 8) && !crab_store_delete(store, key, &old))
			there[key] = false;
	while (crab_store_maintain(store))
		;
	return store;
}

struct crab_geometry badmedia_ragged(const char *const *subject, u32 records, u32 run, bool *there)
{
	struct crab_store *store = badmedia_fill_ragged(subject, records, run, there);
	struct crab_geometry geo = store->engine->geo;

	crab_store_detach(store);
	return geo;
}

struct crab_store *badmedia_attach(struct crab_attach_report *report)
{
	struct crab_attach_report own;
	struct crab_store *store = store_try(&badmedia, report ?: &own);

	if (IS_ERR(store))
		tap_bail("attach: %ld", PTR_ERR(store));
	return store;
}

struct crab_store *badmedia_cut(struct crab_store *store, struct crab_attach_report *report)
{
	crab_store_abandon(store);
	return badmedia_attach(report);
}

void badmedia_fill(const char *engine, const char *layout, u32 leaf_bytes,
		   struct crab_geometry *geo)
{
	struct crab_store *store = store_format_attach(&badmedia, engine, layout, leaf_bytes);
	struct crab_old old;
	u64 key;

	for (key = 0; key < 2 * BAD_KEYS; key += 2)
		tap_check(!crab_store_insert(store, key, BAD_VALUE(key), CRAB_INSERT_CREATE, &old),
			  "insert %llu", (unsigned long long)key);
	*geo = store->engine->geo;
	crab_store_detach(store);
}

u32 badmedia_search(struct crab_store *store, u64 *first, u64 *last)
{
	u64 key, value = 0;
	u32 lost = 0;
	int err;

	for (key = 0; key < 2 * BAD_KEYS; key += 2) {
		err = crab_store_search(store, key, &value);
		if (err == -EUCLEAN) {
			*first = lost++ ? *first : key;
			*last = key;
			continue;
		}
		tap_check(!err && value == BAD_VALUE(key), "key %llu: error %d, value %llu",
			  (unsigned long long)key, err, (unsigned long long)value);
	}
	return lost;
}

u32 badmedia_scan(struct crab_store *store)
{
	struct crab_record records[64];
	static u32 turns;
	struct crab_cursor cursor;
	u32 count = 0;
	int n = 0, i;

	(turns++ % 2 ? crab_cursor_init_back : crab_cursor_init)(&cursor, 0, ~0ULL - 1);
	while (!cursor.done && n >= 0) {
		n = crab_cursor_read(store, &cursor, records, 64);
		if (n == -EUCLEAN) {
			crab_cursor_skip(store, &cursor);
			n = 0;
		}
		for (i = 0; i < n; i++)
			tap_check(records[i].value == BAD_VALUE(records[i].key), "scan: key %llu",
				  (unsigned long long)records[i].key);
		count += n;
	}
	return count;
}

/* Is the result of a late write valid? Counts those that are refused */
static void late(u64 key, int err, u32 *refused)
{
	tap_check(!err || err == -EUCLEAN || err == -ENOSPC || err == -ENOENT,
		  "late write of %llu: %d", (unsigned long long)key, err);
	*refused += err == -EUCLEAN;
}

u32 badmedia_late(struct crab_store *store)
{
	const struct crab_engine_ops *ops = store->engine->ops;
	struct crab_flow flow = { .media = &badmedia };
	struct crab_old old;
	u32 refused = 0, i;
	u64 key;

	for (key = 1; key < 2 * BAD_KEYS; key += 2)
		late(key, ops->insert(store->engine, &flow, key, key, CRAB_INSERT_EITHER, &old),
		     &refused);
	for (key = 0; key < 2 * BAD_KEYS; key++)
		late(key, ops->remove(store->engine, &flow, key, &old), &refused);
	for (i = 0; ops->maintain && i < BAD_KEYS; i++)
		ops->maintain(store->engine);
	return refused;
}

u64 badmedia_errors(struct crab_store *store)
{
	struct crab_check_report report = { };

	tap_check(!crab_store_check(store, &report), "check");
	return report.damage.count;
}

u64 badmedia_leaves(struct crab_store *store, char *reason)
{
	struct crab_store_info info;

	crab_store_info(store, &info);
	strcpy(reason, info.reason);
	return info.stats.leaves_bad;
}

bool badmedia_is_used(u64 page)
{
	static const u8 zero[BAD_PAGE];

	return memcmp(badmedia.base + page, zero, BAD_PAGE);
}

u32 badmedia_count(struct crab_store *store, u64 last, bool back, u32 *errors)
{
	struct crab_record record;
	struct crab_cursor cursor;
	u32 got = 0;
	int n;

	*errors = 0;
	(back ? crab_cursor_init_back : crab_cursor_init)(&cursor, 0, last);
	while (!cursor.done && *errors < last) {
		n = crab_cursor_read(store, &cursor, &record, 1);
		got += max(n, 0);
		*errors += n < 0;
		if (n < 0)
			crab_cursor_skip(store, &cursor);
	}
	return got;
}

/* Before main(), after the primitives are chosen */
__attribute__((constructor))
static void prepare(void)
{
	if (sysconf(_SC_PAGESIZE) != BAD_PAGE)
		exit(2);
	crab_host_seed(1);
}
