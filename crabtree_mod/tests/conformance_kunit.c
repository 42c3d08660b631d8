// SPDX-License-Identifier: GPL-2.0
/*
 * Every engine and layout in the table must pass this suite: it calls the verbs
 * of the store and compares their results with a plain array.
 */
#include <linux/string.h>

#include "kunit.h"
#include "rng.h"

#define CONF_KEYS	48
#define CONF_STEPS	3000
#define CONF_ADDS	400
#define CONF_BATCH	40	/* more than an engine may process at once */

struct conf {
	const struct crab_engine_ops *ops;
	const struct crab_layout *layout;
};

struct conf_model {
	bool there[CONF_KEYS];
	u64 value[CONF_KEYS];
	u32 count;
	u64 seed;
};

/* Every layout of every engine; @prev is the previous one */
static const void *conf_params(const void *prev, char *desc)
{
	static struct conf now;
	u32 i = 0;

	if (!prev) {
		now.ops = crab_engines[0];
		now.layout = now.ops->layouts;
	} else if (!(++now.layout)->name) {
		while (crab_engines[i] != now.ops)
			i++;
		now.ops = crab_engines[i + 1];
		if (!now.ops)
			return NULL;
		now.layout = now.ops->layouts;
	}
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s/%s", now.ops->name, now.layout->name);
	return &now;
}

static int conf_begin(struct kunit *test)
{
	const struct conf *conf = test->param_value;
	u32 leaf_bytes = min_t(u32, CRAB_TEST_LEAF, conf->layout->leaf_max);

	KUNIT_ASSERT_EQ(test, crab_test_resize(test, leaf_bytes), 0);
	crab_test_format(test, conf->ops->name, conf->layout->name, leaf_bytes);
	return conf->ops->flags & CRAB_ENGINE_VOLATILE;
}

/* Spread over all keys, with the lowest and the highest */
static u64 conf_key(u32 at)
{
	return at == CONF_KEYS - 1 ? CRAB_KEY_EMPTY - 1 : at * (CRAB_KEY_EMPTY / CONF_KEYS);
}

/* The contract of the verbs, one by one */
static void conf_verbs(struct kunit *test)
{
	struct crab_test *t = test->priv;
	struct crab_old old = { .existed = true };

	conf_begin(test);
	KUNIT_EXPECT_EQ(test, crab_store_insert(t->store, 5, 50, CRAB_INSERT_REPLACE, &old),
			-ENOENT);
	KUNIT_EXPECT_FALSE(test, old.existed);
	KUNIT_EXPECT_EQ(test, crab_store_insert(t->store, 5, 50, CRAB_INSERT_CREATE, &old), 0);
	KUNIT_EXPECT_FALSE(test, old.existed);
	KUNIT_EXPECT_EQ(test, crab_store_insert(t->store, 5, 51, CRAB_INSERT_CREATE, &old),
			-EEXIST);
	KUNIT_EXPECT_TRUE(test, old.existed && old.value == 50);
	crab_test_expect(test, 5, 0, 50);
	KUNIT_EXPECT_EQ(test, crab_store_insert(t->store, 5, 51, CRAB_INSERT_REPLACE, &old), 0);
	KUNIT_EXPECT_TRUE(test, old.existed && old.value == 50);
	KUNIT_EXPECT_EQ(test, crab_store_insert(t->store, 5, 52, CRAB_INSERT_EITHER, &old), 0);
	KUNIT_EXPECT_TRUE(test, old.existed && old.value == 51);
	KUNIT_EXPECT_EQ(test, crab_store_delete(t->store, 6, &old), -ENOENT);
	KUNIT_EXPECT_FALSE(test, old.existed);
	KUNIT_EXPECT_EQ(test, crab_store_delete(t->store, 5, &old), 0);
	KUNIT_EXPECT_TRUE(test, old.existed && old.value == 52);
	crab_test_expect(test, 5, -ENOENT, 0);
	KUNIT_EXPECT_EQ(test, crab_store_delete(t->store, CRAB_KEY_EMPTY, &old), -EINVAL);
	crab_test_expect_check(test, 0);
}

/* One insert that expects a value or adds to it, and its expected result */
static void conf_modify(struct kunit *test, u64 value, enum crab_insert_mode mode, u64 expected,
			int err)
{
	struct crab_test *t = test->priv;
	struct crab_old old = { .existed = true, .value = 0xbad, .expected = expected };
	u64 was = 0;
	bool there = !crab_store_search(t->store, 7, &was);

	KUNIT_EXPECT_EQ(test, crab_store_insert(t->store, 7, value, mode, &old), err);
	KUNIT_EXPECT_EQ(test, old.existed, there);
	if (there)
		KUNIT_EXPECT_EQ(test, old.value, was);
	if (err)
		crab_test_expect(test, 7, there ? 0 : -ENOENT, was);
	else
		crab_test_expect(test, 7, 0, mode & CRAB_INSERT_ADDS ? was + value : value);
}

/* Compare-and-swap and add: on a missing key, with another value, with a wrap-around */
static void conf_modifies(struct kunit *test)
{
	bool is_volatile = conf_begin(test);

	conf_modify(test, 1, CRAB_INSERT_SWAP, 0, -ENOENT);
	conf_modify(test, 1, CRAB_INSERT_ADD_REPLACE, 0, -ENOENT);
	conf_modify(test, 5, CRAB_INSERT_ADD, 0, 0);
	conf_modify(test, 2, CRAB_INSERT_ADD, 0, 0);
	conf_modify(test, ~0ULL, CRAB_INSERT_ADD_REPLACE, 0, 0);
	conf_modify(test, 9, CRAB_INSERT_SWAP, 7, -ESTALE);
	conf_modify(test, ~0ULL, CRAB_INSERT_SWAP, 6, 0);
	conf_modify(test, 2, CRAB_INSERT_ADD, 0, 0);
	conf_modify(test, 0, CRAB_INSERT_ADD, 0, 0);
	conf_modify(test, 1, CRAB_INSERT_SWAP, 1, 0);
	KUNIT_EXPECT_EQ(test, crab_test_counts(test).inserts, 1ULL);
	KUNIT_EXPECT_EQ(test, crab_test_counts(test).updates, 6ULL);
	crab_test_expect_check(test, 1);
	crab_test_cut(test);
	crab_test_attach(test, false);
	crab_test_expect(test, 7, is_volatile ? -ENOENT : 0, 1);
}

/* An add that needs room, or replaces its leaf, adds once */
static void conf_add_many(struct kunit *test)
{
	struct crab_test *t = test->priv;
	struct crab_old old;
	u32 i;

	conf_begin(test);
	for (i = 0; i < CONF_ADDS; i++) {
		KUNIT_EXPECT_EQ(test, crab_store_insert(t->store, i % 4, 3, CRAB_INSERT_ADD, &old),
				0);
		KUNIT_EXPECT_EQ(test, old.existed ? old.value : 0, 3ULL * (i / 4));
	}
	for (i = 0; i < 4; i++)
		crab_test_expect(test, i, 0, 3 * CONF_ADDS / 4);
	crab_test_expect_check(test, 4);
}

/* A write that returns 0 is counted once, as an insert, an update or a delete; others are not */
static void conf_counts(struct kunit *test)
{
	struct crab_batch_op ops[] = {
		{ .verb = CRAB_VERB_INSERT, .key = 1, .value = 13 },
		{ .verb = CRAB_VERB_INSERT, .key = 3, .value = 30 },
		{ .verb = CRAB_VERB_DELETE, .key = 4 },
		{ .verb = CRAB_VERB_DELETE, .key = 3 },
	};
	struct crab_test *t = test->priv;
	struct crab_counts counts;
	struct crab_old old;

	conf_begin(test);
	KUNIT_EXPECT_EQ(test, crab_test_put(test, 1, 10), 0);
	KUNIT_EXPECT_EQ(test, crab_test_put(test, 2, 20), 0);
	KUNIT_EXPECT_EQ(test, crab_test_put(test, 1, 11), 0);
	KUNIT_EXPECT_EQ(test, crab_store_insert(t->store, 1, 12, CRAB_INSERT_CREATE, &old),
			-EEXIST);
	KUNIT_EXPECT_EQ(test, crab_test_del(test, 2), 0);
	KUNIT_EXPECT_EQ(test, crab_test_del(test, 2), -ENOENT);
	crab_store_batch(t->store, ops, ARRAY_SIZE(ops));
	counts = crab_test_counts(test);
	KUNIT_EXPECT_EQ(test, counts.inserts, 3ULL);
	KUNIT_EXPECT_EQ(test, counts.updates, 2ULL);
	KUNIT_EXPECT_EQ(test, counts.deletes, 2ULL);
}

/* One operation of a batch, and its expected result */
struct conf_ask {
	enum crab_verb verb;
	enum crab_insert_mode mode;
	u64 key;
	u64 value;
	int status;
	bool existed;
	u64 old;
	u64 expected;
};

/* The same contract in one call, with refused operations in between */
static const struct conf_ask conf_asks[] = {
	{ CRAB_VERB_INSERT, CRAB_INSERT_REPLACE, 5, 50, -ENOENT, false, 0, 0 },
	{ CRAB_VERB_SEARCH, 0, 5, 0, -ENOENT, false, 0, 0 },
	{ CRAB_VERB_INSERT, CRAB_INSERT_CREATE, 5, 50, 0, false, 0, 0 },
	{ CRAB_VERB_INSERT, CRAB_INSERT_CREATE, 5, 51, -EEXIST, true, 50, 0 },
	{ CRAB_VERB_SEARCH, 0, 5, 50, 0, false, 0, 0 },
	{ CRAB_VERB_INSERT, CRAB_INSERT_EITHER, CRAB_KEY_EMPTY, 1, -EINVAL, false, 0, 0 },
	{ CRAB_VERB_INSERT, CRAB_INSERT_REPLACE, 5, 51, 0, true, 50, 0 },
	{ CRAB_VERB_DELETE, 0, 6, 0, -ENOENT, false, 0, 0 },
	{ CRAB_VERB_DELETE, 0, 5, 0, 0, true, 51, 0 },
	{ CRAB_VERB_DELETE, 0, 5, 0, -ENOENT, false, 0, 0 },
	{ CRAB_VERB_DELETE, 0, CRAB_KEY_EMPTY, 0, -EINVAL, false, 0, 0 },
	{ CRAB_VERB_INSERT, CRAB_INSERT_EITHER, 5, 52, 0, false, 0, 0 },
	{ CRAB_VERB_INSERT, CRAB_INSERT_EITHER, 5, 53, 0, true, 52, 0 },
	{ CRAB_VERB_SEARCH, 0, CRAB_KEY_EMPTY, 0, -EINVAL, false, 0, 0 },
	{ CRAB_VERB_SEARCH, 0, 5, 53, 0, false, 0, 0 },
	{ CRAB_VERB_INSERT, CRAB_INSERT_SWAP, 5, 60, -ESTALE, true, 53, 52 },
	{ CRAB_VERB_INSERT, CRAB_INSERT_SWAP, 5, 60, 0, true, 53, 53 },
	{ CRAB_VERB_INSERT, CRAB_INSERT_ADD, 5, ~0ULL, 0, true, 60, 0 },
	{ CRAB_VERB_INSERT, CRAB_INSERT_ADD_REPLACE, 5, 3, 0, true, 59, 0 },
	{ CRAB_VERB_INSERT, CRAB_INSERT_SWAP, 6, 60, -ENOENT, false, 0, 0 },
	{ CRAB_VERB_INSERT, CRAB_INSERT_ADD_REPLACE, 6, 60, -ENOENT, false, 0, 0 },
	{ CRAB_VERB_INSERT, CRAB_INSERT_ADD, 6, 60, 0, false, 0, 0 },
	{ CRAB_VERB_INSERT, CRAB_INSERT_ADD, 6, 4, 0, true, 60, 0 },
	{ CRAB_VERB_SEARCH, 0, 6, 64, 0, false, 0, 0 },
};

static void conf_batch(struct kunit *test)
{
	struct crab_batch_op *op, *ops = kunit_kzalloc(test, sizeof(*ops) * CONF_BATCH, GFP_KERNEL);
	struct crab_test *t = test->priv;
	const struct conf_ask *ask;
	u32 i;

	conf_begin(test);
	KUNIT_ASSERT_NOT_NULL(test, ops);
	for (i = 0; i < ARRAY_SIZE(conf_asks); i++) {
		ask = &conf_asks[i];
		ops[i] = (struct crab_batch_op) {
			.verb = ask->verb, .mode = ask->mode, .key = ask->key,
			.value = ask->verb == CRAB_VERB_INSERT ? ask->value : 0,
			.old = { .existed = true, .value = 0xbad, .expected = ask->expected },
		};
	}
	ops[i] = (struct crab_batch_op) { .verb = CRAB_VERB_DELETE, .key = 5, .status = -EPERM };
	crab_store_batch(t->store, ops, ARRAY_SIZE(conf_asks) + 1);
	for (i = 0; i < ARRAY_SIZE(conf_asks); i++) {
		ask = &conf_asks[i];
		op = &ops[i];
		KUNIT_EXPECT_EQ_MSG(test, op->status, ask->status, "operation %u", i);
		KUNIT_EXPECT_EQ_MSG(test, op->old.existed, ask->existed, "operation %u", i);
		if (ask->existed)
			KUNIT_EXPECT_EQ(test, op->old.value, ask->old);
		if (ask->verb == CRAB_VERB_SEARCH && !ask->status)
			KUNIT_EXPECT_EQ(test, op->value, ask->value);
	}
	KUNIT_EXPECT_EQ(test, ops[i].status, -EPERM);
	crab_test_expect(test, 5, 0, 62);
	crab_test_expect_check(test, 2);
}

/* A read-only store is read, and refuses all other operations */
static void conf_batch_readonly(struct kunit *test)
{
	struct crab_batch_op ops[] = {
		{ .verb = CRAB_VERB_INSERT, .key = 1, .value = 11 },
		{ .verb = CRAB_VERB_DELETE, .key = 1 },
		{ .verb = CRAB_VERB_SEARCH, .key = 1 },
	};
	struct crab_test *t = test->priv;
	bool is_volatile = conf_begin(test);

	KUNIT_ASSERT_EQ(test, crab_test_put(test, 1, 10), 0);
	crab_test_cut(test);
	crab_test_attach(test, true);
	crab_store_batch(t->store, ops, ARRAY_SIZE(ops));
	KUNIT_EXPECT_EQ(test, ops[0].status, -EROFS);
	KUNIT_EXPECT_EQ(test, ops[1].status, -EROFS);
	KUNIT_EXPECT_EQ(test, ops[2].status, is_volatile ? -ENOENT : 0);
	if (!is_volatile)
		KUNIT_EXPECT_EQ(test, ops[2].value, 10ULL);
}

static void conf_scan(struct kunit *test, const struct conf_model *m, u32 from, u32 to,
		      u32 cap)
{
	struct crab_test *t = test->priv;
	struct crab_record r[8];
	struct crab_cursor cursor;
	int n, i;

	crab_cursor_init(&cursor, conf_key(from), conf_key(to));
	while ((n = crab_cursor_read(t->store, &cursor, r, cap)) > 0) {
		for (i = 0; i < n; i++, from++) {
			while (from < to && !m->there[from])
				from++;
			KUNIT_EXPECT_EQ(test, r[i].key, conf_key(from));
			KUNIT_EXPECT_EQ(test, r[i].value, m->value[from]);
		}
	}
	KUNIT_EXPECT_EQ(test, n, 0);
	while (from <= to)
		KUNIT_EXPECT_FALSE(test, m->there[from++]);
}

static void conf_scan_back(struct kunit *test, const struct conf_model *m, s32 from, s32 to,
			   u32 cap)
{
	struct crab_test *t = test->priv;
	struct crab_record r[8];
	struct crab_cursor cursor;
	int n, i;

	crab_cursor_init_back(&cursor, conf_key(from), conf_key(to));
	while ((n = crab_cursor_read(t->store, &cursor, r, cap)) > 0) {
		for (i = 0; i < n; i++, to--) {
			while (to > from && !m->there[to])
				to--;
			KUNIT_EXPECT_EQ(test, r[i].key, conf_key(to));
			KUNIT_EXPECT_EQ(test, r[i].value, m->value[to]);
		}
	}
	KUNIT_EXPECT_EQ(test, n, 0);
	while (to >= from)
		KUNIT_EXPECT_FALSE(test, m->there[to--]);
}

static void conf_seek(struct kunit *test, const struct conf_model *m, s32 at,
		      enum crab_seek_dir dir)
{
	struct crab_test *t = test->priv;
	struct crab_record r = { };
	int err = crab_store_seek(t->store, conf_key(at), dir, &r);

	while (at >= 0 && at < CONF_KEYS && !m->there[at])
		at += dir == CRAB_SEEK_GE ? 1 : -1;
	if (at < 0 || at == CONF_KEYS) {
		KUNIT_EXPECT_EQ(test, err, -ENOENT);
		return;
	}
	KUNIT_EXPECT_EQ(test, err, 0);
	KUNIT_EXPECT_EQ(test, r.key, conf_key(at));
	KUNIT_EXPECT_EQ(test, r.value, m->value[at]);
}

static void conf_write(struct kunit *test, struct conf_model *m, u32 at, u64 value, bool delete)
{
	int err = delete ? crab_test_del(test, conf_key(at)) :
			   crab_test_put(test, conf_key(at), value);

	if (err == -ENOSPC && !m->there[at])
		return;
	KUNIT_EXPECT_EQ(test, err, delete && !m->there[at] ? -ENOENT : 0);
	m->count += !delete - m->there[at];
	m->there[at] = !delete;
	m->value[at] = value;
}

static void conf_compare(struct kunit *test, const struct conf_model *m)
{
	u32 at;

	for (at = 0; at < CONF_KEYS; at++)
		crab_test_expect(test, conf_key(at), m->there[at] ? 0 : -ENOENT, m->value[at]);
	conf_scan(test, m, 0, CONF_KEYS - 1, 8);
	conf_scan_back(test, m, 0, CONF_KEYS - 1, 8);
	crab_test_expect_check(test, m->count);
}

/* A random history that fills and empties the store in turns */
static void conf_history(struct kunit *test)
{
	struct conf_model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct crab_test *t = test->priv;
	bool is_volatile = conf_begin(test);
	u32 i, at;
	u64 r;

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->seed = 1;
	for (i = 0; i < CONF_STEPS; i++) {
		r = rng(&m->seed);
		at = r % CONF_KEYS;
		if (r >> 8 & 7)
			conf_write(test, m, at, r >> 20, (r >> 11) % 16 < (i / 500 % 2 ? 11 : 4));
		else if (r >> 11 & 1)
			conf_seek(test, m, at, r >> 12 & 1);
		else if (r >> 40 & 1)
			conf_scan(test, m, at, at + (r >> 12) % (CONF_KEYS - at),
				  1 + (r >> 20) % 8);
		else
			conf_scan_back(test, m, at, at + (r >> 12) % (CONF_KEYS - at),
				       1 + (r >> 20) % 8);
		if (i % 16 == 0)
			crab_store_maintain(t->store);
		if (i % 500 != 499)
			continue;
		conf_compare(test, m);
		if (is_volatile)
			continue;
		crab_test_cut(test);
		crab_test_attach(test, false);
		conf_compare(test, m);
	}
}

/* Operation @op of a batch, against the model */
static void conf_batched(struct kunit *test, struct conf_model *m,
			 const struct crab_batch_op *op, u32 at)
{
	bool delete = op->verb == CRAB_VERB_DELETE;

	if (op->status == -ENOSPC && !delete && !m->there[at])
		return;
	KUNIT_EXPECT_EQ(test, op->status, delete && !m->there[at] ? -ENOENT : 0);
	KUNIT_EXPECT_EQ(test, op->old.existed, m->there[at]);
	if (m->there[at])
		KUNIT_EXPECT_EQ(test, op->old.value, m->value[at]);
	m->count += !delete - m->there[at];
	m->there[at] = !delete;
	m->value[at] = op->value;
}

/* Writes few keys or many in one call; returns how many of them failed with -ENOSPC */
static u32 conf_some(struct kunit *test, struct conf_model *m, struct crab_batch_op *ops,
		     u32 deletes)
{
	u32 keys = 1 + rng(&m->seed) % CONF_KEYS, from = rng(&m->seed) % CONF_KEYS, i, full = 0;
	struct crab_test *t = test->priv;
	u32 at[CONF_BATCH];
	u64 r;

	for (i = 0; i < CONF_BATCH; i++) {
		r = rng(&m->seed);
		at[i] = (from + r % keys) % CONF_KEYS;
		ops[i] = (struct crab_batch_op) {
			.verb = (r >> 8) % 16 < deletes ? CRAB_VERB_DELETE : CRAB_VERB_INSERT,
			.key = conf_key(at[i]), .value = r >> 20,
		};
	}
	crab_store_batch(t->store, ops, CONF_BATCH);
	for (i = 0; i < CONF_BATCH; i++) {
		conf_batched(test, m, &ops[i], at[i]);
		full += ops[i].status == -ENOSPC;
	}
	return full;
}

/* Batches longer than a group; the store fills, beyond the pool's capacity, and empties in turns */
static void conf_batches(struct kunit *test)
{
	struct crab_batch_op *ops = kunit_kzalloc(test, sizeof(*ops) * CONF_BATCH, GFP_KERNEL);
	struct conf_model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	u32 i, full = 0;

	KUNIT_ASSERT_TRUE(test, ops && m);
	m->seed = 1;
	conf_begin(test);
	for (i = 0; i < CONF_STEPS / CONF_BATCH; i++) {
		full += conf_some(test, m, ops, i / 16 % 2 ? 11 : 2);
		conf_compare(test, m);
	}
	KUNIT_EXPECT_GT(test, full, 0);
}

static struct kunit_case conformance_cases[] = {
	KUNIT_CASE_PARAM(conf_verbs, conf_params),
	KUNIT_CASE_PARAM(conf_modifies, conf_params),
	KUNIT_CASE_PARAM(conf_add_many, conf_params),
	KUNIT_CASE_PARAM(conf_counts, conf_params),
	KUNIT_CASE_PARAM(conf_batch, conf_params),
	KUNIT_CASE_PARAM(conf_batch_readonly, conf_params),
	KUNIT_CASE_PARAM(conf_batches, conf_params),
	KUNIT_CASE_PARAM(conf_history, conf_params),
	{}
};

CRAB_TEST_SUITE(conformance, crab_test_init, crab_test_exit);
