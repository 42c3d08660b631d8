// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests stores of commits over the device: BATCH with ATOMIC, its results, conditions and
 * errors, and that readers, snapshots and watches see all of a commit or none.
 *
 * Invariant: a refused call leaves the store sound and as it was.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "observe.h"

#define ACCOUNTS	8
#define SUM		8000
#define READS		10	/* of all accounts, while amounts move */

static int bank_fd;
static atomic_bool stop;
static atomic_int reads;

static int commit(int fd, struct crabtree_batch_op *ops, u32 count, u32 *done)
{
	struct crabtree_batch b;
	int err;

	poison(&b, sizeof(b));
	b.flags = CRABTREE_BATCH_ATOMIC;
	b.ops = (uintptr_t)ops;
	b.count = count;
	err = call(fd, CRABTREE_BATCH, &b);
	*done = b.done;
	return err;
}

/* One operation that is refused, after a write that must not be done */
static void refused(int fd, u32 verb, u64 key, u32 flags, u64 expected, int want)
{
	struct crabtree_batch_op op[2];
	u64 got;
	u32 done;

	dev_op(&op[0], CRABTREE_BATCH_INSERT, 99, 1);
	dev_op(&op[1], verb, key, 1);
	op[1].flags = flags;
	op[1].old_value = expected;
	EXPECT(commit(fd, op, 2, &done), want);
	EXPECT(done, 1);
	EXPECT(op[0].status, -ECANCELED);
	EXPECT(op[1].status, want);
	EXPECT(dev_get(fd, 99, &got), -ENOENT);
}

TEST(results, "ATOMIC: every verb, a result each, with every engine")
{
	static const char * const engines[] = { "crab", "nvtree", "fastfair", "clfb", "nbtree",
						"volatile" };
	struct crabtree_batch_op op[5];
	u32 done, i;
	u64 got;

	for (i = 0; i < sizeof(engines) / sizeof(*engines); i++) {
		int fd = fresh_store_kind(engines[i], CRABTREE_FORMAT_COMMITS);

		REQUIRE(dev_put(fd, 1, 10), 0);
		REQUIRE(dev_put(fd, 2, 20), 0);
		dev_op(&op[0], CRABTREE_BATCH_INSERT, 1, 11);
		dev_op(&op[1], CRABTREE_BATCH_INSERT, 3, 30);
		dev_op(&op[2], CRABTREE_BATCH_DELETE, 2, 0);
		dev_op(&op[3], CRABTREE_BATCH_SEARCH, 4, 0);
		dev_op(&op[4], CRABTREE_BATCH_INSERT, 5, -5ULL);
		op[4].flags = CRABTREE_INSERT_ADD;
		REQUIRE(commit(fd, op, 5, &done), 0);
		EXPECT(done, 5);
		EXPECT(op[0].status, 0);
		EXPECT(op[0].existed, 1);
		EXPECT(op[0].old_value, 10);
		EXPECT(op[1].existed, 0);
		EXPECT(op[2].status, 0);
		EXPECT(op[2].old_value, 20);
		EXPECT(op[3].status, -ENOENT);
		EXPECT(op[4].existed, 0);
		EXPECT(dev_get(fd, 5, &got), 0);
		EXPECT(got, -5ULL);
		expect_sound(fd, 3);
		close(fd);
	}
}

TEST(conditions, "ATOMIC: a condition that does not hold: nothing is done")
{
	struct crabtree_batch_op op[3];
	int fd = fresh_store_kind("", CRABTREE_FORMAT_COMMITS);
	u32 done;

	REQUIRE(dev_put(fd, 1, 10), 0);
	refused(fd, CRABTREE_BATCH_INSERT, 1, CRABTREE_INSERT_CREATE, 0, -EEXIST);
	refused(fd, CRABTREE_BATCH_INSERT, 2, CRABTREE_INSERT_REPLACE, 0, -ENOENT);
	refused(fd, CRABTREE_BATCH_INSERT, 1, CRABTREE_INSERT_SWAP, 11, -ESTALE);
	refused(fd, CRABTREE_BATCH_INSERT, 2, CRABTREE_INSERT_SWAP, 11, -ENOENT);
	refused(fd, CRABTREE_BATCH_INSERT, 2, CRABTREE_INSERT_ADD | CRABTREE_INSERT_REPLACE, 0, -ENOENT);
	refused(fd, CRABTREE_BATCH_DELETE, 2, CRABTREE_IF_EXISTS, 0, -ENOENT);
	refused(fd, CRABTREE_BATCH_DELETE, 1, CRABTREE_IF_VALUE, 11, -ESTALE);
	refused(fd, CRABTREE_BATCH_SEARCH, 1, CRABTREE_IF_ABSENT, 0, -EEXIST);
	refused(fd, CRABTREE_BATCH_SEARCH, 2, CRABTREE_IF_VALUE, 11, -ENOENT);
	expect_sound(fd, 1);
	dev_op(&op[0], CRABTREE_BATCH_SEARCH, 1, 0);
	op[0].flags = CRABTREE_IF_VALUE;
	op[0].old_value = 10;
	dev_op(&op[1], CRABTREE_BATCH_DELETE, 2, 0);
	op[1].flags = CRABTREE_IF_ABSENT;
	dev_op(&op[2], CRABTREE_BATCH_INSERT, 3, 30);
	op[2].flags = CRABTREE_INSERT_CREATE;
	EXPECT(commit(fd, op, 3, &done), 0);
	EXPECT(op[0].value, 10);
	expect_sound(fd, 2);
}

TEST(bad_input, "ATOMIC: numbers, verbs, flags and keys that are refused")
{
	struct crabtree_batch_op op[65];
	struct crabtree_batch b;
	int fd = fresh_store_kind("", CRABTREE_FORMAT_COMMITS);
	u32 done, i;

	refused(fd, 0, 1, 0, 0, -EINVAL);
	refused(fd, 4, 1, 0, 0, -EINVAL);
	refused(fd, CRABTREE_BATCH_INSERT, ~0ULL, 0, 0, -EINVAL);
	refused(fd, CRABTREE_BATCH_DELETE, 99, 0, 0, -EINVAL);
	refused(fd, CRABTREE_BATCH_INSERT, 1, 1U << 31, 0, -EINVAL);
	refused(fd, CRABTREE_BATCH_DELETE, 1, CRABTREE_INSERT_ADD, 0, -EINVAL);
	refused(fd, CRABTREE_BATCH_INSERT, 1, CRABTREE_INSERT_ADD | CRABTREE_INSERT_CREATE, 0, -EINVAL);
	for (i = 0; i < 65; i++)
		dev_op(&op[i], CRABTREE_BATCH_INSERT, i, i);
	EXPECT(commit(fd, op, 0, &done), -EINVAL);
	EXPECT(commit(fd, op, 65, &done), -EINVAL);
	EXPECT(commit(fd, op, ~0U, &done), -EINVAL);
	poison(&b, sizeof(b));
	b.flags = 2;
	b.ops = (uintptr_t)op;
	b.count = 1;
	EXPECT(call(fd, CRABTREE_BATCH, &b), -EINVAL);
	expect_sound(fd, 0);
	EXPECT(commit(fd, op, 64, &done), 0);
	EXPECT(done, 64);
	expect_sound(fd, 64);
}

TEST(full, "ATOMIC in a store that is full: ENOSPC, and nothing is done")
{
	struct crabtree_batch_op op[64];
	struct crabtree_info info;
	int fd = fresh_store_kind("", CRABTREE_FORMAT_COMMITS);
	u32 done, i;
	u64 key = 0;

	do {
		for (i = 0; i < 64; i++)
			dev_op(&op[i], CRABTREE_BATCH_INSERT, key + i, i);
		key += 64;
	} while (!commit(fd, op, 64, &done));
	EXPECT(commit(fd, op, 64, &done), -ENOSPC);
	EXPECT(done, 64);
	EXPECT(op[0].status, -ECANCELED);
	REQUIRE(dev_info(fd, &info), 0);
	EXPECT_TRUE(info.leaves - info.leaves_used < 2 * 64 + 8);
	expect_sound(fd, key - 64);
}

TEST(kinds, "ATOMIC in other stores, and by other descriptors")
{
	struct crabtree_batch_op op;
	int fd = fresh_store(0), reader;
	u32 done;

	dev_op(&op, CRABTREE_BATCH_INSERT, 1, 1);
	EXPECT(commit(fd, &op, 1, &done), -EOPNOTSUPP);
	expect_sound(fd, 0);
	close(fd);
	fd = fresh_store_kind("", CRABTREE_FORMAT_COMMITS | CRABTREE_FORMAT_BLOBS);
	EXPECT(commit(fd, &op, 1, &done), -EOPNOTSUPP);
	close(fd);
	fd = fresh_store_kind("", CRABTREE_FORMAT_COMMITS);
	reader = device_open(O_RDONLY);
	EXPECT(commit(reader, &op, 1, &done), -EBADF);
	dev_op(&op, CRABTREE_BATCH_SEARCH, 1, 1);
	EXPECT(commit(reader, &op, 1, &done), 0);
	EXPECT(op.status, -ENOENT);
	expect_sound(fd, 0);
}

TEST(faults, "user memory that ends within the operations, or is read-only: EFAULT, and nothing is done")
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *end = page_end();
	struct crabtree_batch_op *op = (void *)(end - 2 * sizeof(*op));
	int fd = fresh_store_kind("", CRABTREE_FORMAT_COMMITS);
	u32 done;

	dev_op(&op[0], CRABTREE_BATCH_INSERT, 1, 1);
	dev_op(&op[1], CRABTREE_BATCH_INSERT, 2, 2);
	EXPECT(commit(fd, op, 3, &done), -EFAULT);
	EXPECT(commit(fd, NULL, 3, &done), -EFAULT);
	REQUIRE(mprotect(end - page, page, PROT_READ), 0);
	EXPECT(commit(fd, op, 2, &done), -EFAULT);
	expect_sound(fd, 0);
	REQUIRE(mprotect(end - page, page, PROT_READ | PROT_WRITE), 0);
	EXPECT(commit(fd, op, 2, &done), 0);
	expect_sound(fd, 2);
}

TEST(observed, "a snapshot has none of a later commit; a watch reports all of it, with the sums")
{
	struct crabtree_change change[4];
	struct crabtree_batch_op op[3];
	int fd = fresh_store_kind("", CRABTREE_FORMAT_COMMITS), snapshot, watch;
	u32 done;
	u64 got;

	REQUIRE(dev_put(fd, 1, 10), 0);
	snapshot = dev_snapshot(fd);
	watch = open_watch(fd, 0, 100, 8);
	dev_op(&op[0], CRABTREE_BATCH_INSERT, 1, 5);
	op[0].flags = CRABTREE_INSERT_ADD;
	dev_op(&op[1], CRABTREE_BATCH_INSERT, 2, 20);
	dev_op(&op[2], CRABTREE_BATCH_DELETE, 3, 0);
	EXPECT(commit(fd, op, 3, &done), 0);
	EXPECT(commit(snapshot, op, 3, &done), -ENOTTY);
	EXPECT(dev_get(snapshot, 1, &got), 0);
	EXPECT(got, 10);
	EXPECT(dev_get(snapshot, 2, &got), -ENOENT);
	REQUIRE(read_changes(watch, change, 4), 2);
	EXPECT(change[0].key, 1);
	EXPECT(change[0].value, 15);
	EXPECT(change[0].old, 10);
	EXPECT(change[1].key, 2);
	EXPECT(change[1].value, 20);
}

/* Moves amounts between two accounts, until readers have seen some; a commit that adds to both */
static void *bank_move(void *arg)
{
	unsigned long long seed = (long)arg;
	struct crabtree_batch_op op[2];
	u32 done, i;

	for (i = 0; i < 1000 || atomic_load(&reads) < READS; i++) {
		u64 from = rng_below(&seed, ACCOUNTS), amount = rng_below(&seed, 50);
		u64 to = (from + 1 + rng_below(&seed, ACCOUNTS - 1)) % ACCOUNTS;

		dev_op(&op[0], CRABTREE_BATCH_INSERT, from, -amount);
		op[0].flags = CRABTREE_INSERT_ADD | CRABTREE_INSERT_REPLACE;
		dev_op(&op[1], CRABTREE_BATCH_INSERT, to, amount);
		op[1].flags = CRABTREE_INSERT_ADD | CRABTREE_INSERT_REPLACE;
		REQUIRE(commit(bank_fd, op, 2, &done), 0);
	}
	return NULL;
}

/* All accounts: by one commit, and by one scan */
static void *bank_read(void *arg)
{
	struct crabtree_batch_op op[ACCOUNTS];
	struct crabtree_record record[ACCOUNTS];
	struct crabtree_scan s;
	u64 sum, scanned;
	u32 done, i;

	(void)arg;
	while (!atomic_load(&stop)) {
		for (i = 0; i < ACCOUNTS; i++)
			dev_op(&op[i], CRABTREE_BATCH_SEARCH, i, 0);
		REQUIRE(commit(bank_fd, op, ACCOUNTS, &done), 0);
		REQUIRE(dev_scan(bank_fd, 0, ~0ULL, record, ACCOUNTS, &s), 0);
		REQUIRE(s.count, ACCOUNTS);
		for (i = 0, sum = 0, scanned = 0; i < ACCOUNTS; i++) {
			sum += op[i].value;
			scanned += record[i].value;
		}
		REQUIRE(sum, SUM);
		REQUIRE(scanned, SUM);
		atomic_fetch_add(&reads, 1);
	}
	return NULL;
}

TEST(bank, "a bank: transfers in two threads, and every reader sees one sum")
{
	pthread_t thread[4];
	long i;

	bank_fd = fresh_store_kind("", CRABTREE_FORMAT_COMMITS);
	for (i = 0; i < ACCOUNTS; i++)
		REQUIRE(dev_put(bank_fd, i, SUM / ACCOUNTS), 0);
	for (i = 0; i < 4; i++)
		REQUIRE(pthread_create(&thread[i], NULL, i < 2 ? bank_move : bank_read, (void *)(i + 1)), 0);
	for (i = 0; i < 4; i++) {
		REQUIRE(pthread_join(thread[i], NULL), 0);
		atomic_store(&stop, i > 0);
	}
	expect_sound(bank_fd, ACCOUNTS);
}
