// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests COMMIT over the device, in stores of blobs and of names: its results, conditions and
 * errors, user memory that faults, and that snapshots and readers see all of a commit or none.
 *
 * Invariant: a refused call leaves the store sound and as it was.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#include "observe.h"

#define BLOBS		(CRABTREE_FORMAT_COMMITS | CRABTREE_FORMAT_BLOBS)
#define NAMES		(CRABTREE_FORMAT_COMMITS | CRABTREE_FORMAT_NAMES)
#define ACCOUNTS	8
#define SUM		8000
#define READS		10	/* of all accounts, while amounts move */
#define TEXT		3	/* bytes of a name: its number */

static char text[100][TEXT + 1];
static u64 room[8192];
static int bank_fd;
static bool bank_names;
static atomic_bool stop;
static atomic_int reads;

/* @key: the key, or the number that is the name */
static void key_set(bool names, u64 key, __u64 *to, __u32 *name_bytes)
{
	*to = key;
	*name_bytes = 0;
	if (!names)
		return;
	/* Once: other threads may use the name */
	if (!text[key][0])
		snprintf(text[key], sizeof(text[key]), "%03d", (int)key);
	*to = (uintptr_t)text[key];
	*name_bytes = TEXT;
}

static void op_set(struct crabtree_commit_op *op, bool names, u32 verb, u64 key, const void *value,
		   u32 bytes)
{
	poison(op, sizeof(*op));
	op->verb = verb;
	op->flags = 0;
	op->type = 0;
	op->reserved = 0;
	op->value = (uintptr_t)value;
	op->bytes = bytes;
	key_set(names, key, &op->key, &op->name_bytes);
}

static int commit(int fd, struct crabtree_commit_op *ops, u32 count, u32 *failed)
{
	struct crabtree_commit c;
	int err;

	poison(&c, sizeof(c));
	c.flags = 0;
	c.ops = (uintptr_t)ops;
	c.count = count;
	err = call(fd, CRABTREE_COMMIT, &c);
	*failed = c.failed;
	return err;
}

static int get(int fd, bool names, u64 key, void *to, u32 capacity, struct crabtree_get *g)
{
	poison(g, sizeof(*g));
	g->flags = 0;
	g->value = (uintptr_t)to;
	g->capacity = capacity;
	key_set(names, key, &g->key, &g->name_bytes);
	return call(fd, CRABTREE_GET, g);
}

static u64 version_of(int fd, bool names, u64 key)
{
	struct crabtree_get g;

	REQUIRE(get(fd, names, key, room, sizeof(room), &g), 0);
	return g.version;
}

static bool has(int fd, bool names, u64 key, const char *value)
{
	struct crabtree_get g;

	return !get(fd, names, key, room, sizeof(room), &g) && g.bytes == strlen(value) &&
	       !memcmp(room, value, g.bytes);
}

static void put_one(int fd, bool names, u64 key, const char *value)
{
	struct crabtree_commit_op op;
	u32 failed;

	op_set(&op, names, CRABTREE_COMMIT_PUT, key, value, strlen(value));
	REQUIRE(commit(fd, &op, 1, &failed), 0);
}

/* One operation that is refused, after a put that must not be done */
static void refused(int fd, bool names, const struct crabtree_commit_op *bad, int want)
{
	struct crabtree_commit_op op[2];
	struct crabtree_get g;
	u32 failed;

	op_set(&op[0], names, CRABTREE_COMMIT_PUT, 99, "x", 1);
	op[1] = *bad;
	EXPECT(commit(fd, op, 2, &failed), want);
	EXPECT(failed, 1);
	EXPECT(op[0].status, -ECANCELED);
	EXPECT(op[1].status, want);
	EXPECT(get(fd, names, 99, room, 1, &g), -ENOENT);
}

static void results_of(const char *engine, bool names)
{
	int fd = fresh_store_kind(engine, names ? NAMES : BLOBS);
	struct crabtree_commit_op op[5];
	u32 failed;

	put_one(fd, names, 1, "one");
	put_one(fd, names, 2, "two");
	op_set(&op[0], names, CRABTREE_COMMIT_PUT, 1, "uno", 3);
	op_set(&op[1], names, CRABTREE_COMMIT_PUT, 3, "", 0);
	op_set(&op[2], names, CRABTREE_COMMIT_ERASE, 2, NULL, 0);
	op_set(&op[3], names, CRABTREE_COMMIT_ERASE, 4, NULL, 0);
	op_set(&op[4], names, CRABTREE_COMMIT_TEST, 5, NULL, 0);
	op[4].flags = CRABTREE_IF_ABSENT;
	REQUIRE(commit(fd, op, 5, &failed), 0);
	EXPECT(failed, 5);
	EXPECT(op[0].status, 0);
	EXPECT(op[0].existed, 1);
	EXPECT(op[0].version, version_of(fd, names, 1));
	EXPECT(op[1].existed, 0);
	EXPECT_TRUE(op[1].version > op[0].version);
	EXPECT(op[2].status, 0);
	EXPECT(op[2].existed, 0);
	EXPECT(op[3].status, -ENOENT);
	EXPECT(op[4].status, 0);
	EXPECT_TRUE(has(fd, names, 1, "uno"));
	EXPECT_TRUE(has(fd, names, 3, ""));
	expect_sound(fd, 2);
	close(fd);
}

TEST(results, "COMMIT: every verb, a result each, with every engine")
{
	static const char * const engines[] = { "crab", "nvtree", "fastfair", "clfb", "nbtree" };
	u32 i;

	for (i = 0; i < sizeof(engines) / sizeof(*engines); i++) {
		results_of(engines[i], false);
		results_of(engines[i], true);
	}
}

static void conditions_of(bool names)
{
	static const struct {
		u32 verb;
		u64 key;
		u32 flags;
		int want;
	} cases[] = {
		{ CRABTREE_COMMIT_PUT, 1, CRABTREE_IF_ABSENT, -EEXIST },
		{ CRABTREE_COMMIT_PUT, 2, CRABTREE_IF_EXISTS, -ENOENT },
		{ CRABTREE_COMMIT_PUT, 1, CRABTREE_IF_VERSION, -ESTALE },
		{ CRABTREE_COMMIT_PUT, 2, CRABTREE_IF_VERSION, -ENOENT },
		{ CRABTREE_COMMIT_ERASE, 2, CRABTREE_IF_EXISTS, -ENOENT },
		{ CRABTREE_COMMIT_ERASE, 1, CRABTREE_IF_VERSION, -ESTALE },
		{ CRABTREE_COMMIT_ERASE, 2, CRABTREE_IF_VERSION, -ENOENT },
		{ CRABTREE_COMMIT_TEST, 1, CRABTREE_IF_ABSENT, -EEXIST },
		{ CRABTREE_COMMIT_TEST, 2, CRABTREE_IF_EXISTS, -ENOENT },
		{ CRABTREE_COMMIT_TEST, 1, CRABTREE_IF_VERSION, -ESTALE },
	};
	int fd = fresh_store_kind("", names ? NAMES : BLOBS);
	struct crabtree_commit_op op[2];
	u32 failed, i;

	put_one(fd, names, 1, "one");
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		op_set(&op[0], names, cases[i].verb, cases[i].key, NULL, 0);
		op[0].flags = cases[i].flags;
		op[0].version = version_of(fd, names, 1) + 1;
		refused(fd, names, &op[0], cases[i].want);
	}
	op_set(&op[0], names, CRABTREE_COMMIT_TEST, 1, NULL, 0);
	op[0].flags = CRABTREE_IF_VERSION;
	op[0].version = version_of(fd, names, 1);
	op_set(&op[1], names, CRABTREE_COMMIT_PUT, 2, "two", 3);
	op[1].flags = CRABTREE_IF_ABSENT;
	EXPECT(commit(fd, op, 2, &failed), 0);
	EXPECT_TRUE(has(fd, names, 2, "two"));
	expect_sound(fd, 2);
	close(fd);
}

TEST(conditions, "COMMIT: a condition that does not hold: nothing is done")
{
	conditions_of(false);
	conditions_of(true);
}

TEST(bad_input, "COMMIT: numbers, verbs, flags, keys, names and types that are refused")
{
	static struct crabtree_commit_op op[65];
	char longest[CRABTREE_NAME_MAX];
	int fd = fresh_store_kind("", BLOBS);
	u32 failed, i;

	op_set(&op[0], false, 0, 1, "", 0);
	refused(fd, false, &op[0], -EINVAL);
	op[0].verb = 4;
	refused(fd, false, &op[0], -EINVAL);
	op_set(&op[0], false, CRABTREE_COMMIT_PUT, ~0ULL, "", 0);
	refused(fd, false, &op[0], -EINVAL);
	op_set(&op[0], false, CRABTREE_COMMIT_PUT, 99, "", 0);
	refused(fd, false, &op[0], -EINVAL);
	op_set(&op[0], false, CRABTREE_COMMIT_PUT, 1, "", 0);
	op[0].flags = 8;
	refused(fd, false, &op[0], -EINVAL);
	op[0].flags = 0;
	op[0].reserved = 1;
	refused(fd, false, &op[0], -EINVAL);
	op[0].reserved = 0;
	op[0].type = CRABTREE_TYPE_TEXT;
	refused(fd, false, &op[0], -EINVAL);
	op[0].type = 0;
	op[0].bytes = CRABTREE_BLOB_MAX + 1;
	refused(fd, false, &op[0], -EMSGSIZE);
	op[0].bytes = ~0U;
	refused(fd, false, &op[0], -EMSGSIZE);
	op_set(&op[0], true, CRABTREE_COMMIT_ERASE, 1, NULL, 0);
	refused(fd, false, &op[0], -EOPNOTSUPP);
	for (i = 0; i < 65; i++)
		op_set(&op[i], false, CRABTREE_COMMIT_PUT, i, "v", 1);
	EXPECT(commit(fd, op, 0, &failed), -EINVAL);
	EXPECT(failed, 0);
	EXPECT(commit(fd, op, 65, &failed), -EINVAL);
	EXPECT(failed, 65);
	EXPECT(commit(fd, op, ~0U, &failed), -EINVAL);
	EXPECT(failed, ~0U);
	expect_sound(fd, 0);
	EXPECT(commit(fd, op, 64, &failed), 0);
	expect_sound(fd, 64);
	close(fd);
	fd = fresh_store_kind("", NAMES);
	op_set(&op[0], false, CRABTREE_COMMIT_PUT, 0, "", 0);
	refused(fd, true, &op[0], -EOPNOTSUPP);
	op_set(&op[0], true, CRABTREE_COMMIT_PUT, 99, "", 0);
	refused(fd, true, &op[0], -EINVAL);
	op_set(&op[0], true, CRABTREE_COMMIT_PUT, 1, "", 0);
	op[0].name_bytes = CRABTREE_NAME_MAX + 1;
	refused(fd, true, &op[0], -EINVAL);
	op[0].name_bytes = ~0U;
	refused(fd, true, &op[0], -EINVAL);
	op_set(&op[0], true, CRABTREE_COMMIT_PUT, 1, "12", 2);
	op[0].type = CRABTREE_TYPE_U32;
	refused(fd, true, &op[0], -EINVAL);
	op_set(&op[0], true, CRABTREE_COMMIT_PUT, 1, "2", 1);
	op[0].type = CRABTREE_TYPE_BOOL;
	refused(fd, true, &op[0], -EINVAL);
	expect_sound(fd, 0);
	memset(longest, 'n', sizeof(longest));
	op[0].type = 0;
	op[0].key = (uintptr_t)longest;
	op[0].name_bytes = sizeof(longest);
	EXPECT(commit(fd, op, 1, &failed), 0);
	expect_sound(fd, 1);
}

TEST(not_put, "COMMIT: TEST and ERASE with a value, a length or a type: EINVAL")
{
	static const u32 verbs[] = { CRABTREE_COMMIT_TEST, CRABTREE_COMMIT_ERASE };
	struct crabtree_commit_op op;
	int names, i, fd;

	for (names = 0; names < 2; names++) {
		fd = fresh_store_kind("", names ? NAMES : BLOBS);
		put_one(fd, names, 1, "one");
		for (i = 0; i < 2; i++) {
			op_set(&op, names, verbs[i], 1, "x", 0);
			refused(fd, names, &op, -EINVAL);
			op_set(&op, names, verbs[i], 1, NULL, 3);
			refused(fd, names, &op, -EINVAL);
			op_set(&op, names, verbs[i], 1, NULL, 0);
			op.type = CRABTREE_TYPE_U8;
			refused(fd, names, &op, -EINVAL);
		}
		EXPECT_TRUE(has(fd, names, 1, "one"));
		expect_sound(fd, 1);
		close(fd);
	}
}

TEST(kinds, "COMMIT in other stores, by other descriptors, and of a snapshot")
{
	struct crabtree_commit_op op;
	int fd = fresh_store(0), reader;
	u32 failed;

	op_set(&op, false, CRABTREE_COMMIT_PUT, 1, "v", 1);
	EXPECT(commit(fd, &op, 1, &failed), -EOPNOTSUPP);
	EXPECT(failed, 1);
	EXPECT(op.status, -ECANCELED);
	close(fd);
	fd = fresh_store_kind("", CRABTREE_FORMAT_COMMITS);
	EXPECT(commit(fd, &op, 1, &failed), -EOPNOTSUPP);
	close(fd);
	fd = fresh_store_kind("", CRABTREE_FORMAT_BLOBS);
	EXPECT(commit(fd, &op, 1, &failed), -EOPNOTSUPP);
	close(fd);
	fd = fresh_store_kind("", BLOBS);
	reader = device_open(O_RDONLY);
	EXPECT(commit(reader, &op, 1, &failed), -EBADF);
	op_set(&op, false, CRABTREE_COMMIT_TEST, 1, NULL, 0);
	op.flags = CRABTREE_IF_ABSENT;
	EXPECT(commit(reader, &op, 1, &failed), 0);
	EXPECT(commit(dev_snapshot(fd), &op, 1, &failed), -ENOTTY);
	expect_sound(fd, 0);
}

TEST(full, "COMMIT in a store that is full: ENOSPC, and nothing is done; then erases make room")
{
	static struct crabtree_commit_op op[16];
	int fd = fresh_store_kind("", BLOBS);
	u64 key = 0, full;
	u32 failed, i;

	do {
		for (i = 0; i < 16; i++)
			op_set(&op[i], false, CRABTREE_COMMIT_PUT, key + i, room, 2000);
		key += 16;
	} while (!commit(fd, op, 16, &failed));
	EXPECT(commit(fd, op, 16, &failed), -ENOSPC);
	EXPECT(failed, 16);
	EXPECT(op[0].status, -ECANCELED);
	full = key - 16;
	EXPECT_TRUE(full > 64);
	expect_sound(fd, full);
	for (key = 0; key < full; key += 16) {
		for (i = 0; i < 16; i++)
			op_set(&op[i], false, CRABTREE_COMMIT_ERASE, key + i, NULL, 0);
		REQUIRE(commit(fd, op, 16, &failed), 0);
	}
	expect_sound(fd, 0);
}

/* A name, or a value, that runs into memory that is not there */
static void fault_at(int fd, struct crabtree_commit_op *op, bool name, char *end)
{
	u32 failed;

	op_set(&op[0], true, CRABTREE_COMMIT_PUT, 1, "one", 3);
	op_set(&op[1], true, CRABTREE_COMMIT_PUT, 2, "two", 3);
	*(name ? &op[1].key : &op[1].value) = (uintptr_t)end - 2;
	EXPECT(commit(fd, op, 2, &failed), -EFAULT);
	expect_sound(fd, 0);
}

TEST(faults, "user memory that ends within operations, names or values: EFAULT, and nothing is done")
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *end = page_end();
	struct crabtree_commit_op *op = (void *)(end - 2 * sizeof(*op));
	int fd = fresh_store_kind("", NAMES);
	u32 failed;

	fault_at(fd, op, true, end);
	fault_at(fd, op, false, end);
	fault_at(fd, op, true, (char *)sizeof(room));
	op_set(&op[1], true, CRABTREE_COMMIT_PUT, 2, "two", 3);
	EXPECT(commit(fd, op, 3, &failed), -EFAULT);
	EXPECT(commit(fd, NULL, 3, &failed), -EFAULT);
	REQUIRE(mprotect(end - page, page, PROT_READ), 0);
	EXPECT(commit(fd, op, 2, &failed), -EFAULT);
	expect_sound(fd, 0);
	REQUIRE(mprotect(end - page, page, PROT_READ | PROT_WRITE), 0);
	EXPECT(commit(fd, op, 2, &failed), 0);
	expect_sound(fd, 2);
}

TEST(observed, "a snapshot has none of a later commit; a watch reports all of it")
{
	struct crabtree_change change[4];
	struct crabtree_commit_op op[3];
	int fd = fresh_store_kind("", BLOBS), snapshot, watch;
	struct crabtree_get g;
	u32 failed;

	put_one(fd, false, 1, "one");
	snapshot = dev_snapshot(fd);
	watch = open_watch(fd, 0, 100, 8);
	op_set(&op[0], false, CRABTREE_COMMIT_PUT, 1, "uno", 3);
	op_set(&op[1], false, CRABTREE_COMMIT_PUT, 2, "two", 3);
	op_set(&op[2], false, CRABTREE_COMMIT_ERASE, 3, NULL, 0);
	EXPECT(commit(fd, op, 3, &failed), 0);
	EXPECT_TRUE(has(snapshot, false, 1, "one"));
	EXPECT(get(snapshot, false, 2, room, 8, &g), -ENOENT);
	REQUIRE(read_changes(watch, change, 4), 2);
	EXPECT(change[0].key, 1);
	EXPECT(change[0].value, op[0].version);
	EXPECT(change[1].key, 2);
	EXPECT(change[1].value, op[1].version);
	EXPECT(change[1].flags, 0);
	expect_sound(fd, 2);
}

/* Moves amounts between two accounts, until a reader has seen some; if another thread was first, again */
static void *bank_move(void *arg)
{
	unsigned long long seed = (long)arg;
	struct crabtree_commit_op op[2];
	struct crabtree_get g;
	u64 value[2], account[2], amount;
	u32 failed, i, k;
	int err;

	for (i = 0; i < 100 || atomic_load(&reads) < READS; i++) {
		account[0] = rng_below(&seed, ACCOUNTS);
		account[1] = (account[0] + 1 + rng_below(&seed, ACCOUNTS - 1)) % ACCOUNTS;
		amount = rng_below(&seed, 50);
		do {
			for (k = 0; k < 2; k++) {
				op_set(&op[k], bank_names, CRABTREE_COMMIT_PUT, account[k], &value[k], 8);
				g = (struct crabtree_get){
					.size = sizeof(g), .key = op[k].key, .name_bytes = op[k].name_bytes,
					.value = (uintptr_t)&value[k], .capacity = 8,
				};
				REQUIRE(call(bank_fd, CRABTREE_GET, &g), 0);
				op[k].flags = CRABTREE_IF_VERSION;
				op[k].version = g.version;
				value[k] += k ? amount : -amount;
			}
			err = commit(bank_fd, op, 2, &failed);
		} while (err == -ESTALE);
		REQUIRE(err, 0);
	}
	return NULL;
}

/* All accounts, of a snapshot */
static void *bank_read(void *arg)
{
	struct crabtree_get g;
	u64 value, sum;
	u32 i;
	int snapshot;

	(void)arg;
	while (!atomic_load(&stop)) {
		snapshot = dev_snapshot(bank_fd);
		for (i = 0, sum = 0; i < ACCOUNTS; i++, sum += value) {
			g = (struct crabtree_get){
				.size = sizeof(g), .value = (uintptr_t)&value, .capacity = 8,
			};
			key_set(bank_names, i, &g.key, &g.name_bytes);
			REQUIRE(call(snapshot, CRABTREE_GET, &g), 0);
		}
		REQUIRE(sum, SUM);
		close(snapshot);
		atomic_fetch_add(&reads, 1);
	}
	return NULL;
}

static void bank_of(bool names)
{
	static const u64 balance = SUM / ACCOUNTS;
	struct crabtree_commit_op op[ACCOUNTS];
	pthread_t thread[3];
	u32 failed;
	long i;

	bank_names = names;
	bank_fd = fresh_store_kind("", names ? NAMES : BLOBS);
	atomic_store(&stop, false);
	atomic_store(&reads, 0);
	for (i = 0; i < ACCOUNTS; i++)
		op_set(&op[i], names, CRABTREE_COMMIT_PUT, i, &balance, 8);
	REQUIRE(commit(bank_fd, op, ACCOUNTS, &failed), 0);
	for (i = 0; i < 3; i++)
		REQUIRE(pthread_create(&thread[i], NULL, i < 2 ? bank_move : bank_read, (void *)(i + 1)), 0);
	for (i = 0; i < 3; i++) {
		REQUIRE(pthread_join(thread[i], NULL), 0);
		atomic_store(&stop, i > 0);
	}
	expect_sound(bank_fd, ACCOUNTS);
	close(bank_fd);
}

TEST(bank, "a bank of blobs, and one of names: transfers in two threads, one sum in every snapshot")
{
	bank_of(false);
	bank_of(true);
}
