/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file makes calls long enough that something can happen in their middle: CHECK and SCAN of a
 * store with as many records as that takes.
 *
 * Invariant: the records have the keys from 0 on, without a gap, and their keys as values.
 */
#ifndef SELFTEST_LONG_CALLS_H
#define SELFTEST_LONG_CALLS_H

#include "device.h"

#define BATCH	CRABTREE_BATCH_MAX

#define LONG_US		100000
#define LONG_RECORDS	2000000
#define LONG_BYTES	(LONG_RECORDS * sizeof(struct crabtree_record))

static struct crabtree_batch_op ops[BATCH];

static void *scan_room;

static inline void long_check(int fd)
{
	sound_records(fd);
}

static inline void long_scan(int fd)
{
	struct crabtree_scan s;

	poison(&s, sizeof(s));
	s.start = 0;
	s.end = ~0ULL;
	s.records = (uintptr_t)scan_room;
	s.capacity = LONG_RECORDS;
	s.reserved = 0;
	REQUIRE(call(fd, CRABTREE_SCAN, &s), 0);
}

static inline u64 time_of(void (*run)(int fd), int fd)
{
	u64 began = now_us();

	run(fd);
	return now_us() - began;
}

static inline void batch_of_new(int fd, u64 base)
{
	struct crabtree_batch b;
	u32 i;

	for (i = 0; i < BATCH; i++)
		dev_op(&ops[i], CRABTREE_BATCH_INSERT, base + i, base + i);
	REQUIRE(dev_batch(fd, ops, BATCH, &b), 0);
}

/* A store on which that takes @us, or one that is full; returns the time */
static inline u64 fill_until(void (*run)(int fd), int fd, u64 us)
{
	u64 base, next = 8 * BATCH, took = 0;

	for (base = 0; base < LONG_RECORDS && took < us; base += BATCH) {
		batch_of_new(fd, base);
		if (base < next && !ops[BATCH - 1].status)
			continue;
		took = time_of(run, fd);
		next += next / 2;
		if (ops[BATCH - 1].status)
			break;
	}
	printf("# %llu records: %llu us\n", (unsigned long long)base, (unsigned long long)took);
	if (took < LONG_US / 10)
		TEST_SKIP("the region is too small: use one of some MiB");
	return took;
}

#endif /* SELFTEST_LONG_CALLS_H */
