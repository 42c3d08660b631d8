/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file receives the kernel's uevents of crabtree devices.
 *
 * Invariant: the socket is opened before the event is provoked, and read without
 * waiting: the kernel has sent an event when the call that caused it returns.
 */
#ifndef SELFTEST_UEVENT_H
#define SELFTEST_UEVENT_H

#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "harness.h"

static inline int uevent_open(void)
{
	struct sockaddr_nl at = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			NETLINK_KOBJECT_UEVENT);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		TEST_FAIL("uevents: %s", strerror(errno));
	return fd;
}

/* The value of a variable, or NULL; @text holds @len bytes, the last of them 0 */
static inline const char *uevent_get(const char *text, size_t len, const char *name)
{
	const char *at = text;
	size_t n = strlen(name);

	for (; at < text + len; at += strlen(at) + 1)
		if (!strncmp(at, name, n) && at[n] == '=')
			return at + n + 1;
	return NULL;
}

/* The next event of a crabtree device that has come; returns its length, or 0 */
static inline size_t uevent_next(int fd, char *text, size_t size)
{
	const char *subsystem;
	ssize_t len;

	while ((len = recv(fd, text, size - 1, 0)) > 0) {
		text[len] = '\0';
		subsystem = uevent_get(text, len, "SUBSYSTEM");
		if (subsystem && !strcmp(subsystem, "crabtree"))
			return len;
	}
	return 0;
}

/* How many have come with this action */
static inline int uevent_count(int fd, const char *action)
{
	const char *is;
	char text[4096];
	int count = 0;
	size_t len;

	while ((len = uevent_next(fd, text, sizeof(text)))) {
		is = uevent_get(text, len, "ACTION");
		count += is && !strcmp(is, action);
	}
	return count;
}

#endif /* SELFTEST_UEVENT_H */
