// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the table of devices: it makes a device of each region that
 * comes, publishes it, finds it by number, label or uuid, and removes it when the
 * region or the module is removed, even while the device has users.
 *
 * Invariants: before crab_devices_publish() nothing outside the module can reach a
 * device, for the kernel frees a module whose load fails without waiting for its
 * users. The region is freed when no call runs, not when the last descriptor is
 * closed; users keep the structure, which answers -ENODEV.
 *
 * Locks: device.h. One cdev serves all numbers: if a number is reused, each inode
 * with that number opens the new device.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/cdev.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/pm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "control.h"
#include "devices.h"
#include "lifetime.h"

static LIST_HEAD(crab_devices);
static DEFINE_MUTEX(crab_devices_lock);
static DEFINE_IDA(crab_minors);
static bool crab_published;	/* crab_devices_lock */
static bool crab_frozen;	/* device_freeze() parked all; the kernel serialises power events */

/* Set by crab_devices_init() and crab_devices_publish() */
static dev_t crab_major;
static struct cdev *crab_cdev;
static struct device *crab_control;
static bool crab_readonly;

static struct crab_device *to_crab(const struct device *dev)
{
	return container_of(dev, struct crab_device, dev);
}

static void device_free(struct device *dev)
{
	struct crab_device *device = to_crab(dev);

	percpu_ref_exit(&device->calls);
	kfree(device);
}

#define LABEL_SAFE	"#+-.:=@_"	/* udev keeps these, letters and digits in a name */

static bool label_is_safe(const char *label, const char *c)
{
	if (*c == '.' && c == label)
		return false;
	return (isascii(*c) && isalnum(*c)) || strchr(LABEL_SAFE, *c);
}

/* The label as one component of a path: \x2f for a slash, and no dot in front */
static int uevent_label(struct kobj_uevent_env *env, const char *label)
{
	char enc[4 * CRAB_LABEL_LEN], *to = enc;
	const char *c;

	for (c = label; *c; c++)
		if (label_is_safe(label, c))
			*to++ = *c;
		else
			to += sprintf(to, "\\x%02x", (u8)*c);
	*to = '\0';
	return add_uevent_var(env, "CRABTREE_LABEL=%*pE", (int)strlen(label), label) ?:
	       add_uevent_var(env, "CRABTREE_LABEL_ENC=%s", enc);
}

static int device_uevent(crab_uevent_device *dev, struct kobj_uevent_env *env)
{
	struct crab_device_info info;
	int err;

	crab_device_info(to_crab(dev), &info);
	err = add_uevent_var(env, "CRABTREE_STATE=%s", crab_device_state_name(info.state));
	if (err || !info.serving || info.store.unfinished)
		return err;
	err = add_uevent_var(env, "CRABTREE_UUID=%pUb", info.store.super.uuid);
	return err ?: uevent_label(env, info.store.super.label);
}

static void devices_set_parked(int error)
{
	mutex_lock(&crab_devices_lock);
	WRITE_ONCE(crab_parked, error);
	crab_frozen = false;
	mutex_unlock(&crab_devices_lock);
}

/*
 * Processes are frozen. If the module was loaded since the notifiers ran, or in a kexec jump, which
 * has none, nothing is parked yet: the first device parks all
 */
static int device_freeze(struct device *dev)
{
	if (!READ_ONCE(crab_parked)) {
		crab_devices_park(-EBUSY);
		crab_frozen = true;
	}
	return 0;
}

/* Each device attaches its own store, because the drivers of the others may not be back */
static int device_restore(struct device *dev)
{
	if (crab_frozen)
		devices_set_parked(0);
	crab_device_unpark(to_crab(dev));
	return 0;
}

/*
 * The end of a change of power, also for devices to which a freeze that failed has not come: these
 * are not restored, but the first device has parked them
 */
static void device_complete(struct device *dev)
{
	crab_device_complete(to_crab(dev));
}

static const struct dev_pm_ops crab_device_pm = {
	.freeze		= device_freeze,
	.restore	= device_restore,
	.complete	= device_complete,
};

static struct class crab_class = {
	.name		= "crabtree",
	.pm		= &crab_device_pm,
	.dev_groups	= crab_device_groups,
	.dev_uevent	= device_uevent,
	.dev_release	= device_free,
};

static void device_fill(struct crab_device *device, struct crab_region *region, int minor)
{
	mutex_init(&device->change);
	mutex_init(&device->lock);
	init_completion(&device->idle);
	init_waitqueue_head(&device->resumed);
	init_rwsem(&device->checks);
	INIT_LIST_HEAD(&device->checkers);
	spin_lock_init(&device->checkers_lock);
	INIT_WORK(&device->maintain, crab_device_maintain);
	device->region = region;
	device->error = -EBUSY;
	device->readonly = crab_readonly || region->readonly;
	device_initialize(&device->dev);
	device->dev.class = &crab_class;
	device->dev.parent = region->parent;
	device->dev.devt = MKDEV(MAJOR(crab_major), minor);
}

/* Frees the number at once, so that a bind after an unbind gets the same name */
static void device_unname(struct crab_device *device)
{
	ida_free(&crab_minors, MINOR(device->dev.devt));
	put_device(&device->dev);
}

/* An error undoes everything, and the caller still owns the region */
static struct crab_device *device_alloc(struct crab_region *region)
{
	struct crab_device *device = kzalloc(sizeof(*device), GFP_KERNEL);
	int err = -ENOMEM;
	int minor;

	if (!device)
		return ERR_PTR(-ENOMEM);
	if (percpu_ref_init(&device->calls, crab_device_idle,
			    PERCPU_REF_INIT_DEAD | PERCPU_REF_ALLOW_REINIT, GFP_KERNEL))
		goto err_free;
	minor = ida_alloc_max(&crab_minors, CRAB_DEVICES_MAX - 1, GFP_KERNEL);
	err = minor;
	if (minor == -ENOSPC)
		crab_region_refuse("%s: more than %u regions", region->name, CRAB_DEVICES_MAX);
	if (minor < 0)
		goto err_exit;
	device_fill(device, region, minor);
	err = dev_set_name(&device->dev, "crab%u", minor);
	if (!err)
		return device;
	device_unname(device);
	return ERR_PTR(err);

err_exit:
	percpu_ref_exit(&device->calls);
err_free:
	kfree(device);
	return ERR_PTR(err);
}

static int device_add_locked(struct crab_device *device)
{
	int err = device_add(&device->dev);

	lockdep_assert_held(&crab_devices_lock);
	device->added = !err;
	if (!err)
		crab_debugfs_add(device);
	else
		pr_err("%s: cannot be published: error %d\n", dev_name(&device->dev), err);
	return err;
}

/* Enters an attached device. @parked: out: crab_parked. Returns an error, or: is it published? */
static int device_enter(struct crab_device *device, int *parked)
{
	int err = 0, published;

	mutex_lock(&crab_devices_lock);
	published = crab_published;
	if (published)
		err = device_add_locked(device);
	if (!err)
		list_add_tail(&device->list, &crab_devices);
	*parked = crab_parked;
	mutex_unlock(&crab_devices_lock);
	return err ?: published;
}

/* A later change of crab_parked finds the device in the table */
static void device_settle(struct crab_device *device, int parked)
{
	if (parked)
		crab_device_park(device);
	else
		crab_device_unpark(device);
}

static int device_added(struct crab_region *region)
{
	struct crab_device *device = device_alloc(region);
	int was = READ_ONCE(crab_parked), now, rc;

	if (IS_ERR(device))
		return PTR_ERR(device);
	rc = crab_device_begin(device, was);
	get_device(&device->dev);	/* once it is in the table, it may be removed */
	if (!rc)
		rc = device_enter(device, &now);
	if (rc < 0) {
		crab_device_end(device);
		device_unname(device);
	} else {
		crab_device_catch_up(device);
		crab_control_answer("crab%u", MINOR(device->dev.devt));
		if (now != was)
			device_settle(device, now);
		else if (rc)	/* others are announced when they are published */
			crab_device_announce(device);
	}
	put_device(&device->dev);
	return min(rc, 0);
}

/* @device is off the list; only this task removed it */
static void device_remove(struct crab_device *device)
{
	struct crab_region *region = device->region;

	if (device->added)
		crab_device_warn(device);
	crab_debugfs_remove(device);
	crab_device_end(device);
	if (device->added)
		device_del(&device->dev);
	pr_info("%s: removed, region %s released\n", dev_name(&device->dev), region->name);
	crab_region_free(region);
	device_unname(device);
}

/* Take the device of the region with this @id, or any if 0, off the list */
static struct crab_device *device_take(u64 id)
{
	struct crab_device *device;

	mutex_lock(&crab_devices_lock);
	list_for_each_entry(device, &crab_devices, list) {
		if (!id || device->region->id == id) {
			list_del(&device->list);
			mutex_unlock(&crab_devices_lock);
			return device;
		}
	}
	mutex_unlock(&crab_devices_lock);
	return NULL;
}

static void device_removing(u64 id)
{
	struct crab_device *device = device_take(id);

	if (device)
		device_remove(device);
}

static int device_may_drop(struct crab_device *device, bool force)
{
	lockdep_assert_held(&crab_devices_lock);

	if (!strcmp(device->region->ops->provider, "of")) {
		crab_control_answer("%s: a region of the device tree; unbind its driver, or disable its node",
				    dev_name(&device->dev));
		return -EOPNOTSUPP;
	}
	return crab_device_leave(device, force);
}

static struct crab_device *device_named(const char *name)
{
	struct crab_device *device;

	lockdep_assert_held(&crab_devices_lock);

	list_for_each_entry(device, &crab_devices, list)
		if (device->added && !strcmp(dev_name(&device->dev), name))
			return device;
	crab_control_answer("%s: no such device", name);
	return NULL;
}

int crab_devices_drop(const char *name, bool force)
{
	struct crab_device *device;
	int err;

	mutex_lock(&crab_devices_lock);
	device = device_named(name);
	err = device ? device_may_drop(device, force) : -ENODEV;
	if (!err)
		list_del(&device->list);
	mutex_unlock(&crab_devices_lock);
	if (!err)
		device_remove(device);
	return err;
}

static struct crab_device *device_get_of(u64 id)
{
	struct crab_device *device, *found = NULL;

	mutex_lock(&crab_devices_lock);
	list_for_each_entry(device, &crab_devices, list)
		if (device->region->id == id)
			found = to_crab(get_device(&device->dev));
	mutex_unlock(&crab_devices_lock);
	return found;
}

static void device_failed(u64 id, u64 offset, u64 len)
{
	struct crab_device *device = device_get_of(id);

	if (!device)
		return;
	crab_device_fail(device, offset, len);
	put_device(&device->dev);
}

const struct crab_region_events crab_device_events = {
	.added		= device_added,
	.removing	= device_removing,
	.failed		= device_failed,
};

struct crab_device *crab_devices_find(const struct crabtree_identity *wanted)
{
	struct crab_device *device, *found = NULL;

	mutex_lock(&crab_devices_lock);
	list_for_each_entry(device, &crab_devices, list) {
		if (crab_published && crab_device_open_if(device, wanted)) {
			found = device;
			break;
		}
	}
	mutex_unlock(&crab_devices_lock);
	return found;
}

/* The device with a number, with a reference to its structure, or NULL */
static struct crab_device *device_get(unsigned int minor)
{
	struct crab_device *device, *found = NULL;

	mutex_lock(&crab_devices_lock);
	list_for_each_entry(device, &crab_devices, list)
		if (device->added && MINOR(device->dev.devt) == minor)
			found = to_crab(get_device(&device->dev));
	mutex_unlock(&crab_devices_lock);
	return found;
}

struct crab_device *crab_devices_open(unsigned int minor)
{
	struct crab_device *device = device_get(minor);
	int err;

	if (!device)
		return ERR_PTR(-ENXIO);
	err = crab_device_open(device);
	put_device(&device->dev);
	return err ? ERR_PTR(err) : device;
}

/* Calls @run for each device without a lock, so that @run may wait */
static void devices_each(void (*run)(struct crab_device *device))
{
	struct crab_device *all[CRAB_DEVICES_MAX], *device;
	unsigned int i, n = 0;

	mutex_lock(&crab_devices_lock);
	list_for_each_entry(device, &crab_devices, list)
		all[n++] = to_crab(get_device(&device->dev));
	mutex_unlock(&crab_devices_lock);
	for (i = 0; i < n; i++) {
		run(all[i]);
		put_device(&all[i]->dev);
	}
}

/* The cdev is the last step that can fail: before it no descriptor can exist */
static int cdev_publish(void)
{
	int err;

	crab_cdev = cdev_alloc();
	if (!crab_cdev)
		return -ENOMEM;
	crab_cdev->ops = &crab_ioctl_fops;
	crab_cdev->owner = THIS_MODULE;
	err = cdev_add(crab_cdev, crab_major, CRAB_CONTROL_MINOR + 1);
	if (!err)
		return 0;
	kobject_put(&crab_cdev->kobj);
	crab_cdev = NULL;
	return err;
}

/* If a device gets no memory, it has no node; that is logged */
int crab_devices_publish(void)
{
	struct crab_device *device;
	int err;

	crab_control = crab_control_add(MKDEV(MAJOR(crab_major), CRAB_CONTROL_MINOR));
	if (IS_ERR(crab_control))
		return PTR_ERR(crab_control);
	err = cdev_publish();
	if (err)
		return err;
	mutex_lock(&crab_devices_lock);
	list_for_each_entry(device, &crab_devices, list)
		device_add_locked(device);
	crab_published = true;
	mutex_unlock(&crab_devices_lock);
	devices_each(crab_device_announce);
	return 0;
}

void crab_devices_park(int error)
{
	devices_set_parked(error);
	devices_each(crab_device_park);
}

void crab_devices_unpark(void)
{
	devices_set_parked(0);
	devices_each(crab_device_unpark);
}

int crab_devices_init(bool readonly)
{
	int err = -ENOMEM;

	crab_readonly = readonly;
	crab_workqueue = alloc_workqueue("crabtree", WQ_UNBOUND, 0);
	if (!crab_workqueue)
		return err;
	err = alloc_chrdev_region(&crab_major, 0, CRAB_CONTROL_MINOR + 1, "crabtree");
	if (err)
		goto err_workqueue;
	crab_sysfs_init();
	crab_control_init();
	err = class_register(&crab_class);
	if (err)
		goto err_chrdev;
	crab_debugfs_init();
	return 0;

err_chrdev:
	unregister_chrdev_region(crab_major, CRAB_CONTROL_MINOR + 1);
err_workqueue:
	destroy_workqueue(crab_workqueue);
	return err;
}

void crab_devices_remove(void)
{
	struct crab_device *device;

	while ((device = device_take(0)))
		device_remove(device);
}

void crab_devices_exit(void)
{
	crab_debugfs_exit();
	if (!IS_ERR_OR_NULL(crab_control))
		device_unregister(crab_control);
	if (crab_cdev)
		cdev_del(crab_cdev);
	class_unregister(&crab_class);
	unregister_chrdev_region(crab_major, CRAB_CONTROL_MINOR + 1);
	destroy_workqueue(crab_workqueue);
	ida_destroy(&crab_minors);
}
