// SPDX-License-Identifier: GPL-2.0
/*
 * This file judges how a store handles hostile media:
 *
 *   an attach that fails reports the cause, and changes nothing
 *   a read-only attach changes nothing; nor does one that found damage
 *   an attach reads the media a bounded number of times
 *   a scan ascends and ends; a search returns the records of the scan
 *   the verifier finds nothing in a store that attach called good, and
 *   something in one that it called damaged
 *   a good store performs each verb, and the next attach finds the result
 *   a store of blobs lists them up to its end, and refuses the verbs on records
 *
 * Invariant: the judge trusts nothing on the media; its loops are bounded by its
 * own room and by the script.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "engines/crab/sorted/tuning.h"
#include "hostile.h"
#include "shared/super.h"
#include "store/blob.h"
#include "store/store_priv.h"

/**
 * struct judge - one case
 * @h: its media
 * @script: its script
 * @len: bytes
 * @tuning: of every attach of a store of the engine crab
 * @store: attached now
 * @report: report of that attach
 * @damaged: it found damage
 * @waits: the list of a commit could not be done: a part of it may be
 * @agrees: a read-only attach comes first, and must find the same as the writable one. If the
 *	superblock claims less than the region, the latter has another geometry: the store grows;
 *	if it claims a layout that the media is not good enough for, the latter is refused
 * @stores: before that attach
 */
struct judge {
	struct crab_hostile *h;
	const u8 *script;
	size_t len;
	struct crab_tuning tuning;
	struct crab_store *store;
	struct crab_attach_report report;
	bool damaged;
	bool waits;
	bool agrees;
	u64 stores;
};

#define that(j, cond, fmt, ...)							\
	({									\
		bool _ok = (cond);						\
		if (!_ok && !(j)->h->said[0])					\
			scnprintf((j)->h->said, sizeof((j)->h->said),		\
				  "%s: " fmt, #cond, ##__VA_ARGS__);		\
		_ok;								\
	})

/*
 * The words that an attach may load at most: the superblocks, and the whole region once
 * if none is valid; of a leaf the header, the slots a few times, and each slot once more
 * for each other slot, which happens only with forged fingerprints.
 */
static u64 steps_max(const struct crab_hostile *h)
{
	u64 words = h->media.size / sizeof(__le64);
	u64 leaves = (h->media.size - CRAB_POOL_OFFSET) / CRAB_LEAF_BYTES_MIN;
	u64 slots = crab_leaf_slots(CRAB_HOSTILE_LEAF_MAX);

	return 2 * words + leaves * (32 + 8 * slots + slots * slots);
}

static void keep(struct judge *j)
{
	if (j->h->stores)
		j->stores = *j->h->stores;
	else
		memcpy(j->h->before, j->h->media.base, j->h->media.size);
}

static void unchanged(struct judge *j)
{
	if (j->waits)
		return;
	if (j->h->stores)
		that(j, *j->h->stores == j->stores, "media written to");
	else
		that(j, !memcmp(j->h->before, j->h->media.base, j->h->media.size),
		     "media changed");
}

static bool claims_less(const struct crab_hostile *h)
{
	char reason[CRAB_REASON_LEN];
	struct crab_super super = { };

	crab_super_read(&h->media, &super, reason);
	return super.region_bytes < h->media.size;
}

static bool claims_better(const struct crab_hostile *h)
{
	const struct crab_engine_ops *ops;
	const struct crab_layout *layout;
	char reason[CRAB_REASON_LEN];
	struct crab_super super = { };

	crab_super_read(&h->media, &super, reason);
	ops = crab_engine_by_id(super.engine);
	layout = ops ? crab_layout_by_id(ops, super.layout) : NULL;
	return layout && crab_store_keeps(&h->media, layout, reason);
}

/* Other engines have options of another type */
static const void *judge_tuning(struct judge *j)
{
	char reason[CRAB_REASON_LEN];
	struct crab_super super = { };

	crab_super_read(&j->h->media, &super, reason);
	return super.engine == crab_engine_crab.id ? &j->tuning : NULL;
}

static bool judge_attach(struct judge *j, bool readonly)
{
	struct crab_attach_options options = { .readonly = readonly, .tuning = judge_tuning(j) };
	u64 steps = j->h->steps ? *j->h->steps : 0;

	keep(j);
	memset(&j->report, 0x5a, sizeof(j->report));
	j->store = crab_store_attach(&j->h->media, &options, &j->report);
	if (j->h->steps)
		that(j, *j->h->steps - steps <= steps_max(j->h), "attach loads %llu words",
		     (unsigned long long)(*j->h->steps - steps));
	if (IS_ERR(j->store)) {
		that(j, j->report.reason[0], "attach fails without a reason");
		unchanged(j);
		return false;
	}
	j->damaged = !strncmp(j->report.reason, "damaged", 7);
	j->waits = !strncmp(j->report.reason, "a commit waits", 14);
	that(j, j->report.verdict == CRAB_VERDICT_GOOD || j->report.verdict == CRAB_VERDICT_RO,
	     "attached, verdict %d", j->report.verdict);
	return true;
}

static void judge_detach(struct judge *j, bool cut)
{
	if (cut)
		crab_store_abandon(j->store);
	else
		crab_store_detach(j->store);
	j->store = NULL;
}

/* All records that a scan returns, including those after quarantined ranges */
static void content_scan(struct judge *j, struct crab_hostile_content *c)
{
	struct crab_cursor cursor;
	bool ends;
	u64 before;
	int n;

	c->n = 0;
	c->gaps = 0;
	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	do {
		before = cursor.next;
		n = crab_cursor_read(j->store, &cursor, c->r + c->n, CRAB_HOSTILE_RECORDS - c->n);
		if (n == -EUCLEAN) {
			c->gaps++;
			crab_cursor_skip(j->store, &cursor);
			n = 0;
		}
		if (!that(j, n >= 0, "scan returns %d", n))
			return;
		c->n += n;
		ends = cursor.done || (cursor.next > before && c->n < CRAB_HOSTILE_RECORDS);
	} while (that(j, ends, "scan stays at %llu", (unsigned long long)cursor.next) &&
		 !cursor.done);
}

/* Judges the next record of a scan down: it is record @at of the scan up */
static void content_down_one(struct judge *j, const struct crab_hostile_content *c, u32 at,
			     const struct crab_record *r)
{
	that(j, at < c->n && r->key == c->r[at].key && r->value == c->r[at].value,
	     "scan down returns key %llu", (unsigned long long)r->key);
}

static bool has_feature(struct judge *j, u64 bit)
{
	crab_store_info(j->store, &j->h->info);
	return j->h->info.super.feature_incompat & bit;
}

/*
 * A scan down returns the same records, and passes as many quarantined ranges. A key of the list of
 * a commit is known in such a range, and divides it; at an end of it, in one direction only.
 */
static void content_down(struct judge *j, const struct crab_hostile_content *c)
{
	struct crab_record r[8];
	struct crab_cursor cursor;
	u32 left = c->n, gaps = 0, calls = 0;
	int n, i;

	crab_cursor_init_back(&cursor, 0, CRAB_KEY_EMPTY);
	while (!cursor.done && calls++ < 4 * CRAB_HOSTILE_RECORDS) {
		n = crab_cursor_read(j->store, &cursor, r, ARRAY_SIZE(r));
		if (n == -EUCLEAN) {
			gaps++;
			crab_cursor_skip(j->store, &cursor);
		} else if (!that(j, n >= 0, "scan down returns %d", n)) {
			return;
		}
		for (i = 0; i < n; i++)
			content_down_one(j, c, --left, &r[i]);
	}
	that(j, cursor.done, "scan down does not end");
	that(j, !left && (gaps == c->gaps || has_feature(j, CRAB_INCOMPAT_COMMITS)),
	     "scan down: %u records less, %u gaps, not %u", left, gaps, c->gaps);
}

static void content_read(struct judge *j, struct crab_hostile_content *c)
{
	u32 i;

	content_scan(j, c);
	if (c->n < CRAB_HOSTILE_RECORDS)
		content_down(j, c);
	that(j, !c->gaps || j->damaged, "gaps in a store without damage");
	for (i = 1; i < c->n; i++)
		that(j, c->r[i].key > c->r[i - 1].key, "scan descends at %llu",
		     (unsigned long long)c->r[i].key);
}

static void content_search(struct judge *j, const struct crab_hostile_content *c)
{
	u64 value;
	u32 i;
	int err;

	for (i = 0; i < c->n; i++) {
		err = crab_store_search(j->store, c->r[i].key, &value);
		that(j, !err && value == c->r[i].value, "key %llu: search %d",
		     (unsigned long long)c->r[i].key, err);
	}
}

static void content_same(struct judge *j)
{
	const struct crab_hostile_content *was = &j->h->was, *is = &j->h->is;

	that(j, was->n == is->n && was->gaps == is->gaps, "%u records, %u gaps; were %u, %u",
	     is->n, is->gaps, was->n, was->gaps);
	that(j, !memcmp(was->r, is->r, min(was->n, is->n) * sizeof(is->r[0])),
	     "a record is another one");
}

static void verified(struct judge *j)
{
	struct crab_check_report report;

	memset(&report, 0x5a, sizeof(report));
	crab_store_check(j->store, &report);
	if (j->damaged)
		that(j, report.damage.count, "check finds nothing where attach found damage");
	else
		that(j, !report.damage.count, "%s", report.damage.what);
}

static void refused(struct judge *j)
{
	struct crab_old old;

	that(j, crab_store_insert(j->store, 8, 8, CRAB_INSERT_EITHER, &old) == -EROFS, "insert");
	that(j, crab_store_delete(j->store, 8, &old) == -EROFS, "delete");
	that(j, !crab_store_maintain(j->store), "maintain");
}

/* A get of a listed blob finds it, or finds it damaged */
static void blob_listed(struct judge *j, const struct crab_blob_entry *e, u64 next)
{
	struct crab_blob_read get = { .key = e->key };
	int err = crab_blob_get(j->store, &get);

	that(j, e->key >= next, "the list descends at %llu", (unsigned long long)e->key);
	that(j, err == -EUCLEAN || (!e->err && (err ? err == -EMSGSIZE : !e->bytes)),
	     "get of a listed blob %d", err);
}

/* The keys of the list ascend */
static void blobs_listed(struct judge *j)
{
	struct crab_blob_entry e;
	struct crab_cursor cursor;
	u32 calls = 0;
	u64 next = 0;
	int n;

	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	while (!cursor.done && calls++ < 2 * CRAB_HOSTILE_RECORDS) {
		n = crab_blob_list(j->store, &cursor, &e, 1);
		if (n == -EUCLEAN) {
			that(j, j->damaged, "a gap in a list of blobs without damage");
			crab_cursor_skip(j->store, &cursor);
		} else if (n > 0) {
			blob_listed(j, &e, next);
			next = e.key + 1;
		} else if (!that(j, !n, "list returns %d", n)) {
			return;
		}
	}
	that(j, cursor.done, "list does not end");
}

static void blobs_guarded(struct judge *j)
{
	struct crab_record r;
	struct crab_old old;
	u64 value;

	that(j, crab_store_search(j->store, 8, &value) == -EOPNOTSUPP, "search");
	that(j, crab_store_seek(j->store, 8, CRAB_SEEK_GE, &r) == -EOPNOTSUPP, "seek");
	that(j, crab_store_insert(j->store, 8, 8, CRAB_INSERT_EITHER, &old) ==
	     (j->damaged ? -EROFS : -EOPNOTSUPP), "insert");
}

/* The images hold records, so the words of a store that claims to hold blobs lead nowhere */
static void judge_blobs(struct judge *j, struct crab_hostile_content *c)
{
	struct crab_check_report report;

	c->n = 0;
	c->gaps = 0;
	blobs_listed(j);
	blobs_guarded(j);
	crab_store_check(j->store, &report);
	that(j, j->damaged && report.damage.count,
	     "an image of records is a good store of blobs");
	judge_detach(j, false);
	unchanged(j);
}

/* A read-only store, whether read-only was requested or not */
static void judge_reading(struct judge *j, struct crab_hostile_content *c)
{
	if (has_feature(j, CRAB_INCOMPAT_BLOBS))
		return judge_blobs(j, c);
	content_read(j, c);
	content_search(j, c);
	verified(j);
	refused(j);
	judge_detach(j, false);
	unchanged(j);
}

/* The index of @key in the expected content, or the index at which it belongs */
static u32 model_at(const struct crab_hostile_content *c, u64 key)
{
	u32 lo = 0, hi = c->n, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (c->r[mid].key < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool model_has(const struct crab_hostile_content *c, u64 key)
{
	u32 at = model_at(c, key);

	return at < c->n && c->r[at].key == key;
}

static void model_put(struct crab_hostile_content *c, u64 key, u64 value)
{
	struct crab_record *r = &c->r[model_at(c, key)];

	if (!model_has(c, key)) {
		memmove(r + 1, r, (c->r + c->n - r) * sizeof(*r));
		c->n++;
	}
	r->key = key;
	r->value = value;
}

static void model_drop(struct crab_hostile_content *c, u64 key)
{
	struct crab_record *r = &c->r[model_at(c, key)];

	c->n--;
	memmove(r, r + 1, (c->r + c->n - r) * sizeof(*r));
}

/* A key like those of the seeds, or one of the highest */
static u64 verb_key(const u8 *verb)
{
	if (verb[3] & 0x80)
		return CRAB_KEY_EMPTY - verb[1];
	return (u64)verb[2] << 8 | verb[1];
}

/* Any value, also the void of a leaf, which makes the store replace that leaf */
static u64 verb_value(struct judge *j, const u8 *verb)
{
	u32 leaves = (u32)(j->h->media.size - CRAB_POOL_OFFSET) / j->h->leaf_bytes;
	u32 leaf = verb[4] % leaves;

	if (verb[3] & 0x40)
		return le64_to_cpu(crab_hostile_leaf(j->h, leaf)->head.own);
	return verb[5] == 0xff ? ~0ULL : verb[5];
}

static void judge_insert(struct judge *j, const u8 *verb)
{
	struct crab_hostile_content *was = &j->h->was;
	u64 key = verb_key(verb), value = verb_value(j, verb);
	enum crab_insert_mode mode = verb[3] % 3;
	bool there = model_has(was, key);
	struct crab_old old;
	int err;

	if (was->n == CRAB_HOSTILE_RECORDS)
		return;
	err = crab_store_insert(j->store, key, value, mode, &old);
	if (key == CRAB_KEY_EMPTY)
		that(j, err == -EINVAL, "insert %d", err);
	else if (there && mode == CRAB_INSERT_CREATE)
		that(j, err == -EEXIST, "insert %d", err);
	else if (!there && mode == CRAB_INSERT_REPLACE)
		that(j, err == -ENOENT, "insert %d", err);
	else if (that(j, !err || err == -ENOSPC, "insert %d", err) && !err)
		model_put(was, key, value);
}

static void judge_delete(struct judge *j, const u8 *verb)
{
	u64 key = verb_key(verb);
	bool there = model_has(&j->h->was, key);
	struct crab_old old;
	int err = crab_store_delete(j->store, key, &old);

	if (key == CRAB_KEY_EMPTY)
		that(j, err == -EINVAL, "delete %d", err);
	else if (!there)
		that(j, err == -ENOENT, "delete %d", err);
	else if (that(j, !err, "delete %d", err))
		model_drop(&j->h->was, key);
}

static void judge_seek(struct judge *j, const u8 *verb)
{
	struct crab_hostile_content *was = &j->h->was;
	enum crab_seek_dir dir = verb[3] % 2 ? CRAB_SEEK_LE : CRAB_SEEK_GE;
	u64 key = verb_key(verb);
	u32 at = model_at(was, key);
	struct crab_record r;
	int err;

	if (key == CRAB_KEY_EMPTY)
		return;
	if (dir == CRAB_SEEK_LE && !model_has(was, key))
		at--;
	err = crab_store_seek(j->store, key, dir, &r);
	if (at < was->n)
		that(j, !err && r.key == was->r[at].key && r.value == was->r[at].value,
		     "seek %llu", (unsigned long long)key);
	else
		that(j, err == -ENOENT, "seek %llu: %d", (unsigned long long)key, err);
}

static void judge_verb(struct judge *j, const u8 *verb)
{
	switch (verb[0] % CRAB_HOSTILE_UNSEALED % CRAB_HOSTILE_VERB_KINDS) {
	case CRAB_HOSTILE_INSERT:
		return judge_insert(j, verb);
	case CRAB_HOSTILE_DELETE:
		return judge_delete(j, verb);
	case CRAB_HOSTILE_SEEK:
		return judge_seek(j, verb);
	case CRAB_HOSTILE_MAINTAIN:
		crab_store_maintain(j->store);
		return;
	default:
		return;		/* an edit */
	}
}

static void judge_verbs(struct judge *j)
{
	u32 verbs = 0;
	size_t i;

	for (i = CRAB_HOSTILE_HEAD; i + CRAB_HOSTILE_VERB <= j->len &&
	     verbs < CRAB_HOSTILE_VERBS; i += CRAB_HOSTILE_VERB, verbs++)
		judge_verb(j, j->script + i);
}

static u64 judge_sequence(struct judge *j)
{
	const struct crab_super *super = &j->h->info.super;

	crab_store_info(j->store, &j->h->info);
	that(j, super->state == CRAB_SUPER_STATE_ATTACHED, "state %u", super->state);
	return super->sequence;
}

/* Attaches a good store again */
static void judge_again(struct judge *j, u64 sequence)
{
	if (!that(j, judge_attach(j, false), "a good store is not attached again: %s",
		  j->report.reason))
		return;
	if (that(j, j->report.verdict == CRAB_VERDICT_GOOD, "%s", j->report.reason)) {
		content_read(j, &j->h->is);
		content_same(j);
		content_search(j, &j->h->is);
		verified(j);
		that(j, (s64)(judge_sequence(j) - sequence) > 0, "superblocks go back");
	}
	judge_detach(j, false);
}

/* Attached and writable: h->was is the expected content, h->is the content that a reader saw */
static void judge_writing(struct judge *j)
{
	u64 sequence = judge_sequence(j);

	content_read(j, &j->h->was);
	if (j->agrees)
		content_same(j);
	judge_verbs(j);
	verified(j);
	if (!strcmp(j->h->info.engine, "volatile"))
		j->h->was.n = 0;
	judge_detach(j, j->script[1] & CRAB_HOSTILE_CUT);
	judge_again(j, sequence);
}

static void judge_tune(struct judge *j, u8 flags)
{
	j->tuning = crab_tuning_default;
	j->tuning.on_demand = !!(flags & CRAB_HOSTILE_ON_DEMAND);
	j->tuning.pair = !!(flags & CRAB_HOSTILE_CUT);	/* no bit is left */
	if (flags & CRAB_HOSTILE_SIP)
		j->tuning.strategy = CRAB_STRATEGY_SIP;
	else if (flags & CRAB_HOSTILE_COW)
		j->tuning.strategy = CRAB_STRATEGY_COW;
}

bool crab_hostile_judge(struct crab_hostile *h, const u8 *script, size_t len)
{
	struct judge j = { .h = h, .script = script, .len = len };
	bool read = script[1] & CRAB_HOSTILE_READ, attached = false;

	h->said[0] = '\0';
	judge_tune(&j, script[1]);
	j.agrees = read && !claims_less(h) && !claims_better(h);
	if (read) {
		attached = judge_attach(&j, true);
		if (attached)
			judge_reading(&j, &h->is);
		if (!(script[1] & CRAB_HOSTILE_WRITE))
			return !h->said[0];
	}
	if (!judge_attach(&j, false)) {
		that(&j, !j.agrees || !attached, "served read-only and refused otherwise");
		return !h->said[0];
	}
	that(&j, !j.agrees || attached, "refused read-only and served otherwise");
	if (j.report.verdict == CRAB_VERDICT_GOOD) {
		judge_writing(&j);
	} else {
		judge_reading(&j, &h->was);
		if (j.agrees)
			content_same(&j);
	}
	return !h->said[0];
}
