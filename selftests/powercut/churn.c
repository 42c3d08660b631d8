// SPDX-License-Identifier: GPL-2.0
/*
 * churn [--names] [--commit] DEVICE SEED ACKS FIRST [ACKS FIRST...] - the writers of power cuts.
 *
 * For each pair one process: writer 0, 1 and so on. Each performs the operations
 * FIRST.. of its sequence (sequence.h), one at a time, and writes a line `C I` to
 * ACKS for each, WINDOW at a time and only after all of these have returned. So at
 * most WINDOW operations are done or in progress without being acknowledged, and
 * the keys of the sequence always have the state after its first M operations, for an M
 * with acknowledged <= M <= acknowledged + WINDOW.
 *
 * With --commit, COMMIT operations are one commit, so M is a multiple of COMMIT after the
 * acknowledged ones. Each commit also moves an amount between two of the accounts, whose keys
 * are below ACCOUNTS and whose values have the sum ACCOUNTS * BALANCE.
 *
 * With --names the store is one of names (named.h); `churn --dump DEVICE` prints its records.
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

#include "named.h"
#include "sequence.h"

#define WINDOW		64
#define COMMIT		8
#define ACCOUNTS	8
#define BALANCE		1000

struct writer {
	uint64_t seed;
	uint64_t number;
	int commits;
	int names;
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
	struct crabtree_delete remove = { .size = sizeof(remove), .key = op->key };

	return ioctl(device, CRABTREE_DELETE, &remove) && errno != ENOENT ? -1 : 0;
}

static int perform(int device, const struct writer *writer, uint64_t i)
{
	struct operation op = sequence_at(writer->seed, writer->number, i);
	int err;

	if (writer->names)
		err = op.remove ? named_remove(device, &op) : named_store(device, &op);
	else
		err = op.remove ? remove_key(device, &op) : store(device, &op);
	if (!err)
		return 0;
	fprintf(stderr, "churn: operation %" PRIu64 ", key %" PRIu64 ": %s\n", i, op.key,
		strerror(errno));
	return -1;
}

static int commit(int device, const struct writer *writer, struct crabtree_batch_op *ops,
		  uint32_t count)
{
	struct crabtree_batch batch = {
		.size = sizeof(batch),
		.flags = CRABTREE_BATCH_ATOMIC,
		.ops = (uintptr_t)ops,
		.count = count,
	};
	int err;

	if (!writer->names)
		return ioctl(device, CRABTREE_BATCH, &batch);
	do {
		err = named_commit(device, ops, count);
	} while (err && errno == ESTALE);
	return err;
}

/* The accounts are there, or are made */
static int accounts(int device, const struct writer *writer)
{
	struct crabtree_batch_op ops[ACCOUNTS] = { };
	int i;

	for (i = 0; i < ACCOUNTS; i++)
		ops[i] = (struct crabtree_batch_op){
			.verb = CRABTREE_BATCH_INSERT, .flags = CRABTREE_INSERT_CREATE,
			.key = i, .value = BALANCE,
		};
	return commit(device, writer, ops, ACCOUNTS) && errno != EEXIST ? -1 : 0;
}

/* @ops: out: from account to account, by operation @i */
static void transfer(const struct writer *writer, uint64_t i, struct crabtree_batch_op *ops)
{
	uint64_t dice = rng_mix(writer->seed ^ rng_mix(i)), from = dice % ACCOUNTS;
	uint64_t to = (from + 1 + (dice >> 8) % (ACCOUNTS - 1)) % ACCOUNTS;

	ops[0] = ops[1] = (struct crabtree_batch_op){
		.verb = CRABTREE_BATCH_INSERT,
		.flags = CRABTREE_INSERT_ADD | CRABTREE_INSERT_REPLACE,
	};
	ops[0].key = from;
	ops[0].value = -(dice >> 32);
	ops[1].key = to;
	ops[1].value = dice >> 32;
}

/* Adds an operation, in place of an earlier one on the same key; returns the number of them */
static uint32_t together(struct crabtree_batch_op *ops, uint32_t n, const struct operation *op)
{
	uint32_t i;

	for (i = 0; i < n && ops[i].key != op->key; i++)
		;
	ops[i] = (struct crabtree_batch_op){
		.verb = op->remove ? CRABTREE_BATCH_DELETE : CRABTREE_BATCH_INSERT,
		.key = op->key, .value = op->remove ? 0 : op->value,
	};
	return i < n ? n : n + 1;
}

/* The next COMMIT operations */
static int perform_commit(int device, const struct writer *writer, uint64_t first)
{
	struct crabtree_batch_op ops[COMMIT + 2];
	struct operation op;
	uint32_t n = 0;
	uint64_t i;

	for (i = first; i < first + COMMIT; i++) {
		op = sequence_at(writer->seed, writer->number, i);
		n = together(ops, n, &op);
	}
	transfer(writer, first, ops + n);
	if (!commit(device, writer, ops, n + 2))
		return 0;
	fprintf(stderr, "churn: commit from operation %" PRIu64 ": %s\n", first, strerror(errno));
	return -1;
}

/* Perform one window, from @first, and acknowledge it */
static int window(int device, int acks, const struct writer *writer, uint64_t first)
{
	char buf[WINDOW * 24];
	size_t len = 0;
	uint64_t i;
	int err;

	for (i = first; i < first + WINDOW; i++) {
		if (!writer->commits)
			err = perform(device, writer, i);
		else
			err = (i - first) % COMMIT ? 0 : perform_commit(device, writer, i);
		if (err)
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

	if (device < 0 || acks < 0 || (writer->commits && accounts(device, writer)))
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

static int dump(const char *path)
{
	int device = open_or_complain(path, O_RDONLY);

	if (device >= 0 && !named_dump(device))
		return 0;
	perror("churn: dump");
	return 1;
}

int main(int argc, char **argv)
{
	struct writer writer = { };
	int i;

	if (argc == 3 && !strcmp(argv[1], "--dump"))
		return dump(argv[2]);
	writer.names = argc > 1 && !strcmp(argv[1], "--names");
	argc -= writer.names;
	argv += writer.names;
	writer.commits = argc > 1 && !strcmp(argv[1], "--commit");
	argc -= writer.commits;
	argv += writer.commits;
	if (argc < 5 || argc % 2 == 0) {
		fprintf(stderr, "usage: churn [--names] [--commit] DEVICE SEED ACKS FIRST [ACKS FIRST...]\n");
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
