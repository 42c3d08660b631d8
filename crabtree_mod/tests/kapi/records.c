// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the calls on one record, in each form and with each error that needs no damage.
 */
#include <linux/errno.h>
#include <linux/limits.h>

#include "kapi.h"

static void records_insert(struct crabtree *tree)
{
	u64 old = KAPI_POISON;

	EXPECT(crabtree_insert(tree, 1, 10, CRABTREE_INSERT_CREATE, &old), 0);
	EXPECT(crabtree_insert(tree, 2, 20, CRABTREE_INSERT_REPLACE, &old), -ENOENT);
	EXPECT(old, KAPI_POISON);
	EXPECT(kapi_value(tree, 2), KAPI_POISON);
	EXPECT(crabtree_insert(tree, 1, 11, CRABTREE_INSERT_CREATE, &old), -EEXIST);
	EXPECT(old, 10);
	EXPECT(kapi_value(tree, 1), 10);
	old = KAPI_POISON;
	EXPECT(crabtree_insert(tree, 1, 12, CRABTREE_INSERT_REPLACE, &old), 0);
	EXPECT(old, 10);
	EXPECT(crabtree_insert(tree, 1, 13, 0, &old), 0);
	EXPECT(old, 12);
	EXPECT(crabtree_insert(tree, 1, 14, CRABTREE_INSERT_CREATE | CRABTREE_INSERT_REPLACE,
			       NULL), 0);
	EXPECT(kapi_value(tree, 1), 14);
}

static void records_insert_invalid(struct crabtree *tree)
{
	u64 old = KAPI_POISON;

	EXPECT(crabtree_insert(tree, 1, 14, CRABTREE_INSERT_SWAP, &old), -EINVAL);
	EXPECT(crabtree_insert(tree, 1, 15, CRABTREE_INSERT_ADD, &old), -EINVAL);
	EXPECT(crabtree_insert(tree, 1, 15, 1U << 4, &old), -EINVAL);
	EXPECT(crabtree_insert(tree, CRABTREE_KEY_RESERVED, 15, 0, &old), -EINVAL);
	EXPECT(old, KAPI_POISON);
	EXPECT(kapi_value(tree, 1), 14);
}

static void records_swap(struct crabtree *tree)
{
	u64 old = KAPI_POISON;

	EXPECT(crabtree_swap(tree, 2, 0, 1, &old), -ENOENT);
	EXPECT(old, KAPI_POISON);
	EXPECT(kapi_value(tree, 2), KAPI_POISON);
	EXPECT(crabtree_swap(tree, 1, 9, 16, &old), -ESTALE);
	EXPECT(old, 14);
	EXPECT(kapi_value(tree, 1), 14);
	old = KAPI_POISON;
	EXPECT(crabtree_swap(tree, 1, 14, 16, &old), 0);
	EXPECT(old, 14);
	EXPECT(kapi_value(tree, 1), 16);
	EXPECT(crabtree_swap(tree, 1, 16, 17, NULL), 0);
	EXPECT(crabtree_swap(tree, 1, 16, 18, NULL), -ESTALE);
	EXPECT(crabtree_swap(tree, CRABTREE_KEY_RESERVED, 16, 18, NULL), -EINVAL);
	EXPECT(kapi_value(tree, 1), 17);
}

static void records_add(struct crabtree *tree)
{
	u64 old = KAPI_POISON;

	EXPECT(crabtree_add(tree, 2, 5, CRABTREE_INSERT_REPLACE, &old), -ENOENT);
	EXPECT(old, 0);
	EXPECT(kapi_value(tree, 2), KAPI_POISON);
	old = KAPI_POISON;
	EXPECT(crabtree_add(tree, 2, 5, 0, &old), 0);
	EXPECT(old, 0);
	EXPECT(crabtree_add(tree, 2, -6, CRABTREE_INSERT_REPLACE, &old), 0);
	EXPECT(old, 5);
	EXPECT(kapi_value(tree, 2), U64_MAX);
	EXPECT(crabtree_add(tree, 2, 3, 0, NULL), 0);
	EXPECT(kapi_value(tree, 2), 2);
	EXPECT(crabtree_add(tree, 2, 5, CRABTREE_INSERT_CREATE, NULL), -EINVAL);
	EXPECT(crabtree_add(tree, 2, 5, CRABTREE_INSERT_SWAP, NULL), -EINVAL);
	EXPECT(crabtree_add(tree, CRABTREE_KEY_RESERVED, 5, 0, NULL), -EINVAL);
	EXPECT(kapi_value(tree, 2), 2);
}

static void records_delete(struct crabtree *tree)
{
	u64 old = KAPI_POISON;

	EXPECT(crabtree_delete(tree, 3, &old), -ENOENT);
	EXPECT(crabtree_delete(tree, CRABTREE_KEY_RESERVED, &old), -EINVAL);
	EXPECT(old, KAPI_POISON);
	EXPECT(crabtree_delete(tree, 1, &old), 0);
	EXPECT(old, 17);
	EXPECT(crabtree_delete(tree, 2, NULL), 0);
	EXPECT(crabtree_delete(tree, 2, NULL), -ENOENT);
	EXPECT(crabtree_search(tree, 1, &old), -ENOENT);
	EXPECT(crabtree_search(tree, 2, &old), -ENOENT);
	EXPECT(crabtree_search(tree, CRABTREE_KEY_RESERVED, &old), -EINVAL);
	EXPECT(old, 17);
}

/* Calls for other kinds of stores */
static void records_others(struct crabtree *tree)
{
	struct crabtree_batch_op op = { .verb = CRABTREE_BATCH_INSERT, .key = 1 };
	struct crabtree_commit_op value = { .verb = CRABTREE_COMMIT_PUT, .key = 1 };
	u32 word = 0, failed = 9;

	EXPECT(crabtree_commit(tree, &op, 1, &failed), -EOPNOTSUPP);
	EXPECT(failed, 1);
	EXPECT(op.status, -ECANCELED);
	EXPECT(crabtree_commit_values(tree, &value, 1, NULL), -EOPNOTSUPP);
	EXPECT(value.status, -ECANCELED);
	EXPECT(crabtree_var_set(tree, "a", CRABTREE_TYPE_U32, &word, 4), -EOPNOTSUPP);
	EXPECT(crabtree_var_get(tree, "a", CRABTREE_TYPE_U32, &word, 4, NULL), -EOPNOTSUPP);
	EXPECT(crabtree_var_remove(tree, "a"), -EOPNOTSUPP);
	EXPECT(kapi_value(tree, 1), KAPI_POISON);
}

void kapi_records(struct crabtree *tree)
{
	records_insert(tree);
	records_insert_invalid(tree);
	records_swap(tree);
	records_add(tree);
	records_delete(tree);
	records_others(tree);
}
