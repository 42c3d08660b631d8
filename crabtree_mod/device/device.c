// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements one device: it attaches the store in its region, counts the
 * calls on it, detaches it and reports every change.
 *
 * Invariants: device->calls is live exactly while device->store is set and no task detaches it, so
 * a call that entered has a store until it leaves. A store is attached and detached under
 * device->change only; that lock is the only one held during the wait for calls.
 *
 * Locks: device.h.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/err.h>
#include <linux/freezer.h>
#include <linux/jiffies.h>
#include <linux/kdev_t.h>
#include <linux/kobject.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "control.h"
#include "devices.h"
#include "lifetime.h"
#include "trace/events.h"

#define DEVICE_RESUMES	(-ERESTART)	/* device->error: no error, calls resume soon */
#define DEVICE_PAUSE	(HZ / 50)	/* for so long at most; a usual call takes microseconds */

BLOCKING_NOTIFIER_HEAD(crab_device_notifier);

struct workqueue_struct *crab_workqueue;
int crab_parked;
unsigned long long crab_snapshot_bytes = 64ULL << 20;

static const char * const crab_device_states[] = {
	[CRABTREE_STATE_UNFORMATTED]	= "unformatted",
	[CRABTREE_STATE_READY]		= "ready",
	[CRABTREE_STATE_READONLY]		= "readonly",
	[CRABTREE_STATE_REJECTED]		= "rejected",
	[CRABTREE_STATE_GONE]		= "gone",
};

const char *crab_device_state_name(enum crabtree_state state)
{
	return crab_device_states[state];
}

void crab_device_idle(struct percpu_ref *calls)
{
	complete(&container_of(calls, struct crab_device, calls)->idle);
}

/* There is no store: 0 if the call is to try again, after crab_device_observe() */
static noinline int device_wait(struct crab_device *device)
{
	int err;

	/* Pairs with smp_wmb() in crab_device_stop_locked(): dead calls come with their error */
	smp_rmb();
	err = READ_ONCE(device->error);
	if (err != DEVICE_RESUMES)
		return err;
	wait_event(device->resumed, !percpu_ref_is_dying(&device->calls) ||
		   READ_ONCE(device->error) != DEVICE_RESUMES);
	return 0;
}

struct crab_store *crab_device_get_store(struct crab_device *device)
{
	int err;

	/* percpu_ref_tryget_live() reads a flag of an ending count without READ_ONCE() */
	while (unlikely(!data_race(percpu_ref_tryget_live(&device->calls)))) {
		err = device_wait(device);
		if (err)
			return ERR_PTR(err);
	}
	/* Pairs with smp_wmb() in device_calls_start(): a live count comes with its store */
	smp_rmb();
	return device->store;
}

void crab_device_put_store(struct crab_device *device)
{
	percpu_ref_put(&device->calls);
}

/* Traces the state. Its caller holds no device->lock */
static void device_trace(struct crab_device *device)
{
	struct crab_device_info info;

	if (!trace_crabtree_state_enabled())
		return;
	crab_device_info(device, &info);
	trace_crabtree_state(MINOR(device->dev.devt), crab_device_state_name(info.state),
			     info.reason);
}

/*
 * Notifies user space by a uevent, and the pollers of the files. Never runs after
 * crab_device_end(), because the device then leaves its class: the caller holds device->change
 * and has found a region, or is the work that crab_device_end() waits for.
 */
void crab_device_changed(struct crab_device *device)
{
	device_trace(device);
	if (!device_is_registered(&device->dev))
		return;
	sysfs_notify(&device->dev.kobj, NULL, "state");
	sysfs_notify(&device->dev.kobj, NULL, "reason");
	kobject_uevent(&device->dev.kobj, KOBJ_CHANGE);
}

/* Damage can turn a store read-only in any context: work queued by device_kick() checks it */
static void device_notice(struct crab_device *device)
{
	bool changed = false;

	mutex_lock(&device->lock);
	if (device->store && crab_store_is_readonly(device->store)) {
		changed = !device->shown_readonly;
		device->shown_readonly = true;
	}
	mutex_unlock(&device->lock);
	if (changed)
		crab_device_changed(device);
}

void crab_device_maintain(struct work_struct *work)
{
	struct crab_device *device = container_of(work, struct crab_device, maintain);
	struct crab_store *store;
	bool more;

	device_notice(device);
	do {
		store = crab_device_get_store(device);
		if (IS_ERR(store))
			return;
		more = crab_store_maintain(store);
		crab_device_put_store(device);
		cond_resched();
	} while (more);
}

static void device_kick(void *arg)
{
	struct crab_device *device = arg;

	queue_work(crab_workqueue, &device->maintain);
}

/* True if the store is about to be detached, for a fatal signal that counts, or for a freeze */
static bool device_interrupted(void *arg)
{
	struct crab_device *device = arg;

	return READ_ONCE(device->ending) ||
	       (!READ_ONCE(device->unkillable) && fatal_signal_pending(current)) ||
	       (freezing(current) && crab_device_is_checked(device));
}

int crab_device_result(const struct crab_device *device, int ret)
{
	if (likely(ret != -EINTR))
		return ret;
	return READ_ONCE(device->ending) ?: ret;
}

int crab_device_end_call(struct crab_device *device, int ret)
{
	ret = crab_device_result(device, ret);
	crab_device_put_store(device);
	return ret;
}

/* Later calls do not enter the store: they return @error */
void crab_device_stop_locked(struct crab_device *device, int error)
{
	lockdep_assert_held(&device->change);
	lockdep_assert_held(&device->lock);

	WRITE_ONCE(device->error, error);
	if (!device->store)
		return;
	/* Pairs with smp_rmb() in device_wait() */
	smp_wmb();
	reinit_completion(&device->idle);
	percpu_ref_kill(&device->calls);
}

/* No call enters any more: waits for those that run, then detaches. INFO shows @reason meanwhile */
void crab_device_detach_store(struct crab_device *device, const char *reason)
{
	struct crab_store *store = device->store;

	lockdep_assert_held(&device->change);

	if (!store)
		return;
	wait_for_completion(&device->idle);
	mutex_lock(&device->lock);
	device->store = NULL;
	device->shown_readonly = false;
	strscpy(device->report.reason, reason, sizeof(device->report.reason));
	mutex_unlock(&device->lock);
	crab_store_detach(store);
}

/* Serves the store that attach returned, or makes calls return its error */
static void device_calls_start(struct crab_device *device, struct crab_store *store,
			       const struct crab_attach_report *report)
{
	mutex_lock(&device->lock);
	device->report = *report;
	if (IS_ERR(store)) {
		WRITE_ONCE(device->error, crab_device_result(device, PTR_ERR(store)));
	} else {
		device->store = store;
		device->shown_readonly = crab_store_is_readonly(store);
		/* Pairs with smp_rmb() in crab_device_get_store(); reinit promises no order */
		smp_wmb();
		percpu_ref_reinit(&device->calls);
	}
	mutex_unlock(&device->lock);
}

/*
 * Keeps later calls waiting until all calls that run have returned, or for DEVICE_PAUSE. The grace
 * period that the count needs passes before, while calls go on. True if all have returned
 */
static bool device_calls_pause(struct crab_device *device)
{
	bool idle;

	lockdep_assert_held(&device->change);

	percpu_ref_switch_to_atomic_sync(&device->calls);
	mutex_lock(&device->lock);
	crab_device_stop_locked(device, DEVICE_RESUMES);
	mutex_unlock(&device->lock);
	idle = wait_for_completion_timeout(&device->idle, DEVICE_PAUSE);
	percpu_ref_resurrect(&device->calls);
	percpu_ref_switch_to_percpu(&device->calls);
	wake_up_all(&device->resumed);
	return idle;
}

/*
 * Waits until no call runs. A call can be long, because a search passes any number of leaves
 * without records. Others wait for it no longer than DEVICE_PAUSE at a time
 */
static int device_calls_drain(struct crab_device *device)
{
	while (!device_calls_pause(device)) {
		/* The last call may be about to complete @idle, which the next stop must not see */
		synchronize_rcu();
		schedule_timeout_killable(5 * DEVICE_PAUSE);
		if (fatal_signal_pending(current))
			return -ERESTARTSYS;
	}
	return 0;
}

/* Attaches the store, unless @parked. A kick before the calls are live has no effect */
static void device_attach_unless(struct crab_device *device, const struct crab_super *unfinished,
				 int parked)
{
	struct crab_attach_options options = {
		.readonly	= device->readonly,
		.kick		= device_kick,
		.interrupted	= device_interrupted,
		.arg		= device,
		.snapshot_bytes	= crab_snapshot_bytes,
		.unfinished	= unfinished,
	};
	struct crab_attach_report report = { };
	struct crab_store *store;

	lockdep_assert_held(&device->change);

	if (parked) {
		strscpy(report.reason, CRAB_PARKED_REASON, sizeof(report.reason));
		store = ERR_PTR(parked);
	} else {
		store = crab_store_attach(&device->region->media, &options, &report);
	}
	device_calls_start(device, store, &report);
	if (IS_ERR(store))
		return;
	crab_store_catch_up(store);
	device_kick(device);
}

void crab_device_attach_store(struct crab_device *device, const struct crab_super *unfinished)
{
	WRITE_ONCE(device->unkillable, true);
	device_attach_unless(device, unfinished, 0);
	WRITE_ONCE(device->unkillable, false);
}

int crab_device_begin(struct crab_device *device, int parked)
{
	int err;

	mutex_lock(&device->change);
	device_attach_unless(device, NULL, parked);
	err = !device->store && device->error == -EINTR ? -EINTR : 0;
	mutex_unlock(&device->change);
	device_trace(device);
	return err;
}

void crab_device_end(struct crab_device *device)
{
	WRITE_ONCE(device->ending, -ENODEV);
	mutex_lock(&device->change);
	mutex_lock(&device->lock);
	crab_device_stop_locked(device, -ENODEV);
	mutex_unlock(&device->lock);
	crab_device_detach_store(device, "");
	mutex_lock(&device->lock);
	device->region = NULL;
	mutex_unlock(&device->lock);
	mutex_unlock(&device->change);
	cancel_work_sync(&device->maintain);
	device_trace(device);
}

/* device_open_locked() finds @ending under the same lock */
int crab_device_leave(struct crab_device *device, bool force)
{
	int err = 0;

	mutex_lock(&device->lock);
	if (device->users && !force)
		err = -EBUSY;
	else
		WRITE_ONCE(device->ending, -ENODEV);
	if (err)
		crab_control_answer("%s: in use by %u", dev_name(&device->dev), device->users);
	mutex_unlock(&device->lock);
	return err;
}

static enum crabtree_state device_state_locked(struct crab_device *device, bool readonly)
{
	lockdep_assert_held(&device->lock);

	if (!device->region)
		return CRABTREE_STATE_GONE;
	if (device->store && crab_store_is_unfinished(device->store))
		return CRABTREE_STATE_UNFORMATTED;
	if (device->store)
		return readonly ? CRABTREE_STATE_READONLY : CRABTREE_STATE_READY;
	return device->report.verdict == CRAB_VERDICT_BLANK ? CRABTREE_STATE_UNFORMATTED :
							     CRABTREE_STATE_REJECTED;
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

/* Logs the result of an attach in one line. The label comes from the media, so it is escaped */
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

/* Notifies of a device that is published: an event of power can come before that */
static void device_notify(struct crab_device *device, const struct crab_device_info *info,
			  unsigned long event)
{
	struct crabtree_identity identity = {
		.label	= info->store.super.label,
		.uuid	= (const uuid_t *)info->store.super.uuid,
		.tree	= (const struct crabtree *)device,	/* as of kapi.c */
	};

	if (device_is_registered(&device->dev) && info->serving &&
	    !info->store.unfinished)
		blocking_notifier_call_chain(&crab_device_notifier, event, &identity);
}

void crab_device_announce(struct crab_device *device)
{
	struct crab_device_info info;

	crab_device_info(device, &info);
	device_log(device, &info);
	device_notify(device, &info, CRABTREE_CAME);
}

void crab_device_warn(struct crab_device *device)
{
	struct crab_device_info info;

	crab_device_info(device, &info);
	device_notify(device, &info, CRABTREE_GOING);
}

static int device_open_locked(struct crab_device *device)
{
	lockdep_assert_held(&device->lock);

	if (!device->region || READ_ONCE(device->ending) == -ENODEV)
		return -ENODEV;
	if (device->store && crab_store_is_unfinished(device->store))
		return -EBUSY;
	device->users++;
	get_device(&device->dev);
	return 0;
}

static int device_open(struct crab_device *device)
{
	int err;

	lockdep_assert_held(&device->change);

	mutex_lock(&device->lock);
	err = device_open_locked(device);
	mutex_unlock(&device->lock);
	return err;
}

/* Waits for a FORMAT or an attach that is in progress */
int crab_device_open(struct crab_device *device)
{
	int err;

	if (mutex_lock_interruptible(&device->change))
		return -ERESTARTSYS;
	err = device_open(device);
	mutex_unlock(&device->change);
	return err;
}

static int device_observe(struct crab_device *device,
			  int (*open)(struct crab_store *store, void *arg), void *arg)
{
	int err;

	lockdep_assert_held(&device->change);

	err = crab_store_observe(device->store);
	if (err < 0)
		return err;
	if (err)
		err = device_calls_drain(device);
	err = err ?: open(device->store, arg);
	if (err)
		crab_store_unobserve(device->store);
	return err;
}

/* Nothing may fail once @open has made a watch or a snapshot, so the user is counted before */
static int device_observe_as_user(struct crab_device *device,
				  int (*open)(struct crab_store *store, void *arg), void *arg)
{
	int err;

	lockdep_assert_held(&device->change);

	if (!device->store)
		return device->error;
	err = device_open(device);
	if (err)
		return err;
	err = device_observe(device, open, arg);
	if (err)
		crab_device_close(device);
	return err;
}

int crab_device_observe(struct crab_device *device,
			int (*open)(struct crab_store *store, void *arg), void *arg)
{
	int err = -ERESTARTSYS;

	if (down_write_killable(&device->checks))
		return err;
	if (!mutex_lock_killable(&device->change)) {
		err = device_observe_as_user(device, open, arg);
		mutex_unlock(&device->change);
	}
	up_write(&device->checks);
	return err;
}

void crab_device_close(struct crab_device *device)
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
	if (!info.serving || info.store.unfinished)
		return false;
	if (wanted->label)
		return !strcmp(info.store.super.label, wanted->label);
	return !memcmp(info.store.super.uuid, wanted->uuid->b, CRAB_UUID_LEN);
}

/* A store that is being detached is not served any more, though calls still run in it */
bool crab_device_open_if(struct crab_device *device, const struct crabtree_identity *wanted)
{
	bool used;

	mutex_lock(&device->lock);
	used = (!percpu_ref_is_dying(&device->calls) || device->error == DEVICE_RESUMES) &&
	       device_matches_locked(device, wanted) &&
	       !device_open_locked(device);
	mutex_unlock(&device->lock);
	return used;
}

/* The store becomes read-only. The work that device_kick() queues notifies user space */
void crab_device_fail(struct crab_device *device, u64 offset, u64 len)
{
	struct crab_store *store = crab_device_get_store(device);

	if (IS_ERR(store))
		return;
	crab_store_fail(store, offset, len);
	crab_device_put_store(device);
}

void crab_device_catch_up(struct crab_device *device)
{
	mutex_lock(&device->change);
	if (device->store)
		crab_store_catch_up(device->store);
	mutex_unlock(&device->change);
}
