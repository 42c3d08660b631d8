// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the loop of the benchmark over a store.
 *
 * Invariant: between two operations the loop only reads the next key and, when the
 * store requests it, maintains the store.
 *
 * Locking: crab_bench.preparing, for the preparation only.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "loop.h"

void crab_bench_kick(void *bench)
{
	WRITE_ONCE(((struct crab_bench *)bench)->kicked, true);
}

static void bench_prepare(struct crab_bench *bench, struct crab_bench_work *work)
{
	u64 began;

	if (!mutex_trylock(&bench->preparing))
		return;
	began = bench->clock();
	WRITE_ONCE(bench->kicked, false);
	while (crab_store_maintain(bench->store))
		;
	work->prepare_ns += bench->clock() - began;
	mutex_unlock(&bench->preparing);
}

static int bench_search(struct crab_store *store, u64 key)
{
	u64 value;
	int err = crab_store_search(store, key, &value);

	return err ?: crab_bench_value_ok(key, value) ? 0 : -EIO;
}

/* Operation @i. Updates of a key have different values: a swap of equal ones would never fail */
static int bench_update(struct crab_store *store, u64 key, u64 i)
{
	const u64 value = crab_bench_value(key, i % CRAB_BENCH_VERSIONS + 1);
	struct crab_old old;

	return crab_store_insert(store, key, value, CRAB_INSERT_REPLACE, &old);
}

static int bench_scan(struct crab_store *store, u64 key, u32 n)
{
	struct crab_record records[CRAB_BENCH_SCAN];
	struct crab_cursor cursor;
	int got;

	crab_cursor_init(&cursor, key, CRAB_KEY_EMPTY);
	do {
		got = crab_cursor_read(store, &cursor, records, min_t(u32, n, CRAB_BENCH_SCAN));
		if (got <= 0)
			return got;
		if (!crab_bench_value_ok(records[got - 1].key, records[got - 1].value))
			return -EIO;
		n -= got;
	} while (n);
	return 0;
}

static __always_inline int bench_one(struct crab_store *store, const struct crab_bench_work *work,
				     enum crab_bench_op op, u64 i)
{
	u64 key = work->keys[i];
	struct crab_old old;

	switch (op) {
	case CRAB_BENCH_INSERT:
		return crab_store_insert(store, key, crab_bench_value(key, 0),
					 CRAB_INSERT_CREATE, &old);
	case CRAB_BENCH_SEARCH:
		return bench_search(store, key);
	case CRAB_BENCH_UPDATE:
		return bench_update(store, key, i);
	case CRAB_BENCH_MODIFY:
		return bench_search(store, key) ?: bench_update(store, key, i);
	case CRAB_BENCH_DELETE:
		return crab_store_delete(store, key, &old);
	default:
		return bench_scan(store, key, crab_bench_scan_length(work, op, i));
	}
}

static enum crab_bench_op bench_op(const struct crab_bench_work *work, u64 i)
{
	return work->ops ? work->ops[i] : work->op;
}

static struct crab_batch_op bench_batch_op(enum crab_bench_op op, u64 key)
{
	switch (op) {
	case CRAB_BENCH_INSERT:
	case CRAB_BENCH_UPDATE:
		return (struct crab_batch_op) {
			.verb = CRAB_VERB_INSERT, .key = key,
			.mode = op == CRAB_BENCH_INSERT ? CRAB_INSERT_CREATE : CRAB_INSERT_REPLACE,
			.value = crab_bench_value(key, op == CRAB_BENCH_UPDATE),
		};
	case CRAB_BENCH_SEARCH:
		return (struct crab_batch_op) { .verb = CRAB_VERB_SEARCH, .key = key };
	case CRAB_BENCH_DELETE:
		return (struct crab_batch_op) { .verb = CRAB_VERB_DELETE, .key = key };
	default:
		return (struct crab_batch_op) { .status = -EINVAL };	/* not in a batch */
	}
}

static int bench_batch(struct crab_store *store, const struct crab_bench_work *work, u64 at,
		       struct crab_batch_op *ops, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		ops[i] = bench_batch_op(bench_op(work, at + i), work->keys[at + i]);
	crab_store_batch(store, ops, n);
	for (i = 0; i < n; i++) {
		if (unlikely(ops[i].status))
			return ops[i].status;
		if (unlikely(ops[i].verb == CRAB_VERB_SEARCH &&
			     !crab_bench_value_ok(ops[i].key, ops[i].value)))
			return -EIO;
	}
	return 0;
}

/* Between operation @i and the next one */
static __always_inline void bench_pause(struct crab_bench *bench, struct crab_bench_work *work,
					u64 i)
{
	if (unlikely(READ_ONCE(bench->kicked)))
		bench_prepare(bench, work);
	if (!(i & 4095))
		cond_resched();
}

static int bench_batches(struct crab_bench *bench, struct crab_bench_work *work,
			 struct crab_batch_op *ops, u32 step)
{
	u64 i;
	int err;

	for (i = 0; i < work->n; i += step) {
		err = bench_batch(bench->store, work, i, ops, min_t(u64, step, work->n - i));
		if (unlikely(err))
			return err;
		bench_pause(bench, work, i);
	}
	return 0;
}

/* The kinds of @ops, or one kind */
static __always_inline int bench_each(struct crab_bench *bench, struct crab_bench_work *work,
				      const u8 *ops, enum crab_bench_op op)
{
	u64 i;
	int err;

	for (i = 0; i < work->n; i++) {
		err = bench_one(bench->store, work, ops ? ops[i] : op, i);
		if (unlikely(err))
			return err;
		bench_pause(bench, work, i);
	}
	return 0;
}

#define bench_each_of(op)	bench_each(bench, work, NULL, op)

static int bench_single(struct crab_bench *bench, struct crab_bench_work *work)
{
	if (work->ops)
		return bench_each(bench, work, work->ops, work->op);
	return crab_bench_each(work->op, bench_each_of);
}

int crab_bench_run(struct crab_bench *bench, struct crab_bench_work *work)
{
	u32 step = clamp_t(u32, work->batch, 1, CRAB_BENCH_BATCH);
	struct crab_batch_op *ops;
	int err;

	if (step == 1)
		return bench_single(bench, work);
	ops = kmalloc_array(step, sizeof(*ops), GFP_KERNEL);	/* too large for the stack */
	if (!ops)
		return -ENOMEM;
	err = bench_batches(bench, work, ops, step);
	kfree(ops);
	return err;
}

const struct crab_bench_phase crab_bench_phases[] = {
	{ "insert", CRAB_BENCH_INSERT, 1 },
	{ "search", CRAB_BENCH_SEARCH, 1 },
	{ "update", CRAB_BENCH_UPDATE, 1 },
	{ "scan", CRAB_BENCH_SCAN_FULL, 10 },
	{ "delete", CRAB_BENCH_DELETE, 1 },
	{ }
};

/* Fisher and Yates; a hash is a sufficient generator for an order */
static void bench_shuffle(u64 *keys, u64 n, u64 seed)
{
	u64 i, at;

	for (i = n; i > 1; i--) {
		div64_u64_rem(crab_bench_key(seed + i), i, &at);
		swap(keys[i - 1], keys[at]);
	}
}

void crab_bench_order(u64 *keys, u64 n, u32 phase)
{
	u64 i;

	if (phase) {
		bench_shuffle(keys, n, n * phase);
		return;
	}
	for (i = 0; i < n; i++)
		keys[i] = crab_bench_key(i);
}
