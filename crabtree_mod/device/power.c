// SPDX-License-Identifier: GPL-2.0
/*
 * This file detaches every store when this kernel ends (reboot, power-off, kexec), before
 * a hibernation image is made, and before an image replaces this kernel.
 *
 * DRAM comes back from an image as it was; the media does not. A store that is detached in
 * the image is attached again by the kernel that resumes, which reads the records that any kernel
 * has stored meanwhile. A module that is loaded after the notifiers ran gets the end alone, and a
 * kexec jump has no notifier: devices.c parks stores when devices are frozen.
 *
 * Invariant: durability does not depend on this file. A panic, a reset and a power
 * cut call no notifier.
 *
 * Locking: device->change, for the store of one device. The kernel serialises the callers.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/notifier.h>
#include <linux/reboot.h>
#include <linux/string.h>
#include <linux/suspend.h>

#include "devices.h"
#include "lifetime.h"

static void device_park(struct crab_device *device, int error)
{
	bool served = device->store;

	lockdep_assert_held(&device->change);

	mutex_lock(&device->lock);
	crab_device_stop_locked(device, error);
	mutex_unlock(&device->lock);
	crab_device_detach_store(device, CRAB_PARKED_REASON);
	if (served)
		crab_device_changed(device);
}

static bool is_parked(const struct crab_device *device)
{
	return !strcmp(device->report.reason, CRAB_PARKED_REASON);
}

/*
 * True if users are to be notified: the state has changed, or a store stays although they were
 * @warned. Another kernel may have formatted a region that had no store
 */
static bool device_unpark(struct crab_device *device, bool warned)
{
	bool parked = is_parked(device);

	lockdep_assert_held(&device->change);

	if (!device->region || READ_ONCE(crab_parked))
		return false;
	if (device->store)
		return warned;
	crab_device_attach_store(device, NULL);
	if (!parked && !device->store)
		return false;
	crab_device_changed(device);
	return true;
}

static void device_back(struct crab_device *device, bool warned)
{
	bool announce;

	mutex_lock(&device->change);
	announce = device_unpark(device, warned);
	mutex_unlock(&device->change);
	if (announce)
		crab_device_announce(device);
}

void crab_device_unpark(struct crab_device *device)
{
	device_back(device, false);
}

void crab_device_complete(struct crab_device *device)
{
	bool parked;

	mutex_lock(&device->lock);
	parked = !device->store && is_parked(device);
	mutex_unlock(&device->lock);
	if (parked)
		device_back(device, false);
}

void crab_device_park(struct crab_device *device)
{
	int ending = READ_ONCE(crab_parked), parked;

	crab_device_warn(device);
	cmpxchg(&device->ending, 0, ending);
	mutex_lock(&device->change);
	parked = READ_ONCE(crab_parked);	/* it may have ended since */
	if (device->region && parked)
		device_park(device, parked);
	cmpxchg(&device->ending, ending, 0);
	mutex_unlock(&device->change);
	if (!parked)	/* @ending may have ended the attach of crab_device_unpark() */
		device_back(device, true);
}

/* New calls return -ESHUTDOWN; calls that run are waited for */
static int power_reboot(struct notifier_block *nb, unsigned long event, void *data)
{
	crab_devices_park(-ESHUTDOWN);
	return NOTIFY_DONE;
}

/* Both have the lowest priority, so users of stores are notified first and can still write */
static struct notifier_block power_reboot_nb = {
	.notifier_call	= power_reboot,
	.priority	= INT_MIN,
};

static int power_sleep(struct notifier_block *nb, unsigned long event, void *data)
{
	switch (event) {
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		crab_devices_park(-EBUSY);
		break;
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		crab_devices_unpark();
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block power_sleep_nb = {
	.notifier_call	= power_sleep,
	.priority	= INT_MIN,
};

int crab_power_init(void)
{
	int err = register_pm_notifier(&power_sleep_nb);

	if (err)
		return err;
	err = register_reboot_notifier(&power_reboot_nb);
	if (err)
		unregister_pm_notifier(&power_sleep_nb);
	return err;
}

void crab_power_exit(void)
{
	unregister_reboot_notifier(&power_reboot_nb);
	unregister_pm_notifier(&power_sleep_nb);
}
