// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests memory that cannot be read: stores whose leaves are a list.
 */
#include "badmedia.h"
#include "engines/crab/format.h"
#include "engines/fastfair/tree.h"
#include "test.h"

static const struct subject {
	const char *engine;
	const char *layout;
	bool listed;		/* only the header of a leaf leads to the next one */
} subjects[] = {
	{ "crab", "slotted", true }, { "crab", "sorted", true }, { "nvtree", "append", true },
	{ "fastfair", "shift", false }, { "nbtree", "adr", true }, { "nbtree", "eadr", true },
};

static u64 link_number(const void *word)
{
	return (le64_to_cpu(*(const __le64 *)word) & CRAB_LINK_MASK) - 1;
}

/* Whether a page has nodes of the level 0 only */
static bool has_leaves_only(const struct crab_geometry *geo, u64 page)
{
	const struct ff_dnode *node;
	u32 at;

	for (at = 0; at < BAD_PAGE; at += geo->leaf_bytes) {
		node = (void *)(badmedia.base + page + at);
		if (node->head.own)
			return false;
	}
	return true;
}

/* The number of leaf @nth of the list, read from the media */
static u64 leaf_nth(const struct subject *s, const struct crab_geometry *geo, u32 nth)
{
	u64 number = link_number(badmedia.base + CRAB_HEAD_OFFSET);
	const struct ff_dnode *node = (void *)(badmedia.base + crab_leaf_offset(geo, number));

	while (!s->listed && node->head.own) {
		number = link_number(&node->first);
		node = (void *)(badmedia.base + crab_leaf_offset(geo, number));
	}
	for (; nth; nth--)
		number = link_number(badmedia.base + crab_leaf_offset(geo, number));
	return number;
}

static const struct ff_dnode *node_of(const struct crab_geometry *geo, const void *word)
{
	return (void *)(badmedia.base + crab_leaf_offset(geo, link_number(word)));
}

/* The first node of a level below the second child of the root of fastfair */
static const struct ff_dnode *node_second(const struct crab_geometry *geo, u64 level)
{
	const struct ff_dnode *node = node_of(geo, badmedia.base + CRAB_HEAD_OFFSET);

	for (node = node_of(geo, &node->slot[0].value); node->head.own > level; )
		node = node_of(geo, &node->first);
	return node;
}

/* A store, detached; returns the number of leaf @nth of the list */
static u64 fill(const struct subject *s, u32 leaf_bytes, u32 nth, struct crab_geometry *geo)
{
	badmedia_fill(s->engine, s->layout, leaf_bytes, geo);
	return leaf_nth(s, geo, nth);
}

/* The second page of a leaf of 8 KiB: its header can be read */
static void test_body(const struct subject *s)
{
	u64 first = 0, last = 0, number;
	struct crab_geometry geo;
	struct crab_store *store;
	char reason[CRAB_REASON_LEN];
	u32 lost;

	badmedia_begin();
	number = fill(s, 8192, 3, &geo);
	badmedia_fail(crab_leaf_offset(&geo, number) + BAD_PAGE, BAD_PAGE);
	store = badmedia_attach(NULL);
	tap_check(badmedia_leaves(store, reason) == 1, "%llu bad leaves",
		  (unsigned long long)badmedia_leaves(store, reason));
	tap_check(strstr(reason, "uncorrectable memory"), "reason: %s", reason);
	lost = badmedia_search(store, &first, &last);
	tap_check(lost && lost <= geo.leaf_bytes / 16, "%u keys lost", lost);
	tap_check(last - first == 2 * (lost - 1), "the lost keys are not one range");
	tap_check(badmedia_scan(store) == BAD_KEYS - lost, "scan: %u records", badmedia_scan(store));
	tap_check(s->listed ? badmedia_errors(store) == 1 : badmedia_errors(store), "check: %llu errors",
		  (unsigned long long)badmedia_errors(store));
	tap_check(store_insert(store, 1, 1, CRAB_INSERT_CREATE) == -EROFS, "writable");
	crab_store_detach(store);
	tap_ok(true, "badmem: %s: a leaf with a bad page is quarantined, the rest is served", s->layout);
	badmedia_end();
}

/*
 * A header that cannot be read: attach cannot follow a list after it. The entries of the level
 * above name the later leaves of fastfair.
 */
static void test_header(const struct subject *s, u32 leaf_bytes, bool inner)
{
	u64 first = 0, last = 0, number, page;
	struct crab_geometry geo;
	struct crab_store *store;
	char reason[CRAB_REASON_LEN];
	u32 lost;

	badmedia_begin();
	number = fill(s, leaf_bytes, BAD_KEYS * 16 / leaf_bytes / 2, &geo);
	page = round_down(crab_leaf_offset(&geo, number), BAD_PAGE);
	while (!s->listed && has_leaves_only(&geo, page) == inner)
		page += BAD_PAGE;
	badmedia_fail(page, BAD_PAGE);
	store = badmedia_attach(NULL);
	tap_check(badmedia_leaves(store, reason), "no leaf is bad");
	tap_check(strstr(reason, "uncorrectable memory"), "reason: %s", reason);
	lost = badmedia_search(store, &first, &last);
	tap_check(lost && lost < BAD_KEYS * 3 / 4, "%u keys lost", lost);
	tap_check(last - first == 2 * (lost - 1), "the lost keys are not one range");
	if (s->listed)
		tap_check(last == 2 * BAD_KEYS - 2, "leaves after the header are served");
	else
		tap_check(lost <= max(BAD_PAGE, leaf_bytes) / 16 * (inner ? leaf_bytes / 16 : 1),
			  "%u keys lost", lost);
	tap_check(badmedia_scan(store) == BAD_KEYS - lost, "scan: %u records", badmedia_scan(store));
	tap_check(badmedia_errors(store), "check found nothing");
	crab_store_detach(store);
	tap_ok(true, "badmem: %s/%u: after an unreadable header %s", s->layout, leaf_bytes,
	       s->listed ? "no leaf is guessed" :
	       inner ? "the leaves below other nodes are served" : "all other leaves are served");
	badmedia_end();
}

/* A cut leaves void slots in a leaf of fastfair, which are also in a leaf that cannot be read */
static void test_tail(void)
{
	const struct subject *s = &subjects[3];
	u64 first = 0, last = 0, number;
	struct crab_geometry geo;
	struct crab_store *store;
	struct ff_dnode *node;
	u32 lost, i = 0;

	badmedia_begin();
	number = fill(s, 8192, 3, &geo);
	node = (void *)(badmedia.base + crab_leaf_offset(&geo, leaf_nth(s, &geo, 2)));
	while (node->slot[i].key != cpu_to_le64(CRAB_KEY_EMPTY))
		i++;
	node->slot[i + 1].key = node->slot[i].key;
	node->slot[i].key = cpu_to_le64(le64_to_cpu(node->slot[i - 1].key) + 3);
	badmedia_fail(crab_leaf_offset(&geo, number) + BAD_PAGE, BAD_PAGE);
	store = badmedia_attach(NULL);
	lost = badmedia_search(store, &first, &last);
	tap_check(lost && lost <= geo.leaf_bytes / 16, "%u keys lost", lost);
	tap_check(badmedia_scan(store) == BAD_KEYS - lost, "scan: %u records", badmedia_scan(store));
	crab_store_detach(store);
	tap_ok(true, "badmem: %s: void slots are not looked for in a leaf that cannot be read",
	       s->layout);
	badmedia_end();
}

static struct crab_dslot *slots_of(const struct crab_geometry *geo, u64 number)
{
	return ((struct crab_dleaf *)(badmedia.base + crab_leaf_offset(geo, number)))->slots;
}

/* A cut split leaves a record in a sorted leaf and in the next one, which cannot be read */
static void test_overlap(void)
{
	struct crab_dslot *last, *next;
	struct crab_store_info info;
	struct crab_geometry geo;
	struct crab_store *store;
	u64 number;

	badmedia_begin();
	number = fill(&subjects[1], 8192, 3, &geo);
	next = slots_of(&geo, number);
	last = slots_of(&geo, leaf_nth(&subjects[1], &geo, 2)) + crab_leaf_slots(8192) - 1;
	store = badmedia_attach(NULL);
	tap_check(!store_delete(store, le64_to_cpu(last->key)), "the leaf is not full");
	crab_store_detach(store);
	*last = *next;
	badmedia_fail(crab_leaf_offset(&geo, number) + BAD_PAGE, BAD_PAGE);
	store = badmedia_attach(NULL);
	crab_store_info(store, &info);
	number = BAD_KEYS - 1 - crab_leaf_slots(8192);
	tap_check(info.stats.records == number && badmedia_scan(store) == number, "%u records", badmedia_scan(store));
	crab_store_detach(store);
	tap_ok(true, "badmem: sorted: records are not counted that a bad leaf may have, too");
	badmedia_end();
}

/* The word of the media that differs from the copy, if it is one link; else 0 */
static u64 changed_link(const u8 *copy, const struct crab_geometry *geo)
{
	const u64 *old = (const u64 *)copy, *new = (void *)badmedia.base;
	u64 i, at = 0, changes = 0;

	for (i = 0; i < BAD_SIZE / sizeof(u64); i++) {
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
	struct crab_store *store;

	crab_badmem_add(&badmedia_list, at, CRAB_LINE);
	store = badmedia_attach(NULL);
	tap_check(store_search(store, key) == -EUCLEAN, "key %llu is guessed",
		  (unsigned long long)key);
	crab_store_detach(store);
	crab_badmem_init(&badmedia_list);
}

/*
 * Why no leaf is guessed: some delete changes one word of the media, the link in a header. If this
 * header cannot be read, the media before the delete and after it are the same.
 */
static void test_twins(const struct subject *s)
{
	static u8 copy[BAD_SIZE];
	struct crab_geometry geo;
	struct crab_store *store;
	u64 key, at = 0;

	badmedia_begin();
	fill(s, 512, 0, &geo);
	store = badmedia_attach(NULL);
	for (key = BAD_KEYS; !at && key < 2 * BAD_KEYS; key += 2) {
		memcpy(copy, badmedia.base, BAD_SIZE);
		tap_check(!store_delete(store, key), "delete %llu", (unsigned long long)key);
		at = changed_link(copy, &geo);
	}
	tap_check(at, "no delete changes one link only");
	key -= 2;
	crab_store_detach(store);
	key_is_lost(at, key);
	memcpy(badmedia.base, copy, BAD_SIZE);
	key_is_lost(at, key);
	tap_ok(true, "badmem: %s: beyond an unreadable header a deleted record looks like a live one",
	       s->layout);
	badmedia_end();
}

/* Free leaves with bad memory are no damage; they are never written */
static void test_free(const struct subject *s, u32 leaf_bytes, bool known, u64 listed)
{
	struct crab_geometry geo;
	struct crab_store *store;
	char reason[CRAB_REASON_LEN];
	u64 key, leaves;
	int err = 0;

	badmedia_begin();
	if (known)
		badmedia_fail_listed(BAD_SIZE / 2, BAD_PAGE, listed);
	fill(s, leaf_bytes, 0, &geo);
	if (!known)
		badmedia_fail_listed(BAD_SIZE - 2 * BAD_PAGE, BAD_PAGE, listed);
	leaves = max(BAD_PAGE / leaf_bytes, 1U);
	store = badmedia_attach(NULL);
	tap_check(badmedia_leaves(store, reason) == leaves, "%llu bad leaves, %s",
		  (unsigned long long)badmedia_leaves(store, reason), reason);
	for (key = 2 * BAD_KEYS; !err; key += 2)
		err = store_insert(store, key, BAD_VALUE(key), CRAB_INSERT_CREATE);
	tap_check(err == -ENOSPC, "error %d", err);
	store_maintain(store);
	tap_check(!badmedia_search(store, &key, &key), "keys were lost");
	tap_check(!badmedia_errors(store), "check: %llu errors",
		  (unsigned long long)badmedia_errors(store));
	crab_store_detach(store);
	tap_ok(true, "badmem: %s/%u: free leaves in %s, %s, are not used", s->layout, leaf_bytes,
	       listed < BAD_PAGE ? "the page of a bad line" : "bad memory",
	       known ? "known at FORMAT" : "found at attach");
	badmedia_end();
}

static void test_super(void)
{
	struct crab_attach_report report;
	struct crab_geometry geo;
	struct crab_store *store;
	u64 first, last;
	u32 copy;

	for (copy = 0; copy < CRAB_SUPER_COPIES; copy++) {
		badmedia_begin();
		fill(&subjects[0], 1024, 0, &geo);
		badmedia_fail(copy * CRAB_SUPER_STRIDE, BAD_PAGE);
		store = badmedia_attach(&report);
		tap_check(report.verdict == CRAB_VERDICT_RO, "writable");
		tap_check(strstr(report.reason, "the other superblock"), "reason: %s", report.reason);
		tap_check(!badmedia_search(store, &first, &last), "keys were lost");
		crab_store_detach(store);
		badmedia_end();
	}
	tap_ok(true, "badmem: one superblock that cannot be read: served read-only by the other");

	badmedia_begin();
	fill(&subjects[0], 1024, 0, &geo);
	badmedia_fail(0, 2 * BAD_PAGE);
	store = store_try(&badmedia, &report);
	tap_check(PTR_ERR(store) == -EUCLEAN, "attach: %ld", PTR_ERR(store));
	tap_check(strstr(report.reason, "uncorrectable memory"), "reason: %s", report.reason);
	tap_ok(true, "badmem: no superblock that can be read: rejected");
	badmedia_end();
}

static void test_head(void)
{
	struct crab_attach_report report;
	u64 first = 0, last = 0;
	struct crab_geometry geo;
	struct crab_store *store;

	badmedia_begin();
	fill(&subjects[0], 1024, 0, &geo);
	badmedia_fail(CRAB_HEAD_OFFSET, BAD_PAGE);
	store = badmedia_attach(&report);
	tap_check(strstr(report.reason, "uncorrectable memory"), "reason: %s", report.reason);
	tap_check(badmedia_search(store, &first, &last) == BAD_KEYS, "keys without a list");
	tap_check(badmedia_errors(store), "check found nothing");
	crab_store_detach(store);
	tap_ok(true, "badmem: the head of the list cannot be read: every key returns EUCLEAN");
	badmedia_end();
}

/* Nothing is lost, but nothing may be allocated */
static void test_bitmap(void)
{
	struct crab_attach_report report;
	struct crab_geometry geo;
	struct crab_store *store;
	u64 first, last;

	badmedia_begin();
	fill(&subjects[1], 1024, 0, &geo);
	badmedia_fail(CRAB_BITMAP_OFFSET, BAD_PAGE);
	store = badmedia_attach(&report);
	tap_check(report.verdict == CRAB_VERDICT_RO, "writable");
	tap_check(!badmedia_search(store, &first, &last), "keys were lost");
	crab_store_detach(store);
	tap_ok(true, "badmem: a bitmap that cannot be read: all is served, read-only");
	badmedia_end();
}

static int format(const char *layout, char *reason)
{
	struct crab_format_options options = {
		.engine = "crab", .layout = layout, .label = "", .leaf_bytes = 1024,
	};

	return crab_store_format(&badmedia, &options, reason);
}

static void test_format(void)
{
	char reason[CRAB_REASON_LEN];
	u64 page;

	for (page = 0; page <= CRAB_POOL_OFFSET; page += BAD_PAGE) {
		badmedia_begin();
		badmedia_fail(page, BAD_PAGE);
		tap_check(format("slotted", reason) == -EIO,
			  "page at %llu: %s", (unsigned long long)page, reason);
		tap_check(strstr(reason, "uncorrectable memory"), "reason: %s", reason);
		badmedia_end();
	}
	badmedia_begin();
	badmedia_fail(CRAB_POOL_OFFSET + BAD_PAGE, BAD_PAGE);
	tap_check(!format("slotted", reason), "%s", reason);
	tap_ok(true, "badmem: FORMAT is refused only where it writes");
	badmedia_end();
}

/* Memory fails under an attached store */
static void test_runtime(const struct subject *s, u32 leaf_bytes)
{
	struct crab_attach_report report;
	u64 first = 0, last = 0, number, page;
	struct crab_geometry geo;
	struct crab_store *store;
	char reason[CRAB_REASON_LEN];
	u32 lost, leaves = max(BAD_PAGE / leaf_bytes, 1U);

	badmedia_begin();
	number = fill(s, leaf_bytes, 5, &geo);
	store = badmedia_attach(&report);
	tap_check(report.verdict == CRAB_VERDICT_GOOD, "attach");
	page = round_down(crab_leaf_offset(&geo, number) + leaf_bytes - 1, BAD_PAGE);
	badmedia_fail(page, BAD_PAGE);
	crab_store_fail(store, page, BAD_PAGE);
	tap_check(badmedia_leaves(store, reason) && badmedia_leaves(store, reason) <= leaves, "%llu bad leaves",
		  (unsigned long long)badmedia_leaves(store, reason));
	tap_check(strstr(reason, "uncorrectable"), "reason: %s", reason);
	lost = badmedia_search(store, &first, &last);
	tap_check(lost && lost <= leaves * leaf_bytes / 16, "%u keys lost", lost);
	tap_check(badmedia_scan(store) == BAD_KEYS - lost, "scan: %u records", badmedia_scan(store));
	tap_check(store_put(store, first, 1) == -EROFS, "insert");
	tap_check(store_delete(store, first) == -EROFS, "delete");
	tap_check(store_search(store, first) == -EUCLEAN, "search");
	tap_check(badmedia_errors(store) == badmedia_leaves(store, reason) ||
		  (!s->listed && badmedia_errors(store) > badmedia_leaves(store, reason)),
		  "check: %llu errors", (unsigned long long)badmedia_errors(store));
	store_maintain(store);
	crab_store_detach(store);
	store = badmedia_attach(&report);
	badmedia_search(store, &first, &last);
	crab_store_detach(store);
	tap_ok(true, "badmem: %s/%u: a page that fails under an attached store", s->layout, leaf_bytes);
	badmedia_end();
}

/* The keys of a range are lost, and no others, for searches and for scans up and down */
static void range_is_lost(struct crab_store *store, u64 low, u64 high)
{
	u64 first = 0, last = 0;
	u32 lost = badmedia_search(store, &first, &last), turn;

	tap_check(first == low && last + 2 == high && lost == (high - low) / 2,
		  "%u keys lost, from %llu to %llu", lost, first, last);
	for (turn = 0; turn < 2; turn++)
		tap_check(badmedia_scan(store) == BAD_KEYS - lost, "scan: a range of another size");
}

/* The node to the left of the one that fails has another parent */
static void test_first(u32 leaf_bytes, u64 level)
{
	const struct ff_dnode *node;
	struct crab_geometry geo;
	struct crab_store *store;
	u64 low, high;

	badmedia_begin();
	badmedia_fill("fastfair", "shift", leaf_bytes, &geo);
	node = node_second(&geo, level);
	low = le64_to_cpu(node->head.low);
	high = le64_to_cpu(node_of(&geo, node)->head.low);
	store = badmedia_attach(NULL);
	crab_badmem_add(&badmedia_list, (u8 *)node - badmedia.base, leaf_bytes);
	crab_store_fail(store, (u8 *)node - badmedia.base, leaf_bytes);
	range_is_lost(store, low, high);
	crab_store_detach(store);
	store = badmedia_attach(NULL);
	range_is_lost(store, low, high);
	crab_store_detach(store);
	tap_ok(true, "badmem: shift/%u: the first node of level %llu below another one fails", leaf_bytes, level);
	badmedia_end();
}

/* The root was split and has not grown yet: no entry names the parent of the leaf that fails */
static void test_sibling(u32 leaf_bytes)
{
	const struct ff_dnode *node;
	struct crab_geometry geo;
	struct crab_store *store;

	badmedia_begin();
	badmedia_fill("fastfair", "shift", leaf_bytes, &geo);
	node = node_second(&geo, 0);
	crab_list_head(&badmedia)->next = node_of(&geo, crab_list_head(&badmedia))->first;
	crab_badmem_add(&badmedia_list, (u8 *)node - badmedia.base, leaf_bytes);
	store = badmedia_attach(NULL);
	range_is_lost(store, le64_to_cpu(node->head.low), le64_to_cpu(node_of(&geo, node)->head.low));
	crab_store_detach(store);
	tap_ok(true, "badmem: shift/%u: the first leaf below a node without an entry fails", leaf_bytes);
	badmedia_end();
}

/* The memory that fails while writes are under way that have not entered the engine yet */
enum late {
	LATE_HEAD,
	LATE_LEAF,
	LATE_THIN,	/* a leaf; before it, deletes left leaves that can be merged, or are free */
	LATES,
};

static void late_one(const struct subject *s, u32 leaf_bytes, enum late what)
{
	struct crab_geometry geo;
	struct crab_store *store;
	u64 page = CRAB_HEAD_OFFSET, key;
	u32 refused;

	badmedia_begin();
	badmedia_fill(s->engine, s->layout, leaf_bytes, &geo);
	store = badmedia_attach(NULL);
	if (what != LATE_HEAD)
		page = round_down(crab_leaf_offset(&geo, leaf_nth(s, &geo, 5)), BAD_PAGE);
	for (key = 0; what == LATE_THIN && key < 2 * BAD_KEYS; key += 2)
		tap_check(key % 16 == 0 || !store_delete(store, key), "delete");
	badmedia_fail(page, BAD_PAGE);
	crab_store_fail(store, page, BAD_PAGE);
	refused = badmedia_late(store);
	tap_check(refused || what != LATE_LEAF, "no late write is refused");
	crab_store_detach(store);
	badmedia_end();
}

static void test_late(const struct subject *s, u32 leaf_bytes)
{
	enum late what;

	for (what = 0; what < LATES; what++)
		late_one(s, leaf_bytes, what);
	tap_ok(true, "badmem: %s/%u: late writes do not touch memory that failed", s->layout, leaf_bytes);
}

int main(void)
{
	const struct subject *s;

	for (s = subjects; s < subjects + ARRAY_SIZE(subjects); s++) {
		test_header(s, 1024, false);
		test_free(s, 1024, false, BAD_PAGE);
		test_free(s, 1024, true, BAD_PAGE);
		test_free(s, 1024, false, CRAB_LINE);
		test_free(s, 1024, true, CRAB_LINE);
		test_runtime(s, 1024);
		test_late(s, 1024);
		if (!strcmp(s->engine, "nbtree"))
			continue;	/* no leaf is larger */
		test_body(s);
		test_header(s, 4096, false);
		test_free(s, 8192, false, BAD_PAGE);
		test_runtime(s, 8192);
	}
	test_header(&subjects[3], 512, true);
	test_header(&subjects[3], 1024, true);
	test_first(1024, 0);
	test_first(512, 0);
	test_first(512, 1);
	test_sibling(1024);
	test_sibling(512);
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
