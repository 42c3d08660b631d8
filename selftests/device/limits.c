// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the limits: the reserved key, the largest batch, huge
 * capacities, and a store that is filled until it is full, then read, updated,
 * emptied and filled again.
 *
 * Invariant: nothing that returned 0 is ever lost, and nothing that returned
 * an error has left a trace.
 */
#include "device.h"

/* Keys of the fill tests: spread over all of u64, none twice, none reserved */
static u64 fill_key(u64 i)
{
	return (i + 1) * 0x9E3779B97F4A7C15ULL & ~1ULL;
}

#define FILL_MAX	400000
#define FILL_BATCH	512

static bool filled[FILL_MAX];
static bool emptied[FILL_MAX];	/* by delete_some(), not put back */

/* Puts keys [from, from + count) in one batch; returns the number of keys stored */
static u64 fill_batch(int fd, u64 from, u32 count)
{
	static struct crabtree_batch_op op[FILL_BATCH];
	struct crabtree_batch b;
	u64 stored = 0;
	u32 i;

	for (i = 0; i < count; i++)
		dev_op(&op[i], CRABTREE_BATCH_INSERT, fill_key(from + i), from + i);
	REQUIRE(dev_batch(fd, op, count, &b), 0);
	REQUIRE(b.done, count);
	for (i = 0; i < count; i++) {
		if (op[i].status)
			REQUIRE(op[i].status, -ENOSPC);
		filled[from + i] = !op[i].status;
		stored += !op[i].status;
	}
	return stored;
}

/* Fills until a whole batch was refused; returns the number of records */
static u64 fill(int fd, u64 *tried)
{
	u64 stored, total = 0, from;

	for (from = 0; from + FILL_BATCH <= FILL_MAX; from += FILL_BATCH) {
		stored = fill_batch(fd, from, FILL_BATCH);
		total += stored;
		*tried = from + FILL_BATCH;
		if (!stored)
			return total;
	}
	TEST_SKIP("the region is too large to be filled: use one of a few MiB");
}

/* Does @verb on keys [from, from + FILL_BATCH) in one batch, with values changed by @xor */
static const struct crabtree_batch_op *batch_of(int fd, u32 verb, u32 flags, u64 from, u64 xor)
{
	static struct crabtree_batch_op op[FILL_BATCH];
	struct crabtree_batch b;
	u64 i;

	for (i = 0; i < FILL_BATCH; i++) {
		dev_op(&op[i], verb, fill_key(from + i), (from + i) ^ xor);
		op[i].flags = flags;
	}
	REQUIRE(dev_batch(fd, op, FILL_BATCH, &b), 0);
	REQUIRE(b.done, FILL_BATCH);
	for (i = 0; i < FILL_BATCH; i++)
		if (!EXPECT(op[i].status, filled[from + i] ? 0 : -ENOENT))
			TEST_FAIL("record %llu", (unsigned long long)(from + i));
	return op;
}

/* Every key is searched in a batch, and every eighth by a call of its own as well */
static void expect_filled(int fd, u64 tried, u64 xor)
{
	const struct crabtree_batch_op *op = NULL;
	u64 i, got = 0;

	for (i = 0; i < tried; i++) {
		if (i % FILL_BATCH == 0)
			op = batch_of(fd, CRABTREE_BATCH_SEARCH, 0, i, POISON64);
		if (filled[i])
			REQUIRE(op[i % FILL_BATCH].value, i ^ xor);
		if (i % 8)
			continue;
		REQUIRE(dev_get(fd, fill_key(i), &got), filled[i] ? 0 : -ENOENT);
		if (filled[i])
			REQUIRE(got, i ^ xor);
	}
}

/* In batches, and every eighth by a call of its own as well */
static void update_all(int fd, u64 tried, u64 xor)
{
	struct crabtree_insert in;
	u64 i;

	for (i = 0; i < tried; i++) {
		if (i % FILL_BATCH == 0)
			batch_of(fd, CRABTREE_BATCH_INSERT, CRABTREE_INSERT_REPLACE, i, xor);
		if (filled[i] && i % 8 == 0)
			REQUIRE(dev_insert(fd, fill_key(i), i ^ xor, CRABTREE_INSERT_REPLACE, &in), 0);
	}
}

/* Deletes all records; returns their number */
static u64 delete_all(int fd, u64 tried)
{
	u64 i, gone = 0;

	for (i = 0; i < tried; i++) {
		if (i % FILL_BATCH == 0)
			batch_of(fd, CRABTREE_BATCH_DELETE, 0, i, 0);
		gone += filled[i];
	}
	memset(filled, 0, sizeof(filled));
	return gone;
}

static u64 delete_some(int fd, u64 tried, u64 every)
{
	u64 i, gone = 0;

	for (i = 0; i < tried; i++) {
		if (!filled[i] || i % every)
			continue;
		REQUIRE(dev_delete(fd, fill_key(i), NULL), 0);
		filled[i] = false;
		emptied[i] = true;
		gone++;
	}
	return gone;
}

static void put_back(int fd, u64 tried, u64 xor)
{
	u64 i;

	for (i = 0; i < tried; i++) {
		if (!emptied[i])
			continue;
		REQUIRE(dev_put(fd, fill_key(i), i ^ xor), 0);
		filled[i] = true;
		emptied[i] = false;
	}
}

static void full_test(u32 leaf_bytes)
{
	int fd = fresh_store(leaf_bytes);
	u64 tried = 0, total = fill(fd, &tried), gone;

	printf("# leaves of %u: %llu records\n", leaf_bytes, (unsigned long long)total);
	expect_sound(fd, total);
	expect_filled(fd, tried, 0);
	update_all(fd, tried, ~0ULL);
	expect_filled(fd, tried, ~0ULL);
	gone = delete_some(fd, tried, 3);
	expect_sound(fd, total - gone);
	expect_filled(fd, tried, ~0ULL);
	put_back(fd, tried, ~0ULL);
	expect_filled(fd, tried, ~0ULL);
	expect_sound(fd, total);
}

TEST(full_512, "full: read, update, delete, insert again, leaves of 512")
{
	full_test(512);
}

TEST(full_1024, "full: read, update, delete, insert again, leaves of 1024")
{
	full_test(1024);
}

TEST(full_8192, "full: read, update, delete, insert again, leaves of 8192")
{
	full_test(8192);
}

TEST(full_ends, "full: ENOSPC returns no old value and changes nothing")
{
	struct crabtree_info a, b;
	struct crabtree_insert in;
	int fd = fresh_store(512);
	u64 tried = 0, total = fill(fd, &tried), refused;
	int rc;

	for (refused = tried; refused < tried + 100; refused++) {
		REQUIRE(dev_info(fd, &a), 0);
		rc = dev_insert(fd, fill_key(refused), 1, 0, &in);
		REQUIRE(dev_info(fd, &b), 0);
		if (rc == -ENOSPC) {
			EXPECT(b.records, a.records);
			EXPECT(b.lines, a.lines);
			EXPECT(b.fences, a.fences);
		} else {
			REQUIRE(rc, 0);
			total++;
		}
	}
	expect_sound(fd, total);
}

TEST(no_leak, "filled and emptied three times, it holds as much each time")
{
	int fd = fresh_store(512), round;
	u64 tried = 0, total, first = 0;

	for (round = 0; round < 3; round++) {
		total = fill(fd, &tried);
		if (!round)
			first = total;
		printf("# round %d: %llu records\n", round, (unsigned long long)total);
		EXPECT_TRUE(total >= first - first / 50);
		EXPECT(delete_all(fd, tried), total);
		expect_sound(fd, 0);
	}
}

TEST(sequential, "ascending and descending keys fill as well as any")
{
	struct crabtree_info info;
	int fd = fresh_store(512);
	u64 up, down;

	for (up = 0; !dev_put(fd, (1ULL << 32) + up, up); up++)
		if (up > FILL_MAX)
			TEST_SKIP("the region is too large to be filled");
	REQUIRE(dev_info(fd, &info), 0);
	EXPECT(info.records, up);
	printf("# ascending: %llu of %llu\n", (unsigned long long)up,
	       (unsigned long long)info.capacity);
	EXPECT_TRUE(up * 5 >= info.capacity * 2);
	close(fd);
	fd = fresh_store(512);
	for (down = 0; !dev_put(fd, (1ULL << 32) - down, down); down++)
		;
	printf("# descending: %llu\n", (unsigned long long)down);
	EXPECT_TRUE(down * 5 >= info.capacity * 2);
	expect_sound(fd, down);
}

TEST(reserved_key, "the reserved key returns EINVAL in every verb")
{
	struct crabtree_insert in;
	struct crabtree_search s;
	int fd = fresh_store(0);

	REQUIRE(dev_put(fd, 1, 1), 0);
	EXPECT(dev_insert(fd, CRABTREE_KEY_RESERVED, 1, 0, &in), -EINVAL);
	EXPECT(dev_search(fd, CRABTREE_KEY_RESERVED, 0, &s), -EINVAL);
	EXPECT(dev_delete(fd, CRABTREE_KEY_RESERVED, NULL), -EINVAL);
	expect_sound(fd, 1);
}

TEST(batch_max, "BATCH: the largest count works, one more returns EINVAL")
{
	static struct crabtree_batch_op op[CRABTREE_BATCH_MAX + 1];
	struct crabtree_batch b;
	int fd = fresh_store(0);
	u32 i;

	for (i = 0; i <= CRABTREE_BATCH_MAX; i++)
		dev_op(&op[i], CRABTREE_BATCH_INSERT, i, i);
	EXPECT(dev_batch(fd, op, CRABTREE_BATCH_MAX + 1, &b), -EINVAL);
	EXPECT(dev_batch(fd, op, 0xFFFFFFFFU, &b), -EINVAL);
	expect_sound(fd, 0);
	EXPECT(dev_batch(fd, op, 0, &b), 0);
	EXPECT(b.done, 0);
	EXPECT(dev_batch(fd, op, CRABTREE_BATCH_MAX, &b), 0);
	EXPECT(b.done, CRABTREE_BATCH_MAX);
	expect_sound(fd, CRABTREE_BATCH_MAX);
}

TEST(scan_huge, "SCAN: a capacity of 2^32 - 1 takes no more than there is")
{
	struct crabtree_record r[8];
	struct crabtree_scan s;
	int fd = fresh_store(0);
	u64 key;

	for (key = 1; key <= 3; key++)
		REQUIRE(dev_put(fd, key, key), 0);
	memset(r, POISON, sizeof(r));
	poison(&s, sizeof(s));
	s.start = 0;
	s.end = ~0ULL;
	s.records = (uintptr_t)r;
	s.capacity = 0xFFFFFFFFU;
	s.reserved = 0;
	EXPECT(call(fd, CRABTREE_SCAN, &s), 0);
	EXPECT(s.count, 3);
	EXPECT(s.more, 0);
	EXPECT(r[2].key, 3);
	EXPECT(r[3].key, POISON64);
}

TEST(scan_large, "SCAN: one call over many leaves returns all records")
{
	const u32 count = 20000;
	struct crabtree_record *r = malloc(count * sizeof(*r));
	struct crabtree_scan s;
	int fd = fresh_store(512);
	u64 tried = 0;
	u32 i;

	for (tried = 0; tried + FILL_BATCH <= 16384; tried += FILL_BATCH)
		fill_batch(fd, tried, FILL_BATCH);
	REQUIRE_TRUE(r);
	REQUIRE(dev_scan(fd, 0, ~0ULL, r, count, &s), 0);
	REQUIRE(s.count, tried);
	for (i = 1; i < s.count; i++)
		REQUIRE_TRUE(r[i - 1].key < r[i].key);
	for (i = 0; i < s.count; i++)
		REQUIRE(r[i].key, fill_key(r[i].value));
}
