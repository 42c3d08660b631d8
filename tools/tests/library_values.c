// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests commits of values, crabtree_commit_values(), on images: the results, each condition,
 * commits that are refused and do nothing, and stores of other kinds.
 */
#include <crabtree_blob.h>
#include <crabtree_image.h>
#include <crabtree_names.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "library.h"

#define PUT(_key, _text, ...)								\
	((struct crabtree_commit_op){							\
		.verb = CRABTREE_COMMIT_PUT, .key = (_key), .value = (uintptr_t)(_text),	\
		.bytes = strlen(_text), __VA_ARGS__						\
	})
#define VALUE_OP(_verb, _key, ...)							\
	((struct crabtree_commit_op){							\
		.verb = CRABTREE_COMMIT_##_verb, .key = (_key), __VA_ARGS__		\
	})

static struct crabtree *open_values(unsigned int flags)
{
	struct crabtree_format format = { .flags = flags };
	struct crabtree *ct = NULL;

	if (!crabtree_create_image("values.img", 1 << 20) && !crabtree_open(&ct, "file:values.img", 0) &&
	    crabtree_format(ct, &format, sizeof(format))) {
		crabtree_close(ct);
		ct = NULL;
	}
	unlink("values.img");
	return ct;
}

static bool has_blob(struct crabtree *ct, uint64_t key, const char *text, uint64_t version)
{
	char room[16];
	uint32_t bytes;
	uint64_t is;

	return !crabtree_get(ct, key, room, sizeof(room), &bytes, &is) && bytes == strlen(text) &&
	       !memcmp(room, text, bytes) && is == version;
}

/* A commit of a put of key 9, and of @op, returns @want because of @op, and does nothing */
static void refuse_values(struct crabtree *ct, struct crabtree_commit_op op, int want, const char *name)
{
	struct crabtree_commit_op ops[2] = { PUT(9, "nine"), op };
	uint32_t failed = 99, bytes;
	uint64_t version;

	ok(crabtree_commit_values(ct, ops, 2, &failed) == want && failed == 1 &&
	   ops[0].status == -ECANCELED && ops[1].status == want &&
	   crabtree_get(ct, 9, NULL, 0, &bytes, &version) == -ENOENT, name);
}

static void test_values_refused(struct crabtree *ct, uint64_t version)
{
	static const char longer[CRABTREE_BLOB_MAX + 1];

	refuse_values(ct, PUT(1, "x", .flags = CRABTREE_IF_ABSENT), -EEXIST, "values: put, there already");
	refuse_values(ct, PUT(5, "x", .flags = CRABTREE_IF_EXISTS), -ENOENT, "values: put, not there");
	refuse_values(ct, PUT(1, "x", .flags = CRABTREE_IF_VERSION, .version = version + 1), -ESTALE,
		      "values: put, another version");
	refuse_values(ct, VALUE_OP(TEST, 1, .flags = CRABTREE_IF_ABSENT), -EEXIST, "values: test, there");
	refuse_values(ct, VALUE_OP(TEST, 5, .flags = CRABTREE_IF_EXISTS), -ENOENT, "values: test, not there");
	refuse_values(ct, VALUE_OP(TEST, 1, .flags = CRABTREE_IF_VERSION), -ESTALE,
		      "values: test, another version");
	refuse_values(ct, VALUE_OP(TEST, 5, .flags = CRABTREE_IF_VERSION), -ENOENT,
		      "values: test of a version, not there");
	refuse_values(ct, VALUE_OP(ERASE, 5, .flags = CRABTREE_IF_EXISTS), -ENOENT, "values: erase, not there");
	refuse_values(ct, VALUE_OP(ERASE, 1, .flags = CRABTREE_IF_VERSION), -ESTALE,
		      "values: erase, another version");
	refuse_values(ct, VALUE_OP(ERASE, 9), -EINVAL, "values: a key twice");
	refuse_values(ct, VALUE_OP(ERASE, CRABTREE_KEY_RESERVED), -EINVAL, "values: the reserved key");
	refuse_values(ct, VALUE_OP(ERASE, 1, .flags = 1U << 31), -EINVAL, "values: flags");
	refuse_values(ct, (struct crabtree_commit_op){ .verb = 4, .key = 1 }, -EINVAL, "values: a verb");
	refuse_values(ct, VALUE_OP(ERASE, 1, .reserved = 1), -EINVAL, "values: a reserved field");
	refuse_values(ct, VALUE_OP(ERASE, 1, .name_bytes = 1), -EOPNOTSUPP, "values: a name of a key");
	refuse_values(ct, VALUE_OP(PUT, 1, .value = (uintptr_t)longer, .bytes = sizeof(longer)), -EMSGSIZE,
		      "values: too long");
}

static void test_values_many(struct crabtree *ct)
{
	static struct crabtree_commit_op ops[CRABTREE_COMMIT_MAX + 1];
	struct crabtree_check check = { 0 };
	uint32_t failed = 99, i;

	for (i = 0; i <= CRABTREE_COMMIT_MAX; i++)
		ops[i] = PUT(100 + i, "many");
	ok(crabtree_commit_values(ct, ops, CRABTREE_COMMIT_MAX + 1, &failed) == -EINVAL &&
	   failed == CRABTREE_COMMIT_MAX + 1, "values: 65 operations");
	ok(crabtree_commit_values(ct, ops, 0, &failed) == -EINVAL && !failed, "values: no operation");
	ok(!crabtree_commit_values(ct, ops, CRABTREE_COMMIT_MAX, NULL) &&
	   ops[CRABTREE_COMMIT_MAX - 1].version > ops[0].version &&
	   has_blob(ct, 163, "many", ops[CRABTREE_COMMIT_MAX - 1].version), "values: 64 operations");
	ok(!crabtree_check(ct, &check, sizeof(check)) && !check.errors && check.records == 66,
	   "values: the store is sound");
}

static void test_blobs(void)
{
	struct crabtree *ct = open_values(CRABTREE_FORMAT_BLOBS | CRABTREE_FORMAT_COMMITS);
	struct crabtree_commit_op ops[4] = {
		PUT(1, "one", .flags = CRABTREE_IF_ABSENT), PUT(2, ""), VALUE_OP(ERASE, 3), VALUE_OP(ERASE, 4),
	};
	uint64_t version;
	uint32_t failed;

	if (!ct || crabtree_put(ct, 2, "two", 3, 0, &version) || crabtree_put(ct, 3, "three", 5, 0, NULL)) {
		ok(0, "an image of blobs and commits");
		return;
	}
	ok(!crabtree_commit_values(ct, ops, 4, &failed) && failed == 4, "values: a commit");
	ok(!ops[0].existed && !ops[0].status && ops[1].existed && !ops[1].status && !ops[2].status &&
	   ops[3].status == -ENOENT, "values: results");
	ok(ops[0].version > version && ops[1].version > version && ops[0].version != ops[1].version &&
	   has_blob(ct, 1, "one", ops[0].version) && has_blob(ct, 2, "", ops[1].version) &&
	   crabtree_erase(ct, 3, NULL) == -ENOENT, "values: keys, values and versions");
	test_values_refused(ct, ops[0].version);
	version = ops[1].version;
	ops[0] = PUT(1, "1", .flags = CRABTREE_IF_VERSION, .version = ops[0].version);
	ops[1] = VALUE_OP(ERASE, 2, .flags = CRABTREE_IF_VERSION, .version = version);
	ops[2] = VALUE_OP(TEST, 3, .flags = CRABTREE_IF_ABSENT);
	ops[3] = PUT(2000, "new");
	ok(!crabtree_commit_values(ct, ops, 4, NULL) && has_blob(ct, 1, "1", ops[0].version) &&
	   crabtree_erase(ct, 2, NULL) == -ENOENT && has_blob(ct, 2000, "new", ops[3].version),
	   "values: conditions that hold");
	test_values_many(ct);
	crabtree_close(ct);
}

/* A name and a number of 32 bits */
#define SET(_name, _value, ...)								\
	VALUE_OP(PUT, (uintptr_t)(_name), .name_bytes = strlen(_name), .type = CRABTREE_TYPE_U32,	\
		 .value = (uintptr_t)&(uint32_t){ _value }, .bytes = 4, __VA_ARGS__)
#define NAMED(_verb, _name, ...)							\
	VALUE_OP(_verb, (uintptr_t)(_name), .name_bytes = strlen(_name), __VA_ARGS__)

static uint32_t number_of(struct crabtree *ct, const char *name, uint64_t *version)
{
	uint32_t number = 0;
	struct crabtree_named named = {
		.name = name, .name_bytes = strlen(name), .value = &number, .capacity = sizeof(number),
	};
	int err = crabtree_get_named(ct, &named);

	*version = named.version;
	return !err && named.type == CRABTREE_TYPE_U32 ? number : 0;
}

static void refuse_names(struct crabtree *ct, struct crabtree_commit_op op, int want, const char *name)
{
	struct crabtree_commit_op ops[2] = { SET("nine", 9), op };
	uint32_t failed = 99;
	uint64_t version;

	ok(crabtree_commit_values(ct, ops, 2, &failed) == want && failed == 1 && ops[1].status == want &&
	   !number_of(ct, "nine", &version), name);
}

static void test_names_refused(struct crabtree *ct)
{
	struct crabtree_commit_op op = SET("x", 2);

	refuse_names(ct, SET("a", 2, .flags = CRABTREE_IF_ABSENT), -EEXIST, "names: there already");
	refuse_names(ct, NAMED(ERASE, "z", .flags = CRABTREE_IF_EXISTS), -ENOENT, "names: not there");
	refuse_names(ct, NAMED(TEST, "a", .flags = CRABTREE_IF_VERSION), -ESTALE, "names: another version");
	refuse_names(ct, SET("z", 2, .flags = CRABTREE_IF_VERSION), -ENOENT, "names: a version, not there");
	refuse_names(ct, NAMED(ERASE, "nine"), -EINVAL, "names: a name twice");
	refuse_names(ct, NAMED(ERASE, ""), -EOPNOTSUPP, "names: no name");
	op.type = 9;
	refuse_names(ct, op, -EINVAL, "names: a type");
	op.type = CRABTREE_TYPE_U8;
	refuse_names(ct, op, -EINVAL, "names: a length that is not of the type");
}

static void test_names(void)
{
	struct crabtree *ct = open_values(CRABTREE_FORMAT_NAMES | CRABTREE_FORMAT_COMMITS);
	struct crabtree_commit_op ops[4] = {
		SET("a", 1, .flags = CRABTREE_IF_ABSENT), SET("b", 2), NAMED(ERASE, "c"),
		NAMED(TEST, "d", .flags = CRABTREE_IF_ABSENT),
	};
	uint64_t version;

	if (!ct) {
		ok(0, "an image of names and commits");
		return;
	}
	ok(!crabtree_commit_values(ct, ops, 4, NULL) && !ops[0].existed && ops[2].status == -ENOENT &&
	   !ops[3].status, "names: a commit");
	ok(number_of(ct, "a", &version) == 1 && version == ops[0].version &&
	   number_of(ct, "b", &version) == 2 && version == ops[1].version, "names: values and versions");
	test_names_refused(ct);
	ops[0] = NAMED(ERASE, "a", .flags = CRABTREE_IF_VERSION, .version = ops[0].version);
	ops[1] = SET("b", 3, .flags = CRABTREE_IF_VERSION, .version = ops[1].version);
	ops[2] = NAMED(TEST, "c", .flags = CRABTREE_IF_ABSENT);
	ok(!crabtree_commit_values(ct, ops, 3, NULL) && ops[1].existed && !ops[0].status &&
	   number_of(ct, "b", &version) == 3 && version == ops[1].version &&
	   !number_of(ct, "a", &version), "names: conditions that hold");
	crabtree_close(ct);
}

/* In a store of blobs, the address of a name without bytes would be the key */
static void test_names_empty(void)
{
	struct crabtree *ct = open_values(CRABTREE_FORMAT_BLOBS);
	char room[4] = "y";
	struct crabtree_named named = { .name = "", .value = room, .bytes = 1, .capacity = sizeof(room) };
	uint64_t version = 0;

	ok(ct && !crabtree_put(ct, (uintptr_t)named.name, "x", 1, 0, &version) &&
	   crabtree_put_named(ct, &named, 0) == -EINVAL && crabtree_get_named(ct, &named) == -EINVAL &&
	   crabtree_erase_named(ct, named.name, 0, NULL) == -EINVAL &&
	   has_blob(ct, (uintptr_t)named.name, "x", version), "names: without bytes, in a store of blobs");
	ok(ct && crabtree_put(ct, 1, "x", 1, CRABTREE_IF_VERSION, NULL) == -EINVAL,
	   "values: put, if the version is none");
	crabtree_close(ct);
}

static int name_count(const struct crabtree_name *name, void *arg)
{
	(void)name;
	++*(int *)arg;
	return 0;
}

static void test_names_limits(void)
{
	static const char longest[CRABTREE_NAME_MAX + 1] = { 'z' };
	struct crabtree *ct = open_values(CRABTREE_FORMAT_NAMES | CRABTREE_FORMAT_COMMITS);
	struct crabtree_commit_op op = SET("a", 1);
	struct crabtree_names range = { .end = (uintptr_t)longest, .end_bytes = sizeof(longest) };
	int count = 0;

	ok(ct && !crabtree_commit_values(ct, &op, 1, NULL) &&
	   crabtree_names(ct, &range, name_count, &count) == -EINVAL, "names: an end of 241 bytes");
	range.flags = CRABTREE_NAMES_PREFIX;
	ok(ct && crabtree_names(ct, &range, name_count, &count) == -EINVAL, "names: a prefix of 241 bytes");
	range = (struct crabtree_names){ .start = (uintptr_t)longest, .start_bytes = sizeof(longest) };
	ok(ct && crabtree_names(ct, &range, name_count, &count) == -EINVAL && !count,
	   "names: a start of 241 bytes");
	range = (struct crabtree_names){ .end = (uintptr_t)longest, .end_bytes = CRABTREE_NAME_MAX };
	ok(ct && !crabtree_names(ct, &range, name_count, &count) && count == 1, "names: an end of 240 bytes");
	crabtree_close(ct);
}

/* Stores that are not of commits, or not of values */
static void test_values_kinds(void)
{
	static const struct {
		unsigned int flags;
		const char *name;
	} kinds[] = {
		{ 0, "values: a store of records" },
		{ CRABTREE_FORMAT_COMMITS, "values: a store of records and of commits" },
		{ CRABTREE_FORMAT_BLOBS, "values: a store of blobs without commits" },
		{ CRABTREE_FORMAT_NAMES, "values: a store of names without commits" },
	};
	struct crabtree_commit_op op;
	struct crabtree *ct;
	uint32_t failed;
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		ct = open_values(kinds[i].flags);
		op = kinds[i].flags & CRABTREE_FORMAT_NAMES ? SET("a", 1) : PUT(1, "one");
		failed = 0;
		ok(ct && crabtree_commit_values(ct, &op, 1, &failed) == -EOPNOTSUPP && failed == 1 &&
		   op.status == -ECANCELED, kinds[i].name);
		crabtree_close(ct);
	}
}

/* TEST and ERASE have no value, no length and no type */
static void test_values_reserved(void)
{
	struct crabtree *ct = open_values(CRABTREE_FORMAT_BLOBS | CRABTREE_FORMAT_COMMITS);
	struct crabtree_commit_op op, good = { .key = 1 };
	uint32_t failed, bad = 0, n = 0;

	for (good.verb = CRABTREE_COMMIT_TEST; good.verb <= CRABTREE_COMMIT_ERASE; good.verb++) {
		op = good;
		bad += !ct || crabtree_commit_values(ct, &op, 1, &failed);
		op = good;
		op.value = (uintptr_t)&failed;
		n += ct && crabtree_commit_values(ct, &op, 1, &failed) == -EINVAL && !failed;
		op = good;
		op.bytes = 1;
		n += ct && crabtree_commit_values(ct, &op, 1, &failed) == -EINVAL && !failed;
		op = good;
		op.type = CRABTREE_TYPE_U8;
		n += ct && crabtree_commit_values(ct, &op, 1, &failed) == -EINVAL && !failed;
	}
	ok(!bad && n == 6, "values: TEST and ERASE with a value, a length or a type");
	crabtree_close(ct);
}

/* Writes over both superblocks, but not over their signatures */
static bool damage(const char *path)
{
	static const char ones[64] = { 1, 1, 1 };
	int fd = open(path, O_WRONLY);
	bool good;

	good = fd >= 0 && pwrite(fd, ones, sizeof(ones), 64) == sizeof(ones) &&
	       pwrite(fd, ones, sizeof(ones), 4096 + 64) == sizeof(ones);
	return !close(fd) && good;
}

/* Nothing of the store can be read: the list stays where it is, and has not come to its end */
static void test_list_rejected(void)
{
	struct crabtree_format format = { .flags = CRABTREE_FORMAT_BLOBS };
	struct crabtree_cursor cursor;
	struct crabtree_entry entry;
	struct crabtree *ct;

	crabtree_cursor_init(&cursor, 5, 9);
	ok(!crabtree_create_image("rejected.img", 1 << 20) && !crabtree_open(&ct, "file:rejected.img", 0) &&
	   !crabtree_format(ct, &format, sizeof(format)) && !crabtree_put(ct, 6, "6", 1, 0, NULL) &&
	   !crabtree_close(ct) && damage("rejected.img") && !crabtree_open(&ct, "file:rejected.img", 0) &&
	   crabtree_list(ct, &cursor, &entry, 1) == -EUCLEAN && !cursor.done && cursor.next == 5 &&
	   !crabtree_close(ct), "a list of a damaged store");
	unlink("rejected.img");
}

void test_values(void)
{
	test_list_rejected();
	test_values_reserved();
	test_blobs();
	test_names();
	test_names_empty();
	test_names_limits();
	test_values_kinds();
}
