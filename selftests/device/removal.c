// SPDX-License-Identifier: GPL-2.0
/*
 * This file removes a region by force while threads use each verb on values, on names, on commits
 * and on snapshots of them: each of these calls succeeds, or fails as it may at any time, until one
 * returns ENODEV. control.c does the same for the verbs on records.
 *
 * Invariant: after each test the only region is that of CRABTREE_DEV, which the tests do not use.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "module.h"
#include "observe.h"

#define CONTROL		"/dev/crabtree-control"
#define ROUNDS		4
#define KEYS		40
#define VALUE		300	/* bytes */

static int device_fd;
static bool names;
static atomic_int running;
static char text[KEYS][8];

/* One command; @answer: its first line, without the newline */
static int control(const char *command, char answer[256])
{
	int fd = open(CONTROL, O_RDWR | O_CLOEXEC), rc;
	ssize_t len;

	REQUIRE_TRUE(fd >= 0);
	rc = write(fd, command, strlen(command)) < 0 ? -errno : 0;
	len = read(fd, answer, 255);
	REQUIRE_TRUE(len > 1);
	answer[len - 1] = '\0';
	close(fd);
	return rc;
}

/* @key: the key, or the number of the name */
static void key_set(u64 key, __u64 *to, __u32 *name_bytes)
{
	*to = names ? (uintptr_t)text[key] : key;
	*name_bytes = names ? strlen(text[key]) : 0;
}

static int put(u64 n)
{
	static const char value[VALUE];
	struct crabtree_put p;

	poison(&p, sizeof(p));
	p.value = (uintptr_t)value;
	p.bytes = sizeof(value);
	p.type = 0;
	key_set(n % KEYS, &p.key, &p.name_bytes);
	return call(device_fd, CRABTREE_PUT, &p);
}

static int get_from(int fd, u64 n)
{
	struct crabtree_get g;
	char value[VALUE];

	poison(&g, sizeof(g));
	g.value = (uintptr_t)value;
	g.capacity = sizeof(value);
	key_set(n % KEYS, &g.key, &g.name_bytes);
	return call(fd, CRABTREE_GET, &g);
}

static int get(u64 n)
{
	return get_from(device_fd, n);
}

static int erase(u64 n)
{
	struct crabtree_erase e;

	poison(&e, sizeof(e));
	e.reserved = 0;
	key_set(n * 7 % KEYS, &e.key, &e.name_bytes);
	return call(device_fd, CRABTREE_ERASE, &e);
}

static int names_from(int fd)
{
	static __thread char room[8192];
	struct crabtree_names l;

	poison(&l, sizeof(l));
	l.start_bytes = 0;
	l.end_bytes = 0;
	l.buffer = (uintptr_t)room;
	l.capacity = sizeof(room);
	return call(fd, CRABTREE_NAMES, &l);
}

static int list_from(int fd)
{
	struct crabtree_entry entries[KEYS];
	struct crabtree_list l;

	if (names)
		return names_from(fd);
	poison(&l, sizeof(l));
	l.start = 0;
	l.end = ~0ULL;
	l.entries = (uintptr_t)entries;
	l.capacity = KEYS;
	l.reserved = 0;
	return call(fd, CRABTREE_LIST, &l);
}

static int list(u64 n)
{
	(void)n;
	return list_from(device_fd);
}

static int commit(u64 n)
{
	static const char value[VALUE];
	struct crabtree_commit_op ops[2];
	struct crabtree_commit c;
	int i;

	memset(ops, 0, sizeof(ops));
	for (i = 0; i < 2; i++) {
		ops[i].verb = CRABTREE_COMMIT_PUT;
		ops[i].value = (uintptr_t)value;
		ops[i].bytes = sizeof(value);
		key_set((n + i) % KEYS, &ops[i].key, &ops[i].name_bytes);
	}
	poison(&c, sizeof(c));
	c.ops = (uintptr_t)ops;
	c.count = 2;
	return call(device_fd, CRABTREE_COMMIT, &c);
}

/* A snapshot, for some calls */
static int snapshot(u64 n)
{
	struct crabtree_snapshot s;
	int rc, i;

	poison(&s, sizeof(s));
	s.reserved = 0;
	rc = call(device_fd, CRABTREE_SNAPSHOT, &s);
	if (rc)
		return rc;
	for (i = 0; i < 20 && (!rc || rc == -ENOENT); i++)
		rc = i % 5 ? get_from(s.fd, n + i) : list_from(s.fd);
	close(s.fd);
	return rc;
}

static int (* const verbs[])(u64 n) = { put, get, erase, list, commit, snapshot };

#define VERBS	(sizeof(verbs) / sizeof(verbs[0]))

/* ESTALE: a write ended the oldest snapshot */
static bool may_be(int rc)
{
	return !rc || rc == -ENOENT || rc == -ENOSPC || rc == -ESTALE;
}

static void *use(void *verb)
{
	u64 n = 0;
	int rc;

	do {
		rc = verbs[(intptr_t)verb](n++);
		running += n == 3;
	} while (may_be(rc));
	if (!EXPECT(rc, -ENODEV))
		printf("# verb %d\n", (int)(intptr_t)verb);
	return NULL;
}

/* Adds a region and formats it; @remove: out: the command that removes it */
static void add_store(const char *add, u32 flags, char remove[64])
{
	char path[32], answer[256];
	struct crabtree_format f;

	REQUIRE(control(add, answer), 0);
	snprintf(path, sizeof(path), "/dev/%.16s", answer);
	snprintf(remove, 64, "remove %.16s force", answer);
	device_fd = open(path, O_RDWR | O_CLOEXEC);
	REQUIRE_TRUE(device_fd >= 0);
	format_args(&f, flags, 0);
	REQUIRE(call(device_fd, CRABTREE_FORMAT, &f), 0);
}

static void remove_once(u32 us)
{
	u32 kind = names ? CRABTREE_FORMAT_NAMES : CRABTREE_FORMAT_BLOBS, i;
	pthread_t thread[VERBS];
	char answer[256], remove[64];

	add_store("add ram=256K", CRABTREE_FORMAT_COMMITS | kind, remove);
	running = 0;
	for (i = 0; i < VERBS; i++)
		REQUIRE(pthread_create(&thread[i], NULL, use, (void *)(intptr_t)i), 0);
	while (running < (int)VERBS)
		usleep(1000);
	usleep(us);
	REQUIRE(control(remove, answer), 0);
	for (i = 0; i < VERBS; i++)
		REQUIRE(pthread_join(thread[i], NULL), 0);
	close(device_fd);
}

static void remove_often(void)
{
	u32 i;

	for (i = 0; i < KEYS; i++)
		snprintf(text[i], sizeof(text[i]), "name%u", i);
	for (i = 0; i < ROUNDS; i++)
		remove_once(777 * i);
}

TEST(values, "removal by force under each verb on values and snapshots: ENODEV")
{
	remove_often();
}

TEST(named, "removal by force under each verb on names and snapshots: ENODEV")
{
	names = true;
	remove_often();
}

#define GOING	"/sys/module/crabtree_kapi/parameters/going"

static void *remover(void *command)
{
	char answer[256];

	REQUIRE(control(command, answer), 0);
	return NULL;
}

/* Until the removal waits for the kernel user */
static void wait_going(int going)
{
	char word = 'N';

	while (word != 'Y') {
		REQUIRE(pread(going, &word, 1, 0), 1);
		usleep(1000);
	}
}

/* The operations of a batch that fills a store: the removal ends each search for room */
static void expect_statuses(const struct crabtree_batch_op *ops)
{
	u32 done = 0, ended = 0, i;

	for (i = 0; i < CRABTREE_BATCH_MAX; i++) {
		done += !ops[i].status;
		ended += ops[i].status == -ENODEV;
		if (ops[i].status != -ENODEV && ops[i].status != -ENOSPC)
			REQUIRE(ops[i].status, 0);
	}
	printf("# %u operations were done, %u ended\n", done, ended);
	EXPECT_TRUE(done && ended);
}

/* A kernel user delays the removal, which ends each search for room meanwhile */
TEST(batch, "BATCH without room in a region that is being removed: ENODEV, not EINTR")
{
	static struct crabtree_batch_op ops[CRABTREE_BATCH_MAX];
	const char *dir = getenv("CRAB_MODULES");
	char path[256], remove[64];
	struct crabtree_batch b;
	pthread_t thread;
	int going;
	u32 i;

	add_store("add ram=64K", 0, remove);
	snprintf(path, sizeof(path), "%s/crabtree_kapi.ko", dir ? dir : "");
	if (module_load(path, "test=slow"))
		TEST_SKIP("%s cannot be loaded", path);
	going = open(GOING, O_RDWR | O_CLOEXEC);
	REQUIRE_TRUE(going >= 0);
	for (i = 0; i < CRABTREE_BATCH_MAX; i++)
		dev_op(&ops[i], CRABTREE_BATCH_INSERT, i, i);
	REQUIRE(pthread_create(&thread, NULL, remover, remove), 0);
	wait_going(going);
	EXPECT(dev_batch(device_fd, ops, CRABTREE_BATCH_MAX, &b), 0);
	EXPECT(pwrite(going, "0", 1, 0), 1);
	REQUIRE(pthread_join(thread, NULL), 0);
	expect_statuses(ops);
	REQUIRE(syscall(SYS_delete_module, "crabtree_kapi", O_NONBLOCK), 0);
}
