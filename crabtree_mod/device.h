/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the device: a region, the store in it if there is one, and
 * those who use it. What serves it outward (cdev, ioctl, kapi, sysfs) is built
 * on what is here.
 *
 * Locks, in this order: crab_devices_lock, device->lock, what the store takes
 * inside. A call on the store holds none of the first two: it is counted between
 * crab_device_enter() and crab_device_leave(), and whoever takes the store away
 * waits until the count is zero. No user memory is touched and nothing waits for
 * a user within a call, so that this wait ends.
 */
#ifndef CRABTREE_DEVICE_H
#define CRABTREE_DEVICE_H

#include <linux/cdev.h>
#include <linux/completion.h>
#include <linux/crabtree.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/percpu-refcount.h>
#include <linux/workqueue.h>

#include "region.h"
#include "store.h"

#define CRAB_DEVICES_MAX	64

enum crab_device_state {
	CRAB_DEVICE_UNFORMATTED,
	CRAB_DEVICE_READY,
	CRAB_DEVICE_READONLY,
	CRAB_DEVICE_REJECTED,
	CRAB_DEVICE_GONE,
};

/**
 * struct crab_device - a region and its store, as users see it
 * @dev: in class crabtree; its release frees this
 * @cdev: /dev/crabN
 * @list: in crab_devices; crab_devices_lock
 * @lock: state changes, and all fields that name it
 * @region: the memory; NULL once it is gone; @lock
 * @store: what is served, or NULL; written under @lock while @calls is dead, read
 *	under @lock or in a call
 * @report: of the last attach; @lock
 * @error: what calls get while there is no store; never 0
 * @calls: calls in the store; dead while there is none
 * @idle: @calls has come to zero
 * @users: open descriptors and in-kernel users; @lock
 * @readonly: never written; constant
 * @maintain: work of the store off the write path
 */
struct crab_device {
	struct device dev;
	struct cdev cdev;
	struct list_head list;
	struct mutex lock;
	struct crab_region *region;
	struct crab_store *store;
	struct crab_attach_report report;
	int error;
	struct percpu_ref calls;
	struct completion idle;
	unsigned int users;
	bool readonly;
	struct work_struct maintain;
};

/**
 * struct crab_device_info - all that can be said about a device
 * @state: its state
 * @serving: @store is filled
 * @durability: what a returned write relies on
 * @reason: why the state is what it is
 * @region: name of the region
 * @provider: of the region
 * @region_bytes: its size
 * @store: of the store
 */
struct crab_device_info {
	enum crab_device_state state;
	bool serving;
	enum crab_durability durability;
	char reason[CRAB_REASON_LEN];
	char region[CRAB_REGION_NAME_LEN];
	const char *provider;
	u64 region_bytes;
	struct crab_store_info store;
};

/* Hears enum crabtree_event with a struct crabtree_identity */
extern struct blocking_notifier_head crab_device_notifier;

/* Events of the providers, to be given to crab_region_*() */
extern const struct crab_region_events crab_device_events;

/**
 * crab_device_init() - before any region comes
 * @readonly: write to no region
 * @tuning: how stores are attached; stays the caller's, constant until crab_device_exit()
 */
int crab_device_init(bool readonly, const struct crab_tuning *tuning);

/** crab_device_remove_all() - remove all devices that no provider is removing; none comes */
void crab_device_remove_all(void);

/** crab_device_exit() - undo crab_device_init(); all devices are removed */
void crab_device_exit(void);

/**
 * crab_device_enter() - begin a call on the store
 * @device: the device
 *
 * Context: may sleep after it; no user memory until crab_device_leave().
 * Return: the store, or ERR_PTR: -ENODEV if the region is gone, -EBUSY in FORMAT and attach,
 * else what the last attach returned.
 */
struct crab_store *crab_device_enter(struct crab_device *device);

/** crab_device_leave() - end a call on the store */
void crab_device_leave(struct crab_device *device);

/**
 * crab_device_use() - one user more
 * @device: the device
 * Return: 0, -ENODEV, or -ERESTARTSYS.
 */
int crab_device_use(struct crab_device *device);

/** crab_device_unuse() - one user less; drops what crab_device_use() took */
void crab_device_unuse(struct crab_device *device);

/**
 * crab_device_find() - find a store and use its device
 * @wanted: its label or its uuid, the other NULL
 * Return: the device, used, or NULL.
 */
struct crab_device *crab_device_find(const struct crabtree_identity *wanted);

/**
 * crab_device_format() - make an empty store and serve it
 * @device: the device; the caller is its only user
 * @options: what
 * Return: 0; -EBUSY with other users, -EROFS, -ENODEV, or as crab_store_format()
 * and crab_store_attach(). Where it is refused, what was served still is.
 */
int crab_device_format(struct crab_device *device, const struct crab_format_options *options);

/** crab_device_info() - fill @info */
void crab_device_info(struct crab_device *device, struct crab_device_info *info);

/** crab_device_state_name() - for people */
const char *crab_device_state_name(enum crab_device_state state);

/* sysfs.c */
extern const struct attribute_group *crab_device_groups[];

/* cdev.c, ioctl.c */
struct file;
extern const struct file_operations crab_device_fops;
long crab_device_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

#endif /* CRABTREE_DEVICE_H */
