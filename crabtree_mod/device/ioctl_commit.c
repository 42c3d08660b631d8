// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the ioctl COMMIT. It moves operations, names and values between user memory
 * and the kernel; the verb itself is in verbs_blob_commit.c.
 *
 * Invariant: no user memory is touched within a call on the store (device.h).
 *
 * No lock of its own.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "device.h"
#include "ioctl_blob.h"
#include "verbs_blob_commit.h"

#define COMMIT_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NOWARN)

/**
 * struct commit_room - the kernel memory of a commit
 * @ops: its operations, with addresses in @data
 * @user: the same, with the program's addresses
 * @commit: room for the store
 */
struct commit_room {
	struct crabtree_commit_op ops[CRABTREE_COMMIT_MAX];
	struct crabtree_commit_op user[CRABTREE_COMMIT_MAX];
	struct crab_blob_commit commit;
};

/* The memory of the names and values of all operations, or an error */
static long data_bytes(const struct crabtree_commit_op *ops, u32 count, u32 *failed)
{
	long bytes = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		*failed = i;
		if (ops[i].name_bytes > CRABTREE_NAME_MAX)
			return -EINVAL;
		if (ops[i].verb == CRABTREE_COMMIT_PUT && ops[i].bytes > CRABTREE_BLOB_MAX)
			return -EMSGSIZE;
		bytes += ops[i].name_bytes;
		if (ops[i].verb == CRABTREE_COMMIT_PUT)
			bytes += ops[i].bytes;
	}
	*failed = count;
	return bytes;
}

/* Copies a piece of user memory to @to; *@address leads to the copy from now on */
static int piece_copy(void *to, __u64 *address, u32 bytes)
{
	if (copy_from_user(to, u64_to_user_ptr(*address), bytes))
		return -EFAULT;
	*address = (uintptr_t)to;
	return 0;
}

static int data_copy(struct crabtree_commit_op *ops, u32 count, void *data)
{
	u32 i;
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		if (ops[i].name_bytes)
			err = piece_copy(data, &ops[i].key, ops[i].name_bytes);
		data += ops[i].name_bytes;
		if (err || ops[i].verb != CRABTREE_COMMIT_PUT)
			continue;
		err = piece_copy(data, &ops[i].value, ops[i].bytes);
		data += ops[i].bytes;
	}
	return err;
}

/* Until they have others */
static void answers_init(struct crabtree_commit_op *ops, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		ops[i].status = -ECANCELED;
}

static void answers_copy(const struct crabtree_commit_op *from, struct crabtree_commit_op *to,
			 u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		to[i].version = from[i].version;
		to[i].existed = from[i].existed;
		to[i].status = from[i].status;
	}
}

static int commit_run(struct crab_device *device, struct crabtree_commit *arg, bool writable,
		      struct commit_room *room)
{
	struct crab_store *store = crab_device_get_store(device);
	int err;

	if (IS_ERR(store))
		return PTR_ERR(store);
	err = crab_verbs_commit_values(store, arg, room->ops, writable, &room->commit);
	err = crab_device_end_call(device, err);
	answers_copy(room->ops, room->user, arg->count);
	return err;
}

/* The operations are in kernel memory, but their names and values are not */
static int commit_data(struct crab_device *device, struct crabtree_commit *arg, bool writable,
		       struct commit_room *room)
{
	long bytes = data_bytes(room->ops, arg->count, &arg->failed);
	void *data;
	int err;

	if (bytes < 0)
		return bytes;
	data = kvmalloc(bytes ?: 1, COMMIT_GFP);
	if (!data)
		return -ENOMEM;
	err = data_copy(room->ops, arg->count, data) ?: commit_run(device, arg, writable, room);
	kvfree(data);
	return err;
}

int crab_ioctl_commit(struct crab_device *device, struct crabtree_commit *arg, bool writable)
{
	void __user *user = u64_to_user_ptr(arg->ops);
	struct commit_room *room;
	size_t bytes;
	int err;

	arg->failed = arg->count;
	if (!arg->count || arg->count > CRABTREE_COMMIT_MAX)
		return -EINVAL;
	room = kvzalloc(sizeof(*room), COMMIT_GFP);
	if (!room)
		return -ENOMEM;
	bytes = arg->count * sizeof(*room->ops);
	err = -EFAULT;
	/* An error means that nothing was done: so is there memory for the answers? */
	if (copy_from_user(room->ops, user, bytes) || copy_to_user(user, room->ops, bytes))
		goto out;
	memcpy(room->user, room->ops, bytes);
	answers_init(room->user, arg->count);
	err = commit_data(device, arg, writable, room);
	if (err && arg->failed < arg->count)
		room->user[arg->failed].status = err;
	if (copy_to_user(user, room->user, bytes))
		err = -EFAULT;
out:
	kvfree(room);
	return err;
}
