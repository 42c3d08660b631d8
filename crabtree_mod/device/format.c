// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements FORMAT of a device, at once or unfinished.
 *
 * Invariants: a refused FORMAT has changed nothing. An unfinished store has one user, the
 * descriptor that made it: crab_device_open(), a watch, a snapshot and the users in the kernel are
 * refused. It ends with this descriptor, if FINISH did not make it a store before; a power cut
 * leaves the same as that end, a region that attach finds blank.
 *
 * Locks: device.h.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/completion.h>
#include <linux/kdev_t.h>
#include <linux/percpu-refcount.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "lifetime.h"

/* The checks that can refuse a FORMAT before the served store is detached */
static int device_format_check_locked(struct crab_device *device,
				      const struct crab_format_options *options, char *reason)
{
	int parked = READ_ONCE(crab_parked);

	lockdep_assert_held(&device->lock);

	if (!device->region) {
		strscpy(reason, "the region was taken away", CRAB_REASON_LEN);
		return -ENODEV;
	}
	if (parked) {
		strscpy(reason, CRAB_PARKED_REASON, CRAB_REASON_LEN);
		return parked;
	}
	if (device->readonly) {
		strscpy(reason, "the region is read-only", CRAB_REASON_LEN);
		return -EROFS;
	}
	if (device->users > 1) {
		snprintf(reason, CRAB_REASON_LEN, "it is open elsewhere, %u time%s",
			 device->users - 1, device->users == 2 ? "" : "s");
		return -EBUSY;
	}
	return crab_store_format_check(&device->region->media, options, reason);
}

/* Waits for the calls that run. If the task is killed, the store goes on as it is */
static int device_format_wait(struct crab_device *device, char *reason)
{
	lockdep_assert_held(&device->change);

	if (!device->store)
		return 0;
	if (!wait_for_completion_killable(&device->idle)) {
		complete(&device->idle);	/* crab_device_detach_store() waits for it again */
		return 0;
	}
	strscpy(reason, "killed while it waited for other calls", CRAB_REASON_LEN);
	percpu_ref_resurrect(&device->calls);
	queue_work(crab_workqueue, &device->maintain);	/* it may have found no store */
	/* The last call may be about to complete @idle, which the next stop must not see */
	synchronize_rcu();
	return -ERESTARTSYS;
}

/*
 * The store is on the media. If hibernation or shutdown ended its attach, it is as if this FORMAT
 * had returned before: crab_device_park() waits for device->change, and unpark attaches the store
 */
static int device_format_served(struct crab_device *device, char *reason)
{
	int ending = READ_ONCE(device->ending);

	lockdep_assert_held(&device->change);

	if (device->store)
		return 0;
	if (device->error != ending || ending == -ENODEV) {
		strscpy(reason, device->report.reason, CRAB_REASON_LEN);
		return device->error;
	}
	mutex_lock(&device->lock);
	strscpy(device->report.reason, CRAB_PARKED_REASON, sizeof(device->report.reason));
	mutex_unlock(&device->lock);
	return 0;
}

/* @begun: out: true once the store that was served before is being detached */
static int device_format(struct crab_device *device, const struct crab_format_options *options,
			 char *reason, bool *begun)
{
	int err;

	lockdep_assert_held(&device->change);

	mutex_lock(&device->lock);
	err = device_format_check_locked(device, options, reason);
	if (!err)
		crab_device_stop_locked(device, -EBUSY);
	mutex_unlock(&device->lock);
	err = err ?: device_format_wait(device, reason);
	if (err)
		return err;
	*begun = true;
	crab_device_detach_store(device, "FORMAT is at work");
	err = crab_store_format(&device->region->media, options, reason);
	crab_device_attach_store(device, err ? NULL : options->unfinished);
	return err ?: device_format_served(device, reason);
}

int crab_device_format(struct crab_device *device, const struct crab_format_options *options)
{
	char reason[CRAB_REASON_LEN] = "";
	bool begun = false;
	int err;

	if (mutex_lock_killable(&device->change))
		return -ERESTARTSYS;
	err = device_format(device, options, reason, &begun);
	if (begun)
		crab_device_changed(device);
	mutex_unlock(&device->change);
	if (err)
		pr_warn_ratelimited("%s: FORMAT failed: error %d: %s\n", dev_name(&device->dev),
				    err, reason);
	else
		crab_device_announce(device);
	return err;
}

static int device_finish(struct crab_device *device)
{
	lockdep_assert_held(&device->change);

	return device->store ? crab_store_finish(device->store) : device->error;
}

int crab_device_finish(struct crab_device *device)
{
	int err;

	if (mutex_lock_killable(&device->change))
		return -ERESTARTSYS;
	err = device_finish(device);
	if (!err)
		crab_device_changed(device);
	mutex_unlock(&device->change);
	if (!err)
		crab_device_announce(device);
	return err;
}

/* The store is void on the media: nothing is lost that a power cut would have kept */
static void device_drop(struct crab_device *device)
{
	lockdep_assert_held(&device->change);

	mutex_lock(&device->lock);
	crab_device_stop_locked(device, -ENODATA);
	mutex_unlock(&device->lock);
	crab_device_detach_store(device, "");
	crab_device_attach_store(device, NULL);
	crab_device_changed(device);
}

static bool device_is_unfinished(struct crab_device *device)
{
	bool unfinished;

	mutex_lock(&device->lock);
	unfinished = device->store && crab_store_is_unfinished(device->store);
	mutex_unlock(&device->lock);
	return unfinished;
}

void crab_device_drop_unfinished(struct crab_device *device)
{
	bool drop;

	/* Without device->change, so that no close waits for an attach that is in progress */
	if (!device_is_unfinished(device))
		return;
	mutex_lock(&device->change);
	drop = device_is_unfinished(device);	/* a hibernation may have ended it since */
	if (drop)
		device_drop(device);
	mutex_unlock(&device->change);
	if (drop)
		crab_device_announce(device);
}
