// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests libcrabtree against answers that a good store never has: of a simulated kernel, which
 * ioctl() of this program is, and of a simulated backend.
 */
#include <crabtree_blob.h>
#include <crabtree_names.h>
#include <backend.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "library.h"

int __wrap_ioctl(int fd, unsigned long cmd, ...);

static int kernel_error = ENOTTY;	/* as of any other device */
static unsigned int kernel_calls;

int __wrap_ioctl(int fd, unsigned long cmd, ...)
{
	(void)fd;
	(void)cmd;
	kernel_calls++;
	errno = kernel_error;
	return kernel_error ? -1 : 0;
}

/* The lowest free descriptor: it is the same again if none was left open */
static int free_descriptor(void)
{
	int fd = dup(STDIN_FILENO);

	close(fd);
	return fd;
}

static bool opens(const char *path, int err, int want)
{
	int got, before = free_descriptor();
	struct crabtree *ct = NULL;

	kernel_error = err;
	got = crabtree_open(&ct, path, CRABTREE_OPEN_READONLY);
	if (!got)
		crabtree_close(ct);
	return got == want && free_descriptor() == before;
}

static void test_probe(void)
{
	ok(opens("/dev/null", 0, 0), "probe: a device with INFO");
	ok(opens("/dev/null", ENODEV, 0), "probe: a device whose region was removed");
	ok(opens("/dev/null", ENOTTY, -ENOTTY), "probe: another device");
	ok(opens("/dev/null", EIO, -EIO), "probe: a device that fails");
	kernel_calls = 0;
	ok(!mkfifo("library.fifo", 0600) && opens("library.fifo", 0, -ENOTTY) &&
	   opens("/", 0, -ENOTTY) && opens("/proc/self/exe", 0, -ENOTTY) && !kernel_calls,
	   "probe: a pipe, a directory and a file, none of which is asked");
	unlink("library.fifo");
	kernel_error = ENOTTY;
}

/* The answer and the error of the backend, and the last command that it got */
static union {
	struct crabtree_info info;
	struct crabtree_batch batch;
	struct crabtree_scan scan;
	struct crabtree_list list;
	struct crabtree_names names;
	struct crabtree_watch watch;
} answer;
static int answer_error;
static unsigned long asked;

static int fake_call(struct crabtree *ct, unsigned long cmd, void *arg)
{
	uint64_t buffer = cmd == CRABTREE_NAMES ? ((struct crabtree_names *)arg)->buffer : 0;

	(void)ct;
	asked = cmd;
	memcpy(arg, &answer, _IOC_SIZE(cmd));
	if (cmd == CRABTREE_NAMES)	/* an entry of zeros */
		memset((void *)(uintptr_t)buffer, 0, sizeof(struct crabtree_name));
	return answer_error;
}

static const struct crabtree_backend fake_backend = { .call = fake_call };
static struct crabtree fake = { .backend = &fake_backend };

static void test_done(void)
{
	struct crabtree_batch_op op = { 0 };
	uint32_t done;

	answer.batch = (struct crabtree_batch){ .done = 7 };
	answer_error = -EIO;
	done = 99;
	ok(crabtree_batch(&fake, &op, 9, &done) == -EIO && !done, "a batch that failed tried nothing");
	ok(crabtree_commit(&fake, &op, 9, &done) == -EIO && done == 7, "a commit names the operation that failed");
	answer_error = 0;
	ok(!crabtree_batch(&fake, &op, 9, &done) && done == 7, "a batch that was cut short");
}

static void test_kind(void)
{
	answer.info = (struct crabtree_info){ .feature_incompat = CRABTREE_INCOMPAT_BLOBS };
	ok(crabtree_watch_names(&fake, "a", 1, 0) == -EOPNOTSUPP && asked == CRABTREE_INFO,
	   "a watch of names in a store of blobs");
	crabtree_watch(&fake, 0, 9, 0);
	ok(asked == CRABTREE_WATCH, "a watch of keys there");
	answer.info.feature_incompat |= CRABTREE_INCOMPAT_NAMES;
	crabtree_watch_names(&fake, "a", 1, 0);
	ok(asked == CRABTREE_WATCH, "and in one of names");
	ok(crabtree_watch(&fake, 0, 9, 0) == -EOPNOTSUPP && asked == CRABTREE_INFO,
	   "a watch of keys in a store of names");
	answer_error = -EIO;
	ok(crabtree_watch_names(&fake, "a", 1, 0) == -EIO && asked == CRABTREE_INFO,
	   "and in one that fails");
	answer_error = 0;
}

static int name_none(const struct crabtree_name *name, void *arg)
{
	(void)name;
	(void)arg;
	return -EDOM;
}

/* A list that does not advance would have no end */
static void test_protocol(void)
{
	struct crabtree_names range = { 0 };
	struct crabtree_record records[2];
	struct crabtree_entry entries[2];
	struct crabtree_cursor cursor;

	crabtree_cursor_init(&cursor, 5, 9);
	answer.scan = (struct crabtree_scan){ .capacity = 2, .count = 1, .more = 1, .next = 5 };
	ok(crabtree_cursor_read(&fake, &cursor, records, 2) == -EPROTO, "a scan that does not advance");
	answer.scan = (struct crabtree_scan){ .capacity = 2, .count = 3 };
	ok(crabtree_cursor_read(&fake, &cursor, records, 2) == -EPROTO, "a scan with too many records");
	answer.list = (struct crabtree_list){ .count = 1, .more = 1, .next = 5 };
	ok(crabtree_list(&fake, &cursor, entries, 2) == -EPROTO, "a list that does not advance");
	answer.list = (struct crabtree_list){ .count = 3 };
	ok(crabtree_list(&fake, &cursor, entries, 2) == -EPROTO, "a list with too many entries");
	answer.names = (struct crabtree_names){ .used = sizeof(struct crabtree_name) };
	ok(crabtree_names(&fake, &range, name_none, NULL) == -EPROTO, "a name whose entry has no length");
}

static void change_count(const struct crabtree_name_change *change, void *arg)
{
	(void)change;
	++*(int *)arg;
}

/* The result of crabtree_watch_names_read() for @bytes bytes of @change; @count: out: the calls */
static int read_change(const void *change, size_t bytes, int *count)
{
	int got, ends[2];

	*count = 0;
	if (pipe(ends))
		return 0;
	got = write(ends[1], change, bytes) == (ssize_t)bytes ?
	      crabtree_watch_names_read(ends[0], change_count, count) : 0;
	close(ends[0]);
	close(ends[1]);
	return got;
}

/* The descriptor may be that of a watch of another store: its changes have no length */
static void test_changes(void)
{
	const struct crabtree_change record = {
		.seq = 1, .key = 2, .value = 3, .verb = CRABTREE_BATCH_INSERT,
	};
	struct crabtree_name_change name = { .entry_bytes = sizeof(name), .name_bytes = 3 };
	int count;

	ok(read_change(&name, sizeof(name), &count) == 1 && count == 1, "a change of a name");
	ok(read_change(&record, sizeof(record), &count) == -EPROTO && !count,
	   "a change of a key, for a reader of names");
	name.name_bytes = 5;
	ok(read_change(&name, sizeof(name), &count) == -EPROTO && !count,
	   "a change whose name is longer than its entry");
}

void test_device(void)
{
	test_changes();
	test_probe();
	test_done();
	test_kind();
	test_protocol();
}
