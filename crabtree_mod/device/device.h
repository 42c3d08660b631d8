/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the device: a region, the store in it if there is one, and the
 * users of the device. The ioctls, the in-kernel API and sysfs are built on it.
 *
 * Layer L6: it includes all lower layers and uapi/; device/ and main.c include it.
 *
 * Locks, in this order: crab_devices_lock; device->checks; device->change, held for the whole of an
 * attach, a FORMAT or a detach; device->lock, held only briefly; the locks of the
 * store. A call on the store holds none of the first three: it is counted between
 * crab_device_get_store() and crab_device_put_store(). The task that detaches the
 * store waits, under device->change, until the count is zero. This wait ends because
 * a call touches no user memory and waits for no user.
 *
 * No task waits for device->change while it holds crab_devices_lock.
 */
#ifndef CRABTREE_DEVICE_H
#define CRABTREE_DEVICE_H

#include <linux/completion.h>
#include <linux/crabtree.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/percpu-refcount.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "region/region.h"
#include "store/store.h"
#include "verbs.h"

#define CRAB_DEVICES_MAX	64
#define CRAB_CONTROL_MINOR	CRAB_DEVICES_MAX	/* of /dev/crabtree-control */
/* Memory for the snapshots of a store; set by main.c before the first device exists */
extern unsigned long long crab_snapshot_bytes;

#define CRAB_PARKED_REASON	"detached for hibernation or shutdown"

/**
 * struct crab_device - a region and its store, as users see it
 * @dev: in class crabtree; its release frees this
 * @list: in crab_devices; crab_devices_lock
 * @added: @dev is in its class; crab_devices_lock
 * @change: serialises attach, FORMAT and detach
 * @lock: protects the fields whose description names it
 * @region: the memory; NULL once it is gone; written under @change and @lock
 * @store: the store that is served, or NULL; written under @change and @lock while
 *	@calls is dead, read under either or in a call
 * @report: of the last attach; @lock
 * @error: the error that calls return while there is no store; never 0
 * @ending: 0, or, if the store is to be detached, the error that ends a CHECK in progress
 * @unkillable: no fatal signal ends the attach that is in progress; @change
 * @calls: calls in the store; dead while there is none
 * @idle: completed when @calls reaches zero
 * @resumed: calls that wait because crab_device_observe() waits for the calls that run
 * @checks: each CHECK shares it, so that crab_device_observe() waits for none of them in @idle
 * @checkers: tasks in CHECK
 * @checkers_lock: protects @checkers
 * @users: open descriptors and in-kernel users; @lock; grows under @change too, or while
 *	@calls is live
 * @readonly: the region is never written to; constant
 * @shown_readonly: user space was notified that the store is read-only; @lock
 * @maintain: work of the store off the write path
 * @debugfs: directory of the device in debugfs
 */
struct crab_device {
	struct device dev;
	struct list_head list;
	bool added;
	struct mutex change;
	struct mutex lock;
	struct crab_region *region;
	struct crab_store *store;
	struct crab_attach_report report;
	int error;
	int ending;
	bool unkillable;
	struct percpu_ref calls;
	struct completion idle;
	wait_queue_head_t resumed;
	struct rw_semaphore checks;
	struct list_head checkers;
	spinlock_t checkers_lock;
	unsigned int users;
	bool readonly;
	bool shown_readonly;
	struct work_struct maintain;
	struct dentry *debugfs;
};

/**
 * crab_device_get_store() - begin a call on the store
 * @device: the device
 *
 * Context: may sleep after it; no user memory until crab_device_put_store().
 * Return: the store, or ERR_PTR: -ENODEV if the region is gone, -EBUSY in FORMAT and attach,
 * -ESHUTDOWN once the kernel is shutting down, otherwise the error of the last attach.
 */
struct crab_store *crab_device_get_store(struct crab_device *device);

/**
 * crab_device_put_store() - end a call on the store
 * @device: the device
 * Context: any; ends the section that crab_device_get_store() began.
 */
void crab_device_put_store(struct crab_device *device);

/**
 * crab_device_result() - the result of a call that may have been interrupted, before its end
 * @device: the device
 * @ret: result of the call
 * Return: @ret; but the error of later calls instead of -EINTR if the store is to be detached.
 */
int crab_device_result(const struct crab_device *device, int ret);

/**
 * crab_device_end_call() - end a call on the store that may have been interrupted
 * @device: the device
 * @ret: result of the call
 * Context: as crab_device_put_store().
 * Return: as crab_device_result().
 */
int crab_device_end_call(struct crab_device *device, int ret);

/**
 * crab_device_open() - add a user
 * @device: the device
 * Return: 0, -ENODEV, or -ERESTARTSYS.
 */
int crab_device_open(struct crab_device *device);

/**
 * crab_device_open_if() - add a user if the device serves a certain store
 * @device: the device
 * @wanted: label or uuid of the store
 * Return: true if it serves that store and has one user more. Waits for no attach or FORMAT.
 */
bool crab_device_open_if(struct crab_device *device, const struct crabtree_identity *wanted);

/**
 * crab_device_close() - end one use of the device
 * @device: the device
 *
 * Context: may sleep; drops the reference that crab_device_open() took.
 */
void crab_device_close(struct crab_device *device);

/**
 * crab_device_format() - make an empty store and serve it
 * @device: the device; the caller is its only user
 * @options: options of FORMAT
 * Return: 0; -EBUSY with other users, -EROFS, -ENODEV, -ERESTARTSYS, or as crab_store_format() and
 * crab_store_attach(). If FORMAT is refused, the device still serves the same store.
 */
int crab_device_format(struct crab_device *device, const struct crab_format_options *options);

/**
 * crab_device_finish() - make the unfinished store a store
 * @device: the device
 * Return: 0, or as crab_store_finish(), or the error of a call that finds no store; -ERESTARTSYS
 * for a fatal signal.
 */
int crab_device_finish(struct crab_device *device);

/**
 * crab_device_drop_unfinished() - end the unfinished store, if there is one
 * @device: the device; its last user is about to leave
 */
void crab_device_drop_unfinished(struct crab_device *device);

/**
 * crab_device_observe() - open a watch or a snapshot of the store
 * @device: the device; on success it has one user more, which crab_device_close() removes
 * @open: opens it, for which crab_store_observe() was called; returns 0 or an error
 * @arg: argument of @open
 *
 * If the store had no observer, this function waits for a CHECK that runs, and then until no call
 * runs. It keeps new calls waiting for a part of this time, and for 20 ms at most at a time.
 *
 * Return: 0, -ERESTARTSYS for a fatal signal, the error of a call that finds no store, the error of
 * crab_store_observe(), or that of @open.
 */
int crab_device_observe(struct crab_device *device,
			int (*open)(struct crab_store *store, void *arg), void *arg);

/**
 * crab_device_delete_range() - remove all records of a range
 * @device: the device
 * @cursor: the range; on return the rest of it
 * @deleted: counts the records that were removed
 * @pause: called between two calls on the store
 *
 * Context: may sleep.
 * Return: 0, -EINTR for a fatal signal, the error of a call that finds no store, or as
 * crab_cursor_delete().
 */
int crab_device_delete_range(struct crab_device *device, struct crab_cursor *cursor, u64 *deleted,
			     void (*pause)(void));

/* check.c */

/**
 * crab_device_check() - CHECK
 * @device: the device
 * @arg: its argument; out: the answer
 *
 * Context: an ioctl; may sleep. While its task is frozen, it is in no call on the store.
 * Return: 0, -EINTR for a fatal signal, or the error of a call that finds no store.
 */
int crab_device_check(struct crab_device *device, union crab_verb_arg *arg);

/**
 * crab_device_is_checked() - is the calling task in CHECK?
 * @device: the device
 * Context: process.
 * Return: true if so: its call may end with -EINTR, for crab_device_check() repeats it.
 */
bool crab_device_is_checked(struct crab_device *device);

/**
 * crab_device_info() - describe the device and its store
 * @device: the device
 * @info: out
 *
 * Context: may sleep; takes device->lock.
 */
void crab_device_info(struct crab_device *device, struct crab_device_info *info);

/**
 * crab_device_state_name() - name a state
 * @state: the state
 *
 * Context: any.
 * Return: one word, as sysfs and the log print it.
 */
const char *crab_device_state_name(enum crabtree_state state);

/* debugfs.c; without CONFIG_DEBUG_FS these do nothing */

/**
 * crab_debugfs_init() - make the directory of the module
 *
 * Context: may sleep.
 */
void crab_debugfs_init(void);

/**
 * crab_debugfs_exit() - remove the directory of the module
 *
 * Context: may sleep; the directories of all devices are removed.
 */
void crab_debugfs_exit(void);

/**
 * crab_debugfs_add() - make the directory of a device
 * @device: the device, which has its name
 *
 * Context: may sleep.
 */
void crab_debugfs_add(struct crab_device *device);

/**
 * crab_debugfs_remove() - remove the directory of a device
 * @device: the device
 *
 * Context: may sleep; waits until no task reads a file in the directory.
 */
void crab_debugfs_remove(struct crab_device *device);

/* sysfs.c */

/**
 * crab_sysfs_init() - list the attributes of the table, before the class is registered
 *
 * Context: any.
 */
void crab_sysfs_init(void);

extern const struct attribute_group *crab_device_groups[];

/* ioctl.c */
extern const struct file_operations crab_ioctl_fops;

#endif /* CRABTREE_DEVICE_H */
