// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the list of a commit that is in force: all reads at all keys, over an engine that is
 * an array with quarantined ranges, at both ends of the keys; attach with a list that
 * cannot be read or applied, or that the store cannot have.
 */
#include "media/badmem.h"
#include "store/commit_priv.h"
#include "test.h"

#define HALF		10U
#define KEYS		(2 * HALF)	/* the lowest keys, and the highest ones */
#define ROUNDS		1500U
#define NONE		CRAB_KEY_EMPTY

enum listed { KEPT, PUT, REMOVED };

static const struct crab_engine_ops *own;
static struct crab_engine_ops ops;
static u64 seed = 11;

/* The content of the array, and of the list */
static bool there[KEYS], lost[KEYS];
static enum listed listed[KEYS];
static int broken;	/* the error of each seek */

static u64 key_of(u32 i)
{
	return i < HALF ? i : NONE - KEYS + i;
}

static void begin(const char *engine)
{
	store_begin_of(CRAB_POOL_OFFSET + 64 * 512, engine, "", 512, STORE_COMMITS);
	own = store->engine->own;
	ops = *own;
	store->engine->own = &ops;
}

static void end(void)
{
	store->engine->own = own;
	store_abandon(store);
}

/* A record of the array or of the list, in the order of the scan; KEYS: none. -EUCLEAN: unknown */
static int model_find(u64 key, u64 last, enum crab_seek_dir dir, bool list, u32 *found)
{
	int step = dir == CRAB_SEEK_GE ? 1 : -1, i;

	for (i = step > 0 ? 0 : KEYS - 1; i >= 0 && i < (int)KEYS; i += step) {
		if (step > 0 ? key_of(i) < key : key_of(i) > key)
			continue;
		if (step > 0 ? key_of(i) > last : key_of(i) < last)
			break;
		*found = i;
		if (list && listed[i] == REMOVED)
			continue;
		if (list && listed[i] == PUT)
			return 0;
		if (lost[i])
			return -EUCLEAN;
		if (there[i])
			return 0;
	}
	return -ENOENT;
}

static u64 model_value(u32 i, bool list)
{
	return list && listed[i] == PUT ? 1000 + i : i;
}

static int model_reads(u64 from, u64 last, enum crab_seek_dir dir, bool list,
		       struct crab_record *records, u32 cap)
{
	u32 n = 0, i;
	int err = 0;

	while (n < cap) {
		err = model_find(from, last, dir, list, &i);
		if (err)
			break;
		records[n++] = (struct crab_record){ key_of(i), model_value(i, list) };
		if (key_of(i) == last)
			break;
		from = key_of(i) + (dir == CRAB_SEEK_GE ? 1 : -1);
	}
	return n || err != -EUCLEAN ? (int)n : err;
}

/* The key after the first range that is lost */
static u64 model_beyond(u64 key, enum crab_seek_dir dir)
{
	u64 last = dir == CRAB_SEEK_GE ? NONE - 1 : 0, step = dir == CRAB_SEEK_GE ? 1 : -1, i;
	bool met = false;

	for (; ; key += step) {
		for (i = 0; i < KEYS && key_of(i) != key; i++)
			;
		if (met && (i == KEYS || !lost[i]))
			return key;
		met |= i < KEYS && lost[i];
		if (key == last || (i == KEYS && !met && dir == CRAB_SEEK_GE && key < NONE - KEYS &&
				    key >= HALF + 2))
			break;
		if (i == KEYS && !met && key == (dir == CRAB_SEEK_GE ? HALF + 1 : NONE - HALF - 2))
			key = dir == CRAB_SEEK_GE ? NONE - HALF - 1 : HALF;
	}
	return NONE;
}

/* The engine */

static int array_lookup(struct crab_engine *engine, u64 key, u64 *value)
{
	u32 i;
	int err = model_find(key, key, CRAB_SEEK_GE, false, &i);

	if (!err)
		*value = i;
	return err;
}

static int array_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		      struct crab_record *record)
{
	u32 i;
	int err = broken ?: model_find(key, dir == CRAB_SEEK_GE ? NONE : 0, dir, false, &i);

	if (!err)
		*record = (struct crab_record){ key_of(i), i };
	return err;
}

static int array_scan(struct crab_engine *engine, u64 start, u64 last, struct crab_record *records,
		      u32 cap)
{
	return model_reads(start, last, CRAB_SEEK_GE, false, records, cap);
}

static int array_scan_back(struct crab_engine *engine, u64 start, u64 last,
			   struct crab_record *records, u32 cap)
{
	return model_reads(last, start, CRAB_SEEK_LE, false, records, cap);
}

static u64 array_beyond(struct crab_engine *engine, u64 key, enum crab_seek_dir dir)
{
	return model_beyond(key, dir);
}

/* Comparison of all reads from a key */

static void compare_lookup(u32 at, bool list)
{
	u64 value = 0;
	u32 i = 0;
	int want = model_find(key_of(at), key_of(at), CRAB_SEEK_GE, list, &i);
	int err = crab_store_search(store, key_of(at), &value);

	tap_check(err == want && (err || value == model_value(at, list)), "key %u: %d, %llu", at, err,
		  value);
}

static void compare_seek(u64 key, enum crab_seek_dir dir, bool list)
{
	struct crab_record record;
	u32 i = 0;
	int want = model_find(key, dir == CRAB_SEEK_GE ? NONE : 0, dir, list, &i);
	int err = crab_store_seek(store, key, dir, &record);

	tap_check(err == want && (err || (record.key == key_of(i) && record.value == model_value(i, list))),
		  "seek %d from %llu: %d, not %d", dir, key, err, want);
}

static void compare_scan(u64 from, u64 last, enum crab_seek_dir dir, bool list, u32 cap)
{
	struct crab_record want[KEYS], got[KEYS + 1] = { };
	struct crab_engine *engine = store->engine;
	int n = model_reads(from, last, dir, list, want, cap), found;

	found = dir == CRAB_SEEK_GE ? engine->ops->scan(engine, from, last, got, cap) :
				      engine->ops->scan_back(engine, last, from, got, cap);
	tap_check(found == n && (n < 0 || !memcmp(want, got, n * sizeof(*got))),
		  "scan %d of %u from %llu to %llu: %d, not %d", dir, cap, from, last, found, n);
	tap_check(!got[cap].key && !got[cap].value, "a record more than asked for");
}

static void compare_beyond(u64 key, enum crab_seek_dir dir, bool list)
{
	u64 want = model_beyond(key, dir);
	u32 i;

	for (i = 0; list && i < KEYS; i++) {
		if (!listed[i] || (dir == CRAB_SEEK_GE ? key_of(i) <= key : key_of(i) >= key))
			continue;
		if (want == NONE || (dir == CRAB_SEEK_GE ? key_of(i) < want : key_of(i) > want))
			want = key_of(i);
	}
	tap_check(store->engine->ops->beyond(store->engine, key, dir) == want,
		  "beyond %llu in direction %d: not %llu", key, dir, want);
}

static void compare_all(bool list)
{
	u32 i, other;

	for (i = 0; i < KEYS; i++) {
		u64 key = key_of(i);

		compare_lookup(i, list);
		compare_seek(key, CRAB_SEEK_GE, list);
		compare_seek(key, CRAB_SEEK_LE, list);
		compare_beyond(key, CRAB_SEEK_GE, list);
		compare_beyond(key, CRAB_SEEK_LE, list);
		other = rng_below(&seed, KEYS);
		compare_scan(key, max(key, key_of(other)), CRAB_SEEK_GE, list, 1 + i % 5 * 4);
		compare_scan(key, min(key, key_of(other)), CRAB_SEEK_LE, list, 1 + i % 5 * 4);
	}
}

/* Few or many records, writes of the list, and keys that are lost */
static void change(void)
{
	struct crab_commit_list *list = &store->commits->list;
	u32 i, at, dense = rng_below(&seed, 12), unknown = rng_below(&seed, 3);

	memset(list, 0, sizeof(*list));
	for (i = 0; i < KEYS; i++) {
		there[i] = rng_below(&seed, 12) <= dense;
		lost[i] = !rng_below(&seed, 6) && unknown;
		listed[i] = KEPT;
	}
	for (i = rng_below(&seed, KEYS) + 1; i; i--) {
		at = rng_below(&seed, KEYS);
		if (listed[at])
			continue;
		listed[at] = rng_below(&seed, 2) ? PUT : REMOVED;
		list->removes |= (u64)(listed[at] == REMOVED) << list->n;
		list->record[list->n++] = (struct crab_record){
			key_of(at), listed[at] == PUT ? 1000 + at : 0,
		};
	}
}

static void test_reads(bool back)
{
	u32 i;

	begin("crab");
	ops.lookup = array_lookup;
	ops.seek = array_seek;
	ops.scan = array_scan;
	ops.scan_back = back ? array_scan_back : NULL;
	ops.beyond = array_beyond;
	for (i = 0; i < ROUNDS; i++) {
		change();
		crab_commits_turn(store->commits);
		compare_all(true);
		crab_commits_turn(store->commits);
		compare_all(false);
	}
	tap_ok(true, "all reads of %u lists in force, and of none, in an engine with%s scans back", ROUNDS,
	       back ? "" : "out");
	end();
}

/* An error that is no damage is not taken for a missing record */
static void test_error(void)
{
	struct crab_record record;

	begin("crab");
	ops.seek = array_seek;
	broken = -EINTR;
	store->commits->list = (struct crab_commit_list){ .n = 1, .record[0] = { 5, 5 } };
	crab_commits_turn(store->commits);
	tap_ok(crab_store_seek(store, 5, CRAB_SEEK_GE, &record) == -EINTR &&
	       crab_store_seek(store, 9, CRAB_SEEK_LE, &record) == -EINTR,
	       "a seek that is interrupted ends, though the list has a key");
	broken = 0;
	crab_commits_turn(store->commits);
	end();
}

static u32 maintained;

static bool maintain(struct crab_engine *engine)
{
	maintained++;
	return true;
}

/* It would move records of which readers have the ones of the list */
static void test_maintain(void)
{
	struct crab_engine *engine;

	begin("crab");
	engine = store->engine;
	ops.maintain = maintain;
	crab_commits_turn(store->commits);
	tap_check(!engine->ops->maintain(engine) && !maintained, "work while the list is in force");
	crab_commits_turn(store->commits);
	tap_ok(engine->ops->maintain(engine) && maintained == 1, "no maintenance while a list is in force");
	end();
}

/* Attach */

static void list_put(const struct crab_commit_list *list)
{
	struct crab_flow flow = { .media = &media };

	crab_commit_store(&flow, store->super.store_id, list);
}

static bool attach_finds_damage(void)
{
	struct crab_attach_report report;

	crab_store_abandon(store);
	store = store_try(&media, &report);
	tap_check(!IS_ERR(store), "attach: %s", report.reason);
	own = store->engine->own;
	return report.verdict == CRAB_VERDICT_RO;
}

static void test_unreadable(void)
{
	static struct crab_badmem bad;
	u64 line;

	begin("crab");
	crab_badmem_init(&bad);
	media.bad = &bad;
	for (line = 0; line < sizeof(struct crab_dcommit); line += CRAB_LINE) {
		struct crab_check_report report = { };

		bad.count = 0;
		crab_badmem_add(&bad, CRAB_COMMIT_OFFSET + line, CRAB_LINE);
		tap_check(attach_finds_damage(), "line %llu of the list is read", line / CRAB_LINE);
		crab_commits_check(store, &report);
		tap_check(report.damage.count == 1 && report.damage.offset == CRAB_COMMIT_OFFSET,
			  "CHECK, line %llu: %s", line / CRAB_LINE, report.damage.what);
	}
	media.bad = NULL;
	tap_ok(!attach_finds_damage(), "a list in uncorrectable memory is damage");
	end();
}

/* It has no records to which the list could belong, and does not write the region */
static void test_volatile(void)
{
	const struct crab_commit_list list = { .n = 1, .record[0] = { 1, 10 } };
	u8 before[CRAB_LINE];
	u64 value;

	begin("volatile");
	list_put(&list);
	memcpy(before, media.base + CRAB_COMMIT_OFFSET, CRAB_LINE);
	tap_check(!attach_finds_damage(), "read-only");
	tap_check(crab_store_search(store, 1, &value) == -ENOENT, "the write of a list: %llu", value);
	tap_ok(!memcmp(before, media.base + CRAB_COMMIT_OFFSET, CRAB_LINE),
	       "a store in memory only has no list");
	end();
}

static int failure;	/* of the first insert */

static int insert_fails(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
			enum crab_insert_mode mode, struct crab_old *old)
{
	int err = failure;

	if (err != -ENOMEM)
		failure = 0;
	return err ?: own->insert(engine, flow, key, value, mode, old);
}

/* As attach does, with an engine that cannot do the first write */
static int redo(int err)
{
	const struct crab_commit_list list = { .n = 2, .record = { { 1, 10 }, { 2, 20 } } };
	struct crab_flow flow = { .media = &media };

	list_put(&list);
	store->commits->list = list;
	crab_commits_turn(store->commits);
	ops.insert = insert_fails;
	failure = err;
	err = crab_commits_redo(store, &flow);
	failure = 0;
	return err;
}

static void test_redo(void)
{
	u64 value = 0;

	begin("crab");
	tap_check(redo(-ENOMEM) == -ENOMEM && !crab_store_is_readonly(store), "no memory");
	end();
	begin("crab");
	tap_check(!redo(-ENOSPC) && crab_store_is_readonly(store), "no room");
	tap_check(crab_commits_in_force(store->commits), "the list is not in force any more");
	tap_check(!crab_store_search(store, 1, &value) && value == 10, "a read before: %llu", value);
	tap_check(!attach_finds_damage(), "the next attach");
	tap_check(!crab_store_search(store, 1, &value) && value == 10, "a read after: %llu", value);
	tap_ok(true, "a list whose first write fails stays in force, and on the media");
	end();
}

/* Each allocation of attach fails in turn */
static void test_memory(void)
{
	struct crab_attach_report report;
	u32 failed = 0;
	bool last;

	begin("crab");
	store->engine->own = own;
	do {
		crab_store_abandon(store);
		crab_host_fail_alloc = failed++;
		store = store_try(&media, &report);
		last = crab_host_fail_alloc >= 0;
		crab_host_fail_alloc = -1;
		tap_check(IS_ERR(store) ? PTR_ERR(store) == -ENOMEM : !store->readonly,
			  "allocation %u: %s", failed, report.reason);
		if (IS_ERR(store))
			store = NULL;
	} while (!last);
	tap_ok(failed > 5, "attach of a store of commits without memory: %u allocations", failed);
	end();
}

/* A list that was applied is no list: later writes count */
static void test_applied(void)
{
	static struct crab_commit commit;

	begin("crab");
	store->engine->own = own;
	commit.n = 1;
	commit.ops[0] = (struct crab_batch_op){ .verb = CRAB_VERB_INSERT, .key = 1, .value = 1 };
	tap_check(!crab_store_commit(store, &commit) && !store_delete(store, 1), "writes");
	crab_store_set_readonly(store, "test");
	tap_ok(!store_info(store).stats.records,
	       "INFO counts no write of a list that was applied: %llu records",
	       store_info(store).stats.records);
	end();
}

int main(void)
{
	crab_host_log = NULL;	/* damage is planted, and reported in the log */
	test_reads(true);
	test_reads(false);
	test_error();
	test_maintain();
	test_unreadable();
	test_volatile();
	test_redo();
	test_memory();
	test_applied();
	return tap_done();
}
