// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests variables, and commits of them.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "kapi.h"

#define NAMES_LENGTH	(CRABTREE_NAME_MAX + 2)	/* with the NUL: one byte too long */

static void names_u32(struct crabtree *tree, const char *name, u32 want)
{
	u32 value = 0, bytes = 99;

	EXPECT(crabtree_var_get(tree, name, CRABTREE_TYPE_U32, &value, sizeof(value), &bytes), 0);
	EXPECT(value, want);
	EXPECT(bytes, sizeof(value));
}

static void names_set(struct crabtree *tree)
{
	u32 word = 17;
	u8 yes = 1;

	EXPECT(crabtree_var_set(tree, "motor/speed", CRABTREE_TYPE_U32, &word, sizeof(word)), 0);
	names_u32(tree, "motor/speed", 17);
	word = 18;
	EXPECT(crabtree_var_set(tree, "motor/speed", CRABTREE_TYPE_U32, &word, sizeof(word)), 0);
	names_u32(tree, "motor/speed", 18);
	EXPECT(crabtree_var_set(tree, "motor/on", CRABTREE_TYPE_BOOL, &yes, sizeof(yes)), 0);
	EXPECT(crabtree_var_set(tree, "motor/name", CRABTREE_TYPE_TEXT, "left", 4), 0);
	EXPECT(crabtree_var_set(tree, "motor/note", CRABTREE_TYPE_BYTES, NULL, 0), 0);
	EXPECT(crabtree_var_get(tree, "motor/note", CRABTREE_TYPE_BYTES, NULL, 0, NULL), 0);
}

static void names_set_invalid(struct crabtree *tree)
{
	static char name[NAMES_LENGTH];
	u32 word = 2;

	memset(name, 'n', CRABTREE_NAME_MAX + 1);
	EXPECT(crabtree_var_set(tree, name, CRABTREE_TYPE_U32, &word, sizeof(word)), -EINVAL);
	name[CRABTREE_NAME_MAX] = '\0';
	EXPECT(crabtree_var_set(tree, name, CRABTREE_TYPE_U32, &word, sizeof(word)), 0);
	names_u32(tree, name, 2);
	EXPECT(crabtree_var_set(tree, "", CRABTREE_TYPE_U32, &word, sizeof(word)), -EINVAL);
	EXPECT(crabtree_var_set(tree, "bad", CRABTREE_TYPE_U64, &word, sizeof(word)), -EINVAL);
	EXPECT(crabtree_var_set(tree, "bad", CRABTREE_TYPE_F64 + 1, &word, sizeof(word)), -EINVAL);
	EXPECT(crabtree_var_set(tree, "bad", CRABTREE_TYPE_BOOL, "\2", 1), -EINVAL);
	EXPECT(crabtree_var_remove(tree, "bad"), -ENOENT);
}

static void names_get_refused(struct crabtree *tree)
{
	const char *name = "motor/name";
	char room[8] = "";
	u32 bytes = 99;

	EXPECT(crabtree_var_get(tree, name, CRABTREE_TYPE_TEXT, room, 3, &bytes), -EMSGSIZE);
	EXPECT(bytes, 4);
	EXPECT(crabtree_var_get(tree, name, CRABTREE_TYPE_U32, room, 4, &bytes), -ENOMSG);
	EXPECT(crabtree_var_get(tree, name, CRABTREE_TYPE_U32, room, 3, &bytes), -ENOMSG);
	EXPECT(crabtree_var_get(tree, "motor", CRABTREE_TYPE_TEXT, room, 8, &bytes), -ENOENT);
	EXPECT(bytes, 0);
	EXPECT(crabtree_var_get(tree, "", CRABTREE_TYPE_TEXT, room, 8, NULL), -EINVAL);
	EXPECT(crabtree_var_get(tree, name, CRABTREE_TYPE_TEXT, room, 8, &bytes), 0);
	EXPECT(bytes, 4);
	EXPECT(memcmp(room, "left", 5), 0);
}

/* A variable may get another type; the longest value, and one that is longer */
static void names_long(struct crabtree *tree)
{
	u8 *value = kmalloc(CRABTREE_BLOB_MAX + 1, GFP_KERNEL);
	u32 bytes = 0;

	EXPECT(!value, false);
	if (!value)
		return;
	memset(value, 0x5a, CRABTREE_BLOB_MAX + 1);
	EXPECT(crabtree_var_set(tree, "motor/on", CRABTREE_TYPE_BYTES, value,
				CRABTREE_BLOB_MAX + 1), -EMSGSIZE);
	EXPECT(crabtree_var_get(tree, "motor/on", CRABTREE_TYPE_BOOL, value, 1, NULL), 0);
	EXPECT(value[0], 1);
	value[0] = 0x5a;
	EXPECT(crabtree_var_set(tree, "motor/on", CRABTREE_TYPE_BYTES, value,
				CRABTREE_BLOB_MAX), 0);
	memset(value, 0, CRABTREE_BLOB_MAX);
	EXPECT(crabtree_var_get(tree, "motor/on", CRABTREE_TYPE_BYTES, value,
				CRABTREE_BLOB_MAX, &bytes), 0);
	EXPECT(bytes, CRABTREE_BLOB_MAX);
	EXPECT(!memchr_inv(value, 0x5a, CRABTREE_BLOB_MAX), true);
	kfree(value);
}

static void names_remove(struct crabtree *tree)
{
	u8 on;

	EXPECT(crabtree_var_remove(tree, "motor/on"), 0);
	EXPECT(crabtree_var_get(tree, "motor/on", CRABTREE_TYPE_BYTES, &on, 1, NULL), -ENOENT);
	EXPECT(crabtree_var_remove(tree, "motor/on"), -ENOENT);
	EXPECT(crabtree_var_remove(tree, ""), -EINVAL);
	names_u32(tree, "motor/speed", 18);
}

/* Calls on records */
static void names_others(struct crabtree *tree)
{
	struct crabtree_batch_op op = { CRABTREE_BATCH_SEARCH, .key = 1 };
	struct crabtree_cursor cursor = CRABTREE_CURSOR(0, 9);
	struct crabtree_record record;
	u64 value;

	EXPECT(crabtree_search(tree, 1, &value), -EOPNOTSUPP);
	EXPECT(crabtree_seek(tree, 1, CRABTREE_SEARCH_GE, &record), -EOPNOTSUPP);
	EXPECT(crabtree_insert(tree, 1, 1, 0, NULL), -EOPNOTSUPP);
	EXPECT(crabtree_swap(tree, 1, 1, 2, NULL), -EOPNOTSUPP);
	EXPECT(crabtree_add(tree, 1, 1, 0, NULL), -EOPNOTSUPP);
	EXPECT(crabtree_delete(tree, 1, NULL), -EOPNOTSUPP);
	EXPECT(crabtree_delete_range(tree, 0, 9, NULL, NULL), -EOPNOTSUPP);
	EXPECT(crabtree_scan(tree, &cursor, &record, 1), -EOPNOTSUPP);
	EXPECT(crabtree_commit(tree, &op, 1, NULL), -EOPNOTSUPP);
}

void kapi_names(struct crabtree *tree)
{
	names_set(tree);
	names_set_invalid(tree);
	names_get_refused(tree);
	names_long(tree);
	names_remove(tree);
	names_others(tree);
	kapi_page(tree);
}

/* Commits of variables: in a store of both */

static struct crabtree_commit_op named(u32 verb, u32 flags, const char *name)
{
	return (struct crabtree_commit_op){
		verb, flags, .key = (uintptr_t)name, .name_bytes = strlen(name), .status = 99,
	};
}

static struct crabtree_commit_op named_put(u32 flags, const char *name, const u32 *value)
{
	struct crabtree_commit_op op = named(CRABTREE_COMMIT_PUT, flags, name);

	op.type = CRABTREE_TYPE_U32;
	op.value = (uintptr_t)value;
	op.bytes = sizeof(*value);
	return op;
}

static void named_refused(struct crabtree *tree, struct crabtree_commit_op cause, int err)
{
	u32 value = 9, failed = 99;
	struct crabtree_commit_op ops[] = {
		named_put(0, "a", &value), cause, named(CRABTREE_COMMIT_ERASE, 0, "b"),
	};

	EXPECT(crabtree_commit_values(tree, ops, ARRAY_SIZE(ops), &failed), err);
	EXPECT(failed, 1);
	EXPECT(ops[0].status, -ECANCELED);
	EXPECT(ops[1].status, err);
	EXPECT(ops[2].status, -ECANCELED);
	names_u32(tree, "a", 1);
	names_u32(tree, "b", 2);
}

static void named_all_refused(struct crabtree *tree, u64 version)
{
	u32 value = 9;
	struct crabtree_commit_op stale = named_put(CRABTREE_IF_VERSION, "c", &value);
	struct crabtree_commit_op type = named_put(0, "c", &value);

	stale.version = version + 1000;
	type.type = CRABTREE_TYPE_U64;
	named_refused(tree, named_put(CRABTREE_IF_ABSENT, "c", &value), -EEXIST);
	named_refused(tree, named(CRABTREE_COMMIT_TEST, CRABTREE_IF_EXISTS, "d"), -ENOENT);
	named_refused(tree, stale, -ESTALE);
	named_refused(tree, type, -EINVAL);
	named_refused(tree, named_put(0, "", &value), -EOPNOTSUPP);	/* a key */
	named_refused(tree, named_put(0, "a", &value), -EINVAL);
}

void kapi_commit_names(struct crabtree *tree)
{
	u32 values[] = { 1, 2, 3 }, failed = 99;
	struct crabtree_commit_op ops[] = {
		named_put(0, "a", &values[0]), named_put(CRABTREE_IF_ABSENT, "b", &values[1]),
		named_put(0, "c", &values[2]), named(CRABTREE_COMMIT_ERASE, 0, "d"),
	};

	EXPECT(crabtree_commit_values(tree, ops, ARRAY_SIZE(ops), &failed), 0);
	EXPECT(failed, ARRAY_SIZE(ops));
	EXPECT(ops[0].status, 0);
	EXPECT(ops[0].existed, 0);
	EXPECT(ops[3].status, -ENOENT);
	names_u32(tree, "c", 3);
	named_all_refused(tree, ops[2].version);
	ops[3] = named(CRABTREE_COMMIT_ERASE, CRABTREE_IF_EXISTS, "a");
	EXPECT(crabtree_commit_values(tree, &ops[3], 1, NULL), 0);
	EXPECT(crabtree_var_remove(tree, "a"), -ENOENT);
	EXPECT(crabtree_var_remove(tree, "b"), 0);
}
