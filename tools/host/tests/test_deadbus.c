// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests memory that reads all ones under an attached store, as on a dead bus: scans and
 * seeks pass no record without an error, and no call takes a record for one that is missing.
 */
#include "badmedia.h"
#include "test.h"

#define RECORDS		1200U
#define KEYS		(2 * RECORDS)	/* records have the odd ones */

static bool there[KEYS];

/* The same by seeks, up to the first error */
static u32 seek_each(bool back, u32 *errors)
{
	struct crab_record record = { .key = back ? CRAB_KEY_EMPTY : ~0ULL };
	u32 got = 0;
	int err = 0;

	while (!(back && got && !record.key)) {
		err = crab_store_seek(store, record.key + (back ? -1 : 1),
				      back ? CRAB_SEEK_LE : CRAB_SEEK_GE, &record);
		if (err)
			break;
		got++;
	}
	*errors = err == -EUCLEAN;
	return got;
}

/* All ones, but in the lines of the headers: under a sorted leaf they look like its end */
static void page_dies(const char *const *subject, u64 page)
{
	const u32 leaf_bytes = leaf_bytes_of(subject[0], subject[1]);
	u64 at;

	for (at = page; at < page + BAD_PAGE; at += leaf_bytes)
		memset(badmedia.base + at + CRAB_LINE, 0xff, leaf_bytes - CRAB_LINE);
}

static void scan_page(const char *const *subject, u64 page, bool back, bool seeks)
{
	u32 all, got, errors;

	store = badmedia_attach(NULL);
	all = badmedia_count(store, KEYS - 1, back, &errors);
	page_dies(subject, page);
	got = seeks ? seek_each(back, &errors) : badmedia_count(store, KEYS - 1, back, &errors);
	tap_check(errors || got == all, "page %llu: %u of %u records", page, got, all);
	crab_store_detach(store);
}

/* Records turn into all ones: scans and seeks return all, or an error */
static void test_ones(const char *const *subject)
{
	u64 page;
	int how;

	badmedia_begin();
	page = round_up(badmedia_ragged(subject, RECORDS, 256, there).pool_offset, BAD_PAGE);
	for (; page < BAD_SIZE; page += BAD_PAGE) {
		for (how = 0; how < 4 && badmedia_is_used(page); how++) {
			scan_page(subject, page, how & 1, how & 2);
			badmedia_ragged(subject, RECORDS, 256, there);
		}
	}
	tap_ok(true, "badmem: %s: a scan or a seek of all ones fails", subject[1]);
	badmedia_end();
}

/* An insert of a key that is there; it may not add a second one */
static int insert_over(u64 key)
{
	struct crab_old old;
	int err = crab_store_insert(store, key, 1, 0, &old);

	return err || old.existed ? err : -ENOENT;
}

static int batch_over(u64 key)
{
	struct crab_batch_op op = { .verb = CRAB_VERB_INSERT, .key = key, .value = 1 };

	crab_store_batch(store, &op, 1);
	return op.status || op.old.existed ? op.status : -ENOENT;
}

#define CALLS	6

/* A call that needs the record of a key */
static int call(u32 how, u64 key)
{
	struct crab_batch_op op = { .verb = CRAB_VERB_SEARCH, .key = key };

	switch (how) {
	case 0:
		return store_search(store, key);
	case 1:
		return store_delete(store, key);
	case 2:
		return store_insert(store, key, 1, CRAB_INSERT_NEEDS);
	case 3:
		return insert_over(key);
	case 4:
		return batch_over(key);
	default:
		crab_store_batch(store, &op, 1);
		return op.status;
	}
}

/* No call returns -ENOENT for a record that a dead page had */
static u32 call_page(const char *const *subject, u64 page, u32 how)
{
	u32 key, errors = 0;
	int err;

	store = badmedia_attach(NULL);
	page_dies(subject, page);
	for (key = 0; key < KEYS; key++) {
		if (!there[key])
			continue;
		err = call(how, key);
		errors += err == -EUCLEAN;
		tap_check(!err || err == -EUCLEAN || err == -EROFS, "page %llu: call %u of %u: %d",
			  page, how, key, err);
	}
	crab_store_detach(store);
	return errors;
}

static void test_calls(const char *const *subject)
{
	u32 errors = 0, how;
	u64 page;

	badmedia_begin();
	page = round_up(badmedia_ragged(subject, RECORDS, 256, there).pool_offset, BAD_PAGE);
	for (; page < BAD_SIZE; page += BAD_PAGE) {
		for (how = 0; how < CALLS && badmedia_is_used(page); how++) {
			errors += call_page(subject, page, how);
			badmedia_ragged(subject, RECORDS, 256, there);
		}
	}
	tap_ok(errors, "badmem: %s: all ones are not taken for records that are missing: %u errors",
	       subject[1], errors);
	badmedia_end();
}

int main(void)
{
	u32 i;

	for (i = 0; i < STORE_LAYOUTS; i++)
		test_ones(store_layouts[i]);
	/* Lines of `encoded` that read all ones do not show that they had keys */
	for (i = 0; i < STORE_ENCODED; i++)
		test_calls(store_layouts[i]);
	return tap_done();
}
