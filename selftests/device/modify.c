// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests INSERT with CRABTREE_INSERT_SWAP and CRABTREE_INSERT_ADD over the device: the
 * results, alone and in a batch, and the flags that exclude each other.
 *
 * Invariant: a refused call leaves the store sound and as it was.
 */
#include "device.h"

static void expect_swap(int fd, u64 expected, u64 value, int err, u64 old)
{
	struct crabtree_insert in;

	EXPECT(dev_swap(fd, 5, expected, value, &in), err);
	EXPECT(in.existed, err != -ENOENT);
	EXPECT(in.old_value, old);
	EXPECT(in.value, value);
}

TEST(swap, "INSERT swap: only if the value is the expected one")
{
	int fd = fresh_store(0);
	u64 got = 0;

	expect_swap(fd, 0, 50, -ENOENT, 0);
	REQUIRE(dev_put(fd, 5, 50), 0);
	expect_swap(fd, 51, 52, -ESTALE, 50);
	EXPECT(dev_get(fd, 5, &got), 0);
	EXPECT(got, 50);
	expect_swap(fd, 50, ~0ULL, 0, 50);
	expect_swap(fd, ~0ULL, 0, 0, ~0ULL);
	expect_swap(fd, 0, 0, 0, 0);
	expect_sound(fd, 1);
}

static void expect_add(int fd, u64 addend, u32 flags, int err, u64 want)
{
	struct crabtree_insert in;
	u64 got = 0;

	EXPECT(dev_insert(fd, 5, addend, flags | CRABTREE_INSERT_ADD, &in), err);
	EXPECT(in.value, addend);
	EXPECT(dev_get(fd, 5, &got), err);
	if (err)
		return;
	EXPECT(got, want);
	EXPECT(in.existed ? in.old_value : 0, want - addend);
}

TEST(add, "INSERT add: the sum modulo 2^64; a missing key counts as 0, or ENOENT")
{
	const u32 both = CRABTREE_INSERT_CREATE | CRABTREE_INSERT_REPLACE;
	int fd = fresh_store(0);

	expect_add(fd, 3, CRABTREE_INSERT_REPLACE, -ENOENT, 0);
	expect_add(fd, 3, 0, 0, 3);
	expect_add(fd, 4, CRABTREE_INSERT_REPLACE, 0, 7);
	expect_add(fd, ~0ULL, both, 0, 6);
	expect_add(fd, -6ULL, 0, 0, 0);
	expect_add(fd, 0, 0, 0, 0);
	expect_sound(fd, 1);
}

TEST(modes, "INSERT: flags that exclude each other give EINVAL, alone and in a BATCH")
{
	static const u32 wrong[] = {
		CRABTREE_INSERT_SWAP | CRABTREE_INSERT_ADD,
		CRABTREE_INSERT_SWAP | CRABTREE_INSERT_CREATE,
		CRABTREE_INSERT_SWAP | CRABTREE_INSERT_CREATE | CRABTREE_INSERT_REPLACE,
		CRABTREE_INSERT_ADD | CRABTREE_INSERT_CREATE, 15, 16 | CRABTREE_INSERT_ADD,
	};
	struct crabtree_batch_op op[6];
	struct crabtree_insert in;
	struct crabtree_batch b;
	int fd = fresh_store(0);
	u64 got = 0;
	u32 i;

	REQUIRE(dev_put(fd, 5, 50), 0);
	for (i = 0; i < 6; i++) {
		EXPECT(dev_insert(fd, 5, 1, wrong[i], &in), -EINVAL);
		dev_op(&op[i], CRABTREE_BATCH_INSERT, 5, 1);
		op[i].flags = wrong[i];
	}
	REQUIRE(dev_batch(fd, op, 6, &b), 0);
	for (i = 0; i < 6; i++)
		EXPECT(op[i].status, -EINVAL);
	EXPECT(dev_get(fd, 5, &got), 0);
	EXPECT(got, 50);
	expect_sound(fd, 1);
}

TEST(batch_modes, "BATCH: swaps and adds of one key, in their order")
{
	struct crabtree_batch_op op[5];
	struct crabtree_batch b;
	int fd = fresh_store(0), i;

	for (i = 0; i < 4; i++) {
		dev_op(&op[i], CRABTREE_BATCH_INSERT, 5, 10 + i);
		op[i].flags = i % 2 ? CRABTREE_INSERT_SWAP : CRABTREE_INSERT_ADD;
	}
	op[1].old_value = 10;
	op[3].old_value = 99;
	dev_op(&op[4], CRABTREE_BATCH_SEARCH, 5, 0);
	REQUIRE(dev_batch(fd, op, 5, &b), 0);
	EXPECT(op[0].status, 0);
	EXPECT(op[0].existed, 0);
	EXPECT(op[1].status, 0);
	EXPECT(op[1].old_value, 10);
	EXPECT(op[2].status, 0);
	EXPECT(op[2].old_value, 11);
	EXPECT(op[3].status, -ESTALE);
	EXPECT(op[3].old_value, 23);
	EXPECT(op[4].value, 23);
	expect_sound(fd, 1);
}
