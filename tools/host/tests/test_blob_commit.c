// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests commits of values, in stores of blobs and of names, with every engine that can hold
 * blobs: random commits among single puts and erases against a model; conditions, bad operands, a full
 * store, memory that is free again; snapshots and watches; lines and fences.
 *
 * Invariant: each byte of a value depends on its key and on its generation.
 */
#include "changes.h"
#include "store/blob_snap.h"
#include "store/named_priv.h"
#include "test.h"

#define KEYS		96U
#define STEPS		1500U
#define LEAVES		4096U
#define FEW_LEAVES	40U
#define LONGEST		900U	/* bytes of a value */
#define NAME		3U	/* bytes of a name */

/* Content of a key, or of a name */
struct known {
	bool there;
	u32 bytes;
	u32 generation;
	u64 version;
};

struct run {
	struct crab_media media;
	struct crab_store *store;
	bool names;
	struct known key[KEYS];
	char name[KEYS][NAME];
	u64 seed;
	u32 refused;
	u32 full;
};

static struct crab_blob_commit commit;
static u32 keys[CRAB_COMMIT_MAX];	/* of its operations */
static u8 values[CRAB_COMMIT_MAX][LONGEST], buffer[LONGEST];

static u64 key_of(u32 i)
{
	return i == KEYS - 1 ? CRAB_KEY_EMPTY - 1 : i * 3;
}

static void value_make(u8 *to, u32 key, u32 generation, u32 bytes)
{
	rng_fill(to, key * 1000003ULL + generation, bytes);
}

static void run_format(struct run *r, const char *engine, const char *layout, bool names, u32 leaves)
{
	u32 i;

	memset(r, 0, sizeof(*r));
	r->media = media_create(2 * CRAB_POOL_OFFSET + leaves * 512);
	r->seed = 7;
	r->names = names;
	for (i = 0; i < KEYS; i++)
		memcpy(r->name[i], (char [NAME]){ 'v', 'a' + i / 10, '0' + i % 10 }, NAME);
	r->store = store_make(&r->media, engine, layout, leaf_bytes_of(engine, layout),
			      (names ? STORE_NAMES : STORE_BLOBS) | STORE_COMMITS);
}

static void write_make(struct run *r, u32 i, struct crab_blob_write *write)
{
	*write = (struct crab_blob_write){ .key = key_of(i) };
	if (!r->names)
		return;
	write->name = r->name[i];
	write->name_bytes = NAME;
}

static int commit_run(struct run *r)
{
	return r->names ? crab_named_commit(r->store, &commit) : crab_blob_commit(r->store, &commit);
}

static int value_get(struct run *r, struct crab_snap *snap, u32 i, struct crab_blob_read *get)
{
	*get = (struct crab_blob_read){
		.key = key_of(i), .buffer = buffer, .capacity = sizeof(buffer),
	};
	if (snap)
		return r->names ? crab_snap_named_get(r->store, snap, r->name[i], NAME, get) :
				  crab_snap_get(r->store, snap, get);
	return r->names ? crab_named_get(r->store, r->name[i], NAME, get) :
			  crab_blob_get(r->store, get);
}

/* @snap: a snapshot of the time when the model was @known, or NULL */
static void compare_one(struct run *r, struct crab_snap *snap, const struct known *known, u32 i)
{
	struct crab_blob_read get;
	u8 want[LONGEST];
	int err = value_get(r, snap, i, &get);

	if (!known->there) {
		tap_check(err == -ENOENT, "key %u is there: %d", i, err);
		return;
	}
	value_make(want, i, known->generation, known->bytes);
	tap_check(!err && get.version == known->version && get.bytes == known->bytes &&
		  !memcmp(buffer, want, known->bytes), "key %u has another value: %d", i, err);
}

static void compare(struct run *r)
{
	u32 i;

	for (i = 0; i < KEYS; i++)
		compare_one(r, NULL, &r->key[i], i);
	store_check_good(r->store);
}

/* A condition, true or not; returns the error that must come */
static int condition(struct run *r, const struct known *k, struct crab_blob_write *write, bool bad)
{
	switch (rng_below(&r->seed, bad ? 12 : 40)) {
	case 0:
		write->mode = CRAB_INSERT_CREATE;
		return k->there ? -EEXIST : 0;
	case 1:
		write->mode = CRAB_INSERT_REPLACE;
		return k->there ? 0 : -ENOENT;
	case 2:
		write->checked = true;
		write->version = k->version + !rng_below(&r->seed, 3);
		return !k->there ? -ENOENT : write->version == k->version ? 0 : -ESTALE;
	default:
		return 0;
	}
}

static void op_add(struct run *r, enum crab_verb verb, u32 key)
{
	struct crab_blob_op *op = &commit.ops[commit.n];
	struct known *k = &r->key[key];

	memset(op, 0xa5, sizeof(*op));
	op->verb = verb;
	write_make(r, key, &op->write);
	keys[commit.n] = key;
	op->write.data = values[commit.n];
	if (verb == CRAB_VERB_INSERT) {
		op->write.bytes = rng_below(&r->seed, 8) ? rng_below(&r->seed, 120) :
							   rng_below(&r->seed, LONGEST);
		value_make(values[commit.n], key, k->generation + 1, op->write.bytes);
	}
	commit.n++;
}

/* A random commit; returns the error that must come, about *@failed */
static int fill(struct run *r, u32 most, bool bad, u32 *failed)
{
	u32 n = 1 + rng_below(&r->seed, most), at = rng_below(&r->seed, KEYS), i;
	int want = 0, err;

	commit.n = 0;
	*failed = n;
	for (i = 0; i < n; i++, at = (at + 1 + rng_below(&r->seed, 2)) % KEYS) {
		op_add(r, rng_below(&r->seed, 6) ? rng_below(&r->seed, 3) ? CRAB_VERB_INSERT :
			  CRAB_VERB_DELETE : CRAB_VERB_SEARCH, at);
		err = condition(r, &r->key[at], &commit.ops[i].write, bad);
		if (err && !want) {
			want = err;
			*failed = i;
		}
	}
	return want;
}

/* Compares the answers, and applies the commit to the model */
static void apply(struct run *r)
{
	u32 i;

	for (i = 0; i < commit.n; i++) {
		const struct crab_blob_op *op = &commit.ops[i];
		struct known *k = &r->key[keys[i]];

		if (op->verb == CRAB_VERB_SEARCH)
			continue;
		tap_check(op->write.existed == k->there, "operation %u reports %d", i,
			  op->write.existed);
		k->there = op->verb == CRAB_VERB_INSERT;
		if (!k->there)
			continue;
		tap_check(op->write.version > k->version, "operation %u has an old version", i);
		k->generation++;
		k->bytes = op->write.bytes;
		k->version = op->write.version;
	}
}

static void step_commit(struct run *r, u32 most)
{
	u32 failed;
	int want = fill(r, most, true, &failed), err = commit_run(r);

	if (!want && err == -ENOSPC) {
		r->full++;
		return;
	}
	tap_check(err == want && commit.failed == failed, "a commit returns %d for %u, not %d for %u",
		  err, commit.failed, want, failed);
	if (err)
		r->refused++;
	else
		apply(r);
}

/* One put or one erase, which is no commit */
static void step_single(struct run *r)
{
	u32 key = rng_below(&r->seed, KEYS);
	struct known *k = &r->key[key];
	struct crab_blob_write write;
	int err;

	write_make(r, key, &write);
	if (rng_below(&r->seed, 3)) {
		write.bytes = rng_below(&r->seed, 300);
		write.data = buffer;
		value_make(buffer, key, k->generation + 1, write.bytes);
		err = r->names ? crab_named_put(r->store, &write) : crab_blob_put(r->store, &write);
		if (err) {
			tap_check(err == -ENOSPC, "put: %d", err);
			return;
		}
		*k = (struct known){ true, write.bytes, k->generation + 1, write.version };
	} else {
		err = r->names ? crab_named_erase(r->store, &write) :
				 crab_blob_erase(r->store, &write);
		tap_check(err == (k->there ? 0 : -ENOENT), "erase: %d", err);
		k->there = false;
	}
}

/* Attached again, the store has as many lines in use as before: nothing leaks */
static void restart(struct run *r)
{
	u64 lines = r->store->blobs->extents.lines;

	r->store = rng_below(&r->seed, 2) ? store_again(r->store) : store_cut(r->store);
	tap_check(r->store->blobs->extents.lines == lines, "%llu lines in use, not %llu",
		  r->store->blobs->extents.lines, lines);
}

/* @leaves: if they are few, some commits are refused for want of memory, and none fails later */
static void test_random(const char *engine, const char *layout, bool names, u32 leaves)
{
	struct run r;
	u32 i;

	run_format(&r, engine, layout, names, leaves);
	for (i = 0; i < STEPS; i++) {
		if (rng_below(&r.seed, 3))
			step_commit(&r, rng_below(&r.seed, 20) ? 6 : CRAB_COMMIT_MAX);
		else
			step_single(&r);
		if (i % 60 == 0)
			restart(&r);
		if (i % 40 == 0)
			compare(&r);
		while (crab_store_maintain(r.store) && rng_below(&r.seed, 4))
			;
	}
	compare(&r);
	tap_check(!crab_store_is_readonly(r.store), "a commit could not be applied");
	tap_check(leaves == LEAVES ? !r.full : r.full > STEPS / 100, "%u times full", r.full);
	tap_ok(r.refused > STEPS / 20, "%s %s, %s: %u steps, %u commits refused by a condition, %u times full",
	       engine, layout, names ? "names" : "blobs", STEPS, r.refused, r.full);
	store_end(r.store);
}

/* A snapshot has all of a commit or none, and a watch reports its changes */
static void test_observed(bool names)
{
	const struct crab_watch_options watched = {
		.end = CRAB_KEY_EMPTY, .entries = 256, .wake = wake_none,
	};
	struct crab_change changes[CRAB_COMMIT_MAX + 1];
	struct crab_change_name texts[CRAB_COMMIT_MAX + 1];
	struct known before[KEYS];
	struct crab_watch *watch;
	struct crab_snap *snap;
	u32 i, k, failed, changed;
	struct run r;
	int n;

	run_format(&r, "crab", "", names, LEAVES);
	for (i = 0; i < 100; i++)
		step_commit(&r, 12);
	tap_check(crab_store_observe(r.store) == 1 && !crab_store_observe(r.store), "not observed");
	watch = crab_watch_open(r.store, &watched);
	for (i = 0; i < 60; i++) {
		snap = store_snap(r.store);
		memcpy(before, r.key, sizeof(before));
		while (fill(&r, 8, false, &failed))
			;
		changed = 0;
		for (k = 0; k < commit.n; k++)
			changed += commit.ops[k].verb == CRAB_VERB_INSERT ||
				   (commit.ops[k].verb == CRAB_VERB_DELETE && r.key[keys[k]].there);
		tap_check(!commit_run(&r), "refused");
		apply(&r);
		for (k = 0; k < KEYS; k++)
			compare_one(&r, snap, &before[k], k);
		n = take_changes(watch, changes, texts, ARRAY_SIZE(changes));
		tap_check(n == (int)changed, "%d changes, not %u", n, changed);
		crab_snap_close(snap);
		compare(&r);
	}
	crab_watch_close(watch);
	crab_store_unobserve(r.store);
	tap_ok(true, "%s: 60 commits, observed", names ? "names" : "blobs");
	store_end(r.store);
}

/* Nothing of a commit with bad operands is done */
static void refuse(struct run *r, int want, u32 failed, const char *what)
{
	int err = commit_run(r);

	tap_check(err == want && commit.failed == failed, "%s: %d for %u", what, err, commit.failed);
	compare(r);
}

static void begin_pair(struct run *r)
{
	commit.n = 0;
	op_add(r, CRAB_VERB_INSERT, 0);
	op_add(r, CRAB_VERB_INSERT, 1);
}

static void test_bad(bool names)
{
	struct run r;

	run_format(&r, "crab", "", names, LEAVES);
	commit.n = 0;
	refuse(&r, -EINVAL, 0, "no operation");
	commit.n = CRAB_COMMIT_MAX + 1;
	refuse(&r, -EINVAL, CRAB_COMMIT_MAX + 1, "65 operations");
	begin_pair(&r);
	write_make(&r, 0, &commit.ops[1].write);
	refuse(&r, -EINVAL, 1, "a key twice");
	begin_pair(&r);
	commit.ops[1].write.key = CRAB_KEY_EMPTY;
	commit.ops[1].write.name_bytes = 0;
	refuse(&r, -EINVAL, 1, "the reserved key, or no name");
	begin_pair(&r);
	commit.ops[1].verb = 7;
	refuse(&r, -EINVAL, 1, "a verb");
	begin_pair(&r);
	commit.ops[0].write.bytes = crab_blob_most(r.store, names ? NAME : 0) + 1;
	refuse(&r, -EMSGSIZE, 0, "a value that is too long");
	begin_pair(&r);
	crab_store_set_readonly(r.store, "test");
	refuse(&r, -EROFS, 0, "read-only");
	commit.n = 0;
	op_add(&r, CRAB_VERB_SEARCH, 0);
	commit.ops[0].write.mode = CRAB_INSERT_CREATE;
	refuse(&r, 0, 1, "a test in a read-only store");
	tap_ok(true, "%s: bad operands are refused", names ? "names" : "blobs");
	store_end(r.store);
}

/* Stores that are not of both, and the other commit of a store that is */
static void test_kinds(void)
{
	static const struct { bool blobs, names, commits; } kinds[] = {
		{ 0, 0, 1 }, { 1, 0, 0 }, { 1, 1, 0 }, { 1, 0, 1 }, { 1, 1, 1 },
	};
	struct crab_format_options options = { .leaf_bytes = 512, .engine = "", .layout = "", .label = "" };
	struct crab_media media = media_create(CRAB_POOL_OFFSET + LEAVES * 512);
	static struct crab_commit words;
	char reason[CRAB_REASON_LEN];
	struct crab_store *store;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		options.force = true;
		options.blobs = kinds[i].blobs;
		options.names = kinds[i].names;
		options.commits = kinds[i].commits;
		tap_check(!crab_store_format(&media, &options, reason), "%s", reason);
		store = store_attach(&media);
		commit.n = 1;
		memset(&commit.ops[0], 0, sizeof(commit.ops[0]));
		commit.ops[0].verb = CRAB_VERB_DELETE;
		commit.ops[0].write.name = "n";
		commit.ops[0].write.name_bytes = kinds[i].names;
		words = (struct crab_commit){ .n = 1, .ops[0].verb = CRAB_VERB_DELETE };
		tap_check(crab_store_commit(store, &words) == (i ? -EOPNOTSUPP : 0), "words, %u", i);
		tap_check(crab_blob_commit(store, &commit) == (i == 3 ? 0 : -EOPNOTSUPP), "blobs, %u", i);
		tap_check(crab_named_commit(store, &commit) == (i == 4 ? 0 : -EOPNOTSUPP), "names, %u", i);
		crab_store_detach(store);
	}
	tap_ok(true, "each kind of store has its own commit");
	media_destroy(&media);
}

/* Values that exceed the store are refused before the first store; then as many fit as before */
static void test_full(bool names)
{
	u32 failed, i, tries = 0;
	struct run r;
	u64 lines;

	run_format(&r, "crab", "", names, FEW_LEAVES);
	while (!r.full && ++tries < 1000)
		step_commit(&r, 16);
	lines = r.store->blobs->extents.lines;
	commit.n = 0;
	for (i = 0; i < CRAB_COMMIT_MAX; i++) {
		op_add(&r, CRAB_VERB_INSERT, i);
		commit.ops[i].write.bytes = LONGEST;
	}
	tap_check(commit_run(&r) == -ENOSPC, "a commit that does not fit");
	tap_check(r.store->blobs->extents.lines == lines, "lines leak");
	tap_check(r.store->blobs->extents.kept == 4, "%u leaves are kept",
		  r.store->blobs->extents.kept);
	compare(&r);
	for (i = 0; i < KEYS; i += CRAB_COMMIT_MAX / 8) {
		commit.n = 0;
		for (failed = i; failed < min(KEYS, i + CRAB_COMMIT_MAX / 8); failed++)
			op_add(&r, CRAB_VERB_DELETE, failed);
		if (!commit_run(&r))
			apply(&r);
	}
	compare(&r);
	restart(&r);
	tap_ok(r.full && r.store->blobs->extents.lines < lines / 2, "%s: full, and then not",
	       names ? "names" : "blobs");
	store_end(r.store);
}

static u64 fences(struct run *r)
{
	return store_info(r->store).counts.fences;
}

/* Fences of a commit of @n replacements */
static u64 commit_fences(struct run *r, u32 n)
{
	u64 before = fences(r);
	u32 i;

	commit.n = 0;
	for (i = 0; i < n; i++)
		op_add(r, CRAB_VERB_INSERT, i);
	tap_check(!commit_run(r), "refused");
	return fences(r) - before;
}

/* One fence for all blobs, two for the list, and those of the engine for a batch */
static void test_counts(const char *engine, const char *layout)
{
	struct crab_blob_write put = { .data = buffer, .bytes = 64 };
	struct run r;
	u64 one, many, alone;

	run_format(&r, engine, layout, false, LEAVES);
	commit_fences(&r, 16);
	many = commit_fences(&r, 16);
	one = commit_fences(&r, 1);
	alone = fences(&r);
	tap_check(!crab_blob_put(r.store, &put), "refused");
	alone = fences(&r) - alone;
	tap_ok(one == alone + 2 && many <= one + 15 * (alone - 1),
	       "%s %s: replacements, a put, a commit of 1 and of 16: %llu, %llu and %llu fences",
	       engine, layout, alone, one, many);
	store_end(r.store);
}

/* Names as long as they may be, and such that begin alike; the struct is used again */
static void test_lengths(void)
{
	char name[CRAB_NAME_MAX + 1];
	struct run r;
	u32 i;

	memset(name, 'n', sizeof(name));
	run_format(&r, "crab", "slotted", true, LEAVES);
	memset(&commit, 0, sizeof(commit));
	commit.n = 3;
	for (i = 0; i < 3; i++) {
		commit.ops[i].verb = CRAB_VERB_INSERT;
		commit.ops[i].write = (struct crab_blob_write){
			.name = name, .name_bytes = CRAB_NAME_MAX - i, .data = name, .bytes = 8,
		};
	}
	tap_check(!crab_named_commit(r.store, &commit) && commit.failed == 3, "failed: %u",
		  commit.failed);
	tap_check(!crab_named_commit(r.store, &commit) && commit.ops[2].write.existed, "again");
	commit.ops[1].write.name_bytes = CRAB_NAME_MAX + 1;
	tap_check(crab_named_commit(r.store, &commit) == -EINVAL && commit.failed == 1, "too long");
	commit.ops[1].write.name_bytes = 0;
	tap_ok(crab_named_commit(r.store, &commit) == -EINVAL && commit.failed == 1,
	       "names of a commit are as long as those of a put");
	store_end(r.store);
}

int main(void)
{
	u32 i, names;

	for (names = 0; names < 2; names++) {
		for (i = 0; i < STORE_VALUE_LAYOUTS; i++) {
			test_random(store_value_layouts[i][0], store_value_layouts[i][1], names, LEAVES);
			test_random(store_value_layouts[i][0], store_value_layouts[i][1], names, FEW_LEAVES);
		}
		test_observed(names);
		test_bad(names);
		test_full(names);
	}
	for (i = 0; i < STORE_VALUE_LAYOUTS; i++)
		test_counts(store_value_layouts[i][0], store_value_layouts[i][1]);
	test_kinds();
	test_lengths();
	return tap_done();
}
