/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the steps of a device's life (device.c, power.c), which the table of
 * devices calls.
 *
 * Locking: device->change, which each function takes itself.
 */
#ifndef CRABTREE_DEVICE_LIFETIME_H
#define CRABTREE_DEVICE_LIFETIME_H

#include "device.h"

/* Set by devices.c before the first device exists */
extern struct workqueue_struct *crab_workqueue;

/*
 * 0, or the error of calls while every store is detached; crab_devices_lock. It is set before the
 * devices of the table are parked or unparked
 */
extern int crab_parked;

/* Callbacks of the structure, which devices.c fills */
void crab_device_idle(struct percpu_ref *calls);
void crab_device_maintain(struct work_struct *work);

/**
 * crab_device_attach_store() - attach the store in the region, and serve it
 * @device: the device, without a store
 * @unfinished: superblock of an unfinished store, or NULL
 *
 * A fatal signal does not end it: the store was served before, or is new. If crab_parked is set
 * meanwhile, crab_device_park() waits for device->change and detaches it again.
 *
 * Context: may sleep; under device->change.
 */
void crab_device_attach_store(struct crab_device *device, const struct crab_super *unfinished);

/**
 * crab_device_stop_locked() - admit no further call on the store
 * @device: the device
 * @error: the error that later calls return
 *
 * Context: under device->change and device->lock.
 */
void crab_device_stop_locked(struct crab_device *device, int error);

/**
 * crab_device_detach_store() - wait for the calls that run, then detach the store
 * @device: the device, after crab_device_stop_locked()
 * @reason: INFO shows it meanwhile
 *
 * Context: may sleep; under device->change.
 */
void crab_device_detach_store(struct crab_device *device, const char *reason);

/**
 * crab_device_changed() - notify user space of a change of the state
 * @device: the device
 *
 * Context: may sleep; under device->change, the device has its region.
 */
void crab_device_changed(struct crab_device *device);

/**
 * crab_device_begin() - attach the store in the region, if there is one
 * @device: the device
 * @parked: 0, or the error of calls, because no store may be attached now
 *
 * Context: may sleep; takes device->change.
 * Return: 0, also if the store cannot be attached; -EINTR for a fatal signal: the caller removes
 * the device, because the store may be whole.
 */
int crab_device_begin(struct crab_device *device, int parked);

/**
 * crab_device_end() - detach the store
 * @device: the device
 *
 * Context: may sleep; waits for the calls that run. The region can be freed when it has returned.
 */
void crab_device_end(struct crab_device *device);

/**
 * crab_device_leave() - admit no further user, because the device is about to be removed
 * @device: the device
 * @force: even if it has users
 *
 * Context: may sleep; takes device->lock.
 * Return: 0, or -EBUSY if it has users; the answer (crab_control_answer()) has their number.
 */
int crab_device_leave(struct crab_device *device, bool force);

/**
 * crab_device_announce() - log the state, and notify in-kernel users of a store that came
 * @device: the device
 *
 * Context: may sleep; no lock is held.
 */
void crab_device_announce(struct crab_device *device);

/**
 * crab_device_warn() - notify in-kernel users that the store is going
 * @device: the device
 *
 * Context: may sleep; no lock is held.
 */
void crab_device_warn(struct crab_device *device);

/**
 * crab_device_fail() - quarantine a part of the region that cannot be read
 * @device: the device
 * @offset: of the part, in the region
 * @len: bytes
 *
 * Context: may sleep.
 */
void crab_device_fail(struct crab_device *device, u64 offset, u64 len);

/**
 * crab_device_catch_up() - the same for all that failed before crab_device_fail() found the device
 * @device: the device, which is in the table
 *
 * Context: may sleep; takes device->change.
 */
void crab_device_catch_up(struct crab_device *device);

/**
 * crab_device_park() - detach the store; calls get crab_parked
 * @device: the device
 *
 * If crab_parked is 0 again, the store is attached.
 *
 * Context: may sleep; waits for the calls that run.
 */
void crab_device_park(struct crab_device *device);

/**
 * crab_device_unpark() - attach the store that crab_device_park() detached
 * @device: the device
 *
 * Context: may sleep.
 */
void crab_device_unpark(struct crab_device *device);

/**
 * crab_device_complete() - crab_device_unpark(), if the store is detached by crab_device_park()
 * @device: the device
 *
 * Context: may sleep.
 */
void crab_device_complete(struct crab_device *device);

#endif /* CRABTREE_DEVICE_LIFETIME_H */
