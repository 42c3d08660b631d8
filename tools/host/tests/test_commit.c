// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests stores of commits, with every engine: random commits and single writes against a
 * model, concurrent with snapshots and watches; conditions, bad input; lists on the media that a
 * power cut could leave, in stores attached read-only and writable; lists that were damaged or
 * forged; lines and fences.
 */

#include "changes.h"
#include "store/commit_priv.h"
#include "store/snap.h"
#include "test.h"

#define KEYS	200U
#define STEPS	3000U
#define LEAVES	1024U
#define FEW_LEAVES	13U

static const char * const engines[][2] = {
	{ "crab", "slotted" }, { "crab", "sorted" }, { "nvtree", "" }, { "fastfair", "" },
	{ "clfb", "" }, { "clfb", "twin" }, { "clfb", "encoded" }, { "nbtree", "" },
	{ "nbtree", "eadr" }, { "volatile", "" },
};

struct run {
	struct crab_media media;
	struct crab_store *store;
	struct model *model;
	u64 seed;
	u32 refused;
	u32 full;
};

static struct crab_commit commit;	/* too large for a stack */
static u64 addends[CRAB_COMMIT_MAX];	/* of its operations that add, else 0 */

static void run_format(struct run *r, const char *engine, const char *layout, u32 leaves)
{
	*r = (struct run){ .seed = 7, .media = media_create((u64)leaves * 2048) };
	r->model = model_create(KEYS, MODEL_UNIFORM, 3);
	r->store = store_make(&r->media, engine, layout, leaf_bytes_of(engine, layout),
			      STORE_COMMITS);
}

static void run_end(struct run *r)
{
	crab_store_detach(r->store);
	model_destroy(r->model);
	media_destroy(&r->media);
}

static bool keeps(const struct run *r)
{
	return !(r->store->engine->own->flags & CRAB_ENGINE_VOLATILE);
}

static void add(enum crab_verb verb, u64 key, u64 value, enum crab_commit_when when, u64 expected)
{
	commit.when[commit.n] = when;
	commit.ops[commit.n++] = (struct crab_batch_op){
		.verb = verb, .key = key, .value = value, .old.expected = expected,
	};
}

/* Is the condition of operation @i true? */
static int condition(const struct run *r, u32 i, u32 at)
{
	bool there = r->model->there[at];

	if (commit.when[i] == CRAB_WHEN_ABSENT)
		return there ? -EEXIST : 0;
	if (commit.when[i] != CRAB_WHEN_ANY && !there)
		return -ENOENT;
	return commit.when[i] == CRAB_WHEN_VALUE &&
	       r->model->values[at] != commit.ops[i].old.expected ? -ESTALE : 0;
}

/* A random commit; @bad: some conditions may be false */
static void fill(struct run *r, bool bad)
{
	u32 n = rng_below(&r->seed, 4) ? 1 + rng_below(&r->seed, 5) : CRAB_COMMIT_MAX;
	u32 at = rng_below(&r->seed, KEYS), i;

	commit.n = 0;
	for (i = 0; i < n; i++, at = (at + 1 + rng_below(&r->seed, 2)) % KEYS) {
		add(rng_below(&r->seed, 8) ? rng_below(&r->seed, 3) ? CRAB_VERB_INSERT : CRAB_VERB_DELETE :
					     CRAB_VERB_SEARCH,
		    r->model->keys[at], rng_below(&r->seed, 1000),
		    rng_below(&r->seed, n) ? CRAB_WHEN_ANY : rng_below(&r->seed, 4),
		    r->model->values[at]);
		if (!bad && condition(r, i, at))
			commit.when[i] = CRAB_WHEN_ANY;
		addends[i] = 0;
		if (commit.ops[i].verb != CRAB_VERB_INSERT || rng_below(&r->seed, 4))
			continue;
		commit.ops[i].mode = CRAB_INSERT_ADD;
		addends[i] = commit.ops[i].value;
	}
}

static int wanted(const struct run *r, u32 *failed)
{
	u32 i;
	int err;

	for (i = 0; i < commit.n; i++) {
		err = condition(r, i, model_at(r->model, commit.ops[i].key));
		*failed = i;
		if (err)
			return err;
	}
	*failed = commit.n;
	return 0;
}

/* Compares the records before the commit, and applies it to the model */
static void apply(struct run *r)
{
	u32 i;

	for (i = 0; i < commit.n; i++) {
		const struct crab_batch_op *op = &commit.ops[i];
		u32 at = model_at(r->model, op->key);

		tap_check(op->old.existed == r->model->there[at] &&
			  (!op->old.existed || op->old.value == r->model->values[at]),
			  "operation %u reports another record", i);
		tap_check(op->status == (op->verb == CRAB_VERB_INSERT || op->old.existed ? 0 : -ENOENT),
			  "operation %u has the status %d", i, op->status);
		tap_check(!addends[i] || op->value == addends[i] +
			  (r->model->there[at] ? r->model->values[at] : 0), "another sum");
		if (op->verb == CRAB_VERB_INSERT)
			model_put(r->model, at, op->value);
		else if (op->verb == CRAB_VERB_DELETE && op->old.existed)
			model_drop(r->model, at);
	}
}

static u32 searches(void)
{
	u32 i, n = 0;

	for (i = 0; i < commit.n; i++)
		n += commit.ops[i].verb == CRAB_VERB_SEARCH;
	return n;
}

static void commit_random(struct run *r)
{
	u64 before = store_info(r->store).counts.searches;
	u32 failed;
	int want, err;

	fill(r, true);
	want = wanted(r, &failed);
	err = crab_store_commit(r->store, &commit);
	tap_check(store_info(r->store).counts.searches == before + searches(), "searches are counted");
	r->full += !want && err == -ENOSPC;
	tap_check((!want && err == -ENOSPC) || (err == want && commit.failed == failed),
		  "a commit returns %d for %u, not %d for %u", err, commit.failed, want, failed);
	if (err)
		r->refused++;
	else
		apply(r);
}

static void write_random(struct run *r)
{
	u32 at = rng_below(&r->seed, KEYS);

	if (rng_below(&r->seed, 2)) {
		if (!store_put(r->store, r->model->keys[at], at))
			model_put(r->model, at, at);
	} else if (!store_delete(r->store, r->model->keys[at])) {
		model_drop(r->model, at);
	}
}

static void restart(struct run *r)
{
	if (!keeps(r))
		return;
	r->store = rng_below(&r->seed, 2) ? store_again(r->store) : store_cut(r->store);
}

/* @leaves: if they are few, some commits are refused for want of space, and none fails later */
static void test_random(const char *engine, const char *layout, u32 leaves)
{
	struct run r;
	u32 i;

	run_format(&r, engine, layout, leaves);
	for (i = 0; i < STEPS; i++) {
		if (rng_below(&r.seed, 3))
			commit_random(&r);
		else
			write_random(&r);
		if (i % 100 == 0)
			restart(&r);
		if (i % 50 == 0)
			model_compare(r.model, r.store);
		while (crab_store_maintain(r.store) && rng_below(&r.seed, 4))
			;
	}
	model_compare(r.model, r.store);
	tap_check(!crab_store_is_readonly(r.store), "a commit could not be applied");
	tap_check(leaves == LEAVES ? !r.full : r.full > STEPS / 50, "%u times full", r.full);
	tap_ok(r.refused > STEPS / 20, "%s %s: %u steps, %u commits refused by a condition, %u times full",
	       engine, layout, STEPS, r.refused - r.full, r.full);
	run_end(&r);
}

/* A snapshot has all of a commit or none, and a watch reports its changes */
static void test_observed(const char *engine, const char *layout)
{
	const struct crab_watch_options watched = {
		.end = CRAB_KEY_EMPTY, .entries = 256, .wake = wake_none,
	};
	struct crab_change changes[CRAB_COMMIT_MAX + 1];
	struct crab_snap *snap;
	struct crab_watch *watch;
	struct run r;
	u64 value;
	u32 i, changed = 0;
	int n;

	run_format(&r, engine, layout, LEAVES);
	commit_random(&r);
	tap_check(crab_store_observe(r.store) == 1 && !crab_store_observe(r.store), "not observed");
	snap = crab_snap_open(r.store);
	watch = crab_watch_open(r.store, &watched);
	fill(&r, false);
	for (i = 0; i < commit.n; i++)
		commit.ops[i].status = r.model->there[model_at(r.model, commit.ops[i].key)];
	tap_check(!crab_store_commit(r.store, &commit), "refused");
	for (i = 0; i < commit.n; i++) {
		u32 at = model_at(r.model, commit.ops[i].key);
		int err = crab_snap_search(r.store, snap, commit.ops[i].key, &value);

		tap_check(err == (r.model->there[at] ? 0 : -ENOENT) &&
			  (err || value == r.model->values[at]), "the snapshot changed");
		changed += commit.ops[i].verb != CRAB_VERB_SEARCH && !commit.ops[i].status;
	}
	n = take_changes(watch, changes, NULL, ARRAY_SIZE(changes));
	tap_check(n == (int)changed, "%d changes, not %u", n, changed);
	apply(&r);
	commit.n = 0;
	add(CRAB_VERB_DELETE, r.model->keys[0], 0, CRAB_WHEN_ANY, 0);
	add(CRAB_VERB_INSERT, r.model->keys[1], 1, CRAB_WHEN_VALUE, 123456);
	tap_check(crab_store_commit(r.store, &commit) && !take_changes(watch, changes, NULL, 1),
		  "a refused commit is reported");
	crab_watch_close(watch);
	crab_snap_close(snap);
	model_compare(r.model, r.store);
	tap_ok(changed, "%s %s: %u changes, observed", engine, layout, changed);
	run_end(&r);
}

/* Nothing of a commit with bad operands is done */
static void refuse(struct run *r, int want, const char *what)
{
	int err = crab_store_commit(r->store, &commit);

	tap_check(err == want, "%s: %d", what, err);
	model_compare(r->model, r->store);
}

static void begin_pair(struct run *r)
{
	commit.n = 0;
	add(CRAB_VERB_INSERT, r->model->keys[0], 1, CRAB_WHEN_ANY, 0);
	add(CRAB_VERB_INSERT, r->model->keys[1], 1, CRAB_WHEN_ANY, 0);
}

static void test_bad(void)
{
	struct crab_store *plain;
	struct crab_media media = media_create(CRAB_POOL_OFFSET + 64 * 512);
	struct run r;

	run_format(&r, "crab", "slotted", LEAVES);
	commit.n = 0;
	refuse(&r, -EINVAL, "no operation");
	commit.n = CRAB_COMMIT_MAX + 1;
	refuse(&r, -EINVAL, "65 operations");
	commit.n = ~0U;
	refuse(&r, -EINVAL, "many operations");
	begin_pair(&r);
	commit.ops[1].key = commit.ops[0].key;
	refuse(&r, -EINVAL, "a key twice");
	begin_pair(&r);
	commit.ops[1].key = CRAB_KEY_EMPTY;
	refuse(&r, -EINVAL, "the reserved key");
	tap_check(commit.failed == 1, "operation %u", commit.failed);
	begin_pair(&r);
	commit.ops[1].verb = 7;
	refuse(&r, -EINVAL, "a verb");
	begin_pair(&r);
	commit.ops[1].mode = CRAB_INSERT_CREATE;
	refuse(&r, -EINVAL, "a mode");
	begin_pair(&r);
	commit.when[0] = 9;
	refuse(&r, -EINVAL, "a condition");
	begin_pair(&r);
	crab_store_set_readonly(r.store, "test");
	refuse(&r, -EROFS, "read-only");
	commit.n = 0;
	add(CRAB_VERB_SEARCH, r.model->keys[0], 0, CRAB_WHEN_ABSENT, 0);
	refuse(&r, 0, "a search of a read-only store");
	run_end(&r);
	plain = store_format_attach(&media, "crab", "slotted", 512);
	tap_check(crab_store_commit(plain, &commit) == -EOPNOTSUPP, "a store without commits");
	store_end(plain);
	tap_ok(true, "bad operands are refused");
}

/* Lists on the media */

static struct crab_flow flow_of(struct run *r)
{
	return (struct crab_flow){ .media = &r->media };
}

/* Writes a list as a commit would; nothing of it is applied, or every second write */
static void list_leave(struct run *r, struct crab_commit_list *list, bool half)
{
	struct crab_flow flow = flow_of(r);
	u32 i, n = 0;

	memset(list, 0, sizeof(*list));
	for (i = 0; i < commit.n; i++) {
		const struct crab_batch_op *op = &commit.ops[i];

		if (op->verb == CRAB_VERB_SEARCH)
			continue;
		list->removes |= (u64)(op->verb == CRAB_VERB_DELETE) << n;
		list->record[n++] = (struct crab_record){ op->key, op->value };
		if (half && i % 2 && op->verb == CRAB_VERB_DELETE)
			store_delete(r->store, op->key);
		else if (half && i % 2)
			store_put(r->store, op->key, op->value);
	}
	list->n = n;
	crab_commit_store(&flow, r->store->super.store_id, list);
}

static struct crab_store *attach_readonly(struct run *r, struct crab_attach_report *report)
{
	struct crab_attach_options options = { .readonly = true };

	return crab_store_attach(&r->media, &options, report);
}

/* Seeks and scans in both directions, while the list is in force */
static void compare_reads(struct run *r, struct crab_store *store)
{
	u32 i, a, b;

	for (i = 0; i < 40; i++) {
		a = rng_below(&r->seed, KEYS);
		b = rng_below(&r->seed, KEYS);
		model_seek(r->model, store, r->model->keys[a / 2] + i % 3, i % 2);
		model_scan(r->model, store, r->model->keys[a], r->model->keys[b], 1 + i % 7, 300);
		model_scan_back(r->model, store, r->model->keys[a], r->model->keys[b], 1 + i % 7, 300);
	}
}

/* The records that are counted are those that a scan finds */
static void compare_count(const struct run *r, struct crab_store *store)
{
	tap_check(store_info(store).stats.records == r->model->count, "%llu records, not %u",
		  store_info(store).stats.records, r->model->count);
}

/* All keys in one batch of searches */
static void compare_batch(struct run *r, struct crab_store *store)
{
	static struct crab_batch_op ops[KEYS];
	u32 i;

	for (i = 0; i < KEYS; i++)
		ops[i] = (struct crab_batch_op){
			.verb = CRAB_VERB_SEARCH, .key = r->model->keys[i],
		};
	crab_store_batch(store, ops, KEYS);
	for (i = 0; i < KEYS; i++)
		tap_check(ops[i].status == (r->model->there[i] ? 0 : -ENOENT) &&
			  (ops[i].status || ops[i].value == r->model->values[i]),
			  "a search in a batch: %d", ops[i].status);
}

/* A power cut left a list: a reader has all of it, and so has the next attach */
static void test_left(const char *engine, const char *layout)
{
	struct crab_attach_report report;
	struct crab_commit_list list;
	struct crab_store *reader;
	struct run r;
	u32 i;

	run_format(&r, engine, layout, LEAVES);
	for (i = 0; i < 60; i++) {
		commit_random(&r);
		fill(&r, false);
		for (u32 k = 0; k < commit.n; k++)
			commit.ops[k].old.existed = false;
		list_leave(&r, &list, i % 2);
		crab_store_abandon(r.store);
		for (u32 k = 0; k < commit.n; k++) {
			u32 at = model_at(r.model, commit.ops[k].key);

			if (commit.ops[k].verb == CRAB_VERB_INSERT)
				model_put(r.model, at, commit.ops[k].value);
			else if (commit.ops[k].verb == CRAB_VERB_DELETE && r.model->there[at])
				model_drop(r.model, at);
		}
		reader = attach_readonly(&r, &report);
		compare_reads(&r, reader);
		compare_batch(&r, reader);
		compare_count(&r, reader);
		crab_store_abandon(reader);
		r.store = store_attach(&r.media);
		model_compare(r.model, r.store);
	}
	tap_ok(true, "%s %s: 60 lists that a power cut left", engine, layout);
	run_end(&r);
}

static __le64 *slot(struct run *r)
{
	return (__le64 *)(r->media.base + CRAB_COMMIT_OFFSET);
}

/* A list without one of its words never counts, also if a later list supplies the word */
static void test_torn(void)
{
	struct crab_commit_list list;
	struct run r;
	__le64 word;
	u32 i;

	run_format(&r, "crab", "slotted", LEAVES);
	begin_pair(&r);
	list_leave(&r, &list, false);
	for (i = 0; i < 7; i++) {
		struct crab_flow flow = flow_of(&r);

		crab_commit_store(&flow, r.store->super.store_id, &list);
		crab_store_abandon(r.store);
		word = slot(&r)[i];
		slot(&r)[i] = ~word;
		r.store = store_attach(&r.media);
		model_compare(r.model, r.store);
		crab_store_abandon(r.store);
		if (i)
			slot(&r)[i] = word;
		r.store = store_attach(&r.media);
		model_compare(r.model, r.store);
	}
	tap_ok(true, "a torn list never counts");
	run_end(&r);
}

/* A list with the right check that no commit could have written: CHECK reports it alone */
static void forge(struct run *r, const struct crab_commit_list *list, const char *what)
{
	struct crab_flow flow = flow_of(r);
	struct crab_attach_report report;
	struct crab_check_report check;
	struct crab_store *store;

	crab_commit_store(&flow, r->store->super.store_id, list);
	store = store_try(&r->media, &report);
	tap_check(!IS_ERR(store) && report.verdict == CRAB_VERDICT_RO, "%s: %s", what,
		  report.reason);
	model_scan(r->model, store, 0, CRAB_KEY_EMPTY, 64, ~0U);
	crab_store_check(store, &check);
	tap_check(check.damage.count == 1, "%s: CHECK reports %llu", what, check.damage.count);
	crab_store_abandon(store);
}

static void test_forged(void)
{
	struct crab_commit_list list = { .n = 2, .record = { { 5, 1 }, { 5, 2 } } };
	struct run r;
	u32 i, k;

	run_format(&r, "crab", "slotted", 24);
	forge(&r, &list, "a key twice");
	list.record[1].key = CRAB_KEY_EMPTY;
	forge(&r, &list, "the reserved key");
	list.record[1].key = 6;
	list.removes = 4;
	forge(&r, &list, "a write that is not there is a delete");
	for (i = 0; i < 2000; i++) {
		for (k = 0; k < sizeof(struct crab_dcommit) / 8; k++)
			slot(&r)[k] = cpu_to_le64(rng_below(&r.seed, 4) ? rng_below(&r.seed, 80) :
						  rng_mix(r.seed + k));
		r.store = store_cut(r.store);
	}
	model_compare(r.model, r.store);
	tap_ok(true, "forged lists are damage, and noise is no list");
	run_end(&r);
}

/* 16 replacements in a new store, as a batch or as a commit */
static void count(const char *engine, const char *layout, bool atomic, u64 *lines, u64 *fences)
{
	struct crab_store_info before, after;
	struct run r;
	u32 i;

	run_format(&r, engine, layout, LEAVES);
	for (i = 0; i < KEYS; i++)
		store_put(r.store, r.model->keys[i], 1);
	commit.n = 0;
	for (i = 0; i < 16; i++)
		add(CRAB_VERB_INSERT, r.model->keys[i * 12], 2, CRAB_WHEN_ANY, 0);
	crab_store_info(r.store, &before);
	if (atomic)
		crab_store_commit(r.store, &commit);
	else
		crab_store_batch(r.store, commit.ops, commit.n);
	crab_store_info(r.store, &after);
	*fences = after.counts.fences - before.counts.fences;
	*lines = after.counts.lines - before.counts.lines;
	run_end(&r);
}

/* A commit has two fences more than a batch of the same writes */
static void test_counts(const char *engine, const char *layout)
{
	u64 lines[2], fences[2];

	count(engine, layout, false, &lines[0], &fences[0]);
	count(engine, layout, true, &lines[1], &fences[1]);
	tap_ok(fences[1] == fences[0] + 2,
	       "%s %s: 16 replacements, batch and commit: %llu and %llu lines, %llu and %llu fences",
	       engine, layout, lines[0], lines[1], fences[0], fences[1]);
}

int main(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(engines); i++) {
		const char *engine = engines[i][0], *layout = engines[i][1];
		bool kept = strcmp(engine, "volatile");

		test_random(engine, layout, LEAVES);
		test_observed(engine, layout);
		if (!kept)
			continue;
		test_random(engine, layout, FEW_LEAVES);
		test_left(engine, layout);
		test_counts(engine, layout);
	}
	test_bad();
	test_torn();
	test_forged();
	return tap_done();
}
