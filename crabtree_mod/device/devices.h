/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the table of devices: numbers, publication, removal, and the events that
 * it sends to in-kernel users.
 *
 * Locking: crab_devices_lock, which the functions here take themselves (device.h has the order).
 */
#ifndef CRABTREE_DEVICES_H
#define CRABTREE_DEVICES_H

#include "device.h"

/* Its notifiers receive an enum crabtree_event and a struct crabtree_identity */
extern struct blocking_notifier_head crab_device_notifier;

/* Callbacks for the events of the providers; the argument of crab_region_*() */
extern const struct crab_region_events crab_device_events;

/**
 * crab_devices_init() - prepare the table of devices, before the first region is added
 * @readonly: write to no region
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int crab_devices_init(bool readonly);

/**
 * crab_devices_publish() - show the devices to user space and to in-kernel users
 *
 * Before this call the devices are attached, but they have no nodes and send no uevents or
 * notifications. This is the last step of a load: once it returns 0, the load has succeeded.
 *
 * Return: 0, or an error; then nothing was published.
 */
int crab_devices_publish(void);

/**
 * crab_devices_remove() - remove all devices
 *
 * Devices that their provider is already removing are left to it. No device is added meanwhile.
 *
 * Context: may sleep; waits for the calls that run.
 */
void crab_devices_remove(void);

/**
 * crab_devices_exit() - undo crab_devices_init()
 *
 * Context: may sleep; all devices have been removed.
 */
void crab_devices_exit(void);

/**
 * crab_devices_park() - detach every store, and attach none
 * @error: the error that calls return from then on
 *
 * Context: may sleep; waits for the calls that run.
 */
void crab_devices_park(int error);

/**
 * crab_devices_unpark() - attach the stores that crab_devices_park() detached
 *
 * Context: may sleep.
 */
void crab_devices_unpark(void);

/**
 * crab_devices_find() - find a store and use its device
 * @wanted: its label or its uuid, the other NULL
 * Return: the device, with one user more, or NULL.
 */
struct crab_device *crab_devices_find(const struct crabtree_identity *wanted);

/**
 * crab_devices_open() - use the device with a number
 * @minor: the number
 * Return: the device, with one user more, or ERR_PTR: -ENXIO, -ENODEV, -ERESTARTSYS.
 */
struct crab_device *crab_devices_open(unsigned int minor);

/**
 * crab_devices_drop() - remove a device while the others keep running
 * @name: its name: crab1
 * @force: even if it has users; their calls return -ENODEV from then on
 *
 * Context: may sleep; waits for the calls that run.
 * Return: 0, or with the reason in the answer (crab_control_answer()): -ENODEV, -EBUSY, or
 * -EOPNOTSUPP for a region of the device tree, which its driver removes.
 */
int crab_devices_drop(const char *name, bool force);

/**
 * crab_power_init() - register for shutdown and hibernation
 *
 * Context: may sleep.
 * Return: 0 or an error.
 */
int crab_power_init(void);

/**
 * crab_power_exit() - undo crab_power_init()
 *
 * Context: may sleep.
 */
void crab_power_exit(void);

#endif /* CRABTREE_DEVICES_H */
