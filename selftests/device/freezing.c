// SPDX-License-Identifier: GPL-2.0
/*
 * This file freezes programs in the middle of long calls, as a suspend of the machine does: by the
 * freezer of a cgroup, for which the kernel uses the same function. A program counts as frozen when it
 * holds no resource of the kernel; without a pause in the call that is when the call has ended. And it
 * measures the memory of a watch, which the cgroup of its program pays for, not that of a writer.
 *
 * Invariant: the call goes on when the program does, and its result is that of a call that was not
 * frozen.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "device.h"
#include "long_calls.h"
#include "observe.h"

#define TRIES	60
#define ROOT	"/tmp/crab-freezer"
#define GROUP	ROOT "/crab"
#define DELETED	(20 * BATCH)

static void group_write(const char *file, const char *text)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), GROUP "/%s", file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	REQUIRE_TRUE(fd >= 0);
	REQUIRE(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* A test that failed may have left both */
static void group_init(void)
{
	mkdir(ROOT, 0700);
	if (mount("freezer", ROOT, "cgroup", 0, "freezer") && errno != EBUSY)
		TEST_SKIP("this kernel has no freezer of cgroups: %s", strerror(errno));
	if (mkdir(GROUP, 0700) && errno != EEXIST)
		TEST_FAIL(GROUP ": %s", strerror(errno));
	group_write("freezer.state", "THAWED");
}

static bool group_is_frozen(void)
{
	char state[16] = "";
	int fd = open(GROUP "/freezer.state", O_RDONLY | O_CLOEXEC);

	REQUIRE_TRUE(fd >= 0);
	REQUIRE_TRUE(read(fd, state, sizeof(state) - 1) > 0);
	close(fd);
	return !strncmp(state, "FROZEN", 6);
}

static void group_freeze(void)
{
	group_write("freezer.state", "FROZEN");
	while (!group_is_frozen())
		usleep(200);
}

/* A child of the group that makes one call */
static pid_t child_start(void (*run)(int fd), int fd)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		group_write("tasks", "0");
		run(fd);
		fflush(stdout);
		_exit(test_failed);
	}
	REQUIRE_TRUE(pid > 0);
	return pid;
}

static void child_end(pid_t pid, int want)
{
	int status;

	group_write("freezer.state", "THAWED");
	REQUIRE(waitpid(pid, &status, 0), pid);
	EXPECT(status, want);
}

static u64 room_value(u64 i)
{
	return __atomic_load_n(&((struct crabtree_record *)scan_room)[i].value, __ATOMIC_RELAXED);
}

/* Records in the room, of which the first one has the value 0 */
static u64 room_used(u64 records)
{
	while (records > 1 && !room_value(records - 1))
		records--;
	return records;
}

/* Number of records that SCAN had copied when it was frozen */
static u64 scan_freeze(int fd, u64 records)
{
	pid_t pid;
	u64 used;

	memset(scan_room, 0, records * sizeof(struct crabtree_record));
	pid = child_start(long_scan, fd);
	while (!room_value(1))
		usleep(50);
	group_freeze();
	used = room_used(records);
	usleep(5000);
	EXPECT(room_used(records), used);
	child_end(pid, 0);
	EXPECT(room_used(records), records);
	return used;
}

TEST(scan, "SCAN of many records is frozen in the middle, and goes on")
{
	struct crabtree_info info;
	u64 used = 0;
	int fd, i;

	group_init();
	scan_room = mmap(NULL, LONG_BYTES, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	REQUIRE_TRUE(scan_room != MAP_FAILED);
	fd = fresh_store(8192);
	fill_until(long_scan, fd, LONG_US);
	REQUIRE(dev_info(fd, &info), 0);
	for (i = 0; i < TRIES && (!used || used == info.records); i++)
		used = scan_freeze(fd, info.records);
	printf("# frozen after %llu of %llu records, in try %d\n", (unsigned long long)used,
	       (unsigned long long)info.records, i);
	EXPECT_TRUE(used < info.records);
}

static void long_delete(int fd)
{
	struct crabtree_delete_range range;

	REQUIRE(dev_delete_range(fd, 0, ~0ULL, &range), 0);
	REQUIRE(range.deleted, DELETED);
	REQUIRE(range.more, 0);
}

/* Number of records that were left when DELETE_RANGE was frozen */
static u64 delete_freeze(int fd)
{
	struct crabtree_info info;
	pid_t pid;
	u64 base;

	for (base = 0; base < DELETED; base += BATCH)
		batch_of_new(fd, base);
	if (ops[BATCH - 1].status)
		TEST_SKIP("the region is too small: use one of some MiB");
	pid = child_start(long_delete, fd);
	do {
		usleep(50);
		REQUIRE(dev_info(fd, &info), 0);
	} while (info.records == DELETED);
	group_freeze();
	REQUIRE(dev_info(fd, &info), 0);
	child_end(pid, 0);
	return info.records;
}

TEST(delete_range, "DELETE_RANGE of many records is frozen in the middle, and goes on")
{
	u64 left = 0;
	int fd, i;

	group_init();
	fd = fresh_store(8192);
	for (i = 0; i < TRIES && !left; i++)
		left = delete_freeze(fd);
	printf("# frozen with %llu of %u records left, in try %d\n", (unsigned long long)left,
	       DELETED, i);
	EXPECT_TRUE(left);
	expect_sound(fd, 0);
}

/* Time until CHECK is frozen; it is killed meanwhile if @kill_it */
static u64 check_freeze(int fd, u64 before_us, bool kill_it)
{
	u64 began = now_us(), life;
	pid_t pid = child_start(long_check, fd);

	usleep(before_us);
	group_freeze();
	life = now_us() - began;
	if (kill_it)
		REQUIRE(kill(pid, SIGKILL), 0);
	child_end(pid, kill_it ? SIGKILL : 0);
	return life;
}

/* As for killed programs (signals.c), a busy machine may make it late: one early time is enough */
TEST(check, "CHECK of a large store ends when it is frozen, and begins anew; it can be killed")
{
	u64 whole, life = 0;
	int fd, i;

	group_init();
	fd = fresh_store(8192);
	whole = fill_until(long_check, fd, LONG_US);
	for (i = 0; i < TRIES && (!i || life >= whole / 2); i++) {
		check_freeze(fd, whole / 10, true);
		life = check_freeze(fd, whole / 10, false);
	}
	printf("# frozen after %llu us of %llu, in try %d\n", (unsigned long long)life,
	       (unsigned long long)whole, i);
	EXPECT_TRUE(life < whole / 2);
}

/* The memory of a watch */

#define MEMORY	"/tmp/crab-memory"
#define WATCHED	MEMORY "/watched"
#define CHANGES	20000U
#define CHANGE	32U	/* bytes of each that waits */

static bool memory_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

static void memory_init(void)
{
	mkdir(MEMORY, 0700);
	if ((mount("cgroup", MEMORY, "cgroup2", 0, NULL) && errno != EBUSY) ||
	    !memory_write(MEMORY "/cgroup.subtree_control", "+memory"))
		TEST_SKIP("this kernel has no memory cgroups: %s", strerror(errno));
	if (mkdir(WATCHED, 0700) && errno != EEXIST)
		TEST_FAIL(WATCHED ": %s", strerror(errno));
}

static long long memory_charged(void)
{
	char text[32] = "";
	int fd = open(WATCHED "/memory.current", O_RDONLY | O_CLOEXEC);

	REQUIRE_TRUE(fd >= 0);
	REQUIRE_TRUE(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return atoll(text);
}

/* A program of the group that has a watch open until it is killed */
static pid_t watcher_start(int fd)
{
	int ready[2];
	pid_t pid;
	char c;

	REQUIRE(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		REQUIRE_TRUE(memory_write(WATCHED "/cgroup.procs", "0"));
		open_watch(fd, 0, ~0ULL, CRABTREE_WATCH_ENTRIES_MAX);
		REQUIRE(write(ready[1], "", 1), 1);
		pause();
	}
	REQUIRE_TRUE(pid > 0);
	close(ready[1]);
	REQUIRE(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

TEST(charged, "WATCH: the cgroup of its program pays for the changes that wait, and for no others")
{
	long long before, opened, used;
	int fd = fresh_store(0);
	pid_t pid;
	u32 i;

	memory_init();
	before = memory_charged();
	pid = watcher_start(fd);
	opened = memory_charged();
	for (i = 0; i < CHANGES; i++)
		REQUIRE(dev_put(fd, i % 64, i), 0);
	used = memory_charged();
	printf("# %lld bytes before, %lld once it is open, %lld with %u changes\n", before, opened, used,
	       CHANGES);
	/* The kernel charges by pages, and many ahead: perhaps most of the first changes */
	EXPECT_TRUE(opened - before < 1 << 20);
	EXPECT_TRUE(used - before > CHANGES * CHANGE / 10 * 9);
	kill(pid, SIGKILL);
	REQUIRE(waitpid(pid, NULL, 0), pid);
	EXPECT_TRUE(memory_charged() < used - CHANGES * CHANGE / 2);
}
