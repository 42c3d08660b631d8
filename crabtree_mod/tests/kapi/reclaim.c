// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests calls of a task that writes pages back, as the driver of a block device does. In
 * kernels with lockdep, the report of a lock that is held during an allocation which waits for such
 * a task is a failure of the machine. Other kernels check the answers only.
 */
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "kapi.h"

#define RECLAIM_NAMES	64	/* so that slabs come and go */
#define RECLAIM_RECORDS	1000

/* Values of several sizes under names, and their ends */
static void reclaim_write(struct crabtree *tree, const u8 *value)
{
	char name[16];
	u32 i;

	for (i = 0; i < RECLAIM_NAMES; i++) {
		scnprintf(name, sizeof(name), "name%u", i);
		EXPECT(crabtree_var_set(tree, name, CRABTREE_TYPE_BYTES, value, 32U << i % 8), 0);
	}
	for (i = 0; i < RECLAIM_NAMES; i++) {
		scnprintf(name, sizeof(name), "name%u", i);
		EXPECT(crabtree_var_remove(tree, name), 0);
	}
}

static void reclaim_commit(struct crabtree *tree, const u8 *value)
{
	struct crabtree_commit_op op = {
		CRABTREE_COMMIT_PUT, CRABTREE_IF_ABSENT, .key = (uintptr_t)"commit",
		.name_bytes = 6, .value = (uintptr_t)value, .bytes = 700,
	};

	EXPECT(crabtree_commit_values(tree, &op, 1, NULL), 0);
	EXPECT(crabtree_var_remove(tree, "commit"), 0);
}

static void reclaim_values(struct crabtree *tree)
{
	u8 *value = kzalloc(SZ_4K, GFP_NOIO);

	EXPECT(!value, false);
	if (!value)
		return;
	reclaim_write(tree, value);
	reclaim_commit(tree, value);
	kfree(value);
}

/* Leaves are split, read in both directions, and merged */
static void reclaim_records(struct crabtree *tree)
{
	struct crabtree_cursor up = CRABTREE_CURSOR(0, 99);
	struct crabtree_cursor down = CRABTREE_CURSOR_REVERSE(0, 99);
	struct crabtree_record records[16];
	u64 deleted;
	u32 i;

	for (i = 0; i < RECLAIM_RECORDS; i++)
		EXPECT(crabtree_insert(tree, i, i, CRABTREE_INSERT_CREATE, NULL), 0);
	EXPECT(crabtree_scan(tree, &up, records, ARRAY_SIZE(records)), ARRAY_SIZE(records));
	EXPECT(crabtree_scan(tree, &down, records, ARRAY_SIZE(records)), ARRAY_SIZE(records));
	EXPECT(crabtree_seek(tree, 7, CRABTREE_SEARCH_LE, records), 0);
	EXPECT(crabtree_delete_range(tree, 0, RECLAIM_RECORDS, &deleted, NULL), 0);
	EXPECT(deleted, RECLAIM_RECORDS);
}

/* At first as any task, so that lockdep knows under which locks memory is allocated */
static void reclaim_twice(struct crabtree *tree, void (*run)(struct crabtree *tree))
{
	unsigned int flags;

	run(tree);
	fs_reclaim_acquire(GFP_KERNEL);
	flags = memalloc_noio_save();
	run(tree);
	memalloc_noio_restore(flags);
	fs_reclaim_release(GFP_KERNEL);
}

void kapi_reclaim(struct crabtree *tree)
{
	reclaim_twice(tree, reclaim_records);
}

void kapi_reclaim_values(struct crabtree *tree)
{
	reclaim_twice(tree, reclaim_values);
}
