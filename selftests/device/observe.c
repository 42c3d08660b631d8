// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests WATCH and SNAPSHOT over the device: the order of the changes of a key with two
 * writers, a ring that overflows, poll(), epoll and signals; snapshots under writers. Their end
 * with the region is in unbind.c.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "observe.h"
#include "slow_page.h"

#define KEYS	64
#define WRITES	6000	/* of a thread; each takes a millisecond in a kernel with every checker */
#define READ	256	/* changes of one read() */

static int shared_fd;
static atomic_int running;

static void nonblock(int fd)
{
	REQUIRE(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

/* A batch that writes one key so often that the last 6 changes are lost */
static void expect_entries(int fd, int w, u32 entries)
{
	static struct crabtree_batch_op op[CRABTREE_BATCH_MAX];
	static struct crabtree_change c[CRABTREE_BATCH_MAX];
	struct crabtree_batch b;
	u32 i;

	for (i = 0; i < entries + 6; i++)
		dev_op(&op[i], CRABTREE_BATCH_INSERT, 6, i);
	REQUIRE(dev_batch(fd, op, entries + 6, &b), 0);
	REQUIRE(read_changes(w, c, CRABTREE_BATCH_MAX), entries + 1);
	EXPECT(c[entries - 1].value, entries - 1);
	EXPECT(c[entries].flags, CRABTREE_CHANGE_LOST);
	EXPECT(c[entries].value, 6);
	EXPECT(c[entries].verb, 0);
	EXPECT(c[entries].key, 0);
	EXPECT(c[entries].old, 0);
}

TEST(verbs, "WATCH: INSERT, DELETE, swap, add and BATCH, within the range only")
{
	struct crabtree_batch_op op[3];
	struct crabtree_change c[16];
	int fd = fresh_store(0), w;
	struct crabtree_insert in;
	struct crabtree_batch b;

	w = open_watch(fd, 5, 6, 0);
	nonblock(w);
	EXPECT(read_changes(w, c, 16), -EAGAIN);
	REQUIRE(dev_put(fd, 4, 1), 0);
	REQUIRE(dev_put(fd, 5, 50), 0);
	EXPECT(dev_swap(fd, 5, 49, 51, &in), -ESTALE);
	REQUIRE(dev_swap(fd, 5, 50, 51, &in), 0);
	REQUIRE(dev_insert(fd, 5, 9, CRABTREE_INSERT_ADD, &in), 0);
	dev_op(&op[0], CRABTREE_BATCH_INSERT, 6, 60);
	dev_op(&op[1], CRABTREE_BATCH_SEARCH, 6, 0);
	dev_op(&op[2], CRABTREE_BATCH_DELETE, 5, 0);
	REQUIRE(dev_batch(fd, op, 3, &b), 0);
	REQUIRE(read_changes(w, c, 16), 5);
	EXPECT(c[0].seq, 1);
	EXPECT(c[0].flags, 0);
	EXPECT(c[0].value, 50);
	EXPECT(c[1].flags, CRABTREE_CHANGE_EXISTED);
	EXPECT(c[1].old, 50);
	EXPECT(c[2].value, 60);
	EXPECT(c[2].old, 51);
	EXPECT(c[3].key, 6);
	EXPECT(c[3].verb, CRABTREE_BATCH_INSERT);
	EXPECT(c[4].key, 5);
	EXPECT(c[4].verb, CRABTREE_BATCH_DELETE);
	EXPECT(c[4].old, 60);
	EXPECT(c[4].seq, 5);
	EXPECT(read_changes(w, c, 16), -EAGAIN);
	expect_entries(fd, w, 1024);
	close(w);
	expect_sound(fd, 2);
}

TEST(delete_range, "WATCH, SNAPSHOT: each record of DELETE_RANGE")
{
	struct crabtree_delete_range range = { .size = sizeof(range), .start = 10, .end = 49 };
	static struct crabtree_change c[READ];
	struct crabtree_search s;
	int fd = fresh_store(0), w, snap, i;

	for (i = 0; i < 60; i++)
		REQUIRE(dev_put(fd, i, 100 + i), 0);
	w = open_watch(fd, 0, 59, 0);
	snap = dev_snapshot(fd);
	REQUIRE(call(fd, CRABTREE_DELETE_RANGE, &range), 0);
	EXPECT(range.deleted, 40);
	REQUIRE(read_changes(w, c, READ), 40);
	for (i = 0; i < 40; i++) {
		EXPECT(c[i].key, 10 + i);
		EXPECT(c[i].verb, CRABTREE_BATCH_DELETE);
		EXPECT(c[i].old, 110 + i);
		EXPECT(dev_search(fd, 10 + i, 0, &s), -ENOENT);
		EXPECT(dev_search(snap, 10 + i, 0, &s), 0);
		EXPECT(s.value, 110 + i);
	}
	close(snap);
	close(w);
	expect_sound(fd, 20);
}

/* The number of the next descriptor */
static int first_free(int fd)
{
	int copy = dup(fd);

	close(copy);
	return copy;
}

TEST(arguments, "WATCH, SNAPSHOT: impossible arguments, and verbs of a snapshot")
{
	static u64 room[64];
	struct crabtree_get get = { .size = sizeof(get), .value = (uintptr_t)room, .capacity = 8 };
	struct crabtree_list list = {
		.size = sizeof(list), .end = 9, .entries = (uintptr_t)room, .capacity = 1,
	};
	struct crabtree_names names = {
		.size = sizeof(names), .buffer = (uintptr_t)room, .capacity = sizeof(room),
	};
	struct crabtree_snapshot s;
	struct crabtree_insert in;
	struct crabtree_change c;
	struct crabtree_watch w;
	void *hole = mmap(NULL, sizeof(c), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = fresh_store(0), next = first_free(fd), snap, watch;

	EXPECT(dev_watch(fd, 6, 5, 0, &w), -EINVAL);
	REQUIRE(dev_watch(fd, 5, 5, 0, &w), 0);
	close(w.fd);
	w.prefix = (uintptr_t)room;
	w.prefix_bytes = 1;
	EXPECT(call(fd, CRABTREE_WATCH, &w), -EOPNOTSUPP);
	EXPECT(dev_watch(fd, 0, 5, CRABTREE_WATCH_ENTRIES_MAX + 1, &w), -EINVAL);
	EXPECT(first_free(fd), next);
	poison(&w, sizeof(w));
	w.flags = 1;
	EXPECT(call(fd, CRABTREE_WATCH, &w), -EINVAL);
	poison(&s, sizeof(s));
	EXPECT(call(fd, CRABTREE_SNAPSHOT, &s), -EINVAL);
	s.reserved = 0;
	s.flags = 1;
	EXPECT(call(fd, CRABTREE_SNAPSHOT, &s), -EINVAL);
	EXPECT(call(fd, CRABTREE_WATCH, (void *)1), -EFAULT);
	watch = open_watch(fd, 0, ~0ULL, 1);
	EXPECT(read(watch, &c, sizeof(c) - 1) < 0 ? -errno : 0, -EINVAL);
	REQUIRE(dev_put(fd, 1, 1), 0);
	EXPECT(read_changes(watch, hole, 1), -EFAULT);
	REQUIRE(fcntl(watch, F_SETFL, O_NONBLOCK), 0);
	EXPECT(read_changes(watch, &c, 1), 1);
	EXPECT(c.seq, 1);
	snap = dev_snapshot(fd);
	EXPECT(dev_insert(snap, 1, 1, 0, &in), -ENOTTY);
	EXPECT(dev_delete(snap, 1, NULL), -ENOTTY);
	EXPECT(call(snap, CRABTREE_SNAPSHOT, &s), -ENOTTY);
	EXPECT(call(snap, CRABTREE_GET, &get), -EOPNOTSUPP);
	EXPECT(call(snap, CRABTREE_LIST, &list), -EOPNOTSUPP);
	EXPECT(call(snap, CRABTREE_NAMES, &names), -EOPNOTSUPP);
	close(snap);
	close(watch);
	expect_sound(fd, 1);
}

TEST(format, "FORMAT: EBUSY while a watch or a snapshot is open")
{
	struct crabtree_format f;
	int fd = fresh_store(0), other;

	format_args(&f, CRABTREE_FORMAT_FORCE, 0);
	other = open_watch(fd, 0, 1, 1);
	EXPECT(call(fd, CRABTREE_FORMAT, &f), -EBUSY);
	close(other);
	other = dev_snapshot(fd);
	EXPECT(call(fd, CRABTREE_FORMAT, &f), -EBUSY);
	close(other);
	EXPECT(call(fd, CRABTREE_FORMAT, &f), 0);
}

/* Opens watches and snapshots until one is refused: @open returns 0 or an error; returns how many */
static u32 open_many(int fd, int (*open)(int fd, int *got), int *got, u32 most)
{
	u32 n;
	int err = 0;

	for (n = 0; n <= most && !err; n++)
		err = open(fd, &got[n]);
	REQUIRE(err, -EMFILE);
	return n - 1;
}

static int one_watch(int fd, int *got)
{
	struct crabtree_watch w;
	int err = dev_watch(fd, 0, ~0ULL, 1, &w);

	*got = err ? -1 : w.fd;
	return err;
}

static int one_snapshot(int fd, int *got)
{
	struct crabtree_snapshot s;
	int err;

	poison(&s, sizeof(s));
	s.reserved = 0;
	err = call(fd, CRABTREE_SNAPSHOT, &s);
	*got = err ? -1 : s.fd;
	return err;
}

TEST(many, "WATCH, SNAPSHOT: a device has 64 of each, EMFILE; a close makes room")
{
	int watches[CRABTREE_WATCHES_MAX + 1], snaps[CRABTREE_SNAPSHOTS_MAX + 1];
	int fd = fresh_store(0), more = device_open(O_RDWR), refused;
	u64 got = 0;
	u32 i;

	REQUIRE(dev_put(fd, 1, 10), 0);
	EXPECT(open_many(fd, one_watch, watches, CRABTREE_WATCHES_MAX), CRABTREE_WATCHES_MAX);
	EXPECT(open_many(more, one_snapshot, snaps, CRABTREE_SNAPSHOTS_MAX), CRABTREE_SNAPSHOTS_MAX);
	REQUIRE(dev_put(fd, 1, 11), 0);
	EXPECT(one_watch(more, &refused), -EMFILE);
	close(watches[1]);
	EXPECT(one_watch(more, &watches[1]), 0);
	close(snaps[0]);
	EXPECT(one_snapshot(fd, &snaps[0]), 0);
	EXPECT(dev_get(snaps[0], 1, &got), 0);
	EXPECT(got, 11);
	/* Snapshots that come and go while others stay open */
	for (i = 0; i < 300; i++) {
		close(snaps[0]);
		REQUIRE(dev_put(fd, i % 5, i), 0);
		REQUIRE(one_snapshot(fd, &snaps[0]), 0);
	}
	EXPECT(dev_get(snaps[1], 1, &got), 0);
	EXPECT(got, 10);
	for (i = 0; i < CRABTREE_SNAPSHOTS_MAX; i++)
		close(snaps[i]);
	for (i = 0; i < CRABTREE_WATCHES_MAX; i++)
		close(watches[i]);
	close(more);
	expect_sound(fd, 5);
}

/* Two writers of the same keys */
static void *writer(void *arg)
{
	unsigned long long seed = 1 + (uintptr_t)arg;
	struct crabtree_batch_op op[4];
	struct crabtree_batch b;
	u64 i, key;

	for (i = 0; i < WRITES; i++) {
		key = rng_below(&seed, KEYS);
		if (i % 16 == 0) {
			dev_op(&op[0], CRABTREE_BATCH_INSERT, key, i);
			dev_op(&op[1], CRABTREE_BATCH_DELETE, (key + 1) % KEYS, 0);
			dev_op(&op[2], CRABTREE_BATCH_INSERT, key, i + 1);
			REQUIRE(dev_batch(shared_fd, op, 3, &b), 0);
		} else if (i % 4 == 0) {
			dev_delete(shared_fd, key, NULL);
		} else {
			REQUIRE(dev_put(shared_fd, key, i << 1 | (uintptr_t)arg), 0);
		}
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static void start(pthread_t *thread)
{
	uintptr_t i;

	atomic_store(&running, 2);
	for (i = 0; i < 2; i++)
		REQUIRE(pthread_create(&thread[i], NULL, writer, (void *)i), 0);
}

static void join(pthread_t *thread)
{
	REQUIRE(pthread_join(thread[0], NULL), 0);
	REQUIRE(pthread_join(thread[1], NULL), 0);
}

struct seen {
	u64 seq;
	u64 lost;
	bool present[KEYS];
	u64 value[KEYS];
};

/* After LOST the reader scans: it may see later changes early, and sees each of them again */
static void resync(int fd, struct seen *seen)
{
	struct crabtree_record r[KEYS];
	struct crabtree_scan s;
	u32 i;

	memset(seen->present, 0, sizeof(seen->present));
	REQUIRE(dev_scan(fd, 0, KEYS - 1, r, KEYS, &s), 0);
	for (i = 0; i < s.count; i++) {
		seen->present[r[i].key] = true;
		seen->value[r[i].key] = r[i].value;
	}
}

/* @strict: no change was lost, so each one continues the state that the previous one left */
static void apply(int fd, struct seen *seen, const struct crabtree_change *c, bool strict)
{
	if (c->flags & CRABTREE_CHANGE_LOST) {
		seen->lost += c->value;
		REQUIRE(c->seq, seen->seq + c->value);
		seen->seq = c->seq;
		resync(fd, seen);
		return;
	}
	REQUIRE(c->seq, ++seen->seq);
	if (strict) {
		REQUIRE(!!(c->flags & CRABTREE_CHANGE_EXISTED), seen->present[c->key]);
		REQUIRE(c->old, c->flags ? seen->value[c->key] : 0);
	}
	seen->present[c->key] = c->verb == CRABTREE_BATCH_INSERT;
	seen->value[c->key] = c->value;
}

static void expect_same(int fd, const struct seen *seen)
{
	u64 key, value = 0;

	for (key = 0; key < KEYS; key++) {
		REQUIRE(dev_get(fd, key, &value), seen->present[key] ? 0 : -ENOENT);
		if (seen->present[key])
			REQUIRE(value, seen->value[key]);
	}
}

/* Follows two writers; @pause_us makes the reader slow */
static void follow(u32 entries, int pause_us, struct seen *seen)
{
	static struct crabtree_change c[READ];
	struct pollfd p = { .events = POLLIN };
	pthread_t thread[2];
	int n, i, more;

	shared_fd = fresh_store(0);
	p.fd = open_watch(shared_fd, 0, KEYS - 1, entries);
	start(thread);
	do {
		more = atomic_load(&running);
		n = poll(&p, 1, more ? 100 : 0);
		n = n > 0 ? read_changes(p.fd, c, READ) : 0;
		REQUIRE_TRUE(n >= 0);
		for (i = 0; i < n; i++)
			apply(shared_fd, seen, &c[i], !pause_us);
		usleep(n ? pause_us : 0);
	} while (more || n);
	join(thread);
	expect_same(shared_fd, seen);
	close(p.fd);
}

TEST(order, "WATCH: two writers; each change of a key continues the one before")
{
	struct seen seen = { 0 };

	follow(CRABTREE_WATCH_ENTRIES_MAX, 0, &seen);
	EXPECT(seen.lost, 0);
	EXPECT_TRUE(seen.seq > WRITES);
}

TEST(lost, "WATCH: a slow reader gets LOST, scans, and ends with the content of the store")
{
	struct seen seen = { 0 };

	follow(8, 2000, &seen);
	printf("# %llu of %llu lost\n", (unsigned long long)seen.lost, (unsigned long long)seen.seq);
	EXPECT_TRUE(seen.lost > 0);
}

static void *put_late(void *arg)
{
	usleep(200000);
	REQUIRE(dev_put(shared_fd, 1, (uintptr_t)arg), 0);
	return NULL;
}

static void on_signal(int number)
{
	(void)number;
}

TEST(waits, "WATCH: read() and epoll wait for a change; a signal ends read()")
{
	struct epoll_event event = { .events = EPOLLIN }, got;
	struct itimerval soon = { .it_value.tv_usec = 200000 };
	struct sigaction nothing = { .sa_handler = on_signal };
	struct crabtree_change c[4];
	pthread_t thread;
	int w, ep;

	shared_fd = fresh_store(0);
	w = open_watch(shared_fd, 0, ~0ULL, 0);
	ep = epoll_create1(EPOLL_CLOEXEC);
	REQUIRE(epoll_ctl(ep, EPOLL_CTL_ADD, w, &event), 0);
	EXPECT(epoll_wait(ep, &got, 1, 0), 0);
	REQUIRE(pthread_create(&thread, NULL, put_late, (void *)1), 0);
	EXPECT(epoll_wait(ep, &got, 1, 60000), 1);
	EXPECT(got.events, EPOLLIN);
	EXPECT(read_changes(w, c, 4), 1);
	REQUIRE(pthread_join(thread, NULL), 0);
	REQUIRE(pthread_create(&thread, NULL, put_late, (void *)2), 0);
	EXPECT(read_changes(w, c, 4), 1);
	EXPECT(c[0].value, 2);
	REQUIRE(pthread_join(thread, NULL), 0);
	REQUIRE(sigaction(SIGALRM, &nothing, NULL), 0);
	REQUIRE(setitimer(ITIMER_REAL, &soon, NULL), 0);
	EXPECT(read_changes(w, c, 4), -EINTR);
	close(ep);
	close(w);
}

/* The first change is on its way into the slow page; now another reader comes, and then another change */
static void *reader_main(void *arg)
{
	struct crabtree_change c = { 0 };

	REQUIRE(read_changes((intptr_t)arg, &c, 1), 1);
	return (void *)(uintptr_t)c.seq;
}

struct reader {
	int watch;
	pthread_t thread;
};

/* The other reader holds the descriptor */
static void reader_without_wait(int watch)
{
	int flags = fcntl(watch, F_GETFL);
	struct crabtree_change c;

	REQUIRE(fcntl(watch, F_SETFL, flags | O_NONBLOCK), 0);
	EXPECT(read_changes(watch, &c, 1), -EAGAIN);
	REQUIRE(fcntl(watch, F_SETFL, flags), 0);
}

static void reader_begin(void *arg)
{
	struct reader *reader = arg;

	REQUIRE(dev_put(shared_fd, 1, 2), 0);
	reader_without_wait(reader->watch);
	REQUIRE(pthread_create(&reader->thread, NULL, reader_main, (void *)(intptr_t)reader->watch), 0);
	usleep(200000);		/* it has seen a change, and waits for the other reader */
}

TEST(readers, "WATCH: two readers of a descriptor: each change is read once, none is an end of file; O_NONBLOCK")
{
	struct reader reader;
	struct crabtree_change *c;
	struct slow_page page;
	void *seq;

	shared_fd = fresh_store(0);
	reader.watch = open_watch(shared_fd, 0, ~0ULL, 0);
	slow_page_init(&page, reader_begin, &reader);
	c = (struct crabtree_change *)page.at;
	REQUIRE(dev_put(shared_fd, 1, 1), 0);
	REQUIRE(read_changes(reader.watch, c, 2), 2);
	EXPECT(c[0].seq, 1);
	EXPECT(c[0].value, 1);
	EXPECT(c[1].seq, 2);
	EXPECT(c[1].value, 2);
	usleep(200000);		/* the other one finds none, and waits again */
	REQUIRE(dev_put(shared_fd, 1, 3), 0);
	REQUIRE(pthread_join(reader.thread, &seq), 0);
	EXPECT((uintptr_t)seq, 3);
	close(reader.watch);
}

/* Each writer writes its two keys with one value: a snapshot sees both keys equal, or one step apart */
static void *pairs(void *arg)
{
	u64 base = 1000 + 2 * (uintptr_t)arg, i;

	for (i = 1; i <= WRITES; i++) {
		REQUIRE(dev_put(shared_fd, base, i), 0);
		REQUIRE(dev_put(shared_fd, base + 1, i), 0);
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static void check_snapshot(void)
{
	struct crabtree_record r[8], again[8];
	int snap = dev_snapshot(shared_fd), round;
	struct crabtree_search near;
	struct crabtree_scan s;
	u64 value = 0;
	u32 i;

	REQUIRE(dev_scan(snap, 0, ~0ULL, r, 8, &s), 0);
	for (i = 0; i + 1 < s.count; i += 2) {
		REQUIRE(r[i].key + 1, r[i + 1].key);
		REQUIRE_TRUE(r[i].value - r[i + 1].value <= 1);
	}
	for (round = 0; round < 3; round++) {
		usleep(1000);
		REQUIRE(dev_scan(snap, 0, ~0ULL, again, 8, &s), 0);
		REQUIRE(memcmp(r, again, s.count * sizeof(*r)), 0);
		for (i = 0; i < s.count; i++) {
			REQUIRE(dev_get(snap, r[i].key, &value), 0);
			REQUIRE(value, r[i].value);
		}
		REQUIRE(dev_search(snap, ~0ULL - 1, CRABTREE_SEARCH_LE, &near), s.count ? 0 : -ENOENT);
		if (s.count)
			REQUIRE(near.value, r[s.count - 1].value);
	}
	close(snap);
}

TEST(snapshot, "SNAPSHOT: one state of two writers, read again and again")
{
	pthread_t thread[2];
	uintptr_t i;
	int n;

	shared_fd = fresh_store(0);
	/* A snapshot between the first two puts of a writer would have one key of its pair */
	for (i = 1000; i < 1004; i++)
		REQUIRE(dev_put(shared_fd, i, 0), 0);
	atomic_store(&running, 2);
	for (i = 0; i < 2; i++)
		REQUIRE(pthread_create(&thread[i], NULL, pairs, (void *)i), 0);
	for (n = 0; atomic_load(&running) || n < 5; n++)
		check_snapshot();
	join(thread);
	printf("# %d snapshots\n", n);
	expect_sound(shared_fd, 4);
}

TEST(deleted, "SNAPSHOT: keys deleted and created since it was opened")
{
	static const char * const engines[] = { "crab", "nvtree", "fastfair", "clfb",
						"nbtree", "volatile" };
	struct crabtree_record r[8];
	struct crabtree_scan s;
	struct crabtree_info info;
	unsigned int i;
	int fd, snap;
	u64 got = 0;

	for (i = 0; i < sizeof(engines) / sizeof(*engines); i++) {
		fd = fresh_store_of(engines[i], "", 0);
		REQUIRE(dev_put(fd, 1, 10), 0);
		REQUIRE(dev_put(fd, 3, 30), 0);
		snap = dev_snapshot(fd);
		REQUIRE(dev_delete(fd, 1, NULL), 0);
		REQUIRE(dev_put(fd, 2, 20), 0);
		REQUIRE(dev_put(fd, 3, 31), 0);
		REQUIRE(dev_scan(snap, 0, ~0ULL, r, 8, &s), 0);
		EXPECT(s.count, 2);
		EXPECT(s.more, 0);
		EXPECT(r[0].value, 10);
		EXPECT(r[1].value, 30);
		EXPECT(dev_get(snap, 2, &got), -ENOENT);
		EXPECT(dev_get(fd, 3, &got), 0);
		EXPECT(got, 31);
		EXPECT(dev_info(snap, &info), 0);
		EXPECT(info.records, 2);
		close(snap);
		close(fd);
	}
}
