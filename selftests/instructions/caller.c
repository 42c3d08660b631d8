// SPDX-License-Identifier: GPL-2.0
/*
 * caller - the calls whose instructions are counted, in the machine, marked (mark.h).
 *
 * Formats /dev/crab0 with slotted leaves of the default size, fills it with FILL records,
 * and calls each verb CALLS times. Keys are spread over all leaves. The first
 * WARM calls of each verb are not marked: they take the page faults of the first use.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include <linux/crabtree.h>

#include "mark.h"

#define FILL	20000
#define CALLS	255
#define WARM	16
#define BATCH	16

static int device;
static uint32_t fresh;	/* the next record that is not there */

/* An odd factor makes each key of 63 bits another one */
static uint64_t key(uint32_t n)
{
	return n * 0x9e3779b97f4a7c15 & INT64_MAX;
}

static void mark(enum mark_call what)
{
	register uint64_t x0 asm("x0") = what;

	asm volatile("hint #101" : : "r" (x0) : "memory");
}

static int call(enum mark_call what, bool counted, unsigned long request, void *arg)
{
	int err;

	if (counted)
		mark(what);
	err = ioctl(device, request, arg);
	if (counted)
		mark(MARK_RETURN);
	return err;
}

static int insert(enum mark_call what, bool counted, uint32_t n, uint32_t flags)
{
	struct crabtree_insert arg = { .size = sizeof(arg), .flags = flags, .key = key(n), .value = n };

	return call(what, counted, CRABTREE_INSERT, &arg);
}

static int delete(bool counted, uint32_t n)
{
	struct crabtree_delete arg = { .size = sizeof(arg), .key = key(n) };

	return call(MARK_DELETE, counted, CRABTREE_DELETE, &arg);
}

static int search(bool counted, uint32_t n)
{
	struct crabtree_search arg = { .size = sizeof(arg), .key = key(n) };

	return call(MARK_SEARCH, counted, CRABTREE_SEARCH, &arg);
}

/* BATCH records that are not there */
static int batch(bool counted)
{
	static struct crabtree_batch_op ops[BATCH];
	struct crabtree_batch arg = { .size = sizeof(arg), .ops = (uintptr_t)ops, .count = BATCH };
	uint32_t i;

	for (i = 0; i < BATCH; i++)
		ops[i] = (struct crabtree_batch_op) {
			.verb = CRABTREE_BATCH_INSERT, .key = key(fresh++), .value = i,
		};
	return call(MARK_BATCH, counted, CRABTREE_BATCH, &arg);
}

static int round_of_calls(uint32_t n)
{
	bool counted = n >= WARM;

	return insert(MARK_INSERT, counted, fresh++, CRABTREE_INSERT_CREATE) ||
	       insert(MARK_UPDATE, counted, 2 * n, CRABTREE_INSERT_REPLACE) ||
	       delete(counted, 2 * n + 1) || search(counted, 2 * n) || batch(counted);
}

static int work(void)
{
	struct crabtree_format format = { .size = sizeof(format), .layout = "slotted", .label = "selftest" };
	uint32_t n;

	device = open("/dev/crab0", O_RDWR | O_CLOEXEC);
	if (device < 0 || ioctl(device, CRABTREE_FORMAT, &format))
		return -1;
	while (fresh < FILL)
		if (batch(false))
			return -1;
	for (n = 0; n < WARM + CALLS; n++)
		if (round_of_calls(n))
			return -1;
	return 0;
}

int main(void)
{
	if (!work()) {
		printf("ok 1 calls\n");
		return 0;
	}
	printf("not ok 1 calls: %s\n", strerror(errno));
	return 1;
}
