// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the oracle of the crash tests.
 *
 * Locking: none; the caller owns the store.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "oracle.h"

#define ORACLE_CHUNK	32	/* records that one call of a scan returns */
#define ORACLE_BOUNDED	5	/* records of a bounded scan, at most */

int crab_oracle_fault(struct crab_oracle *oracle, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	oracle->report(oracle, fmt, args);
	va_end(args);
	return -1;
}

/* Number of a key, or the number of keys if the test does not use it */
static u32 oracle_key(const struct crab_oracle *oracle, u64 key)
{
	u32 from = 0, to = oracle->n, mid;

	while (from < to) {
		mid = (from + to) / 2;
		if (oracle->keys[mid] < key)
			from = mid + 1;
		else
			to = mid;
	}
	return from < oracle->n && oracle->keys[from] == key ? from : oracle->n;
}

/* Records in the order of their keys, of which those below @next were returned before */
static int content_add(struct crab_oracle *oracle, struct crab_key_state *content, u32 *next,
		       const struct crab_record *r)
{
	u32 key = oracle_key(oracle, r->key);

	if (key == oracle->n || key < *next)
		return crab_oracle_fault(oracle, "scan returns key %llx: foreign, twice or out of order",
					 r->key);
	content[key] = (struct crab_key_state) { .there = true, .value = r->value };
	*next = key + 1;
	return 0;
}

int crab_oracle_read(struct crab_oracle *oracle, struct crab_store *store,
		     struct crab_key_state *content)
{
	struct crab_record records[ORACLE_CHUNK];
	struct crab_cursor cursor;
	u32 next = 0;
	int i, n;

	memset(content, 0, oracle->n * sizeof(*content));
	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	while ((n = crab_cursor_read(store, &cursor, records, ORACLE_CHUNK)) > 0)
		for (i = 0; i < n; i++)
			if (content_add(oracle, content, &next, &records[i]))
				return -1;
	return n ? crab_oracle_fault(oracle, "scan fails: %d", n) : 0;
}

static bool state_equal(const struct crab_key_state *a, const struct crab_key_state *b)
{
	return a->there == b->there && (!a->there || a->value == b->value);
}

bool crab_oracle_equal(const struct crab_oracle *oracle, const struct crab_key_state *a,
		       const struct crab_key_state *b)
{
	u32 i;

	for (i = 0; i < oracle->n; i++)
		if (!state_equal(&a[i], &b[i]))
			return false;
	return true;
}

/* Is the key in the state before the calls, or in the state that one of its changes left? */
static bool key_allowed(const struct crab_oracle_allowed *allowed, u32 key,
			const struct crab_key_state *found)
{
	u32 i;

	if (state_equal(found, &allowed->before[key]))
		return true;
	for (i = 0; i < allowed->n; i++)
		if (allowed->changes[i].key == key && state_equal(found, &allowed->changes[i].to))
			return true;
	return false;
}

bool crab_oracle_allows(const struct crab_oracle *oracle,
			const struct crab_oracle_allowed *allowed,
			const struct crab_key_state *found)
{
	u32 key;

	if (allowed->after)
		return crab_oracle_equal(oracle, found, allowed->before) ||
		       crab_oracle_equal(oracle, found, allowed->after);
	for (key = 0; key < oracle->n; key++)
		if (!key_allowed(allowed, key, &found[key]))
			return false;
	return true;
}

int crab_oracle_check(struct crab_oracle *oracle, struct crab_store *store)
{
	struct crab_check_report report;

	crab_store_check(store, &report);
	if (report.damage.count)
		return crab_oracle_fault(oracle, "check, at %llu: %s", report.damage.offset,
					 report.damage.what);
	return 0;
}

int crab_oracle_judge(struct crab_oracle *oracle, struct crab_store *store,
		      const struct crab_key_state *content)
{
	u64 value;
	u32 i;
	int err;

	for (i = 0; i < oracle->n; i++) {
		value = 0;
		err = crab_store_search(store, oracle->keys[i], &value);
		if (err != (content[i].there ? 0 : -ENOENT) ||
		    value != (content[i].there ? content[i].value : 0))
			return crab_oracle_fault(oracle, "search of key %llx: %d, value %llx for %llx",
						 oracle->keys[i], err, value, content[i].value);
	}
	return crab_oracle_check(oracle, store);
}

/* The nearest key that is there, from number @i on; out of range if there is none */
static u32 content_nearest(const struct crab_oracle *oracle, const struct crab_key_state *content,
			   u32 i, bool up)
{
	while (i < oracle->n && !content[i].there)
		i += up ? 1 : -1;	/* below 0 is out of range, too */
	return i;
}

static int judge_seek(struct crab_oracle *oracle, struct crab_store *store,
		      const struct crab_key_state *content, u32 i, bool up)
{
	u32 at = content_nearest(oracle, content, i, up);
	struct crab_record r = { 0 };
	int err = crab_store_seek(store, oracle->keys[i], up ? CRAB_SEEK_GE : CRAB_SEEK_LE, &r);

	if (at >= oracle->n ? err == -ENOENT :
	    !err && r.key == oracle->keys[at] && r.value == content[at].value)
		return 0;
	return crab_oracle_fault(oracle, "seek %s from key %llx: %d, key %llx, value %llx",
				 up ? "up" : "down", oracle->keys[i], err, r.key, r.value);
}

/* Whether an index of content_nearest() is outside [@from, @to] */
static bool is_outside(u32 at, u32 from, u32 to)
{
	return at < from || at > to;
}

/* A few records from one key up to another one, or down from it */
static int judge_scan(struct crab_oracle *oracle, struct crab_store *store,
		      const struct crab_key_state *content, u32 from, u32 to, bool up)
{
	struct crab_record records[ORACLE_BOUNDED];
	struct crab_cursor cursor;
	u32 at = up ? from : to;
	int i, n;

	if (up)
		crab_cursor_init(&cursor, oracle->keys[from], oracle->keys[to]);
	else
		crab_cursor_init_back(&cursor, oracle->keys[from], oracle->keys[to]);
	n = crab_cursor_read(store, &cursor, records, ORACLE_BOUNDED);
	for (i = 0; i < n; i++, at += up ? 1 : -1) {
		at = content_nearest(oracle, content, at, up);
		if (is_outside(at, from, to) || records[i].key != oracle->keys[at] ||
		    records[i].value != content[at].value)
			break;
	}
	if (n >= 0 && i == n &&
	    (n == ORACLE_BOUNDED ||
	     is_outside(content_nearest(oracle, content, at, up), from, to)))
		return 0;
	return crab_oracle_fault(oracle, "scan %s, keys %llx to %llx: %d records, %d of them right",
				 up ? "up" : "down", oracle->keys[from], oracle->keys[to], n, i);
}

int crab_oracle_judge_some(struct crab_oracle *oracle, struct crab_store *store,
			   const struct crab_key_state *content, u64 nth)
{
	u32 from = nth * 7 % oracle->n, to = from + nth % (oracle->n - from);

	return judge_seek(oracle, store, content, from, nth % 2) ?:
	       judge_scan(oracle, store, content, from, to, true) ?:
	       judge_scan(oracle, store, content, from, to, false);
}

static bool status_ok(const struct crab_batch_op *op, bool there, u64 value)
{
	if (op->verb != CRAB_VERB_INSERT)
		return op->status == (there ? 0 : -ENOENT);
	if (there && op->mode == CRAB_INSERT_SWAP)
		return op->status == (value == op->old.expected ? 0 : -ESTALE);
	if (there)
		return op->status == (op->mode == CRAB_INSERT_CREATE ? -EEXIST : 0);
	if (op->mode & CRAB_INSERT_NEEDS)
		return op->status == -ENOENT;
	return !op->status || op->status == -ENOSPC;
}

const char *crab_oracle_answer(struct crab_key_state *state, const struct crab_batch_op *op)
{
	bool search = op->verb == CRAB_VERB_SEARCH;
	u64 sum;

	if (!status_ok(op, state->there, state->value))
		return "returns the wrong status";
	if (!search && op->old.existed != state->there)
		return "reports wrongly whether the key existed";
	if (state->there && (search ? op->value : op->old.value) != state->value)
		return "found another value";
	if (op->status || search)
		return NULL;
	sum = op->mode & CRAB_INSERT_ADDS ? state->value : 0;	/* 0 if the key was missing */
	state->there = op->verb == CRAB_VERB_INSERT;
	state->value = state->there ? op->value + sum : 0;
	return NULL;
}
