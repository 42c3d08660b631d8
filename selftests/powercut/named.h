/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The records of churn in a store of names: a key is a name, and a value of 64 bits is a long one
 * whose every word has these bits. So a part of another value is noticed, and the verifier outside
 * the machine still judges keys and numbers.
 */
#ifndef POWERCUT_NAMED_H
#define POWERCUT_NAMED_H

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <linux/crabtree.h>

#include "sequence.h"

#define NAMED_COMMIT	16	/* operations of a commit at most */
#define NAMED_TEXT	20	/* "key/" and 16 digits: names have the order of their keys */

/* Mostly short, at times some KiB, seldom up to 64 KiB; at least one word */
static inline uint32_t named_bytes(uint64_t value)
{
	uint32_t kind = value % 1024, dice = value >> 10 & 0xffffff;

	return 8 + dice % (kind < 896 ? 120 : kind < 1016 ? 4096 : CRABTREE_BLOB_MAX - 7);
}

static inline void named_fill(uint64_t value, char *room)
{
	uint32_t bytes = named_bytes(value), i;

	for (i = 0; i < bytes; i += 8)
		memcpy(room + i, &value, bytes - i < 8 ? bytes - i : 8);
}

static inline int named_store(int device, const struct operation *op)
{
	static char room[CRABTREE_BLOB_MAX];
	char name[NAMED_TEXT + 1];
	struct crabtree_put put = {
		.size = sizeof(put),
		.key = (uintptr_t)name,
		.name_bytes = NAMED_TEXT,
		.value = (uintptr_t)room,
		.bytes = named_bytes(op->value),
	};

	sprintf(name, "key/%016" PRIx64, op->key);
	named_fill(op->value, room);
	return ioctl(device, CRABTREE_PUT, &put);
}

static inline int named_remove(int device, const struct operation *op)
{
	char name[NAMED_TEXT + 1];
	struct crabtree_erase erase = {
		.size = sizeof(erase),
		.key = (uintptr_t)name,
		.name_bytes = NAMED_TEXT,
	};

	sprintf(name, "key/%016" PRIx64, op->key);
	return ioctl(device, CRABTREE_ERASE, &erase) && errno != ENOENT ? -1 : 0;
}

/* An addition to a number that has a name: the sum, on condition that no other writer stores one */
static inline int named_sum(int device, const struct crabtree_batch_op *from,
			    struct crabtree_commit_op *to)
{
	static char room[CRABTREE_BLOB_MAX];
	struct crabtree_get get = {
		.size = sizeof(get),
		.key = to->key,
		.name_bytes = NAMED_TEXT,
		.value = (uintptr_t)room,
		.capacity = sizeof(room),
	};
	uint64_t sum;

	if (ioctl(device, CRABTREE_GET, &get))
		return -1;
	memcpy(&sum, room, sizeof(sum));
	sum += from->value;
	to->flags = CRABTREE_IF_VERSION;
	to->version = get.version;
	to->bytes = named_bytes(sum);
	named_fill(sum, (char *)(uintptr_t)to->value);
	return 0;
}

/* The operations of a commit of records, under names; returns -1 with ESTALE if it is to be repeated */
static inline int named_commit(int device, const struct crabtree_batch_op *from, uint32_t count)
{
	static char room[NAMED_COMMIT][CRABTREE_BLOB_MAX], name[NAMED_COMMIT][NAMED_TEXT + 1];
	struct crabtree_commit_op ops[NAMED_COMMIT] = { };
	struct crabtree_commit commit = {
		.size = sizeof(commit), .ops = (uintptr_t)ops, .count = count,
	};
	uint32_t i;

	for (i = 0; i < count; i++) {
		sprintf(name[i], "key/%016" PRIx64, (uint64_t)from[i].key);
		ops[i].verb = from[i].verb == CRABTREE_BATCH_DELETE ? CRABTREE_COMMIT_ERASE :
								      CRABTREE_COMMIT_PUT;
		ops[i].key = (uintptr_t)name[i];
		ops[i].name_bytes = NAMED_TEXT;
		ops[i].flags = from[i].flags;
		if (ops[i].verb == CRABTREE_COMMIT_ERASE)
			continue;
		ops[i].value = (uintptr_t)room[i];
		if (from[i].flags & CRABTREE_INSERT_ADD) {
			if (named_sum(device, &from[i], &ops[i]))
				return -1;
			continue;
		}
		ops[i].bytes = named_bytes(from[i].value);
		named_fill(from[i].value, room[i]);
	}
	return ioctl(device, CRABTREE_COMMIT, &commit);
}

/* Prints the record of a name; a value that was not stored whole is the number 0 */
static inline int named_print(int device, const struct crabtree_name *name)
{
	static char room[CRABTREE_BLOB_MAX], want[CRABTREE_BLOB_MAX];
	struct crabtree_get get = {
		.size = sizeof(get),
		.key = (uintptr_t)name->name,
		.name_bytes = name->name_bytes,
		.value = (uintptr_t)room,
		.capacity = sizeof(room),
	};
	uint64_t value;

	if (name->name_bytes != NAMED_TEXT || ioctl(device, CRABTREE_GET, &get))
		return -1;
	memcpy(&value, room, sizeof(value));
	named_fill(value, want);
	if (get.bytes != named_bytes(value) || memcmp(room, want, get.bytes))
		value = 0;
	printf("0x%s 0x%" PRIx64 "\n", name->name + 4, value);
	return 0;
}

/* Prints all records, as crabctl dump does */
static inline int named_dump(int device)
{
	static char room[65536] __attribute__((aligned(8)));
	static char start[CRABTREE_NAME_MAX];
	struct crabtree_names names = { .size = sizeof(names) };
	const struct crabtree_name *name;
	uint32_t at;

	do {
		names.start = (uintptr_t)start;
		names.buffer = (uintptr_t)room;
		names.capacity = sizeof(room);
		if (ioctl(device, CRABTREE_NAMES, &names))
			return -1;
		for (at = 0; at < names.used; at += name->entry_bytes) {
			name = (const void *)(room + at);
			if (named_print(device, name))
				return -1;
			names.start_bytes = name->name_bytes;
			memcpy(start, name->name, name->name_bytes);
		}
		names.flags = CRABTREE_NAMES_AFTER;
	} while (names.more);
	return 0;
}

#endif /* POWERCUT_NAMED_H */
