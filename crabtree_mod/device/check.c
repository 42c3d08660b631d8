// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements CHECK of a device. It may take minutes: if its task is to be frozen, for a
 * suspend or by a cgroup, the call on the store ends, and begins anew when the task thaws.
 *
 * Invariant: a frozen task is in no call and holds no lock. CHECK writes nothing and has no answer
 * before its end, so that the caller does not notice.
 *
 * Locking: device->checkers_lock, for the list of the tasks in CHECK.
 */
#include <linux/err.h>
#include <linux/list.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>

#include "device.h"
#include "pause.h"

/**
 * struct crab_checker - a task in CHECK, on its stack
 * @list: in device->checkers; device->checkers_lock
 * @task: the task
 */
struct crab_checker {
	struct list_head list;
	struct task_struct *task;
};

bool crab_device_is_checked(struct crab_device *device)
{
	struct crab_checker *checker;
	bool found = false;

	spin_lock(&device->checkers_lock);
	list_for_each_entry(checker, &device->checkers, list)
		found |= checker->task == current;
	spin_unlock(&device->checkers_lock);
	return found;
}

/* One call on the store; not while crab_device_observe() waits for the calls that run */
static int check_once(struct crab_device *device, union crab_verb_arg *arg)
{
	struct crab_store *store;
	int err;

	if (down_read_killable(&device->checks))
		return -EINTR;
	store = crab_device_get_store(device);
	err = PTR_ERR_OR_ZERO(store);
	if (!err) {
		err = crab_verbs[CRAB_VERB_INDEX(CRABTREE_CHECK)].run(store, arg);
		err = crab_device_end_call(device, err);
	}
	up_read(&device->checks);
	return err;
}

int crab_device_check(struct crab_device *device, union crab_verb_arg *arg)
{
	struct crab_checker self = { .task = current };
	int err;

	spin_lock(&device->checkers_lock);
	list_add(&self.list, &device->checkers);
	spin_unlock(&device->checkers_lock);
	while ((err = check_once(device, arg)) == -EINTR && !fatal_signal_pending(current))
		crab_ioctl_pause();
	spin_lock(&device->checkers_lock);
	list_del(&self.list);
	spin_unlock(&device->checkers_lock);
	return err;
}
