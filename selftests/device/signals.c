// SPDX-License-Identifier: GPL-2.0
/*
 * This file sends signals to calls on the device: one that is pending when the
 * call looks (its memory is a page whose fault we handle, and the handler sends
 * the signal), one that comes in the middle, one that kills.
 *
 * open looks for any signal while it waits; BATCH, SCAN and CHECK for one that kills. All
 * others get through without, and none is repeated.
 *
 * Invariant: CHECK passes after each.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "device.h"
#include "long_calls.h"
#include "slow_page.h"

#define TRIES		60

static atomic_uint signals;

static void on_signal(int number)
{
	(void)number;
	atomic_fetch_add(&signals, 1);
}

/* No SA_RESTART: an interrupted call returns EINTR */
static void signals_init(void)
{
	struct sigaction act = { .sa_handler = on_signal };

	REQUIRE(sigaction(SIGUSR1, &act, NULL), 0);
	REQUIRE(sigaction(SIGALRM, &act, NULL), 0);
}

/* A page that is mapped on the kernel's first access, after the signal was sent */
static void page_signals(void *victim)
{
	REQUIRE(syscall(SYS_tgkill, getpid(), (intptr_t)victim, SIGUSR1), 0);
}

static void page_init(struct slow_page *page)
{
	slow_page_init(page, page_signals, (void *)syscall(SYS_gettid));
}

TEST(batch_pending, "BATCH with a signal before its first operation: all is done, once")
{
	struct crabtree_batch_op *op;
	struct crabtree_batch b;
	int fd = fresh_store(0), i;
	struct slow_page page;

	signals_init();
	page_init(&page);
	op = (struct crabtree_batch_op *)page.content;
	for (i = 0; i < 50; i++)
		dev_op(&op[i], CRABTREE_BATCH_INSERT, i, i);
	EXPECT(dev_batch(fd, (struct crabtree_batch_op *)page.at, 50, &b), 0);
	EXPECT(signals, 1);
	EXPECT(b.done, 50);
	for (i = 0; i < 50; i++)
		EXPECT(((struct crabtree_batch_op *)page.at)[i].existed, 0);
	expect_sound(fd, 50);
}

TEST(scan_pending, "SCAN with a signal pending that does not kill: all is given")
{
	int fd = fresh_store(0);
	struct crabtree_scan s;
	struct slow_page page;
	u64 key;

	for (key = 0; key < 1000; key++)
		REQUIRE(dev_put(fd, key, key), 0);
	signals_init();
	page_init(&page);
	poison(&s, sizeof(s));
	s.start = 0;
	s.end = 255;
	s.records = (uintptr_t)page.at;
	s.capacity = 1000;
	s.reserved = 0;
	EXPECT(call(fd, CRABTREE_SCAN, &s), 0);
	EXPECT(signals, 1);
	EXPECT(s.count, 256);
	EXPECT(s.more, 0);
	expect_sound(fd, 1000);
}

static void timer(u32 us)
{
	struct itimerval every = { { 0, us }, { 0, us } };

	REQUIRE(setitimer(ITIMER_REAL, &every, NULL), 0);
}

#define BATCHES	8	/* of new keys; as many delete these keys */

/* Batch @n: done completely, despite signals */
static void batch_whole(int fd, u64 n)
{
	bool insert = n / BATCHES % 2 == 0;
	u64 base = n % BATCHES * BATCH;
	struct crabtree_batch b;
	u32 i;

	for (i = 0; i < BATCH; i++)
		dev_op(&ops[i], insert ? CRABTREE_BATCH_INSERT : CRABTREE_BATCH_DELETE, base + i,
		       base + i);
	REQUIRE(dev_batch(fd, ops, BATCH, &b), 0);
	REQUIRE(b.done, BATCH);
	for (i = 0; i < BATCH; i++) {
		REQUIRE(ops[i].status, 0);
		REQUIRE(ops[i].existed, 0);
		REQUIRE(ops[i].old_value, insert ? 0 : base + i);
	}
}

/* Number of records after @n batches */
static u64 batches_records(u64 n)
{
	u64 inserts = n % (2 * BATCHES);

	return (inserts < BATCHES ? inserts : 2 * BATCHES - inserts) * BATCH;
}

TEST(batch_middle, "BATCH under a storm of signals with a handler: each is done whole")
{
	int fd = fresh_store(0);
	u64 n;

	signals_init();
	timer(2000);
	for (n = 0; n < BATCHES || atomic_load(&signals) < TRIES; n++)
		batch_whole(fd, n);
	timer(0);
	printf("# %u signals, %llu batches\n", signals, (unsigned long long)n);
	expect_sound(fd, batches_records(n));
}

/* A process that stores batches until @enough; the number of them */
static int batches_until(int fd, const atomic_bool *enough)
{
	int n;

	for (n = 0; n < BATCHES || !atomic_load(enough); n++)
		batch_whole(fd, n);
	return n;
}

/* Stops a process and lets it go on, TRIES times */
static void stop_often(pid_t pid)
{
	int status, i;

	for (i = 0; i < TRIES; i++) {
		usleep(3000);
		REQUIRE(kill(pid, SIGSTOP), 0);
		REQUIRE(waitpid(pid, &status, WUNTRACED), pid);
		REQUIRE_TRUE(WIFSTOPPED(status));
		REQUIRE(kill(pid, SIGCONT), 0);
	}
}

struct stopped {
	atomic_bool enough;
	int batches;
};

TEST(batch_stopped, "BATCH of a process that is stopped and continued: no EINTR, none cut short")
{
	struct stopped *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = fresh_store(0), status;
	pid_t pid;

	REQUIRE_TRUE(s != MAP_FAILED);
	pid = fork();
	if (!pid) {
		s->batches = batches_until(fd, &s->enough);
		_exit(test_failed);
	}
	REQUIRE_TRUE(pid > 0);
	stop_often(pid);
	atomic_store(&s->enough, true);
	REQUIRE(waitpid(pid, &status, 0), pid);
	EXPECT(status, 0);
	printf("# %d batches\n", s->batches);
	expect_sound(fd, batches_records(s->batches));
}

TEST(storm, "a storm of signals: every other call gets through, once")
{
	static struct crabtree_record r[1000];
	int fd = fresh_store(512);
	struct crabtree_insert in;
	struct crabtree_scan s;
	u64 key, i, got;

	signals_init();
	timer(5000);
	for (key = 0; key < 1000 || atomic_load(&signals) < 20; key++) {
		REQUIRE(dev_insert(fd, key, key, CRABTREE_INSERT_CREATE, &in), 0);
		REQUIRE(dev_get(fd, key, &got), 0);
		if (key % 100 == 0)
			expect_sound(fd, key + 1);
	}
	for (i = 0; i < 1000; i += 2)
		REQUIRE(dev_delete(fd, i, NULL), 0);
	REQUIRE(dev_scan(fd, 0, 999, r, 1000, &s), 0);
	EXPECT(s.count, 500);
	expect_sound(fd, key - 500);
	timer(0);
	printf("# %u signals\n", signals);
}

/* Calls that take long enough to be killed during the call */

/* Time until a process is killed that has just started */
static u64 life_of(void (*run)(int fd), int fd, u64 before_us)
{
	u64 began = now_us();
	int status;
	pid_t pid = fork();

	if (!pid) {
		run(fd);
		_exit(0);
	}
	REQUIRE_TRUE(pid > 0);
	usleep(before_us);
	REQUIRE(kill(pid, SIGKILL), 0);
	REQUIRE(waitpid(pid, &status, 0), pid);
	return now_us() - began;
}

/*
 * Not the killed one's own word counts, but when it ended. A busy machine may
 * make it late, so one early end is enough: without a look at signals there is none.
 */
static void killed(void (*run)(int fd))
{
	int fd = fresh_store(8192), i;
	u64 whole, life = 0;

	scan_room = mmap(NULL, LONG_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	REQUIRE_TRUE(scan_room != MAP_FAILED);
	whole = fill_until(run, fd, LONG_US);
	for (i = 0; i < TRIES; i++) {
		life = life_of(run, fd, whole / 10);
		sound_records(fd);
		if (life < whole / 2)
			break;
	}
	printf("# ended after %llu us of %llu, in try %d\n", (unsigned long long)life,
	       (unsigned long long)whole, i + 1);
	EXPECT_TRUE(i < TRIES);
}

TEST(check_killed, "CHECK of a large store ends when its program is killed")
{
	killed(long_check);
}

TEST(scan_killed, "SCAN of a large store ends when its program is killed")
{
	killed(long_scan);
}

#define DELETED	(20 * BATCH)	/* records that a killed DELETE_RANGE began with */

static void long_delete(int fd)
{
	struct crabtree_delete_range range;

	REQUIRE(dev_delete_range(fd, 0, ~0ULL, &range), 0);
	REQUIRE(range.deleted, DELETED);
}

static void fill_deleted(int fd)
{
	u64 base;

	for (base = 0; base < DELETED; base += BATCH)
		batch_of_new(fd, base);
	if (ops[BATCH - 1].status)
		TEST_SKIP("the region is too small: use one of some MiB");
}

/* It deletes in ascending order: the records that are left are the highest ones */
TEST(delete_killed, "DELETE_RANGE of many records ends in the middle when its program is killed")
{
	struct crabtree_info info = { .records = 0 };
	int fd = fresh_store(8192), i;
	u64 us, value;

	fill_deleted(fd);
	us = time_of(long_delete, fd) / 2;
	for (i = 0; i < TRIES && (!info.records || info.records == DELETED); i++) {
		fill_deleted(fd);
		life_of(long_delete, fd, us);
		REQUIRE(dev_info(fd, &info), 0);
		us = info.records ? us + us / 2 : us / 2 + 1;
	}
	printf("# %llu of %u records are left, in try %d\n", (unsigned long long)info.records, DELETED, i);
	REQUIRE_TRUE(info.records && info.records < DELETED);
	expect_sound(fd, info.records);
	EXPECT(dev_get(fd, DELETED - info.records, &value), 0);
	EXPECT(dev_get(fd, DELETED - info.records - 1, &value), -ENOENT);
}

/* CHECK holds FORMAT up, FORMAT holds open up, and open gets a signal */

static int shared_fd;
static int format_rc, open_rc;
static atomic_bool check_done;

static void *checking(void *arg)
{
	(void)arg;
	long_check(shared_fd);
	atomic_store(&check_done, true);
	return NULL;
}

static void *formatting(void *arg)
{
	struct crabtree_format f;

	(void)arg;
	format_args(&f, CRABTREE_FORMAT_FORCE, 8192);
	format_rc = call(shared_fd, CRABTREE_FORMAT, &f);
	return NULL;
}

static void *opening(void *arg)
{
	int fd = open(device_path(), O_RDWR | O_CLOEXEC);

	(void)arg;
	open_rc = fd < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return NULL;
}

static int open_once(u64 step_us)
{
	void *(* const run[])(void *) = { checking, formatting, opening };
	pthread_t thread[3];
	int i;

	for (i = 0; i < 3; i++) {
		REQUIRE(pthread_create(&thread[i], NULL, run[i], NULL), 0);
		usleep(step_us);
	}
	pthread_kill(thread[2], SIGUSR1);
	for (i = 0; i < 3; i++)
		REQUIRE(pthread_join(thread[i], NULL), 0);
	REQUIRE_TRUE(!format_rc || format_rc == -EBUSY);
	return open_rc;
}

TEST(open_signal, "open that waits for FORMAT: a signal ends it with EINTR")
{
	int rc = 0, i;
	u64 whole;

	shared_fd = fresh_store(8192);
	signals_init();
	for (i = 0; i < TRIES && rc != -EINTR; i++) {
		whole = fill_until(long_check, shared_fd, LONG_US);
		rc = open_once(whole / 8);
		REQUIRE_TRUE(!rc || rc == -EINTR);
		if (!format_rc)
			expect_sound(shared_fd, 0);
	}
	printf("# interrupted in try %d\n", i);
	EXPECT(rc, -EINTR);
	long_check(shared_fd);
}

/* Kills a child in FORMAT, which waits for CHECK. True if it ended first, and the records stay */
static bool format_and_kill(u64 step_us)
{
	struct crabtree_info info;
	pthread_t thread;
	bool running;
	u64 value;
	pid_t pid;

	atomic_store(&check_done, false);
	REQUIRE(pthread_create(&thread, NULL, checking, NULL), 0);
	usleep(step_us);
	pid = fork();
	if (!pid) {
		formatting(NULL);
		_exit(0);
	}
	while (!atomic_load(&check_done) && dev_get(shared_fd, 1, &value) != -EBUSY)
		usleep(100);
	REQUIRE(kill(pid, SIGKILL), 0);
	REQUIRE(waitpid(pid, NULL, 0), pid);
	running = !atomic_load(&check_done);
	REQUIRE(pthread_join(thread, NULL), 0);
	REQUIRE(dev_info(shared_fd, &info), 0);
	return running && info.records;
}

TEST(format_killed, "FORMAT that waits for CHECK ends when its program is killed; the store stays")
{
	bool ended = false;
	int i;

	shared_fd = fresh_store(8192);
	for (i = 0; i < TRIES && !ended; i++)
		ended = format_and_kill(fill_until(long_check, shared_fd, LONG_US) / 8);
	EXPECT_TRUE(ended);
	REQUIRE(dev_put(shared_fd, 1, 2), 0);
	long_check(shared_fd);
}

static int sysfs_state(void)
{
	char path[64], state[32];
	int fd, len;

	snprintf(path, sizeof(path), "/sys/class/crabtree/%s/state", strrchr(device_path(), '/') + 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = read(fd, state, sizeof(state));
	close(fd);
	return len > 0;
}

static void load_module(const char *name, const char *params)
{
	const char *dir = getenv("CRAB_MODULES");
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s.ko", dir ? dir : "", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		TEST_SKIP("%s: %s", path, strerror(errno));
	REQUIRE(syscall(SYS_finit_module, fd, params, 0), 0);
	close(fd);
}

/*
 * Calls that look up a store and must not wait for a busy one. Returns 1 if CHECK still
 * ran at the end: a call that waits for FORMAT, which waits for CHECK, ends later. The sample
 * searches when it is loaded; to unload it takes longer than all of these. @us: out: their time
 */
static int ask(u64 *us)
{
	struct crabtree_info info;
	u64 began = now_us();
	int running;

	REQUIRE(dev_info(shared_fd, &info), 0);
	REQUIRE(sysfs_state(), 1);
	load_module("crabtree_sample", "label=another");
	running = !atomic_load(&check_done);
	*us = now_us() - began;
	REQUIRE(syscall(SYS_delete_module, "crabtree_sample", O_NONBLOCK), 0);
	return running;
}

/* Without a CHECK: beside one, which keeps a CPU busy, a module takes longer to load */
static u64 time_to_ask(void)
{
	u64 us;

	ask(&us);
	return us;
}

/* Number of repetitions while FORMAT waited for CHECK */
static int ask_often(u64 step_us)
{
	pthread_t thread[2];
	int asked = 0, i;
	u64 us;

	atomic_store(&check_done, false);
	REQUIRE(pthread_create(&thread[0], NULL, checking, NULL), 0);
	usleep(step_us);
	REQUIRE(pthread_create(&thread[1], NULL, formatting, NULL), 0);
	usleep(step_us);
	while (!atomic_load(&check_done))
		asked += ask(&us);
	for (i = 0; i < 2; i++)
		REQUIRE(pthread_join(thread[i], NULL), 0);
	REQUIRE(format_rc, 0);
	return asked;
}

TEST(busy_store, "INFO, sysfs and a search for another label do not wait for a store that is busy")
{
	int asked = 0, i;
	u64 whole, least;

	shared_fd = fresh_store(8192);
	least = 2 * time_to_ask();
	least = least > LONG_US ? least : LONG_US;
	for (i = 0; i < TRIES && !asked; i++) {
		whole = fill_until(long_check, shared_fd, least);
		asked = ask_often(whole / 8);
		least += least / 2;
	}
	printf("# asked %d times in try %d\n", asked, i);
	EXPECT_TRUE(asked > 0);
}
