// SPDX-License-Identifier: GPL-2.0
/*
 * This suite holds FORMAT to the bytes that Documentation/design/format.rst
 * describes, and geometry to its limits.
 */
#include <linux/crc32.h>
#include <linux/string.h>

#include "kunit.h"
#include "media/crc.h"
#include "rng.h"

static void format_places(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, offsetof(struct crab_dsuper, crc), (size_t)12);
	KUNIT_EXPECT_EQ(test, offsetof(struct crab_dsuper, sequence), (size_t)16);
	KUNIT_EXPECT_EQ(test, offsetof(struct crab_dsuper, uuid), (size_t)48);
	KUNIT_EXPECT_EQ(test, offsetof(struct crab_dsuper, label), (size_t)64);
	KUNIT_EXPECT_EQ(test, offsetof(struct crab_dsuper, engine), (size_t)96);
	KUNIT_EXPECT_EQ(test, offsetof(struct crab_dsuper, region_bytes), (size_t)104);
	KUNIT_EXPECT_EQ(test, offsetof(struct crab_dsuper, state), (size_t)128);
	KUNIT_EXPECT_EQ(test, offsetof(struct crab_dhead, own), (size_t)32);
	KUNIT_EXPECT_EQ(test, offsetof(struct crab_dhead, crc), (size_t)44);
	KUNIT_EXPECT_EQ(test, crab_leaf_slots(128), 5U);
	KUNIT_EXPECT_EQ(test, crab_leaf_slots(512), 29U);
	KUNIT_EXPECT_EQ(test, crab_leaf_slots(8192), 509U);
}

static void format_geometry(struct kunit *test)
{
	const u64 least = CRAB_POOL_OFFSET + CRAB_LEAVES_MIN * 1024;

	KUNIT_EXPECT_EQ(test, crab_super_geometry(least - 1, 1024), 0ULL);
	KUNIT_EXPECT_EQ(test, crab_super_geometry(least, 1024), (u64)CRAB_LEAVES_MIN);
	KUNIT_EXPECT_EQ(test, crab_super_geometry(CRAB_POOL_OFFSET + 8 * 1024, 1024), 8ULL);
	KUNIT_EXPECT_EQ(test, crab_super_geometry(1 << 20, 1000), 0ULL);
	KUNIT_EXPECT_EQ(test, crab_super_geometry(1 << 20, 0), 0ULL);
	KUNIT_EXPECT_EQ(test, crab_super_geometry(1 << 20, 2 * CRAB_BLOCK_BYTES_MAX), 0ULL);
	KUNIT_EXPECT_EQ(test, crab_super_geometry(1 << 20, CRAB_BLOCK_BYTES_MIN / 2), 0ULL);
	KUNIT_EXPECT_EQ(test, crab_super_geometry(0, 1024), 0ULL);
	KUNIT_EXPECT_EQ(test, crab_super_geometry(~0ULL, 512), CRAB_LEAVES_MAX);
}

/* Little-endian, on every CPU */
static void format_bytes(struct kunit *test)
{
	struct crab_test *t = test->priv;
	struct crab_dleaf *first;
	u32 i;

	crab_test_format(test, "crab", "slotted", CRAB_TEST_LEAF);
	KUNIT_EXPECT_EQ(test, memcmp(t->media.base, "CRABTREE", 8), 0);
	KUNIT_EXPECT_EQ(test, memcmp(t->media.base + 4096, "CRABTREE", 8), 0);
	KUNIT_EXPECT_EQ(test, memcmp(t->media.base + 8, "\1\0\0\0", 4), 0);
	KUNIT_EXPECT_EQ(test, memcmp(t->media.base + 64, "kunit", 6), 0);
	KUNIT_EXPECT_EQ(test, memcmp(t->media.base + 96, "\1\0\1\0\x80\0\0\0", 8), 0);
	first = crab_test_listed(test, 0);
	KUNIT_ASSERT_NOT_NULL(test, first);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(first->head.low), 0ULL);
	for (i = 0; i < CRAB_TEST_SLOTS; i++) {
		KUNIT_EXPECT_EQ(test, le64_to_cpu(first->slots[i].key), CRAB_KEY_EMPTY);
		KUNIT_EXPECT_TRUE(test, first->slots[i].value == first->head.own);
	}
}

static void format_super_update(struct kunit *test)
{
	struct crab_test *t = test->priv;
	struct crab_flow flow = { .media = &t->media };
	struct crab_super super, again;
	char reason[CRAB_REASON_LEN];
	u64 sequence;

	crab_test_format(test, "crab", "", CRAB_TEST_LEAF);
	KUNIT_EXPECT_EQ(test, crab_super_read(&t->media, &super, reason), CRAB_VERDICT_GOOD);
	sequence = super.sequence;
	again = super;
	crab_super_write(&flow, &again);
	KUNIT_EXPECT_EQ(test, flow.fences, 1ULL);
	KUNIT_EXPECT_EQ(test, flow.lines, 3ULL);
	KUNIT_EXPECT_EQ(test, crab_super_read(&t->media, &again, reason), CRAB_VERDICT_GOOD);
	KUNIT_EXPECT_EQ(test, again.sequence, sequence + 1);
	KUNIT_EXPECT_NE(test, again.copy, super.copy);
	t->media.base[again.copy * CRAB_SUPER_STRIDE + 100] ^= 1;
	KUNIT_EXPECT_EQ(test, crab_super_read(&t->media, &again, reason), CRAB_VERDICT_GOOD);
	KUNIT_EXPECT_EQ(test, again.sequence, sequence);
}

/* By the instruction of the CPU, and by the kernel */
static void format_crc(struct kunit *test)
{
	static u8 bytes[10000];
	u32 i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = rng_mix(i);
	KUNIT_EXPECT_EQ(test, ~crab_crc32c(~0U, "123456789", 9), 0xe3069283U);
	for (i = 0; i < sizeof(bytes); i += 1 + i / 20)
		KUNIT_EXPECT_EQ(test, crab_crc32c(i, bytes, i), crab_crc32c_lib(i, bytes, i));
}

static struct kunit_case format_cases[] = {
	KUNIT_CASE(format_places),
	KUNIT_CASE(format_geometry),
	KUNIT_CASE(format_bytes),
	KUNIT_CASE(format_super_update),
	KUNIT_CASE(format_crc),
	{}
};

CRAB_TEST_SUITE(format, crab_test_init, crab_test_exit);
