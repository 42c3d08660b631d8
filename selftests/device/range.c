// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests SCAN with CRABTREE_SCAN_REVERSE over the device: the order, the ends of the
 * range, and where a scan continues.
 *
 * Invariant: keys descend strictly, and each record is the one that SEARCH finds.
 */
#include "device.h"

#define RECORDS	600	/* several leaves */

/* Keys 10, 20, ... */
static int filled_store(u32 count)
{
	int fd = fresh_store(0);
	u32 i;

	for (i = 1; i <= count; i++)
		REQUIRE(dev_put(fd, 10 * i, i), 0);
	return fd;
}

TEST(scan_back, "SCAN reverse: order, both ends included")
{
	struct crabtree_record r[8];
	struct crabtree_scan s;
	int fd = filled_store(100), i;

	EXPECT(dev_scan_back(fd, 510, 540, r, 8, &s), 0);
	REQUIRE(s.count, 4);
	EXPECT(s.more, 0);
	EXPECT(s.next, 0);
	for (i = 0; i < 4; i++) {
		EXPECT(r[i].key, 540 - 10 * (u64)i);
		EXPECT(r[i].value, 54 - (u64)i);
	}
	EXPECT(dev_scan_back(fd, 511, 519, r, 8, &s), 0);
	EXPECT(s.count, 0);
	EXPECT(s.more, 0);
}

TEST(scan_back_limits, "SCAN reverse: capacity 0, a range backwards, an empty store")
{
	struct crabtree_record r[4];
	struct crabtree_scan s;
	int fd = fresh_store(0);

	EXPECT(dev_scan_back(fd, 0, ~0ULL, r, 4, &s), 0);
	EXPECT(s.count, 0);
	EXPECT(s.more, 0);
	REQUIRE(dev_put(fd, 20, 2), 0);
	EXPECT(dev_scan_back(fd, 20, 10, r, 4, &s), 0);
	EXPECT(s.count, 0);
	EXPECT(s.more, 0);
	EXPECT(dev_scan_back(fd, 0, ~0ULL, r, 0, &s), 0);
	EXPECT(s.more, 1);
	EXPECT(s.next, ~0ULL - 1);
	EXPECT(dev_scan_back(fd, 20, 20, r, 4, &s), 0);
	EXPECT(s.count, 1);
}

static void scan_back_pieces(int fd, u32 capacity)
{
	struct crabtree_record r[64];
	struct crabtree_scan s = { .more = 1, .next = ~0ULL };
	u64 want = 10 * RECORDS, got;
	u32 i;

	while (s.more) {
		REQUIRE(dev_scan_back(fd, 0, s.next, r, capacity, &s), 0);
		for (i = 0; i < s.count; i++, want -= 10) {
			REQUIRE(r[i].key, want);
			REQUIRE(dev_get(fd, want, &got), 0);
			EXPECT(r[i].value, got);
		}
		REQUIRE_TRUE(s.count || !s.more);
	}
	EXPECT(want, 0);
}

TEST(scan_back_restart, "SCAN reverse: @next continues it, for any capacity")
{
	static const u32 capacities[] = { 1, 2, 7, 63, 64 };
	int fd = filled_store(RECORDS);
	u32 i;

	for (i = 0; i < sizeof(capacities) / sizeof(*capacities); i++)
		scan_back_pieces(fd, capacities[i]);
}

TEST(scan_back_end, "SCAN reverse: the lowest key and the highest one")
{
	struct crabtree_record r[4];
	struct crabtree_scan s;
	int fd = fresh_store(0);

	REQUIRE(dev_put(fd, 0, 1), 0);
	REQUIRE(dev_put(fd, ~0ULL - 1, 2), 0);
	EXPECT(dev_scan_back(fd, 0, ~0ULL, r, 1, &s), 0);
	EXPECT(s.count, 1);
	EXPECT(r[0].key, ~0ULL - 1);
	EXPECT(s.more, 1);
	EXPECT(dev_scan_back(fd, 0, s.next, r, 1, &s), 0);
	EXPECT(s.count, 1);
	EXPECT(r[0].key, 0);
	EXPECT(s.more, 0);
	EXPECT(s.next, 0);
}

TEST(delete_range, "DELETE_RANGE: these records and no others; both ends included")
{
	struct crabtree_delete_range range;
	int fd = filled_store(RECORDS);
	u64 value;

	EXPECT(dev_delete_range(fd, 1000, 5000, &range), 0);
	EXPECT(range.deleted, 401);
	EXPECT(range.more, 0);
	EXPECT(range.next, 0);
	EXPECT(dev_get(fd, 990, &value), 0);
	EXPECT(dev_get(fd, 1000, &value), -ENOENT);
	EXPECT(dev_get(fd, 5000, &value), -ENOENT);
	EXPECT(dev_get(fd, 5010, &value), 0);
	EXPECT(dev_delete_range(fd, 1000, 5000, &range), 0);
	EXPECT(range.deleted, 0);
	EXPECT(dev_delete_range(fd, 9, 3, &range), 0);
	EXPECT(range.deleted, 0);
	expect_sound(fd, RECORDS - 401);
	EXPECT(dev_delete_range(fd, 0, ~0ULL, &range), 0);
	EXPECT(range.deleted, RECORDS - 401);
	expect_sound(fd, 0);
}

TEST(delete_range_full, "DELETE_RANGE: in a full store")
{
	struct crabtree_delete_range range;
	int fd = fresh_store(0), rc = 0;
	u64 key;

	for (key = 0; !rc; key++)
		rc = dev_put(fd, key, key);
	EXPECT(rc, -ENOSPC);
	EXPECT(dev_delete_range(fd, 0, ~0ULL, &range), 0);
	EXPECT(range.deleted, key - 1);
	expect_sound(fd, 0);
}
