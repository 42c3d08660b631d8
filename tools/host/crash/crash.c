// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements a run of the random crash test: its store, its operations and their order.
 *
 * Invariant: between two steps the store is attached, and holds crash.content.
 *
 * Locking: one thread.
 */
#include "crash_priv.h"
#include "store/commit.h"
#include "store/blob_commit.h"
#include "store/snap.h"
#include "test.h"
#include "tests/blob_value.h"

#define CRASH_NODES	8192	/* stores that may be pending at once */
#define CRASH_USED	0xa5	/* byte of memory before FORMAT: not zero, as of a new device */
#define CRASH_STRIDE	389	/* prime to the numbers of keys: from one filled key to the next */
#define CRASH_OTHERS	128	/* one of this many operations without structure change is cut */

static const char * const verb_names[CRASH_VERBS] = {
	"insert", "insert special", "delete", "maintain", "reattach", "cut", "survive", "format",
	"batch",
};

static void crash_report(struct crab_oracle *oracle, const char *fmt, va_list args)
{
	struct crash *c = container_of(oracle, struct crash, oracle);
	size_t n = strlen(c->said);

	if (n)
		return;
	n = scnprintf(c->said, sizeof(c->said), "step %u, %s key %llu value %llx: ", c->step,
		      verb_names[c->op.verb], c->keys[c->op.key], c->op.value);
	vsnprintf(c->said + n, sizeof(c->said) - n, fmt, args);
}

void crash_say_more(struct crash *c, const char *fmt, ...)
{
	size_t n = strlen(c->said);
	va_list args;

	va_start(args, fmt);
	vsnprintf(c->said + n, sizeof(c->said) - n, fmt, args);
	va_end(args);
}

/* Appends the choices that led to a fault: the reproducer */
static void say_path(struct crash *c)
{
	const struct crab_shadow_path *path;
	u32 i;

	for (path = c->shadow->failed; path; path = path->inner) {
		crash_say_more(c, "; cut with");
		for (i = 0; i < path->depth; i++)
			if (path->steps[i].choice)
				crash_say_more(c, " [%u]=%llx", path->steps[i].word * 8,
					       path->steps[i].value);
	}
}

struct crab_crash_points *crash_points(const struct crash *c)
{
	struct crab_crash_points *points = crab_crash_points_alloc(CRASH_POINTS, c->every_store);

	BUG_ON(!points);
	return points;
}

void crash_collect(struct crash *c, struct crab_crash_points *points)
{
	crab_crash_points_collect(points, c->shadow);
}

/* A number that changes with each structure change */
static u64 shape(const struct crash *c, struct crab_store *store)
{
	const struct host_driver *driver = c->setup.driver;

	return store && driver->shape ? driver->shape(store) : 0;
}

/* Is the operation that was just performed worth a power cut? */
static bool is_cut(const struct crash *c, struct crab_store *store, u64 before)
{
	return !c->setup.changes || !store || shape(c, store) != before ||
	       c->step % CRASH_OTHERS == 0;
}

/* Operations on records */

/* A put or an erase; the oracle wants the old value, too */
static void blob_perform(struct crash *c, struct crab_store *store, struct crab_batch_op *done)
{
	u8 bytes[BLOB_VALUE_MAX];
	struct crab_blob_write write = { .key = done->key, .data = bytes };
	struct crab_key_state was;

	if (crab_oracle_get(&c->oracle, store, done->key, &was))
		return;
	write.bytes = blob_value(done->value, bytes);
	done->status = done->verb == CRAB_VERB_DELETE ? crab_oracle_erase(store, &write) :
							crab_oracle_put(store, &write);
	done->old.existed = write.existed;
	done->old.value = was.value;
}

static void op_perform(struct crash *c, struct crab_store *store, const struct crash_op *op,
		       struct crab_batch_op *done)
{
	*done = (struct crab_batch_op) {
		.verb = op->verb == CRASH_DELETE ? CRAB_VERB_DELETE : CRAB_VERB_INSERT,
		.mode = op->mode, .key = c->keys[op->key], .value = op->value,
		.old.expected = op->expected,
	};
	if (c->setup.blobs)
		return blob_perform(c, store, done);
	done->status = done->verb == CRAB_VERB_DELETE ?
		       crab_store_delete(store, done->key, &done->old) :
		       crab_store_insert(store, done->key, done->value, done->mode, &done->old);
}

/* Judges the result of @ops operations of one call */
static const char *op_answer(struct crash *c, struct crab_store *store,
			     const struct crab_batch_op *op, struct crab_key_state *state, u32 ops)
{
	bool is_full = op->verb == CRAB_VERB_INSERT && op->status == -ENOSPC;
	const char *what;

	c->counts.full += is_full;
	if (is_full && c->setup.blobs)
		return NULL;	/* a replacement needs room, too; the explorer judges whether there is */
	what = crab_oracle_answer(state, op);
	if (what || !is_full)
		return what;
	return c->setup.driver->is_full(store, ops) ? NULL : "is refused, though there is room";
}

int crash_apply(struct crash *c, struct crab_store *store, const struct crash_op *op,
		struct crash_content *content)
{
	struct crab_batch_op done;
	const char *what;

	op_perform(c, store, op, &done);
	what = op_answer(c, store, &done, &content->key[op->key], 1);
	return what ? crash_say(c, "the operation %s: %d, old value %llx", what, done.status,
				done.old.existed ? done.old.value : 0) : 0;
}

/* A commit of the writes of a batch, the first one of each key */
static void commit_make(struct crash *c, struct crab_commit *commit)
{
	struct crash_batch *batch = &c->batch;
	u32 i, k;

	memset(commit, 0, sizeof(*commit));
	for (i = 0; i < batch->n; i++) {
		for (k = 0; k < commit->n && batch->key[k] != batch->key[i]; k++)
			;
		if (k < commit->n)
			continue;
		commit->ops[k] = batch->ops[i];
		commit->ops[k].mode = CRAB_INSERT_EITHER;
		batch->key[k] = batch->key[i];
		commit->n++;
	}
	batch->n = commit->n;
}

/* Refused only if fewer leaves are free than protocols-commits.rst requires */
static bool commit_is_full(const struct crash *c)
{
	struct crab_store_info info;

	crab_store_info(c->store, &info);
	return info.super.leaves - info.stats.leaves_used < 2 * c->batch.n + 4;
}

/* A commit of the blobs that its values choose; the oracle wants the old values, too */
static int commit_blobs(struct crash *c, struct crab_commit *commit)
{
	static struct crab_blob_commit blobs;
	static u8 bytes[CRASH_BATCH_MOST][BLOB_VALUE_MAX];
	char names[CRASH_BATCH_MOST][CRAB_ORACLE_NAME];
	struct crab_key_state was;
	u32 i;
	int err;

	blobs.n = commit->n;
	for (i = 0; i < commit->n; i++) {
		struct crab_batch_op *op = &commit->ops[i];

		if (crab_oracle_get(&c->oracle, c->store, op->key, &was))
			return -EUCLEAN;
		op->old = (struct crab_old){ .existed = was.there, .value = was.value };
		blobs.ops[i] = (struct crab_blob_op){
			.verb = op->verb, .write.key = op->key, .write.data = bytes[i],
			.write.bytes = blob_value(op->value, bytes[i]),
			.write.mode = op->verb != CRAB_VERB_SEARCH ? CRAB_INSERT_EITHER :
				      was.there ? CRAB_INSERT_REPLACE : CRAB_INSERT_CREATE,
		};
	}
	err = crab_oracle_commit(c->store, &blobs, names);
	for (i = 0; !err && i < commit->n; i++) {
		struct crab_batch_op *op = &commit->ops[i];

		op->value = op->verb == CRAB_VERB_SEARCH ? op->old.value : op->value;
		op->status = op->verb != CRAB_VERB_INSERT && !op->old.existed ? -ENOENT : 0;
		if (op->verb != CRAB_VERB_SEARCH && blobs.ops[i].write.existed != op->old.existed)
			return -EILSEQ;
	}
	return err;
}

static int apply_commit(struct crash *c)
{
	static struct crab_commit commit;
	const char *fault;
	u32 i;
	int err;

	commit_make(c, &commit);
	err = c->setup.blobs ? commit_blobs(c, &commit) : crab_store_commit(c->store, &commit);
	/* The explorer judges whether there was room for blobs */
	if (err == -ENOSPC && (c->setup.blobs || commit_is_full(c))) {
		c->counts.full++;
		return 0;
	}
	if (err)
		return crash_say(c, "a commit returns %d", err);
	for (i = 0; i < commit.n; i++) {
		fault = crab_oracle_answer(&c->content.key[c->batch.key[i]], &commit.ops[i]);
		if (fault)
			return crash_say(c, "operation %u of the commit %s", i, fault);
	}
	return 0;
}

int crash_apply_batch(struct crash *c)
{
	struct crash_batch *batch = &c->batch;
	struct crab_key_state *state;
	const char *what = NULL;
	u32 i;

	crash_batch_make(c);
	if (c->setup.commits)
		return apply_commit(c);
	crab_store_batch(c->store, batch->ops, batch->n);
	batch->changed = 0;
	for (i = 0; i < batch->n; i++) {
		state = &c->content.key[batch->key[i]];
		what = op_answer(c, c->store, &batch->ops[i], state, batch->n);
		if (what)
			return crash_say(c, "operation %u of the batch %s", i, what);
		if (!batch->ops[i].status && batch->ops[i].verb != CRAB_VERB_SEARCH)
			batch->changes[batch->changed++] = (struct crab_oracle_change) {
				.key = batch->key[i], .to = *state,
			};
	}
	return 0;
}

/* Cuts at the points of an operation @verb, and at its end, where only @after may be found */
static int cut_op(struct crash *c, enum crash_verb verb, struct crab_crash_points *points,
		  const struct crash_content *before, const struct crash_content *after, u32 depth)
{
	bool records = !c->setup.blobs && (c->op.verb <= CRASH_DELETE || c->op.verb == CRASH_BATCH);
	struct crash_cut during = {
		.crash = c, .allowed = { .before = before->key, .after = after->key },
		.blank = verb == CRASH_FORMAT,
		.sampled = verb == CRASH_BATCH && c->batch.n > CRASH_TOGETHER,
		.allocator = records ? CRASH_ALLOCATOR_COVERS : CRASH_ALLOCATOR_ANY,
		.depth = depth - 1,
	};
	struct crash_cut done = {
		.crash = c, .allowed = { .before = after->key, .after = after->key },
		.allocator = records ? CRASH_ALLOCATOR_EXACT : CRASH_ALLOCATOR_ANY,
		.depth = depth - 1,
	};

	if (verb == CRASH_BATCH)
		during.allowed = crash_batch_allowed(c, before);
	return crash_cut_points(&during, points, &done);
}

int crash_op_cut(struct crash *c, struct crab_store *store, const struct crash_op *op,
		 struct crash_content *content, u32 depth)
{
	struct crab_crash_points *points = depth ? crash_points(c) : NULL;
	struct crash_content before = *content;
	u64 was = shape(c, store);
	int err;

	crash_collect(c, points);
	err = crash_apply(c, store, op, content);
	crash_collect(c, NULL);
	if (points && !err && is_cut(c, store, was))
		err = cut_op(c, op->verb, points, &before, content, depth);
	crab_crash_points_free(points);
	return err;
}

/* Operations on the store */

static void snap_close(struct crash *c)
{
	if (c->snap)
		crab_snap_close(c->snap);
	c->snap = NULL;
}

static int snap_open(struct crash *c)
{
	if (!c->setup.snaps)
		return 0;
	if (crab_store_observe(c->store) < 0)
		return crash_say(c, "no memory for a gate");
	c->snap = crab_snap_open(c->store);
	if (!IS_ERR(c->snap))
		return 0;
	c->snap = NULL;
	return crash_say(c, "a snapshot cannot be opened");
}

int crash_attach_store(struct crash *c, const struct crab_super *unfinished)
{
	struct crab_attach_options options = {
		.tuning = &c->setup.tuning, .unfinished = unfinished,
	};
	struct crab_attach_report report;

	snap_close(c);
	c->store = crab_store_attach(&c->media, &options, &report);
	if (!IS_ERR(c->store))
		return snap_open(c);
	crash_say(c, "attach: %ld %s", PTR_ERR(c->store), report.reason);
	c->store = NULL;
	return -1;
}

void crash_count(struct crash *c)
{
	struct crab_store_info info;

	if (!c->store)
		return;
	crab_store_info(c->store, &info);
	c->counts.splits += info.stats.splits;
	c->counts.unlinks += info.stats.unlinks;
}

static int step_maintain(struct crash *c)
{
	bool open = c->snap;

	snap_close(c);
	c->shadow->cpu ^= 1;	/* the worker may run on another CPU */
	crab_store_maintain(c->store);
	c->shadow->cpu ^= 1;
	return open ? 0 : snap_open(c);
}

int crash_reattach(struct crash *c)
{
	const char *what;

	crash_count(c);
	crab_store_detach(c->store);
	c->store = NULL;
	if (crash_attach_store(c, NULL))
		return -1;
	if (!c->store->engine->clean)
		return crash_say(c, "the detached store is not clean");
	what = c->setup.driver->settled ? c->setup.driver->settled(c->store) : NULL;
	return what ? crash_say(c, "%s", what) : 0;
}

static int step_store(struct crash *c)
{
	switch (c->op.verb) {
	case CRASH_MAINTAIN:
		return step_maintain(c);
	case CRASH_REATTACH:
		return crash_reattach(c);
	case CRASH_BATCH:
		return crash_apply_batch(c);
	default:
		return crash_format(c);
	}
}

static int step_store_cut(struct crash *c, u32 depth)
{
	struct crab_crash_points *points = crash_points(c);
	struct crash_content before = c->content;
	u64 was = shape(c, c->store);
	int err;

	crash_collect(c, depth ? points : NULL);
	err = step_store(c);
	crash_collect(c, NULL);
	if (!err && depth && is_cut(c, c->store, was))
		err = cut_op(c, c->op.verb, points, &before, &c->content, depth);
	crab_crash_points_free(points);
	if (!err && !c->store)
		err = crash_attach_store(c, NULL);
	return err;
}

/* The run */

static int step(struct crash *c, u32 depth)
{
	if (c->op.verb <= CRASH_DELETE)
		return crash_op_cut(c, c->store, &c->op, &c->content, depth);
	if (c->op.verb == CRASH_CUT)
		return crash_step_cut(c);
	if (c->op.verb == CRASH_SURVIVE)
		return crash_step_survive(c, depth);
	return step_store_cut(c, depth);
}

/* Performs one operation, and cuts it at each of its crash points; false: a fault */
static bool crash_step(struct crash *c, const struct crash_op *op, u32 depth)
{
	int err;

	c->op = *op;
	c->step++;
	c->counts.ops[op->verb]++;
	crab_host_seed(c->seed * 1000003 + c->step);
	err = step(c, depth);
	if (!err && c->shadow->errors)
		err = crash_say(c, "%s", c->shadow->error);
	if (err)
		say_path(c);
	return !err;
}

bool crash_run(struct crash *c, u32 steps, u32 depth)
{
	struct crash_op op;

	while (c->step < steps) {
		op = crash_next(c);
		if (!crash_step(c, &op, depth))
			return false;
	}
	return true;
}

static void crash_keys(struct crash *c)
{
	u32 i;

	for (i = 0; i < c->setup.keys; i++)
		c->keys[i] = i < c->setup.keys / 2 ? i : ~0ULL - (c->setup.keys - i);
	c->oracle = (struct crab_oracle) {
		.keys = c->keys, .n = c->setup.keys, .report = crash_report,
	};
}

/* Key @i in the order of filling: consecutive inserts are not neighbouring keys */
static u32 fill_key(const struct crash *c, u32 i)
{
	return (u64)i * CRASH_STRIDE % c->setup.keys;
}

static bool crash_fill(struct crash *c)
{
	struct crash_op op = { .verb = CRASH_INSERT };
	u32 i;

	for (i = 0; i < c->setup.inserts; i++) {
		op.key = fill_key(c, i);
		op.value = i;
		if (crash_apply(c, c->store, &op, &c->content))
			return false;
	}
	op.verb = CRASH_DELETE;
	for (i = 0; i < c->setup.deletes; i++) {
		op.key = fill_key(c, i);
		if (crash_apply(c, c->store, &op, &c->content))
			return false;
	}
	return true;
}

bool crash_begin(struct crash *c, const struct crash_setup *setup, u32 leaves, u64 seed)
{
	memset(c, 0, sizeof(*c));
	c->setup = *setup;
	c->setup.keys = setup->keys ?: CRASH_KEYS_DEFAULT;
	crab_host_log = NULL;	/* the oracle reports its relevant lines */
	c->seed = seed;
	c->format_every = 128;
	crab_tiny_slots = setup->slots;
	crash_keys(c);
	crab_host_seed(seed);
	c->media = media_create(CRAB_POOL_OFFSET + (u64)leaves * setup->leaf_bytes);
	memset(c->media.base, CRASH_USED, c->media.size);
	c->shadow = crab_shadow_create(&c->media, CRASH_NODES);
	c->shadow->model = host_driver_model(setup->driver, setup->layout);
	return !crash_format(c) && !crash_attach_store(c, NULL) && crash_fill(c);
}

void crash_end(struct crash *c)
{
	crash_count(c);
	c->counts.images = c->shadow->counts.images;
	memcpy(c->counts.fences, c->shadow->counts.fences, sizeof(c->counts.fences));
	crab_store_abandon(c->store);
	snap_close(c);
	crab_shadow_destroy(c->shadow);
	media_destroy(&c->media);
}

bool crash_holds(struct crash *c)
{
	struct crash_content found;

	return !crash_read(c, c->store, &found) &&
	       crab_oracle_equal(&c->oracle, found.key, c->content.key) &&
	       !crash_judge_reads(c, c->store, &found);
}
