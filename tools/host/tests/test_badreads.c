// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests that all reads agree on the keys that are lost with a page that cannot be read:
 * searches decide, and seeks, scans and cursors that skip a range are compared with them. The pages
 * of a small store fail one after the other, under the attached store and before the next attach.
 * Then they turn into other memory under the attached store: seeks must keep to the ranges, and scans
 * must not pass a leaf silently.
 */
#include "badmedia.h"
#include "shared/pool.h"
#include "test.h"

#define RECORDS		1200U
#define KEYS		(2 * RECORDS)	/* records have the odd ones */
#define AROUND		2U		/* keys on each side of a border that are tried */
#define MOVED		1200ULL		/* how far a key moves */
#define KEY_BITS	(~0ULL >> 2)	/* the other two are the state of a record, in eadr */
#define VICTIM		549U		/* moves to a key that is another's */

enum state {
	ABSENT,
	PRESENT,
	LOST,
};

static bool there[KEYS];
static enum state states[KEYS];	/* as searches find them */

/* Returns the number of lost keys */
static u32 search_all(void)
{
	u32 key, lost = 0;
	u64 value;
	int err;

	for (key = 0; key < KEYS; key++) {
		err = crab_store_search(store, key, &value);
		states[key] = !err ? PRESENT : err == -ENOENT ? ABSENT : LOST;
		lost += states[key] == LOST;
		tap_check(err == -EUCLEAN || (there[key] ? !err && value == BAD_VALUE(key) :
				err == -ENOENT), "search %u: %d", key, err);
	}
	return lost;
}

/* The nearest key from @key on that is not absent; beyond @end: the next one beyond it */
static u64 nearest(u64 key, u64 end, bool back)
{
	while (key != end && states[key] == ABSENT)
		key += back ? -1 : 1;
	return states[key] == ABSENT ? key + (back ? -1 : 1) : key;
}

static void seek(u64 key, bool back)
{
	u64 end = back ? 0 : KEYS - 1, want = nearest(key, end, back);
	struct crab_record record = { };
	int err = crab_store_seek(store, key, back ? CRAB_SEEK_LE : CRAB_SEEK_GE, &record);

	if (want >= KEYS)		/* beyond the keys that are known */
		tap_check(err == -ENOENT || (!back && err == -EUCLEAN), "seek %llu: %d", key, err);
	else if (states[want] == LOST)
		tap_check(err == -EUCLEAN, "seek %llu passes %llu: %d", key, want, err);
	else
		tap_check(!err && record.key == want, "seek %llu: %d, %llu, not %llu", key, err,
			  record.key, want);
}

/* Skips a range in which all keys are lost */
static void skip(struct crab_cursor *cursor)
{
	u64 from = cursor->next, end = cursor->end, key = nearest(from, end, cursor->back);
	u64 to;

	tap_check(states[key] == LOST, "a scan lost %llu", key);
	crab_cursor_skip(store, cursor);
	to = cursor->done ? end : cursor->next + (cursor->back ? 1 : -1);
	tap_check(cursor->back ? to <= key : to >= key, "skip from %llu to %llu", from, to);
	while (key != to && states[key] != PRESENT)
		key += cursor->back ? -1 : 1;
	tap_check(states[key] != PRESENT, "a skip from %llu passes %llu", from, key);
}

/* The records that a scan returned from @key on */
static void scanned(const struct crab_record *record, int n, u32 cap, u64 key, u64 end, bool back)
{
	int i;

	for (i = 0; i < n; i++) {
		key = nearest(key, end, back);
		tap_check(record[i].key == key && states[key] == PRESENT, "scan: %llu, not %llu",
			  record[i].key, key);
		if (key == end)
			return;
		key += back ? -1 : 1;
	}
	key = nearest(key, end, back);
	tap_check(n == cap || (back ? key + 1 <= end : key > end) || (n && states[key] == LOST),
		  "scan: %d records before %llu", n, key);
}

static void scan(u64 start, u64 end, u32 cap, bool back)
{
	struct crab_record record[64];
	struct crab_cursor cursor;
	u32 turns = 0;
	u64 from;
	int n;

	(back ? crab_cursor_init_back : crab_cursor_init)(&cursor, start, end);
	while (!cursor.done && turns++ < 2 * KEYS) {
		from = cursor.next;
		n = crab_cursor_read(store, &cursor, record, cap);
		if (n == -EUCLEAN)
			skip(&cursor);
		else
			scanned(record, n, cap, from, cursor.end, back);
	}
	tap_check(cursor.done, "an endless scan");
}

/* Reads that begin or end next to @key */
static void around(u32 key)
{
	u32 low = max(key, AROUND) - AROUND, high = min(key + AROUND, KEYS - 1), at;

	for (at = low; at <= high; at++) {
		seek(at, false);
		seek(at, true);
		scan(key, at, 64, false);
		scan(key, at, 64, true);
	}
}

/* Returns the number of lost keys */
static u32 compare(void)
{
	u32 lost = search_all(), key;

	for (key = 1; key < KEYS; key++)
		if (states[key] != states[key - 1] && (states[key] == LOST || states[key - 1] == LOST))
			around(key);
	for (key = 0; key < 4; key++)
		scan(0, KEYS - 1, key & 1 ? 64 : 3, key & 2);
	return lost;
}

static u32 attached(bool fails, u64 page)
{
	struct crab_attach_report report;
	u32 lost = 0;

	store = store_try(&badmedia, &report);
	if (IS_ERR(store))
		return 0;
	if (fails) {
		badmedia_fail(page, BAD_PAGE);
		crab_store_fail(store, page, BAD_PAGE);
	}
	lost = compare();
	crab_store_detach(store);
	return lost;
}

/* Every page of the store fails, under an attached store and then before the next attach */
static void test_pages(const char *const *subject)
{
	u32 ranges = 0;
	u64 page;

	badmedia_begin();
	badmedia_ragged(subject, RECORDS, 256, there);
	for (page = CRAB_HEAD_OFFSET; page < BAD_SIZE; page += BAD_PAGE) {
		if (!badmedia_is_used(page))
			continue;
		ranges += !!attached(true, page);
		ranges += !!attached(false, page);
		badmedia_heal();
	}
	tap_ok(ranges > 8, "badmem: %s: all reads lose the same keys, in %u states", subject[1], ranges);
	badmedia_end();
}

/* Seeks return records of other memory, or an error */
static void seek_all(bool back)
{
	struct crab_record record = { };
	u64 key;
	int err;

	for (key = 0; key < KEYS; key += 5) {
		err = crab_store_seek(store, key, back ? CRAB_SEEK_LE : CRAB_SEEK_GE, &record);
		tap_check(err || (record.key < KEYS && there[record.key]), "seek %llu: %llu", key,
			  record.key);
	}
}

/* A page under the attached store reads all ones, or zeros; all ones are no key */
static void page_reads(u64 page, u8 byte)
{
	struct crab_record record;
	u8 was[BAD_PAGE];

	store = badmedia_attach(NULL);
	memcpy(was, badmedia.base + page, BAD_PAGE);
	memset(badmedia.base + page, byte, BAD_PAGE);
	if (byte || crab_store_seek(store, 0, CRAB_SEEK_LE, &record))	/* the key 0 is outside */
		seek_all(!byte);
	memcpy(badmedia.base + page, was, BAD_PAGE);
	crab_store_detach(store);
}

static void test_changed(const char *const *subject)
{
	u64 page;

	badmedia_begin();
	page = round_up(badmedia_ragged(subject, RECORDS, 256, there).pool_offset, BAD_PAGE);
	for (; page < BAD_SIZE; page += BAD_PAGE) {
		if (!badmedia_is_used(page))
			continue;
		page_reads(page, 0xff);
		page_reads(page, 0);
	}
	tap_ok(true, "badmem: %s: a seek returns no key of memory that has changed", subject[1]);
	badmedia_end();
}

/* The word of the media that holds a record's key, which searches do not find without it */
static __le64 *key_word(u64 key)
{
	__le64 *word = (void *)badmedia.base, *end = word + BAD_SIZE / sizeof(*word), was;

	for (; word < end; word++) {
		was = *word;
		if ((le64_to_cpu(was) & KEY_BITS) != key)
			continue;
		*word = cpu_to_le64(le64_to_cpu(was) + MOVED);
		if (store_search(store, key) == -ENOENT)
			return word;
		*word = was;
	}
	return NULL;
}

/* Removes the records up to @end; returns the first error */
static int delete_to(u64 end, u64 *deleted)
{
	struct crab_cursor cursor;
	int err = 0;

	crab_cursor_init(&cursor, 0, end);
	while (!cursor.done && !err)
		err = crab_cursor_delete(store, &cursor, 64, deleted);
	return err;
}

/* A key turns into one of another leaf: a scan passes its leaf with one error, as all reads do */
static void test_misplaced(const char *const *subject)
{
	struct crab_check_report check;
	u32 all, left, errors;
	u64 deleted = 0, value;

	badmedia_begin();
	badmedia_ragged(subject, RECORDS, 256, there);
	store = badmedia_attach(NULL);
	all = badmedia_count(store, KEYS - 1, false, &errors);
	tap_check(!errors && there[VICTIM] && there[VICTIM + MOVED] && key_word(VICTIM), "no key");
	tap_check(delete_to(VICTIM + MOVED / 2, &deleted), "the delete did not fail");
	tap_check(!crab_store_search(store, VICTIM + MOVED, &value) &&
		  value == BAD_VALUE(VICTIM + MOVED), "the record of another range is deleted");
	left = badmedia_count(store, KEYS - 1, false, &errors);
	tap_ok(errors == 1 && left + deleted < all && left + deleted + 64 > all &&
	       crab_store_is_readonly(store), "badmem: %s: a key out of place: %u errors, %u of %u left",
	       subject[1], errors, left, all);
	tap_check(!crab_store_check(store, &check) && check.damage.count &&
		  !strstr(check.damage.what, "uncorrectable"), "CHECK: %s", check.damage.what);
	crab_store_detach(store);
	badmedia_end();
}

static u8 image[BAD_SIZE];	/* of the store before a key moves */

/*
 * A leaf with keys in [@low, @high). @word is the key of the record @victim; @span: in the layout
 * `encoded` the first one, and all others keep their distance to it, the last one this
 */
struct leaf {
	__le64 *word;
	u64 victim;
	u64 low;
	u64 high;
	u64 span;
};

static void leaf_range(struct leaf *leaf, bool encoded)
{
	u64 last = leaf->victim, key;

	leaf->low = leaf->victim;
	while (leaf->low && states[leaf->low - 1] == LOST)
		leaf->low--;
	for (key = leaf->victim; key < KEYS && states[key] == LOST; key++)
		if (there[key])
			last = key;
	leaf->high = key;
	leaf->span = encoded ? last - leaf->victim : 0;
}

/* Fills a store, finds a leaf, and detaches the store */
static void leaf_find(const char *const *subject, struct leaf *leaf)
{
	u32 errors;

	badmedia_ragged(subject, RECORDS, 256, there);
	memcpy(image, badmedia.base, BAD_SIZE);
	store = badmedia_attach(NULL);
	leaf->word = NULL;
	for (leaf->victim = VICTIM - 1; !leaf->word; )
		if (there[++leaf->victim])
			leaf->word = key_word(leaf->victim);
	badmedia_count(store, KEYS - 1, false, &errors);
	search_all();
	leaf_range(leaf, !strcmp(subject[1], "encoded"));
	tap_check(errors == 1 && leaf->low && leaf->high > leaf->victim + 1 &&
		  leaf->high < KEYS - 1, "the leaf of %llu: %llu to %llu", leaf->victim, leaf->low,
		  leaf->high);
	crab_store_detach(store);
}

/* The store as it was filled; then the victim's key moves to @to */
static void leaf_attach(const struct leaf *leaf, u64 to)
{

	memcpy(badmedia.base, image, BAD_SIZE);
	store = badmedia_attach(NULL);
	*leaf->word = cpu_to_le64(le64_to_cpu(*leaf->word) - leaf->victim + to);
}

/* Reads all records of the leaf, or the first one; @back: or the last one */
static int leaf_read(const struct leaf *leaf, bool scan, bool back, struct crab_record *record)
{
	struct crab_cursor cursor;
	int n = 0;

	if (!scan)
		return crab_store_seek(store, back ? leaf->high - 1 : leaf->low,
				       back ? CRAB_SEEK_LE : CRAB_SEEK_GE, record);
	(back ? crab_cursor_init_back : crab_cursor_init)(&cursor, leaf->low, leaf->high - 1);
	while (!cursor.done && n >= 0)
		n = crab_cursor_read(store, &cursor, record, 1);
	return n;
}

/* The leaf is in quarantine, and no other one; all that reports damage names it */
static bool leaf_is_quarantined(const struct leaf *leaf)
{
	struct crab_check_report check;
	char reason[CRAB_REASON_LEN];
	struct crab_geometry *geo = &store->engine->geo;
	u64 offset;

	if (!crab_store_is_readonly(store) || !crab_pool_is_closed(store->engine->pool) ||
	    badmedia_leaves(store, reason) != 1 || crab_store_check(store, &check))
		return false;
	offset = check.damage.offset - geo->pool_offset;
	return check.damage.count == 1 && !strstr(check.damage.what, "uncorrectable") &&
	       offset % geo->leaf_bytes == 0 && offset / geo->leaf_bytes ==
	       ((u8 *)leaf->word - badmedia.base - geo->pool_offset) / geo->leaf_bytes &&
	       strstr(reason, check.damage.what) &&
	       store_search(store, leaf->low) == -EUCLEAN &&
	       store_search(store, leaf->high - 1) == -EUCLEAN &&
	       store_search(store, leaf->low - 1) != -EUCLEAN &&
	       store_search(store, leaf->high) != -EUCLEAN;
}

/* A key that moves out of the leaf, or to another record's; @up: only a scan up notices it */
static void test_outside(const struct leaf *leaf, u64 to, bool up)
{
	struct crab_record record;
	int mode, err;

	for (mode = 0; mode < 4; mode++) {
		if (up && mode != 1)
			continue;
		leaf_attach(leaf, to);
		err = leaf_read(leaf, mode & 1, mode & 2, &record);
		tap_check(err == -EUCLEAN && leaf_is_quarantined(leaf), "to %llu of %llu to %llu: "
			  "mode %d: %d", to, leaf->low, leaf->high, mode, err);
		crab_store_detach(store);
	}
}

/* A key that moves within the leaf: no read notices it */
static void test_inside(const struct leaf *leaf, u64 to)
{
	struct crab_record record;
	int mode, err;

	for (mode = 0; mode < 4; mode++) {
		leaf_attach(leaf, to);
		err = leaf_read(leaf, mode & 1, mode & 2, &record);
		tap_check(err >= 0 && !crab_store_is_readonly(store), "to %llu, mode %d: %d", to,
			  mode, err);
		tap_check(mode != 2 || (record.key == to + leaf->span &&
					record.value == BAD_VALUE(leaf->victim + leaf->span)),
			  "seek: %llu, %llu", record.key, record.value);
		crab_store_detach(store);
	}
}

/* The next attach finds the key outside, and CHECK names the damage that attach found */
static void test_found(const struct leaf *leaf, u64 to)
{
	struct crab_attach_report report;
	struct crab_check_report check;

	memcpy(badmedia.base, image, BAD_SIZE);
	*leaf->word = cpu_to_le64(le64_to_cpu(*leaf->word) - leaf->victim + to);
	store = badmedia_attach(&report);
	tap_check(!crab_store_check(store, &check) && check.damage.count &&
		  strstr(report.reason, check.damage.what), "attach: %s, CHECK: %s", report.reason,
		  check.damage.what);
	crab_store_detach(store);
}

/* Reads notice a key that has left the range of its leaf, if only by one, and any of two that are equal */
static void test_border(const char *const *subject)
{
	bool up = !strcmp(subject[0], "crab");
	struct leaf leaf;
	u64 twin;

	badmedia_begin();
	leaf_find(subject, &leaf);
	test_outside(&leaf, leaf.low - 1, up);
	test_outside(&leaf, leaf.high - leaf.span, up);
	test_found(&leaf, leaf.low - 1);
	for (twin = leaf.low; !there[twin] || twin == leaf.victim; twin++)
		;
	/* In nvtree it is another element of the same key; crab does not compare all keys */
	if (!leaf.span && strcmp(subject[0], "nvtree") && !up)
		test_outside(&leaf, twin, true);
	/* `sorted` compares the order, too */
	if (!there[leaf.high - 1] && strcmp(subject[1], "sorted"))
		test_inside(&leaf, leaf.high - 1 - leaf.span);
	tap_ok(true, "badmem: %s: a key leaves the leaf of %llu to %llu", subject[1], leaf.low,
	       leaf.high);
	badmedia_end();
}

int main(void)
{
	u32 i;

	for (i = 0; i < STORE_LAYOUTS; i++)
		test_pages(store_layouts[i]);
	for (i = 0; i < STORE_LAYOUTS; i++)
		test_changed(store_layouts[i]);
	/* Those where a word is a key, or a key and two bits */
	for (i = 0; i < STORE_ENCODED; i++)
		test_misplaced(store_layouts[i]);
	/* Those that compare each key with the range of its leaf, and quarantine the leaf; crab: scans alone */
	for (i = 0; i < STORE_LAYOUTS; i++)
		if (i != STORE_FASTFAIR)
			test_border(store_layouts[i]);
	return tap_done();
}
