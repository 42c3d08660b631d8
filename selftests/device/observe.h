/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file holds WATCH and SNAPSHOT as functions, for the tests of them.
 *
 * Invariant: as of device.h.
 */
#ifndef SELFTEST_OBSERVE_H
#define SELFTEST_OBSERVE_H

#include "device.h"

static inline int dev_watch(int fd, u64 start, u64 end, u32 entries, struct crabtree_watch *w)
{
	poison(w, sizeof(*w));
	w->start = start;
	w->end = end;
	w->entries = entries;
	w->prefix = 0;
	w->prefix_bytes = 0;
	w->reserved = 0;
	return call(fd, CRABTREE_WATCH, w);
}

static inline int open_watch(int fd, u64 start, u64 end, u32 entries)
{
	struct crabtree_watch w;

	REQUIRE(dev_watch(fd, start, end, entries, &w), 0);
	EXPECT(fcntl(w.fd, F_GETFD), FD_CLOEXEC);
	return w.fd;
}

static inline int dev_snapshot(int fd)
{
	struct crabtree_snapshot s;

	poison(&s, sizeof(s));
	s.reserved = 0;
	REQUIRE(call(fd, CRABTREE_SNAPSHOT, &s), 0);
	EXPECT(fcntl(s.fd, F_GETFD), FD_CLOEXEC);
	return s.fd;
}

static inline int read_changes(int fd, struct crabtree_change *c, u32 n)
{
	ssize_t got = read(fd, c, n * sizeof(*c));

	if (got < 0)
		return -errno;
	EXPECT(got % sizeof(*c), 0);
	return got / sizeof(*c);
}

#endif /* SELFTEST_OBSERVE_H */
