/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file holds the shared parts of the device tests: open a device, the verbs as
 * functions, an empty store to work on.
 *
 * Invariant: every out-parameter is poisoned before its call, so that a field
 * which the kernel did not write is seen. Calls return 0 or a negative errno.
 *
 * The tests format the device that CRABTREE_DEV names (/dev/crab0). They refuse
 * one that holds a store whose label is not their own.
 */
#ifndef SELFTEST_DEVICE_H
#define SELFTEST_DEVICE_H

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <linux/crabtree.h>

#include "harness.h"
#include "tests/rng.h"

typedef uint64_t u64;
typedef uint32_t u32;

#define POISON		0xA5
#define POISON32	0xA5A5A5A5U
#define POISON64	0xA5A5A5A5A5A5A5A5ULL
#define SELFTEST_LABEL	"selftest"

static inline const char *device_path(void)
{
	const char *path = getenv("CRABTREE_DEV");

	return path ? path : "/dev/crab0";
}

static inline int device_open(int flags)
{
	int fd = open(device_path(), flags | O_CLOEXEC);

	if (fd < 0)
		TEST_FAIL("%s: %s", device_path(), strerror(errno));
	return fd;
}

static inline int call(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

/* A structure with everything poisoned but its size and flags */
static inline void poison(void *arg, u32 size)
{
	memset(arg, POISON, size);
	((u32 *)arg)[0] = size;
	((u32 *)arg)[1] = 0;
}

static inline int dev_info(int fd, struct crabtree_info *info)
{
	poison(info, sizeof(*info));
	return call(fd, CRABTREE_INFO, info);
}

static inline int dev_insert(int fd, u64 key, u64 value, u32 flags, struct crabtree_insert *in)
{
	poison(in, sizeof(*in));
	in->flags = flags;
	in->key = key;
	in->value = value;
	in->reserved = 0;
	return call(fd, CRABTREE_INSERT, in);
}

static inline int dev_swap(int fd, u64 key, u64 expected, u64 value, struct crabtree_insert *in)
{
	poison(in, sizeof(*in));
	in->flags = CRABTREE_INSERT_SWAP;
	in->key = key;
	in->value = value;
	in->old_value = expected;
	in->reserved = 0;
	return call(fd, CRABTREE_INSERT, in);
}

static inline int dev_put(int fd, u64 key, u64 value)
{
	struct crabtree_insert in;

	return dev_insert(fd, key, value, 0, &in);
}

static inline int dev_search(int fd, u64 key, u32 flags, struct crabtree_search *s)
{
	poison(s, sizeof(*s));
	s->flags = flags;
	s->key = key;
	return call(fd, CRABTREE_SEARCH, s);
}

static inline u64 now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ULL + t.tv_nsec / 1000;
}

static inline int dev_get(int fd, u64 key, u64 *value)
{
	struct crabtree_search s;
	int rc = dev_search(fd, key, 0, &s);

	*value = s.value;
	return rc;
}

static inline int dev_delete(int fd, u64 key, u64 *old)
{
	struct crabtree_delete d;
	int rc;

	poison(&d, sizeof(d));
	d.key = key;
	rc = call(fd, CRABTREE_DELETE, &d);
	if (old)
		*old = d.old_value;
	return rc;
}

/* One SCAN call; the records are poisoned as well */
static inline int dev_scan_flags(int fd, u32 flags, u64 start, u64 end,
				 struct crabtree_record *records, u32 capacity,
				 struct crabtree_scan *s)
{
	memset(records, POISON, capacity * sizeof(*records));
	poison(s, sizeof(*s));
	s->flags = flags;
	s->start = start;
	s->end = end;
	s->records = (uintptr_t)records;
	s->capacity = capacity;
	s->reserved = 0;
	return call(fd, CRABTREE_SCAN, s);
}

static inline int dev_scan(int fd, u64 start, u64 end, struct crabtree_record *records,
			   u32 capacity, struct crabtree_scan *s)
{
	return dev_scan_flags(fd, 0, start, end, records, capacity, s);
}

static inline int dev_scan_back(int fd, u64 start, u64 end, struct crabtree_record *records,
				u32 capacity, struct crabtree_scan *s)
{
	return dev_scan_flags(fd, CRABTREE_SCAN_REVERSE, start, end, records, capacity, s);
}

static inline int dev_batch(int fd, struct crabtree_batch_op *ops, u32 count,
			    struct crabtree_batch *b)
{
	poison(b, sizeof(*b));
	b->ops = (uintptr_t)ops;
	b->count = count;
	return call(fd, CRABTREE_BATCH, b);
}

/* An operation of a batch, its out-parameters poisoned */
static inline void dev_op(struct crabtree_batch_op *op, u32 verb, u64 key, u64 value)
{
	memset(op, POISON, sizeof(*op));
	op->verb = verb;
	op->flags = 0;
	op->key = key;
	op->value = value;
}

static inline int dev_check(int fd, struct crabtree_check *c)
{
	poison(c, sizeof(*c));
	return call(fd, CRABTREE_CHECK, c);
}

static inline int dev_delete_range(int fd, u64 start, u64 end, struct crabtree_delete_range *range)
{
	poison(range, sizeof(*range));
	range->start = start;
	range->end = end;
	range->reserved = 0;
	return call(fd, CRABTREE_DELETE_RANGE, range);
}

/* Every invariant holds; returns the number of records */
static inline u64 sound_records(int fd)
{
	struct crabtree_check c;

	REQUIRE(dev_check(fd, &c), 0);
	if (!EXPECT(c.errors, 0))
		printf("# first error at %llu: %.96s\n", (unsigned long long)c.first_offset,
		       c.first);
	return c.records;
}

static inline void expect_sound(int fd, u64 records)
{
	EXPECT(sound_records(fd), records);
}

/* The store has the record of key 7, and no other one */
static inline void expect_one_record(int fd)
{
	u64 got = 0;

	EXPECT(dev_get(fd, 7, &got), 0);
	EXPECT(got, 70);
	expect_sound(fd, 1);
}

/* The end of a page of memory after which there is none */
static inline char *page_end(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE_TRUE(map != MAP_FAILED);
	REQUIRE(munmap(map + page, page), 0);
	return map + page;
}

static inline void format_args(struct crabtree_format *f, u32 flags, u32 leaf_bytes)
{
	memset(f, 0, sizeof(*f));
	f->size = sizeof(*f);
	f->flags = flags;
	f->leaf_bytes = leaf_bytes;
	strcpy(f->label, SELFTEST_LABEL);
}

/* The device may be overwritten: it holds no store, or one of ours */
static inline void expect_ours(int fd)
{
	struct crabtree_info info;

	REQUIRE(dev_info(fd, &info), 0);
	if (info.state != CRABTREE_STATE_UNFORMATTED && !getenv("CRABTREE_DESTROY") &&
	    strncmp(info.label, SELFTEST_LABEL, sizeof(info.label)))
		TEST_SKIP("%s holds a store that is not ours (CRABTREE_DESTROY=1 overwrites it)",
			  device_path());
}

/* An empty store, opened for writing, without other users */
static inline int fresh_store_as(struct crabtree_format *f)
{
	int fd = device_open(O_RDWR);

	expect_ours(fd);
	REQUIRE(call(fd, CRABTREE_FORMAT, f), 0);
	return fd;
}

/* The same of an engine; @kind: 0, or CRABTREE_FORMAT_BLOBS, _COMMITS or _NAMES */
static inline int fresh_store_kind(const char *engine, u32 kind)
{
	struct crabtree_format f;

	format_args(&f, CRABTREE_FORMAT_FORCE | kind, 0);
	strcpy(f.engine, engine);
	return fresh_store_as(&f);
}

static inline int fresh_store_of(const char *engine, const char *layout, u32 leaf_bytes)
{
	struct crabtree_format f;

	format_args(&f, CRABTREE_FORMAT_FORCE, leaf_bytes);
	strcpy(f.engine, engine);
	strcpy(f.layout, layout);
	return fresh_store_as(&f);
}

/* The same of the default engine and layout */
static inline int fresh_store(u32 leaf_bytes)
{
	return fresh_store_of("", "", leaf_bytes);
}

#endif /* SELFTEST_DEVICE_H */
