// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests many at once: readers, writers and scans on keys of their own
 * and on shared ones, FORMAT and close in a race, a storm of opens.
 *
 * Invariants: a value read was written, whole, under that key; versions of a
 * key with one writer never go back; a scan ascends strictly and misses no key
 * that was there throughout.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "device.h"

#define THREADS		4
#define SHARED_KEYS	64
#define OWN_KEYS	600	/* of each thread */

static int shared_fd;
static atomic_bool stop;

/* A value encodes its key, its version and a check */
static u64 value_make(u64 key, u32 version)
{
	u32 check = (u32)((key ^ version) * 0x9E3779B97F4A7C15ULL >> 40);

	return (u64)version << 32 | (check << 8) | (key & 0xFF);
}

static u32 value_version(u64 key, u64 value)
{
	u32 version = value >> 32;

	REQUIRE(value, value_make(key, version));
	return version;
}

static void threads_run(void *(*run[THREADS])(void *))
{
	pthread_t thread[THREADS];
	long i;

	for (i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&thread[i], NULL, run[i], (void *)i), 0);
	for (i = 0; i < THREADS; i++)
		REQUIRE(pthread_join(thread[i], NULL), 0);
}

/* Inserts, reads, updates and deletes keys that no other thread touches */
static void *own_keys(void *arg)
{
	u64 base = (u64)(long)arg, key, got = 0, old = 0;
	u32 i;

	for (i = 0; i < OWN_KEYS; i++) {
		key = (u64)i * THREADS + base;
		REQUIRE(dev_put(shared_fd, key, value_make(key, 1)), 0);
		REQUIRE(dev_get(shared_fd, key, &got), 0);
		REQUIRE(value_version(key, got), 1);
		REQUIRE(dev_put(shared_fd, key, value_make(key, 2)), 0);
		if (i % 3)
			continue;
		REQUIRE(dev_delete(shared_fd, key, &old), 0);
		REQUIRE(value_version(key, old), 2);
		REQUIRE(dev_get(shared_fd, key, &got), -ENOENT);
	}
	return NULL;
}

TEST(disjoint, "writers on keys of their own in shared leaves")
{
	void *(*run[THREADS])(void *) = { own_keys, own_keys, own_keys, own_keys };
	u64 got = 0, key;

	shared_fd = fresh_store(512);
	threads_run(run);
	for (key = 0; key < OWN_KEYS * THREADS; key++) {
		REQUIRE(dev_get(shared_fd, key, &got), key / THREADS % 3 ? 0 : -ENOENT);
		if (key / THREADS % 3)
			REQUIRE(value_version(key, got), 2);
	}
	expect_sound(shared_fd, OWN_KEYS * 2 / 3 * THREADS);
}

/* Raises the versions of every second key; the only writer of those */
static void *shared_writer(void *arg)
{
	u64 key, mine = (u64)(long)arg;
	struct crabtree_insert in;
	u32 version;

	for (version = 2; version < 100; version++) {
		for (key = mine; key < SHARED_KEYS; key += 2) {
			REQUIRE(dev_insert(shared_fd, key, value_make(key, version), 0, &in), 0);
			REQUIRE(in.existed, 1);
			REQUIRE(value_version(key, in.old_value), version - 1);
		}
	}
	atomic_store(&stop, true);
	return NULL;
}

static void *shared_reader(void *arg)
{
	u32 seen[SHARED_KEYS] = { 0 }, version;
	u64 key, got = 0;

	(void)arg;
	do {
		for (key = 0; key < SHARED_KEYS; key++) {
			REQUIRE(dev_get(shared_fd, key, &got), 0);
			version = value_version(key, got);
			REQUIRE_TRUE(version >= seen[key]);
			seen[key] = version;
		}
	} while (!atomic_load(&stop));
	return NULL;
}

TEST(shared, "readers of keys that are rewritten: whole values, never back")
{
	void *(*run[THREADS])(void *) = { shared_writer, shared_writer,
					  shared_reader, shared_reader };
	u64 key;

	shared_fd = fresh_store(512);
	for (key = 0; key < SHARED_KEYS; key++)
		REQUIRE(dev_put(shared_fd, key, value_make(key, 1)), 0);
	threads_run(run);
	expect_sound(shared_fd, SHARED_KEYS);
}

#define FIXED_KEYS	600	/* even keys below twice this always exist */

/* Inserts and deletes odd keys, so that leaves split and empty during the scans */
static void *churn(void *arg)
{
	u64 key, mine = (u64)(long)arg, round;

	for (round = 0; round < 6; round++) {
		for (key = 1 + 2 * mine; key < 2 * FIXED_KEYS; key += 4)
			REQUIRE(dev_put(shared_fd, key, value_make(key, round)), 0);
		for (key = 1 + 2 * mine; key < 2 * FIXED_KEYS; key += 4)
			REQUIRE(dev_delete(shared_fd, key, NULL), 0);
	}
	atomic_store(&stop, true);
	return NULL;
}

/* One scan of all keys, in pieces; it must return every fixed key */
static void scan_once(u32 capacity)
{
	struct crabtree_record r[64];
	struct crabtree_scan s;
	u64 start = 0, fixed = 0, last = 0;
	bool first = true;
	u32 i;

	do {
		REQUIRE(dev_scan(shared_fd, start, ~0ULL, r, capacity, &s), 0);
		for (i = 0; i < s.count; i++) {
			REQUIRE_TRUE(first || r[i].key > last);
			first = false;
			last = r[i].key;
			value_version(last, r[i].value);
			fixed += !(last & 1);
		}
		start = s.next;
	} while (s.more);
	REQUIRE(fixed, FIXED_KEYS);
}

static void *scanner(void *arg)
{
	do {
		scan_once((long)arg == 2 ? 64 : 7);
	} while (!atomic_load(&stop));
	return NULL;
}

TEST(scans, "scans while keys come and go: ascending, none missed")
{
	void *(*run[THREADS])(void *) = { churn, churn, scanner, scanner };
	u64 key;

	shared_fd = fresh_store(512);
	for (key = 0; key < FIXED_KEYS; key++)
		REQUIRE(dev_put(shared_fd, 2 * key, value_make(2 * key, 1)), 0);
	threads_run(run);
	expect_sound(shared_fd, FIXED_KEYS);
}

/* Several threads create the same keys: exactly one succeeds for each key */
static atomic_int created;

static void *creator(void *arg)
{
	struct crabtree_insert in;
	u64 key;
	int rc;

	(void)arg;
	for (key = 0; key < 800; key++) {
		rc = dev_insert(shared_fd, key, value_make(key, 1), CRABTREE_INSERT_CREATE, &in);
		if (!rc)
			atomic_fetch_add(&created, 1);
		else
			REQUIRE(rc, -EEXIST);
	}
	return NULL;
}

TEST(create_once, "INSERT create from four sides: one wins each key")
{
	void *(*run[THREADS])(void *) = { creator, creator, creator, creator };

	shared_fd = fresh_store(512);
	threads_run(run);
	EXPECT(created, 800);
	expect_sound(shared_fd, 800);
}

/* BATCH, CHECK and INFO concurrently */
static void *batcher(void *arg)
{
	struct crabtree_batch_op op[32];
	struct crabtree_batch b;
	u32 round, i, mine = (long)arg;

	for (round = 0; round < 40; round++) {
		for (i = 0; i < 32; i++)
			dev_op(&op[i], CRABTREE_BATCH_INSERT, (round * 32 + i) * 2 + mine,
			       value_make((round * 32 + i) * 2 + mine, 1));
		REQUIRE(dev_batch(shared_fd, op, 32, &b), 0);
		REQUIRE(b.done, 32);
		for (i = 0; i < 32; i++)
			REQUIRE(op[i].status, 0);
	}
	atomic_store(&stop, true);
	return NULL;
}

static void *checker(void *arg)
{
	struct crabtree_info info;
	u64 last = 0;

	(void)arg;
	do {
		sound_records(shared_fd);
		REQUIRE(dev_info(shared_fd, &info), 0);
		REQUIRE_TRUE(info.records >= last);
		last = info.records;
	} while (!atomic_load(&stop));
	return NULL;
}

TEST(check, "CHECK and INFO while batches write: always sound")
{
	void *(*run[THREADS])(void *) = { batcher, batcher, checker, checker };

	shared_fd = fresh_store(512);
	threads_run(run);
	expect_sound(shared_fd, 2 * 40 * 32);
}

/* Opens, looks, closes; also while another process formats the store */
static void *opener(void *arg)
{
	struct crabtree_info info;
	u64 got;
	int i, fd, rc;

	for (i = 0; i < 150; i++) {
		fd = device_open((long)arg & 1 ? O_RDWR : O_RDONLY);
		REQUIRE(dev_info(fd, &info), 0);
		REQUIRE(info.state, CRABTREE_STATE_READY);
		rc = dev_get(fd, 1, &got);
		REQUIRE_TRUE(!rc || rc == -ENOENT);
		close(fd);
	}
	atomic_store(&stop, true);
	return NULL;
}

TEST(open_storm, "a storm of opens and closes")
{
	void *(*run[THREADS])(void *) = { opener, opener, opener, opener };

	shared_fd = fresh_store(0);
	threads_run(run);
	expect_sound(shared_fd, 0);
}

static atomic_int formatted, busy;

static void *formatter(void *arg)
{
	struct crabtree_format f;
	int fd, rc;

	(void)arg;
	do {
		fd = device_open(O_RDWR);
		format_args(&f, CRABTREE_FORMAT_FORCE, 512);
		rc = call(fd, CRABTREE_FORMAT, &f);
		if (rc)
			REQUIRE(rc, -EBUSY);
		atomic_fetch_add(rc ? &busy : &formatted, 1);
		rc = dev_put(fd, 1, value_make(1, 1));
		REQUIRE(rc, 0);
		close(fd);
	} while (!atomic_load(&stop));
	return NULL;
}

TEST(format_race, "FORMAT races opens and closes: done or EBUSY, never half")
{
	void *(*run[THREADS])(void *) = { opener, opener, formatter, formatter };
	struct crabtree_format f;
	int fd = fresh_store(0);

	close(fd);
	threads_run(run);
	printf("# formatted %d times, busy %d times\n", formatted, busy);
	EXPECT_TRUE(busy > 0);
	fd = device_open(O_RDWR);
	EXPECT_TRUE(sound_records(fd) <= 1);
	/* No user is left but this one */
	format_args(&f, CRABTREE_FORMAT_FORCE, 0);
	EXPECT(call(fd, CRABTREE_FORMAT, &f), 0);
	expect_sound(fd, 0);
}

TEST(writer_killed, "writers killed in the middle: the store is sound, the device free")
{
	struct crabtree_format f;
	int fd = fresh_store(512), i;
	pid_t pid;

	for (i = 0; i < 10; i++) {
		pid = fork();
		if (!pid) {
			for (u64 key = 0;; key++)
				dev_put(fd, key % 3000, value_make(key % 3000, i));
		}
		usleep(30000);
		REQUIRE(kill(pid, SIGKILL), 0);
		REQUIRE(waitpid(pid, NULL, 0), pid);
		sound_records(fd);
	}
	format_args(&f, CRABTREE_FORMAT_FORCE, 0);
	EXPECT(call(fd, CRABTREE_FORMAT, &f), 0);
}

/* A child formats without end, until it is killed after so many ms */
static void format_until_killed(int ms)
{
	struct crabtree_format f;
	pid_t pid = fork();
	int fd;

	if (!pid) {
		fd = device_open(O_RDWR);
		for (;;) {
			format_args(&f, CRABTREE_FORMAT_FORCE, 0);
			call(fd, CRABTREE_FORMAT, &f);
		}
	}
	REQUIRE_TRUE(pid > 0);
	usleep(ms * 1000);
	REQUIRE(kill(pid, SIGKILL), 0);
	REQUIRE(waitpid(pid, NULL, 0), pid);
}

TEST(format_killed, "FORMAT whose program is killed: the store is empty, and served")
{
	struct crabtree_info info;
	int fd, ms;

	for (ms = 5; ms < 60; ms += 6) {
		close(fresh_store(0));
		format_until_killed(ms);
		fd = device_open(O_RDWR);
		REQUIRE(dev_info(fd, &info), 0);
		EXPECT(info.state, CRABTREE_STATE_READY);
		REQUIRE(dev_put(fd, 1, 1), 0);
		close(fd);
	}
}
