// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the binary interface: sizes, offsets and numbers that
 * programs were compiled with, and the rules of size, flags and reserved fields.
 * It is compiled for 64 and for 32 bits; both must agree with the tables here.
 *
 * Invariant: these tables never change; a new field goes to the
 * end of a structure, as a new line.
 */
#include <stddef.h>

#include "observe.h"

struct field {
	const char *name;
	size_t offset;
	size_t size;
};

#define FIELD(type, member)	\
	{ #type "." #member, offsetof(struct type, member), sizeof(((struct type *)0)->member) }

static const struct field info_fields[] = {
	FIELD(crabtree_info, size), FIELD(crabtree_info, flags), FIELD(crabtree_info, state),
	FIELD(crabtree_info, durability), FIELD(crabtree_info, model),
	FIELD(crabtree_info, version), FIELD(crabtree_info, uuid), FIELD(crabtree_info, label),
	FIELD(crabtree_info, engine), FIELD(crabtree_info, layout), FIELD(crabtree_info, region),
	FIELD(crabtree_info, reason), FIELD(crabtree_info, region_bytes),
	FIELD(crabtree_info, leaf_bytes), FIELD(crabtree_info, leaves),
	FIELD(crabtree_info, leaves_used), FIELD(crabtree_info, leaves_bad),
	FIELD(crabtree_info, records), FIELD(crabtree_info, capacity),
	FIELD(crabtree_info, feature_compat), FIELD(crabtree_info, feature_ro_compat),
	FIELD(crabtree_info, feature_incompat), FIELD(crabtree_info, dram_bytes),
	FIELD(crabtree_info, attach_ns), FIELD(crabtree_info, lines),
	FIELD(crabtree_info, fences), FIELD(crabtree_info, prepare_lines),
	FIELD(crabtree_info, prepare_fences), FIELD(crabtree_info, inserts),
	FIELD(crabtree_info, updates), FIELD(crabtree_info, deletes),
	FIELD(crabtree_info, searches), FIELD(crabtree_info, splits),
	FIELD(crabtree_info, unlinks), FIELD(crabtree_info, repairs),
	FIELD(crabtree_info, orders), FIELD(crabtree_info, lines_bound),
	FIELD(crabtree_info, counters), FIELD(crabtree_info, options),
	FIELD(crabtree_info, keeps), FIELD(crabtree_info, reserved), { }
};

static const struct field insert_fields[] = {
	FIELD(crabtree_insert, size), FIELD(crabtree_insert, flags), FIELD(crabtree_insert, key),
	FIELD(crabtree_insert, value), FIELD(crabtree_insert, old_value),
	FIELD(crabtree_insert, existed), FIELD(crabtree_insert, reserved), { }
};

static const struct field search_fields[] = {
	FIELD(crabtree_search, size), FIELD(crabtree_search, flags), FIELD(crabtree_search, key),
	FIELD(crabtree_search, value), { }
};

static const struct field delete_fields[] = {
	FIELD(crabtree_delete, size), FIELD(crabtree_delete, flags), FIELD(crabtree_delete, key),
	FIELD(crabtree_delete, old_value), { }
};

static const struct field delete_range_fields[] = {
	FIELD(crabtree_delete_range, size), FIELD(crabtree_delete_range, flags),
	FIELD(crabtree_delete_range, start), FIELD(crabtree_delete_range, end),
	FIELD(crabtree_delete_range, deleted), FIELD(crabtree_delete_range, next),
	FIELD(crabtree_delete_range, more), FIELD(crabtree_delete_range, reserved), { }
};

static const struct field record_fields[] = {
	FIELD(crabtree_record, key), FIELD(crabtree_record, value), { }
};

static const struct field scan_fields[] = {
	FIELD(crabtree_scan, size), FIELD(crabtree_scan, flags), FIELD(crabtree_scan, start),
	FIELD(crabtree_scan, end), FIELD(crabtree_scan, records), FIELD(crabtree_scan, capacity),
	FIELD(crabtree_scan, count), FIELD(crabtree_scan, more), FIELD(crabtree_scan, reserved),
	FIELD(crabtree_scan, next), { }
};

static const struct field op_fields[] = {
	FIELD(crabtree_batch_op, verb), FIELD(crabtree_batch_op, flags),
	FIELD(crabtree_batch_op, key), FIELD(crabtree_batch_op, value),
	FIELD(crabtree_batch_op, old_value), FIELD(crabtree_batch_op, status),
	FIELD(crabtree_batch_op, existed), { }
};

static const struct field batch_fields[] = {
	FIELD(crabtree_batch, size), FIELD(crabtree_batch, flags), FIELD(crabtree_batch, ops),
	FIELD(crabtree_batch, count), FIELD(crabtree_batch, done), { }
};

static const struct field check_fields[] = {
	FIELD(crabtree_check, size), FIELD(crabtree_check, flags), FIELD(crabtree_check, leaves),
	FIELD(crabtree_check, records), FIELD(crabtree_check, errors),
	FIELD(crabtree_check, first_offset), FIELD(crabtree_check, first), { }
};

static const struct field put_fields[] = {
	FIELD(crabtree_put, size), FIELD(crabtree_put, flags), FIELD(crabtree_put, key),
	FIELD(crabtree_put, value), FIELD(crabtree_put, bytes), FIELD(crabtree_put, existed),
	FIELD(crabtree_put, version), FIELD(crabtree_put, name_bytes), FIELD(crabtree_put, type), { }
};

static const struct field get_fields[] = {
	FIELD(crabtree_get, size), FIELD(crabtree_get, flags), FIELD(crabtree_get, key),
	FIELD(crabtree_get, value), FIELD(crabtree_get, capacity), FIELD(crabtree_get, bytes),
	FIELD(crabtree_get, version), FIELD(crabtree_get, name_bytes), FIELD(crabtree_get, type), { }
};

static const struct field erase_fields[] = {
	FIELD(crabtree_erase, size), FIELD(crabtree_erase, flags), FIELD(crabtree_erase, key),
	FIELD(crabtree_erase, version), FIELD(crabtree_erase, name_bytes),
	FIELD(crabtree_erase, reserved), { }
};

static const struct field list_fields[] = {
	FIELD(crabtree_list, size), FIELD(crabtree_list, flags), FIELD(crabtree_list, start),
	FIELD(crabtree_list, end), FIELD(crabtree_list, entries), FIELD(crabtree_list, capacity),
	FIELD(crabtree_list, count), FIELD(crabtree_list, more), FIELD(crabtree_list, reserved),
	FIELD(crabtree_list, next), { }
};

static const struct field names_fields[] = {
	FIELD(crabtree_names, size), FIELD(crabtree_names, flags), FIELD(crabtree_names, start),
	FIELD(crabtree_names, end), FIELD(crabtree_names, start_bytes),
	FIELD(crabtree_names, end_bytes), FIELD(crabtree_names, buffer),
	FIELD(crabtree_names, capacity), FIELD(crabtree_names, used), FIELD(crabtree_names, count),
	FIELD(crabtree_names, more), { }
};

static const struct field name_fields[] = {
	FIELD(crabtree_name, version), FIELD(crabtree_name, bytes), FIELD(crabtree_name, status),
	FIELD(crabtree_name, entry_bytes), FIELD(crabtree_name, name_bytes),
	FIELD(crabtree_name, type), FIELD(crabtree_name, name), { }
};

static const struct field commit_fields[] = {
	FIELD(crabtree_commit, size), FIELD(crabtree_commit, flags), FIELD(crabtree_commit, ops),
	FIELD(crabtree_commit, count), FIELD(crabtree_commit, failed), { }
};

static const struct field commit_op_fields[] = {
	FIELD(crabtree_commit_op, verb), FIELD(crabtree_commit_op, flags),
	FIELD(crabtree_commit_op, key), FIELD(crabtree_commit_op, value),
	FIELD(crabtree_commit_op, bytes), FIELD(crabtree_commit_op, name_bytes),
	FIELD(crabtree_commit_op, version), FIELD(crabtree_commit_op, type),
	FIELD(crabtree_commit_op, existed), FIELD(crabtree_commit_op, status),
	FIELD(crabtree_commit_op, reserved), { }
};

static const struct field format_fields[] = {
	FIELD(crabtree_format, size), FIELD(crabtree_format, flags),
	FIELD(crabtree_format, leaf_bytes), FIELD(crabtree_format, reserved),
	FIELD(crabtree_format, engine), FIELD(crabtree_format, layout),
	FIELD(crabtree_format, label), FIELD(crabtree_format, uuid), { }
};

static const struct field snapshot_fields[] = {
	FIELD(crabtree_snapshot, size), FIELD(crabtree_snapshot, flags),
	FIELD(crabtree_snapshot, fd), FIELD(crabtree_snapshot, reserved), { }
};

static const struct field watch_fields[] = {
	FIELD(crabtree_watch, size), FIELD(crabtree_watch, flags), FIELD(crabtree_watch, start),
	FIELD(crabtree_watch, end), FIELD(crabtree_watch, entries), FIELD(crabtree_watch, fd),
	FIELD(crabtree_watch, prefix), FIELD(crabtree_watch, prefix_bytes),
	FIELD(crabtree_watch, reserved), { }
};

static const struct field change_fields[] = {
	FIELD(crabtree_change, seq), FIELD(crabtree_change, key), FIELD(crabtree_change, value),
	FIELD(crabtree_change, old), FIELD(crabtree_change, verb), FIELD(crabtree_change, flags), { }
};

static const struct field name_change_fields[] = {
	FIELD(crabtree_name_change, seq), FIELD(crabtree_name_change, value),
	FIELD(crabtree_name_change, old), FIELD(crabtree_name_change, verb),
	FIELD(crabtree_name_change, flags), FIELD(crabtree_name_change, entry_bytes),
	FIELD(crabtree_name_change, name_bytes), FIELD(crabtree_name_change, type),
	FIELD(crabtree_name_change, name), { }
};

/* Fields follow each other without a gap, naturally aligned, to the very end */
static void expect_dense(const struct field *f, size_t size)
{
	size_t at = 0;

	for (; f->name; f++) {
		if (!EXPECT(f->offset, at))
			printf("# %s\n", f->name);
		if (f->size == 8)
			EXPECT(f->offset % 8, 0);
		at = f->offset + f->size;
	}
	EXPECT(at, size);
	EXPECT(size % 8, 0);
}

struct ioc {
	const char *name;
	unsigned long request;
	unsigned long number;	/* as compiled into existing programs */
	size_t size;
	const struct field *fields;
	unsigned int flags;	/* flags that the kernel accepts */
	size_t reserved;	/* offset of the reserved word, or 0 */
	size_t first;		/* size of the first version, or 0: the size of today */
	int good;		/* result of a good request on a store of records */
};

static const struct ioc iocs[] = {
	{ "INFO", CRABTREE_INFO, 0xC378CB20, 888, info_fields, 0, 0,
	  offsetof(struct crabtree_info, keeps), 0 },
	{ "INSERT", CRABTREE_INSERT, 0xC028CB21, 40, insert_fields, 15,
	  offsetof(struct crabtree_insert, reserved), 0, 0 },
	{ "SEARCH", CRABTREE_SEARCH, 0xC018CB22, 24, search_fields, 3, 0, 0, 0 },
	{ "DELETE", CRABTREE_DELETE, 0xC018CB23, 24, delete_fields, 0, 0, 0, 0 },
	{ "SCAN", CRABTREE_SCAN, 0xC038CB24, 56, scan_fields, 1,
	  offsetof(struct crabtree_scan, reserved), 0, 0 },
	{ "BATCH", CRABTREE_BATCH, 0xC018CB25, 24, batch_fields, 1, 0, 0, 0 },
	{ "CHECK", CRABTREE_CHECK, 0xC088CB26, 136, check_fields, 0, 0, 0, 0 },
	{ "FORMAT", CRABTREE_FORMAT, 0xC060CB27, 96, format_fields, 63,
	  offsetof(struct crabtree_format, reserved), 0, 0 },
	{ "DELETE_RANGE", CRABTREE_DELETE_RANGE, 0xC030CB28, 48, delete_range_fields, 0,
	  offsetof(struct crabtree_delete_range, reserved), 0, 0 },
	{ "SNAPSHOT", CRABTREE_SNAPSHOT, 0xC010CB29, 16, snapshot_fields, 0,
	  offsetof(struct crabtree_snapshot, reserved), 0, 0 },
	{ "WATCH", CRABTREE_WATCH, 0xC030CB2A, 48, watch_fields, 0,
	  offsetof(struct crabtree_watch, reserved), offsetof(struct crabtree_watch, prefix), 0 },
	{ "PUT", CRABTREE_PUT, 0xC030CB2B, 48, put_fields, 7, 0,
	  offsetof(struct crabtree_put, name_bytes), -EOPNOTSUPP },
	{ "GET", CRABTREE_GET, 0xC030CB2C, 48, get_fields, 0, 0,
	  offsetof(struct crabtree_get, name_bytes), -EOPNOTSUPP },
	{ "ERASE", CRABTREE_ERASE, 0xC020CB2D, 32, erase_fields, 4,
	  offsetof(struct crabtree_erase, reserved),
	  offsetof(struct crabtree_erase, name_bytes), -EOPNOTSUPP },
	{ "LIST", CRABTREE_LIST, 0xC038CB2E, 56, list_fields, 0,
	  offsetof(struct crabtree_list, reserved), 0, -EOPNOTSUPP },
	{ "NAMES", CRABTREE_NAMES, 0xC038CB2F, 56, names_fields, 3, 0, 0, -EOPNOTSUPP },
	{ "COMMIT", CRABTREE_COMMIT, 0xC018CB30, 24, commit_fields, 0, 0, 0, -EOPNOTSUPP },
};

#define for_each_ioc(i)	for ((i) = iocs; (i) < iocs + sizeof(iocs) / sizeof(*iocs); (i)++)

/* The sizes of the others are in the numbers of their ioctls */
_Static_assert(sizeof(struct crabtree_record) == 16, "record");
_Static_assert(sizeof(struct crabtree_batch_op) == 40, "batch_op");

TEST(layout, "structures are dense and of fixed size")
{
	const struct ioc *i;

	for_each_ioc(i) {
		printf("# %s\n", i->name);
		expect_dense(i->fields, i->size);
	}
	expect_dense(record_fields, 16);
	expect_dense(op_fields, 40);
	expect_dense(name_fields, 24);
	expect_dense(commit_op_fields, 56);
	expect_dense(change_fields, 40);
	expect_dense(name_change_fields, 40);
}

TEST(numbers, "ioctl numbers are what they always were")
{
	const struct ioc *i;

	for_each_ioc(i)
		EXPECT(i->request, i->number);
	EXPECT(CRABTREE_KEY_RESERVED, ~0ULL);
	EXPECT(CRABTREE_BATCH_MAX, 4096);
	EXPECT(CRABTREE_STATE_GONE, 4);
	EXPECT(CRABTREE_DURABILITY_CACHE, 5);
	EXPECT(CRABTREE_MODEL_WHOLE_LINE, 4);
	EXPECT(CRABTREE_KEEPS_UNPROVEN, 2);
}

/* Room for a structure of a later version, its first part a good request */
union request {
	u32 word[1025];
	struct crabtree_scan scan;
	struct crabtree_batch batch;
	struct crabtree_insert insert;
	struct crabtree_delete delete;
	struct crabtree_delete_range delete_range;
	struct crabtree_search search;
	struct crabtree_format format;
	struct crabtree_names names;
	struct crabtree_commit commit;
	struct crabtree_watch watch;
	char byte[4100];
};

static struct crabtree_record scanned[4];
static char named[CRABTREE_NAME_ENTRY_MAX];
static struct crabtree_commit_op tested = { .verb = CRABTREE_COMMIT_TEST, .flags = CRABTREE_IF_ABSENT };

/* A request that succeeds; DELETE finds the key of the table's INSERT */
static void request_good(const struct ioc *i, union request *r)
{
	memset(r, 0, sizeof(*r));
	r->word[0] = i->size;
	if (i->request == CRABTREE_SCAN || i->request == CRABTREE_LIST) {	/* of one form */
		r->scan.records = (uintptr_t)scanned;
		r->scan.capacity = 4;
		r->scan.end = ~0ULL;
	} else if (i->request == CRABTREE_NAMES) {
		r->names.buffer = (uintptr_t)named;
		r->names.capacity = sizeof(named);
	} else if (i->request == CRABTREE_COMMIT) {
		r->commit.ops = (uintptr_t)&tested;
		r->commit.count = 1;
	} else if (i->request == CRABTREE_FORMAT) {
		r->format.flags = CRABTREE_FORMAT_FORCE;
		strcpy(r->format.label, SELFTEST_LABEL);
	} else if (i->request == CRABTREE_DELETE_RANGE || i->request == CRABTREE_WATCH) {
		r->watch.end = 7;	/* at the same place */
	} else if (i->request != CRABTREE_SNAPSHOT && i->request != CRABTREE_INFO && i->request != CRABTREE_CHECK &&
		   i->request != CRABTREE_BATCH) {
		r->insert.key = 7;	/* SEARCH and DELETE have theirs at the same place */
	}
}

/* Closes the descriptor that @i has opened */
static void request_close(const struct ioc *i, const void *at)
{
	if (i->fields == snapshot_fields)
		EXPECT(close(((const struct crabtree_snapshot *)at)->fd), 0);
	if (i->fields == watch_fields)
		EXPECT(close(((const struct crabtree_watch *)at)->fd), 0);
}

/* Prepares the store for @i, then calls it with the request at @at, or with @r and a size word of @size */
static int request_call_at(int fd, const struct ioc *i, void *at)
{
	int rc;

	REQUIRE(dev_put(fd, 7, 70), 0);
	rc = call(fd, i->request, at);
	if (!rc)
		request_close(i, at);
	return rc;
}

static int request_call(int fd, const struct ioc *i, union request *r, u32 size)
{
	r->word[0] = size;
	return request_call_at(fd, i, r);
}

TEST(exact, "the size of today works")
{
	int fd = fresh_store(0);
	const struct ioc *i;
	union request r;

	for_each_ioc(i) {
		request_good(i, &r);
		if (!EXPECT(request_call(fd, i, &r, i->size), i->good))
			printf("# %s\n", i->name);
	}
}

TEST(larger, "a larger structure with a zero tail works, the tail untouched")
{
	int fd = fresh_store(0);
	const struct ioc *i;
	union request r;
	size_t at;

	for_each_ioc(i) {
		request_good(i, &r);
		if (!EXPECT(request_call(fd, i, &r, i->size + 64), i->good))
			printf("# %s\n", i->name);
		for (at = i->size; at < i->size + 64; at++)
			EXPECT(r.byte[at], 0);
	}
}

TEST(tail, "a larger structure with a tail that is not zero returns E2BIG")
{
	int fd = fresh_store(0);
	const struct ioc *i;
	union request r;
	size_t at;

	for_each_ioc(i) {
		for (at = i->size; at < i->size + 16; at += 15) {
			request_good(i, &r);
			r.byte[at] = 1;
			if (!EXPECT(request_call(fd, i, &r, i->size + 16), -E2BIG))
				printf("# %s, byte %zu\n", i->name, at);
		}
	}
	expect_sound(fd, 1);
}

TEST(smaller, "a smaller structure than the first version returns EINVAL")
{
	static const u32 sizes[] = { 0, 1, 4, 8, 16 };
	int fd = fresh_store(0);
	const struct ioc *i;
	union request r;
	u32 k;

	for_each_ioc(i) {
		for (k = 0; k < 5 && sizes[k] < i->size; k++) {
			request_good(i, &r);
			EXPECT(request_call(fd, i, &r, sizes[k]), -EINVAL);
		}
		request_good(i, &r);
		if (!EXPECT(request_call(fd, i, &r, (i->first ?: i->size) - 1), -EINVAL))
			printf("# %s\n", i->name);
	}
	expect_sound(fd, 1);
}

TEST(first, "a structure of the first version works, nothing after it is touched")
{
	int fd = fresh_store(0);
	const struct ioc *i;
	union request r;
	size_t at;

	for_each_ioc(i) {
		if (!i->first)
			continue;
		request_good(i, &r);
		memset(r.byte + i->first, 0xA5, 64);
		if (!EXPECT(request_call(fd, i, &r, i->first), i->good))
			printf("# %s\n", i->name);
		for (at = i->first; at < i->first + 64; at++)
			EXPECT(r.byte[at] & 0xFF, 0xA5);
	}
}

TEST(huge, "a size beyond a page returns E2BIG, nothing is read beyond memory")
{
	int fd = fresh_store(0);
	const struct ioc *i;
	union request r;

	for_each_ioc(i) {
		request_good(i, &r);
		if (!EXPECT(request_call(fd, i, &r, 0xFFFFFFFFU), -E2BIG))
			printf("# %s\n", i->name);
		request_good(i, &r);
		if (!EXPECT(request_call(fd, i, &r, sysconf(_SC_PAGESIZE) + 1), -E2BIG))
			printf("# %s\n", i->name);
		request_good(i, &r);
		if (!EXPECT(request_call(fd, i, &r, 4096), i->good))
			printf("# %s\n", i->name);
	}
}

TEST(flags, "unknown flags give EINVAL")
{
	int fd = fresh_store(0), bit;
	const struct ioc *i;
	union request r;

	for_each_ioc(i) {
		for (bit = 0; bit < 32; bit++) {
			if (i->flags & (1U << bit))
				continue;
			request_good(i, &r);
			r.word[1] |= 1U << bit;
			if (!EXPECT(request_call(fd, i, &r, i->size), -EINVAL))
				printf("# %s, bit %d\n", i->name, bit);
		}
	}
	expect_sound(fd, 1);
}

TEST(reserved, "reserved fields that are not zero give EINVAL")
{
	int fd = fresh_store(0);
	const struct ioc *i;
	union request r;
	size_t at;

	for_each_ioc(i) {
		for (at = i->reserved; i->reserved && at < i->reserved + 4; at++) {
			request_good(i, &r);
			r.byte[at] = 1;
			if (!EXPECT(request_call(fd, i, &r, i->size), -EINVAL))
				printf("# %s, byte %zu\n", i->name, at);
		}
	}
	expect_sound(fd, 1);
}

TEST(search_flags, "SEARCH with GE and LE together returns EINVAL")
{
	struct crabtree_search s;
	int fd = fresh_store(0);

	REQUIRE(dev_put(fd, 7, 70), 0);
	EXPECT(dev_search(fd, 7, CRABTREE_SEARCH_GE | CRABTREE_SEARCH_LE, &s), -EINVAL);
}

TEST(unknown, "an unknown ioctl, or another driver's, returns ENOTTY")
{
	int fd = fresh_store(0), nr;
	union request r;

	for (nr = 0; nr < 256; nr++) {
		memset(&r, 0, sizeof(r));
		r.word[0] = 64;
		if (nr < 0x20 || nr > 0x30)
			EXPECT(call(fd, _IOC(3, CRABTREE_IOC_MAGIC, nr, 64), &r), -ENOTTY);
	}
	EXPECT(call(fd, _IOWR(0xCC, 0x20, struct crabtree_info), &r), -ENOTTY);
	EXPECT(call(fd, _IOWR(CRABTREE_IOC_MAGIC, 0x10, struct crabtree_info), &r), -ENOTTY);
	EXPECT(call(fd, _IOWR('X', 0x22, struct crabtree_search), &r), -ENOTTY);
}

TEST(later, "the number of a later version, its size grown, is taken")
{
	int fd = fresh_store(0);
	struct ioc later;
	const struct ioc *i;
	union request r;

	for_each_ioc(i) {
		later = *i;
		later.request += 64UL << _IOC_SIZESHIFT;
		request_good(i, &r);
		if (!EXPECT(request_call(fd, &later, &r, i->size + 64), i->good))
			printf("# %s\n", i->name);
	}
}

TEST(edge, "a structure that ends with its page: nothing beyond it is touched")
{
	char *end = page_end();
	int fd = fresh_store(0);
	const struct ioc *i;
	union request r;
	void *at;

	for_each_ioc(i) {
		request_good(i, &r);
		at = end - i->size;
		memcpy(at, &r, i->size);
		if (!EXPECT(request_call_at(fd, i, at), i->good))
			printf("# %s\n", i->name);
	}
}

TEST(word_size, "64-bit fields pass whole, also from a 32-bit program")
{
	const u64 key = 0xFEDCBA9876543210ULL, value = 0x8000000180000001ULL;
	struct crabtree_scan s;
	int fd = fresh_store(0);
	u64 got = 0;

	printf("# compiled for %zu bits\n", 8 * sizeof(void *));
	REQUIRE(dev_put(fd, key, value), 0);
	EXPECT(dev_get(fd, key, &got), 0);
	EXPECT(got, value);
	EXPECT(dev_get(fd, (u32)key, &got), -ENOENT);
	EXPECT(dev_scan(fd, 0, ~0ULL, scanned, 4, &s), 0);
	EXPECT(s.count, 1);
	EXPECT(scanned[0].key, key);
	EXPECT(scanned[0].value, value);
}

TEST(snapshot, "the verbs of a snapshot, also from a 32-bit program")
{
	struct crabtree_search s;
	struct crabtree_scan scan;
	struct crabtree_info info;
	int fd = fresh_store(0), snap;

	REQUIRE(dev_put(fd, 7, 70), 0);
	snap = dev_snapshot(fd);
	EXPECT(dev_info(snap, &info), 0);
	EXPECT(dev_search(snap, 6, CRABTREE_SEARCH_GE, &s), 0);
	EXPECT(s.value, 70);
	EXPECT(dev_scan(snap, 0, ~0ULL, scanned, 4, &scan), 0);
	EXPECT(scan.count, 1);
	close(snap);
}
