/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the pause of a long ioctl, between two calls on the store.
 *
 * Layer L6; device/ includes it. No lock: a task that is frozen holds none.
 */
#ifndef CRABTREE_DEVICE_PAUSE_H
#define CRABTREE_DEVICE_PAUSE_H

#include <linux/freezer.h>
#include <linux/sched.h>

/**
 * crab_ioctl_pause() - let other tasks run, and be frozen if the calling task is to be
 *
 * Context: an ioctl, outside of a call on the store and without a lock. Not in calls of kernel
 * code, which may hold locks.
 */
static inline void crab_ioctl_pause(void)
{
	cond_resched();
	try_to_freeze();
}

#endif /* CRABTREE_DEVICE_PAUSE_H */
