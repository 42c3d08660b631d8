// SPDX-License-Identifier: GPL-2.0
/*
 * churn DEVICE SEED ACKS FIRST [ACKS FIRST...] - the writers of power cuts.
 *
 * For each pair one process: writer 0, 1 and so on. Each performs the operations
 * FIRST.. of its sequence (sequence.h), one at a time, and writes a line `C I` to
 * ACKS for each, WINDOW at a time and only after all of these have returned. So at
 * most WINDOW operations are done or in progress without being acknowledged, and
 * the keys of the sequence always have the state after its first M operations, for an M
 * with acknowledged <= M <= acknowledged + WINDOW.
 *
 * It does not end unless a writer fails.  `churn - SEED WRITER COUNT` prints
 * operations instead, for the verifier's test.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/crabtree.h>

#include "sequence.h"

#define WINDOW	64

struct writer {
	uint64_t seed;
	uint64_t number;
};

static int write_all(int fd, const char *buf, size_t len)
{
	while (len) {
		ssize_t n = write(fd, buf, len);

		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0) {
			buf += n;
			len -= n;
		}
	}
	return 0;
}

static int store(int device, const struct operation *op)
{
	struct crabtree_insert insert = {
		.size = sizeof(insert),
		.key = op->key,
		.value = op->value,
	};

	return ioctl(device, CRABTREE_INSERT, &insert);
}

/* A key that is not there is as good as removed */
static int remove_key(int device, const struct operation *op)
{
	struct crabtree_delete remove = {
		.size = sizeof(remove),
		.key = op->key,
	};

	return ioctl(device, CRABTREE_DELETE, &remove) && errno != ENOENT ? -1 : 0;
}

static int perform(int device, const struct writer *writer, uint64_t i)
{
	struct operation op = sequence_at(writer->seed, writer->number, i);

	if (!(op.remove ? remove_key(device, &op) : store(device, &op)))
		return 0;
	fprintf(stderr, "churn: operation %" PRIu64 ", key %" PRIu64 ": %s\n", i, op.key,
		strerror(errno));
	return -1;
}

/* Perform one window, from @first, and acknowledge it */
static int window(int device, int acks, const struct writer *writer, uint64_t first)
{
	char buf[WINDOW * 24];
	size_t len = 0;
	uint64_t i;

	for (i = first; i < first + WINDOW; i++) {
		if (perform(device, writer, i))
			return -1;
		len += sprintf(buf + len, "C %" PRIu64 "\n", i);
	}
	if (!write_all(acks, buf, len))
		return 0;
	perror("churn: acknowledge");
	return -1;
}

static int open_or_complain(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0666);

	if (fd < 0)
		fprintf(stderr, "churn: open %s: %s\n", path, strerror(errno));
	return fd;
}

static int churn(const char *path, const char *acks_path, const struct writer *writer,
		 uint64_t first)
{
	int device = open_or_complain(path, O_RDWR);
	int acks = open_or_complain(acks_path, O_WRONLY | O_APPEND | O_CREAT);

	if (device < 0 || acks < 0)
		return 1;
	while (!window(device, acks, writer, first))
		first += WINDOW;
	return 1;
}

static int print(const struct writer *writer, uint64_t count)
{
	uint64_t i;

	for (i = 1; i <= count; i++) {
		struct operation op = sequence_at(writer->seed, writer->number, i);

		printf("%d %" PRIu64 " %" PRIu64 "\n", op.remove, op.key, op.value);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct writer writer;
	int i;

	if (argc < 5 || argc % 2 == 0) {
		fprintf(stderr, "usage: churn DEVICE SEED ACKS FIRST [ACKS FIRST...]\n");
		return 2;
	}
	writer.seed = strtoull(argv[2], NULL, 0);
	if (!strcmp(argv[1], "-")) {
		writer.number = strtoull(argv[3], NULL, 0);
		return print(&writer, strtoull(argv[4], NULL, 0));
	}
	for (i = 3; i < argc; i += 2) {
		writer.number = (i - 3) / 2;
		if (!fork())
			return churn(argv[1], argv[i], &writer, strtoull(argv[i + 1], NULL, 0));
	}
	wait(NULL);
	return 1;
}
