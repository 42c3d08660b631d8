// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the errors of a store that is read-only, and of one that goes: its region is
 * removed, or the kernel hibernates or ends. A user that is notified of that may write its last
 * record; then each call returns the error of the cause. In a full store, the last write does.
 */
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/notifier.h>
#include <linux/pm.h>
#include <linux/reboot.h>
#include <linux/string.h>
#include <linux/suspend.h>

#include "kapi.h"

static struct crabtree *refused_tree;
static unsigned int refused_going;

/* As "store fill" has it */
static u64 refused_value(u64 key)
{
	return key * 0x9E3779B97F4A7C15ULL + 1;
}

static void refused_writes(struct crabtree *tree, int err)
{
	u64 old = KAPI_POISON, deleted = KAPI_POISON, next = 0;

	EXPECT(crabtree_insert(tree, 5, 1, 0, &old), err);
	EXPECT(crabtree_swap(tree, 5, refused_value(5), 1, &old), err);
	EXPECT(crabtree_delete(tree, 5, &old), err);
	EXPECT(old, KAPI_POISON);
	EXPECT(crabtree_add(tree, 5, 1, 0, &old), err);
	EXPECT(crabtree_delete_range(tree, 5, 10, &deleted, &next), err);
	EXPECT(deleted, 0);
	EXPECT(next, 5);
}

static void refused_reads(struct crabtree *tree, int err)
{
	struct crabtree_cursor cursor = CRABTREE_CURSOR(0, 9);
	struct crabtree_record record = { KAPI_POISON };
	u64 value = KAPI_POISON;

	EXPECT(crabtree_search(tree, 5, &value), err);
	EXPECT(value, KAPI_POISON);
	EXPECT(crabtree_seek(tree, 5, CRABTREE_SEARCH_LE, &record), err);
	EXPECT(crabtree_scan(tree, &cursor, &record, 1), err);
	EXPECT(cursor.next, 0);
	EXPECT(cursor.done, false);
	EXPECT(record.key, KAPI_POISON);
}

static void refused_commits(struct crabtree *tree, int err)
{
	struct crabtree_batch_op op = { CRABTREE_BATCH_SEARCH, .key = 5, .status = 99 };
	struct crabtree_commit_op value = { CRABTREE_COMMIT_TEST, .key = 5, .status = 99 };
	u32 failed = 99;

	EXPECT(crabtree_commit(tree, &op, 1, &failed), err);
	EXPECT(failed, 1);
	EXPECT(op.status, 99);
	failed = 99;
	EXPECT(crabtree_commit_values(tree, &value, 1, &failed), err);
	EXPECT(failed, 1);
	EXPECT(value.status, 99);
}

/* All calls on a tree, but open and close, return an error. Nothing is written by them */
static void refused_all(struct crabtree *tree, int err)
{
	u32 word = 1;

	refused_writes(tree, err);
	refused_reads(tree, err);
	refused_commits(tree, err);
	EXPECT(crabtree_var_set(tree, "a", CRABTREE_TYPE_U32, &word, sizeof(word)), err);
	EXPECT(crabtree_var_get(tree, "a", CRABTREE_TYPE_U32, &word, sizeof(word), NULL), err);
	EXPECT(crabtree_var_remove(tree, "a"), err);
	EXPECT(PTR_ERR_OR_ZERO(crabtree_open_by_label(kapi_label)), -EPROBE_DEFER);
	EXPECT(PTR_ERR_OR_ZERO(crabtree_open_by_uuid(&kapi_identity)), -EPROBE_DEFER);
}

void kapi_readonly(struct crabtree *tree)
{
	refused_writes(tree, -EROFS);
	EXPECT(kapi_value(tree, 5), refused_value(5));
}

/* The store goes: last words are accepted */

static void refused_last(void)
{
	EXPECT(crabtree_insert(refused_tree, kapi_last, refused_value(kapi_last), 0, NULL), 0);
}

static int refused_event(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct crabtree_identity *identity = data;

	if (event != CRABTREE_GOING || strcmp(identity->label, kapi_label))
		return NOTIFY_DONE;
	EXPECT(uuid_equal(identity->uuid, &kapi_identity), true);
	EXPECT(identity->tree == refused_tree, true);
	refused_going++;
	refused_last();
	return NOTIFY_OK;
}

static int refused_sleep(struct notifier_block *nb, unsigned long event, void *data)
{
	if (event == PM_HIBERNATION_PREPARE)
		refused_last();
	return NOTIFY_DONE;
}

static int refused_reboot(struct notifier_block *nb, unsigned long event, void *data)
{
	refused_last();
	return NOTIFY_DONE;
}

/* Notified after crabtree, which has the same priority and was registered before */
static int refused_reboot_after(struct notifier_block *nb, unsigned long event, void *data)
{
	EXPECT(refused_going, 1);
	refused_all(refused_tree, -ESHUTDOWN);
	return NOTIFY_DONE;
}

static struct notifier_block refused_nb = { .notifier_call = refused_event };
static struct notifier_block refused_sleep_nb = { .notifier_call = refused_sleep };
static struct notifier_block refused_reboot_nb = { .notifier_call = refused_reboot };
static struct notifier_block refused_reboot_after_nb = {
	.notifier_call = refused_reboot_after, .priority = INT_MIN,
};

void kapi_goes(struct crabtree *tree)
{
	refused_tree = tree;
	EXPECT(crabtree_register_notifier(&refused_nb), 0);
	EXPECT(register_pm_notifier(&refused_sleep_nb), 0);
	EXPECT(register_reboot_notifier(&refused_reboot_nb), 0);
	EXPECT(register_reboot_notifier(&refused_reboot_after_nb), 0);
}

void kapi_goes_end(struct crabtree *tree)
{
	unregister_reboot_notifier(&refused_reboot_after_nb);
	unregister_reboot_notifier(&refused_reboot_nb);
	unregister_pm_notifier(&refused_sleep_nb);
	EXPECT(crabtree_unregister_notifier(&refused_nb), 0);
	EXPECT(refused_going, 1);
	refused_all(tree, kapi_error);
}

/* A full store of names goes. No task receives a signal: no call may return -EINTR */

static u8 full_value[4096];

static int full_set(unsigned int i)
{
	char name[16];

	snprintf(name, sizeof(name), "full/%u", i);
	return crabtree_var_set(refused_tree, name, CRABTREE_TYPE_BYTES, full_value,
				sizeof(full_value));
}

static void full_commit(void)
{
	struct crabtree_commit_op op = {
		CRABTREE_COMMIT_PUT, .key = (uintptr_t)"full/0", .name_bytes = 6,
		.value = (uintptr_t)full_value, .bytes = sizeof(full_value),
	};
	u32 failed = 99;

	EXPECT(crabtree_commit_values(refused_tree, &op, 1, &failed), kapi_error);
	EXPECT(failed, 1);
	EXPECT(op.status, -ECANCELED);
}

static int full_event(struct notifier_block *nb, unsigned long event, void *data)
{
	if (event != CRABTREE_GOING)
		return NOTIFY_DONE;
	refused_going++;
	EXPECT(full_set(0), kapi_error);
	full_commit();
	return NOTIFY_OK;
}

static struct notifier_block full_nb = { .notifier_call = full_event };

void kapi_full(struct crabtree *tree)
{
	unsigned int i;
	int err = 0;

	refused_tree = tree;
	for (i = 0; !err; i++)
		err = full_set(i);
	EXPECT(err, -ENOSPC);
	EXPECT(full_set(0), -ENOSPC);
	EXPECT(crabtree_register_notifier(&full_nb), 0);
}

void kapi_full_end(struct crabtree *tree)
{
	EXPECT(crabtree_unregister_notifier(&full_nb), 0);
	EXPECT(refused_going, 1);
	EXPECT(full_set(0), kapi_error);
}

/* The user of a store that goes waits until a program has used the store, a minute at most */

static int slow_event(struct notifier_block *nb, unsigned long event, void *data)
{
	unsigned int i;

	if (event != CRABTREE_GOING)
		return NOTIFY_DONE;
	WRITE_ONCE(kapi_going, true);
	for (i = 0; i < 1200 && READ_ONCE(kapi_going); i++)
		msleep(50);
	return NOTIFY_OK;
}

static struct notifier_block slow_nb = { .notifier_call = slow_event };

void kapi_slow(struct crabtree *tree)
{
	EXPECT(crabtree_register_notifier(&slow_nb), 0);
}

void kapi_slow_end(struct crabtree *tree)
{
	EXPECT(crabtree_unregister_notifier(&slow_nb), 0);
}

/* A tree is a struct crab_device, which begins with its struct device */
static struct device *jumps_device(struct crabtree *tree)
{
	return (struct device *)tree;
}

/* The store of another device, to which the freeze has not come, because it has failed before */
static void jumps_other(const struct dev_pm_ops *pm, struct crabtree *other)
{
	EXPECT(kapi_value(other, 5), KAPI_POISON);
	pm->complete(jumps_device(other));
	EXPECT(kapi_value(other, 5), refused_value(5));
}

static void jumps_once(const struct dev_pm_ops *pm, struct crabtree *tree, struct crabtree *other)
{
	struct device *dev = jumps_device(tree);
	unsigned int i;

	EXPECT(pm->freeze(dev), 0);
	refused_all(tree, -EBUSY);
	for (i = 0; i < 2; i++) {
		EXPECT(pm->restore(dev), 0);
		EXPECT(kapi_value(tree, 5), refused_value(5));
	}
	jumps_other(pm, other);
	pm->complete(dev);
	EXPECT(kapi_value(tree, 5), refused_value(5));
}

void kapi_jumps(struct crabtree *tree)
{
	const struct dev_pm_ops *pm = jumps_device(tree)->class->pm;
	struct crabtree *other = crabtree_open_by_label("other");
	bool has_all = pm->freeze && pm->restore && pm->complete;
	unsigned int i;

	EXPECT(PTR_ERR_OR_ZERO(other), 0);
	EXPECT(has_all, true);
	EXPECT(crabtree_insert(tree, 5, refused_value(5), 0, NULL), 0);
	for (i = 0; i < 2 && has_all && !IS_ERR(other); i++)
		jumps_once(pm, tree, other);
	crabtree_close(other);
}
