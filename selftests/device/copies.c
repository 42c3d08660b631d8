// SPDX-License-Identifier: GPL-2.0
/*
 * This file faults user memory at each copy that the ioctls make:
 *
 *   in	the size, the structure, the tail of a newer program's structure (must be
 *	zero), the array of BATCH
 *   out	the structure, the array of SCAN, piece by piece, the array of BATCH
 *
 * bad_input has the addresses that cannot be, for each structure and array. Here
 * are pages: half of a structure or an array can be read, or written, or not.
 *
 * Invariant: a copy in that faults has changed nothing; a copy out that faults
 * returns EFAULT, and the operation is complete.
 */
#include <stddef.h>
#include <sys/mman.h>

#include "device.h"
#include "observe.h"

#define RECORDS		600

static char *pages;	/* two; the second one is accessible or not */
static size_t page_size;

static void second(int protection)
{
	REQUIRE(mprotect(pages + page_size, page_size, protection), 0);
}

static void pages_init(void)
{
	page_size = sysconf(_SC_PAGESIZE);
	pages = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	REQUIRE_TRUE(pages != MAP_FAILED);
	memset(pages, POISON, 2 * page_size);
}

/* munmap(), because user-mode Linux still reads memory without mprotect() access */
static void second_none(void)
{
	REQUIRE_TRUE(mmap(pages + page_size, page_size, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
}

/* A structure of which the last @beyond bytes are in the second page */
static void *across(u32 size, u32 beyond)
{
	void *arg = pages + page_size + beyond - size;

	poison(arg, size);
	return arg;
}

/* Even keys below twice RECORDS */
static int some_records(void)
{
	int fd = fresh_store(512);
	u64 key;

	for (key = 0; key < RECORDS; key++)
		REQUIRE(dev_put(fd, 2 * key, key), 0);
	pages_init();
	return fd;
}

static const unsigned long requests[] = {
	CRABTREE_INFO, CRABTREE_INSERT, CRABTREE_SEARCH, CRABTREE_DELETE, CRABTREE_SCAN,
	CRABTREE_BATCH, CRABTREE_CHECK, CRABTREE_FORMAT, CRABTREE_DELETE_RANGE, CRABTREE_SNAPSHOT,
	CRABTREE_WATCH, CRABTREE_PUT, CRABTREE_GET, CRABTREE_ERASE, CRABTREE_LIST, CRABTREE_NAMES,
	CRABTREE_COMMIT,
};

#define REQUESTS	(sizeof(requests) / sizeof(*requests))

TEST(in_head, "in: each structure whose last word cannot be read returns EFAULT")
{
	int fd = some_records();
	u32 i;

	for (i = 0; i < REQUESTS; i++) {
		second(PROT_READ | PROT_WRITE);
		across(_IOC_SIZE(requests[i]), 4);
		second_none();
		EXPECT(call(fd, requests[i], pages + page_size + 4 - _IOC_SIZE(requests[i])),
		       -EFAULT);
	}
	expect_sound(fd, RECORDS);
}

TEST(in_tail, "in: the tail of a newer structure cannot be read: EFAULT")
{
	int fd = some_records();
	u32 i, size;
	char *arg;

	for (i = 0; i < REQUESTS; i++) {
		size = _IOC_SIZE(requests[i]);
		second(PROT_READ | PROT_WRITE);
		arg = across(size + 64, 32);
		memset(arg + size, 0, 64);
		second_none();
		EXPECT(call(fd, requests[i], arg), -EFAULT);
	}
	expect_sound(fd, RECORDS);
}

TEST(in_batch, "in: half of BATCH's array cannot be read: nothing is done")
{
	struct crabtree_batch_op *op;
	struct crabtree_batch b;
	int fd = some_records(), i;

	op = (struct crabtree_batch_op *)(pages + page_size) - 10;
	for (i = 0; i < 20; i++)
		dev_op(&op[i], CRABTREE_BATCH_INSERT, 2 * i + 1, i);
	second_none();
	EXPECT(dev_batch(fd, op, 20, &b), -EFAULT);
	EXPECT(b.done, 0);
	expect_sound(fd, RECORDS);
}

/* A structure that can be read, and of which the last word cannot be written */
static void *half_written(u32 size)
{
	second(PROT_READ | PROT_WRITE);
	return across(size, 4);
}

TEST(out_insert, "out: INSERT whose answer cannot be written: EFAULT, and it is done")
{
	struct crabtree_insert *in;
	int fd = some_records();
	u64 got = 0;

	in = half_written(sizeof(*in));
	in->key = 7;
	in->value = 70;
	in->reserved = 0;
	second(PROT_READ);
	EXPECT(call(fd, CRABTREE_INSERT, in), -EFAULT);
	EXPECT(dev_get(fd, 7, &got), 0);
	EXPECT(got, 70);
	expect_sound(fd, RECORDS + 1);
}

TEST(out_refused, "out: a refused INSERT whose answer cannot be written changes nothing")
{
	struct crabtree_insert *in;
	int fd = some_records();
	u64 got = 0;

	in = half_written(sizeof(*in));
	in->flags = CRABTREE_INSERT_CREATE;
	in->key = 8;
	in->value = 70;
	in->reserved = 0;
	second(PROT_READ);
	EXPECT(call(fd, CRABTREE_INSERT, in), -EFAULT);
	EXPECT(dev_get(fd, 8, &got), 0);
	EXPECT(got, 4);
	expect_sound(fd, RECORDS);
}

TEST(out_delete, "out: DELETE whose answer cannot be written: EFAULT, and it is done")
{
	struct crabtree_delete *d;
	int fd = some_records();
	u64 got;

	d = half_written(sizeof(*d));
	d->key = 8;
	second(PROT_READ);
	EXPECT(call(fd, CRABTREE_DELETE, d), -EFAULT);
	EXPECT(dev_get(fd, 8, &got), -ENOENT);
	expect_sound(fd, RECORDS - 1);
}

TEST(out_reading, "out: INFO, SEARCH and CHECK whose answer cannot be written: EFAULT")
{
	struct crabtree_search *s;
	int fd = some_records();

	half_written(sizeof(struct crabtree_info));
	second(PROT_READ);
	EXPECT(call(fd, CRABTREE_INFO, pages + page_size + 4 - sizeof(struct crabtree_info)),
	       -EFAULT);
	s = half_written(sizeof(*s));
	s->key = 8;
	second(PROT_READ);
	EXPECT(call(fd, CRABTREE_SEARCH, s), -EFAULT);
	half_written(sizeof(struct crabtree_check));
	second(PROT_READ);
	EXPECT(call(fd, CRABTREE_CHECK, pages + page_size + 4 - sizeof(struct crabtree_check)),
	       -EFAULT);
	expect_sound(fd, RECORDS);
}

static void scan_args(struct crabtree_scan *s, void *records, u32 capacity)
{
	s->start = 0;
	s->end = ~0ULL;
	s->records = (uintptr_t)records;
	s->capacity = capacity;
	s->reserved = 0;
}

TEST(out_scan, "out: SCAN whose structure cannot be written: EFAULT, its array is filled")
{
	static struct crabtree_record r[4];
	struct crabtree_scan *s;
	int fd = some_records();

	s = half_written(sizeof(*s));
	scan_args(s, r, 4);
	second(PROT_READ);
	EXPECT(call(fd, CRABTREE_SCAN, s), -EFAULT);
	EXPECT(r[3].key, 6);
	expect_sound(fd, RECORDS);
}

/* The array's second page is not writable: only the copy that reaches it fails */
static void scan_array(int protection)
{
	struct crabtree_record *r;
	struct crabtree_scan s;
	int fd = some_records();
	u32 fit = page_size / sizeof(*r), off;

	for (off = 0; off <= sizeof(*r); off += sizeof(*r) / 2) {
		second(PROT_READ | PROT_WRITE);
		memset(pages, POISON, 2 * page_size);
		if (protection == PROT_NONE)
			second_none();
		else
			second(protection);
		r = (struct crabtree_record *)(pages + off);
		poison(&s, sizeof(s));
		scan_args(&s, r, fit + 1);
		EXPECT(call(fd, CRABTREE_SCAN, &s), -EFAULT);
		scan_args(&s, r, off ? fit - 1 : fit);
		REQUIRE(call(fd, CRABTREE_SCAN, &s), 0);
		REQUIRE(s.count, off ? fit - 1 : fit);
		EXPECT(r[s.count - 1].key, 2 * (s.count - 1));
		EXPECT(s.next, 2 * (s.count - 1) + 1);
	}
	expect_sound(fd, RECORDS);
}

TEST(out_scan_none, "out: SCAN into an array that runs into a page without access")
{
	scan_array(PROT_NONE);
}

TEST(out_scan_read, "out: SCAN into an array that runs into a read-only page")
{
	scan_array(PROT_READ);
}

TEST(out_batch, "out: BATCH whose structure cannot be written: EFAULT, the statuses are written")
{
	struct crabtree_batch_op op[3];
	struct crabtree_batch *b;
	int fd = some_records(), i;

	for (i = 0; i < 3; i++)
		dev_op(&op[i], CRABTREE_BATCH_INSERT, 2 * i + 1, i);
	b = half_written(sizeof(*b));
	b->ops = (uintptr_t)op;
	b->count = 3;
	second(PROT_READ);
	EXPECT(call(fd, CRABTREE_BATCH, b), -EFAULT);
	for (i = 0; i < 3; i++)
		EXPECT(op[i].status, 0);
	expect_sound(fd, RECORDS + 3);
}

TEST(out_batch_array, "out: BATCH whose statuses cannot be written: EFAULT, and all is done")
{
	struct crabtree_batch_op *op;
	struct crabtree_batch b;
	int fd = some_records(), i;
	u64 got;

	op = (struct crabtree_batch_op *)(pages + page_size) - 10;
	for (i = 0; i < 20; i++)
		dev_op(&op[i], i % 2 ? CRABTREE_BATCH_DELETE : CRABTREE_BATCH_INSERT,
		       i % 2 ? 2 * i : 2 * i + 1, i);
	second(PROT_READ);
	EXPECT(dev_batch(fd, op, 20, &b), -EFAULT);
	EXPECT(b.done, 20);
	EXPECT(op[0].status, 0);
	EXPECT(op[19].status, (int)POISON32);
	for (i = 0; i < 20; i++)
		EXPECT(dev_get(fd, i % 2 ? 2 * i : 2 * i + 1, &got), i % 2 ? -ENOENT : 0);
	expect_sound(fd, RECORDS);
}

/* A part of the changes cannot be written: those before it are returned, and the others wait */
static void changes_out(int fd)
{
	struct crabtree_change *to = (struct crabtree_change *)(pages + page_size) - 40;
	int watch = open_watch(fd, 0, ~0ULL, 64), got, i;

	REQUIRE(fcntl(watch, F_SETFL, O_NONBLOCK), 0);
	for (i = 0; i < 60; i++)
		REQUIRE(dev_put(fd, 0, i), 0);
	second_none();
	got = read_changes(watch, to, 60);
	EXPECT(got > 0 && got <= 40, true);
	while (read_changes(watch, to, 1) == 1)
		EXPECT(to->seq, ++got);
	EXPECT(got, 60);
	close(watch);
}

TEST(out_open, "out: WATCH and SNAPSHOT whose answer cannot be written: EFAULT, and nothing is open")
{
	struct crabtree_snapshot *snapshot;
	struct crabtree_watch *watch;
	struct crabtree_format f;
	int fd = some_records(), next = dup(fd);

	close(next);
	snapshot = half_written(sizeof(*snapshot));
	snapshot->reserved = 0;
	second(PROT_READ);
	EXPECT(call(fd, CRABTREE_SNAPSHOT, snapshot), -EFAULT);
	watch = half_written(sizeof(*watch));
	memset(watch, 0, sizeof(*watch));
	watch->size = sizeof(*watch);
	second(PROT_READ);
	EXPECT(call(fd, CRABTREE_WATCH, watch), -EFAULT);
	EXPECT(dup(fd), next);
	close(next);
	changes_out(fd);
	format_args(&f, CRABTREE_FORMAT_FORCE, 0);
	EXPECT(call(fd, CRABTREE_FORMAT, &f), 0);
	expect_sound(fd, 0);
}

TEST(format, "FORMAT has nothing to write: a structure in read-only memory will do")
{
	struct crabtree_format *f;
	int fd = some_records();

	f = (struct crabtree_format *)(pages + page_size);
	format_args(f, CRABTREE_FORMAT_FORCE, 512);
	second(PROT_READ);
	EXPECT(call(fd, CRABTREE_FORMAT, f), 0);
	expect_sound(fd, 0);
}
