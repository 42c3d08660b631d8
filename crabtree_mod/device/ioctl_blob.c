// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the ioctls on values of any length. It moves names, values and entries
 * between user memory and the kernel; the verbs themselves are in verbs_blob.c.
 *
 * Invariant: no user memory is touched within a call on the store (device.h).
 *
 * No lock of its own.
 */
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "device.h"
#include "ioctl_blob.h"
#include "pause.h"

#define BLOB_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NOWARN)

/* A name, if there is one, in front of @bytes bytes; or ERR_PTR */
static void *room_alloc(u64 name, u32 name_bytes, u32 bytes)
{
	void *room;

	if (name_bytes > CRABTREE_NAME_MAX)
		return ERR_PTR(-EINVAL);
	room = kvmalloc(CRABTREE_NAME_MAX + max(bytes, 1U), BLOB_GFP);
	if (!room)
		return ERR_PTR(-ENOMEM);
	if (!copy_from_user(room, u64_to_user_ptr(name), name_bytes))
		return room;
	kvfree(room);
	return ERR_PTR(-EFAULT);
}

/* A put of a value in kernel memory */
static int put_value(struct crab_device *device, struct crabtree_put *put, const char *name,
		     const void *value)
{
	struct crab_store *store = crab_device_get_store(device);

	if (IS_ERR(store))
		return PTR_ERR(store);
	return crab_device_end_call(device, crab_verbs_put(store, put, name, value));
}

int crab_ioctl_put(struct crab_device *device, struct crabtree_put *put)
{
	char *name;
	int err;

	if (put->bytes > CRABTREE_BLOB_MAX)
		return -EMSGSIZE;
	name = room_alloc(put->key, put->name_bytes, put->bytes);
	if (IS_ERR(name))
		return PTR_ERR(name);
	err = -EFAULT;
	if (!copy_from_user(name + CRABTREE_NAME_MAX, u64_to_user_ptr(put->value), put->bytes))
		err = put_value(device, put, name, name + CRABTREE_NAME_MAX);
	kvfree(name);
	return err;
}

static int get_value(struct crab_device *device, struct crab_snap *snap, struct crabtree_get *get,
		     const char *name, void *value, u32 capacity)
{
	struct crab_store *store = crab_device_get_store(device);
	int err;

	if (IS_ERR(store))
		return PTR_ERR(store);
	err = crab_verbs_get(store, snap, get, name, value, capacity);
	return crab_device_end_call(device, err);
}

int crab_ioctl_get(struct crab_device *device, struct crab_snap *snap, struct crabtree_get *get)
{
	u32 capacity = min(get->capacity, CRABTREE_BLOB_MAX);
	char *name = room_alloc(get->key, get->name_bytes, capacity);
	void *value = name + CRABTREE_NAME_MAX;
	int err;

	if (IS_ERR(name))
		return PTR_ERR(name);
	err = get_value(device, snap, get, name, value, capacity);
	if (!err && copy_to_user(u64_to_user_ptr(get->value), value, get->bytes))
		err = -EFAULT;
	kvfree(name);
	return err;
}

int crab_ioctl_erase(struct crab_device *device, const struct crabtree_erase *erase)
{
	char *name = room_alloc(erase->key, erase->name_bytes, 0);
	struct crab_store *store;
	int err;

	if (IS_ERR(name))
		return PTR_ERR(name);
	store = crab_device_get_store(device);
	err = PTR_ERR_OR_ZERO(store);
	if (!err)
		err = crab_device_end_call(device, crab_verbs_erase(store, erase, name));
	kvfree(name);
	return err;
}

static int list_chunk(struct crab_device *device, struct crab_snap *snap,
		      const struct crabtree_list *list, struct crab_cursor *cursor,
		      struct crabtree_entry *entries)
{
	struct crab_store *store = crab_device_get_store(device);
	int got;

	if (IS_ERR(store))
		return PTR_ERR(store);
	got = crab_verbs_list_chunk(store, snap, list, cursor, entries);
	return crab_device_end_call(device, got);
}

/* Into kernel memory first: a copy to user memory may wait for user space */
static int list_fill(struct crab_device *device, struct crab_snap *snap,
		     struct crabtree_list *list, struct crab_cursor *cursor)
{
	struct crabtree_entry __user *to = u64_to_user_ptr(list->entries);
	struct crabtree_entry bounce[CRAB_LIST_CHUNK];
	int got;

	while (list->count < list->capacity && !cursor->done) {
		if (fatal_signal_pending(current))
			return -EINTR;
		got = list_chunk(device, snap, list, cursor, bounce);
		if (got <= 0)
			return got;
		if (copy_to_user(to + list->count, bounce, got * sizeof(*bounce)))
			return -EFAULT;
		list->count += got;
		crab_ioctl_pause();
	}
	return 0;
}

int crab_ioctl_list(struct crab_device *device, struct crab_snap *snap, struct crabtree_list *list)
{
	struct crab_cursor cursor;
	int err;

	crab_verbs_list_begin(list, &cursor);
	err = list_fill(device, snap, list, &cursor);
	return crab_verbs_list_end(list, &cursor, err);
}

/**
 * struct names_room - the kernel memory of a list of names
 * @start: the first name wanted
 * @end: the last name wanted, or a prefix
 * @cursor: the position
 * @entries: of one call on the store
 */
struct names_room {
	char start[CRABTREE_NAME_MAX];
	char end[CRABTREE_NAME_MAX];
	struct crab_named_cursor cursor;
	char entries[CRAB_NAMES_CHUNK];
};

static int names_chunk(struct crab_device *device, struct crab_snap *snap,
		       struct crabtree_names *names, struct names_room *room)
{
	struct crab_store *store = crab_device_get_store(device);
	int got;

	if (IS_ERR(store))
		return PTR_ERR(store);
	got = crab_verbs_names_chunk(store, snap, names, &room->cursor, room->entries,
				     sizeof(room->entries));
	return crab_device_end_call(device, got);
}

static int names_fill(struct crab_device *device, struct crab_snap *snap,
		      struct crabtree_names *names, struct names_room *room)
{
	char __user *to = u64_to_user_ptr(names->buffer);
	int got;

	while (!fatal_signal_pending(current)) {
		got = names_chunk(device, snap, names, room);
		if (got <= 0)
			return got;
		if (copy_to_user(to + names->used, room->entries, got))
			return -EFAULT;
		names->used += got;
		crab_ioctl_pause();
	}
	return -EINTR;
}

int crab_ioctl_names(struct crab_device *device, struct crab_snap *snap,
		     struct crabtree_names *names)
{
	struct names_room *room;
	int err;

	if (max(names->start_bytes, names->end_bytes) > CRABTREE_NAME_MAX)
		return -EINVAL;
	room = kmalloc(sizeof(*room), BLOB_GFP);
	if (!room)
		return -ENOMEM;
	err = -EFAULT;
	if (!copy_from_user(room->start, u64_to_user_ptr(names->start), names->start_bytes) &&
	    !copy_from_user(room->end, u64_to_user_ptr(names->end), names->end_bytes))
		err = crab_verbs_names_begin(names, room->start, room->end, &room->cursor) ?:
		      names_fill(device, snap, names, room);
	kfree(room);
	return err;
}
