// SPDX-License-Identifier: GPL-2.0
/*
 * This file compares a store with the reference map during random histories: every
 * engine and layout in the table, every leaf size, several distributions of keys.
 *
 *   test_model [ROUNDS [SEED]]	ROUNDS multiplies the work; 1 is the quick tier
 */
#include "engines/crab/format.h"
#include "test.h"

#define LEAVES		64
#define LEAVES_LARGE	10	/* of 2 KiB and more: one round fills and empties each store */
#define OPS		12000	/* of the mixed phases, a round */
#define BATCH		40	/* operations of a batch: more than one group */

struct run {
	const struct crab_engine_ops *ops;
	u32 leaf_bytes;
	u32 leaves;
	u64 empty_leaves;
	struct crab_media media;
	struct crab_store *store;
	struct model *model;
	u64 seed;
	u64 done;
};

static u64 total_ops;

static struct crab_dhead *run_leaf(struct run *run, u32 number)
{
	return (struct crab_dhead *)(run->media.base + CRAB_POOL_OFFSET +
				     (u64)number * run->leaf_bytes);
}

/* Values with a special meaning, including the void of some leaf */
static u64 run_value(struct run *run)
{
	u64 r = rng(&run->seed);

	switch (r % 8) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return ~0ULL;
	case 3:
	case 4:
		return le64_to_cpu(run_leaf(run, (r >> 8) % run->leaves)->own);
	default:
		return r >> 3;
	}
}

static u32 run_pick(struct run *run)
{
	return rng(&run->seed) % run->model->n;
}

static enum crab_insert_mode mode_random(u64 r)
{
	static const enum crab_insert_mode modes[] = {
		CRAB_INSERT_EITHER, CRAB_INSERT_EITHER, CRAB_INSERT_EITHER, CRAB_INSERT_CREATE,
		CRAB_INSERT_REPLACE, CRAB_INSERT_SWAP, CRAB_INSERT_ADD, CRAB_INSERT_ADD_REPLACE,
	};

	return modes[r % ARRAY_SIZE(modes)];
}

/* The result of an insert over a key of the model, if there is room */
static int insert_status(const struct model *m, u32 at, enum crab_insert_mode mode, u64 expected)
{
	if (!m->there[at])
		return mode & CRAB_INSERT_NEEDS ? -ENOENT : 0;
	if (mode == CRAB_INSERT_SWAP && m->values[at] != expected)
		return -ESTALE;
	return mode == CRAB_INSERT_CREATE ? -EEXIST : 0;
}

static void insert_apply(struct model *m, u32 at, enum crab_insert_mode mode, u64 value)
{
	u64 was = m->there[at] && mode & CRAB_INSERT_ADDS ? m->values[at] : 0;

	model_put(m, at, was + value);
}

static bool run_insert(struct run *run, u32 at, u64 value, enum crab_insert_mode mode)
{
	struct model *m = run->model;
	u64 expected = m->values[at] + (value & 1);
	struct crab_old old = { .existed = true, .value = 0xbad, .expected = expected };
	int status = insert_status(m, at, mode, expected);
	int err = crab_store_insert(run->store, m->keys[at], value, mode, &old);

	run->done++;
	tap_check(err == -ENOSPC || old.existed == m->there[at], "key %llu", m->keys[at]);
	if (m->there[at])
		tap_check(old.value == m->values[at], "old %llu not %llu", old.value,
			  m->values[at]);
	tap_check(err == status || (err == -ENOSPC && !status && !m->there[at]), "%d not %d", err,
		  status);
	if (!err)
		insert_apply(m, at, mode, value);
	return !err;
}

static void run_delete(struct run *run, u32 at)
{
	struct model *m = run->model;
	struct crab_old old = { .existed = true };
	int err = crab_store_delete(run->store, m->keys[at], &old);

	run->done++;
	tap_check(err == (m->there[at] ? 0 : -ENOENT), "key %llu: %d", m->keys[at], err);
	tap_check(old.existed == m->there[at], "key %llu", m->keys[at]);
	if (m->there[at])
		tap_check(old.value == m->values[at], "old %llu", old.value);
	model_drop(m, at);
}

static void run_search(struct run *run, u32 at)
{
	struct model *m = run->model;
	u64 value = 0;
	int err = crab_store_search(run->store, m->keys[at], &value);

	run->done++;
	tap_check(err == (m->there[at] ? 0 : -ENOENT), "key %llu: %d", m->keys[at], err);
	tap_check(err || value == m->values[at], "key %llu: %llu", m->keys[at], value);
}

static void batch_make(struct run *run, struct crab_batch_op *op, u32 at)
{
	u64 r = rng(&run->seed);

	*op = (struct crab_batch_op) {
		.verb = r % 4 < 2 ? CRAB_VERB_INSERT : r % 4 - 1,
		.mode = mode_random(r >> 2),
		.key = run->model->keys[at], .value = run_value(run),
		.old = {
			.existed = true, .value = 0xbad,
			.expected = run->model->values[at] + (r >> 8 & 1),
		},
	};
}

static int batch_status(const struct model *m, const struct crab_batch_op *op, u32 at)
{
	if (op->verb != CRAB_VERB_INSERT)
		return m->there[at] ? 0 : -ENOENT;
	return insert_status(m, at, op->mode, op->old.expected);
}

/* Result of one operation of a batch, and its effect on the model */
static void batch_judge(struct run *run, const struct crab_batch_op *op, u32 at)
{
	struct model *m = run->model;
	bool there = m->there[at];
	u64 was = op->verb == CRAB_VERB_SEARCH ? op->value : op->old.value;
	int status = batch_status(m, op, at);

	run->done++;
	if (op->status == -ENOSPC && op->verb == CRAB_VERB_INSERT && !there && !status)
		return;
	tap_check(op->status == status, "key %llu: %d not %d", op->key, op->status, status);
	tap_check(op->verb == CRAB_VERB_SEARCH || op->old.existed == there, "key %llu", op->key);
	tap_check(!there || was == m->values[at], "key %llu: %llu", op->key, was);
	if (status || op->verb == CRAB_VERB_SEARCH)
		return;
	if (op->verb == CRAB_VERB_INSERT)
		insert_apply(m, at, op->mode, op->value);
	else
		model_drop(m, at);
}

/* Few keys or many, neighbouring or random */
static void run_batch(struct run *run)
{
	u64 r = rng(&run->seed);
	u32 n = 1 + r % BATCH, keys = 1 + (r >> 8) % BATCH, stride = r >> 16 & 1 ? 1 : 997;
	u32 from = run_pick(run), at[BATCH], i;
	struct crab_batch_op ops[BATCH];

	for (i = 0; i < n; i++) {
		at[i] = (from + rng(&run->seed) % keys * stride) % run->model->n;
		batch_make(run, &ops[i], at[i]);
	}
	crab_store_batch(run->store, ops, n);
	for (i = 0; i < n; i++)
		batch_judge(run, &ops[i], at[i]);
}

/* Removes the records of a few keys by one call, those before and after them stay */
static void run_range(struct run *run)
{
	struct model *m = run->model;
	u32 from = run_pick(run), to = min(from + (u32)rng(&run->seed) % 40, m->n - 1), i;
	u64 deleted = 0, expected = 0;
	struct crab_cursor cursor;
	int err = 0;

	crab_cursor_init(&cursor, m->keys[from], m->keys[to]);
	while (!err && !cursor.done)
		err = crab_cursor_delete(run->store, &cursor, CRAB_BATCH_CHUNK, &deleted);
	for (i = from; i <= to; i++) {
		expected += m->there[i];
		model_drop(m, i);
	}
	run->done++;
	tap_check(!err && deleted == expected, "%llu of %llu records removed: %d", deleted,
		  expected, err);
}

static void run_scan(struct run *run)
{
	u64 start = run->model->keys[run_pick(run)], end = run->model->keys[run_pick(run)];

	if (start > end)
		swap(start, end);
	run->done++;
	model_scan(run->model, run->store, start, end, 1 + rng(&run->seed) % 100, 300);
	model_scan_back(run->model, run->store, start, end, 1 + rng(&run->seed) % 100, 300);
}

static void run_seek(struct run *run)
{
	u64 r = rng(&run->seed), key = run->model->keys[run_pick(run)] + r % 3 - 1;

	run->done++;
	if (key != CRAB_KEY_EMPTY)
		model_seek(run->model, run->store, key, r >> 8 & 1 ? CRAB_SEEK_GE : CRAB_SEEK_LE);
}

/* One operation; @bias of 16 writes insert */
static void run_step(struct run *run, u32 bias)
{
	u64 r = rng(&run->seed);
	u32 at = run_pick(run);

	if (r % 64 == 0)
		run_scan(run);
	else if (r % 64 == 1)
		run_batch(run);
	else if (r % 256 == 2)
		run_range(run);
	else if (r % 64 < 4)
		run_seek(run);
	else if (r % 64 < 12)
		run_search(run, at);
	else if ((r >> 8) % 16 < bias)
		run_insert(run, at, run_value(run), mode_random(r >> 16));
	else
		run_delete(run, at);
	if ((r >> 32) % 8 == 0)
		crab_store_maintain(run->store);
}

static bool run_is_volatile(const struct run *run)
{
	return run->ops->flags & CRAB_ENGINE_VOLATILE;
}

/* Keeps all records across a detach, and across a cut without pending stores */
static void run_reattach(struct run *run)
{
	if (run_is_volatile(run))
		return;
	run->store = store_again(run->store);
	model_compare(run->model, run->store);
	run->store = store_cut(run->store);
	model_compare(run->model, run->store);
	tap_check(!store_info(run->store).stats.repairs, "%llu repairs",
		  store_info(run->store).stats.repairs);
}

static void run_mix(struct run *run)
{
	static const u32 bias[] = { 14, 8, 3, 8 };
	u32 i, phase;

	for (phase = 0; phase < ARRAY_SIZE(bias); phase++) {
		for (i = 0; i < OPS / ARRAY_SIZE(bias); i++)
			run_step(run, bias[phase]);
		model_compare(run->model, run->store);
	}
}

/* Inserts keys from one end to the other until the store is full */
static void run_fill(struct run *run, bool down)
{
	struct model *m = run->model;
	bool full = false;
	u32 i, at;

	for (i = 0; i < m->n; i++) {
		at = down ? m->n - 1 - i : i;
		if (!m->there[at])
			full |= !run_insert(run, at, run_value(run), CRAB_INSERT_CREATE);
		if (i % 8 == 0)
			crab_store_maintain(run->store);
	}
	tap_check(full, "%u keys did not fill it", m->n);
}

/* Also in a batch, for each operation without free space */
static void run_full_batches(struct run *run)
{
	u32 i;

	for (i = 0; i < 16; i++)
		run_batch(run);
}

/* In a full store, every update and delete must succeed */
static void run_full(struct run *run)
{
	struct model *m = run->model;
	u32 at, deleted = 0;

	run_full_batches(run);
	run_range(run);
	for (at = 0; at < m->n; at++)
		if (m->there[at])
			tap_check(run_insert(run, at, run_value(run), CRAB_INSERT_REPLACE),
				  "update of a full store");
	for (at = 0; at < m->n; at++) {
		if (m->there[at] && rng(&run->seed) % 2) {
			run_delete(run, at);
			deleted++;
		}
	}
	model_compare(m, run->store);
	for (at = 0; at < m->n && deleted; at++)
		if (!m->there[at] && run_insert(run, at, run_value(run), CRAB_INSERT_EITHER))
			deleted--;
	tap_check(deleted * 4 < m->count, "room of %u of %u deleted records is lost", deleted,
		  m->count);
}

/* Deleting all records frees all leaves except those of an empty store */
static void run_empty(struct run *run)
{
	struct model *m = run->model;
	struct crab_store_info info;
	u32 i, at = run_pick(run);

	for (i = 0; i < m->n; i++) {
		if (m->there[at])
			run_delete(run, at);
		at = (at + 7919) % m->n;
	}
	for (at = 0; at < m->n; at++)
		if (m->there[at])
			run_delete(run, at);
	crab_store_info(run->store, &info);
	tap_check(!info.stats.records && info.stats.leaves_used == run->empty_leaves,
		  "%llu records in %llu leaves", info.stats.records, info.stats.leaves_used);
}

static void run_phases(struct run *run, u32 rounds)
{
	u32 i;

	for (i = 0; i < rounds; i++) {
		run_mix(run);
		run_reattach(run);
		run_fill(run, i % 2);
		model_compare(run->model, run->store);
		run_full(run);
		model_compare(run->model, run->store);
		run_reattach(run);
		run_empty(run);
		model_compare(run->model, run->store);
		run_fill(run, !(i % 2));
		run_reattach(run);
		run_empty(run);
		run_reattach(run);
	}
}

static void run_one(const struct crab_engine_ops *ops, const struct crab_layout *layout,
		    u32 leaf_bytes, enum model_keys kind, u32 rounds, u64 seed)
{
	struct run run = {
		.ops = ops, .leaf_bytes = leaf_bytes, .seed = seed,
		.leaves = rounds == 1 && leaf_bytes >= 2048 ? LEAVES_LARGE : LEAVES,
	};
	u32 capacity = run.leaves * max(crab_leaf_slots(leaf_bytes), layout->records(leaf_bytes));
	struct crab_store_info info;

	crab_host_seed(seed);
	run.media = media_create(CRAB_POOL_OFFSET + (u64)run.leaves * leaf_bytes);
	run.model = model_create(capacity + capacity / 8, kind, seed);
	run.store = store_format_attach(&run.media, ops->name, layout->name, leaf_bytes);
	crab_store_info(run.store, &info);
	run.empty_leaves = info.stats.leaves_used;
	run_phases(&run, rounds);
	crab_store_detach(run.store);
	tap_ok(true, "%s/%s, leaves of %u, %s keys: %llu operations agree", ops->name,
	       layout->name, leaf_bytes, model_kind_names[kind], run.done);
	total_ops += run.done;
	model_destroy(run.model);
	media_destroy(&run.media);
}

int main(int argc, char **argv)
{
	u32 rounds = argc > 1 ? atoi(argv[1]) : 1;
	u64 seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 20261120;
	const struct crab_engine_ops * const *ops;
	const struct crab_layout *layout;
	u32 leaf_bytes, kind;

	for (ops = crab_engines; *ops; ops++)
		for (layout = (*ops)->layouts; layout->name; layout++)
			for (leaf_bytes = min(512U, layout->leaf_max);
			     leaf_bytes <= min(layout->leaf_max, CRAB_LEAF_BYTES_MAX);
			     leaf_bytes *= 2)
				for (kind = 0; kind < MODEL_KINDS; kind++)
					run_one(*ops, layout, leaf_bytes, kind, rounds, ++seed);
	printf("# %llu operations\n", total_ops);
	return tap_done();
}
