// SPDX-License-Identifier: GPL-2.0
/*
 * This file opens the first snapshot of a store while a write is under way that has not noted the old
 * value, since there was no snapshot when it began; and a watch that is refused does not wait for one.
 *
 * Invariant: the module is a copy in which a write of the key SLEEPS waits at that point, for two
 * seconds: selftests/vm/drain makes it, and runs this test. No other test runs it.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "observe.h"

#define SLEEPS	0x51ee9

static atomic_bool returned;

static void *put_slowly(void *arg)
{
	REQUIRE(dev_put((intptr_t)arg, SLEEPS, 1), 0);
	atomic_store(&returned, true);
	return NULL;
}

TEST(drain, "SNAPSHOT waits for a write that began before, and has its value")
{
	int fd = fresh_store(0), snap;
	pthread_t thread;
	u64 value = 0;

	REQUIRE(pthread_create(&thread, NULL, put_slowly, (void *)(intptr_t)fd), 0);
	usleep(200000);
	EXPECT_TRUE(!returned);
	snap = dev_snapshot(fd);
	EXPECT(dev_get(snap, SLEEPS, &value), 0);
	REQUIRE(pthread_join(thread, NULL), 0);
	EXPECT(dev_get(snap, SLEEPS, &value), 0);
	EXPECT(value, 1);
	close(snap);
}

TEST(watch_refused, "WATCH of a range that is refused does not wait for a write")
{
	int fd = fresh_store(0);
	struct crabtree_watch w;
	pthread_t thread;

	atomic_store(&returned, false);
	REQUIRE(pthread_create(&thread, NULL, put_slowly, (void *)(intptr_t)fd), 0);
	usleep(200000);
	EXPECT(dev_watch(fd, 6, 5, 0, &w), -EINVAL);
	EXPECT_TRUE(!returned);
	REQUIRE(pthread_join(thread, NULL), 0);
}
