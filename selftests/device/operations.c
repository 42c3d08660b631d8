// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the verbs over the device: INSERT, SEARCH, DELETE, SCAN and
 * BATCH, each against the manual, then all of them together against a
 * reference model.
 *
 * Invariant: every test begins with an empty store.
 */
#include "device.h"

#define KEY_MAX		(CRABTREE_KEY_RESERVED - 1)

TEST(create, "INSERT create: new keys only")
{
	struct crabtree_insert in;
	int fd = fresh_store(0);
	u64 got = 0;

	EXPECT(dev_insert(fd, 5, 50, CRABTREE_INSERT_CREATE, &in), 0);
	EXPECT(in.existed, 0);
	EXPECT(dev_insert(fd, 5, 51, CRABTREE_INSERT_CREATE, &in), -EEXIST);
	EXPECT(in.existed, 1);
	EXPECT(in.old_value, 50);
	EXPECT(dev_get(fd, 5, &got), 0);
	EXPECT(got, 50);
	expect_sound(fd, 1);
}

TEST(replace, "INSERT replace: present keys only")
{
	struct crabtree_insert in;
	int fd = fresh_store(0);
	u64 got = 0;

	EXPECT(dev_insert(fd, 5, 50, CRABTREE_INSERT_REPLACE, &in), -ENOENT);
	EXPECT(dev_get(fd, 5, &got), -ENOENT);
	REQUIRE(dev_put(fd, 5, 50), 0);
	EXPECT(dev_insert(fd, 5, 51, CRABTREE_INSERT_REPLACE, &in), 0);
	EXPECT(in.existed, 1);
	EXPECT(in.old_value, 50);
	EXPECT(dev_get(fd, 5, &got), 0);
	EXPECT(got, 51);
	expect_sound(fd, 1);
}

TEST(either, "INSERT either: with no flag and with both")
{
	const u32 both = CRABTREE_INSERT_CREATE | CRABTREE_INSERT_REPLACE;
	struct crabtree_insert in;
	int fd = fresh_store(0);
	u64 got = 0;

	EXPECT(dev_insert(fd, 5, 50, 0, &in), 0);
	EXPECT(in.existed, 0);
	EXPECT(dev_insert(fd, 5, 51, both, &in), 0);
	EXPECT(in.existed, 1);
	EXPECT(in.old_value, 50);
	EXPECT(dev_insert(fd, 6, 60, both, &in), 0);
	EXPECT(in.existed, 0);
	EXPECT(dev_insert(fd, 5, 52, 0, &in), 0);
	EXPECT(in.old_value, 51);
	EXPECT(dev_get(fd, 5, &got), 0);
	EXPECT(got, 52);
	expect_sound(fd, 2);
}

TEST(inputs_kept, "calls write only their out-parameters")
{
	struct crabtree_insert in;
	struct crabtree_search s;
	int fd = fresh_store(0);

	REQUIRE(dev_insert(fd, 5, 50, CRABTREE_INSERT_CREATE, &in), 0);
	EXPECT(in.size, sizeof(in));
	EXPECT(in.flags, CRABTREE_INSERT_CREATE);
	EXPECT(in.key, 5);
	EXPECT(in.value, 50);
	EXPECT(in.reserved, 0);
	REQUIRE(dev_search(fd, 5, CRABTREE_SEARCH_GE, &s), 0);
	EXPECT(s.size, sizeof(s));
	EXPECT(s.flags, CRABTREE_SEARCH_GE);
}

static void expect_found(int fd, u64 key, u32 flags, u64 want_key)
{
	struct crabtree_search s;

	if (!EXPECT(dev_search(fd, key, flags, &s), 0))
		return;
	EXPECT(s.key, want_key);
	EXPECT(s.value, want_key * 10);
}

TEST(search, "SEARCH: exact, least above, greatest below")
{
	struct crabtree_search s;
	int fd = fresh_store(0);
	u64 key;

	for (key = 10; key <= 30; key += 10)
		REQUIRE(dev_put(fd, key, key * 10), 0);
	expect_found(fd, 20, 0, 20);
	EXPECT(dev_search(fd, 21, 0, &s), -ENOENT);
	expect_found(fd, 0, CRABTREE_SEARCH_GE, 10);
	expect_found(fd, 20, CRABTREE_SEARCH_GE, 20);
	expect_found(fd, 21, CRABTREE_SEARCH_GE, 30);
	EXPECT(dev_search(fd, 31, CRABTREE_SEARCH_GE, &s), -ENOENT);
	EXPECT(dev_search(fd, 9, CRABTREE_SEARCH_LE, &s), -ENOENT);
	expect_found(fd, 10, CRABTREE_SEARCH_LE, 10);
	expect_found(fd, 29, CRABTREE_SEARCH_LE, 20);
	expect_found(fd, KEY_MAX, CRABTREE_SEARCH_LE, 30);
}

TEST(search_far, "SEARCH GE and LE cross leaves, also emptied ones")
{
	int fd = fresh_store(512);
	u64 key;

	for (key = 1; key <= 2000; key++)
		REQUIRE(dev_put(fd, key, key * 10), 0);
	for (key = 101; key < 1900; key++)
		REQUIRE(dev_delete(fd, key, NULL), 0);
	expect_found(fd, 101, CRABTREE_SEARCH_GE, 1900);
	expect_found(fd, 1899, CRABTREE_SEARCH_LE, 100);
	for (key = 1; key <= 100; key++)
		expect_found(fd, key, CRABTREE_SEARCH_LE, key);
	expect_sound(fd, 201);
}

TEST(delete, "DELETE: gives the old value, once")
{
	int fd = fresh_store(0);
	u64 old = 0, got;

	EXPECT(dev_delete(fd, 5, &old), -ENOENT);
	REQUIRE(dev_put(fd, 5, 50), 0);
	EXPECT(dev_delete(fd, 5, &old), 0);
	EXPECT(old, 50);
	EXPECT(dev_get(fd, 5, &got), -ENOENT);
	EXPECT(dev_delete(fd, 5, &old), -ENOENT);
	EXPECT(old, 0);
	REQUIRE(dev_put(fd, 5, 55), 0);
	EXPECT(dev_get(fd, 5, &got), 0);
	EXPECT(got, 55);
	expect_sound(fd, 1);
}

TEST(values, "any value: 0, 1, all ones, and equal neighbours")
{
	static const u64 values[] = { 0, 1, ~0ULL, 1ULL << 63, POISON64, 0x4545525442415243ULL };
	struct crabtree_insert in;
	int fd = fresh_store(512);
	u64 key, got = 0, want;

	for (key = 0; key < 300; key++)
		REQUIRE(dev_put(fd, key, values[key / 50]), 0);
	for (key = 0; key < 300; key++) {
		want = values[(key / 50 + 1) % 6];
		EXPECT(dev_get(fd, key, &got), 0);
		EXPECT(got, values[key / 50]);
		REQUIRE(dev_insert(fd, key, want, 0, &in), 0);
		EXPECT(in.old_value, values[key / 50]);
		EXPECT(dev_get(fd, key, &got), 0);
		EXPECT(got, want);
	}
	expect_sound(fd, 300);
}

TEST(keys, "the least and the greatest key")
{
	static const u64 keys[] = { 0, 1, 1ULL << 63, KEY_MAX - 1, KEY_MAX };
	struct crabtree_record r[8];
	struct crabtree_scan s;
	int fd = fresh_store(0), i;
	u64 got = 0;

	for (i = 4; i >= 0; i--)
		REQUIRE(dev_put(fd, keys[i], i), 0);
	EXPECT(dev_scan(fd, 0, CRABTREE_KEY_RESERVED, r, 8, &s), 0);
	REQUIRE(s.count, 5);
	for (i = 0; i < 5; i++) {
		EXPECT(r[i].key, keys[i]);
		EXPECT(r[i].value, i);
		EXPECT(dev_delete(fd, keys[i], &got), 0);
		EXPECT(got, i);
	}
	expect_sound(fd, 0);
}

static void fill_by_ten(int fd, u64 count)
{
	u64 i;

	for (i = 1; i <= count; i++)
		REQUIRE(dev_put(fd, i * 10, i), 0);
}

TEST(scan, "SCAN: order, both ends included")
{
	struct crabtree_record r[64];
	struct crabtree_scan s;
	int fd = fresh_store(512);
	u32 i;

	fill_by_ten(fd, 200);
	EXPECT(dev_scan(fd, 500, 700, r, 64, &s), 0);
	REQUIRE(s.count, 21);
	EXPECT(s.more, 0);
	for (i = 0; i < 21; i++) {
		EXPECT(r[i].key, 500 + 10 * i);
		EXPECT(r[i].value, 50 + i);
	}
	EXPECT(r[21].key, POISON64);
	EXPECT(r[21].value, POISON64);
	EXPECT(dev_scan(fd, 501, 509, r, 64, &s), 0);
	EXPECT(s.count, 0);
	EXPECT(s.more, 0);
}

TEST(scan_limits, "SCAN: capacity 0, a range backwards, an empty store")
{
	struct crabtree_record r[4];
	struct crabtree_scan s;
	int fd = fresh_store(0);

	EXPECT(dev_scan(fd, 0, ~0ULL, r, 4, &s), 0);
	EXPECT(s.count, 0);
	EXPECT(s.more, 0);
	fill_by_ten(fd, 3);
	EXPECT(dev_scan(fd, 20, 10, r, 4, &s), 0);
	EXPECT(s.count, 0);
	EXPECT(s.more, 0);
	EXPECT(dev_scan(fd, 0, ~0ULL, r, 0, &s), 0);
	EXPECT(s.count, 0);
	EXPECT(dev_scan(fd, 20, 20, r, 4, &s), 0);
	EXPECT(s.count, 1);
	EXPECT(r[0].key, 20);
}

/* Scans all in pieces of @capacity; returns the number of records */
static u64 scan_pieces(int fd, u32 capacity, u64 want_step)
{
	struct crabtree_record r[64];
	struct crabtree_scan s;
	u64 start = 0, total = 0, last = 0;
	u32 i;

	do {
		REQUIRE(dev_scan(fd, start, ~0ULL, r, capacity, &s), 0);
		REQUIRE_TRUE(s.count <= capacity);
		for (i = 0; i < s.count; i++) {
			EXPECT(r[i].key, last + want_step);
			last = r[i].key;
		}
		total += s.count;
		if (!s.more)
			return total;
		REQUIRE_TRUE(s.next > start || !s.count);
		REQUIRE_TRUE(s.count);
		start = s.next;
	} while (total < 1000000);
	TEST_FAIL("a scan without end");
}

TEST(scan_restart, "SCAN: @next continues it, whatever the capacity")
{
	static const u32 capacities[] = { 1, 2, 29, 30, 61, 64 };
	int fd = fresh_store(512), i;

	fill_by_ten(fd, 600);
	for (i = 0; i < 6; i++)
		EXPECT(scan_pieces(fd, capacities[i], 10), 600);
}

TEST(scan_end, "SCAN: @next at the greatest key does not begin again")
{
	struct crabtree_record r[2];
	struct crabtree_scan s;
	int fd = fresh_store(0);

	REQUIRE(dev_put(fd, KEY_MAX - 1, 1), 0);
	REQUIRE(dev_put(fd, KEY_MAX, 2), 0);
	EXPECT(dev_scan(fd, 0, ~0ULL, r, 1, &s), 0);
	EXPECT(s.count, 1);
	EXPECT(s.more, 1);
	EXPECT(s.next, KEY_MAX);
	EXPECT(dev_scan(fd, s.next, ~0ULL, r, 1, &s), 0);
	EXPECT(s.count, 1);
	EXPECT(r[0].key, KEY_MAX);
	if (s.more) {
		EXPECT(dev_scan(fd, s.next, ~0ULL, r, 1, &s), 0);
		EXPECT(s.count, 0);
		EXPECT(s.more, 0);
	}
}

TEST(batch, "BATCH: every verb, a status each")
{
	struct crabtree_batch_op op[8];
	struct crabtree_batch b;
	int fd = fresh_store(0);

	dev_op(&op[0], CRABTREE_BATCH_INSERT, 1, 10);
	dev_op(&op[1], CRABTREE_BATCH_INSERT, 2, 20);
	dev_op(&op[2], CRABTREE_BATCH_SEARCH, 1, 0);
	dev_op(&op[3], CRABTREE_BATCH_SEARCH, 3, 0);
	dev_op(&op[4], CRABTREE_BATCH_DELETE, 2, 0);
	dev_op(&op[5], CRABTREE_BATCH_DELETE, 3, 0);
	dev_op(&op[6], CRABTREE_BATCH_INSERT, 1, 11);
	op[6].flags = CRABTREE_INSERT_CREATE;
	dev_op(&op[7], CRABTREE_BATCH_INSERT, 4, 40);
	op[7].flags = CRABTREE_INSERT_REPLACE;
	REQUIRE(dev_batch(fd, op, 8, &b), 0);
	EXPECT(b.done, 8);
	EXPECT(op[0].status, 0);
	EXPECT(op[0].existed, 0);
	EXPECT(op[2].status, 0);
	EXPECT(op[2].value, 10);
	EXPECT(op[3].status, -ENOENT);
	EXPECT(op[4].status, 0);
	EXPECT(op[4].old_value, 20);
	EXPECT(op[5].status, -ENOENT);
	EXPECT(op[6].status, -EEXIST);
	EXPECT(op[6].existed, 1);
	EXPECT(op[6].old_value, 10);
	EXPECT(op[7].status, -ENOENT);
	expect_sound(fd, 1);
}

TEST(batch_order, "BATCH: operations on one key keep their order")
{
	struct crabtree_batch_op op[300];
	struct crabtree_batch b;
	int fd = fresh_store(512), i;
	u64 got = 0;

	for (i = 0; i < 300; i += 3) {
		dev_op(&op[i], CRABTREE_BATCH_INSERT, 9, i);
		dev_op(&op[i + 1], CRABTREE_BATCH_SEARCH, 9, 0);
		dev_op(&op[i + 2], i % 2 ? CRABTREE_BATCH_DELETE : CRABTREE_BATCH_INSERT, 9, i + 2);
	}
	REQUIRE(dev_batch(fd, op, 300, &b), 0);
	EXPECT(b.done, 300);
	for (i = 0; i < 300; i += 3) {
		EXPECT(op[i].existed, i && (i - 3) % 2 == 0);
		EXPECT(op[i + 1].value, i);
		EXPECT(op[i + 2].status, 0);
		EXPECT(op[i + 2].old_value, i);
	}
	EXPECT(dev_get(fd, 9, &got), -ENOENT);
	expect_sound(fd, 0);
}

TEST(batch_bad, "BATCH: a bad operation fails alone")
{
	struct crabtree_batch_op op[5];
	struct crabtree_batch b;
	int fd = fresh_store(0), i;
	u64 got = 0;

	for (i = 0; i < 5; i++)
		dev_op(&op[i], CRABTREE_BATCH_INSERT, i, i);
	op[1].verb = 99;
	op[2].key = CRABTREE_KEY_RESERVED;
	op[3].flags = 1U << 31;
	REQUIRE(dev_batch(fd, op, 5, &b), 0);
	EXPECT(b.done, 5);
	EXPECT(op[0].status, 0);
	EXPECT(op[1].status, -EINVAL);
	EXPECT(op[2].status, -EINVAL);
	EXPECT(op[3].status, -EINVAL);
	EXPECT(op[4].status, 0);
	EXPECT(dev_get(fd, 4, &got), 0);
	dev_op(&op[0], CRABTREE_BATCH_SEARCH, 4, 0);
	op[0].flags = CRABTREE_SEARCH_GE;
	REQUIRE(dev_batch(fd, op, 1, &b), 0);
	EXPECT(op[0].status, -EINVAL);
	expect_sound(fd, 2);
}

static u64 leaves_used(int fd)
{
	struct crabtree_info info;

	REQUIRE(dev_info(fd, &info), 0);
	return info.leaves_used;
}

TEST(sparse, "leaves that deletes left sparse are merged, soon and by nobody who waits")
{
	const u64 n = 3000, kept = 10;
	int fd = fresh_store(512), tries = 300;
	u64 full, key, got;

	for (key = 0; key < n; key++)
		REQUIRE(dev_put(fd, key, key + 1), 0);
	full = leaves_used(fd);
	for (key = 0; key < n; key++)
		if (key % kept)
			REQUIRE(dev_delete(fd, key, &got), 0);
	while (leaves_used(fd) > full / 2 && tries--)
		usleep(100000);
	EXPECT_TRUE(leaves_used(fd) <= full / 2);
	for (key = 0; key < n; key += kept) {
		REQUIRE(dev_get(fd, key, &got), 0);
		EXPECT(got, key + 1);
	}
	expect_sound(fd, n / kept);
}

TEST(counters, "INFO counts what was done")
{
	struct crabtree_info a, b;
	int fd = fresh_store(0);
	u64 got;

	REQUIRE(dev_info(fd, &a), 0);
	EXPECT(a.state, CRABTREE_STATE_READY);
	EXPECT(a.records, 0);
	EXPECT(a.leaf_bytes, 1024);
	EXPECT(a.reason[0], 0);
	EXPECT(strcmp(a.engine, "crab"), 0);
	EXPECT(strcmp(a.label, SELFTEST_LABEL), 0);
	fill_by_ten(fd, 5);
	EXPECT(dev_put(fd, 10, 1), 0);
	EXPECT(dev_get(fd, 10, &got), 0);
	EXPECT(dev_delete(fd, 50, NULL), 0);
	REQUIRE(dev_info(fd, &b), 0);
	EXPECT(b.records, 4);
	EXPECT(b.inserts - a.inserts, 5);
	EXPECT(b.updates - a.updates, 1);
	EXPECT(b.deletes - a.deletes, 1);
	EXPECT(b.searches - a.searches, 1);
	EXPECT_TRUE(b.fences - a.fences >= 7);
}

/* The model: keys are small, so that an array will do */
#define MODEL_KEYS	1500
#define MODEL_OPS	20000

static u64 model_value[MODEL_KEYS];
static bool model_has[MODEL_KEYS];

static void model_insert(int fd, u64 key, u64 value, u32 flags)
{
	struct crabtree_insert in;
	bool had = model_has[key];
	int want = 0;

	if (flags == CRABTREE_INSERT_CREATE && had)
		want = -EEXIST;
	if (flags == CRABTREE_INSERT_REPLACE && !had)
		want = -ENOENT;
	REQUIRE(dev_insert(fd, key, value, flags, &in), want);
	if (want != -ENOENT)
		EXPECT(in.existed, had);
	if (had)
		EXPECT(in.old_value, model_value[key]);
	if (want)
		return;
	model_has[key] = true;
	model_value[key] = value;
}

static void model_search(int fd, u64 key, u32 flags)
{
	struct crabtree_search s;
	int64_t at = key, step = flags == CRABTREE_SEARCH_LE ? -1 : 1;
	int rc;

	while (flags && at >= 0 && at < MODEL_KEYS && !model_has[at])
		at += step;
	rc = dev_search(fd, key, flags, &s);
	if (at < 0 || at >= MODEL_KEYS || !model_has[at]) {
		EXPECT(rc, -ENOENT);
		return;
	}
	REQUIRE(rc, 0);
	EXPECT(s.key, at);
	EXPECT(s.value, model_value[at]);
}

static void model_delete(int fd, u64 key)
{
	u64 old = 0;

	REQUIRE(dev_delete(fd, key, &old), model_has[key] ? 0 : -ENOENT);
	if (model_has[key])
		EXPECT(old, model_value[key]);
	model_has[key] = false;
}

static u64 model_scan(int fd, u64 start, u64 end)
{
	static struct crabtree_record r[MODEL_KEYS];
	struct crabtree_scan s;
	u64 key;
	u32 i = 0;

	REQUIRE(dev_scan(fd, start, end, r, MODEL_KEYS, &s), 0);
	EXPECT(s.more, 0);
	for (key = start; key <= end && key < MODEL_KEYS; key++) {
		if (!model_has[key])
			continue;
		REQUIRE_TRUE(i < s.count);
		EXPECT(r[i].key, key);
		EXPECT(r[i++].value, model_value[key]);
	}
	EXPECT(s.count, i);
	return i;
}

static void model_step(int fd, unsigned long long *seed, u64 deletes)
{
	u64 r = rng(seed), key = (r >> 8) % MODEL_KEYS;
	u64 value = r % 7 ? r : r % 3;

	if (r % 256 < deletes)
		model_delete(fd, key);
	else if (r % 256 < 180)
		model_insert(fd, key, value, (r >> 40) % 3);
	else if (r % 256 < 254)
		model_search(fd, key, (r >> 40) % 3);
	else
		model_scan(fd, key, key + (r >> 32) % 500);
}

static void model_test(const char *engine, const char *layout, u32 leaf_bytes)
{
	int fd = fresh_store_of(engine, layout, leaf_bytes), i;
	unsigned long long seed = 0x12345678 + leaf_bytes;

	memset(model_has, 0, sizeof(model_has));
	for (i = 0; i < MODEL_OPS && !test_failed; i++) {
		/* it grows and shrinks in turns, so that leaves fill and empty */
		model_step(fd, &seed, i / 2500 % 2 ? 150 : 30);
		if (i % 2500 == 2499)
			expect_sound(fd, model_scan(fd, 0, ~0ULL));
	}
	if (test_failed)
		printf("# leaf %u, seed as in the source, operation %d\n", leaf_bytes, i);
	close(fd);
}

#define MODEL_TEST(fn, engine, layout, leaf_bytes, text)		\
	TEST(fn, "20000 random operations against a model, " text)	\
	{								\
		model_test(engine, layout, leaf_bytes);			\
	}

MODEL_TEST(model_512, "", "", 512, "leaves of 512")
MODEL_TEST(model_1024, "", "", 1024, "leaves of 1024")
MODEL_TEST(model_8192, "", "", 8192, "leaves of 8192")
MODEL_TEST(model_sorted_512, "crab", "sorted", 512, "layout sorted, leaves of 512")
MODEL_TEST(model_sorted_1024, "crab", "sorted", 1024, "layout sorted, leaves of 1024")
MODEL_TEST(model_nvtree, "nvtree", "append", 512, "engine nvtree")
MODEL_TEST(model_fastfair, "fastfair", "shift", 512, "engine fastfair")
MODEL_TEST(model_clfb, "clfb", "inplace", 512, "engine clfb, layout inplace")

TEST(model_clfb_lines, "20000 random operations against a model, engine clfb, two lines, and leaves of one")
{
	model_test("clfb", "twin", 512);
	model_test("clfb", "encoded", 64);
}

TEST(model_nbtree, "20000 random operations against a model, engine nbtree, both layouts")
{
	model_test("nbtree", "adr", 512);
	model_test("nbtree", "eadr", 512);
}

MODEL_TEST(model_volatile, "volatile", "", 512, "engine volatile")
