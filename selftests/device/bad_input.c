// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests bad input of programs: pointers that fault in every place
 * where one is taken, names without an end, things that do not exist, and
 * FORMAT where it must not be done.
 *
 * Invariant: a refused call leaves the store sound and as it was.
 */
#include <sys/mman.h>

#include "observe.h"

static const unsigned long requests[] = {
	CRABTREE_INFO, CRABTREE_INSERT, CRABTREE_SEARCH, CRABTREE_DELETE, CRABTREE_SCAN,
	CRABTREE_BATCH, CRABTREE_CHECK, CRABTREE_FORMAT, CRABTREE_DELETE_RANGE, CRABTREE_SNAPSHOT,
	CRABTREE_WATCH, CRABTREE_PUT, CRABTREE_GET, CRABTREE_ERASE, CRABTREE_LIST, CRABTREE_NAMES,
	CRABTREE_COMMIT,
};

#define REQUESTS	((int)(sizeof(requests) / sizeof(requests[0])))

static char *page_at;	/* one page, the next one unmapped */
static size_t page_size;

static void *kernel_address(void)
{
	return (void *)(sizeof(long) == 8 ? (uintptr_t)0xFFFF800000001000ULL : 0xC0001000U);
}

static int one_record(void)
{
	int fd = fresh_store(0);

	REQUIRE(dev_put(fd, 7, 70), 0);
	page_size = sysconf(_SC_PAGESIZE);
	page_at = page_end() - page_size;
	return fd;
}

TEST(null, "a null pointer for each structure returns EFAULT")
{
	int fd = one_record(), i;

	for (i = 0; i < REQUESTS; i++)
		EXPECT(call(fd, requests[i], NULL), -EFAULT);
	expect_one_record(fd);
}

TEST(kernel, "a kernel address for each structure returns EFAULT")
{
	int fd = one_record(), i;

	for (i = 0; i < REQUESTS; i++) {
		EXPECT(call(fd, requests[i], kernel_address()), -EFAULT);
		EXPECT(call(fd, requests[i], (void *)-16L), -EFAULT);
	}
	expect_one_record(fd);
}

TEST(unmapped, "an unmapped page for each structure returns EFAULT")
{
	int fd = one_record(), i;

	for (i = 0; i < REQUESTS; i++)
		EXPECT(call(fd, requests[i], page_at + page_size), -EFAULT);
	expect_one_record(fd);
}

TEST(crossing, "a structure that runs into an unmapped page returns EFAULT")
{
	int fd = one_record(), i;
	u32 *word;

	for (i = 0; i < REQUESTS; i++) {
		word = (u32 *)(page_at + page_size - 8);	/* size and flags */
		memset(word, 0, 8);
		word[0] = _IOC_SIZE(requests[i]);
		EXPECT(call(fd, requests[i], word), -EFAULT);
		word = (u32 *)(page_at + page_size - 2);
		memset(word, 0, 2);
		EXPECT(call(fd, requests[i], word), -EFAULT);
	}
	expect_one_record(fd);
}

TEST(unwritable, "a structure in read-only memory returns EFAULT")
{
	struct crabtree_search *s;
	struct crabtree_info *info;
	int fd = one_record();

	info = (struct crabtree_info *)page_at;
	s = (struct crabtree_search *)(page_at + 1024);
	poison(info, sizeof(*info));
	poison(s, sizeof(*s));
	s->key = 7;
	REQUIRE(mprotect(page_at, page_size, PROT_READ), 0);
	EXPECT(call(fd, CRABTREE_INFO, info), -EFAULT);
	EXPECT(call(fd, CRABTREE_SEARCH, s), -EFAULT);
	EXPECT(info->state, POISON32);
	expect_one_record(fd);
}

/* Their structures are read by another function than those of the device */
TEST(snapshot, "a snapshot: impossible pointers, sizes and flags are refused")
{
	int fd = one_record(), snap = dev_snapshot(fd);
	struct crabtree_search search = { .key = 7 };
	struct crabtree_info info = { .flags = 1 };

	EXPECT(call(snap, CRABTREE_SEARCH, NULL), -EFAULT);
	EXPECT(call(snap, CRABTREE_INFO, NULL), -EFAULT);
	EXPECT(call(snap, CRABTREE_SEARCH, &search), -EINVAL);
	search.size = 1U << 20;
	EXPECT(call(snap, CRABTREE_SEARCH, &search), -E2BIG);
	search.size = sizeof(search);
	search.flags = 1U << 2;
	EXPECT(call(snap, CRABTREE_SEARCH, &search), -EINVAL);
	info.size = sizeof(info);
	EXPECT(call(snap, CRABTREE_INFO, &info), -EINVAL);
	search.flags = 0;
	EXPECT(call(snap, CRABTREE_SEARCH, &search), 0);
	EXPECT(search.value, 70);
	close(snap);
	expect_one_record(fd);
}

static int scan_into(int fd, u64 records, u32 capacity)
{
	struct crabtree_scan s;

	poison(&s, sizeof(s));
	s.start = 0;
	s.end = ~0ULL;
	s.records = records;
	s.capacity = capacity;
	s.reserved = 0;
	return call(fd, CRABTREE_SCAN, &s);
}

TEST(scan_array, "SCAN into an array that faults returns EFAULT")
{
	int fd = one_record();
	u64 key;

	EXPECT(scan_into(fd, 0, 4), -EFAULT);
	EXPECT(scan_into(fd, (uintptr_t)kernel_address(), 4), -EFAULT);
	EXPECT(scan_into(fd, (uintptr_t)page_at + page_size, 4), -EFAULT);
	EXPECT(scan_into(fd, ~0ULL - 7, 4), -EFAULT);
	EXPECT(scan_into(fd, 1ULL << 63, 0xFFFFFFFFU), -EFAULT);
	for (key = 8; key < 1000; key++)
		REQUIRE(dev_put(fd, key, 1), 0);
	EXPECT(scan_into(fd, (uintptr_t)page_at + page_size - 100 * 16, 2000), -EFAULT);
	EXPECT(scan_into(fd, (uintptr_t)page_at + page_size - 8, 1), -EFAULT);
	EXPECT(scan_into(fd, (uintptr_t)page_at + page_size - 16, 1), 0);
	expect_sound(fd, 993);
}

static int batch_from(int fd, u64 ops, u32 count)
{
	struct crabtree_batch b;

	poison(&b, sizeof(b));
	b.ops = ops;
	b.count = count;
	return call(fd, CRABTREE_BATCH, &b);
}

TEST(batch_array, "BATCH from an array that faults returns EFAULT")
{
	int fd = one_record();

	EXPECT(batch_from(fd, 0, 1), -EFAULT);
	EXPECT(batch_from(fd, (uintptr_t)kernel_address(), 1), -EFAULT);
	EXPECT(batch_from(fd, (uintptr_t)page_at + page_size, 1), -EFAULT);
	EXPECT(batch_from(fd, (uintptr_t)page_at + page_size - 8, 1), -EFAULT);
	EXPECT(batch_from(fd, ~0ULL - 7, 1), -EFAULT);
	EXPECT(batch_from(fd, 1ULL << 63, CRABTREE_BATCH_MAX), -EFAULT);
	expect_one_record(fd);
}

TEST(batch_crossing, "BATCH whose array runs into an unmapped page: sound after it")
{
	struct crabtree_batch_op *op;
	int fd = one_record(), i;
	u64 records;

	op = (struct crabtree_batch_op *)(page_at + page_size - 10 * sizeof(*op));
	for (i = 0; i < 10; i++)
		dev_op(&op[i], CRABTREE_BATCH_INSERT, 100 + i, i);
	EXPECT(batch_from(fd, (uintptr_t)op, 20), -EFAULT);
	records = sound_records(fd);
	EXPECT_TRUE(records == 1 || records == 11);
	EXPECT(batch_from(fd, (uintptr_t)op, 10), 0);
	EXPECT(op[9].status, 0);
	expect_sound(fd, 11);
}

TEST(batch_unwritable, "BATCH whose array cannot take the statuses returns EFAULT")
{
	struct crabtree_batch_op *op = NULL;
	int fd = one_record();

	op = (struct crabtree_batch_op *)page_at;
	dev_op(op, CRABTREE_BATCH_SEARCH, 7, 0);
	REQUIRE(mprotect(page_at, page_size, PROT_READ), 0);
	EXPECT(batch_from(fd, (uintptr_t)op, 1), -EFAULT);
	expect_one_record(fd);
}

TEST(names, "FORMAT: names without an end give EINVAL")
{
	struct crabtree_format f;
	int fd = one_record();

	format_args(&f, CRABTREE_FORMAT_FORCE, 0);
	memset(f.engine, 'a', sizeof(f.engine));
	EXPECT(call(fd, CRABTREE_FORMAT, &f), -EINVAL);
	format_args(&f, CRABTREE_FORMAT_FORCE, 0);
	memset(f.layout, 'a', sizeof(f.layout));
	EXPECT(call(fd, CRABTREE_FORMAT, &f), -EINVAL);
	format_args(&f, CRABTREE_FORMAT_FORCE, 0);
	memset(f.label, 'a', sizeof(f.label));
	EXPECT(call(fd, CRABTREE_FORMAT, &f), -EINVAL);
	expect_one_record(fd);
}

TEST(label, "FORMAT: a label with a slash or a control character returns EINVAL")
{
	static const char * const bad[] = { "/", "a/b", "..\\/", "a\nb", "\x1b[2J", "a\x7f" };
	struct crabtree_format f;
	int fd = one_record();
	u32 i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		format_args(&f, CRABTREE_FORMAT_FORCE, 0);
		strcpy(f.label, bad[i]);
		EXPECT(call(fd, CRABTREE_FORMAT, &f), -EINVAL);
	}
	expect_one_record(fd);
	format_args(&f, CRABTREE_FORMAT_FORCE, 0);
	strcpy(f.label, "\xc3\xa4 b..");
	EXPECT(call(fd, CRABTREE_FORMAT, &f), 0);
	format_args(&f, CRABTREE_FORMAT_FORCE, 0);
	EXPECT(call(fd, CRABTREE_FORMAT, &f), 0);
}

TEST(unknown, "FORMAT: an unknown engine or layout returns EINVAL")
{
	static const char * const names[] = { "crabs", "cra", "CRAB", "slotted", "%s%n", " " };
	struct crabtree_format f;
	int fd = one_record();
	u32 i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		format_args(&f, CRABTREE_FORMAT_FORCE, 0);
		strcpy(f.engine, names[i]);
		EXPECT(call(fd, CRABTREE_FORMAT, &f), -EINVAL);
		format_args(&f, CRABTREE_FORMAT_FORCE, 0);
		strcpy(f.layout, i == 3 ? "slot" : names[i]);
		EXPECT(call(fd, CRABTREE_FORMAT, &f), -EINVAL);
	}
	expect_one_record(fd);
}

TEST(leaf_sizes, "FORMAT: a leaf size that is not allowed returns EINVAL")
{
	static const u32 bad[] = { 1, 3, 64, 128, 256, 511, 513, 1000, 8191, 8193, 16384,
				   1U << 31, ~0U };
	struct crabtree_format f;
	int fd = one_record();
	u32 i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		format_args(&f, CRABTREE_FORMAT_FORCE, bad[i]);
		if (!EXPECT(call(fd, CRABTREE_FORMAT, &f), -EINVAL))
			printf("# leaf size %u\n", bad[i]);
	}
	expect_one_record(fd);
}

TEST(leaf_sizes_good, "FORMAT: every allowed leaf size, 0 is the default")
{
	struct crabtree_info info;
	int fd, i;

	for (i = 0; i < 6; i++) {
		fd = fresh_store(i ? 256U << i : 0);
		REQUIRE(dev_info(fd, &info), 0);
		EXPECT(info.leaf_bytes, i ? 256U << i : 1024);
		expect_sound(fd, 0);
		close(fd);
	}
}

TEST(format_live, "FORMAT over a live store: EEXIST unless forced")
{
	struct crabtree_format f;
	int fd = one_record();

	format_args(&f, 0, 0);
	EXPECT(call(fd, CRABTREE_FORMAT, &f), -EEXIST);
	expect_one_record(fd);
	format_args(&f, CRABTREE_FORMAT_FORCE, 0);
	EXPECT(call(fd, CRABTREE_FORMAT, &f), 0);
	expect_sound(fd, 0);
}

TEST(format_busy, "FORMAT while others hold the device open: EBUSY, then not")
{
	static const int modes[] = { O_RDONLY, O_RDWR };
	struct crabtree_format f;
	int fd = one_record(), other, i;

	for (i = 0; i < 2; i++) {
		other = device_open(modes[i]);
		format_args(&f, CRABTREE_FORMAT_FORCE, 0);
		EXPECT(call(fd, CRABTREE_FORMAT, &f), -EBUSY);
		expect_one_record(fd);
		expect_one_record(other);
		close(other);
	}
	EXPECT(call(fd, CRABTREE_FORMAT, &f), 0);
	expect_sound(fd, 0);
}

TEST(format_identity, "FORMAT: label and uuid as asked, else a random uuid")
{
	struct crabtree_info a, b;
	struct crabtree_format f;
	int fd = one_record();

	REQUIRE(dev_info(fd, &a), 0);
	format_args(&f, CRABTREE_FORMAT_FORCE, 2048);
	memset(f.uuid, 0x5C, sizeof(f.uuid));
	strcpy(f.engine, "crab");
	strcpy(f.layout, "slotted");
	REQUIRE(call(fd, CRABTREE_FORMAT, &f), 0);
	REQUIRE(dev_info(fd, &b), 0);
	EXPECT(memcmp(b.uuid, f.uuid, sizeof(f.uuid)), 0);
	EXPECT(strcmp(b.layout, "slotted"), 0);
	EXPECT(b.leaf_bytes, 2048);
	EXPECT_TRUE(memcmp(a.uuid, b.uuid, sizeof(a.uuid)));
	memset(f.uuid, 0, sizeof(f.uuid));
	REQUIRE(call(fd, CRABTREE_FORMAT, &f), 0);
	REQUIRE(dev_info(fd, &b), 0);
	EXPECT_TRUE(memcmp(b.uuid, f.uuid, sizeof(f.uuid)));
	EXPECT_TRUE(memcmp(a.uuid, b.uuid, sizeof(a.uuid)));
}

TEST(volatile_engine, "FORMAT: the engine without a promise reports it")
{
	struct crabtree_info info;
	struct crabtree_format f;
	int fd = one_record();

	format_args(&f, CRABTREE_FORMAT_FORCE, 0);
	strcpy(f.engine, "volatile");
	REQUIRE(call(fd, CRABTREE_FORMAT, &f), 0);
	REQUIRE(dev_info(fd, &info), 0);
	EXPECT(strcmp(info.engine, "volatile"), 0);
	EXPECT(info.durability, CRABTREE_DURABILITY_NONE);
	EXPECT(info.model, CRABTREE_MODEL_NONE);
	REQUIRE(dev_put(fd, 7, 70), 0);
	expect_one_record(fd);
}
