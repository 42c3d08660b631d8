// SPDX-License-Identifier: GPL-2.0
/*
 * This file takes memory away from the engines clfb and nbtree in the middle of an operation: one
 * allocation fails, or all of them do from one on, or all nodes of the index. The operation succeeds
 * without them, or returns -ENOMEM and has changed no byte of the media. No record, no leaf and no
 * memory is lost, and the next call works. test_alloc fails one allocation at a time in all engines.
 *
 * A write of clfb takes no memory.
 */
#include "engines/nbtree/eadr/eadr.h"
#include "store/commit.h"
#include "store/cursor.h"
#include "test.h"

#define LEAVES		64U
#define WRITES		4000U
#define NEVER		(-1L)
#define STEP		100U	/* between keys in order */
#define BATCH		16U
#define BEHIND		400U	/* leaves, of which the root of the index has no room for all */

/* So many allocations succeed, then one fails, or all others of this size do. 0: of any size */
static long left = NEVER;
static bool rest;
static size_t size_only;
static u32 struck;

void *__real_crab_host_alloc(size_t size, size_t align, gfp_t gfp);

void *__wrap_crab_host_alloc(size_t size, size_t align, gfp_t gfp)
{
	if (left == NEVER || (size_only && size != size_only))
		return __real_crab_host_alloc(size, align, gfp);
	if (left--)
		return __real_crab_host_alloc(size, align, gfp);
	left = rest ? 0 : NEVER;
	struck++;
	return NULL;
}

static void take_away(long n, bool all)
{
	left = n;
	rest = all;
	struck = 0;
}

static bool give_back(void)
{
	left = NEVER;
	size_only = 0;
	return struck;
}

static struct model *model;
static u8 *before;		/* the media */

static bool is_clfb(const char *const *layout)
{
	return !strcmp(layout[0], "clfb");
}

static void begin(const char *const *layout, u64 leaves, bool commits)
{
	u32 leaf_bytes = leaf_bytes_of(layout[0], layout[1]);

	media = media_create(2 * CRAB_POOL_OFFSET + leaves * (leaf_bytes + 2 * CRAB_LINE));
	before = malloc(media.size);
	store = store_make(&media, layout[0], layout[1], leaf_bytes, commits ? STORE_COMMITS : 0);
}

static void end(void)
{
	crab_store_detach(store);
	free(before);
	media_destroy(&media);
}

static bool media_same(void)
{
	return !memcmp(before, media.base, media.size);
}

static void expect_good(const char *when)
{
	struct crab_check_report report;
	int err = crab_store_check(store, &report);

	tap_check(!err && !report.damage.count, "%s: CHECK: %d, %s", when, err, report.damage.what);
}

static void maintain(void)
{
	store_maintain(store);
}

/* Writes, scans and batches: random histories */

static int write_one(u32 at, bool put, u64 value)
{
	return put ? store_insert(store, model->keys[at], value, CRAB_INSERT_EITHER) :
		     store_delete(store, model->keys[at]);
}

/* Repeats a write until it succeeds; counts the refused ones. Does it succeed without memory? */
static bool write_until(u32 at, bool put, u64 value, bool all, u32 *refused)
{
	bool short_of;
	long n;
	int err;

	for (n = 0; ; n++) {
		memcpy(before, media.base, media.size);
		take_away(n, all);
		err = write_one(at, put, value);
		short_of = give_back();
		if (!short_of || !err || err == -ENOSPC)
			break;
		tap_check(err == -ENOMEM && media_same(), "%d, or the media has changed", err);
		++*refused;
	}
	if (put)
		tap_check(!err || (err == -ENOSPC && !model->there[at]), "insert: %d", err);
	else
		tap_check(err == (model->there[at] ? 0 : -ENOENT), "delete: %d", err);
	if (!err && put)
		model_put(model, at, value);
	else if (!err)
		model_drop(model, at);
	return short_of && !err;
}

static void scan_until(u32 *refused)
{
	struct crab_cursor cursor, old;
	struct crab_record records[8];
	bool short_of;
	int got;

	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY - 1);
	old = cursor;
	take_away(0, true);
	got = crab_cursor_read(store, &cursor, records, ARRAY_SIZE(records));
	short_of = give_back();
	tap_check(short_of && got == -ENOMEM && !memcmp(&cursor, &old, sizeof(cursor)), "scan: %d", got);
	*refused += short_of;
	got = crab_cursor_read(store, &cursor, records, ARRAY_SIZE(records));
	tap_check(got == min_t(u32, model->count, ARRAY_SIZE(records)), "scan: %d", got);
}

/* Each operation of a batch is done, or returns -ENOMEM and is not */
static void batch_without(u64 *seed, bool all, u32 *refused)
{
	struct crab_batch_op ops[BATCH] = { };
	u32 at[BATCH], i;

	for (i = 0; i < BATCH; i++) {
		at[i] = (rng_below(seed, model->n / BATCH) * BATCH + i) % model->n;
		ops[i] = (struct crab_batch_op){
			.verb = rng_below(seed, 3) ? CRAB_VERB_INSERT : CRAB_VERB_DELETE,
			.mode = CRAB_INSERT_EITHER, .key = model->keys[at[i]], .value = i,
		};
	}
	take_away(rng_below(seed, BATCH), all);
	crab_store_batch(store, ops, BATCH);
	give_back();
	for (i = 0; i < BATCH; i++) {
		*refused += ops[i].status == -ENOMEM;
		if (ops[i].status)
			continue;
		if (ops[i].verb == CRAB_VERB_INSERT)
			model_put(model, at[i], i);
		else
			model_drop(model, at[i]);
	}
}

static void test_history(const char *const *layout, bool all)
{
	u32 refused = 0, without = 0, scans = 0, batches = 0, i;
	u64 seed = 7 + all;

	begin(layout, LEAVES, false);
	model = model_create(LEAVES * (is_clfb(layout) ? 20 : 29), MODEL_UNIFORM, 3);
	for (i = 0; i < WRITES; i++) {
		without += write_until(rng_below(&seed, model->n),
				       rng_below(&seed, 100) < (i / 500 % 2 ? 20 : 80), i, all, &refused);
		if (i % 40)
			continue;
		scan_until(&scans);
		batch_without(&seed, all, &batches);
		expect_good("history");
		if (!(i % 400)) {
			maintain();
			model_compare(model, store);
		}
	}
	maintain();
	model_compare(model, store);
	tap_check(is_clfb(layout) ? !refused && !without && !batches : refused && batches,
		  "%u refused, %u without, %u in batches", refused, without, batches);
	tap_check(strcmp(layout[1], "eadr") || without, "no write of eadr succeeded without memory");
	tap_ok(true, "%s %s: %s: %u writes refused, %u done without memory, %u scans, %u in batches",
	       layout[0], layout[1], all ? "no memory from one allocation on" : "one allocation fails",
	       refused, without, scans, batches);
	store = store_again(store);
	model_compare(model, store);
	model_destroy(model);
	end();
}

/* eadr: the index, and unlinks */

static struct ea_tree *ea(void)
{
	return ea_tree_of(store->engine);
}

static int put(u64 key)
{
	return store_insert(store, key, key, CRAB_INSERT_CREATE);
}

static void fill(u64 records)
{
	u64 key;

	for (key = 1; key <= records; key++)
		tap_check(!put(key * STEP), "insert of %llu", key * STEP);
}

/* All keys from @first on */
static u64 del_all(u64 first, u64 last)
{
	u64 key, n = 0;

	for (key = first; key <= last; key++)
		n += !store_delete(store, key);
	return n;
}

/* An empty leaf stays without memory, takes records, and is unlinked later: @all: by maintain */
static void test_unlink(long n, bool all)
{
	static const char *const layout[] = { "nbtree", "eadr" };
	const struct nb_leaf *leaf;
	u64 leaves, unlinks, low, last;

	begin(layout, LEAVES, false);
	fill(200);
	leaf = crab_index_find(&ea()->nb.index, 100 * STEP);
	low = leaf->low;
	last = leaf->high - STEP;
	leaves = ea()->nb.leaves;
	unlinks = ea()->nb.unlinks;
	del_all(low, last - 1);
	take_away(n, all);
	tap_check(del_all(last, last) == 1, "delete without memory");
	tap_check(give_back() && leaves == ea()->nb.leaves, "%llu leaves", ea()->nb.leaves);
	expect_good("empty");
	if (all)
		maintain();
	else	/* it moves for a record, and is empty again */
		tap_check(!put(low + 5) && del_all(low + 5, low + 5) == 1, "the range of the leaf");
	tap_ok(ea()->nb.leaves == leaves - 1 && ea()->nb.unlinks == unlinks + 1,
	       "eadr: an empty leaf stays without memory (%ld%s), and later it is unlinked", n,
	       all ? " on" : "");
	expect_good("unlinked");
	end();
}

/* Splits, and deletes that leave leaves empty, while the index gets no node; @full: until no leaf is free */
static void test_behind(bool full, bool detach)
{
	static const char *const layout[] = { "nbtree", "eadr" };
	u64 key, splits, value, last;
	u32 behind = 0;
	int err = 0;

	begin(layout, BEHIND, false);
	fill(100);
	splits = ea()->nb.splits;
	size_only = sizeof(struct crab_index_node);
	take_away(0, true);
	for (key = 101; !err && (full || key < 6000); key++) {
		err = put(key * STEP);
		behind += crab_ea_is_behind(ea());
	}
	last = key - 1 - !!err;
	tap_check(err == (full ? -ENOSPC : 0) && behind > 100, "%d, %u writes behind", err, behind);
	expect_good("behind");
	for (key = 1; key <= last; key++)
		tap_check(!crab_store_search(store, key * STEP, &value) && value == key * STEP, "key %llu",
			  key * STEP);
	del_all(last / 2 * STEP, (last / 2 + 60) * STEP);
	if (detach)
		crab_store_detach(store);
	tap_check(give_back(), "the index had memory");
	if (detach)
		store = store_attach(&media);
	maintain();
	tap_check(store_check_good(store).records == last - 61, "not %llu records", last - 61);
	tap_check(!crab_ea_is_behind(ea()), "the index does not follow");
	tap_ok(!put(last / 2 * STEP) && (detach || ea()->nb.splits > splits + 5),
	       "eadr: the index has followed %llu splits%s%s", ea()->nb.splits - splits,
	       full ? ", of a full store" : "", detach ? ", after a detach" : "");
	end();
}

/* Commits */

static struct crab_commit commit;	/* too large for a stack */

static void commit_fill(u64 records)
{
	u32 i;

	commit = (struct crab_commit){ .n = CRAB_COMMIT_MAX };
	for (i = 0; i < commit.n; i++) {
		commit.when[i] = CRAB_WHEN_ANY;
		commit.ops[i] = (struct crab_batch_op){
			.verb = CRAB_VERB_INSERT, .key = (i + 1) * (records / commit.n) * STEP + 1,
			.value = i,
		};
	}
}

static void expect_commit(const char *when, u64 records)
{
	u64 value;
	u32 i;

	for (i = 0; i < commit.n; i++)
		tap_check(!crab_store_search(store, commit.ops[i].key, &value) && value == i,
			  "%s: key %u", when, i);
	if (crab_store_is_readonly(store))
		return;
	tap_check(store_check_good(store).records == records + commit.n, "%s: records", when);
}

/* All writes of a commit are done, or the next attach does them */
static bool commit_without(long n, bool all, u64 records, u32 *stuck)
{
	bool short_of;
	int err;

	memcpy(media.base, before, media.size);
	store = store_attach(&media);
	commit_fill(records);
	take_away(n, all);
	err = crab_store_commit(store, &commit);
	short_of = give_back();
	tap_check(!err, "commit: %d", err);
	tap_check(all || !crab_store_is_readonly(store), "read-only after one failure");
	expect_commit("committed", records);
	*stuck += crab_store_is_readonly(store);
	store = store_cut(store);
	tap_check(!crab_store_is_readonly(store), "read-only after attach");
	expect_commit("attached", records);
	crab_store_detach(store);
	return short_of;
}

static void test_commit(const char *const *layout, bool all)
{
	u64 records = is_clfb(layout) ? 64 * 28 : 64 * 29;
	u32 stuck = 0;
	long n;

	begin(layout, 1200, true);
	fill(records);
	crab_store_detach(store);
	memcpy(before, media.base, media.size);
	for (n = 0; commit_without(n, all, records, &stuck); n += all ? 3 : 1)
		;
	store = store_attach(&media);
	tap_ok(is_clfb(layout) ? !n : n > CRAB_COMMIT_MAX / 2 && !stuck == !all,
	       "%s %s: %ld commits without memory, %u wait for an attach", layout[0], layout[1], n, stuck);
	end();
}

/* FORMAT and attach */

static u32 attach_until(bool readonly)
{
	struct crab_attach_options options = { .readonly = readonly };
	struct crab_attach_report report;
	long n;

	memcpy(before, media.base, media.size);
	for (n = 0; ; n++) {
		take_away(n, true);
		store = crab_store_attach(&media, &options, &report);
		if (!give_back())
			break;
		tap_check(store == ERR_PTR(-ENOMEM) && media_same(), "%ld", PTR_ERR(store));
	}
	tap_check(!IS_ERR(store), "attach: %s", report.reason);
	return n;
}

static u32 format_until(const char *const *layout)
{
	struct crab_format_options options = {
		.leaf_bytes = leaf_bytes_of(layout[0], layout[1]), .engine = layout[0],
		.layout = layout[1], .label = "again", .force = true,
	};
	char reason[CRAB_REASON_LEN];
	long n;
	int err;

	memcpy(before, media.base, media.size);
	for (n = 0; ; n++) {
		take_away(n, true);
		err = crab_store_format(&media, &options, reason);
		if (!give_back())
			break;
		tap_check(err == -ENOMEM && media_same(), "FORMAT: %d", err);
	}
	tap_check(!err, "FORMAT: %d", err);
	return n;
}

static void test_attach(const char *const *layout)
{
	u32 attaches = 0, formats;

	begin(layout, LEAVES, false);
	fill(600);
	crab_store_detach(store);
	attaches += attach_until(true);
	crab_store_detach(store);
	attaches += attach_until(false);
	expect_good("clean");
	crab_store_abandon(store);
	attaches += attach_until(true);
	crab_store_detach(store);
	attaches += attach_until(false);
	expect_good("not clean");
	crab_store_abandon(store);
	memset(media.base + CRAB_HEAD_OFFSET, 0x5a, CRAB_LINE);
	attaches += attach_until(false);
	tap_check(crab_store_is_readonly(store), "no damage");
	crab_store_detach(store);
	formats = format_until(layout);
	store = store_attach(&media);
	tap_ok(attaches > 20 && formats, "%s %s: %u attaches and %u FORMATs without memory", layout[0],
	       layout[1], attaches, formats);
	end();
}

int main(void)
{
	u32 i;

	crab_host_log = NULL;
	for (i = STORE_CLFB; i < STORE_LAYOUTS; i++) {
		test_history(store_layouts[i], false);
		test_history(store_layouts[i], true);
		test_attach(store_layouts[i]);
		test_commit(store_layouts[i], false);
		test_commit(store_layouts[i], true);
	}
	for (i = 0; i < 2; i++) {
		test_unlink(i, false);
		test_unlink(i, true);
		test_behind(i, false);
		test_behind(i, true);
	}
	return tap_done();
}
