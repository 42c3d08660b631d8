// SPDX-License-Identifier: GPL-2.0
/*
 * churn DEVICE ACKS SEED FIRST [LAST] - the second writer of the power cut.
 *
 * Performs the operations FIRST.. of the sequence (sequence.h), one at a time,
 * and writes a line `C I` to ACKS for each, WINDOW at a time and only after all
 * of these have returned. So at most WINDOW operations are done or under way
 * without being acknowledged, and the keys of the sequence are at any moment
 * as after its first M operations, acknowledged <= M <= acknowledged + WINDOW.
 *
 * With DEVICE "-" it prints the operations instead, for the verifier's test.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/crabtree.h>

#include "sequence.h"

#define WINDOW	64

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

static int perform(int device, uint64_t seed, uint64_t i)
{
	struct operation op = sequence_at(seed, i);

	if (!(op.remove ? remove_key(device, &op) : store(device, &op)))
		return 0;
	fprintf(stderr, "churn: operation %" PRIu64 ", key %" PRIu64 ": %s\n", i, op.key,
		strerror(errno));
	return -1;
}

/* Perform one window and acknowledge it */
static int window(int device, int acks, uint64_t seed, uint64_t first, uint64_t last)
{
	char buf[WINDOW * 24];
	size_t len = 0;
	uint64_t i;

	for (i = first; i <= last; i++) {
		if (perform(device, seed, i))
			return -1;
		len += sprintf(buf + len, "C %" PRIu64 "\n", i);
	}
	if (!write_all(acks, buf, len))
		return 0;
	perror("churn: acknowledge");
	return -1;
}

static int churn(int device, int acks, uint64_t seed, uint64_t first, uint64_t last)
{
	uint64_t end;

	for (; first <= last; first = end + 1) {
		end = last - first < WINDOW ? last : first + WINDOW - 1;
		if (window(device, acks, seed, first, end))
			return 1;
	}
	return 0;
}

static int print(uint64_t seed, uint64_t first, uint64_t last)
{
	for (; first <= last; first++) {
		struct operation op = sequence_at(seed, first);

		printf("%d %" PRIu64 " %" PRIu64 "\n", op.remove, op.key, op.value);
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t seed, first, last;
	int device, acks;

	if (argc < 5 || argc > 6) {
		fprintf(stderr, "usage: churn DEVICE|- ACKS SEED FIRST [LAST]\n");
		return 2;
	}
	seed = strtoull(argv[3], NULL, 0);
	first = strtoull(argv[4], NULL, 0);
	last = argc == 6 ? strtoull(argv[5], NULL, 0) : UINT64_MAX - 1;
	if (!strcmp(argv[1], "-"))
		return print(seed, first, last);
	device = open(argv[1], O_RDWR | O_CLOEXEC);
	acks = open(argv[2], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (device < 0 || acks < 0) {
		fprintf(stderr, "churn: open %s: %s\n", device < 0 ? argv[1] : argv[2],
			strerror(errno));
		return 1;
	}
	return churn(device, acks, seed, first, last);
}
