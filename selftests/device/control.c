// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests /dev/crabtree-control: regions are added and removed while the store of
 * another region is in use, and each refusal has its errno and its reason in words.
 *
 * Invariant: after each test the only region is that of CRABTREE_DEV, and its store is as it was.
 * The tests use volatile regions; regions.sh has those of the other providers.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <linux/capability.h>

#include "observe.h"

#define CONTROL		"/dev/crabtree-control"
#define LIMIT		64	/* regions */
#define LOADS		4	/* threads that use a region while it is removed */

/* One command on a descriptor of its own; 0 or a negative errno. @answer: its first line */
static int control(const char *command, char answer[256])
{
	int fd = open(CONTROL, O_RDWR | O_CLOEXEC);
	ssize_t len;
	int rc;

	if (fd < 0)
		TEST_FAIL("%s: %s", CONTROL, strerror(errno));
	rc = write(fd, command, strlen(command)) < 0 ? -errno : 0;
	len = read(fd, answer, 255);
	REQUIRE_TRUE(len > 1 && answer[len - 1] == '\n');
	answer[len - 1] = '\0';
	REQUIRE(read(fd, answer + len, 1), 0);
	close(fd);
	return rc;
}

/* Adds a region; @path: out: its node */
static void add(const char *spec, char path[32])
{
	char command[64], answer[256];

	snprintf(command, sizeof(command), "add %s", spec);
	if (control(command, answer))
		TEST_FAIL("%s: %s", command, answer);
	snprintf(path, 32, "/dev/%.16s", answer);
}

static int drop(const char *path, const char *how, char answer[256])
{
	char command[64];

	snprintf(command, sizeof(command), "remove %s%s", path + strlen("/dev/"), how);
	return control(command, answer);
}

static void must_drop(const char *path)
{
	char answer[256];

	if (drop(path, "", answer))
		TEST_FAIL("remove %s: %s", path, answer);
}

static int open_node(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		TEST_FAIL("%s: %s", path, strerror(errno));
	return fd;
}

static int open_formatted(const char *path)
{
	struct crabtree_format f;
	int fd = open_node(path);

	format_args(&f, 0, 0);
	REQUIRE(call(fd, CRABTREE_FORMAT, &f), 0);
	return fd;
}

TEST(served, "a region is added, formatted, used and removed; the first store is served meanwhile")
{
	char path[32], again[32];
	int first = fresh_store(0), fd;

	REQUIRE(dev_put(first, 1, 10), 0);
	add("ram=64K", path);
	fd = open_formatted(path);
	EXPECT(dev_put(fd, 1, 20), 0);
	EXPECT(dev_put(first, 2, 11), 0);
	close(fd);
	must_drop(path);
	EXPECT(access(path, F_OK), -1);
	expect_sound(first, 2);
	add("ram=64K", again);
	EXPECT(strcmp(path, again), 0);
	must_drop(again);
}

static const struct refusal {
	const char *command;
	int error;
	const char *answer;
} refusals[] = {
	{ "nonsense", -EINVAL, "nonsense: neither" },
	{ "add", -EINVAL, "add: neither" },
	{ "add ", -EINVAL, "add: neither" },
	{ "add ram", -EINVAL, "ram: not a region: want pmem=, region=, reserve= or ram=" },
	{ "add =64K", -EINVAL, "=64K: not a region" },
	{ "add floppy=64K", -EINVAL, "floppy=64K: not a region" },
	{ "add ram=", -EINVAL, "a size is missing" },
	{ "add ram=4K", -EINVAL, "4096 bytes are less than the smallest region" },
	{ "add ram=64K,128K", -EINVAL, "one region at a time, and then \"128K\"" },
	{ "add ram=64K,cachex", -EINVAL, "one region at a time, and then \"cachex\"" },
	{ "add ram=1T", -ENOMEM, "are free" },
	{ "remove", -EINVAL, "remove: neither" },
	{ "remove crab63", -ENODEV, "crab63: no such device" },
	{ "remove ../crab0", -ENODEV, "../crab0: no such device" },
	{ "remove crab0 now", -EINVAL, "\"now\" is not \"force\"" },
};

TEST(refused, "each refusal has its errno and its reason, and changes nothing")
{
	char answer[256];
	int fd = fresh_store(0);
	size_t i;

	for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *r = &refusals[i];

		if (!EXPECT(control(r->command, answer), r->error) ||
		    !EXPECT_TRUE(strstr(answer, r->answer)))
			printf("# %s: %s\n", r->command, answer);
	}
	expect_sound(fd, 0);
}

TEST(input, "commands of no length, of a page, and with any byte are refused")
{
	static char command[8192];
	int fd = open(CONTROL, O_RDWR | O_CLOEXEC), i;

	REQUIRE_TRUE(fd >= 0);
	EXPECT(write(fd, "", 0), -1);
	memset(command, 'x', sizeof(command));
	EXPECT(write(fd, command, sizeof(command)), -1);
	EXPECT(write(fd, command, 4096), -1);
	EXPECT(syscall(SYS_write, fd, NULL, 16), -1);
	EXPECT(errno, EFAULT);
	for (i = 0; i < 256; i++) {
		memset(command, i, 300);
		EXPECT(write(fd, command, 300), -1);
		memcpy(command, "add ram=", 8);
		EXPECT(write(fd, command, 300), -1);
		memcpy(command, "remove ", 7);
		EXPECT(write(fd, command, 300), -1);
	}
}

TEST(answers, "an answer belongs to its descriptor and is read once")
{
	int a = open(CONTROL, O_RDWR | O_CLOEXEC), b = open(CONTROL, O_RDWR | O_CLOEXEC);
	char text[256];

	REQUIRE_TRUE(a >= 0 && b >= 0);
	EXPECT(read(a, text, sizeof(text)), 0);
	EXPECT(write(a, "remove crab63", 13), -1);
	EXPECT(read(b, text, sizeof(text)), 0);
	EXPECT(read(a, text, sizeof(text)), (ssize_t)strlen("crab63: no such device\n"));
	EXPECT(read(a, text, sizeof(text)), 0);
	EXPECT(write(a, "remove crab62", 13), -1);
	EXPECT(syscall(SYS_read, a, NULL, 7), -1);
	EXPECT(errno, EFAULT);
	EXPECT(read(a, text, 7), 7);
	EXPECT(memcmp(text, "crab62:", 7), 0);
	EXPECT(write(b, "remove crab63", 13), -1);
	EXPECT(read(b, text, 0), 0);
	EXPECT(read(b, text, 7), 7);
	EXPECT(read(b, text + 7, sizeof(text) - 7), (ssize_t)strlen(" no such device\n"));
	EXPECT(memcmp(text, "crab63: no such device\n", 23), 0);
	EXPECT(read(b, text, sizeof(text)), 0);
}

TEST(readonly, "a region of its own readonly: FORMAT and writes are refused")
{
	struct crabtree_format f;
	char path[32];
	int fd;

	add("ram=64K,readonly", path);
	fd = open_node(path);
	format_args(&f, 0, 0);
	EXPECT(call(fd, CRABTREE_FORMAT, &f), -EROFS);
	close(fd);
	must_drop(path);
}

/* The last change of a store that has gone, then the end, for which no reader waits */
static void expect_last_change(int watch)
{
	struct pollfd p = { .fd = watch, .events = POLLIN | POLLRDNORM };
	struct crabtree_change c[2];

	EXPECT(read_changes(watch, c, 2), 1);
	EXPECT(poll(&p, 1, 0), 1);
	EXPECT(p.revents, POLLIN | POLLRDNORM | POLLHUP);
	EXPECT(read_changes(watch, c, 2), -ENODEV);
	close(watch);
}

TEST(busy, "a region in use is not removed, unless by force: then its users get ENODEV")
{
	char path[32], answer[256];
	struct crabtree_info info;
	int fd, watch;

	add("ram=64K", path);
	fd = open_formatted(path);
	watch = open_watch(fd, 0, ~0ULL, 0);
	EXPECT(drop(path, "", answer), -EBUSY);
	EXPECT_TRUE(strstr(answer, "in use by 2"));
	EXPECT(dev_put(fd, 1, 1), 0);
	EXPECT(drop(path, " force", answer), 0);
	expect_last_change(watch);
	EXPECT(dev_put(fd, 1, 1), -ENODEV);
	EXPECT(dev_info(fd, &info), 0);
	EXPECT(info.state, CRABTREE_STATE_GONE);
	EXPECT(open(path, O_RDWR), -1);
	add("ram=64K", path);	/* the same number, which the open descriptor does not have */
	EXPECT(dev_put(fd, 1, 1), -ENODEV);
	must_drop(path);
}

static atomic_ullong acknowledged;
static int shared_fd, shared_watch;

static void *writer(void *arg)
{
	int rc;

	(void)arg;
	do {
		rc = dev_put(shared_fd, acknowledged % 1000, acknowledged);
		acknowledged += !rc;
	} while (!rc);
	REQUIRE(rc, -ENODEV);
	return NULL;
}

static void *scanner(void *arg)
{
	struct crabtree_record r[64];
	struct crabtree_scan s;
	int rc;

	(void)arg;
	do {
		rc = dev_scan(shared_fd, 0, ~0ULL, r, 64, &s);
	} while (!rc);
	REQUIRE(rc, -ENODEV);
	return NULL;
}

/* Each batch returns the number of operations that it has done, or an error if none was done */
static void *batcher(void *arg)
{
	static struct crabtree_batch_op op[CRABTREE_BATCH_MAX];
	struct crabtree_batch b;
	u32 i, done;
	int rc;

	(void)arg;
	do {
		for (i = 0; i < CRABTREE_BATCH_MAX; i++)
			dev_op(&op[i], CRABTREE_BATCH_INSERT, i % 1000, i);
		rc = dev_batch(shared_fd, op, CRABTREE_BATCH_MAX, &b);
		done = rc ? 0 : b.done;
		for (i = 0; i < CRABTREE_BATCH_MAX; i++)
			REQUIRE(op[i].status, i < done ? 0 : -ECANCELED);
	} while (!rc);
	REQUIRE(rc, -ENODEV);
	return NULL;
}

/* No change comes to the watch */
static void *reader(void *arg)
{
	struct crabtree_change c;

	(void)arg;
	REQUIRE(read_changes(shared_watch, &c, 1), -ENODEV);
	return NULL;
}

TEST(load, "removal by force under writers, a scan and a watch: they end with ENODEV")
{
	void *(* const run[LOADS])(void *) = { writer, scanner, batcher, reader };
	char path[32], answer[256];
	pthread_t thread[LOADS];
	int round, i;

	for (round = 0; round < 10; round++) {
		add("ram=128K", path);
		shared_fd = open_formatted(path);
		shared_watch = open_watch(shared_fd, 1000, ~0ULL, 0);
		acknowledged = 0;
		for (i = 0; i < LOADS; i++)
			REQUIRE(pthread_create(&thread[i], NULL, run[i], NULL), 0);
		while (acknowledged < 100)
			usleep(1000);
		REQUIRE(drop(path, "", answer), -EBUSY);
		REQUIRE(drop(path, " force", answer), 0);
		for (i = 0; i < LOADS; i++)
			REQUIRE(pthread_join(thread[i], NULL), 0);
		close(shared_watch);
		close(shared_fd);
	}
}

/* All devices: the machine may have more than that of CRABTREE_DEV */
static int devices(void)
{
	int i, n = 0;
	char path[32];

	for (i = 0; i < LIMIT; i++) {
		snprintf(path, sizeof(path), "/dev/crab%d", i);
		n += !access(path, F_OK);
	}
	return n;
}

TEST(limit, "64 regions at most; all removed again")
{
	char path[LIMIT][32], answer[256];
	int i, added;

	for (added = 1; devices() < LIMIT; added++)
		add("ram=32K", path[added]);
	EXPECT(control("add ram=32K", answer), -ENOSPC);
	EXPECT_TRUE(strstr(answer, "more than 64 regions"));
	for (i = 1; i < added; i++)
		must_drop(path[i]);
	add("ram=32K", path[1]);
	must_drop(path[1]);
}

#define THREADS	4
#define ROUNDS	25

static void *adder(void *arg)
{
	char path[32], answer[256];
	int i, fd;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		add("ram=64K", path);
		fd = open_formatted(path);
		REQUIRE(dev_put(fd, i, i), 0);
		REQUIRE(drop(path, "", answer), -EBUSY);
		close(fd);
		must_drop(path);
	}
	return NULL;
}

/* Removes every device it finds, except that of CRABTREE_DEV */
static void *remover(void *arg)
{
	char path[32], answer[256];
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS * LIMIT; i++) {
		snprintf(path, sizeof(path), "/dev/crab%d", i % LIMIT);
		if (!strcmp(path, device_path()))
			continue;
		if (drop(path, i % 2 ? " force" : "", answer))
			continue;
		acknowledged++;
	}
	return NULL;
}

static void *feeder(void *arg)
{
	char path[32];
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++)
		add("ram=64K", path);
	return NULL;
}

static void together(void *(*run[THREADS])(void *))
{
	pthread_t thread[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		REQUIRE(pthread_create(&thread[i], NULL, run[i], NULL), 0);
	for (i = 0; i < THREADS; i++)
		REQUIRE(pthread_join(thread[i], NULL), 0);
}

TEST(concurrent, "four threads add and remove their regions, the first store keeps its records")
{
	void *(*run[THREADS])(void *) = { adder, adder, adder, adder };
	int fd = fresh_store(0);
	u64 value = 0;

	REQUIRE(dev_put(fd, 5, 50), 0);
	together(run);
	REQUIRE(dev_get(fd, 5, &value), 0);
	EXPECT(value, 50);
	expect_sound(fd, 1);
}

TEST(contended, "two threads add regions that two others remove: each is removed once")
{
	void *(*run[THREADS])(void *) = { feeder, feeder, remover, remover };
	int fd = fresh_store(0);

	acknowledged = 0;
	together(run);
	remover(NULL);		/* the rest */
	EXPECT(acknowledged, 2 * ROUNDS);
	expect_sound(fd, 0);
}

struct opening {
	unsigned long verb;
	int fd;
	int rc;
};

/* Opens a watch or a snapshot: the first one waits until calls that run have returned */
static void *observer(void *arg)
{
	struct opening *o = arg;
	struct crabtree_snapshot s;
	struct crabtree_watch w;

	poison(&s, sizeof(s));
	s.reserved = 0;
	o->rc = o->verb == CRABTREE_WATCH ? dev_watch(o->fd, 0, ~0ULL, 0, &w) :
					    call(o->fd, CRABTREE_SNAPSHOT, &s);
	if (!o->rc)
		close(o->verb == CRABTREE_WATCH ? w.fd : s.fd);
	return NULL;
}

static void observed_until_removed(unsigned long verb, u32 us)
{
	struct opening o = { .verb = verb };
	char path[32], answer[256];
	pthread_t thread;

	add("ram=64K", path);
	o.fd = open_formatted(path);
	REQUIRE(pthread_create(&thread, NULL, observer, &o), 0);
	usleep(us);
	REQUIRE(drop(path, " force", answer), 0);
	REQUIRE(pthread_join(thread, NULL), 0);
	EXPECT_TRUE(!o.rc || o.rc == -ENODEV);
	close(o.fd);
}

/* Memory that is used after it was freed, and memory that is not freed, is for the kernel to find */
TEST(observed, "a region is removed by force while its first watch or snapshot is opened")
{
	int fd = fresh_store(0);
	u32 us;

	for (us = 0; us < 8000; us = 2 * us + 250) {
		observed_until_removed(CRABTREE_WATCH, us);
		observed_until_removed(CRABTREE_SNAPSHOT, us);
	}
	expect_sound(fd, 0);
}

/* Formats again and again until an error */
static void *formatter(void *arg)
{
	struct crabtree_format f;
	int rc;

	(void)arg;
	do {
		format_args(&f, CRABTREE_FORMAT_FORCE, 0);
		rc = call(shared_fd, CRABTREE_FORMAT, &f);
		acknowledged += !rc;
	} while (!rc);
	REQUIRE(rc, -ENODEV);
	return NULL;
}

/* The removal ends the attach within a FORMAT early */
TEST(formatted, "a region is removed by force during a FORMAT, which ends with ENODEV")
{
	char path[32], answer[256];
	pthread_t thread;
	u32 round;

	for (round = 0; round < 10; round++) {
		add("ram=64K", path);
		shared_fd = open_formatted(path);
		acknowledged = 0;
		REQUIRE(pthread_create(&thread, NULL, formatter, NULL), 0);
		while (!acknowledged)
			usleep(100);
		usleep(500 * round);
		REQUIRE(drop(path, " force", answer), 0);
		REQUIRE(pthread_join(thread, NULL), 0);
		close(shared_fd);
	}
}

/* A child, because it cannot take the capability back */
static int open_without(void (*lose)(void))
{
	int fd, status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		lose();
		fd = open(CONTROL, O_RDWR | O_CLOEXEC);
		_exit(fd < 0 ? errno : 0);
	}
	REQUIRE(waitpid(pid, &status, 0), pid);
	REQUIRE_TRUE(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void lose_capability(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	syscall(SYS_capget, &head, data);
	data[CAP_SYS_ADMIN / 32].effective &= ~(1U << CAP_SYS_ADMIN % 32);
	syscall(SYS_capset, &head, data);
}

static void lose_root(void)
{
	if (setuid(65534))
		_exit(255);
}

TEST(permission, "the node is root's, mode 600, and needs CAP_SYS_ADMIN")
{
	struct stat st;

	REQUIRE(stat(CONTROL, &st), 0);
	EXPECT(st.st_mode & 07777, 0600);
	EXPECT(st.st_uid, 0);
	EXPECT(open_without(lose_capability), EPERM);
	EXPECT(open_without(lose_root), EACCES);
}
