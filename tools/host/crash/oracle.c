// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the oracle of the crash test: does a store hold a content, whichever
 * way it is asked?
 *
 * Locking: one thread.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "crash.h"

#define JUDGE_ROOM	5	/* records of a bounded scan, at most */

static void content_clear(const struct crash *c, struct crash_content *content)
{
	memset(content->there, 0, c->setup.keys * sizeof(content->there[0]));
	memset(content->value, 0, c->setup.keys * sizeof(content->value[0]));
}

int crash_content_read(struct crash *c, struct crab_store *store,
		       struct crash_content *content)
{
	struct crab_record records[CRASH_KEYS + 1];
	struct crab_cursor cursor;
	u32 at = 0;
	int i, n;

	content_clear(c, content);
	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	n = crab_cursor_read(store, &cursor, records, c->setup.keys + 1);
	if (n < 0)
		return crash_say(c, "scan fails: %d", n);
	for (i = 0; i < n; i++, at++) {
		while (at < c->setup.keys && c->keys[at] < records[i].key)
			at++;
		if (at == c->setup.keys || c->keys[at] != records[i].key)
			return crash_say(c, "scan gives key %llx, foreign, twice or out of order",
					 records[i].key);
		content->there[at] = true;
		content->value[at] = records[i].value;
	}
	return 0;
}

bool crash_content_equal(const struct crash *c, const struct crash_content *a,
			 const struct crash_content *b)
{
	u32 i;

	for (i = 0; i < c->setup.keys; i++)
		if (a->there[i] != b->there[i] || (a->there[i] && a->value[i] != b->value[i]))
			return false;
	return true;
}

/* The nearest key that is there, from number @i on; out of range: none is */
static u32 content_nearest(const struct crash *c, const struct crash_content *content, u32 i, bool up)
{
	while (i < c->setup.keys && !content->there[i])
		i += up ? 1 : -1;	/* below 0 is out of range, too */
	return i;
}

static int judge_seek(struct crash *c, struct crab_store *store,
		      const struct crash_content *content, u32 i, bool up)
{
	u32 at = content_nearest(c, content, i, up);
	struct crab_record r = { 0 };
	int err = crab_store_seek(store, c->keys[i], up ? CRAB_SEEK_GE : CRAB_SEEK_LE, &r);

	if (at >= c->setup.keys ? err == -ENOENT :
	    !err && r.key == c->keys[at] && r.value == content->value[at])
		return 0;
	return crash_say(c, "seek %s from key %llx: %d, key %llx, value %llx", up ? "up" : "down",
			 c->keys[i], err, r.key, r.value);
}

/* A few records from one key up to another one */
static int judge_scan(struct crash *c, struct crab_store *store,
		      const struct crash_content *content, u32 from, u32 to)
{
	struct crab_record records[JUDGE_ROOM];
	struct crab_cursor cursor;
	u32 at = from;
	int i, n;

	crab_cursor_init(&cursor, c->keys[from], c->keys[to]);
	n = crab_cursor_read(store, &cursor, records, JUDGE_ROOM);
	for (i = 0; i < n; i++, at++) {
		at = content_nearest(c, content, at, true);
		if (at > to || records[i].key != c->keys[at] || records[i].value != content->value[at])
			break;
	}
	if (n >= 0 && i == n && (n == JUDGE_ROOM || content_nearest(c, content, at, true) > to))
		return 0;
	return crash_say(c, "scan from key %llx to %llx: %d records, of which %d are right",
			 c->keys[from], c->keys[to], n, i);
}

/* A seek and a bounded scan, other ones in each recovery */
static int judge_reads(struct crash *c, struct crab_store *store,
		       const struct crash_content *content)
{
	u32 keys = c->setup.keys, from = c->counts.recoveries * 7 % keys;
	u32 to = from + c->counts.recoveries % (keys - from);

	return judge_seek(c, store, content, from, c->counts.recoveries % 2) ?:
	       judge_scan(c, store, content, from, to);
}

/* Searches, seeks and bounded scans agree with the scan, and the verifier is content */
int crash_store_judge(struct crash *c, struct crab_store *store,
		      const struct crash_content *content)
{
	struct crab_check_report report;
	u64 value;
	u32 i;
	int err;

	for (i = 0; i < c->setup.keys; i++) {
		value = 0;
		err = crab_store_search(store, c->keys[i], &value);
		if (err != (content->there[i] ? 0 : -ENOENT) || value != content->value[i])
			return crash_say(c, "search of key %llx: %d, value %llx for %llx",
					 c->keys[i], err, value, content->value[i]);
	}
	if (judge_reads(c, store, content))
		return -1;
	crab_store_check(store, &report);
	if (report.damage.count)
		return crash_say(c, "check, at %llu: %s", report.damage.offset,
				 report.damage.what);
	return 0;
}

bool crash_holds(struct crash *c)
{
	struct crash_content found;

	return !crash_content_read(c, c->store, &found) &&
	       crash_content_equal(c, &found, &c->content) && !crash_store_judge(c, c->store, &found);
}
