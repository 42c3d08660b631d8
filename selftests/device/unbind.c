// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests that a region may be taken away: its driver is unbound while
 * descriptors, a scan and a writer are at work, then bound again.
 *
 * CRABTREE_DRIVER names the driver's directory in sysfs, CRABTREE_BOUND the
 * device there; reload.sh sets them.
 *
 * Invariant: an operation that returned 0 before the unbind is present after the bind.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "observe.h"

static atomic_ullong acknowledged;	/* keys below it were acknowledged */
static int shared_fd;
static char region[64];

static int driver_write(const char *file)
{
	const char *bound = getenv("CRABTREE_BOUND");
	char path[256];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/%s", getenv("CRABTREE_DRIVER"), file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = write(fd, bound, strlen(bound)) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

static void require_driver(void)
{
	if (!getenv("CRABTREE_DRIVER") || !getenv("CRABTREE_BOUND"))
		TEST_SKIP("no driver that could be unbound on this machine");
}

/*
 * The device that came with the bind. It may have another number than the one before,
 * so it is found by the region's name, which stays.
 */
static int open_again(int old)
{
	struct crabtree_info info;
	char path[32];
	int number, fd;

	for (number = 0; number < 64; number++) {
		snprintf(path, sizeof(path), "/dev/crab%d", number);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!dev_info(fd, &info) && !strcmp(info.region, region)) {
			close(old);
			return fd;
		}
		close(fd);
	}
	TEST_FAIL("no device over %s came with the bind", region);
}

static int open_store(void)
{
	struct crabtree_info info;
	int fd = fresh_store(512);

	REQUIRE(dev_info(fd, &info), 0);
	snprintf(region, sizeof(region), "%s", info.region);
	return fd;
}

static void *writer(void *arg)
{
	u64 key;
	int rc;

	(void)arg;
	for (key = 0;; key++) {
		rc = dev_put(shared_fd, key % 20000, key);
		if (rc)
			break;
		atomic_store(&acknowledged, key + 1);
	}
	REQUIRE(rc, -ENODEV);
	return NULL;
}

static void *scanner(void *arg)
{
	struct crabtree_record r[64];
	struct crabtree_scan s;
	int rc;

	(void)arg;
	s.more = 0;
	do {
		rc = dev_scan(shared_fd, s.more ? s.next : 0, ~0ULL, r, 64, &s);
	} while (!rc);
	REQUIRE(rc, -ENODEV);
	return NULL;
}

static void expect_gone(int fd)
{
	struct crabtree_info info;
	struct crabtree_check c;
	int rc = dev_info(fd, &info);

	if (rc)
		EXPECT(rc, -ENODEV);
	else
		EXPECT(info.state, CRABTREE_STATE_GONE);
	EXPECT(dev_put(fd, 1, 1), -ENODEV);
	EXPECT(dev_delete(fd, 1, NULL), -ENODEV);
	EXPECT(dev_check(fd, &c), -ENODEV);
}

static void expect_acknowledged(int fd, u64 count)
{
	u64 key, got = 0;

	for (key = 0; key < 20000 && key < count; key++) {
		REQUIRE(dev_get(fd, key, &got), 0);
		REQUIRE(got % 20000, key);
		/* the last write of the key, or one that was never acknowledged */
		REQUIRE_TRUE(got + 20000 >= count);
	}
}

/* Takes the region away while descriptors, a scan and a writer are at work */
static void take_away(void)
{
	pthread_t thread[2];
	int idle;

	shared_fd = open_store();
	idle = device_open(O_RDONLY);
	REQUIRE(pthread_create(&thread[0], NULL, writer, NULL), 0);
	REQUIRE(pthread_create(&thread[1], NULL, scanner, NULL), 0);
	usleep(500000);
	REQUIRE(driver_write("unbind"), 0);
	REQUIRE(pthread_join(thread[0], NULL), 0);
	REQUIRE(pthread_join(thread[1], NULL), 0);
	expect_gone(shared_fd);
	EXPECT(dev_get(idle, 1, &(u64){ 0 }), -ENODEV);
	printf("# %llu writes were acknowledged\n", (unsigned long long)acknowledged);
	EXPECT_TRUE(acknowledged > 0);
}

TEST(taken, "a region taken away: ENODEV for all running calls")
{
	require_driver();
	take_away();
}

TEST(unbind, "unbind under a scan, a writer and open descriptors; bind: all is there")
{
	int fd;

	require_driver();
	take_away();
	REQUIRE(driver_write("bind"), 0);
	expect_gone(shared_fd);
	fd = open_again(shared_fd);
	sound_records(fd);
	expect_acknowledged(fd, acknowledged);
	EXPECT(dev_put(fd, 1, 1), 0);
}

TEST(again, "unbind and bind twenty times with a descriptor left open each time")
{
	int fd, i;

	require_driver();
	fd = open_store();
	for (i = 0; i < 20; i++) {
		REQUIRE(dev_put(fd, i, i), 0);
		REQUIRE(driver_write("unbind"), 0);
		EXPECT(dev_put(fd, 100, 1), -ENODEV);
		REQUIRE(driver_write("bind"), 0);
		fd = open_again(fd);
		EXPECT(dev_put(fd, 100 + i, 1), 0);
	}
	expect_sound(fd, 40);
}

#define BATCH_ROUNDS	60	/* until a batch is met in its middle */
#define BATCH_STEP_US	200	/* by which each round waits longer */

static struct crabtree_batch_op batch_ops[CRABTREE_BATCH_MAX];
static struct crabtree_batch batch_result;
static atomic_int batch_rc;

/* Overwrites all records with the number of the round */
static void *batcher(void *arg)
{
	u64 round = (uintptr_t)arg;
	u32 i;

	for (i = 0; i < CRABTREE_BATCH_MAX; i++)
		dev_op(&batch_ops[i], CRABTREE_BATCH_INSERT, i, round);
	batch_rc = dev_batch(shared_fd, batch_ops, CRABTREE_BATCH_MAX, &batch_result);
	return NULL;
}

/* The first operations were done, and no other; returns their number */
static u32 expect_prefix(int fd, u64 round)
{
	u32 i, done = batch_rc ? 0 : batch_result.done;
	u64 got = 0;

	for (i = 0; i < CRABTREE_BATCH_MAX; i++) {
		REQUIRE(dev_get(fd, i, &got), 0);
		REQUIRE(got, i < done ? round : round - 1);
		REQUIRE(batch_ops[i].status, i < done ? 0 : -ECANCELED);
	}
	return done;
}

/* One batch, and an unbind that comes later in each round, until it meets the batch */
static u32 batch_taken(u64 round)
{
	pthread_t thread;
	u32 done;

	batcher((void *)(uintptr_t)(round - 1));
	REQUIRE(batch_rc, 0);
	REQUIRE(pthread_create(&thread, NULL, batcher, (void *)(uintptr_t)round), 0);
	usleep(round / 2 * BATCH_STEP_US);
	REQUIRE(driver_write("unbind"), 0);
	REQUIRE(pthread_join(thread, NULL), 0);
	REQUIRE_TRUE(!batch_rc || batch_rc == -ENODEV);
	REQUIRE(driver_write("bind"), 0);
	shared_fd = open_again(shared_fd);
	done = expect_prefix(shared_fd, round);
	return done == CRABTREE_BATCH_MAX ? 0 : done;
}

TEST(batch, "unbind under a BATCH: it returns how many operations it has done")
{
	u32 done = 0, round;

	require_driver();
	shared_fd = open_store();
	for (round = 2; !done && round < 2 * BATCH_ROUNDS; round += 2)
		done = batch_taken(round);
	printf("# %u operations of %u, in round %u\n", done, CRABTREE_BATCH_MAX, round / 2 - 1);
	EXPECT_TRUE(done > 0);
}

#define CHECK_US	100000	/* a CHECK that takes so long can be met in its middle */

static atomic_int check_rc;

static bool batch_of_new(int fd, u64 key)
{
	static struct crabtree_batch_op ops[CRABTREE_BATCH_MAX];
	struct crabtree_batch b;
	u32 i;

	for (i = 0; i < CRABTREE_BATCH_MAX; i++)
		dev_op(&ops[i], CRABTREE_BATCH_INSERT, key + i, key + i);
	REQUIRE(dev_batch(fd, ops, CRABTREE_BATCH_MAX, &b), 0);
	return !ops[CRABTREE_BATCH_MAX - 1].status;
}

static u64 time_of_check(int fd)
{
	u64 began = now_us();

	sound_records(fd);
	return now_us() - began;
}

/* Until CHECK takes CHECK_US, or the store is full; returns the number of records */
static u64 fill_until_long(int fd)
{
	u64 key = 0, next = CRABTREE_BATCH_MAX, took = 0;

	while (took < CHECK_US && batch_of_new(fd, key)) {
		key += CRABTREE_BATCH_MAX;
		if (key < next)
			continue;
		took = time_of_check(fd);
		next += next / 2;
	}
	return key;
}

/* CHECK again and again, until one is refused */
static void *checker(void *arg)
{
	struct crabtree_check c;
	int rc;

	(void)arg;
	do {
		rc = dev_check(shared_fd, &c);
		if (rc)
			break;
		atomic_fetch_add(&acknowledged, 1);
	} while (true);
	atomic_store(&check_rc, rc);
	return NULL;
}

/*
 * The CHECK that runs when the driver is unbound ends in its middle. Were it waited for,
 * one more would be counted than had ended when the unbind began.
 */
TEST(check, "a CHECK that runs does not delay the unbind: it ends with ENODEV")
{
	unsigned long long before;
	int i, ended = 0;
	pthread_t thread;

	require_driver();
	shared_fd = open_store();
	for (i = 0; i < 5 && !ended; i++) {
		printf("# %llu records\n", (unsigned long long)fill_until_long(shared_fd));
		atomic_store(&acknowledged, 0);
		REQUIRE(pthread_create(&thread, NULL, checker, NULL), 0);
		usleep(CHECK_US / 2);
		before = atomic_load(&acknowledged);
		REQUIRE(driver_write("unbind"), 0);
		REQUIRE(pthread_join(thread, NULL), 0);
		EXPECT(check_rc, -ENODEV);
		ended = before == atomic_load(&acknowledged);
		REQUIRE(driver_write("bind"), 0);
		shared_fd = open_again(shared_fd);
	}
	EXPECT_TRUE(ended);
}

TEST(gone, "unbind under a watch: its last changes, then POLLHUP and ENODEV")
{
	struct pollfd p = { .events = POLLIN };
	struct crabtree_change c[4];
	int fd, snap;
	u64 got = 0;

	require_driver();
	fd = open_store();
	p.fd = open_watch(fd, 0, ~0ULL, 0);
	snap = dev_snapshot(fd);
	REQUIRE(dev_put(fd, 1, 1), 0);
	REQUIRE(driver_write("unbind"), 0);
	EXPECT(read_changes(p.fd, c, 4), 1);
	EXPECT(poll(&p, 1, 0), 1);
	EXPECT(p.revents, POLLIN | POLLHUP);
	EXPECT(read_changes(p.fd, c, 4), -ENODEV);
	EXPECT(dev_get(snap, 1, &got), -ENODEV);
	REQUIRE(driver_write("bind"), 0);
	fd = open_again(fd);
	EXPECT(dev_get(fd, 1, &got), 0);
	EXPECT(dev_get(snap, 1, &got), -ENODEV);
	EXPECT(read_changes(p.fd, c, 4), -ENODEV);
	close(snap);
	close(p.fd);
}
