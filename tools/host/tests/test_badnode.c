// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests memory that cannot be read under stores of the engine clfb: the keys below an
 * unreadable node, or in an unreadable leaf, are quarantined, and no others.
 */
#include "badmedia.h"
#include "engines/clfb/node.h"
#include "test.h"

static const char * const layouts[] = { "inplace", "twin" };

/* Judges a store of which some keys are lost, but not more than @most */
static void judge(struct crab_store *store, u32 most)
{
	char reason[CRAB_REASON_LEN];
	u64 first = 0, last = 0;
	u32 lost;

	tap_check(badmedia_leaves(store, reason), "nothing is quarantined");
	tap_check(strstr(reason, "uncorrectable"), "reason: %s", reason);
	lost = badmedia_search(store, &first, &last);
	tap_check(lost && lost <= most, "%u keys lost", lost);
	tap_check(badmedia_scan(store) == BAD_KEYS - lost, "scan: %u records",
		  badmedia_scan(store));
	tap_check(badmedia_errors(store), "check found nothing");
	tap_check(store_put(store, first, 1) == -EROFS, "writable");
}

/* A page of leaves, if @page is 0, or of nodes fails, known to the next attach, or under the attached store */
static void test_page(const char *layout, u32 leaf_bytes, u64 page, u32 most, const char *what)
{
	struct crab_attach_report report;
	struct crab_geometry geo;
	struct crab_store *store;

	badmedia_begin();
	badmedia_fill("clfb", layout, leaf_bytes, &geo);
	page = page ?: geo.pool_offset + 8 * BAD_PAGE;
	store = badmedia_attach(&report);
	tap_check(report.verdict == CRAB_VERDICT_GOOD, "attach");
	badmedia_fail(page, BAD_PAGE);
	crab_store_fail(store, page, BAD_PAGE);
	judge(store, most);
	crab_store_detach(store);
	store = badmedia_attach(&report);
	judge(store, most);
	crab_store_detach(store);
	tap_ok(true, "badmem: clfb, %s/%u: a page of %s", layout, leaf_bytes, what);
	badmedia_end();
}

/* The root word is read by attach only */
static void test_root(const char *layout)
{
	struct crab_geometry geo;
	struct crab_store *store;
	u64 first, last;

	badmedia_begin();
	badmedia_fill("clfb", layout, 1024, &geo);
	store = badmedia_attach(NULL);
	badmedia_fail(CRAB_HEAD_OFFSET, BAD_PAGE);
	crab_store_fail(store, CRAB_HEAD_OFFSET, BAD_PAGE);
	tap_check(!badmedia_search(store, &first, &last), "keys were lost under an attached store");
	tap_check(badmedia_errors(store) == 1, "check of the attached store");
	crab_store_detach(store);
	store = badmedia_attach(NULL);
	tap_check(badmedia_search(store, &first, &last) == BAD_KEYS, "keys without a root");
	tap_check(badmedia_errors(store), "check found nothing");
	crab_store_detach(store);
	tap_ok(true, "badmem: clfb, %s: without the root word every key returns EUCLEAN", layout);
	badmedia_end();
}

/* Free leaves with bad memory are no damage; they are never written */
static void test_free(const char *layout, u32 leaf_bytes)
{
	char reason[CRAB_REASON_LEN];
	struct crab_geometry geo;
	struct crab_store *store;
	u64 key, first, last;
	int err = 0;

	badmedia_begin();
	badmedia_fill("clfb", layout, leaf_bytes, &geo);
	badmedia_fail(BAD_SIZE - 2 * BAD_PAGE, BAD_PAGE);
	store = badmedia_attach(NULL);
	tap_check(badmedia_leaves(store, reason) == BAD_PAGE / leaf_bytes, "bad leaves: %s", reason);
	for (key = 2 * BAD_KEYS; !err; key += 2)
		err = store_insert(store, key, BAD_VALUE(key), CRAB_INSERT_CREATE);
	tap_check(err == -ENOSPC, "error %d", err);
	tap_check(!badmedia_search(store, &first, &last), "keys were lost");
	tap_check(!badmedia_errors(store), "check found damage");
	crab_store_detach(store);
	tap_ok(true, "badmem: clfb, %s/%u: free leaves in bad memory are not used", layout,
	       leaf_bytes);
	badmedia_end();
}

/* Those of the nodes that have bytes in a page */
static u32 nodes_of(const struct clfb_tree *tree, u64 page)
{
	u64 n, at;
	u32 count = 0;

	for (n = 0; n < tree->base.geo.leaves; n++) {
		at = crab_clfb_node_offset(tree, n);
		count += at < page + BAD_PAGE && at + tree->copies * CRAB_LINE > page;
	}
	return count;
}

/* Free nodes with bad memory are not allocated, and no others: of each page, with one after it */
static void test_free_nodes(const char *layout)
{
	struct crab_attach_report report;
	struct crab_store *store;
	struct clfb_tree *tree;
	u64 page, end = CRAB_AREA_OFFSET + 3 * BAD_PAGE;
	u32 all = 0, want;

	badmedia_begin();
	store = store_format_attach(&badmedia, "clfb", layout, 1024);
	crab_store_detach(store);
	for (page = CRAB_AREA_OFFSET; page + 2 * BAD_PAGE < end; page += BAD_PAGE) {
		badmedia_fail(page, BAD_PAGE);
		badmedia_fail(page + 2 * BAD_PAGE, BAD_PAGE);
		store = badmedia_attach(&report);
		tap_check((report.verdict == CRAB_VERDICT_GOOD) ==
			  (page > CRAB_AREA_OFFSET || !strcmp(layout, "twin")), "%s", report.reason);
		tree = clfb_tree_of(store->engine);
		end = tree->base.geo.pool_offset;
		want = nodes_of(tree, page) + nodes_of(tree, page + 2 * BAD_PAGE);
		tap_check(tree->nodes.spoilt == want, "page %llu: %llu nodes, not %u", page,
			  tree->nodes.spoilt, want);
		all += want;
		crab_store_detach(store);
		badmedia_heal();
	}
	tap_ok(all > 1000, "badmem: clfb, %s: free nodes in bad memory are not used: %u", layout, all);
	badmedia_end();
}

/* Writes under way that have not entered the engine yet when a page of leaves, or of nodes, fails */
static void test_late(const char *layout, bool nodes)
{
	struct crab_geometry geo;
	struct crab_store *store;
	u64 page;

	badmedia_begin();
	badmedia_fill("clfb", layout, 512, &geo);
	store = badmedia_attach(NULL);
	page = nodes ? CRAB_AREA_OFFSET : geo.pool_offset + 8 * BAD_PAGE;
	badmedia_fail(page, BAD_PAGE);
	crab_store_fail(store, page, BAD_PAGE);
	tap_check(badmedia_late(store), "no late write is refused");
	crab_store_detach(store);
	tap_ok(true, "badmem: clfb, %s: late writes do not touch a page of %s that failed", layout,
	       nodes ? "nodes" : "leaves");
	badmedia_end();
}

/* The same if the log line alone fails: all nodes can be read, and no late delete writes the log */
static void test_late_log(void)
{
	struct crab_geometry geo;
	struct crab_store *store;

	badmedia_begin();
	badmedia_fill("clfb", "inplace", 512, &geo);
	store = badmedia_attach(NULL);
	badmedia_fail_listed(CRAB_AREA_OFFSET, BAD_PAGE, CRAB_LINE);
	crab_store_fail(store, CRAB_AREA_OFFSET, CRAB_LINE);
	tap_check(badmedia_late(store), "no late write is refused");
	crab_store_detach(store);
	tap_ok(true, "badmem: clfb, inplace: late writes do not touch the log line that failed");
	badmedia_end();
}

/* The page of the log line, or a line there; no node is in use */
static void test_log(u64 listed)
{
	struct crab_attach_report report;
	struct crab_store *store;
	u64 value;

	badmedia_begin();
	store = store_format_attach(&badmedia, "clfb", "inplace", 512);
	tap_check(!store_insert(store, 1, 2, CRAB_INSERT_CREATE), "insert");
	crab_store_detach(store);
	badmedia_fail_listed(CRAB_AREA_OFFSET, BAD_PAGE, listed);
	store = badmedia_attach(&report);
	tap_check(report.verdict == CRAB_VERDICT_RO, "attach: %d", report.verdict);
	tap_check(strstr(report.reason, "the log is in uncorrectable memory"), "%s", report.reason);
	tap_check(!crab_store_search(store, 1, &value) && value == 2, "search");
	tap_check(badmedia_errors(store), "check found nothing");
	crab_store_detach(store);
	tap_ok(true, "badmem: clfb, inplace: read-only without the log, %llu bytes bad", listed);
	badmedia_end();
}

/* The root is invalid, as a cut in its update leaves it, and the log line is bad */
static void test_cut(void)
{
	struct crab_attach_report report;
	struct crab_geometry geo;
	struct crab_store *store;
	union clfb_line *line;
	u64 first, last;

	badmedia_begin();
	badmedia_fill("clfb", "inplace", 512, &geo);
	store = badmedia_attach(&report);
	line = (void *)badmedia.base +
	       crab_clfb_node_offset(clfb_tree_of(store->engine), clfb_tree_of(store->engine)->root);
	crab_store_abandon(store);
	memcpy(badmedia.base + CRAB_AREA_OFFSET, line, sizeof(*line));
	line->byte[CLFB_MARK] = 0;
	badmedia_fail_listed(CRAB_AREA_OFFSET, BAD_PAGE, CRAB_LINE);
	store = badmedia_attach(&report);
	tap_check(report.verdict == CRAB_VERDICT_RO, "attach: %d", report.verdict);
	tap_check(badmedia_search(store, &first, &last) == BAD_KEYS, "keys without a root");
	crab_store_detach(store);
	tap_ok(true, "badmem: clfb, inplace: a node is not restored from a log in bad memory");
	badmedia_end();
}

int main(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(layouts); i++) {
		test_page(layouts[i], 1024, 0, 4 * 64, "leaves");
		test_page(layouts[i], 2048, 0, 2 * 128, "leaves");
		test_page(layouts[i], 512, CRAB_AREA_OFFSET, BAD_KEYS, "nodes");
		test_late(layouts[i], false);
		test_late(layouts[i], true);
		test_root(layouts[i]);
		test_free(layouts[i], 1024);
		test_free(layouts[i], 512);
		test_free_nodes(layouts[i]);
	}
	test_log(BAD_PAGE);
	test_log(CRAB_LINE);
	test_cut();
	test_late_log();
	return tap_done();
}
