// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests a store that FORMAT leaves unfinished: only its descriptor can use it, no end of
 * this descriptor leaves a store, and FINISH makes it one.
 *
 * Invariant: as of device.h.
 */
#include <signal.h>
#include <sys/wait.h>

#include "observe.h"

#define KEYS	600

static int dev_finish(int fd)
{
	struct crabtree_format f = { .size = sizeof(f), .flags = CRABTREE_FORMAT_FINISH };

	return call(fd, CRABTREE_FORMAT, &f);
}

static u32 state_of(int fd)
{
	struct crabtree_info info;

	REQUIRE(dev_info(fd, &info), 0);
	return info.state;
}

static int begin(u32 kind)
{
	return fresh_store_kind("", CRABTREE_FORMAT_UNFINISHED | kind);
}

static void fill(int fd)
{
	u64 key;

	for (key = 0; key < KEYS; key++)
		REQUIRE(dev_put(fd, key, key + 1), 0);
}

/* As the next program finds the device */
static void expect_none(void)
{
	int fd = device_open(O_RDWR);
	struct crabtree_format f;
	struct crabtree_info info;
	u64 value;

	REQUIRE(dev_info(fd, &info), 0);
	EXPECT(info.state, CRABTREE_STATE_UNFORMATTED);
	EXPECT_TRUE(strstr(info.reason, "did not end"));
	EXPECT(dev_get(fd, 1, &value), -ENODATA);
	format_args(&f, 0, 0);
	EXPECT(call(fd, CRABTREE_FORMAT, &f), 0);
	expect_sound(fd, 0);
	close(fd);
}

TEST(alone, "an unfinished store: its descriptor alone can use it, INFO has unformatted")
{
	struct crabtree_snapshot snapshot = { .size = sizeof(snapshot) };
	struct crabtree_watch watch;
	int fd = begin(0);

	EXPECT(state_of(fd), CRABTREE_STATE_UNFORMATTED);
	fill(fd);
	expect_sound(fd, KEYS);
	EXPECT(open(device_path(), O_RDONLY), -1);
	EXPECT(errno, EBUSY);
	EXPECT(call(fd, CRABTREE_SNAPSHOT, &snapshot), -EBUSY);
	EXPECT(dev_watch(fd, 0, 9, 0, &watch), -EBUSY);
	close(fd);
	expect_none();
}

/* Do the variables of uevents, by which udev makes links, name the store? */
static bool is_named(void)
{
	char path[128], text[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/crabtree/%s/uevent",
		 strrchr(device_path(), '/') + 1);
	fd = open(path, O_RDONLY);
	REQUIRE(fd < 0, 0);
	n = read(fd, text, sizeof(text) - 1);
	REQUIRE(n <= 0, 0);
	text[n] = '\0';
	close(fd);
	return strstr(text, "CRABTREE_LABEL") || strstr(text, "CRABTREE_UUID");
}

TEST(finish, "FINISH makes it a store, once, and only then uevents name it")
{
	int fd = begin(0), other;
	u64 value;

	fill(fd);
	EXPECT(is_named(), 0);
	EXPECT(dev_finish(fd), 0);
	EXPECT(is_named(), 1);
	EXPECT(state_of(fd), CRABTREE_STATE_READY);
	EXPECT(dev_finish(fd), -ENODATA);
	EXPECT(dev_put(fd, KEYS, 1), 0);
	other = device_open(O_RDONLY);
	close(fd);
	EXPECT(dev_get(other, KEYS - 1, &value), 0);
	EXPECT(value, KEYS);
	expect_sound(other, KEYS + 1);
	close(other);
}

TEST(refused, "FINISH of no unfinished store, and with another field")
{
	struct crabtree_format f;
	int fd = fresh_store(0);

	EXPECT(dev_finish(fd), -ENODATA);
	format_args(&f, CRABTREE_FORMAT_UNFINISHED | CRABTREE_FORMAT_FORCE, 0);
	REQUIRE(call(fd, CRABTREE_FORMAT, &f), 0);
	format_args(&f, CRABTREE_FORMAT_FINISH, 0);	/* it has a label */
	EXPECT(call(fd, CRABTREE_FORMAT, &f), -EINVAL);
	memset(f.label, 0, sizeof(f.label));
	f.flags |= CRABTREE_FORMAT_FORCE;
	EXPECT(call(fd, CRABTREE_FORMAT, &f), -EINVAL);
	EXPECT(state_of(fd), CRABTREE_STATE_UNFORMATTED);
	EXPECT(dev_finish(fd), 0);
	EXPECT(state_of(fd), CRABTREE_STATE_READY);
	close(fd);
}

TEST(killed, "a program that is killed while it fills a store leaves none")
{
	int status, ready[2], fd;
	pid_t child;
	char byte;

	close(fresh_store(0));
	REQUIRE(pipe(ready), 0);
	child = fork();
	if (!child) {
		fd = begin(0);
		fill(fd);
		REQUIRE(write(ready[1], "", 1), 1);
		for (;;)
			dev_put(fd, 1, 1);
	}
	REQUIRE(read(ready[0], &byte, 1), 1);
	REQUIRE(kill(child, SIGKILL), 0);
	REQUIRE(waitpid(child, &status, 0), child);
	EXPECT_TRUE(WIFSIGNALED(status));
	expect_none();
}

TEST(again, "FORMAT over an unfinished store needs no force")
{
	struct crabtree_format f;
	int fd = begin(0);

	fill(fd);
	format_args(&f, CRABTREE_FORMAT_UNFINISHED, 0);
	EXPECT(call(fd, CRABTREE_FORMAT, &f), 0);
	expect_sound(fd, 0);
	EXPECT(dev_put(fd, 7, 8), 0);
	EXPECT(dev_finish(fd), 0);
	expect_sound(fd, 1);
	close(fd);
}

/* A key, or a name of that length, in a store of any kind */
static int put_kind(int fd, u32 kind, u64 key)
{
	static const char value[3000] = "value", name[] = "a name of such length";
	struct crabtree_put put = {
		.size = sizeof(put), .key = key, .value = (uintptr_t)value, .bytes = sizeof(value),
	};

	if (kind == CRABTREE_FORMAT_COMMITS)
		return dev_put(fd, key, key);
	if (kind == CRABTREE_FORMAT_NAMES) {
		put.key = (uintptr_t)name;
		put.name_bytes = key;
	}
	return call(fd, CRABTREE_PUT, &put);
}

TEST(kinds, "blobs, names and commits are there after FINISH")
{
	static const u32 kinds[] = {
		CRABTREE_FORMAT_BLOBS, CRABTREE_FORMAT_NAMES, CRABTREE_FORMAT_COMMITS,
		CRABTREE_FORMAT_BLOBS | CRABTREE_FORMAT_COMMITS,
	};
	u64 key;
	u32 i;
	int fd;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		fd = begin(kinds[i]);
		for (key = 1; key < 20; key++)
			EXPECT(put_kind(fd, kinds[i], key), 0);
		EXPECT(dev_finish(fd), 0);
		close(fd);
		fd = device_open(O_RDONLY);
		expect_sound(fd, 19);
		close(fd);
	}
}
