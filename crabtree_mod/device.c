// SPDX-License-Identifier: GPL-2.0
/*
 * This file is the life of a device: it comes with its region, attaches the store
 * in it, is formatted, and ends when the memory goes or the module does, with
 * users or without.
 *
 * Invariants: device->calls is live exactly while device->store is set, so a
 * call that entered has a store until it leaves. The region is freed when no
 * call runs, not when the last descriptor is closed; what users still hold is
 * this structure, which answers -ENODEV.
 *
 * Locks: device.h.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "device.h"

BLOCKING_NOTIFIER_HEAD(crab_device_notifier);

static LIST_HEAD(crab_devices);
static DEFINE_MUTEX(crab_devices_lock);
static DEFINE_IDA(crab_minors);

/* Set by crab_device_init() */
static struct workqueue_struct *crab_workqueue;
static dev_t crab_major;
static bool crab_readonly;
static const struct crab_tuning *crab_tuning;

static const char * const crab_device_states[] = {
	[CRAB_DEVICE_UNFORMATTED]	= "unformatted",
	[CRAB_DEVICE_READY]		= "ready",
	[CRAB_DEVICE_READONLY]		= "readonly",
	[CRAB_DEVICE_REJECTED]		= "rejected",
	[CRAB_DEVICE_GONE]		= "gone",
};

const char *crab_device_state_name(enum crab_device_state state)
{
	return crab_device_states[state];
}

static struct crab_device *to_crab(const struct device *dev)
{
	return container_of(dev, struct crab_device, dev);
}

static void device_idle(struct percpu_ref *calls)
{
	complete(&container_of(calls, struct crab_device, calls)->idle);
}

struct crab_store *crab_device_enter(struct crab_device *device)
{
	if (!percpu_ref_tryget_live(&device->calls))
		return ERR_PTR(READ_ONCE(device->error));
	/* Pairs with smp_wmb() in device_start_locked(): who sees it live sees the store */
	smp_rmb();
	return device->store;
}

void crab_device_leave(struct crab_device *device)
{
	percpu_ref_put(&device->calls);
}

static void device_maintain(struct work_struct *work)
{
	struct crab_device *device = container_of(work, struct crab_device, maintain);
	struct crab_store *store;
	bool more;

	do {
		store = crab_device_enter(device);
		if (IS_ERR(store))
			return;
		more = crab_store_maintain(store);
		crab_device_leave(device);
		cond_resched();
	} while (more);
}

static void device_kick(void *arg)
{
	struct crab_device *device = arg;

	queue_work(crab_workqueue, &device->maintain);
}

/* Nobody waits for the answer any more */
static bool device_interrupted(void)
{
	return fatal_signal_pending(current);
}

/* Without a store: calls get @error */
static void device_stop_locked(struct crab_device *device, int error)
{
	lockdep_assert_held(&device->lock);

	WRITE_ONCE(device->error, error);
	if (!device->store)
		return;
	reinit_completion(&device->idle);
	percpu_ref_kill(&device->calls);
	wait_for_completion(&device->idle);
	crab_store_detach(device->store);
	device->store = NULL;
}

/* A kick that comes before the calls are live is lost: so one comes after */
static void device_start_locked(struct crab_device *device)
{
	struct crab_attach_options options = {
		.readonly	= device->readonly,
		.kick		= device_kick,
		.kick_arg	= device,
		.interrupted	= device_interrupted,
		.tuning		= crab_tuning,
	};
	struct crab_store *store;

	lockdep_assert_held(&device->lock);

	store = crab_store_attach(&device->region->media, &options, &device->report);
	if (IS_ERR(store)) {
		WRITE_ONCE(device->error, PTR_ERR(store));
		return;
	}
	device->store = store;
	/* Pairs with smp_rmb() in crab_device_enter(); reinit promises no order */
	smp_wmb();
	percpu_ref_reinit(&device->calls);
	device_kick(device);
}

static enum crab_device_state device_state_locked(struct crab_device *device, bool readonly)
{
	lockdep_assert_held(&device->lock);

	if (!device->region)
		return CRAB_DEVICE_GONE;
	if (device->store)
		return readonly ? CRAB_DEVICE_READONLY : CRAB_DEVICE_READY;
	return device->report.verdict == CRAB_VERDICT_BLANK ? CRAB_DEVICE_UNFORMATTED :
							     CRAB_DEVICE_REJECTED;
}

static void device_info_locked(struct crab_device *device, struct crab_device_info *info)
{
	lockdep_assert_held(&device->lock);

	memset(info, 0, sizeof(*info));
	info->provider = "";
	strscpy(info->reason, device->report.reason, sizeof(info->reason));
	if (!device->region) {
		strscpy(info->reason, "the region was taken away", sizeof(info->reason));
	} else {
		info->durability = device->region->media.durability;
		info->region_bytes = device->region->media.size;
		info->provider = device->region->ops->provider;
		strscpy(info->region, device->region->name, sizeof(info->region));
	}
	if (device->store) {
		crab_store_info(device->store, &info->store);
		info->serving = true;
		info->durability = info->store.durability;
		strscpy(info->reason, info->store.reason, sizeof(info->reason));
	}
	info->state = device_state_locked(device, info->store.readonly);
}

void crab_device_info(struct crab_device *device, struct crab_device_info *info)
{
	mutex_lock(&device->lock);
	device_info_locked(device, info);
	mutex_unlock(&device->lock);
}

/* One line for what attach found; the label is media, so it is escaped */
static void device_log(struct crab_device *device, const struct crab_device_info *info)
{
	const char *name = dev_name(&device->dev);
	const struct crab_store_info *store = &info->store;

	if (!info->serving) {
		pr_info("%s: %s region %s, %llu bytes: %s%s%s\n", name, info->provider,
			info->region, info->region_bytes, crab_device_state_name(info->state),
			*info->reason ? ": " : "", info->reason);
		return;
	}
	pr_info("%s: %s region %s: store \"%*pE\" %pUb, %s/%s, %llu records, %s, attached in %llu us\n",
		name, info->provider, info->region, (int)strlen(store->super.label),
		store->super.label, store->super.uuid, store->engine, store->layout,
		store->stats.records, crab_device_state_name(info->state),
		store->attach_ns / NSEC_PER_USEC);
	if (*info->reason)
		pr_warn("%s: %s: %s\n", name, crab_device_state_name(info->state), info->reason);
}

/* Tell the log, in-kernel users and, if the device is known to it, user space */
static void device_announce(struct crab_device *device, bool change)
{
	struct crab_device_info info;
	struct crabtree_identity identity = {
		.label	= info.store.super.label,
		.uuid	= (const uuid_t *)info.store.super.uuid,
	};

	crab_device_info(device, &info);
	device_log(device, &info);
	if (change)
		kobject_uevent(&device->dev.kobj, KOBJ_CHANGE);
	if (info.serving)
		blocking_notifier_call_chain(&crab_device_notifier, CRABTREE_CAME, &identity);
}

static void device_warn_going(struct crab_device *device)
{
	struct crab_device_info info;
	struct crabtree_identity identity = {
		.label	= info.store.super.label,
		.uuid	= (const uuid_t *)info.store.super.uuid,
	};

	crab_device_info(device, &info);
	if (info.serving)
		blocking_notifier_call_chain(&crab_device_notifier, CRABTREE_GOING, &identity);
}

static int device_use_locked(struct crab_device *device)
{
	lockdep_assert_held(&device->lock);

	if (!device->region)
		return -ENODEV;
	device->users++;
	get_device(&device->dev);
	return 0;
}

int crab_device_use(struct crab_device *device)
{
	int err = mutex_lock_interruptible(&device->lock);

	if (err)
		return -ERESTARTSYS;
	err = device_use_locked(device);
	mutex_unlock(&device->lock);
	return err;
}

void crab_device_unuse(struct crab_device *device)
{
	mutex_lock(&device->lock);
	device->users--;
	mutex_unlock(&device->lock);
	put_device(&device->dev);
}

static bool device_matches_locked(struct crab_device *device,
				  const struct crabtree_identity *wanted)
{
	struct crab_device_info info;

	device_info_locked(device, &info);
	if (!info.serving)
		return false;
	if (wanted->label)
		return !strcmp(info.store.super.label, wanted->label);
	return !memcmp(info.store.super.uuid, wanted->uuid->b, CRAB_UUID_LEN);
}

/* A signal does not make it another device than the one that was wanted */
static bool device_use_if(struct crab_device *device, const struct crabtree_identity *wanted)
{
	bool used;

	mutex_lock(&device->lock);
	used = device_matches_locked(device, wanted) && !device_use_locked(device);
	mutex_unlock(&device->lock);
	return used;
}

struct crab_device *crab_device_find(const struct crabtree_identity *wanted)
{
	struct crab_device *device;

	mutex_lock(&crab_devices_lock);
	list_for_each_entry(device, &crab_devices, list) {
		if (device_use_if(device, wanted)) {
			mutex_unlock(&crab_devices_lock);
			return device;
		}
	}
	mutex_unlock(&crab_devices_lock);
	return NULL;
}

/* Refuse what can be refused before the store that is served is touched */
static int device_format_check_locked(struct crab_device *device,
				      const struct crab_format_options *options, char *reason)
{
	lockdep_assert_held(&device->lock);

	if (!device->region) {
		strscpy(reason, "the region was taken away", CRAB_REASON_LEN);
		return -ENODEV;
	}
	if (device->readonly) {
		strscpy(reason, "the region is read-only", CRAB_REASON_LEN);
		return -EROFS;
	}
	if (device->users > 1) {
		snprintf(reason, CRAB_REASON_LEN, "%u others have it open", device->users - 1);
		return -EBUSY;
	}
	return crab_store_format_check(&device->region->media, options, reason);
}

static int device_format_locked(struct crab_device *device,
				const struct crab_format_options *options, char *reason)
{
	int err;

	lockdep_assert_held(&device->lock);

	err = device_format_check_locked(device, options, reason);
	if (err)
		return err;
	device_stop_locked(device, -EBUSY);
	err = crab_store_format(&device->region->media, options, reason);
	device_start_locked(device);
	if (err || device->store)
		return err;
	strscpy(reason, device->report.reason, CRAB_REASON_LEN);
	return device->error;
}

int crab_device_format(struct crab_device *device, const struct crab_format_options *options)
{
	char reason[CRAB_REASON_LEN] = "";
	int err;

	mutex_lock(&device->lock);
	err = device_format_locked(device, options, reason);
	mutex_unlock(&device->lock);
	if (err)
		pr_warn_ratelimited("%s: FORMAT failed: error %d: %s\n", dev_name(&device->dev),
				    err, reason);
	else
		device_announce(device, true);
	return err;
}

static void device_free(struct device *dev)
{
	struct crab_device *device = to_crab(dev);

	percpu_ref_exit(&device->calls);
	kfree(device);
}

static int device_uevent(crab_uevent_device *dev, struct kobj_uevent_env *env)
{
	struct crab_device_info info;
	int err;

	crab_device_info(to_crab(dev), &info);
	err = add_uevent_var(env, "CRABTREE_STATE=%s", crab_device_state_name(info.state));
	if (err || !info.serving)
		return err;
	err = add_uevent_var(env, "CRABTREE_UUID=%pUb", info.store.super.uuid);
	if (err)
		return err;
	return add_uevent_var(env, "CRABTREE_LABEL=%*pE", (int)strlen(info.store.super.label),
			      info.store.super.label);
}

static struct class crab_class = {
	.name		= "crabtree",
	.dev_groups	= crab_device_groups,
	.dev_uevent	= device_uevent,
	.dev_release	= device_free,
};

/* On an error nothing is left; the region stays the caller's */
static struct crab_device *device_alloc(struct crab_region *region)
{
	struct crab_device *device = kzalloc(sizeof(*device), GFP_KERNEL);
	int err = -ENOMEM;
	int minor;

	if (!device)
		return ERR_PTR(-ENOMEM);
	if (percpu_ref_init(&device->calls, device_idle,
			    PERCPU_REF_INIT_DEAD | PERCPU_REF_ALLOW_REINIT, GFP_KERNEL))
		goto err_free;
	minor = ida_alloc_max(&crab_minors, CRAB_DEVICES_MAX - 1, GFP_KERNEL);
	err = minor;
	if (minor < 0)
		goto err_exit;
	mutex_init(&device->lock);
	init_completion(&device->idle);
	INIT_WORK(&device->maintain, device_maintain);
	device->region = region;
	device->error = -EBUSY;
	device->readonly = crab_readonly || region->readonly;
	device_initialize(&device->dev);
	device->dev.class = &crab_class;
	device->dev.parent = region->parent;
	device->dev.devt = MKDEV(MAJOR(crab_major), minor);
	return device;

err_exit:
	percpu_ref_exit(&device->calls);
err_free:
	kfree(device);
	return ERR_PTR(err);
}

/* The number is free for the next, at once: who binds again finds the same name */
static void device_unname(struct crab_device *device)
{
	ida_free(&crab_minors, MINOR(device->dev.devt));
	put_device(&device->dev);
}

static void device_shut(struct crab_device *device)
{
	mutex_lock(&device->lock);
	device_stop_locked(device, -ENODEV);
	device->region = NULL;
	mutex_unlock(&device->lock);
	cancel_work_sync(&device->maintain);
}

static int device_came(struct crab_region *region)
{
	struct crab_device *device = device_alloc(region);
	int err;

	if (IS_ERR(device))
		return PTR_ERR(device);
	err = dev_set_name(&device->dev, "crab%u", MINOR(device->dev.devt));
	if (err)
		goto err_put;
	mutex_lock(&device->lock);
	device_start_locked(device);
	mutex_unlock(&device->lock);

	cdev_init(&device->cdev, &crab_device_fops);
	device->cdev.owner = THIS_MODULE;
	err = cdev_device_add(&device->cdev, &device->dev);
	if (err)
		goto err_shut;
	mutex_lock(&crab_devices_lock);
	list_add_tail(&device->list, &crab_devices);
	mutex_unlock(&crab_devices_lock);
	device_announce(device, false);
	return 0;

err_shut:
	device_shut(device);
err_put:
	device_unname(device);
	return err;
}

/* @device is off the list, and this task alone took it off */
static void device_remove(struct crab_device *device)
{
	struct crab_region *region = device->region;

	device_warn_going(device);
	cdev_device_del(&device->cdev, &device->dev);
	device_shut(device);
	pr_info("%s: removed, region %s released\n", dev_name(&device->dev), region->name);
	crab_region_free(region);
	device_unname(device);
}

/* Take the device of @region, or any if NULL, off the list */
static struct crab_device *device_take(struct crab_region *region)
{
	struct crab_device *device;

	mutex_lock(&crab_devices_lock);
	list_for_each_entry(device, &crab_devices, list) {
		if (!region || device->region == region) {
			list_del(&device->list);
			mutex_unlock(&crab_devices_lock);
			return device;
		}
	}
	mutex_unlock(&crab_devices_lock);
	return NULL;
}

static void device_going(struct crab_region *region)
{
	struct crab_device *device = device_take(region);

	if (device)
		device_remove(device);
}

static struct crab_device *device_get_of(struct crab_region *region)
{
	struct crab_device *device, *found = NULL;

	mutex_lock(&crab_devices_lock);
	list_for_each_entry(device, &crab_devices, list)
		if (device->region == region)
			found = to_crab(get_device(&device->dev));
	mutex_unlock(&crab_devices_lock);
	return found;
}

static void device_failed(struct crab_region *region, u64 offset, u64 len)
{
	struct crab_device *device = device_get_of(region);

	if (!device)
		return;
	mutex_lock(&device->lock);
	if (device->store)
		crab_store_fail(device->store, offset, len);
	mutex_unlock(&device->lock);
	kobject_uevent(&device->dev.kobj, KOBJ_CHANGE);
	put_device(&device->dev);
}

const struct crab_region_events crab_device_events = {
	.came	= device_came,
	.going	= device_going,
	.failed	= device_failed,
};

int crab_device_init(bool readonly, const struct crab_tuning *tuning)
{
	int err = -ENOMEM;

	crab_readonly = readonly;
	crab_tuning = tuning;
	crab_workqueue = alloc_workqueue("crabtree", WQ_UNBOUND, 0);
	if (!crab_workqueue)
		return err;
	err = alloc_chrdev_region(&crab_major, 0, CRAB_DEVICES_MAX, "crabtree");
	if (err)
		goto err_workqueue;
	err = class_register(&crab_class);
	if (err)
		goto err_chrdev;
	return 0;

err_chrdev:
	unregister_chrdev_region(crab_major, CRAB_DEVICES_MAX);
err_workqueue:
	destroy_workqueue(crab_workqueue);
	return err;
}

void crab_device_remove_all(void)
{
	struct crab_device *device;

	while ((device = device_take(NULL)))
		device_remove(device);
}

void crab_device_exit(void)
{
	class_unregister(&crab_class);
	unregister_chrdev_region(crab_major, CRAB_DEVICES_MAX);
	destroy_workqueue(crab_workqueue);
	ida_destroy(&crab_minors);
}
