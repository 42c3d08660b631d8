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

#include "engines/crab/format.h"
#include "engines/fastfair/tree.h"
#include "media/badmem.h"
#include "model.h"
#include "store/store_priv.h"
#include "tap.h"

#define PAGE		4096U
#define SIZE		(2U << 20)
#define KEYS		20000U
#define VALUE(key)	((key) * 3 + 1)

static const struct subject {
	const char *engine;
	const char *layout;
	bool listed;		/* only the header of a leaf leads to the next one */
} subjects[] = {
	{ "crab", "slotted", true },
	{ "crab", "sorted", true },
	{ "nvtree", "append", true },
	{ "fastfair", "shift", false },
};

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

static u64 link_number(const void *word)
{
	return (le64_to_cpu(*(const __le64 *)word) & CRAB_LINK_MASK) - 1;
}

/* Whether a page has nodes of the level 0 only */
static bool has_leaves_only(const struct crab_geometry *geo, u64 page)
{
	const struct ff_dnode *node;
	u32 at;

	for (at = 0; at < PAGE; at += geo->leaf_bytes) {
		node = (void *)(media.base + page + at);
		if (node->head.own)
			return false;
	}
	return true;
}

/* The number of leaf @nth of the list, read from the media */
static u64 leaf_nth(const struct subject *s, const struct crab_geometry *geo, u32 nth)
{
	u64 number = link_number(media.base + CRAB_HEAD_OFFSET);
	const struct ff_dnode *node = (void *)(media.base + crab_leaf_offset(geo, number));

	while (!s->listed && node->head.own) {
		number = link_number(&node->first);
		node = (void *)(media.base + crab_leaf_offset(geo, number));
	}
	for (; nth; nth--)
		number = link_number(media.base + crab_leaf_offset(geo, number));
	return number;
}

/* A store of KEYS even keys, detached; returns the number of leaf @nth of the list */
static u64 fill(const struct subject *s, u32 leaf_bytes, u32 nth, struct crab_geometry *geo)
{
	struct crab_store *store = store_format_attach(&media, s->engine, s->layout, leaf_bytes);
	struct crab_old old;
	u64 key;

	for (key = 0; key < 2 * KEYS; key += 2)
		tap_check(!crab_store_insert(store, key, VALUE(key), CRAB_INSERT_CREATE, &old),
			  "insert %llu", (unsigned long long)key);
	*geo = store->engine->geo;
	crab_store_detach(store);
	return leaf_nth(s, geo, nth);
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

/* A scan across quarantined ranges returns every other record; up and down in turns */
static u32 scan_all(struct crab_store *store)
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

/* The second page of a leaf of 8 KiB: its header can be read */
static void test_body(const struct subject *s)
{
	struct crab_attach_report report;
	u64 first = 0, last = 0, number;
	struct crab_geometry geo;
	struct crab_store *store;
	char reason[CRAB_REASON_LEN];
	struct crab_old old;
	u32 lost;

	media_begin();
	number = fill(s, 8192, 3, &geo);
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
	tap_check(s->listed ? check_errors(store) == 1 : check_errors(store), "check: %llu errors",
		  (unsigned long long)check_errors(store));
	tap_check(crab_store_insert(store, 1, 1, CRAB_INSERT_CREATE, &old) == -EROFS, "writable");
	crab_store_detach(store);
	tap_ok(true, "badmem: %s: a leaf with a bad page is quarantined, the rest is served", s->layout);
	media_end();
}

/*
 * A header that cannot be read: attach cannot follow a list after it. The entries of the level
 * above name the later leaves of fastfair.
 */
static void test_header(const struct subject *s, u32 leaf_bytes, bool inner)
{
	struct crab_attach_report report;
	u64 first = 0, last = 0, number, page;
	struct crab_geometry geo;
	struct crab_store *store;
	char reason[CRAB_REASON_LEN];
	u32 lost;

	media_begin();
	number = fill(s, leaf_bytes, KEYS * 16 / leaf_bytes / 2, &geo);
	page = round_down(crab_leaf_offset(&geo, number), PAGE);
	while (!s->listed && has_leaves_only(&geo, page) == inner)
		page += PAGE;
	media_fail(page, PAGE);
	store = attach(&report);
	tap_check(!IS_ERR(store), "attach: %ld", PTR_ERR(store));
	tap_check(leaves_bad(store, reason), "no leaf is bad");
	tap_check(strstr(reason, "uncorrectable memory"), "reason: %s", reason);
	lost = search_all(store, &first, &last);
	tap_check(lost && lost < KEYS * 3 / 4, "%u keys lost", lost);
	tap_check(last - first == 2 * (lost - 1), "the lost keys are not one range");
	if (s->listed)
		tap_check(last == 2 * KEYS - 2, "leaves after the header are served");
	else
		tap_check(lost <= max(PAGE, leaf_bytes) / 16 * (inner ? leaf_bytes / 16 : 1),
			  "%u keys lost", lost);
	tap_check(scan_all(store) == KEYS - lost, "scan: %u records", scan_all(store));
	tap_check(check_errors(store), "check found nothing");
	crab_store_detach(store);
	tap_ok(true, "badmem: %s/%u: after an unreadable header %s", s->layout, leaf_bytes,
	       s->listed ? "no leaf is guessed" :
	       inner ? "the leaves below other nodes are served" : "all other leaves are served");
	media_end();
}

/* A cut leaves void slots in a leaf of fastfair, which are also in a leaf that cannot be read */
static void test_tail(void)
{
	const struct subject *s = &subjects[3];
	struct crab_attach_report report;
	u64 first = 0, last = 0, number;
	struct crab_geometry geo;
	struct crab_store *store;
	struct ff_dnode *node;
	u32 lost, i = 0;

	media_begin();
	number = fill(s, 8192, 3, &geo);
	node = (void *)(media.base + crab_leaf_offset(&geo, leaf_nth(s, &geo, 2)));
	while (node->slot[i].key != cpu_to_le64(CRAB_KEY_EMPTY))
		i++;
	node->slot[i + 1].key = node->slot[i].key;
	node->slot[i].key = cpu_to_le64(le64_to_cpu(node->slot[i - 1].key) + 3);
	media_fail(crab_leaf_offset(&geo, number) + PAGE, PAGE);
	store = attach(&report);
	tap_check(!IS_ERR(store), "attach: %ld", PTR_ERR(store));
	lost = search_all(store, &first, &last);
	tap_check(lost && lost <= geo.leaf_bytes / 16, "%u keys lost", lost);
	tap_check(scan_all(store) == KEYS - lost, "scan: %u records", scan_all(store));
	crab_store_detach(store);
	tap_ok(true, "badmem: %s: void slots are not looked for in a leaf that cannot be read",
	       s->layout);
	media_end();
}

static struct crab_dslot *slots_of(const struct crab_geometry *geo, u64 number)
{
	return ((struct crab_dleaf *)(media.base + crab_leaf_offset(geo, number)))->slots;
}

/* A cut split leaves a record in a sorted leaf and in the next one, which cannot be read */
static void test_overlap(void)
{
	struct crab_attach_report report;
	struct crab_dslot *last, *next;
	struct crab_store_info info;
	struct crab_geometry geo;
	struct crab_store *store;
	struct crab_old old;
	u64 number;

	media_begin();
	number = fill(&subjects[1], 8192, 3, &geo);
	next = slots_of(&geo, number);
	last = slots_of(&geo, leaf_nth(&subjects[1], &geo, 2)) + crab_leaf_slots(8192) - 1;
	store = attach(&report);
	tap_check(!crab_store_delete(store, le64_to_cpu(last->key), &old), "the leaf is not full");
	crab_store_detach(store);
	*last = *next;
	media_fail(crab_leaf_offset(&geo, number) + PAGE, PAGE);
	store = attach(&report);
	crab_store_info(store, &info);
	number = KEYS - 1 - crab_leaf_slots(8192);
	tap_check(info.stats.records == number && scan_all(store) == number, "%u records", scan_all(store));
	crab_store_detach(store);
	tap_ok(true, "badmem: sorted: records are not counted that a bad leaf may have, too");
	media_end();
}

/* The word of the media that differs from the copy, if it is one link; else 0 */
static u64 changed_link(const u8 *copy, const struct crab_geometry *geo)
{
	const u64 *old = (const u64 *)copy, *new = (void *)media.base;
	u64 i, at = 0, changes = 0;

	for (i = 0; i < SIZE / sizeof(u64); i++) {
		if (old[i] == new[i])
			continue;
		at = i * sizeof(u64);
		changes++;
	}
	return changes == 1 && at > geo->pool_offset && !(at % geo->leaf_bytes) ? at : 0;
}

/* With the header at @at unreadable, neither value nor absence of the key is reported */
static void key_is_lost(u64 at, u64 key)
{
	struct crab_attach_report report;
	struct crab_store *store;
	u64 value;

	crab_badmem_add(&bad, at, CRAB_LINE);
	store = attach(&report);
	tap_check(!IS_ERR(store), "attach: %ld", PTR_ERR(store));
	tap_check(crab_store_search(store, key, &value) == -EUCLEAN, "key %llu is guessed",
		  (unsigned long long)key);
	crab_store_detach(store);
	crab_badmem_init(&bad);
}

/*
 * Why no leaf is guessed: some delete changes one word of the media, the link in a header. If this
 * header cannot be read, the media before the delete and after it are the same.
 */
static void test_twins(const struct subject *s)
{
	static u8 copy[SIZE];
	struct crab_attach_report report;
	struct crab_geometry geo;
	struct crab_store *store;
	struct crab_old old;
	u64 key, at = 0;

	media_begin();
	fill(s, 512, 0, &geo);
	store = attach(&report);
	for (key = KEYS; !at && key < 2 * KEYS; key += 2) {
		memcpy(copy, media.base, SIZE);
		tap_check(!crab_store_delete(store, key, &old), "delete %llu",
			  (unsigned long long)key);
		at = changed_link(copy, &geo);
	}
	tap_check(at, "no delete changes one link only");
	key -= 2;
	crab_store_detach(store);
	key_is_lost(at, key);
	memcpy(media.base, copy, SIZE);
	key_is_lost(at, key);
	tap_ok(true, "badmem: %s: beyond an unreadable header a deleted record looks like a live one",
	       s->layout);
	media_end();
}

/* Free leaves with bad memory are no damage; they are never written */
static void test_free(const struct subject *s, u32 leaf_bytes, bool known, u64 listed)
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
	fill(s, leaf_bytes, 0, &geo);
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
	tap_ok(true, "badmem: %s/%u: free leaves in %s, %s, are not used", s->layout, leaf_bytes,
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
		fill(&subjects[0], 1024, 0, &geo);
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
	fill(&subjects[0], 1024, 0, &geo);
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
	fill(&subjects[0], 1024, 0, &geo);
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
	fill(&subjects[1], 1024, 0, &geo);
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
static void test_runtime(const struct subject *s, u32 leaf_bytes)
{
	struct crab_attach_report report;
	u64 first = 0, last = 0, number, page, value;
	struct crab_geometry geo;
	struct crab_store *store;
	char reason[CRAB_REASON_LEN];
	struct crab_old old;
	u32 lost, leaves = max(PAGE / leaf_bytes, 1U);

	media_begin();
	number = fill(s, leaf_bytes, 5, &geo);
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
	tap_check(check_errors(store) == leaves_bad(store, reason) ||
		  (!s->listed && check_errors(store) > leaves_bad(store, reason)),
		  "check: %llu errors", (unsigned long long)check_errors(store));
	while (crab_store_maintain(store))
		;
	crab_store_detach(store);
	store = attach(&report);
	tap_check(!IS_ERR(store), "attach: %ld", PTR_ERR(store));
	search_all(store, &first, &last);
	crab_store_detach(store);
	tap_ok(true, "badmem: %s/%u: a page that fails under an attached store", s->layout, leaf_bytes);
	media_end();
}

int main(void)
{
	const struct subject *s;

	if (crab_persist_init() || sysconf(_SC_PAGESIZE) != PAGE)
		return 2;
	crab_host_seed(1);
	for (s = subjects; s < subjects + ARRAY_SIZE(subjects); s++) {
		test_body(s);
		test_header(s, 1024, false);
		test_header(s, 4096, false);
		test_free(s, 1024, false, PAGE);
		test_free(s, 1024, true, PAGE);
		test_free(s, 8192, false, PAGE);
		test_free(s, 1024, false, CRAB_LINE);
		test_free(s, 1024, true, CRAB_LINE);
		test_runtime(s, 1024);
		test_runtime(s, 8192);
	}
	test_header(&subjects[3], 512, true);
	test_header(&subjects[3], 1024, true);
	test_tail();
	test_overlap();
	test_twins(&subjects[0]);
	test_twins(&subjects[2]);
	test_super();
	test_head();
	test_bitmap();
	test_format();
	return tap_done();
}
