// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the calls of libcrabtree on an image file: TAP on standard
 * output. It does not repeat the tests of crabctl.
 */
#include <crabtree_image.h>
#include <backend.h>

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "library.h"

#define IMAGE	"library.img"

static struct crabtree *open_new(void)
{
	struct crabtree_format format = { .label = "library" };
	struct crabtree *ct = NULL;

	unlink(IMAGE);
	ok(!crabtree_create_image(IMAGE, 1 << 20), "create");
	ok(crabtree_create_image(IMAGE, 1 << 20) == -EEXIST, "create over a file");
	ok(!crabtree_open_image(&ct, IMAGE, 0), "open");
	ok(!crabtree_format(ct, &format, sizeof(format)), "format");
	ok(crabtree_format(ct, &format, sizeof(format)) == -EEXIST, "format again");
	return ct;
}

static void test_open(void)
{
	struct crabtree *ct;

	ok(crabtree_open(&ct, "/nonexistent", 0) == -ENOENT, "open what is not there");
	ok(crabtree_open(&ct, "/dev/null", 0) == -ENOTTY, "open another device");
	ok(crabtree_open(&ct, "/", CRABTREE_OPEN_READONLY) == -ENOTTY, "open a directory");
	ok(crabtree_open(&ct, "/dev/null", ~0U) == -EINVAL, "open with unknown flags");
	ok(!crabtree_close(NULL), "close nothing");
}

static void test_records(struct crabtree *ct)
{
	struct crabtree_record record;
	uint64_t value = 1;
	bool existed = true;

	ok(!crabtree_insert(ct, 10, 100, 0, &existed, &value) && !existed, "insert, new");
	ok(!crabtree_insert(ct, 10, 101, 0, &existed, &value) && existed && value == 100,
	   "insert, old");
	ok(crabtree_insert(ct, 10, 102, CRABTREE_INSERT_CREATE, &existed, &value) == -EEXIST &&
	   existed && value == 101, "insert, create: tells what is there");
	ok(!crabtree_insert(ct, 20, 200, 0, NULL, NULL), "insert without answers");
	ok(crabtree_insert(ct, 1, 1, 1U << 31, NULL, NULL) == -EINVAL, "insert, unknown flag");
	ok(crabtree_insert(ct, 1, 1, CRABTREE_INSERT_SWAP, NULL, NULL) == -EINVAL,
	   "insert, a flag of swap");
	ok(crabtree_insert(ct, CRABTREE_KEY_RESERVED, 1, 0, NULL, NULL) == -EINVAL,
	   "insert, reserved key");
	ok(!crabtree_seek(ct, 11, CRABTREE_SEARCH_GE, &record) && record.key == 20, "seek, GE");
	ok(!crabtree_seek(ct, 19, CRABTREE_SEARCH_LE, &record) && record.key == 10 &&
	   record.value == 101, "seek, LE");
	ok(crabtree_seek(ct, 21, CRABTREE_SEARCH_GE, &record) == -ENOENT, "seek beyond the end");
	ok(crabtree_seek(ct, 9, CRABTREE_SEARCH_LE, &record) == -ENOENT, "seek below the first");
	ok(crabtree_seek(ct, 9, 3, &record) == -EINVAL, "seek both ways");
	ok(crabtree_swap(ct, 10, 100, 1, &value) == -ESTALE && value == 101, "swap, another value");
	ok(!crabtree_swap(ct, 10, 101, 102, &value) && value == 101, "swap");
	ok(crabtree_swap(ct, 11, 0, 1, NULL) == -ENOENT, "swap of nothing");
	ok(!crabtree_add(ct, 10, UINT64_MAX, 0, &value) && value == 102, "add, with a wrap-around");
	ok(crabtree_add(ct, 11, 1, CRABTREE_INSERT_REPLACE, NULL) == -ENOENT, "add to nothing");
	ok(crabtree_add(ct, 11, 1, CRABTREE_INSERT_CREATE, NULL) == -EINVAL, "add, create alone");
	ok(!crabtree_add(ct, 11, 5, 0, &value) && !value, "add creates");
	ok(!crabtree_delete(ct, 11, &value) && value == 5, "delete of the sum");
	ok(!crabtree_delete(ct, 10, &value) && value == 101, "delete");
	ok(!crabtree_delete(ct, 20, NULL), "delete without an answer");
	value = 77;
	ok(crabtree_search(ct, 10, &value) == -ENOENT && value == 77, "search of nothing");
}

#define MANY	1000

static void test_batch(struct crabtree *ct)
{
	static struct crabtree_batch_op ops[CRABTREE_BATCH_MAX + 1];
	uint32_t done = 0, i;

	for (i = 0; i < MANY; i++)
		ops[i] = (struct crabtree_batch_op){
			.verb = CRABTREE_BATCH_INSERT, .key = i * 2, .value = i,
		};
	ok(!crabtree_batch(ct, ops, MANY, &done) && done == MANY && !ops[MANY - 1].status,
	   "batch, insert");
	ops[0] = (struct crabtree_batch_op){ .verb = CRABTREE_BATCH_SEARCH, .key = 6 };
	ops[1] = (struct crabtree_batch_op){ .verb = CRABTREE_BATCH_DELETE, .key = 6 };
	ops[2] = (struct crabtree_batch_op){ .verb = CRABTREE_BATCH_SEARCH, .key = 6 };
	ops[3] = (struct crabtree_batch_op){ .verb = 99, .key = 6 };
	ops[4] = (struct crabtree_batch_op){ .verb = CRABTREE_BATCH_INSERT, .key = 6, .value = 3 };
	ok(!crabtree_batch(ct, ops, 5, NULL), "batch, mixed");
	ok(!ops[0].status && ops[0].value == 3, "batch: search");
	ok(!ops[1].status && ops[1].old_value == 3, "batch: delete after it");
	ok(ops[2].status == -ENOENT, "batch: search after that");
	ok(ops[3].status == -EINVAL, "batch: unknown verb");
	ok(!ops[4].status && !ops[4].existed, "batch: the rest goes on");
	ok(!crabtree_batch(ct, ops, 0, &done) && !done, "batch of nothing");
	ok(crabtree_batch(ct, ops, CRABTREE_BATCH_MAX + 1, &done) == -EINVAL, "batch too large");
	ok(crabtree_commit(ct, ops, 1, &done) == -EOPNOTSUPP && done == 1,
	   "a commit in a store without commits");
}

#define OP(_verb, _key, _value, ...)							\
	((struct crabtree_batch_op){							\
		.verb = CRABTREE_BATCH_##_verb, .key = (_key), .value = (_value), __VA_ARGS__	\
	})

static void test_commit_refused(struct crabtree *ct)
{
	static struct crabtree_batch_op ops[CRABTREE_BATCH_MAX + 1];
	uint64_t value;
	uint32_t failed;

	ops[0] = OP(INSERT, 9, 9);
	ops[1] = OP(SEARCH, 1, 0, .flags = CRABTREE_IF_VALUE, .old_value = 4);
	ok(crabtree_commit(ct, ops, 2, &failed) == -ESTALE && failed == 1 &&
	   ops[1].status == -ESTALE && ops[1].old_value == 5 && ops[0].status == -ECANCELED &&
	   crabtree_search(ct, 9, &value) == -ENOENT, "commit: another value");
	ops[1] = OP(INSERT, 1, 0, .flags = CRABTREE_INSERT_CREATE);
	ok(crabtree_commit(ct, ops, 2, &failed) == -EEXIST && failed == 1, "commit: there already");
	ops[1] = OP(INSERT, 8, 1, .flags = CRABTREE_INSERT_ADD | CRABTREE_INSERT_REPLACE);
	ok(crabtree_commit(ct, ops, 2, &failed) == -ENOENT && failed == 1, "commit: not there");
	ops[1] = OP(DELETE, 9, 0);
	ok(crabtree_commit(ct, ops, 2, &failed) == -EINVAL && failed == 1, "commit: a key twice");
	ops[1] = OP(DELETE, 1, 0, .flags = CRABTREE_INSERT_ADD);
	ok(crabtree_commit(ct, ops, 2, &failed) == -EINVAL && failed == 1, "commit: flags");
	ops[1] = OP(DELETE, 1, 0);
	ops[1].verb = 4;
	ok(crabtree_commit(ct, ops, 2, &failed) == -EINVAL && failed == 1, "commit: a verb");
	ops[1] = OP(DELETE, CRABTREE_KEY_RESERVED, 0);
	ok(crabtree_commit(ct, ops, 2, &failed) == -EINVAL && failed == 1, "commit: the reserved key");
	ok(crabtree_commit(ct, ops, 0, &failed) == -EINVAL && !failed, "commit of nothing");
	ok(crabtree_commit(ct, ops, CRABTREE_COMMIT_MAX + 1, &failed) == -EINVAL &&
	   failed == CRABTREE_COMMIT_MAX + 1, "commit too large");
	ok(crabtree_commit(ct, ops, CRABTREE_BATCH_MAX + 1, NULL) == -EINVAL, "commit far too large");
}

static void test_commit(void)
{
	struct crabtree_format format = { .flags = CRABTREE_FORMAT_COMMITS };
	struct crabtree_batch_op ops[4] = {
		OP(INSERT, 1, 5), OP(INSERT, 2, -3ULL, .flags = CRABTREE_INSERT_ADD),
		OP(SEARCH, 3, 0, .flags = CRABTREE_IF_ABSENT), OP(DELETE, 4, 0),
	};
	struct crabtree *ct;
	uint64_t value;
	uint32_t failed;

	if (crabtree_create_image("commits.img", 65536) ||
	    crabtree_open(&ct, "file:commits.img", 0) ||
	    crabtree_format(ct, &format, sizeof(format)) || crabtree_insert(ct, 2, 10, 0, NULL, NULL)) {
		ok(0, "an image of commits");
		return;
	}
	ok(!crabtree_commit(ct, ops, 4, &failed) && failed == 4, "commit");
	ok(!ops[0].status && !ops[0].existed && !ops[1].status && ops[1].existed &&
	   ops[1].old_value == 10 && ops[2].status == -ENOENT && ops[3].status == -ENOENT,
	   "commit: results");
	ok(!crabtree_search(ct, 2, &value) && value == 7, "commit: the sum");
	test_commit_refused(ct);
	crabtree_close(ct);
	crabtree_open(&ct, "file:commits.img", CRABTREE_OPEN_READONLY);
	ops[2].flags = 0;
	ok(crabtree_commit(ct, ops, 1, NULL) == -EBADF, "a commit with a write is refused");
	ok(!crabtree_commit(ct, &ops[2], 1, NULL), "a commit of searches is not");
	crabtree_close(ct);
	unlink("commits.img");
}

static void test_cursor(struct crabtree *ct)
{
	struct crabtree_record records[7];
	struct crabtree_cursor cursor;
	uint64_t want = 0;
	bool good = true;
	int n, i;

	crabtree_cursor_init(&cursor, 0, UINT64_MAX);
	while ((n = crabtree_cursor_read(ct, &cursor, records, 7)) > 0) {
		for (i = 0; i < n; i++, want += 2)
			good &= records[i].key == want && records[i].value == want / 2;
		if (want == 70)		/* below the cursor: not returned; above it: returned */
			crabtree_insert(ct, 68, 34, 0, NULL, NULL);
	}
	ok(!n && good && want == 2 * MANY, "cursor, in chunks");
	ok(crabtree_cursor_read(ct, &cursor, records, 7) == 0, "cursor stays at the end");
	crabtree_cursor_init(&cursor, 4, 8);
	ok(crabtree_cursor_read(ct, &cursor, records, 7) == 3 && records[2].key == 8,
	   "cursor, both ends included");
	crabtree_cursor_init(&cursor, 9, 8);
	ok(crabtree_cursor_read(ct, &cursor, records, 7) == 0, "cursor, range turned round");
	crabtree_cursor_init(&cursor, 0, 8);
	ok(crabtree_cursor_read(ct, &cursor, records, 0) == -EINVAL, "cursor without room");
	ok(crabtree_cursor_read(ct, &cursor, records, 1) == 1 && cursor.next > 0 && !cursor.done,
	   "cursor goes on after an error");
}

static void test_reverse(struct crabtree *ct)
{
	struct crabtree_record records[7];
	struct crabtree_cursor cursor;
	struct crabtree_iter *iter;
	uint64_t want = 2 * MANY;
	bool good = true;
	int n, i;

	crabtree_cursor_init_reverse(&cursor, 0, UINT64_MAX);
	while ((n = crabtree_cursor_read(ct, &cursor, records, 7)) > 0)
		for (i = 0; i < n; i++, want -= 2)
			good &= records[i].key == want - 2 && records[i].value == want / 2 - 1;
	ok(!n && good && !want, "cursor in descending order, in chunks");
	crabtree_cursor_init_reverse(&cursor, 4, 8);
	ok(crabtree_cursor_read(ct, &cursor, records, 7) == 3 && records[2].key == 4,
	   "cursor in descending order, both ends included");
	crabtree_cursor_init_reverse(&cursor, 9, 8);
	ok(crabtree_cursor_read(ct, &cursor, records, 7) == 0,
	   "cursor in descending order, range turned round");
	ok(!crabtree_iter_new_reverse(ct, 7, 11, &iter) && crabtree_iter_tell(iter) == 11 &&
	   crabtree_iter_next(iter, records) == 1 && records->key == 10 &&
	   crabtree_iter_next(iter, records) == 1 && records->key == 8 &&
	   !crabtree_iter_next(iter, records) && crabtree_iter_tell(iter) == UINT64_MAX,
	   "iterator in descending order");
	crabtree_iter_free(iter);
}

/* Removes records after the others: other tests rely on the leaves of those */
static void test_delete_range(struct crabtree *ct)
{
	const uint64_t from = 1ULL << 40, to = from + 500;
	uint64_t key, deleted = 99, next = 99, value;

	for (key = from; key < to; key++)
		crabtree_insert(ct, key, 1, 0, NULL, NULL);
	for (key = from; key < from + 50; key++)
		if (crabtree_delete_range(ct, key, key, &deleted, NULL) || deleted != 1)
			break;
	ok(key == from + 50, "delete ranges of one key");
	ok(!crabtree_delete_range(ct, from, from + 49, &deleted, &next) && !deleted && !next,
	   "delete an empty range");
	ok(!crabtree_delete_range(ct, from, UINT64_MAX, &deleted, &next) && deleted == 450 && !next,
	   "delete a range up to the end");
	ok(!crabtree_search(ct, 2 * MANY - 2, &value) &&
	   crabtree_search(ct, to - 1, &value) == -ENOENT, "and nothing before it");
}

static void test_iter(struct crabtree *ct)
{
	struct crabtree_record record;
	struct crabtree_iter *iter;
	uint64_t want = 10;
	int err;

	ok(!crabtree_iter_new(ct, 9, 2 * MANY, &iter), "iterator");
	while ((err = crabtree_iter_next(iter, &record)) > 0) {
		if (record.key != want)
			break;
		want += 2;
	}
	ok(!err && want == 2 * MANY, "iterator gives each record once");
	ok(crabtree_iter_next(iter, &record) == 0, "iterator stays at the end");
	crabtree_iter_free(iter);
	crabtree_iter_free(NULL);
}

/* Inverts a byte of the header of the second leaf, which has the keys from 122 on */
static bool damage(void)
{
	FILE *file = fopen(IMAGE, "r+b");
	int byte = EOF;

	if (!file)
		return false;
	if (!fseek(file, 16384 + 1024 + 24, SEEK_SET))
		byte = fgetc(file);
	if (byte == EOF || fseek(file, -1, SEEK_CUR) || fputc(byte ^ 0xff, file) == EOF)
		byte = EOF;
	return !fclose(file) && byte != EOF;
}

static void test_quarantine(void)
{
	struct crabtree_record records[MANY];
	struct crabtree_cursor cursor;
	struct crabtree_iter *iter;
	struct crabtree *ct;
	int n;

	ok(damage() && !crabtree_open_image(&ct, IMAGE, CRABTREE_OPEN_READONLY), "damage");
	crabtree_cursor_init(&cursor, 0, UINT64_MAX);
	ok(crabtree_cursor_read(ct, &cursor, records, MANY) == 61, "cursor, before a quarantine");
	ok(crabtree_cursor_read(ct, &cursor, records, MANY) == -EUCLEAN && cursor.next == 244,
	   "cursor, at it: now behind");
	n = crabtree_cursor_read(ct, &cursor, records, MANY);
	ok(n == MANY - 122 && records[0].key == 244, "cursor, behind it");
	crabtree_cursor_init_reverse(&cursor, 0, 300);
	ok(crabtree_cursor_read(ct, &cursor, records, MANY) == 29 && records[28].key == 244,
	   "cursor in descending order, before a quarantine");
	ok(crabtree_cursor_read(ct, &cursor, records, MANY) == -EUCLEAN && cursor.next == 120 &&
	   crabtree_cursor_read(ct, &cursor, records, MANY) == 61 && records[0].key == 120,
	   "cursor in descending order, around it");
	crabtree_cursor_init(&cursor, 200, 210);
	ok(crabtree_cursor_read(ct, &cursor, records, MANY) == -EUCLEAN && cursor.done,
	   "cursor, nothing behind it");
	ok(!crabtree_iter_new(ct, 130, 300, &iter) && crabtree_iter_tell(iter) == 130,
	   "iterator tells where it begins");
	ok(crabtree_iter_next(iter, records) == -EUCLEAN && crabtree_iter_tell(iter) == 244 &&
	   crabtree_iter_next(iter, records) == 1 && records[0].key == 244 &&
	   crabtree_iter_tell(iter) == 246, "iterator, around it");
	crabtree_iter_free(iter);
	ok(crabtree_search(ct, 200, &cursor.next) == -EUCLEAN, "search in it");
	crabtree_close(ct);
}

static void test_readonly(void)
{
	struct crabtree_format format = { 0 };
	struct crabtree_batch_op write = { .verb = CRABTREE_BATCH_DELETE, .key = 8 };
	struct crabtree_batch_op read = { .verb = CRABTREE_BATCH_SEARCH, .key = 8 };
	struct crabtree *ct, *other;
	struct crabtree_info info;
	uint64_t value;

	ok(!crabtree_open_image(&ct, IMAGE, CRABTREE_OPEN_READONLY), "open for reading");
	ok(!crabtree_open_image(&other, IMAGE, CRABTREE_OPEN_READONLY), "twice");
	crabtree_close(other);
	ok(crabtree_open_image(&other, IMAGE, 0) == -EWOULDBLOCK, "no writer beside a reader");
	ok(!crabtree_info(ct, &info, sizeof(info)) && !strcmp(info.label, "library") &&
	   info.records == MANY,
	   "info");
	ok(!crabtree_search(ct, 8, &value) && value == 4, "the written value is there");
	ok(crabtree_insert(ct, 8, 1, 0, NULL, NULL) == -EBADF, "insert is refused");
	ok(crabtree_delete(ct, 8, NULL) == -EBADF, "delete is refused");
	ok(crabtree_batch(ct, &write, 1, NULL) == -EBADF, "a batch with a write is refused");
	ok(!crabtree_batch(ct, &read, 1, NULL) && read.value == 4, "a batch of searches is not");
	ok(crabtree_format(ct, &format, sizeof(format)) == -EBADF, "format is refused");
	ok(!crabtree_close(ct), "close");
}

static int call(struct crabtree *ct, unsigned long cmd, void *arg)
{
	return ct->backend->call(ct, cmd, arg);
}

/* The rules of <linux/crabtree.h>; selftests/device tests them on the module */
static void test_rules(void)
{
	struct crabtree_scan scan = { .size = sizeof(scan), .end = UINT64_MAX };
	struct crabtree_delete delete = { .size = sizeof(delete), .key = 9, .old_value = 77 };
	struct crabtree_insert insert = { .size = sizeof(insert), .key = 8, .reserved = 1 };
	struct crabtree_search search = { .size = sizeof(search), .key = 8, .flags = 3 };
	struct crabtree_format format = { .size = sizeof(format), .flags = CRABTREE_FORMAT_FORCE };
	struct crabtree *ct;
	uint64_t value;

	ok(!crabtree_open_image(&ct, IMAGE, 0), "open for writing");
	ok(!call(ct, CRABTREE_SCAN, &scan) && !scan.count && scan.more && !scan.next,
	   "scan without room");
	scan.reserved = 1;
	ok(call(ct, CRABTREE_SCAN, &scan) == -EINVAL, "scan, reserved field");
	ok(call(ct, CRABTREE_DELETE, &delete) == -ENOENT && !delete.old_value,
	   "delete of nothing clears the old value");
	ok(call(ct, CRABTREE_INSERT, &insert) == -EINVAL, "insert, reserved field");
	ok(call(ct, CRABTREE_SEARCH, &search) == -EINVAL, "search, both ways");
	memset(format.layout, 'x', sizeof(format.layout));
	ok(call(ct, CRABTREE_FORMAT, &format) == -EINVAL, "format, name without an end");
	ok(call(ct, 0, &format) == -ENOTTY, "no such verb");
	ok(!crabtree_search(ct, 8, &value) && value == 4, "nothing was changed");
	crabtree_close(ct);
}

/* The path chooses the backend */
static void test_file(void)
{
	struct crabtree *ct;
	uint64_t value;

	ok(!crabtree_open(&ct, "file:" IMAGE, 0), "open file:");
	ok(!crabtree_search(ct, 8, &value) && value == 4, "the same store");
	crabtree_close(ct);
	ok(crabtree_open(&ct, "file:/nonexistent", 0) == -ENOENT, "open file:, not there");
	ok(crabtree_open(&ct, "file:/dev/null", 0) == -ENOTTY, "open file:, a device");
}

/* A store that FORMAT has begun stays, before its first use and after it, if the next FORMAT is refused */
static void test_unfinished(void)
{
	struct crabtree_format begin = { .flags = CRABTREE_FORMAT_FORCE | CRABTREE_FORMAT_UNFINISHED };
	struct crabtree_format refused = { .flags = CRABTREE_FORMAT_FORCE, .leaf_bytes = 3 };
	struct crabtree_format finish = { .flags = CRABTREE_FORMAT_FINISH };
	struct crabtree *ct;
	uint64_t value;

	ok(!crabtree_open(&ct, "file:" IMAGE, 0) && !crabtree_format(ct, &begin, sizeof(begin)) &&
	   crabtree_format(ct, &refused, sizeof(refused)) == -EINVAL &&
	   !crabtree_insert(ct, 1, 2, 0, NULL, NULL), "an unfinished store, before its first use");
	ok(crabtree_format(ct, &refused, sizeof(refused)) == -EINVAL &&
	   !crabtree_format(ct, &finish, sizeof(finish)) &&
	   !crabtree_search(ct, 1, &value) && value == 2, "and after it");
	crabtree_close(ct);
}

struct worker {
	struct crabtree *ct;
	uint64_t first;
	int err;
};

static void *work(void *arg)
{
	struct worker *worker = arg;
	uint64_t i;

	for (i = 0; i < MANY && !worker->err; i++)
		worker->err = crabtree_insert(worker->ct, worker->first + i, i, 0, NULL, NULL);
	return NULL;
}

static void test_threads(void)
{
	struct worker workers[4] = { 0 };
	pthread_t threads[4];
	struct crabtree_format format = { .flags = CRABTREE_FORMAT_FORCE };
	struct crabtree_check check = { 0 };
	struct crabtree *ct;
	int err, i;

	err = crabtree_open(&ct, "file:" IMAGE, 0) ?: crabtree_format(ct, &format, sizeof(format));
	for (i = 0; i < 4 && !err; i++) {
		workers[i] = (struct worker){ .ct = ct, .first = 1000000 + i * MANY };
		err = pthread_create(&threads[i], NULL, work, &workers[i]);
	}
	while (i--) {
		pthread_join(threads[i], NULL);
		err |= workers[i].err;
	}
	ok(!err, "threads share the handle of an image");
	ok(!crabtree_check(ct, &check, sizeof(check)) && !check.errors &&
	   check.records == 4 * MANY, "and it is sound");
	crabtree_close(ct);
}

/* A newer program that uses a field which this version does not know; a page is the most */
static void test_tails(struct crabtree *ct)
{
	static _Alignas(8) char room[4097];
	struct crabtree_search *search = (void *)room;
	const size_t ends[] = { sizeof(*search), 4095 };
	int i, good = 0;

	for (i = 0; i < 2; i++) {
		*search = (struct crabtree_search){ .size = 4096, .key = 1000000, .value = 77 };
		room[ends[i]] = 1;
		good += call(ct, CRABTREE_SEARCH, room) == -E2BIG && search->value == 77;
		room[ends[i]] = 0;
	}
	ok(good == 2, "a tail that is not zero, from its first byte to its last");
	ok(!call(ct, CRABTREE_SEARCH, room) && !search->value, "one of zeros, up to a page");
	search->size = 4097;
	ok(call(ct, CRABTREE_SEARCH, room) == -E2BIG, "and no more than a page");
}

/* Programs of an older and of a newer version: with less, and with more, after the structure */
static void test_sizes(void)
{
	struct {
		struct crabtree_info info;
		uint64_t after;
	} room = { .after = 7 };
	size_t first = offsetof(struct crabtree_info, keeps);
	struct crabtree *ct;

	ok(!crabtree_open(&ct, "file:" IMAGE, 0), "open, for programs of other versions");
	room.info.keeps = 7;
	ok(!crabtree_info(ct, &room.info, first) && room.info.keeps == 7 && room.info.size == first,
	   "info writes no more than an older program has");
	ok(!crabtree_info(ct, &room.info, sizeof(room)) && !room.after &&
	   room.info.size == sizeof(room), "and zeros where a newer one has more");
	ok(crabtree_info(ct, &room.info, first - 1) == -EINVAL, "a size before the first version");
	test_tails(ct);
	crabtree_close(ct);
}

static void test_words(void)
{
	ok(!strcmp(crabtree_strerror(-ENOENT), "no such key, device or file"),
	   "words for a negative errno");
	ok(!strcmp(crabtree_strerror(ENOENT), "no such key, device or file"),
	   "words for a positive errno");
	ok(!strncmp(crabtree_strerror(-EWOULDBLOCK), "another program", 15), "an image that is in use");
	ok(strstr(crabtree_strerror(-EMFILE), "64 watches"), "words for a limit of the device");
	ok(strstr(crabtree_strerror(-EOPNOTSUPP), "image, which has no watch"), "words for a call that no image has");
	ok(!strcmp(crabtree_strerror(EINVAL), strerror(EINVAL)), "words for any other");
	ok(!strcmp(crabtree_state_name(CRABTREE_STATE_GONE), "gone"), "name of a state");
	ok(!strcmp(crabtree_state_name(99), "unknown"), "name of an unknown state");
	ok(!strcmp(crabtree_durability_name(CRABTREE_DURABILITY_POP), "pop"),
	   "name of a durability class");
	ok(!strcmp(crabtree_model_name(CRABTREE_MODEL_WORD), "word"), "name of a media model");
	ok(!strcmp(crabtree_model_name(CRABTREE_MODEL_WHOLE_LINE), "whole-line"),
	   "name of the last media model");
}

int main(void)
{
	struct crabtree *ct;

	ct = open_new();
	if (!ct)
		return 1;
	test_open();
	test_records(ct);
	test_batch(ct);
	test_cursor(ct);
	test_reverse(ct);
	test_delete_range(ct);
	test_iter(ct);
	ok(!crabtree_sync(ct), "sync");
	ok(!crabtree_close(ct), "close the writer");
	test_readonly();
	test_rules();
	test_file();
	test_quarantine();
	test_unfinished();
	test_threads();
	test_commit();
	test_values();
	test_device();
	test_sizes();
	test_words();
	test_info();
	test_fork();
	return 0;
}
