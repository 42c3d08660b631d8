// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests memory that fails while attach runs, after attach has read it: crab_store_catch_up()
 * quarantines it, once the store is served.
 */
#include <sys/mman.h>

#include "badmedia.h"
#include "test.h"

#define KNOWN	(BAD_SIZE - 2 * BAD_PAGE)	/* a free page that failed before */

static const struct {
	const char *engine;
	const char *layout;
} subjects[] = {
	{ "crab", "slotted" }, { "crab", "sorted" }, { "nvtree", "append" }, { "fastfair", "shift" },
	{ "nbtree", "adr" }, { "nbtree", "eadr" }, { "clfb", "inplace" },
};

/* Attach asks whether it is to end: at question @at the memory at @page fails */
struct failure {
	u32 asked;
	u32 at;
	u64 page;
};

static bool ask(void *arg)
{
	struct failure *failure = arg;

	if (++failure->asked == failure->at)
		crab_badmem_add(&badmedia_list, failure->page, BAD_PAGE);
	return false;
}

static struct crab_store *attach(struct failure *failure)
{
	struct crab_attach_options options = { .interrupted = ask, .arg = failure };
	struct crab_attach_report report;
	struct crab_store *store = crab_store_attach(&badmedia, &options, &report);

	tap_check(!IS_ERR(store) && report.verdict == CRAB_VERDICT_GOOD, "attach: %s", report.reason);
	return store;
}

/* The last question: attach has read all leaves then */
static u32 questions(void)
{
	struct failure none = { 0 };

	crab_store_detach(attach(&none));
	return none.asked;
}

/* A range that attach found in the list is no failure; one that was added later is one */
static void test_nothing(void)
{
	struct failure none = { 0 };
	struct crab_geometry geo;
	struct crab_store *store;
	char reason[CRAB_REASON_LEN];

	badmedia_begin();
	badmedia_fail(KNOWN, BAD_PAGE);
	badmedia_fill("crab", "slotted", 1024, &geo);
	store = attach(&none);
	crab_store_catch_up(store);
	tap_check(!crab_store_is_readonly(store), "read-only");
	crab_badmem_add(&badmedia_list, KNOWN + BAD_PAGE, 1);
	crab_store_catch_up(store);
	badmedia_leaves(store, reason);
	tap_check(crab_store_is_readonly(store) && strstr(reason, "uncorrectable"), "reason: %s", reason);
	tap_check(store->bad_added == crab_badmem_added(&badmedia), "not known yet");
	crab_store_detach(store);
	tap_ok(true, "badmem: ranges that attach knew are no failure, those that were added later are");
	badmedia_end();
}

static void test_attach(const char *engine, const char *layout)
{
	struct failure failure = { 0 };
	u64 first = 0, last = 0;
	struct crab_geometry geo;
	struct crab_store *store;
	u32 lost;

	badmedia_begin();
	badmedia_fail(KNOWN, BAD_PAGE);
	badmedia_fill(engine, layout, 1024, &geo);
	failure.at = questions();
	failure.page = round_up(geo.pool_offset, BAD_PAGE) + 8 * BAD_PAGE;
	store = attach(&failure);
	tap_check(failure.asked == failure.at, "%u questions, not %u", failure.asked, failure.at);
	tap_check(!badmedia_search(store, &first, &last), "attach reads leaves after its last question");
	tap_check(!crab_store_is_readonly(store), "read-only");
	crab_store_catch_up(store);
	mprotect(badmedia.base + failure.page, BAD_PAGE, PROT_NONE);
	lost = badmedia_search(store, &first, &last);
	tap_check(lost && lost <= 2 * BAD_PAGE / 16, "%u keys lost", lost);
	tap_check(store_put(store, 1, 1) == -EROFS, "writable");
	crab_store_detach(store);
	tap_ok(true, "badmem: %s: a page that fails when attach has read it is quarantined", layout);
	badmedia_end();
}

int main(void)
{
	u32 i;

	test_nothing();
	for (i = 0; i < ARRAY_SIZE(subjects); i++)
		test_attach(subjects[i].engine, subjects[i].layout);
	return tap_done();
}
