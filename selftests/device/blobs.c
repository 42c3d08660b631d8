// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests stores of blobs over the device: PUT, GET, ERASE and LIST, their sizes, versions
 * and errors, and user memory that faults in the middle of a value.
 *
 * Invariant: a refused call leaves the store sound and as it was.
 */
#include "blob.h"
#include "observe.h"

#define LONGEST		8152	/* bytes, in the region of 512 KiB that run_all.sh loads */
#define HALF		4000	/* bytes of which two share a slab: one that is erased leaves room for one */

static unsigned char value[65537], room[65537];

static void value_make(u64 key, u32 bytes)
{
	rng_fill(value, key, bytes);
}

TEST(lengths, "PUT and GET: every length near a class, and the longest")
{
	static const u32 lengths[] = { 0, 1, 7, 8, 23, 24, 25, 88, 89, 1000, 4056, 4057, LONGEST };
	struct crabtree_get g;
	int fd = fresh_store_kind("", CRABTREE_FORMAT_BLOBS);
	u64 version = 0, last = 0;
	u32 i;

	for (i = 0; i < 13; i++) {
		value_make(i, lengths[i]);
		REQUIRE(put(fd, i, value, lengths[i], 0, &version), 0);
		EXPECT_TRUE(version > last);
		last = version;
		memset(room, POISON, sizeof(room));
		EXPECT(get(fd, i, room, sizeof(room), &g), 0);
		EXPECT(g.bytes, lengths[i]);
		EXPECT(g.version, version);
		EXPECT(memcmp(room, value, lengths[i]), 0);
		EXPECT(room[lengths[i]], POISON);
	}
	EXPECT(put(fd, 20, value, LONGEST + 1, 0, &version), -EMSGSIZE);
	EXPECT(put(fd, 20, value, 65537, 0, &version), -EMSGSIZE);
	EXPECT(put(fd, 20, value, ~0U, 0, &version), -EMSGSIZE);
	EXPECT(put(fd, ~0ULL, value, 1, 0, &version), -EINVAL);
	expect_sound(fd, 13);
}

TEST(short_room, "GET: EMSGSIZE returns the length, and copies nothing; room of any size")
{
	struct crabtree_get g;
	int fd = fresh_store_kind("", CRABTREE_FORMAT_BLOBS);
	u64 version = 0;

	value_make(1, 100);
	REQUIRE(put(fd, 1, value, 100, 0, &version), 0);
	memset(room, POISON, sizeof(room));
	EXPECT(get(fd, 1, room, 99, &g), -EMSGSIZE);
	EXPECT(g.bytes, 100);
	EXPECT(g.version, version);
	EXPECT(room[0], POISON);
	EXPECT(get(fd, 1, NULL, 0, &g), -EMSGSIZE);
	EXPECT(get(fd, 1, room, ~0U, &g), 0);
	EXPECT(memcmp(room, value, 100), 0);
	EXPECT(room[100], POISON);
	EXPECT(get(fd, 2, room, 99, &g), -ENOENT);
	EXPECT(g.bytes, 0);
}

static u32 put_existed(int fd, u64 key)
{
	struct crabtree_put p;

	poison(&p, sizeof(p));
	p.flags = 0;
	p.key = key;
	p.bytes = 0;
	p.name_bytes = 0;
	p.type = 0;
	EXPECT(call(fd, CRABTREE_PUT, &p), 0);
	return p.existed;
}

TEST(conditions, "PUT and ERASE: CREATE, REPLACE, IF_VERSION; no version comes again")
{
	int fd = fresh_store_kind("", CRABTREE_FORMAT_BLOBS);
	u64 version = 0, first, old;

	EXPECT(put(fd, 1, "a", 1, CRABTREE_PUT_REPLACE, &version), -ENOENT);
	EXPECT(put(fd, 1, "a", 1, CRABTREE_IF_VERSION, &version), -ENOENT);
	EXPECT(put(fd, 1, "a", 1, CRABTREE_PUT_CREATE, &version), 0);
	first = version;
	EXPECT(put(fd, 1, "b", 1, CRABTREE_PUT_CREATE, &version), -EEXIST);
	version = first;
	EXPECT(put(fd, 1, "b", 1, CRABTREE_IF_VERSION, &version), 0);
	old = first;
	EXPECT(put(fd, 1, "c", 1, CRABTREE_IF_VERSION, &old), -ESTALE);
	EXPECT(erase(fd, 1, CRABTREE_IF_VERSION, first), -ESTALE);
	EXPECT(erase(fd, 1, CRABTREE_IF_VERSION, version), 0);
	EXPECT(erase(fd, 1, 0, 0), -ENOENT);
	old = version;
	EXPECT(put(fd, 1, "d", 1, 0, &version), 0);
	EXPECT_TRUE(version > old);
	EXPECT(put(fd, 1, "e", 1, CRABTREE_PUT_CREATE | CRABTREE_PUT_REPLACE, &version), 0);
	EXPECT(put(fd, 2, "f", 1, CRABTREE_PUT_CREATE | CRABTREE_PUT_REPLACE, &version), 0);
	EXPECT(put_existed(fd, 3), 0);
	EXPECT(put_existed(fd, 3), 1);
	expect_sound(fd, 3);
}

TEST(lists, "LIST: in parts, in order, with lengths and versions")
{
	struct crabtree_entry entry[8];
	struct crabtree_list l = { .more = 1 };
	u64 version = 0, next = 0, key = 0;
	int fd = fresh_store_kind("", CRABTREE_FORMAT_BLOBS);
	u32 i;

	for (i = 0; i < 100; i++)
		REQUIRE(put(fd, i * 2, value, i, 0, &version), 0);
	while (l.more) {
		REQUIRE(list(fd, next, entry, 8, &l), 0);
		for (i = 0; i < l.count; i++, key += 2) {
			EXPECT(entry[i].key, key);
			EXPECT(entry[i].bytes, key / 2);
			EXPECT(entry[i].status, 0);
		}
		next = l.next;
	}
	EXPECT(key, 200);
	EXPECT(entry[3].version, version);
}

TEST(faults, "user memory that ends within a value: EFAULT, and the store is as it was")
{
	char *end = page_end();
	struct crabtree_get g;
	struct crabtree_list l;
	int fd = fresh_store_kind("", CRABTREE_FORMAT_BLOBS);
	u64 version = 0;

	REQUIRE(put(fd, 1, value, 1000, 0, &version), 0);
	EXPECT(put(fd, 1, end - 100, 1000, 0, &version), -EFAULT);
	EXPECT(put(fd, 2, NULL, 1000, 0, &version), -EFAULT);
	EXPECT(get(fd, 1, end - 100, 1000, &g), -EFAULT);
	EXPECT(get(fd, 1, end - 1000, 1000, &g), 0);
	EXPECT(memcmp(end - 1000, value, 1000), 0);
	EXPECT(list(fd, 0, (void *)(end - 8), 1, &l), -EFAULT);
	EXPECT(get(fd, 2, room, 1000, &g), -ENOENT);
	expect_sound(fd, 1);
}

TEST(kinds, "the calls on records in a store of blobs, and the other way round: EOPNOTSUPP")
{
	struct crabtree_delete_range range = { .size = sizeof(range), .end = 9 };
	struct crabtree_record record[1];
	struct crabtree_search s;
	struct crabtree_entry e;
	struct crabtree_list l;
	struct crabtree_scan scan;
	struct crabtree_get g;
	int fd = fresh_store_kind("", CRABTREE_FORMAT_BLOBS);
	u64 version = 0, old;

	REQUIRE(put(fd, 1, "a", 1, 0, &version), 0);
	EXPECT(dev_put(fd, 1, 2), -EOPNOTSUPP);
	EXPECT(dev_get(fd, 1, &old), -EOPNOTSUPP);
	EXPECT(dev_search(fd, 1, CRABTREE_SEARCH_GE, &s), -EOPNOTSUPP);
	EXPECT(dev_delete(fd, 1, &old), -EOPNOTSUPP);
	EXPECT(dev_scan(fd, 0, ~0ULL, record, 1, &scan), -EOPNOTSUPP);
	EXPECT(call(fd, CRABTREE_DELETE_RANGE, &range), -EOPNOTSUPP);
	expect_sound(fd, 1);
	close(fd);
	fd = fresh_store(0);
	EXPECT(put(fd, 1, "a", 1, 0, &version), -EOPNOTSUPP);
	EXPECT(get(fd, 1, room, 1, &g), -EOPNOTSUPP);
	EXPECT(erase(fd, 1, 0, 0), -EOPNOTSUPP);
	EXPECT(list(fd, 0, &e, 1, &l), -EOPNOTSUPP);
}

TEST(snapshot, "SNAPSHOT of a store of blobs: GET and LIST as of its time, while keys are written")
{
	int fd = fresh_store_kind("", CRABTREE_FORMAT_BLOBS), snap;
	struct crabtree_record record[3];
	struct crabtree_scan scan;
	struct crabtree_entry e[3];
	struct crabtree_get g;
	struct crabtree_list l;
	u64 version[3] = { 0 }, old;

	REQUIRE(put(fd, 1, "one", 3, 0, &version[0]), 0);
	REQUIRE(put(fd, 2, "two", 3, 0, &version[1]), 0);
	snap = dev_snapshot(fd);
	REQUIRE(put(fd, 1, "more", 4, 0, &version[2]), 0);
	REQUIRE(erase(fd, 2, 0, 0), 0);
	REQUIRE(put(fd, 3, "three", 5, 0, &version[2]), 0);
	EXPECT(get(snap, 1, room, 3, &g), 0);
	EXPECT(g.version, version[0]);
	EXPECT(memcmp(room, "one", 3), 0);
	EXPECT(get(snap, 2, room, 2, &g), -EMSGSIZE);
	EXPECT(g.bytes, 3);
	EXPECT(get(snap, 3, room, 9, &g), -ENOENT);
	EXPECT(list(snap, 0, e, 3, &l), 0);
	EXPECT(l.count, 2);
	EXPECT(e[0].version, version[0]);
	EXPECT(e[1].version, version[1]);
	EXPECT(dev_get(snap, 1, &old), -EOPNOTSUPP);
	EXPECT(dev_scan(snap, 0, ~0ULL, record, 3, &scan), -EOPNOTSUPP);
	EXPECT(put(snap, 1, "x", 1, 0, &old), -ENOTTY);
	EXPECT(erase(snap, 1, 0, 0), -ENOTTY);
	close(snap);
	EXPECT(get(fd, 2, room, 9, &g), -ENOENT);
	expect_sound(fd, 2);
}

TEST(pinned, "SNAPSHOT of a store of blobs: a PUT that finds no memory ends it, ESTALE, and succeeds")
{
	int fd = fresh_store_kind("", CRABTREE_FORMAT_BLOBS), snap;
	struct crabtree_get g;
	u64 version = 0, n = 0;
	int err;

	value_make(1, HALF);
	while (!(err = put(fd, n, value, HALF, 0, &version)))
		n++;
	EXPECT(err, -ENOSPC);
	REQUIRE(erase(fd, 0, 0, 0), 0);
	snap = dev_snapshot(fd);
	REQUIRE(put(fd, 1, value, HALF, 0, &version), 0);
	EXPECT(get(snap, 1, room, sizeof(room), &g), 0);
	EXPECT_TRUE(g.version < version);
	REQUIRE(put(fd, 2, value, HALF, 0, &version), 0);
	EXPECT(get(snap, 1, room, sizeof(room), &g), -ESTALE);
	close(snap);
	expect_sound(fd, n - 1);
}

TEST(watch, "WATCH of a store of blobs: versions, within the range only")
{
	int fd = fresh_store_kind("", CRABTREE_FORMAT_BLOBS), w = open_watch(fd, 5, 6, 0);
	struct crabtree_change c[4];
	u64 version[3] = { 0 };

	REQUIRE(put(fd, 4, "a", 1, 0, &version[0]), 0);
	REQUIRE(put(fd, 5, "b", 1, 0, &version[0]), 0);
	REQUIRE(put(fd, 5, "c", 1, 0, &version[1]), 0);
	EXPECT(put(fd, 5, "d", 1, CRABTREE_PUT_CREATE, &version[2]), -EEXIST);
	REQUIRE(erase(fd, 5, 0, 0), 0);
	REQUIRE(read_changes(w, c, 4), 3);
	EXPECT(c[0].value, version[0]);
	EXPECT(c[0].flags, 0);
	EXPECT(c[1].value, version[1]);
	EXPECT(c[1].old, version[0]);
	EXPECT(c[1].flags, CRABTREE_CHANGE_EXISTED);
	EXPECT(c[2].verb, CRABTREE_BATCH_DELETE);
	EXPECT(c[2].old, version[1]);
	EXPECT(c[2].key, 5);
	close(w);
}

TEST(readonly, "a descriptor for reading: PUT and ERASE give EBADF, GET works")
{
	int fd = fresh_store_kind("", CRABTREE_FORMAT_BLOBS), reader = device_open(O_RDONLY);
	struct crabtree_get g;
	u64 version = 0;

	REQUIRE(put(fd, 1, "a", 1, 0, &version), 0);
	EXPECT(put(reader, 1, "b", 1, 0, &version), -EBADF);
	EXPECT(erase(reader, 1, 0, 0), -EBADF);
	EXPECT(get(reader, 1, room, 1, &g), 0);
	EXPECT(room[0], 'a');
}

TEST(full, "a full store: ENOSPC, every value can be erased, and as many fit again")
{
	int fd = fresh_store_kind("", CRABTREE_FORMAT_BLOBS);
	u64 version = 0, key, first;
	int err = 0;

	for (key = 0; !err; key++)
		err = put(fd, key, value, 1000, 0, &version);
	EXPECT(err, -ENOSPC);
	first = key - 1;
	EXPECT_TRUE(first > 100);
	expect_sound(fd, first);
	for (key = 0; key < first; key++)
		REQUIRE(erase(fd, key, 0, 0), 0);
	for (key = 0; key < first - first / 10; key++)
		REQUIRE(put(fd, key, value, 1000, 0, &version), 0);
	expect_sound(fd, key);
}
