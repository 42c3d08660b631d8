// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests both commits: of records, and of values under keys. Each has all of its answers
 * compared, and after an error nothing is changed.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "kapi.h"

#define COMMITS_UNTRIED	4711	/* a status before the call */

static void commits_fill(struct crabtree *tree)
{
	u64 key;

	for (key = 1; key <= 5; key++)
		EXPECT(crabtree_insert(tree, key, 10 * key, CRABTREE_INSERT_CREATE, NULL), 0);
}

static void commits_answer(const struct crabtree_batch_op *op, u32 existed, u64 old)
{
	EXPECT(op->status, 0);
	EXPECT(op->existed, existed);
	EXPECT(op->old_value, old);
}

static void commits_done(struct crabtree *tree)
{
	struct crabtree_batch_op ops[] = {
		{ CRABTREE_BATCH_INSERT, CRABTREE_INSERT_CREATE, .key = 6, .value = 60 },
		{ CRABTREE_BATCH_INSERT, CRABTREE_INSERT_SWAP, .key = 1, .value = 11,
		  .old_value = 10 },
		{ CRABTREE_BATCH_INSERT, CRABTREE_INSERT_ADD, .key = 2, .value = 5 },
		{ CRABTREE_BATCH_SEARCH, .key = 3 },
		{ CRABTREE_BATCH_SEARCH, .key = 7 },
		{ CRABTREE_BATCH_DELETE, CRABTREE_IF_EXISTS, .key = 4 },
		{ CRABTREE_BATCH_DELETE, .key = 8 },
	};
	u32 failed = 99;

	EXPECT(crabtree_commit(tree, ops, ARRAY_SIZE(ops), &failed), 0);
	EXPECT(failed, ARRAY_SIZE(ops));
	commits_answer(&ops[0], 0, 0);
	commits_answer(&ops[1], 1, 10);
	commits_answer(&ops[2], 1, 20);
	commits_answer(&ops[3], 0, 30);
	EXPECT(ops[3].value, 30);
	EXPECT(ops[4].status, -ENOENT);
	commits_answer(&ops[5], 0, 40);
	EXPECT(ops[6].status, -ENOENT);
	EXPECT(kapi_value(tree, 6), 60);
	EXPECT(kapi_value(tree, 1), 11);
	EXPECT(kapi_value(tree, 2), 25);
	EXPECT(kapi_value(tree, 4), KAPI_POISON);
}

/* A commit of three whose second operation is the cause that none is done */
static void commits_refused(struct crabtree *tree, struct crabtree_batch_op cause, int err)
{
	struct crabtree_batch_op ops[] = {
		{ CRABTREE_BATCH_INSERT, .key = 100, .value = 1, .status = COMMITS_UNTRIED },
		cause,
		{ CRABTREE_BATCH_DELETE, .key = 1, .status = COMMITS_UNTRIED },
	};
	u32 failed = 99;

	EXPECT(crabtree_commit(tree, ops, ARRAY_SIZE(ops), &failed), err);
	EXPECT(failed, 1);
	EXPECT(ops[0].status, -ECANCELED);
	EXPECT(ops[1].status, err);
	EXPECT(ops[2].status, -ECANCELED);
	EXPECT(kapi_value(tree, 100), KAPI_POISON);
	EXPECT(kapi_value(tree, 1), 11);
}

static void commits_conditions(struct crabtree *tree)
{
	const u32 insert = CRABTREE_BATCH_INSERT;
	struct crabtree_batch_op present = { insert, CRABTREE_INSERT_CREATE, .key = 2 };
	struct crabtree_batch_op absent = { insert, CRABTREE_INSERT_REPLACE, .key = 101 };
	struct crabtree_batch_op other = { insert, CRABTREE_INSERT_SWAP, .key = 2, .old_value = 9 };
	struct crabtree_batch_op none = { CRABTREE_BATCH_DELETE, CRABTREE_IF_EXISTS, .key = 101 };
	struct crabtree_batch_op there = { CRABTREE_BATCH_SEARCH, CRABTREE_IF_ABSENT, .key = 2 };

	commits_refused(tree, present, -EEXIST);
	commits_refused(tree, absent, -ENOENT);
	commits_refused(tree, other, -ESTALE);
	commits_refused(tree, none, -ENOENT);
	commits_refused(tree, there, -EEXIST);
	EXPECT(kapi_value(tree, 2), 25);
}

static void commits_invalid(struct crabtree *tree)
{
	struct crabtree_batch_op verb = { .verb = 4, .key = 2 };
	struct crabtree_batch_op flags = { CRABTREE_BATCH_INSERT, 1U << 4, .key = 2 };
	struct crabtree_batch_op added = { CRABTREE_BATCH_DELETE, CRABTREE_INSERT_ADD, .key = 2 };
	struct crabtree_batch_op key = { CRABTREE_BATCH_INSERT, .key = CRABTREE_KEY_RESERVED };
	struct crabtree_batch_op twice = { CRABTREE_BATCH_SEARCH, .key = 100 };

	commits_refused(tree, verb, -EINVAL);
	commits_refused(tree, flags, -EINVAL);
	commits_refused(tree, added, -EINVAL);
	commits_refused(tree, key, -EINVAL);
	commits_refused(tree, twice, -EINVAL);
}

/* An impossible number of operations: no answer is written */
static void commits_count(struct crabtree *tree)
{
	static struct crabtree_batch_op ops[CRABTREE_COMMIT_MAX + 1];
	u32 failed = 99, i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = (struct crabtree_batch_op){ CRABTREE_BATCH_INSERT, .key = 200 + i,
						     .status = COMMITS_UNTRIED };
	EXPECT(crabtree_commit(tree, ops, 0, &failed), -EINVAL);
	EXPECT(failed, 0);
	EXPECT(crabtree_commit(tree, ops, ARRAY_SIZE(ops), &failed), -EINVAL);
	EXPECT(failed, ARRAY_SIZE(ops));
	EXPECT(crabtree_commit(tree, ops, ARRAY_SIZE(ops), NULL), -EINVAL);
	EXPECT(ops[0].status, COMMITS_UNTRIED);
	EXPECT(kapi_value(tree, 200), KAPI_POISON);
	EXPECT(crabtree_commit(tree, ops, CRABTREE_COMMIT_MAX, &failed), 0);
	EXPECT(failed, CRABTREE_COMMIT_MAX);
	EXPECT(kapi_value(tree, 200 + CRABTREE_COMMIT_MAX - 1), 0);
}

/* Writes outside of commits are those of any store; calls for values are not for this one */
static void commits_others(struct crabtree *tree)
{
	struct crabtree_commit_op op = { CRABTREE_COMMIT_TEST, .key = 1 };
	u32 failed = 99;
	u64 old = KAPI_POISON;

	EXPECT(crabtree_commit_values(tree, &op, 1, &failed), -EOPNOTSUPP);
	EXPECT(failed, 1);
	EXPECT(crabtree_swap(tree, 1, 11, 12, &old), 0);
	EXPECT(old, 11);
	EXPECT(crabtree_delete(tree, 1, &old), 0);
	EXPECT(old, 12);
}

void kapi_commits(struct crabtree *tree)
{
	commits_fill(tree);
	commits_done(tree);
	commits_conditions(tree);
	commits_invalid(tree);
	commits_count(tree);
	commits_others(tree);
}

/* The store is one of values under keys */

static struct crabtree_commit_op values_put(u64 key, const char *text, u32 flags)
{
	return (struct crabtree_commit_op){
		CRABTREE_COMMIT_PUT, flags, .key = key, .value = (uintptr_t)text,
		.bytes = strlen(text), .status = COMMITS_UNTRIED, .existed = 99,
	};
}

static u64 values_done(struct crabtree *tree)
{
	struct crabtree_commit_op ops[] = {
		values_put(1, "first", CRABTREE_IF_ABSENT),
		values_put(2, "second", 0),
		{ CRABTREE_COMMIT_ERASE, .key = 3, .status = COMMITS_UNTRIED },
		{ CRABTREE_COMMIT_TEST, CRABTREE_IF_ABSENT, .key = 4, .status = COMMITS_UNTRIED },
	};
	u32 failed = 99, i;

	EXPECT(crabtree_commit_values(tree, ops, ARRAY_SIZE(ops), &failed), 0);
	EXPECT(failed, ARRAY_SIZE(ops));
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		EXPECT(ops[i].status, i == 2 ? -ENOENT : 0);
		EXPECT(ops[i].existed, 0);
	}
	EXPECT(ops[0].version != 0, true);
	return ops[0].version;
}

static void values_refused(struct crabtree *tree, struct crabtree_commit_op cause, int err)
{
	struct crabtree_commit_op ops[] = { values_put(4, "none", 0), cause };
	u32 failed = 99;

	EXPECT(crabtree_commit_values(tree, ops, ARRAY_SIZE(ops), &failed), err);
	EXPECT(failed, 1);
	EXPECT(ops[0].status, -ECANCELED);
	EXPECT(ops[1].status, err);
	EXPECT(crabtree_commit_values(tree, ops, ARRAY_SIZE(ops), NULL), err);
}

/* By versions: kernel code cannot read a value under a key */
static void values_changed(struct crabtree *tree, u64 version)
{
	struct crabtree_commit_op ops[] = {
		{ CRABTREE_COMMIT_TEST, CRABTREE_IF_VERSION, .key = 1, .version = version },
		{ CRABTREE_COMMIT_ERASE, CRABTREE_IF_EXISTS, .key = 2 },
		{ CRABTREE_COMMIT_TEST, CRABTREE_IF_ABSENT, .key = 4 },
	};
	struct crabtree_commit_op put = values_put(1, "more", CRABTREE_IF_VERSION);

	EXPECT(crabtree_commit_values(tree, ops, ARRAY_SIZE(ops), NULL), 0);
	EXPECT(crabtree_commit_values(tree, ops, ARRAY_SIZE(ops), NULL), -ENOENT);
	put.version = version;
	EXPECT(crabtree_commit_values(tree, &put, 1, NULL), 0);
	EXPECT(put.existed, 1);
	EXPECT(put.version > version, true);
}

static void values_invalid(struct crabtree *tree)
{
	struct crabtree_commit_op verb = { .verb = 4, .key = 1 };
	struct crabtree_commit_op flags = { CRABTREE_COMMIT_TEST, 1U << 3, .key = 1 };
	struct crabtree_commit_op test = { CRABTREE_COMMIT_TEST, .key = 1, .bytes = 1 };
	struct crabtree_commit_op named = { CRABTREE_COMMIT_TEST, .key = 1, .name_bytes = 1 };
	struct crabtree_commit_op typed = values_put(1, "typed", 0);
	u32 failed = 99;

	typed.type = CRABTREE_TYPE_TEXT;
	values_refused(tree, verb, -EINVAL);
	values_refused(tree, flags, -EINVAL);
	values_refused(tree, test, -EINVAL);
	values_refused(tree, named, -EOPNOTSUPP);
	values_refused(tree, typed, -EINVAL);
	values_refused(tree, values_put(4, "twice", 0), -EINVAL);
	EXPECT(crabtree_commit_values(tree, NULL, 0, &failed), -EINVAL);
	EXPECT(failed, 0);
	EXPECT(crabtree_commit_values(tree, NULL, CRABTREE_COMMIT_MAX + 1, &failed), -EINVAL);
	EXPECT(failed, CRABTREE_COMMIT_MAX + 1);
}

void kapi_commit_values(struct crabtree *tree)
{
	struct crabtree_commit_op stale = values_put(1, "stale", CRABTREE_IF_VERSION);
	u64 version = values_done(tree), value;

	values_refused(tree, values_put(1, "again", CRABTREE_IF_ABSENT), -EEXIST);
	values_refused(tree, values_put(3, "never", CRABTREE_IF_EXISTS), -ENOENT);
	stale.version = version + 1000;
	values_refused(tree, stale, -ESTALE);
	values_invalid(tree);
	values_changed(tree, version);
	EXPECT(crabtree_search(tree, 1, &value), -EOPNOTSUPP);
	EXPECT(crabtree_var_remove(tree, "first"), -EOPNOTSUPP);
}
