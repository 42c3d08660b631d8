// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests memory that cannot be read. Such pages are mapped without access, so a
 * load or a store there ends the program.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/random.h>
#include <linux/string.h>

#include "media/badmem.h"
#include "engines/crab/crab.h"
#include "model.h"
#include "store/store_priv.h"
#include "tap.h"

#define PAGE		4096U
#define SIZE		(2U << 20)
#define KEYS		20000U
#define VALUE(key)	((key) * 3 + 1)

static struct crab_badmem bad;
static struct crab_media media;

static void media_begin(void)
{
	crab_badmem_init(&bad);
	media = (struct crab_media){
		.size = SIZE, .durability = CRAB_DURABILITY_POP, .fence_only = true, .bad = &bad,
	};
	media.base = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void media_end(void)
{
	munmap(media.base, SIZE);
}

/*
 * The pages become unreadable immediately, and the list contains them; or it contains a line of
 * each, and only writes fail: in the kernel attach survives the reads
 */
static void media_fail_listed(u64 offset, u64 len, u64 listed)
{
	u64 page;

	for (page = 0; page < len; page += PAGE)
		crab_badmem_add(&bad, offset + page, listed);
	mprotect(media.base + offset, len, listed < PAGE ? PROT_READ : PROT_NONE);
}

static void media_fail(u64 offset, u64 len)
{
	media_fail_listed(offset, len, PAGE);
}

static struct crab_store *attach(struct crab_attach_report *report)
{
	struct crab_attach_options options = { };

	return crab_store_attach(&media, &options, report);
}

/* A store of KEYS even keys, detached; returns the number of leaf @nth of the list */
static u64 fill(const char *layout, u32 leaf_bytes, u32 nth, struct crab_geometry *geo)
{
	struct crab_store *store = store_format_attach(&media, "crab", layout, leaf_bytes);
	struct crab_old old;
	struct crab_leaf *leaf;
	u64 key, number;

	for (key = 0; key < 2 * KEYS; key += 2)
		tap_check(!crab_store_insert(store, key, VALUE(key), CRAB_INSERT_CREATE, &old),
			  "insert %llu", (unsigned long long)key);
	*geo = store->engine->geo;
	leaf = crab_tree_of(store->engine)->first;
	while (nth--)
		leaf = leaf->next;
	number = leaf->number;
	crab_store_detach(store);
	return number;
}

/* Each key has its value or is quarantined; returns how many are */
static u32 search_all(struct crab_store *store, u64 *first, u64 *last)
{
	u64 key, value = 0;
	u32 lost = 0;
	int err;

	for (key = 0; key < 2 * KEYS; key += 2) {
		err = crab_store_search(store, key, &value);
		if (err == -EUCLEAN) {
			*first = lost++ ? *first : key;
			*last = key;
			continue;
		}
		tap_check(!err && value == VALUE(key), "key %llu: error %d, value %llu",
			  (unsigned long long)key, err, (unsigned long long)value);
	}
	return lost;
}

/* A scan across quarantined ranges returns every other record */
static u32 scan_all(struct crab_store *store)
{
	struct crab_record records[64];
	struct crab_cursor cursor;
	u32 count = 0, turns = 0;
	int n, i;

	crab_cursor_init(&cursor, 0, ~0ULL - 1);
	while (turns++ < KEYS) {
		n = crab_cursor_read(store, &cursor, records, 64);
		if (n == -EUCLEAN) {
			crab_cursor_skip(store, &cursor);
			continue;
		}
		if (n <= 0)
			break;
		for (i = 0; i < n; i++)
			tap_check(records[i].value == VALUE(records[i].key), "scan: key %llu",
				  (unsigned long long)records[i].key);
		count += n;
	}
	return count;
}

static u64 check_errors(struct crab_store *store)
{
	struct crab_check_report report = { };

	tap_check(!crab_store_check(store, &report), "check");
	return report.damage.count;
}

static u64 leaves_bad(struct crab_store *store, char *reason)
{
	struct crab_store_info info;

	crab_store_info(store, &info);
	strcpy(reason, info.reason);
	return info.stats.leaves_bad;
}

static void test_list(u64 seed)
{
	static u8 model[4 * CRAB_BADMEM_MAX * 8];
	const u32 size = sizeof(model);
	u32 i, from, len, hits;
	u64 to;

	media_begin();
	memset(model, 0, size);
	for (i = 0; i < 3000; i++) {
		from = rng(&seed) % (size - 8);
		len = rng(&seed) % 4;
		crab_badmem_add(&bad, from, len);
		memset(model + from, 1, len);
	}
	tap_check(bad.count <= CRAB_BADMEM_MAX, "%u ranges", bad.count);
	for (i = 1; i < bad.count; i++)
		tap_check(bad.range[i - 1].to < bad.range[i].from, "ranges %u and %u touch", i - 1, i);
	for (i = 0, hits = 0; i < size; i++) {
		hits += crab_badmem_hits(&media, i, 1);
		tap_check(!model[i] || crab_badmem_hits(&media, i, 1), "byte %u was forgotten", i);
	}
	tap_check(hits < size, "everything is bad");
	tap_check(!crab_badmem_next(&media, size, &to, &to), "a range after the last one");
	tap_ok(true, "badmem: a list that overflows forgets nothing");
	media_end();
}

/* The exact list, as long as it has room */
static void test_list_exact(u64 seed)
{
	static u8 model[2000];
	u32 i, from, len;

	media_begin();
	memset(model, 0, sizeof(model));
	for (i = 0; i < 150; i++) {
		from = rng(&seed) % (sizeof(model) - 16);
		len = rng(&seed) % 16;
		crab_badmem_add(&bad, from, len);
		memset(model + from, 1, len);
	}
	for (i = 0; i < sizeof(model); i++)
		tap_check(crab_badmem_hits(&media, i, 1) == model[i], "byte %u", i);
	for (i = 0; i + 40 < sizeof(model); i++)
		tap_check(crab_badmem_hits(&media, i, 40) == !!memchr(model + i, 1, 40), "from %u", i);
	tap_ok(true, "badmem: a list is exact while it has room");
	media_end();
}

/* The second page of a leaf of 8 KiB: its header can be read */
static void test_body(const char *layout)
{
	struct crab_attach_report report;
	u64 first = 0, last = 0, number;
	struct crab_geometry geo;
	struct crab_store *store;
	char reason[CRAB_REASON_LEN];
	struct crab_old old;
	u32 lost;

	media_begin();
	number = fill(layout, 8192, 3, &geo);
	media_fail(crab_leaf_offset(&geo, number) + PAGE, PAGE);
	store = attach(&report);
	tap_check(!IS_ERR(store), "attach: %ld", PTR_ERR(store));
	tap_check(leaves_bad(store, reason) == 1, "%llu bad leaves",
		  (unsigned long long)leaves_bad(store, reason));
	tap_check(strstr(reason, "uncorrectable memory"), "reason: %s", reason);
	lost = search_all(store, &first, &last);
	tap_check(lost && lost <= geo.leaf_bytes / 16, "%u keys lost", lost);
	tap_check(last - first == 2 * (lost - 1), "the lost keys are not one range");
	tap_check(scan_all(store) == KEYS - lost, "scan: %u records", scan_all(store));
	tap_check(check_errors(store) == 1, "check: %llu errors",
		  (unsigned long long)check_errors(store));
	tap_check(crab_store_insert(store, 1, 1, CRAB_INSERT_CREATE, &old) == -EROFS, "writable");
	crab_store_detach(store);
	tap_ok(true, "badmem: %s: a leaf with a bad page is quarantined, the rest is served", layout);
	media_end();
}

/* A header that cannot be read: attach cannot follow the list after it */
static void test_header(const char *layout, u32 leaf_bytes)
{
	struct crab_attach_report report;
	u64 first = 0, last = 0, number;
	struct crab_geometry geo;
	struct crab_store *store;
	char reason[CRAB_REASON_LEN];
	u32 lost;

	media_begin();
	number = fill(layout, leaf_bytes, KEYS * 16 / leaf_bytes / 2, &geo);
	media_fail(round_down(crab_leaf_offset(&geo, number), PAGE), PAGE);
	store = attach(&report);
	tap_check(!IS_ERR(store), "attach: %ld", PTR_ERR(store));
	tap_check(leaves_bad(store, reason), "no leaf is bad");
	tap_check(strstr(reason, "uncorrectable memory"), "reason: %s", reason);
	lost = search_all(store, &first, &last);
	tap_check(lost && lost < KEYS * 3 / 4, "%u keys lost", lost);
	tap_check(scan_all(store) == KEYS - lost, "scan: %u records", scan_all(store));
	tap_check(check_errors(store), "check found nothing");
	crab_store_detach(store);
	tap_ok(true, "badmem: %s/%u: after an unreadable header no leaf is guessed", layout,
	       leaf_bytes);
	media_end();
}

/* Free leaves with bad memory are no damage; they are never written */
static void test_free(const char *layout, u32 leaf_bytes, bool known, u64 listed)
{
	struct crab_attach_report report;
	struct crab_geometry geo;
	struct crab_store *store;
	char reason[CRAB_REASON_LEN];
	struct crab_old old;
	u64 key, leaves;
	int err = 0;

	media_begin();
	if (known)
		media_fail_listed(SIZE / 2, PAGE, listed);
	fill(layout, leaf_bytes, 0, &geo);
	if (!known)
		media_fail_listed(SIZE - 2 * PAGE, PAGE, listed);
	leaves = max(PAGE / leaf_bytes, 1U);
	store = attach(&report);
	tap_check(!IS_ERR(store), "attach: %ld", PTR_ERR(store));
	tap_check(leaves_bad(store, reason) == leaves, "%llu bad leaves, %s",
		  (unsigned long long)leaves_bad(store, reason), reason);
	for (key = 2 * KEYS; !err; key += 2)
		err = crab_store_insert(store, key, VALUE(key), CRAB_INSERT_CREATE, &old);
	tap_check(err == -ENOSPC, "error %d", err);
	while (crab_store_maintain(store))
		;
	tap_check(!search_all(store, &key, &key), "keys were lost");
	tap_check(!check_errors(store), "check: %llu errors",
		  (unsigned long long)check_errors(store));
	crab_store_detach(store);
	tap_ok(true, "badmem: %s/%u: free leaves in %s, %s, are not used", layout, leaf_bytes,
	       listed < PAGE ? "the page of a bad line" : "bad memory",
	       known ? "known at FORMAT" : "found at attach");
	media_end();
}

static void test_super(void)
{
	struct crab_attach_report report;
	struct crab_geometry geo;
	struct crab_store *store;
	u64 first, last;
	u32 copy;

	for (copy = 0; copy < CRAB_SUPER_COPIES; copy++) {
		media_begin();
		fill("slotted", 1024, 0, &geo);
		media_fail(copy * CRAB_SUPER_STRIDE, PAGE);
		store = attach(&report);
		tap_check(!IS_ERR(store), "attach: %ld", PTR_ERR(store));
		tap_check(report.verdict == CRAB_VERDICT_RO, "writable");
		tap_check(strstr(report.reason, "the other superblock"), "reason: %s", report.reason);
		tap_check(!search_all(store, &first, &last), "keys were lost");
		crab_store_detach(store);
		media_end();
	}
	tap_ok(true, "badmem: one superblock that cannot be read: served read-only by the other");

	media_begin();
	fill("slotted", 1024, 0, &geo);
	media_fail(0, 2 * PAGE);
	store = attach(&report);
	tap_check(PTR_ERR(store) == -EUCLEAN, "attach: %ld", PTR_ERR(store));
	tap_check(strstr(report.reason, "uncorrectable memory"), "reason: %s", report.reason);
	tap_ok(true, "badmem: no superblock that can be read: rejected");
	media_end();
}

static void test_head(void)
{
	struct crab_attach_report report;
	u64 first = 0, last = 0;
	struct crab_geometry geo;
	struct crab_store *store;

	media_begin();
	fill("slotted", 1024, 0, &geo);
	media_fail(CRAB_HEAD_OFFSET, PAGE);
	store = attach(&report);
	tap_check(!IS_ERR(store), "attach: %ld", PTR_ERR(store));
	tap_check(strstr(report.reason, "uncorrectable memory"), "reason: %s", report.reason);
	tap_check(search_all(store, &first, &last) == KEYS, "keys without a list");
	tap_check(check_errors(store), "check found nothing");
	crab_store_detach(store);
	tap_ok(true, "badmem: the head of the list cannot be read: every key returns EUCLEAN");
	media_end();
}

/* Nothing is lost, but nothing may be allocated */
static void test_bitmap(void)
{
	struct crab_attach_report report;
	struct crab_geometry geo;
	struct crab_store *store;
	u64 first, last;

	media_begin();
	fill("sorted", 1024, 0, &geo);
	media_fail(CRAB_BITMAP_OFFSET, PAGE);
	store = attach(&report);
	tap_check(!IS_ERR(store), "attach: %ld", PTR_ERR(store));
	tap_check(report.verdict == CRAB_VERDICT_RO, "writable");
	tap_check(!search_all(store, &first, &last), "keys were lost");
	crab_store_detach(store);
	tap_ok(true, "badmem: a bitmap that cannot be read: all is served, read-only");
	media_end();
}

static int format(const char *layout, char *reason)
{
	struct crab_format_options options = {
		.engine = "crab", .layout = layout, .label = "", .leaf_bytes = 1024,
	};

	return crab_store_format(&media, &options, reason);
}

static void test_format(void)
{
	char reason[CRAB_REASON_LEN];
	u64 page;

	for (page = 0; page <= CRAB_POOL_OFFSET; page += PAGE) {
		media_begin();
		media_fail(page, PAGE);
		tap_check(format("slotted", reason) == -EIO,
			  "page at %llu: %s", (unsigned long long)page, reason);
		tap_check(strstr(reason, "uncorrectable memory"), "reason: %s", reason);
		media_end();
	}
	media_begin();
	media_fail(CRAB_POOL_OFFSET + PAGE, PAGE);
	tap_check(!format("slotted", reason), "%s", reason);
	tap_ok(true, "badmem: FORMAT is refused only where it writes");
	media_end();
}

/* Memory fails under an attached store */
static void test_runtime(const char *layout, u32 leaf_bytes)
{
	struct crab_attach_report report;
	u64 first = 0, last = 0, number, page, value;
	struct crab_geometry geo;
	struct crab_store *store;
	char reason[CRAB_REASON_LEN];
	struct crab_old old;
	u32 lost, leaves = max(PAGE / leaf_bytes, 1U);

	media_begin();
	number = fill(layout, leaf_bytes, 5, &geo);
	store = attach(&report);
	tap_check(!IS_ERR(store) && report.verdict == CRAB_VERDICT_GOOD, "attach");
	page = round_down(crab_leaf_offset(&geo, number) + leaf_bytes - 1, PAGE);
	media_fail(page, PAGE);
	crab_store_fail(store, page, PAGE);
	tap_check(leaves_bad(store, reason) && leaves_bad(store, reason) <= leaves, "%llu bad leaves",
		  (unsigned long long)leaves_bad(store, reason));
	tap_check(strstr(reason, "uncorrectable"), "reason: %s", reason);
	lost = search_all(store, &first, &last);
	tap_check(lost && lost <= leaves * leaf_bytes / 16, "%u keys lost", lost);
	tap_check(scan_all(store) == KEYS - lost, "scan: %u records", scan_all(store));
	tap_check(crab_store_insert(store, first, 1, CRAB_INSERT_EITHER, &old) == -EROFS, "insert");
	tap_check(crab_store_delete(store, first, &old) == -EROFS, "delete");
	tap_check(crab_store_search(store, first, &value) == -EUCLEAN, "search");
	tap_check(check_errors(store) == leaves_bad(store, reason), "check: %llu errors",
		  (unsigned long long)check_errors(store));
	while (crab_store_maintain(store))
		;
	crab_store_detach(store);
	store = attach(&report);
	tap_check(!IS_ERR(store), "attach: %ld", PTR_ERR(store));
	search_all(store, &first, &last);
	crab_store_detach(store);
	tap_ok(true, "badmem: %s/%u: a page that fails under an attached store", layout, leaf_bytes);
	media_end();
}

int main(void)
{
	static const char * const layouts[] = { "slotted", "sorted" };
	u32 i;

	if (crab_persist_init() || sysconf(_SC_PAGESIZE) != PAGE)
		return 2;
	crab_host_seed(1);
	test_list(1);
	test_list_exact(2);
	for (i = 0; i < 2; i++) {
		test_body(layouts[i]);
		test_header(layouts[i], 1024);
		test_header(layouts[i], 4096);
		test_free(layouts[i], 1024, false, PAGE);
		test_free(layouts[i], 1024, true, PAGE);
		test_free(layouts[i], 8192, false, PAGE);
		test_free(layouts[i], 1024, false, CRAB_LINE);
		test_free(layouts[i], 1024, true, CRAB_LINE);
		test_runtime(layouts[i], 1024);
		test_runtime(layouts[i], 8192);
	}
	test_super();
	test_head();
	test_bitmap();
	test_format();
	return tap_done();
}
