/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the descriptors that WATCH and SNAPSHOT return.
 *
 * Layer L6: device/ includes it. No lock.
 */
#ifndef CRABTREE_DEVICE_OBSERVE_H
#define CRABTREE_DEVICE_OBSERVE_H

#include <linux/fs.h>

#include "device.h"

/**
 * crab_ioctl_snapshot() - the reading verbs of a snapshot, and INFO
 * @device: the device
 * @snap: the snapshot
 * @cmd: the ioctl
 * @value: its argument
 *
 * Context: process; may sleep.
 * Return: 0 or the error of the verb; -ENOTTY for other verbs.
 */
long crab_ioctl_snapshot(struct crab_device *device, struct crab_snap *snap, unsigned int cmd,
			 unsigned long value);

/**
 * crab_watch_file() - WATCH: make the file of a watch
 * @device: the device
 * @watch: the argument
 *
 * Context: process; may sleep.
 * Return: the file, or ERR_PTR: -EINVAL for an impossible range, prefix or number, or as
 * crab_device_observe().
 */
struct file *crab_watch_file(struct crab_device *device, const struct crabtree_watch *watch);

/**
 * crab_snapshot_file() - SNAPSHOT: make the file of a snapshot
 * @device: the device
 *
 * Context: process; may sleep.
 * Return: the file, or ERR_PTR as crab_device_observe().
 */
struct file *crab_snapshot_file(struct crab_device *device);

#endif /* CRABTREE_DEVICE_OBSERVE_H */
