// SPDX-License-Identifier: GPL-2.0
/*
 * This file measures the calls of a device: each verb by itself, and a call that does nothing.
 *
 *   ioctl KEYS
 *
 * It formats /dev/crab0 with slotted leaves of the default size, fills it with KEYS records, and
 * makes each call for KEYS / 10 keys, of all leaves. It prints a line for each, with the time of one call
 * in the median block of calls. The call that does nothing has a number that is no verb's: it
 * enters the kernel, reaches the module, and returns.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include <linux/crabtree.h>

#define BATCH	16
#define BLOCK	256	/* operations, between two readings of the clock */

static int device;
static uint64_t fresh;	/* the next record that is not there */

/* An odd factor makes each key of 63 bits another one */
static uint64_t key(uint64_t n)
{
	return n * 0x9e3779b97f4a7c15 & INT64_MAX;
}

static int nothing(uint64_t n)
{
	return ioctl(device, _IO(CRABTREE_IOC_MAGIC, 0xff)) != -1 || errno != ENOTTY;
}

static int put(uint64_t n, uint32_t flags)
{
	struct crabtree_insert arg = { .size = sizeof(arg), .flags = flags, .key = key(n), .value = n };

	return ioctl(device, CRABTREE_INSERT, &arg);
}

static int insert(uint64_t n)
{
	return put(fresh++, CRABTREE_INSERT_CREATE);
}

static int update(uint64_t n)
{
	return put(10 * n, CRABTREE_INSERT_REPLACE);
}

static int search(uint64_t n)
{
	struct crabtree_search arg = { .size = sizeof(arg), .key = key(10 * n) };

	return ioctl(device, CRABTREE_SEARCH, &arg);
}

static int delete(uint64_t n)
{
	struct crabtree_delete arg = { .size = sizeof(arg), .key = key(10 * n) };

	return ioctl(device, CRABTREE_DELETE, &arg);
}

/* BATCH records that are not there */
static int batch(uint64_t n)
{
	static struct crabtree_batch_op ops[BATCH];
	struct crabtree_batch arg = { .size = sizeof(arg), .ops = (uintptr_t)ops, .count = BATCH };
	uint32_t i;

	for (i = 0; i < BATCH; i++)
		ops[i] = (struct crabtree_batch_op) {
			.verb = CRABTREE_BATCH_INSERT, .key = key(fresh++), .value = i,
		};
	return ioctl(device, CRABTREE_BATCH, &arg);
}

/* @operations: of one call */
static const struct kind {
	const char *name;
	int (*call)(uint64_t n);
	uint32_t operations;
} kinds[] = {
	{ "nothing", nothing, 1 },
	{ "insert", insert, 1 },
	{ "search", search, 1 },
	{ "update", update, 1 },
	{ "delete", delete, 1 },
	{ "batch", batch, BATCH },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

/* Runs BLOCK operations of a kind, from @n on; sets the time of one call */
static int block(const struct kind *kind, uint64_t n, double *ns)
{
	uint32_t calls = BLOCK / kind->operations, i;
	uint64_t began = now();

	for (i = 0; i < calls; i++)
		if (kind->call(n + i))
			return -1;
	*ns = (double)(now() - began) / calls;
	return 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The kinds in turn, block by block, so that all have the same hour of the machine */
static int measure(uint64_t blocks)
{
	double *ns = calloc(KINDS * blocks, sizeof(*ns));
	uint64_t i, k;

	if (!ns)
		return -1;
	for (i = 0; i < blocks; i++)
		for (k = 0; k < KINDS; k++)
			if (block(&kinds[k], i * BLOCK, &ns[k * blocks + i]))
				return -1;
	for (k = 0; k < KINDS; k++) {
		qsort(&ns[k * blocks], blocks, sizeof(*ns), compare);
		printf("crabtree_ioctl: %s ns=%.1f\n", kinds[k].name, ns[k * blocks + blocks / 2]);
	}
	free(ns);
	return 0;
}

static int prepare(uint64_t keys)
{
	struct crabtree_format format = { .size = sizeof(format), .layout = "slotted", .label = "bench" };

	device = open("/dev/crab0", O_RDWR | O_CLOEXEC);
	if (device < 0 || ioctl(device, CRABTREE_FORMAT, &format))
		return -1;
	while (fresh < keys)
		if (batch(0))
			return -1;
	return 0;
}

static int work(uint64_t keys)
{
	return prepare(keys) || measure(keys / 10 / BLOCK);
}

int main(int argc, char **argv)
{
	uint64_t keys = argc == 2 ? strtoull(argv[1], NULL, 0) : 0;

	if (keys < 10 * BLOCK) {
		fprintf(stderr, "usage: ioctl KEYS, at least %d\n", 10 * BLOCK);
		return 2;
	}
	if (!work(keys))
		return 0;
	fprintf(stderr, "ioctl: %s\n", strerror(errno));
	return 1;
}
